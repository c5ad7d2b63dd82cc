"""`OPAUC` as users meet it: scikit-learn's own checks, chunks, labels, tables, merge, forget, path."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.validation import has_fit_parameter

import opauc
from opauc import OPAUC
from opauc.errors import IncompatibleMomentsError, ParameterError
from tests import literal
from tests.problems import cuts, problem

SOLVERS = ["exact", "sgd"]


@given(st.integers(0, 2**32 - 1), cuts(60), st.sampled_from(["curvature", "constant", "invsqrt"]))
def test_sgd_gives_the_same_bits_however_the_rows_are_cut(seed, at, learning_rate):
    rows, labels = problem(seed, 60, 5)
    make = OPAUC(solver="sgd", learning_rate=learning_rate, eta0=0.01, forgetting_factor=0.99)
    whole, chunked = clone(make).fit(rows, labels), clone(make)
    for part in np.split(np.arange(60), at):
        chunked.partial_fit(rows[part], labels[part], classes=[0, 1])
    assert_array_equal(chunked.coef_, whole.coef_)
    assert_array_equal(chunked.intercept_, whole.intercept_)


@given(st.integers(0, 2**32 - 1), cuts(60), st.sampled_from([1.0, 0.98]))
def test_exact_gives_the_same_weights_however_the_rows_are_cut(seed, at, forgetting_factor):
    rows, labels = problem(seed, 60, 5)
    whole, chunked = (OPAUC(alpha=1e-2, forgetting_factor=forgetting_factor) for _ in range(2))
    whole.fit(rows, labels)
    for part in np.split(np.arange(60), at):
        chunked.partial_fit(rows[part], labels[part], classes=[0, 1])
    assert_allclose(chunked.coef_, whole.coef_, rtol=1e-10, atol=1e-10 * np.abs(whole.coef_).max())


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize(
    "names", [("no", "yes"), (False, True), (-1, 1), (0, 1), (1, 2), (-1.0, 1.0), (np.int8(3), np.int8(7))]
)
def test_any_two_labels_will_do_and_the_greater_is_positive(solver, names):
    rows, labels = problem(0, 50, 3)
    y = np.array(names)[labels]
    model = OPAUC(solver=solver).fit(rows, y)
    assert model.classes_.tolist() == list(names)
    assert model.classes_.dtype == y.dtype
    assert set(model.predict(rows).tolist()) <= set(names)
    assert_array_equal(model.coef_, OPAUC(solver=solver).fit(rows, labels).coef_)


def test_labels_may_be_objects_series_categories_or_arrow_arrays():
    rows, labels = problem(0, 50, 3)
    words = np.array(["ham", "spam"])[labels]
    expected = OPAUC().fit(rows, words)
    kinds = [
        words.astype(object),
        list(words),
        pd.Series(words),
        pd.Categorical(words),
        pl.Series(words),
        pa.array(words),
    ]
    for y in kinds:
        model = OPAUC().fit(rows, y)
        assert model.classes_.tolist() == ["ham", "spam"]
        assert_array_equal(model.coef_, expected.coef_)


@pytest.mark.parametrize("table", [pd.DataFrame, pl.DataFrame, lambda columns: pa.table(dict(columns))])
def test_tables_keep_their_column_names(table):
    rows, labels = problem(0, 50, 3)
    columns = {f"feature {j}": rows[:, j] for j in range(3)}
    model = OPAUC().fit(table(columns), labels)
    assert_array_equal(model.coef_, OPAUC().fit(rows, labels).coef_)
    assert_array_equal(model.predict(table(columns)), OPAUC().fit(rows, labels).predict(rows))
    assert model.feature_names_in_.tolist() == list(columns)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64, np.uint8, bool])
@pytest.mark.parametrize("make", [np.asarray, np.asfortranarray, sparse.csr_matrix, sparse.csc_array, sparse.coo_array])
def test_every_kind_of_matrix_gives_the_same_model(solver, dtype, make):
    rows, labels = problem(0, 80, 4, scale=20.0)
    rows = np.abs(rows).astype(dtype)
    expected = OPAUC(solver=solver, alpha=0.1).fit(rows.astype(float), labels)
    model = OPAUC(solver=solver, alpha=0.1).fit(make(rows), labels)
    assert_allclose(model.coef_, expected.coef_, rtol=1e-4 if dtype == np.float32 else 1e-8)
    assert_allclose(
        model.decision_function(make(rows)),
        expected.decision_function(rows.astype(float)),
        rtol=1e-3,
        atol=1e-4,
    )
    assert model.coef_.dtype == np.float64


def test_sparse_input_that_is_not_canonical_is_read_rightly_and_left_alone():
    data, indices, indptr = (
        np.array([2.0, 1.0, 0.0, 4.0, 4.0]),
        np.array([2, 0, 1, 1, 1]),
        np.array([0, 2, 2, 3, 5]),
    )
    rows = sparse.csr_matrix((data.copy(), indices.copy(), indptr.copy()), shape=(4, 3))
    dense = np.array([[1.0, 0, 2], [0, 0, 0], [0, 0, 0], [0, 8, 0]])
    for solver in SOLVERS:
        model = OPAUC(solver=solver).fit(rows, [0, 1, 0, 1])
        assert_allclose(model.coef_, OPAUC(solver=solver).fit(dense, [0, 1, 0, 1]).coef_, rtol=1e-12)
    assert_array_equal(rows.data, data)
    assert_array_equal(rows.indices, indices)


def test_merged_models_are_the_model_of_all_rows():
    rows, labels = problem(1, 90, 4)
    parts = [OPAUC().fit(rows[i::3], labels[i::3]) for i in range(3)]
    merged = parts[0].merge(parts[1]).merge(parts[2])
    assert_allclose(merged.coef_, OPAUC().fit(rows, labels).coef_, rtol=1e-10)
    assert_allclose(merged.intercept_, OPAUC().fit(rows, labels).intercept_, rtol=1e-10)


def test_forgotten_rows_leave_no_trace():
    rows, labels = problem(2, 90, 4)
    weight = np.random.default_rng(0).random(90)
    model = OPAUC().fit(rows, labels, sample_weight=weight).forget(rows[30:], labels[30:], sample_weight=weight[30:])
    assert_allclose(model.coef_, OPAUC().fit(rows[:30], labels[:30], sample_weight=weight[:30]).coef_, rtol=1e-7)


def test_a_sliding_window_is_partial_fit_and_forget():
    rows, labels = problem(3, 300, 4)
    model = OPAUC(alpha=1e-2)
    for start in range(0, 300, 20):
        model.partial_fit(rows[start : start + 20], labels[start : start + 20], classes=[0, 1])
        if start >= 100:
            model.forget(rows[start - 100 : start - 80], labels[start - 100 : start - 80])
    assert_allclose(model.coef_, OPAUC(alpha=1e-2).fit(rows[200:], labels[200:]).coef_, rtol=1e-7)


def test_a_path_holds_the_weights_of_every_alpha():
    rows, labels = problem(4, 80, 6)
    model = OPAUC().fit(rows, labels)
    alphas = 2.0 ** np.arange(-10, 3)
    for w, alpha in zip(model.path(alphas), alphas, strict=True):
        assert_allclose(w, OPAUC(alpha=alpha).fit(rows, labels).coef_[0], rtol=1e-8)


def test_only_sums_merge_forget_and_give_paths():
    rows, labels = problem(5, 40, 3)
    model = OPAUC(solver="sgd").fit(rows, labels)
    for action in (lambda: model.merge(model), lambda: model.forget(rows, labels), lambda: model.path([1.0])):
        with pytest.raises(ValueError, match="needs solver='exact'"):
            action()


def test_models_of_other_classes_or_features_do_not_merge():
    rows, labels = problem(5, 40, 3)
    model = OPAUC().fit(rows, labels)
    with pytest.raises(IncompatibleMomentsError, match=r"\[0, 1\] and \[0, 2\]"):
        model.merge(OPAUC().fit(rows, labels * 2))
    with pytest.raises(IncompatibleMomentsError, match="of 3 features and of 2"):
        model.merge(OPAUC().fit(rows[:, :2], labels))
    with pytest.raises(IncompatibleMomentsError, match="different names"):
        model.merge(OPAUC().fit(pd.DataFrame(rows, columns=list("abc")), labels))


@pytest.mark.parametrize("settings", [{"solver": "sgd"}, {"forgetting_factor": 0.9}, {"rank": 0}, {"rank": 3}])
def test_every_solver_takes_weights_and_heavier_rows_count_for_more(settings):
    rows, labels = problem(6, 400, 3)
    assert has_fit_parameter(OPAUC(**settings), "sample_weight")
    first = np.arange(400) < 200
    other = np.where(first[:, None], rows, -rows)  # the second half says the opposite
    weight = np.where(first, 1.0, 0.01)
    trusted = OPAUC(**settings, random_state=0).fit(other[::-1], labels[::-1], sample_weight=weight[::-1])
    assert roc_auc_score(labels, trusted.decision_function(rows)) > 0.5


def test_sgd_depends_on_the_order_of_rows_so_weights_cannot_mean_copies():
    """Why scikit-learn's weight checks, which shuffle, cannot hold for a one-pass descent."""
    rows, labels = problem(7, 40, 3)
    one, other = OPAUC(solver="sgd").fit(rows, labels), OPAUC(solver="sgd").fit(rows[::-1], labels[::-1])
    assert np.abs(one.coef_ - other.coef_).max() > 1e-3 * np.abs(one.coef_).max()


