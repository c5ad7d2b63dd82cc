"""`opauc forget` says in numbers what it removes and what stays."""

import json

import numpy as np
import pytest

import opauc as library


@pytest.fixture(autouse=True)
def in_folder(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)


def write(name, rows, labels):
    lines = [f"{a!r},{b!r},{label}" for (a, b), label in zip(rows.tolist(), labels.tolist(), strict=True)]
    with open(name, "w") as out:
        out.write("\n".join(["a,b,label", *lines]) + "\n")


def table(n_rows=3000):
    random = np.random.default_rng(0)
    rows = random.normal(size=(n_rows, 2))
    return rows, (rows[:, 0] + random.logistic(size=n_rows) > 0).astype(int)


def test_rows_of_the_initial_sample_are_counted(opauc):
    rows, labels = table()
    write("all.csv", rows, labels)
    assert opauc("train", "all.csv", "--label", "label", "--init-size", 1000, "-o", "model").code == 0
    write("some.csv", rows[:600], labels[:600])
    ran = opauc("forget", "model", "some.csv", "-o", "less", "--json")
    assert ran.code == 0, ran.err
    said = json.loads(ran.out.splitlines()[-1])
    rows_removed, removed = library.load("less").forget_report_
    assert said["rows"] == rows_removed == 600
    # A third of all rows were drawn: of 600, 200 on average, with a standard deviation of 11.
    assert 140 <= said["initial_rows"] == removed <= 260
    ran = opauc("forget", "model", "some.csv", "-o", "less")
    assert f"less: 600 rows removed, of them {removed} of the initial sample: their sums are gone" in ran.err
    assert "the structure (knots, pairs, trees) stays as it was fixed with them" in ran.err
    write("rest.csv", rows[600:], labels[600:])
    ran = opauc("forget", "less", "rest.csv", "-o", "none", "--json")
    assert json.loads(ran.out.splitlines()[-1])["initial_rows"] == 1000 - removed


def test_a_linear_model_has_no_initial_sample(opauc):
    rows, labels = table(300)
    write("all.csv", rows, labels)
    assert opauc("train", "all.csv", "--label", "label", "--solver", "exact", "-o", "model").code == 0
    write("some.csv", rows[:60], labels[:60])
    ran = opauc("forget", "model", "some.csv", "-o", "less")
    assert ran.err.strip().endswith("less: 60 rows removed")
