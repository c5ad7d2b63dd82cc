"""Every language scores random models as the stand-alone evaluator does: all kinds of axes, tables and trees."""

import shutil

import numpy as np
import pytest
from numpy.testing import assert_allclose
from onnx import helper

from opauc.exports.c.code import c_code
from opauc.exports.js_code import js_code
from opauc.exports.onnx.model import onnx_model
from tests.exports import random_models
from tests.exports.c import program as c_program
from tests.exports.onnx import session
from tests.exports.test_js_code import run_node

# A line multiplies unusual numbers by a slope: relative to the score they are equal to rounding.
TOLERANCE = {"rtol": 1e-12, "atol": 1e-9}
SEEDS = range(8)


def check_reasons(found, evaluated):
    for row, (_, wanted) in zip(found, evaluated, strict=True):
        assert [name for name, _ in row] == [name for name, _ in wanted]
        assert_allclose([part for _, part in row], [part for _, part in wanted], **TOLERANCE)


@pytest.mark.skipif(shutil.which("node") is None, reason="Node is not installed")
@pytest.mark.parametrize("seed", SEEDS)
def test_javascript(seed, tmp_path):
    model, rows = random_models.random_model(seed), random_models.random_rows(seed)
    wanted = random_models.evaluated(model, rows)
    found = run_node(js_code(model), rows, "[model.score(row), model.reasons(row, 3)]", tmp_path)
    assert_allclose([score for score, _ in found], [score for score, _ in wanted], **TOLERANCE)
    check_reasons([[(one["name"], one["difference"]) for one in reasons] for _, reasons in found], wanted)


@pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")
@pytest.mark.parametrize("k", [0, 3])
@pytest.mark.parametrize("seed", SEEDS)
def test_c(seed, k, tmp_path):
    model, rows = random_models.random_model(seed), random_models.random_rows(seed)
    wanted = random_models.evaluated(model, rows)
    program = c_program.build(c_code(model, k), tmp_path)
    found = c_program.run(program, rows, [column.name for column in model.columns])
    assert_allclose([float(row[0]) for row in found], [score for score, _ in wanted], **TOLERANCE)
    if k:
        check_reasons([list(zip(row[3::2], map(float, row[4::2]), strict=True)) for row in found], wanted)


@pytest.mark.parametrize("k", [0, 3])
@pytest.mark.parametrize("seed", SEEDS)
def test_onnx(seed, k):
    model, rows = random_models.random_model(seed), random_models.random_rows(seed)
    wanted = random_models.evaluated(model, rows)
    out = session.run(onnx_model(model, k), session.tensors_of(model, rows))
    assert_allclose(out["score"], [score for score, _ in wanted], **TOLERANCE)
    if k:
        named = zip(out["reasons"].tolist(), out["differences"].tolist(), strict=True)
        check_reasons([[pair for pair in zip(*row, strict=True) if pair[0]] for row in named], wanted)


def test_no_split_of_onnx_has_a_leaf_and_a_split_of_one_number():
    """onnxruntime before 1.24 takes a root with equal numbers for a leaf."""
    n_leaves = set()
    for seed in SEEDS:
        graph = onnx_model(random_models.random_model(seed)).graph
        for node in (node for node in graph.node if node.op_type == "TreeEnsemble"):
            of = {one.name: helper.get_attribute_value(one) for one in node.attribute}
            first = zip(of["nodes_truenodeids"], of["nodes_trueleafs"], strict=True)
            second = zip(of["nodes_falsenodeids"], of["nodes_falseleafs"], strict=True)
            for (number, is_leaf), (other, is_other) in zip(first, second, strict=True):
                assert is_leaf == is_other or number != other
            n_leaves.add(len(of["leaf_targetids"]))
    assert max(n_leaves) > 10


def test_random_models_have_all_kinds():
    models = [random_models.random_model(seed) for seed in SEEDS]
    tables = [table for model in models for term in model.terms for table in term.tables]
    kinds = {
        tuple(type(model.axes[axis]).__name__ for axis in table.axes)
        for model in models for term in model.terms for table in term.tables
    }  # fmt: skip
    assert {("Line",), ("Curve",), ("Steps",), ("Levels",), ("Curve", "Levels"), ("Levels", "Levels")} <= kinds
    assert np.mean([len(table.axes) for table in tables]) > 1.1
    assert any(model.trees is not None for model in models)
