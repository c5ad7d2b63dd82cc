"""Every wrong input: an error that names what was wrong, and a model that is as it was."""

import copy

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse

from opauc import OPAUC, OPAUCCV
from opauc.errors import DivergedError, DivergenceWarning, StatisticsOverflowError
from tests.problems import problem

ROWS, LABELS = problem(0, 40, 3)
BROKEN = sparse.csr_matrix((np.ones(2), np.array([0, 1]), np.array([0, 1, 2])), shape=(2, 3))
BROKEN.indices[1] = 99

BAD_CHUNKS = [
    (np.where(ROWS[3, 1] == ROWS, np.nan, ROWS), LABELS, "contains NaN"),
    (np.where(ROWS[3, 1] == ROWS, np.inf, ROWS), LABELS, "contains infinity"),
    (ROWS[:, 0], LABELS, "Expected 2D array, got 1D array"),
    (ROWS[:5], LABELS, r"inconsistent numbers of samples: \[5, 40\]"),
    (ROWS[:0], LABELS[:0], r"Found array with 0 sample\(s\)"),
    (ROWS[:, :0], LABELS, r"0 feature\(s\)"),
    (ROWS, LABELS[:, None] @ [[1, 1]], "y should be a 1d array"),
    (ROWS, np.linspace(0, 1, 40), "Unknown label type: continuous"),
    (ROWS, np.where(np.arange(40) == 7, np.nan, LABELS), "contains NaN"),
    (ROWS + 1j, LABELS, "Complex data not supported"),
    (np.array([["a", "b", "c"]] * 40, object), LABELS, "could not convert string to float"),
    (BROKEN, [0, 1], "column indices of the sparse matrix must lie between 0 and 2, got 0 to 99"),
    (np.vstack([ROWS[:-2], [[1e200] * 3], [[-1e200] * 3]]), LABELS, "overflow float64"),
]


def snapshot(model):
    return {name: copy.deepcopy(value) for name, value in vars(model).items()}


def assert_unchanged(model, before):
    assert vars(model).keys() == before.keys()
    if "_fitted" in before:
        assert_array_equal(model._fitted.moments.positive.scatter, before["_fitted"].moments.positive.scatter)
        assert_array_equal(model.coef_, before["_fitted"].scorer.weights[None])
        assert_array_equal(model.classes_, before["classes_"])
    assert getattr(model, "n_features_in_", None) == before.get("n_features_in_")


@pytest.mark.parametrize("solver", ["exact", "sgd"])
@pytest.mark.parametrize(("rows", "labels", "message"), BAD_CHUNKS, ids=[case[2][:30] for case in BAD_CHUNKS])
def test_bad_rows_or_labels_are_refused_and_nothing_is_half_updated(solver, rows, labels, message):
    if solver == "sgd" and "overflow" in message:
        message = "overflow|overflowed"
    fresh, fitted = OPAUC(solver=solver), OPAUC(solver=solver).fit(ROWS, LABELS)
    before = snapshot(fitted)
    for call in (fresh.fit, fresh.partial_fit, fitted.partial_fit, fitted.fit):
        with pytest.raises(ValueError, match=message):
            call(rows, labels)
    assert vars(fresh).keys() == vars(OPAUC()).keys()
    assert_unchanged(fitted, before)
    fitted.partial_fit(ROWS, LABELS)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            {"alpha": -1e-3},
            r"'alpha' parameter of OPAUC must be a float in the range \[0.0, inf\). Got -0.001 instead",
        ),
        ({"alpha": np.nan}, "'alpha' parameter of OPAUC .* Got nan instead"),
        ({"alpha": "big"}, "'alpha' parameter of OPAUC .* Got 'big' instead"),
        ({"alpha": True}, "'alpha' parameter"),
        (
            {"eta0": 0.0},
            r"'eta0' parameter of OPAUC must be a float in the range \(0.0, inf\). Got 0.0 instead",
        ),
        ({"eta0": -1}, "'eta0' parameter"),
        ({"forgetting_factor": 0.0}, r"'forgetting_factor' parameter .* range \(0.0, 1.0\]. Got 0.0"),
        ({"forgetting_factor": 1.5}, "'forgetting_factor' parameter"),
        (
            {"solver": "newton"},
            r"'solver' parameter of OPAUC must be one of \{'auto', 'exact', 'sgd', 'progressive_selection'\}. Got 'new",
        ),
        ({"learning_rate": "optimal"}, "'learning_rate' parameter"),
        ({"average": 3}, "'average' parameter"),
        ({"rank": -1}, r"'rank' parameter of OPAUC must be None, 'auto' or an int in the range \[0, inf\). Got -1"),
        ({"rank": 2.0}, "'rank' parameter"),
        (
            {"rank": 2, "solver": "progressive_selection"},
            "solver='progressive_selection' keeps no covariance: rank must be 'auto' or 0, got 2",
        ),
        ({"rank": "full"}, "'rank' parameter"),
        (
            {"rank": 2, "forgetting_factor": 0.9},
            "forgetting_factor=0.9 needs full covariance, rank=None; here the rank is 2",
        ),
        ({"n_jobs": 0}, "'n_jobs' parameter"),
        ({"n_jobs": 1.5}, "'n_jobs' parameter"),
    ],
)
def test_bad_parameters_are_refused_by_name_value_and_expectation(settings, message):
    model = OPAUC(**settings)
    with pytest.raises(ValueError, match=message):
        model.fit(ROWS, LABELS)
    fitted = OPAUC().fit(ROWS, LABELS)
    before = snapshot(fitted)
    with pytest.raises(ValueError, match=message):
        fitted.set_params(**settings).partial_fit(ROWS, LABELS)
    assert_array_equal(fitted.coef_, before["_fitted"].scorer.weights[None])


