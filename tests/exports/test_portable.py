"""The portable form of models, as JSON: a stand-alone evaluator gives the scores and the reasons of Python."""

import json
import warnings
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

import opauc
from opauc import OPAUC, OnePassGAM
from opauc.baselines import OPAUCpca
from opauc.exports.json_text import json_text
from opauc.exports.make_portable import make_portable
from opauc.metrics import ThresholdRule, choose_threshold
from tests.exports import cases, evaluator

TOLERANCE = {"rtol": 0.0, "atol": 1e-9}


def exported(case):
    return json.loads(json_text(case.portable))


@pytest.mark.filterwarnings("ignore:column")
def test_a_stand_alone_evaluator_gives_the_scores_and_probabilities_of_python(case):
    model = exported(case)
    assert_allclose([evaluator.score(model, row) for row in case.rows], case.scores, **TOLERANCE)
    probabilities = [evaluator.probability(model, row) for row in case.rows]
    assert_allclose(probabilities, case.probabilities, **TOLERANCE)


@pytest.mark.parametrize("name", ["mixed", "trees", "scoring_only", "edited", "text"])
@pytest.mark.filterwarnings("ignore:column")
def test_contributions_are_those_of_explain(name, case_of):
    case, model = case_of(name), exported(case_of(name))
    explained = case.model.explain(case.frame)
    assert tuple(term["name"] for term in model["terms"]) == explained.names
    found = [evaluator.contributions(model, row) for row in case.rows]
    assert_allclose(found, explained.contributions, **TOLERANCE)


@pytest.mark.parametrize("direction", ["lower", "raise"])
@pytest.mark.parametrize("by", ["term", "feature"])
@pytest.mark.parametrize("reference", ["mean", "best"])
@pytest.mark.parametrize("name", ["mixed", "trees", "edited"])
def test_reasons_are_those_of_python(name, reference, by, direction, case_of):
    case, model = case_of(name), exported(case_of(name))
    wanted = case.model.reasons(case.frame, 3, reference=reference, direction=direction, by=by)
    for at, row in enumerate(case.rows):
        found = evaluator.reasons(model, row, 3, direction, by, reference)
        assert [name for name, _ in found] == [reason.name for reason in wanted[at]]
        assert_allclose([part for _, part in found], [reason.difference for reason in wanted[at]], **TOLERANCE)


def test_the_cases_have_what_they_are_for(case_of):
    mixed, tree, text = (case_of(name).portable for name in ("mixed", "trees", "text"))
    assert {column.kind for column in mixed.columns} == {"number", "category", "date"}
    assert set(cases.HOSTILE[2:]) <= set(next(c for c in mixed.columns if c.name == cases.HOSTILE[0]).categories)
    assert tree.trees is not None
    assert any(term.crossed for term in tree.terms)
    assert any(len(table.axes) == 2 for term in tree.terms for table in term.tables)
    formats = {column.name: column.text_format for column in text.columns}
    assert formats["comma"] == ","
    assert formats["unit"] == ".day"
    assert formats["date"] == "iso or %d.%m.%Y"
    assert formats["short"] == "%m/%d/%y"


def test_the_score_without_terms_is_the_same(case_of):
    for name in ("mixed", "trees", "edited"):
        model = case_of(name).portable
        merged = {table.axes for table in model.score.tables}
        assert len(merged) == len(model.score.tables) < sum(len(term.tables) for term in model.terms)
        saved = exported(case_of(name))
        for row in case_of(name).rows[:10]:
            numbers = evaluator.inputs_of(saved, row)
            places = [evaluator.places(axis, numbers[axis["input"]]) for axis in saved["axes"]]
            total = model.score.intercept
            for table in model.score.tables:
                total += evaluator.table_value({"axes": table.axes, "values": table.values.tolist()}, places)
            for term in saved["terms"]:
                total += sum(evaluator.crossed_value(table, numbers) for table in term["crossed"])
            if model.trees is not None:
                total += float(sum(model.trees.leaf_values[leaf] for leaf in leaves(model.trees, places)))
            assert_allclose(total, evaluator.score(saved, row), **TOLERANCE)


def leaves(trees, places):
    for root in trees.roots.tolist():
        at = root
        while at >= 0:
            place = places[trees.axes[trees.split_axes[at]]][0][0]
            at = int(trees.children[at, int(place > trees.split_places[at])])
        yield -1 - at


