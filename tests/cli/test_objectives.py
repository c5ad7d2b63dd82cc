"""`opauc train --loss`, `--within` and `--objective`: other objectives, from files."""

import json

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

import opauc as library
from opauc import OPAUC, OnePassGAM
from tests.cli.commands import one_line


@pytest.fixture
def rows(tmp_path, monkeypatch):
    """A table of three features, the user of each row, and labels, in a file and in memory."""
    monkeypatch.chdir(tmp_path)
    random = np.random.default_rng(0)
    user = random.integers(0, 30, 600)
    level = random.normal(size=30)[user]
    features = random.normal(size=(600, 3)) + np.outer(level, [2.0, 0.0, 0.0])
    label = (random.random(600) < 1 / (1 + np.exp(-level - features[:, 1]))).astype(int)
    frame = pd.DataFrame(features, columns=["a", "b", "c"]).assign(user=[f"u{n}" for n in user], label=label)
    frame.to_csv("rows.csv", index=False, float_format="%.17g")
    return frame


def trained(opauc, *words):
    """Return the model and the events of a training that succeeds."""
    ran = opauc("train", "rows.csv", "--label", "label", "--output", "m.opauc", "--json", *words)
    assert ran.code == 0, ran.err
    return library.load("m.opauc"), [json.loads(line) for line in ran.out.splitlines()]


def test_rows_are_ranked_within_the_groups_of_a_column(opauc, rows):
    model, events = trained(opauc, "--within", "user", "--group-weight", "rows")
    expected = OPAUC(pairs="within_groups", group_weight="rows")
    expected.fit(rows[["a", "b", "c"]].to_numpy(), rows["label"], groups=rows["user"])
    assert_allclose(model.coef_, expected.coef_, rtol=1e-9)
    ranked, one_class = expected.group_counts_
    assert events[-1]["groups"] == {"ranked": ranked, "one_class": one_class}


def test_an_additive_model_ranks_within_groups(opauc, rows):
    model, events = trained(opauc, "--within", "user", "--solver", "gam")
    expected = OnePassGAM(random_state=0).fit(rows[["a", "b", "c"]], rows["label"], groups=rows["user"])
    assert_allclose(model.decision_function(rows), expected.decision_function(rows[["a", "b", "c"]]), rtol=1e-8)
    assert model.group_counts_ == expected.group_counts_
    assert events[-1]["groups"] == expected.group_counts_._asdict()
    frame = library.train(rows, label="label", solver="gam", pairs="within_groups", groups="user")
    assert_allclose(frame.decision_function(rows), model.decision_function(rows), rtol=1e-8)


def test_additive_models_with_groups_are_updated_merged_and_forget(opauc, rows):
    def run(*words):
        ran = opauc(*words)
        assert ran.code == 0, ran.err

    first, rest = rows[:400], rows[400:]
    for name, part in (("first", first), ("rest", rest)):
        part.to_csv(f"{name}.csv", index=False, float_format="%.17g")
    groups = ("--within", "user", "--solver", "gam", "--init-size", "100")
    run("train", "first.csv", "--label", "label", "-o", "m.opauc", *groups)
    run("train", "rest.csv", "--label", "label", "-o", "rest.opauc", "--basis-from", "m.opauc")
    run("merge", "m.opauc", "rest.opauc", "-o", "both.opauc")
    before = library.load("m.opauc").decision_function(rows)
    run("update", "m.opauc", "rest.csv")
    merged, updated = library.load("both.opauc"), library.load("m.opauc")
    assert_allclose(merged.decision_function(rows), updated.decision_function(rows), rtol=1e-8)
    assert merged.group_counts_ == updated.group_counts_
    run("forget", "m.opauc", "rest.csv", "-o", "left.opauc")
    assert_allclose(library.load("left.opauc").decision_function(rows), before, rtol=1e-7)
    run("predict", "m.opauc", "rest.csv", "-o", "scores.csv")
    run("evaluate", "m.opauc", "rest.csv", "--within", "user")


