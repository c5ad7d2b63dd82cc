"""`opauc inspect` lists what an additive model has learned."""

import json
import re

import numpy as np
import pyarrow as pa
import pytest

import opauc as library
from opauc.additive.selection import ModelSelection
from opauc.api.describe import explain_row, selection_as_text, shown_terms

N_ROWS = 3000


def table(seed=0, shift=0.0):
    rng = np.random.default_rng(seed)
    age, job = rng.normal(40.0 + shift, 10.0, N_ROWS), rng.integers(0, 3, N_ROWS)
    labels = rng.random(N_ROWS) < 1 / (1 + np.exp(2.0 - 0.2 * np.abs(age - 40.0) - job))
    words = pa.array(np.array(["clerk", "cook", "judge"])[job])
    return pa.table({"age": pa.array(age, mask=rng.random(N_ROWS) < 0.1), "job": words}), labels


@pytest.fixture(scope="module")
def model():
    fitted = library.OnePassGAM(init_size=1500, interactions=0, random_state=0)
    return fitted.partial_fit(*table(), classes=[False, True])


@pytest.fixture
def file(model, tmp_path):
    library.save(model, tmp_path / "model.opauc")
    return str(tmp_path / "model.opauc")


def test_every_effect_is_listed_with_its_kind_its_importance_and_its_range(model, file, opauc):
    printed = opauc("inspect", file).out
    for name, kind, effect in (("age", "curve", model.terms_[0]), ("job", "levels", model.terms_[1])):
        assert effect.name == name
        (line,) = [line for line in printed.splitlines() if line.startswith(f"{name} ") and kind in line]
        assert f"{effect.importance:.3f}" in line
        assert f"{effect.value.min():+.3f} to {effect.value.max():+.3f}" in line


def test_terms_come_before_the_header_which_only_verbose_shows(tmp_path, opauc):
    (tmp_path / "rows.csv").write_text("age,bought\n" + "30,no\n30,no\n30,yes\n45,yes\n45,no\n" * 40)
    path = tmp_path / "m.opauc"
    library.train(tmp_path / "rows.csv", label="bought", output=path)
    short, long = opauc("inspect", path).out, opauc("inspect", path, "--verbose").out
    assert re.search(r"^classes +no, yes; positive: yes *$", short, re.MULTILINE)
    assert re.search(r"^rows +200 *$", short, re.MULTILINE)
    assert "(200 rows)" in short
    for internal in ("reading: kind", "arrays"):
        assert internal not in short
        assert internal in long
    assert long.index("terms, ") < long.index("reading: kind")


def test_the_model_selection_and_the_drift_are_listed(model, file, opauc):
    printed = opauc("inspect", file).out
    assert f"AUC {model.selection_.aucs[model.selection_.model]:.4f}  ← selected" in printed
    assert re.search(r"^drift +none", printed, re.MULTILINE)


def test_a_machine_gets_all_of_it(model, file, opauc):
    found = json.loads(opauc("inspect", file, "--json").out)["additive"]
    assert [effect["name"] for effect in found["terms"]] == [effect.name for effect in model.terms_]
    assert {effect["name"]: effect["importance"] for effect in found["terms"]} == pytest.approx(model.term_importances_)
    assert found["selection"] == {"model": model.selection_.model, "aucs": model.selection_.aucs}
    assert found["drift"] == {}


def test_features_that_drifted_are_named(tmp_path, opauc):
    moved = library.OnePassGAM(init_size=1500, interactions=0, random_state=0)
    moved.partial_fit(*table(), classes=[False, True])
    with pytest.warns(UserWarning, match="age"):
        moved.partial_fit(*table(1, shift=30.0))
    library.save(moved, tmp_path / "moved.opauc")
    assert "age (PSI" in opauc("inspect", str(tmp_path / "moved.opauc")).out
    assert list(json.loads(opauc("inspect", str(tmp_path / "moved.opauc"), "--json").out)["additive"]["drift"]) == [
        "age"
    ]


def test_the_shares_of_rows_next_to_the_levels_are_those_of_the_table(model):
    (levels,) = [effect for effect in shown_terms(model._terms()) if effect.name == "job"]
    words = table()[0]["job"].to_pylist()
    for name, share in zip(levels.grid[0], levels.row_shares, strict=True):
        assert share == pytest.approx(words.count(name) / N_ROWS)


