"""The data of `make run` are what its scripts say they are."""

import csv
import runpy
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer

EXAMPLES = Path(__file__).parents[1] / "examples"


@pytest.fixture(scope="module")
def messy(tmp_path_factory):
    folder = tmp_path_factory.mktemp("messy")
    write = runpy.run_path(str(EXAMPLES / "messy_table.py"))["write_messy_table"]
    write(folder / "learn.csv", folder / "rest.csv")
    rows = []
    for name in ("learn.csv", "rest.csv"):
        with (folder / name).open(encoding="utf-8", newline="") as lines:
            rows.append(list(csv.DictReader(lines)))
    return rows


def test_the_messy_table_has_every_patient_once_and_nothing_but_what_is_said_was_done_to_it(messy):
    rows, bundled = [*messy[0], *messy[1]], load_breast_cancer()
    assert len(messy[0]) == 341
    assert len({row["patient"] for row in rows}) == len(rows) == bundled.target.size
    assert sum(row["diagnosis"] == "benign" for row in rows) == bundled.target.sum()
    assert {row["texture"] for row in rows} == {"fine", "medium", "coarse", "", "?"}
    for name, values in zip(bundled.feature_names, bundled.data.T, strict=True):
        if name != "mean texture":
            kept = sorted(float(row[name]) for row in rows if row[name] not in ("", "?"))
            known = {float(f"{value:g}") for value in values}
            assert set(kept) <= known
            assert len(kept) > 0.85 * len(rows)


def test_a_purchase_is_fraud_as_often_as_its_log_odds_say_and_one_in_twenty_in_all():
    table = runpy.run_path(str(EXAMPLES / "million_rows.py"))["purchases"](3, True)
    fraud, odds = table["fraud"].to_numpy() == "yes", table["log_odds"].to_numpy()
    assert fraud.mean() == pytest.approx(0.05, abs=0.01)
    probabilities = 1 / (1 + np.exp(-odds))
    for part in np.array_split(np.argsort(odds), 5):
        error = np.sqrt((probabilities[part] * (1 - probabilities[part])).sum()) / part.size
        assert abs(fraud[part].mean() - probabilities[part].mean()) < 4 * error
    assert len(set(table["purchase"].to_pylist())) == table.num_rows
    assert table["age"].null_count == pytest.approx(0.05 * table.num_rows, rel=0.1)
