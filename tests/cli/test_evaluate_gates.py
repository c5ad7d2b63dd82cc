"""`opauc evaluate` as a gate: a lowest AUC, and a paired comparison with another model."""

import json

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm

import opauc as library
from opauc.errors import InputError
from tests.cli.commands import one_line


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder, random = tmp_path_factory.mktemp("gates"), np.random.default_rng(5)
    table = pd.DataFrame(random.normal(size=(600, 2)), columns=["a", "b"])
    table["label"] = np.where(table.a + 0.4 * table.b + random.normal(size=600) > 0, "yes", "no")
    table.to_csv(folder / "rows.csv", index=False)
    library.train(table, output=folder / "both", solver="exact")
    library.train(table, output=folder / "one", solver="exact", features=["b"])
    return folder


def literal_delong(positive, first, second):
    """Return the difference of two AUCs and DeLong's standard error, from all pairs."""
    wins = [np.sign(s[positive][:, None] - s[~positive][None]) / 2 + 0.5 for s in (first, second)]
    gap = wins[0] - wins[1]
    variance = gap.mean(axis=1).var(ddof=1) / gap.shape[0] + gap.mean(axis=0).var(ddof=1) / gap.shape[1]
    return gap.mean(), np.sqrt(variance)


def test_the_exit_code_is_3_only_where_the_interval_lies_below(folder, monkeypatch, opauc):
    monkeypatch.chdir(folder)
    facts = json.loads(opauc("evaluate", "both", "rows.csv", "--json").out.splitlines()[-1])
    between = (facts["auc"] + facts["high"]) / 2
    for least, code, shown in ((facts["low"], 0, "met"), (between, 0, "possible"), (facts["high"] + 1e-6, 3, "below")):
        ran = opauc("evaluate", "both", "rows.csv", "--at-least", repr(least))
        assert (ran.code, shown in ran.out) == (code, True)
        assert opauc("evaluate", "both", "rows.csv", "--at-least", repr(least), "--json").code == code


def test_two_models_are_compared_by_a_paired_test(folder, monkeypatch, opauc):
    monkeypatch.chdir(folder)
    ran = opauc("evaluate", "both", "rows.csv", "--against", "one", "--json")
    found = json.loads(ran.out.splitlines()[-1])["against"]
    table = pd.read_csv("rows.csv")
    scores = [
        library.load(name).decision_function(table[columns]) for name, columns in (("both", ["a", "b"]), ("one", ["b"]))
    ]
    gap, error = literal_delong((table.label == "yes").to_numpy(), *scores)
    assert found["model"] == "one"
    assert (found["difference"], found["standard_error"]) == pytest.approx((gap, error), rel=1e-9)
    assert found["p_value"] == pytest.approx(2 * norm.sf(gap / error), abs=1e-6)
    assert f"{gap:+.4f} ± {error:.4f}" in opauc("evaluate", "both", "rows.csv", "--against", "one").out
    for data in ("rows.csv", table):
        assert library.evaluate("both", data, against="one").difference.difference == pytest.approx(gap, rel=1e-9)


def test_a_comparison_needs_rows_that_can_be_read_twice_by_both(folder, monkeypatch, opauc):
    monkeypatch.chdir(folder)
    ran = opauc("evaluate", "both", "-", "--format", "csv", "--against", "one")
    assert one_line(ran) == "--against: standard input can be read only once"
    ran = opauc("evaluate", "both", "rows.csv", "--against", "one", "--engine", "dask")
    assert one_line(ran) == "--against compares on this machine; leave --engine out"
    table = pd.read_csv("rows.csv")
    numbers = table.assign(label=(table.label == "yes").astype(int))
    numbers.to_csv("numbers.csv", index=False)
    library.train(numbers, output="numbers", solver="exact")
    with pytest.raises(InputError, match="label 0, where the classes are no and yes"):
        library.evaluate("numbers", "numbers.csv", against="both")
