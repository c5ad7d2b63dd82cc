"""Models as ONNX, run by onnxruntime: the scores, probabilities, labels and reasons of Python."""

import sys

import numpy as np
import onnx
import pytest
from numpy.testing import assert_allclose
from onnx import helper

import opauc
from opauc import OPAUC, OnePassGAM
from opauc.errors import MissingEngineError
from opauc.exports.make_portable import make_portable
from opauc.exports.onnx.crossed import float_bits
from opauc.exports.onnx.graph import DOUBLE, OPERATORS, UINT64, Graph
from opauc.exports.onnx.inputs import date_part
from opauc.exports.onnx.model import onnx_model
from tests.exports.onnx import session
from tests.exports.plain_rows import plain_rows

pytestmark = pytest.mark.filterwarnings("ignore:column")
TOLERANCE = {"rtol": 0.0, "atol": 1e-9}


def run_case(case, reasons=0):
    return session.run(onnx_model(case.portable, reasons), session.tensors_of(case.portable, case.rows))


@pytest.mark.parametrize("with_reasons", [False, True])
def test_scores_probabilities_and_labels_are_those_of_python(case, with_reasons):
    out = run_case(case, int(with_reasons and case.portable.is_centered))
    assert_allclose(out["score"], case.scores, **TOLERANCE)
    assert_allclose(out["probabilities"], np.c_[1.0 - case.probabilities, case.probabilities], **TOLERANCE)
    assert out["label"].tolist() == case.model.predict(case.frame).tolist()


@pytest.mark.parametrize("k", [1, 3, 200])
@pytest.mark.parametrize("name", ["mixed", "trees", "edited"])
def test_reasons_are_those_of_python(name, k, case_of):
    case = case_of(name)
    out = run_case(case, k)
    assert out["reasons"].shape[1] == min(k, len(case.portable.terms))
    for names, differences, wanted in zip(
        out["reasons"].tolist(), out["differences"], case.model.reasons(case.frame, k), strict=True
    ):
        assert names[len(wanted) :] == [""] * (len(names) - len(wanted))
        assert_allclose(differences[: len(wanted)], [reason.difference for reason in wanted], **TOLERANCE)
        if k == 3:
            assert names[: len(wanted)] == [reason.name for reason in wanted]


def run_graph(graph, values, output, kind):
    """Return what a graph makes of a column of numbers."""
    model = helper.make_model(
        helper.make_graph(
            graph.nodes, "one", [helper.make_tensor_value_info("x", DOUBLE, ["rows", 1])],
            [helper.make_tensor_value_info(output, kind, ["rows", 1])], graph.constants,
        ),
        ir_version=10, opset_imports=[helper.make_opsetid(domain, version) for domain, version in OPERATORS.items()],
    )  # fmt: skip
    return session.run(model, {"x": np.array(values, np.float64)[:, None]})[output][:, 0]


def test_bits_of_whole_numbers_are_those_of_memory():
    rng = np.random.default_rng(0)
    powers = 2.0 ** np.arange(1024)
    values = np.concatenate([
        [0.0, -0.0, 1.0, -1.0, 2.0**53 + 2, 1e300, -1e300, np.finfo(float).max], powers, -powers,
        np.floor(powers * 1.7),
        rng.integers(-(2**53), 2**53, 2000), rng.integers(-1000, 1000, 500),
    ])  # fmt: skip
    graph = Graph(["x"])
    found = run_graph(graph, [np.nan, *values], float_bits(graph, "x"), UINT64)
    assert found[0] == 1
    assert np.array_equal(found[1:], (values + 0.0).view(np.uint64))


@pytest.mark.parametrize("part", ["month", "weekday", "hour"])
def test_parts_of_dates_are_those_of_numpy(part):
    hours = np.arange(np.datetime64("1599-12-01T05", "h"), np.datetime64("2402-01-01", "h"), np.timedelta64(29, "h"))
    days = hours.astype(np.int64) / 24.0
    wanted = {
        "month": hours.astype("datetime64[M]").astype(np.int64) % 12 + 1,
        "weekday": (hours.astype("datetime64[D]").astype(np.int64) + 3) % 7,
        "hour": hours.astype(np.int64) % 24,
    }
    graph = Graph(["x"])
    assert_allclose(run_graph(graph, days, date_part(graph, "x", part), DOUBLE), wanted[part], atol=1e-8)


