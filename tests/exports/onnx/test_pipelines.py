"""Pipelines of scikit-learn with estimators of this package, converted by skl2onnx and run by onnxruntime."""

import sys

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from skl2onnx import to_onnx
from skl2onnx.common.data_types import DoubleTensorType, FloatTensorType, StringTensorType
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from opauc import OPAUC, OPAUCCV, OnePassGAM, UnsupportedOperationError
from opauc.errors import MissingEngineError
from opauc.exports.onnx.pipelines import register_converters
from tests.exports import cases
from tests.exports.onnx import session

pytestmark = pytest.mark.filterwarnings("ignore:column")


@pytest.fixture(autouse=True)
def _registered():
    register_converters()


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    return rng.normal(size=(3000, 4)) * [1.0, 10.0, 0.1, 1.0] + 3.0


def labels_of(rows, names):
    noise = np.random.default_rng(1).normal(size=len(rows))
    truth = rows[:, 0] - 3.0 + (rows[:, 1] - 3.0) / 10.0 * (rows[:, 3] - 3.0)
    return np.array(names)[(truth + noise > 0).astype(int)]


def convert(pipeline, n_columns, kind=DoubleTensorType):
    return to_onnx(pipeline, initial_types=[("X", kind([None, n_columns]))], options={"zipmap": False})


@pytest.mark.parametrize("names", [[0, 1], ["no", "yes"], [False, True]])
@pytest.mark.parametrize("estimator", [OPAUC(), OPAUCCV(), OPAUC(loss="logistic"), OnePassGAM(random_state=0)], ids=str)
def test_a_pipeline_gives_the_labels_and_probabilities_of_python(estimator, names, rows):
    pipeline = make_pipeline(StandardScaler(), estimator).fit(rows, labels_of(rows, names))
    out = session.run(convert(pipeline, 4), {"X": rows[:200]})
    assert_allclose(out["probabilities"], pipeline.predict_proba(rows[:200]), rtol=0, atol=1e-9)
    assert out["label"].tolist() == pipeline.predict(rows[:200]).tolist()


def test_float32_rows_give_the_probabilities_of_python_to_five_digits(rows):
    pipeline = make_pipeline(StandardScaler(), OPAUC()).fit(rows, labels_of(rows, [0, 1]))
    given = rows[:200].astype(np.float32)
    out = session.run(convert(pipeline, 4, FloatTensorType), {"X": given})
    assert out["probabilities"].dtype == np.float32
    assert_allclose(out["probabilities"], pipeline.predict_proba(given), rtol=0, atol=1e-5)


def test_missing_values_trees_and_codes_are_those_of_python():
    frame, labels = cases.tree_frame(0, 16_000)
    frame["kind"] = frame["kind"].map({kind: float(at) for at, kind in enumerate("pqrstu")})
    rows = frame.to_numpy(np.float64)
    pipeline = make_pipeline(StandardScaler(with_mean=False, with_std=False), OnePassGAM(random_state=0))
    pipeline.fit(rows, labels)
    model = convert(pipeline, 6)
    assert {"TreeEnsembleRegressor", "LabelEncoder"} <= {node.op_type for node in model.graph.node}
    given = np.where(np.random.default_rng(0).random((300, 6)) < 0.1, np.nan, rows[:300])
    found = session.run(model, {"X": given})["probabilities"]
    assert_allclose(found, pipeline.predict_proba(given), rtol=0, atol=1e-5)


def test_a_map_of_probabilities_is_given(rows):
    pipeline = make_pipeline(SimpleImputer(), StandardScaler(), OPAUCCV()).fit(rows, labels_of(rows, ["no", "yes"]))
    given = rows[:30].astype(np.float32)
    ran = session.session_of(to_onnx(pipeline, given[:1])).run(None, {"X": given})
    assert_allclose([one["yes"] for one in ran[1]], pipeline.predict_proba(given)[:, 1], rtol=0, atol=1e-5)


def test_a_pipeline_of_numbers_and_categories_gives_the_probabilities_of_python(rows):
    frame = pd.DataFrame({"age": rows[:, 0], "city": np.random.default_rng(2).choice(["Basel", "Bern"], len(rows))})
    features = make_column_transformer((StandardScaler(), ["age"]), (OneHotEncoder(handle_unknown="ignore"), ["city"]))
    pipeline = make_pipeline(features, OPAUCCV()).fit(frame, labels_of(rows, [0, 1]))
    types = [("age", DoubleTensorType([None, 1])), ("city", StringTensorType([None, 1]))]
    model = to_onnx(pipeline, initial_types=types, options={"zipmap": False})
    given = frame[:100].assign(city=["Basel", "Bern", "Chur", "Bern"] * 25)
    found = session.run(model, {"age": given[["age"]].to_numpy(), "city": given[["city"]].to_numpy(object)})
    # skl2onnx makes features of categories in float32, and with them the matrix that the estimator is given.
    assert_allclose(found["probabilities"], pipeline.predict_proba(given), rtol=0, atol=1e-5)


def test_a_column_that_is_no_number_is_one_line():
    frame = pd.DataFrame({"c": list("abcd") * 30, "x": np.arange(120.0)})
    fitted = OnePassGAM(random_state=0).fit(frame, [0, 1, 1, 0, 1] * 24)
    message = r"whose rows are numbers: column c is a category; opauc\.export writes the model alone"
    with pytest.raises(UnsupportedOperationError, match=message):
        convert(fitted, 2)


def test_operators_that_are_too_old_are_one_line(rows):
    fitted = OPAUC().fit(rows, labels_of(rows, [0, 1]))
    with pytest.raises(UnsupportedOperationError, match=r"expected at least \{'': 18, 'ai.onnx.ml': 3\}"):
        to_onnx(fitted, rows[:1], options={"zipmap": False}, target_opset={"": 15, "ai.onnx.ml": 3})


def test_without_the_package_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "skl2onnx", None)
    with pytest.raises(MissingEngineError, match=r"skl2onnx is not installed; install opauc with its extra"):
        register_converters()
