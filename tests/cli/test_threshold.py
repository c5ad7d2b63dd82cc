"""`opauc threshold`: the model that is written predicts labels by it, and keeps it when trained further."""

import json

import numpy as np
import pandas as pd
import pytest

import opauc as library
from tests.cli.commands import one_line


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder, random = tmp_path_factory.mktemp("thresholds"), np.random.default_rng(3)
    for name, n_rows in (("first", 900), ("later", 600), ("new", 300)):
        table = pd.DataFrame(random.normal(size=(n_rows, 2)), columns=["a", "b"])
        table["label"] = np.where(table.a + 0.4 * table.b + random.logistic(size=n_rows) > 2.5, "yes", "no")
        table.to_csv(folder / f"{name}.csv", index=False)
    library.train(str(folder / "first.csv"), output=folder / "model", solver="exact")
    library.train(str(folder / "first.csv"), output=folder / "gam")
    return folder


@pytest.mark.parametrize("model", ["model", "gam"])
def test_labels_are_predicted_by_the_threshold(folder, monkeypatch, opauc, model):
    monkeypatch.chdir(folder)
    ran = opauc("threshold", model, "later.csv", "--at-fpr", "0.05", "-o", f"{model}-cut", "--json")
    assert ran.code == 0, ran.err
    facts = json.loads(ran.out.splitlines()[-1])
    later, new = (pd.read_csv(f"{name}.csv") for name in ("later", "new"))
    loaded = library.load(f"{model}-cut")
    scores, negative = loaded.decision_function(later[["a", "b"]]), (later.label == "no").to_numpy()
    above = scores > facts["score"]
    assert above[negative].mean() == facts["false_positive_rate"][0] <= 0.05
    assert above[~negative].mean() == facts["recall"][0]
    assert loaded.threshold_.rule == "at_fpr=0.05"
    assert loaded.threshold_ == library.load(model).threshold_for(later[["a", "b"]], later.label, at_fpr=0.05)
    expected = np.where(loaded.decision_function(new[["a", "b"]]) > facts["score"], "yes", "no")
    assert (loaded.predict(new[["a", "b"]]) == expected).all()
    assert (library.predict(f"{model}-cut", "new.csv", response="label") == expected).all()
    assert opauc("predict", f"{model}-cut", "new.csv", "--response", "label").out.split() == expected.tolist()
    shown = opauc("threshold", f"{model}-cut", "later.csv", "--cost-fp", "1", "--cost-fn", "20").out
    assert "false positive rate" in shown
    assert library.load(f"{model}-cut").threshold_.rule == "at_fpr=0.05", "nothing is written without -o"


def test_the_threshold_stays_with_a_model_that_is_updated_or_exported(folder, monkeypatch, opauc):
    monkeypatch.chdir(folder)
    assert opauc("threshold", "gam", "later.csv", "--at-recall", "0.5", "-o", "gam-half").code == 0
    kept = library.load("gam-half").threshold_
    assert opauc("update", "gam-half", "new.csv", "-o", "gam-new").code == 0
    assert opauc("export", "gam-half", "--scoring", "-o", "gam-small").code == 0
    for name in ("gam-new", "gam-small"):
        assert library.load(name).threshold_ == kept


def test_training_rows_are_told_by_a_warning(folder, monkeypatch, opauc):
    monkeypatch.chdir(folder)
    ran = opauc("threshold", "gam", "first.csv", "later.csv", "--at-fpr", "0.05")
    assert ran.code == 0
    assert "warning: first.csv: the model was trained on these rows (1 of 2 files); the rates of new rows" in ran.err
    assert "trained on" not in opauc("threshold", "gam", "later.csv", "--at-fpr", "0.05").err


def test_without_rows_an_error_says_which_ones_are_needed(folder, monkeypatch, opauc):
    monkeypatch.chdir(folder)
    message = one_line(opauc("threshold", "model", "--at-fpr", "0.05"))
    assert "labeled rows that the model was not trained on: opauc threshold model DATA" in message


def test_mistakes_are_one_line(folder, monkeypatch, opauc):
    monkeypatch.chdir(folder)
    for options, message in (
        ((), "give --at-fpr, --at-precision, --at-recall, or both --cost-fp and --cost-fn"),
        (("--at-fpr", "2"), "--at-fpr 2.0: expected a share between 0 and 1"),
        (("--cost-fp", "3"), "by one rule"),
        (("--at-precision", "1", "--at-recall", "0.5"), "by one rule"),
    ):
        ran = opauc("threshold", "model", "later.csv", *options, "-o", "none")
        assert message in one_line(ran)
    assert not (folder / "none").exists()