def test_a_row_explained_adds_up_to_its_score_and_says_what_the_row_had(model):
    rows = pa.table({"age": [55.0], "job": ["judge"]})
    found = explain_row(model._terms(), model._columns.read(rows).rows[0], "a row", "row 1")
    assert found.score() == pytest.approx(model.decision_function(rows)[0])
    assert [str(part) for part in found.contributions] == ["age = 55", "job = judge"]
    assert f"probability {model.predict_proba(rows)[0, 1]:.4f}" in found.note
    nothing = model._columns.read(pa.table({"age": pa.array([None], pa.float64()), "job": ["king"]})).rows[0]
    parts = explain_row(model._terms(), nothing, "", "").contributions
    assert [str(part) for part in parts] == ["age = missing", "job = (others)"]


@pytest.fixture(scope="module")
def model_with_trees():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(12000, 3))
    labels = rng.random(12000) < 1 / (1 + np.exp(-4.0 * np.sign(rows.prod(axis=1)) - rows.sum(axis=1)))
    table = pa.table(dict(zip(("a", "b", "c"), rows.T, strict=True)))
    return library.OnePassGAM(init_size=10000, max_columns=400, random_state=0).fit(table, labels)


def test_every_tree_term_has_its_own_line(model_with_trees, tmp_path, opauc):
    library.save(model_with_trees, tmp_path / "model.opauc")
    printed = opauc("inspect", tmp_path / "model.opauc").out
    found = json.loads(opauc("inspect", tmp_path / "model.opauc", "--json").out)["additive"]["terms"]
    for name in ("a (trees)", "b (trees)", "c (trees)"):
        importance = model_with_trees.term_importances_[name]
        (line,) = [line for line in printed.splitlines() if line.startswith(name)]
        assert line.split()[2:] == ["trees", f"{importance:.3f}"]
        facts = {"kind": "trees", "importance": pytest.approx(importance), "range": None, "weak": False}
        assert {"name": name} | facts in found


def test_pairs_of_little_evidence_are_called_weak(tmp_path, opauc):
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(3000, 3))
    labels = rng.random(3000) < 1 / (1 + np.exp(-1.5 * rows[:, 0] * rows[:, 1]))
    fitted = library.OnePassGAM(interactions=[(0, 1), (0, 2)], trees=False, random_state=0).fit(rows, labels)
    library.save(fitted, tmp_path / "model.opauc")
    printed = opauc("inspect", tmp_path / "model.opauc").out
    found = json.loads(opauc("inspect", tmp_path / "model.opauc", "--json").out)["additive"]["terms"]
    assert re.search(r"^x0 × x1 +pair  ", printed, re.MULTILINE)
    assert re.search(r"^x0 × x2 +pair, weak  ", printed, re.MULTILINE)
    assert [term["name"] for term in found if term["weak"]] == ["x0 × x2"]


def test_a_row_explained_says_what_the_row_had_where_features_are_in_trees(model_with_trees):
    row = np.array([0.5, -0.25, 2.0])
    found = explain_row(model_with_trees._terms(), row, "a row", "row 1")
    table = pa.table({"a": [0.5], "b": [-0.25], "c": [2.0]})
    assert found.score() == pytest.approx(model_with_trees.decision_function(table)[0])
    contributions = [str(part) for part in found.contributions]
    assert {"a = 0.5", "a = 0.5 (trees)", "b = -0.25 (trees)", "c = 2 (trees)"} <= set(contributions)
    assert len(set(contributions)) == len(contributions)


@pytest.mark.parametrize(
    ("selection", "text"),
    [
        (ModelSelection("full", {}, (0.0, 0.0)), "no rows came after"),
        (ModelSelection("full", {"linear": 0.8, "full": 0.9}, (900.0, 100.0)), "on the 1,000 rows after"),
        (ModelSelection("additive", {"additive": 0.9, "full": 0.8}, (9.0, 1.0)), "Curves and levels, no pairs"),
        (ModelSelection("sample", {"full": 0.9}, (9.0, 1.0)), "class proportions changed"),
        (ModelSelection("another", {"another": 0.9, "full": 0.8}, (9.0, 1.0)), "Another: ranked better"),
    ],
)
def test_the_text_of_the_model_selection_gives_its_reason(selection, text):
    assert text in selection_as_text(selection)