@pytest.mark.parametrize("solver", ["exact", "sgd"])
def test_one_class_is_an_error_in_fit_and_allowed_in_chunks_when_both_are_named(solver):
    model = OPAUC(solver=solver)
    with pytest.raises(ValueError, match=r"got one class: every row of positive weight is of class 3"):
        model.fit(ROWS, np.full(40, 3))
    with pytest.raises(ValueError, match="classes must be passed on the first call to partial_fit"):
        model.partial_fit(ROWS, np.full(40, 3))
    assert not hasattr(model, "classes_")
    model.partial_fit(ROWS, np.full(40, 3), classes=[3, 8])
    assert model.predict(ROWS).tolist() == [3] * 40
    assert_array_equal(model.predict_proba(ROWS)[:, 0], np.ones(40))
    model.partial_fit(ROWS, np.where(LABELS, 8, 3))
    assert set(model.predict(ROWS)) == {3, 8}


def test_a_weight_of_zero_cannot_make_a_second_class():
    weight = np.where(LABELS, 0.0, 1.0)
    with pytest.raises(ValueError, match="got one class"):
        OPAUC().fit(ROWS, LABELS, sample_weight=weight)


@pytest.mark.parametrize(
    ("weight", "message"),
    [(-np.ones(40), "Negative values"), (np.ones(39), "inconsistent|shape"), (np.full(40, np.nan), "NaN")],
)
def test_bad_weights_are_refused(weight, message):
    with pytest.raises(ValueError, match=message):
        OPAUC().fit(ROWS, LABELS, sample_weight=weight)


@pytest.mark.parametrize(
    ("classes", "message"),
    [
        ([1], "classes must hold 2 to 100 distinct class labels, got 1"),
        ([1, 1], "got 1"),
        (range(101), r"got 101: \[0, 1, .* and 81 more"),
        ([0, 2], "y contains label 1, besides the classes 0 and 2; where there are more than two, give all"),
        ([0, 2, 3], r"y contains label 1, which is none of the classes \[0, 2, 3\]"),
    ],
)
def test_classes_are_at_most_a_hundred_and_cover_the_labels(classes, message):
    with pytest.raises(ValueError, match=message):
        OPAUC().partial_fit(ROWS, LABELS, classes=classes)


def test_classes_must_not_change_between_calls():
    model = OPAUC().partial_fit(ROWS, LABELS, classes=[0, 1])
    with pytest.raises(
        ValueError, match=r"classes=\[0, 2\]` is not the same as on last call to partial_fit, was: \[0, 1\]"
    ):
        model.partial_fit(ROWS, LABELS, classes=[0, 2])


