"""`opauc constrain` prints a price and writes a model; `opauc train --increasing` trains under the constraint."""

import json

import numpy as np
import pandas as pd
import pytest

import opauc as library
from tests.cli.commands import one_line


@pytest.fixture(autouse=True)
def in_folder(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    age, income, sex = rng.integers(18, 80, 2500), rng.lognormal(3.0, 1.0, 2500).round(1), rng.choice(["f", "m"], 2500)
    labels = (rng.logistic(size=2500) < np.sin(age / 8) + np.log(income) - 3 + 0.5 * (sex == "f")).astype(int)
    lines = [f"{a},{i},{s},{y}" for a, i, s, y in zip(age, income, sex, labels, strict=True)]
    for name, part in (("train.csv", lines[:2000]), ("test.csv", lines[2000:])):
        with open(name, "w") as out:
            out.write("\n".join(["age,income,sex,bought", *part]) + "\n")


@pytest.fixture
def trained(opauc):
    assert opauc("train", "train.csv", "--label", "bought", "--no-trees", "-o", "model").code == 0
    return opauc


def rises(path):
    model = library.load(path)
    rows = pd.DataFrame({"age": np.arange(18, 80), "income": 30.0, "sex": "m"})
    return np.diff(model.decision_function(rows))


def test_the_price_comes_first_and_the_model_obeys(trained):
    ran = trained("constrain", "model", "test.csv", "--increasing", "age,income", "--equal-mean", "sex", "-o", "new")
    assert ran.code == 0, ran.err
    lines = ran.err.splitlines()
    assert [line.partition(":")[0] for line in lines] == [
        "age increasing", "income increasing", "equal mean over sex", "together", "new",
    ]  # fmt: skip
    assert all("log loss +0." in line and ", AUC 0." in line for line in lines[:4])
    assert rises("model").min() < -0.1
    assert rises("new").min() >= -1e-11
    assert "age increasing, income increasing, equal mean over sex" in trained("inspect", "new").out
    assert trained("update", "new", "test.csv", "-o", "newer").code == 0
    assert rises("newer").min() >= -1e-11


def test_without_an_output_only_the_price_is_printed(trained, tmp_path):
    before = set(tmp_path.iterdir())
    ran = trained("constrain", "model", "--increasing", "age", "--json")
    assert ran.code == 0, ran.err
    price = json.loads(ran.out)
    assert price["event"] == "price"
    assert price["constraint"] == "age increasing"
    assert price["log_loss"] > 0.001
    assert price["auc"] is None
    assert set(tmp_path.iterdir()) == before


def test_train_takes_monotone_columns(opauc):
    words = "--label", "bought", "--no-trees", "--increasing", "age", "--decreasing", "income", "-o", "model"
    assert opauc("train", "train.csv", *words).code == 0
    assert rises("model").min() >= -1e-11
    assert library.load("model").constraints_ == ["age increasing", "income decreasing"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--increasing", "agee"], "--increasing: unknown column 'agee'; expected one of age, income, sex"),
        (["--increasing", "sex"], "--increasing: 'sex' is categorical, and categories have no order; take a numeric"),
        (["--increasing", "age", "--decreasing", "age"], "'age' cannot be both increasing and decreasing; take one of"),
        (["--pairs", "age"], "--pairs: expected pairs as one:two, got 'age'"),
        ([], "no constraint is given"),
    ],
)
def test_a_mistake_is_one_line(trained, words, message):
    assert message in one_line(trained("constrain", "model", *words, "-o", "new"))


def test_constraints_of_a_linear_model_are_refused(opauc):
    assert (
        opauc("train", "train.csv", "--label", "bought", "--solver", "exact", "--drop", "sex", "-o", "linear").code == 0
    )
    assert "constraints are for additive models" in one_line(opauc("constrain", "linear", "--increasing", "age"))
    words = "train", "train.csv", "--label", "bought", "--solver", "exact", "--increasing", "age", "--drop", "sex"
    assert one_line(opauc(*words)) == "--increasing is for additive models; this is a linear one"