def test_weights_are_solved_for_only_when_asked_and_kept():
    rows, labels = problem(8, 40, 3)
    model = OPAUC().fit(rows, labels)
    assert "scorer" not in vars(model._fitted)
    assert model.coef_.base is model.coef_.base
    assert "scorer" in vars(model._fitted)
    with pytest.raises(ValueError, match="read-only"):
        model.coef_[0, 0] = 1.0


def test_auto_says_what_it_took():
    rows, labels = problem(9, 40, 3)
    model = OPAUC().fit(rows, labels)
    assert (model.solver_, model.rank_) == ("exact", None)
    assert OPAUC(solver="sgd").fit(rows, labels).solver_ == "sgd"


def test_it_works_inside_pipelines_searches_and_calibration():
    rows, labels = problem(10, 300, 4)
    search = GridSearchCV(
        make_pipeline(StandardScaler(), OPAUC()), {"opauc__alpha": [1e-3, 1.0]}, scoring="roc_auc", cv=3
    ).fit(rows, labels)
    assert 0.5 < search.best_score_ <= 1.0
    calibrated = CalibratedClassifierCV(OPAUC(), cv=3).fit(rows, labels, sample_weight=np.ones(300))
    assert calibrated.predict_proba(rows).shape == (300, 2)


def test_held_out_auc_on_real_data_is_close_to_that_of_logistic_regression():
    X, y = load_breast_cancer(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    rows, held, labels, truth = train_test_split(X, y, test_size=0.4, random_state=0, stratify=y)
    models = OPAUC(), OPAUC(solver="sgd"), LogisticRegression(max_iter=1000)
    auc = [roc_auc_score(truth, model.fit(rows, labels).decision_function(held)) for model in models]
    assert min(auc) > 0.98
    assert max(auc) - min(auc) < 0.015


def test_moments_of_both_solvers_agree_and_predict_the_training_loss():
    rows, labels = problem(11, 200, 4)
    exact, sgd = OPAUC(solver="exact").fit(rows, labels), OPAUC(solver="sgd").fit(rows, labels)
    assert_allclose(sgd.moments_.covariance_sum(), exact.moments_.covariance_sum(), rtol=1e-9)
    assert_allclose(
        exact.moments_.pair_loss(exact.coef_[0]),
        literal.objective(exact.coef_[0], rows, labels, 0.0),
        rtol=1e-9,
    )


def test_predict_uses_a_threshold_until_the_next_fit(tmp_path):
    rows, labels = problem(3, 200, 3)
    model = OPAUC().fit(rows[:100], labels[:100])
    threshold = model.threshold_for(rows[100:], labels[100:], at_recall=0.9)
    assert model.threshold_ is None, "choosing one changes nothing"
    before = model.predict(rows)
    model.use_threshold(threshold)
    assert_array_equal(model.predict(rows), model.classes_[(model.decision_function(rows) > threshold.score) * 1])
    opauc.save(model, tmp_path / "model")
    assert opauc.load(tmp_path / "model").threshold_ == threshold
    assert model.partial_fit(rows[:50], labels[:50]).threshold_ == threshold
    assert_array_equal(model.fit(rows[:100], labels[:100]).predict(rows), before)
    assert_array_equal(model.use_threshold(threshold).use_threshold(None).predict(rows), before)
    with pytest.raises(ParameterError, match=r"threshold_for\(X, y, at_fpr=0.1\)"):
        model.threshold_for(at_fpr=0.1)
    with pytest.raises(ParameterError, match="expected what threshold_for returns, or None, got float"):
        model.use_threshold(0.5)