def test_a_row_that_the_model_does_not_take_has_no_score(case_of):
    case = case_of("linear_error")
    rows = plain_rows(case.rows)[:1]
    changes = [{"amount": None}, {"size": ""}, {"amount": float("inf")}, {}]
    feeds = session.tensors_of(case.portable, [rows[0] | change for change in changes])
    out = session.run(onnx_model(case.portable), feeds)
    assert np.isnan(out["score"]).tolist() == [True, True, True, False]
    assert np.isnan(out["probabilities"]).any(axis=1).tolist() == [True, True, True, False]
    mixed = case_of("mixed")
    feeds = session.tensors_of(mixed.portable, [mixed.rows[0] | {"amount": -np.inf}, mixed.rows[0] | {"amount": None}])
    assert np.isnan(session.run(onnx_model(mixed.portable), feeds)["score"]).tolist() == [True, False]


def test_whole_numbers_are_one_category_however_they_are_written():
    texts = ["7", "12", "-3", *"abcdefghijkl"] * 8
    fitted = OnePassGAM(random_state=0).fit([{"c": text} for text in texts], [0, 1, 1, 0, 1] * 24)
    rows = [
        "7",
        "7.0",
        "7.000",
        "7e+00",
        "07.0",
        "1.2e+01",
        "-3.0",
        "7.5",
        "1e+400",
        "nan",
        "",
        "a",
        "7.",
        "0.0",
        "-0.0",
        "9" * 400 + ".0",
    ]
    portable = make_portable(fitted._to_model())
    out = session.run(onnx_model(portable), {"c": np.array(rows, object)[:, None]})
    assert_allclose(out["score"], fitted.decision_function([{"c": text} for text in rows]), **TOLERANCE)


@pytest.mark.parametrize("labels", [[False, True], [0, 1], [0.0, 1.0], ["no", "yes"]])
def test_labels_keep_their_type(labels):
    rows = np.arange(20.0)[:, None]
    fitted = OPAUC().fit(rows, np.array(labels)[(rows[:, 0] > 11).astype(int)])
    out = session.run(onnx_model(make_portable(fitted._to_model())), {"x0": rows})
    assert out["label"].tolist() == fitted.predict(rows).tolist()


def test_columns_may_have_the_names_of_outputs_and_nodes():
    rows = [{"score": float(at % 7), "label": float(at % 3), "Add_9": float(at % 5)} for at in range(200)]
    fitted = OnePassGAM(random_state=0).fit(rows, [int((at % 7) * (at % 3) > 3) ^ (at % 11 == 0) for at in range(200)])
    model = onnx_model(make_portable(fitted._to_model()))
    assert [one.name for one in model.graph.output] == ["model_label", "probabilities", "model_score"]
    feeds = {name: np.array([[row[name]] for row in rows]) for name in rows[0]}
    assert_allclose(session.run(model, feeds)["model_score"], fitted.decision_function(rows), **TOLERANCE)


def test_a_column_without_a_name_is_one_line():
    rows = [{"": float(at % 7), "a": float(at % 3)} for at in range(100)]
    fitted = OnePassGAM(random_state=0).fit(rows, [int(at % 7 > 3) ^ (at % 11 == 0) for at in range(100)])
    with pytest.raises(opauc.UnsupportedOperationError, match="cannot be exported as ONNX: column 1 has no name"):
        onnx_model(make_portable(fitted._to_model()))


def test_reasons_of_too_many_terms_are_one_line():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(8, 3200))
    portable = make_portable(OPAUC().fit(rows, rows[:, 0] > 0)._to_model())
    assert onnx_model(portable).graph.input
    with pytest.raises(opauc.UnsupportedOperationError, match=r"3,200 terms of 3,200 inputs are too many"):
        onnx_model(portable, 1)


def test_without_the_package_the_extra_is_named(tmp_path, monkeypatch):
    for name in [
        name for name in sys.modules if name.partition(".")[0] == "onnx" or name == "opauc.exports.onnx.model"
    ]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "onnx", None)
    fitted = OPAUC().fit([[0.0], [1.0], [2.0]], [0, 0, 1])
    with pytest.raises(MissingEngineError, match=r"onnx is not installed; install opauc with its extra: opauc\[onnx\]"):
        opauc.export(fitted, tmp_path / "model.onnx")
    assert not list(tmp_path.iterdir())


def test_the_file_describes_its_columns(tmp_path, case_of):
    opauc.export(case_of("mixed").model, tmp_path / "model.onnx", reasons=2)
    model = onnx.load(tmp_path / "model.onnx")
    onnx.checker.check_model(model, full_check=True)
    described = {one.name: one.doc_string for one in model.graph.input}
    assert described["amount"] == "a number, nan where missing"
    assert described["when"] == "days since 1970 in local time, nan where missing"
    assert described["shop"] == "a category, empty where missing"
    assert [one.name for one in model.graph.output][3:] == ["reasons", "differences"]