def test_a_sample_of_a_file_has_its_groups(opauc, rows):
    assert len(rows) == 600
    asked = ("--within", "user", "--solver", "gam", "--init-size", "150")
    model, events = trained(opauc, *asked, "--n-jobs", "2")
    assert sum(model._fitted.counts) == 600
    assert events[-1]["groups"]["unused_rows"] < 60
    assert model.n_features_in_ == 3


def test_the_penalty_of_the_logistic_loss_is_reported(opauc, rows):
    model, events = trained(opauc, "--loss", "logistic", "--features", "a,b,c")
    chosen = next(event for event in events if event["event"] == "chosen")
    assert chosen["alpha"] == pytest.approx(model.selection_.alpha)
    assert 0.4 < chosen["score"] < 0.7  # the log loss of rows held out
    assert chosen["criterion"] == "log_loss"
    assert len(rows) == 600


def test_a_model_is_trained_for_the_partial_auc(opauc, rows):
    asked = ("--objective", "pauc", "--max-fpr", "0.1", "--features", "a,b,c")
    model, _ = trained(opauc, *asked, "--solver", "auto")
    expected = OPAUC(objective="pauc", max_fpr=0.1).fit(rows[["a", "b", "c"]].to_numpy(), rows["label"])
    assert_allclose(model.coef_, expected.coef_, rtol=1e-9)


def test_an_additive_model_is_trained_for_the_partial_auc(opauc, rows):
    model, _ = trained(opauc, "--objective", "pauc", "--max-fpr", "0.1", "--features", "a,b,c")
    expected = OnePassGAM(objective="pauc", max_fpr=0.1, random_state=0).fit(rows[["a", "b", "c"]], rows["label"])
    assert len(expected.objective_selection_.candidates) == 3
    assert model.objective_selection_ == expected.objective_selection_
    assert_allclose(model.decision_function(rows), expected.decision_function(rows[["a", "b", "c"]]), rtol=1e-9)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--loss", "hinge", "--features", "a,b,c"], "one of {'square', 'logistic', 'balanced_logistic'}"),
        (["--loss", "logistic", "--alpha", "0.1"], "--alpha is chosen inside the pass with --loss logistic"),
        (["--within", "user", "--groups", "user"], "--within and --groups name two columns of groups; leave out one"),
        (["--within", "nobody"], "nobody"),
        (["--max-fpr", "0.1"], "--max-fpr is for --objective pauc"),
        (["--max-fpr", "0.1", "--solver", "auto"], "--max-fpr is for --objective pauc"),
        (["--objective", "pauc", "--max-fpr", "2", "--features", "a"], "must be a float in the range (0.0, 1.0]"),
        (
            ["--objective", "pauc", "--max-fpr", "0", "--solver", "auto", "--features", "a"],
            "must be a float in the range (0.0, 1.0]",
        ),
        (["--objective", "f1"], "must be one of {'auc', 'pauc'}"),
        (["--effort", "most"], "must be one of {'normal', 'high'}"),
        (["--objective", "pauc", "--basis-from", "m.opauc"], "--objective is fixed by the model of --basis-from"),
        (["--max-gap", "3", "--solver", "exact"], "--max-gap is for --within"),
        (["--within", "user", "--max-gap", "3", "--solver", "gam"], "--max-gap is for linear solvers"),
        (
            ["--within", "user", "--objective", "pauc", "--solver", "gam"],
            "--within of an additive model takes no --obj",
        ),
        (["--within", "user", "--increasing", "a", "--solver", "gam"], "--within of an additive model takes no --incr"),
        (["--groups", "user", "--solver", "gam"], "an additive model ranks within groups by --within"),
        (["--within", "user", "--basis-from", "m.opauc"], "--within is fixed by the model of --basis-from"),
        (["--within", "nobody", "--solver", "gam"], "nobody"),
    ],
)
def test_mistakes_are_one_line_that_says_what_would_do(opauc, rows, words, message):
    assert len(rows) == 600
    assert message in one_line(opauc("train", "rows.csv", "--label", "label", *words))
