"""Models of several classes in every format that takes them: the scores, probabilities and labels of Python."""

import json
import shutil

import numpy as np
import pytest
import sqlglot
from numpy.testing import assert_allclose

import opauc
from opauc import OPAUC
from opauc.core.registry import EXPORTS
from opauc.errors import UnsupportedOperationError
from opauc.exports.c.code import classes_c_code
from opauc.exports.format import ExportOptions
from opauc.exports.js_code import classes_js_code
from opauc.exports.json_text import classes_to_json
from opauc.exports.onnx.classes import classes_onnx_model
from opauc.exports.sql.classes import classes_sql_text
from opauc.exports.sql.dialects import DIALECTS
from tests.exports import class_cases, evaluator
from tests.exports.c import program
from tests.exports.onnx import session
from tests.exports.plain_rows import plain_rows
from tests.exports.sql.databases import ROW, arrow_table, query_duckdb, query_postgres
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


@pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")
def test_c(case, tmp_path):
    portable = case.portable
    found = program.run(program.build(classes_c_code(portable), tmp_path), plain_rows(case.rows),
                        [column.name for column in portable.columns])  # fmt: skip
    n_classes, numbers = portable.n_classes, np.array([[float(one) for one in line] for line in found])
    assert_allclose(numbers[:, :n_classes], case.scores, **TOLERANCE)
    assert_allclose(numbers[:, n_classes:-1], case.probabilities, **TOLERANCE)
    assert [portable.labels[int(at)] for at in numbers[:, -1]] == case.labels


@pytest.mark.parametrize("dialect", ["duckdb", "postgres"])
def test_sql(case, dialect, request):
    # Text of PostgreSQL holds no character of number 0.
    at = [at for at, row in enumerate(case.rows) if not any("\0" in str(value) for value in row.values())]
    query, table = (
        classes_sql_text(case.portable, ExportOptions(dialect=dialect)),
        arrow_table([case.rows[k] for k in at]),
    )
    if dialect == "duckdb":
        result = query_duckdb(query, table)
    else:
        result = query_postgres(query, table, request.getfixturevalue("postgres"))
    n_classes = case.portable.n_classes
    given, results = len(case.rows[0]) + 1, result.iloc[:, len(case.rows[0]) + 1 :]
    assert list(result.columns[:given]) == [*case.rows[0], ROW]
    assert results.shape[1] == 2 * n_classes + 1
    assert_allclose(results.iloc[:, :n_classes].to_numpy(float), case.scores[at], **TOLERANCE)
    assert_allclose(results.iloc[:, n_classes:-1].to_numpy(float), case.probabilities[at], **TOLERANCE)
    assert results["label"].tolist() == [case.labels[k] for k in at]


def test_sql_names_the_columns_of_the_classes():
    case = class_cases.arrays()[0]
    result = query_duckdb(classes_sql_text(case.portable, ExportOptions()), arrow_table(case.rows))
    expected = [f"{kind}_{label}" for kind in ("score", "probability") for label in case.portable.labels]
    assert list(result.columns[4:]) == [*expected, "label"]


@pytest.mark.parametrize("dialect", DIALECTS)
def test_sql_of_each_dialect_parses(dialect):
    query = classes_sql_text(class_cases.arrays()[0].portable, ExportOptions(dialect=dialect, typed=True))
    assert sqlglot.parse_one(query, read=dialect)


def test_onnx(case):
    portable = case.portable
    out = session.run(classes_onnx_model(portable), session.tensors_of(portable, case.rows))
    assert_allclose(out["scores"], case.scores, **TOLERANCE)
    assert_allclose(out["probabilities"], case.probabilities, **TOLERANCE)
    assert out["label"].tolist() == case.labels


@pytest.mark.parametrize("name", ["model.json", "model.js", "model.c", "model.sql", "model.onnx"])
def test_files_are_written_by_their_endings(name, tmp_path):
    opauc.export(class_cases.arrays()[0].model, tmp_path / name)
    assert (tmp_path / name).stat().st_size > 500


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
    assert able == "json, js, c, onnx, sql"
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
