"""`opauc train --alpha auto`: the penalty chosen inside the pass, from files, with groups, shards and reports."""

import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

import opauc as library
from opauc import OPAUCCV
from tests.cli.commands import one_line
from tests.problems import problem


def table(seed=0, n_rows=600):
    """A table of four features in different units, of patients, and of words."""
    rows, labels = problem(seed, n_rows, 4)
    frame = pd.DataFrame(rows * [1.0, 1e-5, 1e4, 1.0], columns=["a", "b", "c", "d"])
    patients = np.random.default_rng(seed).integers(0, 40, n_rows)
    return frame.assign(patient=[f"p{n}" for n in patients], label=labels)


@pytest.fixture
def files(tmp_path, monkeypatch):
    """The table whole, in two shards whose columns stand in other orders, and with one more column."""
    monkeypatch.chdir(tmp_path)
    frame = table()
    frame.to_csv("all.csv", index=False, float_format="%.17g")
    frame[:250].to_csv("one.csv", index=False, float_format="%.17g")
    frame[250:][["label", "d", "patient", "c", "b", "a"]].to_csv("two.csv", index=False, float_format="%.17g")
    frame[250:][["label", "d", "patient", "c", "b", "a"]].to_parquet("two.parquet", index=False)
    return frame


def last_event(ran, name):
    events = [json.loads(line) for line in ran.out.splitlines()]
    return [event for event in events if event["event"] == name][-1]


def test_the_model_is_that_of_the_estimator(files, opauc):
    ran = opauc("train", "all.csv", "--drop", "patient", "--alpha", "auto", "-o", "model")
    assert ran.code == 0
    model, fitted = library.load("model"), OPAUCCV().fit(files[["a", "b", "c", "d"]], files["label"])
    assert type(model) is OPAUCCV
    assert model.alpha_ == pytest.approx(fitted.alpha_, rel=1e-9)
    assert_allclose(model.coef_, fitted.coef_, rtol=1e-7)
    score = -fitted.cv_results_["mean_test_score"].max()
    assert f"chose alpha {model.alpha_:.3g} of 13 between" in ran.err
    assert f"pair loss {score:.4f} on 5 folds held out" in ran.err


@pytest.mark.parametrize("second", ["two.csv", "two.parquet"])
def test_groups_are_a_column_that_is_no_feature_in_any_order_and_format(files, opauc, second):
    options = ["--alpha", "auto", "--groups", "patient", "--cv", "4", "-q"]
    assert opauc("train", "one.csv", second, *options, "-o", "model").code == 0
    model = library.load("model")
    assert model.feature_names_in_.tolist() == ["a", "b", "c", "d"]
    fitted = OPAUCCV(cv=4).fit(files[["a", "b", "c", "d"]], files["label"], groups=files["patient"])
    for k in range(4):
        assert model.moments_.fold(k).counts == fitted.moments_.fold(k).counts
    assert_allclose(model.coef_, fitted.coef_, rtol=1e-7)


@pytest.mark.usefixtures("files")
def test_shards_merge_and_files_are_forgotten_with_their_groups(opauc):
    options = ["--alpha", "auto", "--groups", "patient", "-q"]
    for name in ("all", "one", "two"):
        assert opauc("train", f"{name}.csv", *options, "-o", name).code == 0
    assert opauc("merge", "one", "two", "-o", "merged", "-q").code == 0
    whole, one, merged = (library.load(name) for name in ("all", "one", "merged"))
    assert_allclose(merged.coef_, whole.coef_, rtol=1e-8)
    assert opauc("forget", "all", "two.csv", "-o", "left", "-q").code == 0
    assert_allclose(library.load("left").coef_, one.coef_, rtol=1e-6)
    assert_allclose(library.load("left").alpha_, one.alpha_, rtol=1e-6)


def test_rows_without_a_group_are_bad_rows(files, opauc):
    files.assign(patient=[None if n == 17 else p for n, p in enumerate(files["patient"])]).to_csv(
        "gap.csv", index=False
    )
    options = ["train", "gap.csv", "--alpha", "auto", "--groups", "patient", "-o", "model"]
    said = "gap.csv, line 19, column patient: the group is missing; --on-bad-row skip leaves such rows out"
    assert one_line(opauc(*options)) == said
    ran = opauc(*options, "--on-bad-row", "skip", "--json")
    assert last_event(ran, "trained")["skipped"] == 1
    assert sum(library.load("model").moments_.counts) == 599


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--alpha", "auto", "--solver", "progressive_selection"], "for solver exact or sgd, .*; leave --solver out"),
        (["--alpha", "auto", "--rank", "5"], "--alpha auto with a --rank needs --solver sgd"),
        (["--alpha", "auto", "--solver", "sgd", "--groups", "patient"], "--groups is for --solver exact"),
        (["--alpha", "auto", "--forgetting-factor", "0.9"], "leave --forgetting-factor out"),
        (["--alpha", "much"], "--alpha must be a number or auto, got 'much'"),
        (["--forgetting-factor", "fast"], "--forgetting-factor must be a number or auto, got 'fast'"),
        (["--cv", "3"], "--cv is for a penalty to be chosen; add --alpha auto"),
        (["--groups", "patient"], "--groups is for a penalty to be chosen; add --alpha auto"),
        (["--one-standard-error"], "--one-standard-error is for a penalty to be chosen; add --alpha auto"),
        (["--alpha", "auto", "--criterion", "f1", "--drop", "patient"], "'criterion' parameter of OPAUCCV"),
        (["--alpha", "auto", "--cv", "61", "--drop", "patient"], r"'cv' parameter of OPAUCCV must be an int in"),
        (["--alpha", "auto", "--groups", "house"], "all.csv: no column house; there are a, b, c, d, patient, label"),
    ],
)
@pytest.mark.usefixtures("files")
def test_what_does_not_go_together_is_one_line_with_the_flags(opauc, options, message):
    said = one_line(opauc("train", "all.csv", *options, "-o", "model"))
    assert re.search(message, said), said


