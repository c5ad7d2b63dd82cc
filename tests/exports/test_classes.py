"""Models of several classes in every format that takes them: the scores, probabilities and labels of Python."""

import json
import shutil

import numpy as np
import pytest
from numpy.testing import assert_allclose

import opauc
from opauc import OPAUC
from opauc.core.registry import EXPORTS
from opauc.errors import UnsupportedOperationError
from opauc.exports.js_code import classes_js_code
from opauc.exports.json_text import classes_to_json
from tests.exports import class_cases, evaluator
from tests.exports.plain_rows import plain_rows
from tests.exports.test_js_code import run_node

pytestmark = pytest.mark.filterwarnings("ignore:column")
TOLERANCE = {"rtol": 0.0, "atol": 1e-9}
NAMES = ("mixed", "trees", "linear_table", "array_0", "array_1", "array_2")


@pytest.fixture(params=NAMES)
def case(request, case_folder):
    if request.param.startswith("array_"):
        return class_cases.arrays()[int(request.param[-1])]
    maker = getattr(class_cases, request.param)
    return maker(case_folder) if request.param == "linear_table" else maker()


def log_softmax(values):
    shifted = values - values.max(axis=1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))


def test_the_json_has_all_that_the_reference_page_needs(case):
    model = json.loads(json.dumps(classes_to_json(case.portable)))
    additive = np.array([
        [evaluator.score({**model, **one}, row) for one in model["classes"]] for row in plain_rows(case.rows)
    ])  # fmt: skip
    link = model["link"]
    logits = link["power"] * additive - link["rest_power"] * np.logaddexp(0.0, additive)
    probabilities = np.exp(log_softmax(logits + np.array(link["log_shares"])))
    assert_allclose(probabilities, case.probabilities, **TOLERANCE)
    shares = np.exp(log_softmax(logits))
    scores = log_softmax(logits) - (np.log1p(-shares) if link["score"] == "log_odds" else 0.0)
    assert_allclose(scores, case.scores, rtol=1e-9, atol=1e-6)
    assert [model["labels"][at] for at in logits.argmax(axis=1)] == case.labels


@pytest.mark.skipif(shutil.which("node") is None, reason="Node is not installed")
def test_javascript(case, tmp_path):
    body = "[model.scores(row), model.probabilities(row), model.label(row)]"
    found = run_node(classes_js_code(case.portable), plain_rows(case.rows), body, tmp_path)
    scores, probabilities, labels = zip(*found, strict=True)
    assert_allclose(scores, case.scores, **TOLERANCE)
    assert_allclose(probabilities, case.probabilities, **TOLERANCE)
    assert list(labels) == case.labels


def test_equal_axes_are_shared_and_joined_scores_are_those_of_the_classes(case):
    portable = case.portable
    joined = portable.joined()
    assert len(joined.terms) == portable.n_classes
    assert len({(type(axis), axis.input) for axis in portable.axes}) <= len(portable.axes)
    if not isinstance(case.model, opauc.OnePassGAM):
        assert len(portable.axes) == len(portable.columns)
    if portable.n_classes == 3 and isinstance(case.model, opauc.OnePassGAM):
        assert len(portable.axes) < sum(len(set(_axes_of(one))) for one in portable.classes)


def _axes_of(one):
    return [axis for term in one.terms for table in term.tables for axis in table.axes]


def test_the_trees_of_a_class_are_exported():
    assert any(one.trees is not None for one in class_cases.trees().portable.classes)


def test_what_takes_two_classes_is_refused_by_name(tmp_path):
    model = OPAUC().fit([[0.0], [1.0], [2.0], [3.0]], [0, 1, 2, 2])
    able = ", ".join(name for name, one in EXPORTS.items() if one.write_classes is not None)
    assert able == "json, js"
    with pytest.raises(
        UnsupportedOperationError, match=rf"the format scorecard, here there are 3 classes; {able} take"
    ):
        opauc.export(model, tmp_path / "card.csv")
    with pytest.raises(
        UnsupportedOperationError, match="supported by reasons=2, here there are 3 classes; leave it out"
    ):
        opauc.export(model, tmp_path / "model.c", reasons=2)
    assert not list(tmp_path.iterdir())


def test_a_class_without_rows_is_left_out():
    case = class_cases.arrays()[2]
    assert case.portable.labels == (0, 1, 2, 3)
    assert case.model.classes_.tolist() == [-5, 0, 1, 2, 3]