@pytest.mark.parametrize("solver", ["exact", "sgd"])
def test_the_number_and_names_of_features_must_not_change(solver):
    model = OPAUC(solver=solver).fit(ROWS, LABELS)
    for call in (lambda: model.partial_fit(ROWS[:, :2], LABELS), lambda: model.predict(ROWS[:, :2])):
        with pytest.raises(ValueError, match="X has 2 features, but OPAUC is expecting 3 features"):
            call()
    named = OPAUC(solver=solver).fit(pd.DataFrame(ROWS, columns=list("abc")), LABELS)
    with pytest.raises(ValueError, match="feature names should match"):
        named.predict(pd.DataFrame(ROWS, columns=list("abd")))


def test_a_solver_cannot_be_swapped_in_mid_stream():
    model = OPAUC(solver="exact").fit(ROWS, LABELS).set_params(solver="sgd")
    with pytest.raises(ValueError, match=r"solver was 'exact' with rank None .* now it is 'sgd' with rank None"):
        model.partial_fit(ROWS, LABELS)


def test_divergence_names_eta0_and_keeps_the_model():
    model = OPAUC(solver="sgd", learning_rate="constant", eta0=1e-3).fit(ROWS, LABELS)
    before = model.coef_.copy()
    with pytest.raises(DivergedError, match=r"eta0=100.0 is too large"):
        model.set_params(eta0=100.0).partial_fit(np.tile(ROWS, (20, 1)), np.tile(LABELS, 20))
    assert_array_equal(model.coef_, before)


def test_weights_that_oscillate_without_overflow_are_a_warning_that_names_eta0():
    rows, labels = problem(1, 60, 3)
    with pytest.warns(DivergenceWarning, match=r"eta0=1.2 looks too large .* zero weights have 1"):
        OPAUC(solver="sgd", learning_rate="constant", eta0=1.2, average=False, standardize=False).fit(rows, labels)


def test_overflow_while_merging_keeps_both_models():
    one, other = (OPAUC().fit(sign * 1e160 * np.ones((2, 1)), [0, 1]) for sign in (1, -1))
    before = one.moments_
    with pytest.raises(StatisticsOverflowError):
        one.merge(other)
    assert one.moments_ is before


def test_forgetting_rows_that_were_never_processed_keeps_the_model():
    model = OPAUC().fit(ROWS, LABELS)
    before = snapshot(model)
    with pytest.raises(ValueError, match="only"):
        model.forget(np.vstack([ROWS, ROWS]), np.r_[LABELS, LABELS])
    assert_unchanged(model, before)
    with pytest.raises(ValueError, match=r"forget needs forgetting_factor=1.0, got 0.9"):
        OPAUC(forgetting_factor=0.9).fit(ROWS, LABELS).forget(ROWS, LABELS)


def test_too_many_features_for_full_covariance_say_what_they_would_take():
    rows = sparse.csr_matrix((2, 20_000))
    with pytest.raises(ValueError, match=r"covariance matrices of 20000 features take 6.0 GiB; .* at most 2 GiB"):
        OPAUC(rank=None).fit(rows, [0, 1])
    rows = sparse.csr_matrix((2, 9_000))
    with pytest.raises(
        ValueError, match=r"^8 covariance matrices of 9000 features take 4.8 GiB; forgetting_factor='auto' uses"
    ):
        OPAUC(forgetting_factor="auto").fit(rows, [0, 1])
    with pytest.raises(ValueError, match=r"^6 covariance matrices of 9000 features take 3.6 GiB; OPAUCCV uses at most"):
        OPAUCCV(cv=3).fit(rows, [0, 1])


def test_interrupting_a_chunk_leaves_the_model_as_it_was(monkeypatch):
    model = OPAUC().fit(ROWS, LABELS)
    before = snapshot(model)
    monkeypatch.setattr("opauc.linear.moments.classes.accumulate", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        model.partial_fit(ROWS, LABELS)
    assert_unchanged(model, before)
