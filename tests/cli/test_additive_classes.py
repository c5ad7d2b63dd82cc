"""`opauc train` and the other verbs with an additive model of three classes."""

import json

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

import opauc as library
from opauc import OnePassGAM
from opauc.api.describe import describe_fit
from opauc.core.model import load_model
from tests.cli.commands import one_line

NAMES = np.array(["high", "low", "middle"])


def table(seed, n_rows):
    random = np.random.default_rng(seed)
    age, city = random.normal(40.0, 12.0, n_rows).round(6), random.choice(["Bern", "Chur", "Genf"], n_rows)
    score = (age - 40.0) / 12.0 + (city > "Bern") + 0.4 * random.normal(size=n_rows)
    return pd.DataFrame({"age": age, "city": city, "level": NAMES[np.searchsorted([0.0, 1.0], score)]})


TRAINING, TEST = table(0, 900), table(1, 300)


@pytest.fixture(autouse=True)
def in_folder(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    TRAINING.to_csv("train.csv", index=False)
    TEST.to_csv("test.csv", index=False)


@pytest.fixture
def trained(opauc):
    ran = opauc("train", "train.csv", "--label", "level", "--no-trees", "-o", "model")
    assert ran.code == 0, ran.err
    assert "900 rows (3 classes: high, low, middle), 2 columns, additive model of 2 features" in ran.err
    return opauc


def scores(path):
    return library.load(path).decision_function(TEST[["age", "city"]])


@pytest.mark.usefixtures("trained")
def test_files_give_the_model_of_the_frame():
    model = OnePassGAM(trees=False).fit(TRAINING[["age", "city"]], TRAINING["level"])
    assert_allclose(scores("model"), model.decision_function(TEST[["age", "city"]]), atol=1e-9)


def test_rows_are_predicted_and_evaluated(trained):
    ran = trained("evaluate", "model", "test.csv", "--json")
    evaluation = json.loads(ran.out)
    expected = library.load("model").score(TEST[["age", "city"]], TEST["level"])
    assert_allclose(evaluation["auc_ovo"]["value"], expected, rtol=1e-9)
    assert trained("predict", "model", "test.csv", "--response", "probability", "-o", "out.csv").code == 0
    written = pd.read_csv("out.csv")
    probabilities = library.load("model").predict_proba(TEST[["age", "city"]])
    assert_allclose(written[[f"probability_{name}" for name in NAMES]], probabilities, atol=1e-9)
    assert (written["label"] == NAMES[probabilities.argmax(axis=1)]).all()


def test_rows_are_added_merged_and_forgotten(trained):
    assert trained("train", "train.csv", "--label", "level", "--init-size", "300", "-o", "first").code == 0
    assert trained("update", "first", "test.csv", "-o", "both").code == 0
    assert trained("forget", "both", "test.csv", "-o", "less").code == 0
    assert_allclose(scores("less"), scores("first"), atol=1e-8)
    assert trained("train", "test.csv", "--label", "level", "--basis-from", "first", "-o", "other").code == 0
    assert trained("merge", "first", "other", "-o", "merged").code == 0
    assert_allclose(scores("merged"), scores("both"), atol=1e-9)


def test_shards_give_the_model_of_one_process(opauc):
    table(2, 20_000).to_csv("many.csv", index=False)
    given = ("train", "many.csv", "--label", "level", "--no-trees", "--init-size", "1000")
    for name, jobs in (("one", "1"), ("two", "2")):
        ran = opauc(*given, "--n-jobs", jobs, "-o", name)
        assert ran.code == 0, ran.err
    assert "shards" in ran.err
    assert_allclose(scores("two"), scores("one"), atol=1e-9)


def test_each_class_is_inspected(trained):
    content = json.loads(trained("inspect", "model", "--json").out)
    assert list(content["additive"]["classes"]) == NAMES.tolist()
    importances = library.load("model").term_importances_
    for name, own in zip(NAMES, importances, strict=True):
        assert {term["name"]: term["importance"] for term in content["additive"]["classes"][name]["terms"]} == own
    shown = describe_fit(load_model("model")).terms.terms
    assert {term.name.partition(": ")[0] for term in shown} == set(NAMES)
    assert [term.importance for term in shown] == sorted((term.importance for term in shown), reverse=True)
    assert "high: age" in trained("inspect", "model").out


@pytest.mark.parametrize(
    "words",
    [
        ("predict", "model", "test.csv", "--reasons", "2"),
        ("export", "model", "-o", "card.csv"),
        ("constrain", "model", "--increasing", "age"),
        ("train", "train.csv", "--label", "level", "--by", "city", "-o", "cube"),
    ],
)
def test_a_verb_that_needs_two_classes_says_what_is_possible(trained, words):
    message = one_line(trained(*words))
    assert "Only binary classification" in message
    assert "3 classes; " in message


def test_a_class_that_comes_later_is_named(trained):
    pd.concat([TEST, TEST.head(1).assign(level="none")]).to_csv("more.csv", index=False)
    assert "more.csv, line 302: label none is none of the 3 classes" in one_line(
        trained("update", "model", "more.csv", "-o", "new")
    )