def test_contributions_of_a_linear_model_are_weights_times_distances_from_the_mean():
    rng = np.random.default_rng(0)
    rows, labels = rng.normal(size=(60, 3)) + 5.0, np.arange(60) % 2
    fitted = OPAUC().fit(rows, labels)
    model = json.loads(json_text(make_portable(fitted._to_model())))
    found = evaluator.contributions(model, {"x0": 1.0, "x1": 2.0, "x2": 3.0})
    assert_allclose(found, fitted.coef_.ravel() * ([1.0, 2.0, 3.0] - rows.mean(axis=0)), **TOLERANCE)
    assert model["is_centered"] is True


@pytest.mark.parametrize("value", [float("inf"), "inf", "-Infinity"])
def test_infinite_values_are_errors(value, case_of):
    case = case_of("mixed")
    with pytest.raises(evaluator.BadValueError):
        evaluator.score(exported(case), case.rows[0] | {"amount": value})


def test_missing_and_unreadable_values_are_errors_where_python_says_so(case_of):
    model = exported(case_of("linear_error"))
    row = case_of("linear_error").rows[0]
    for change in ({"amount": None}, {"amount": "seven"}, {"size": ""}):
        with pytest.raises(evaluator.BadValueError):
            evaluator.score(model, row | change)
    with pytest.raises(evaluator.BadValueError):
        evaluator.score(exported(case_of("linear_zero")), row | {"amount": "seven"})


def test_json_is_ascii_and_safe_in_a_script(case_of):
    text = json_text(case_of("mixed").portable)
    assert text.isascii()
    assert "<" not in text
    assert json.loads(text)["labels"] == {"negative": "no", "positive": "yes"}


def test_a_saved_threshold_is_exported():
    threshold = choose_threshold([0, 0, 1, 1], [0.1, 0.3, 0.2, 0.4], ThresholdRule(at_fpr=0.0))
    fitted = OPAUC().fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1])
    portable = make_portable(replace(fitted._to_model(), threshold=threshold))
    assert json.loads(json_text(portable))["threshold"] == threshold.score


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"hash_bits": 6, "categorical": ["c"]}, "cannot be exported: its 2**6 features are hashes of names"),
        ({"format": "libsvm"}, "cannot be exported: its 3 features are those of LIBSVM rows and have no columns"),
    ],
)
def test_what_has_no_columns_is_one_line(options, message, tmp_path):
    if "format" in options:
        (tmp_path / "rows").write_text("1 1:0.5 3:2\n-1 2:1\n" * 20, encoding="utf-8")
        fitted = opauc.train(tmp_path / "rows", **options)
    else:
        (tmp_path / "rows.csv").write_text("a,c,y\n" + "1,u,0\n2,v,1\n" * 20, encoding="utf-8")
        fitted = opauc.train(tmp_path / "rows.csv", label="y", solver="exact", **options)
    with pytest.raises(opauc.UnsupportedOperationError) as caught:
        make_portable(fitted._to_model())
    assert str(caught.value).startswith(message)
    assert "\n" not in str(caught.value)


def test_more_features_than_a_file_can_list_are_one_line():
    rows = np.zeros((4, 10_001))
    rows[:, 0] = [0, 1, 2, 3]
    fitted = OPAUC(rank=1, random_state=0).fit(rows, [0, 0, 1, 1])
    with pytest.raises(opauc.UnsupportedOperationError, match=r"it has 10,001 features, more than 10,000"):
        make_portable(fitted._to_model())


def test_a_baseline_with_weights_is_exported_too():
    rng = np.random.default_rng(0)
    rows, labels = rng.normal(size=(80, 3)), np.arange(80) % 2
    fitted = OPAUCpca(n_components=2).fit(rows, labels)
    model = json.loads(json_text(make_portable(fitted._to_model())))
    named = [dict(zip(("x0", "x1", "x2"), row, strict=True)) for row in rows.tolist()]
    assert_allclose([evaluator.score(model, row) for row in named], fitted.decision_function(rows), **TOLERANCE)


def test_a_model_before_its_basis_is_fixed_is_exported():
    frame = {"c": ["a", "b", "c", None] * 30, "x": [1.0, 2.0, 3.0, 4.0] * 30}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted = OnePassGAM().partial_fit(
            [dict(zip(frame, row, strict=True)) for row in zip(*frame.values(), strict=True)],
            [0, 1, 1, 0] * 30,
            classes=[0, 1],
        )
    model = json.loads(json_text(make_portable(fitted._to_model())))
    rows = [{"c": "b", "x": 2.5}, {"c": "new", "x": None}, {"c": None, "x": 9.0}]
    assert_allclose([evaluator.score(model, row) for row in rows], fitted.decision_function(rows), **TOLERANCE)