@pytest.mark.parametrize("rank", [[], ["--rank", "2"]])
def test_the_step_size_is_chosen_with_the_penalty(files, opauc, rank):
    files.assign(b=1e5 * files["b"], c=1e-4 * files["c"]).to_csv("even.csv", index=False)
    options = ["--drop", "patient", "--alpha", "auto", "--solver", "sgd", *rank]
    ran = opauc("train", "even.csv", *options, "-o", "model", "--json")
    model, told = library.load("model"), last_event(ran, "trained")
    assert told["chosen"] == {"eta0": model.eta0_, "alpha": model.alpha_}
    assert model.score(pd.read_csv("even.csv").drop(columns=["label", "patient"]), files["label"]) > 0.6
    assert opauc("report", "model", "even.csv", "-o", "page.html", "-q").code == 0
    assert "eta0 chosen" in Path("page.html").read_text(encoding="utf-8")


def test_groups_need_a_table(tmp_path, opauc):
    (tmp_path / "rows.svm").write_text("+1 1:1\n-1 1:2\n")
    ran = opauc("train", tmp_path / "rows.svm", "--alpha", "auto", "--groups", "g", "-o", tmp_path / "model")
    assert "only tables have columns of groups (--groups)" in one_line(ran)


def test_too_few_rows_to_choose_are_told_of(tmp_path, opauc):
    (tmp_path / "rows.svm").write_text("+1 1:1\n-1 1:2\n")
    ran = opauc("train", tmp_path / "rows.svm", "--alpha", "auto", "-o", tmp_path / "model")
    assert ran.code == 0
    assert (
        "was not chosen, it is the middle of the grid: no fold has rows of both classes in it and outside it" in ran.err
    )


@pytest.mark.usefixtures("files")
def test_inspect_and_report_show_the_choice_and_effects_whatever_the_units(opauc):
    opauc("train", "all.csv", "--drop", "patient", "--alpha", "auto", "--one-standard-error", "-o", "model", "-q")
    model = library.load("model")
    seen = last_event(opauc("inspect", "model", "--json"), "inspected")
    assert seen["penalty"]["alpha"] == seen["penalty"]["one_standard_error_alpha"] == pytest.approx(model.alpha_)
    assert_allclose(seen["penalty"]["means"], -model.cv_results_["mean_test_score"])
    deviations = model.moments_.feature_spread().deviations
    effects = dict(zip(model.feature_names_in_, model.coef_[0] * deviations, strict=True))
    listed = {row["name"]: row["effect"] for row in seen["largest_weights"]}
    assert list(listed) == sorted(effects, key=lambda name: -abs(effects[name]))
    assert_allclose(list(listed.values()), [effects[name] for name in listed], rtol=1e-9)
    assert seen["order"] == "by effect: weight × standard deviation of the feature"
    text = opauc("inspect", "model").out
    assert "← chosen, one standard error" in text
    assert opauc("report", "model", "all.csv", "-o", "page.html", "-q").code == 0
    page = Path("page.html").read_text(encoding="utf-8")
    for heading in ("Penalty selection", "Regularization path", "Largest weights", "alpha chosen"):
        assert heading in page
    assert opauc("evaluate", "model", "all.csv", "--report", "same.html", "-q").code == 0
    assert "Penalty selection" in Path("same.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("options", "order", "has_effects"),
    [
        (["--solver", "exact"], "by effect: weight × standard deviation of the feature", True),
        (["--solver", "sgd"], "by effect: weight × standard deviation of the feature", True),
        (["--solver", "sgd", "--rank", "9"], "feature, as its sketch estimates it", True),
        (["--solver", "progressive_selection"], "standard deviation of the feature, of rows at length one", True),
        (["--forgetting-factor", "auto"], "by effect: weight × standard deviation of the feature", True),
        (["--solver", "sgd", "--rank", "0"], "this model keeps no spread of its features", False),
    ],
)
@pytest.mark.filterwarnings("ignore:rank=9 is more than")
@pytest.mark.usefixtures("files")
def test_every_solver_says_by_what_its_weights_are_ordered(opauc, options, order, has_effects):
    assert opauc("train", "all.csv", "--drop", "patient", *options, "-o", "model", "-q").code == 0
    seen = last_event(opauc("inspect", "model", "--json"), "inspected")
    assert order in seen["order"]
    assert seen["penalty"] is None
    assert all((row["effect"] is not None) == has_effects for row in seen["largest_weights"])
    sizes = [abs(row["effect"] if has_effects else row["weight"]) for row in seen["largest_weights"]]
    assert sizes == sorted(sizes, reverse=True)
    assert opauc("report", "model", "all.csv", "-o", "page.html", "-q").code == 0
    assert order in Path("page.html").read_text(encoding="utf-8")


@pytest.mark.usefixtures("files")
def test_the_forgetting_chosen_is_told(opauc):
    ran = opauc(
        "train", "all.csv", "--drop", "patient", "--forgetting-factor", "auto", "--horizon", "50", "-o", "model"
    )
    assert ", forgetting 1, progressive AUC" in ran.err.replace("\n", " ") or ", forgetting_factor " in ran.err
    assert library.load("model").forgetting_factor_ in (1.0, 0.9999, 0.999, 0.99)
