"""Laws of every solver, by the registry."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn.metrics import roc_auc_score

from opauc.errors import UnsupportedOperationError
from tests.problems import cuts, problem
from tests.solvers import every_solver

EVERY_SOLVER = every_solver()
everyone = pytest.mark.parametrize("solver", list(EVERY_SOLVER.values()), ids=list(EVERY_SOLVER))
# For laws of random rows without special cases: an error shows in nearly every example.
FEW_EXAMPLES = min(20, settings.default.max_examples)


def after(solver, rows, labels, at=()):
    state = solver.start(rows.shape[1])
    for part, chunk in zip(np.split(np.arange(len(labels)), at), np.split(labels, at), strict=True):
        state = solver.step(state, rows[part], chunk)
    return state


@everyone
def test_hyper_parameters_are_frozen_and_all_have_defaults(solver):
    assert solver.__dataclass_params__.frozen
    for field in dataclasses.fields(solver):
        assert field.default is not dataclasses.MISSING


@everyone
@pytest.mark.filterwarnings("ignore::opauc.DivergenceWarning")  # forty rows are few; both must agree all the same
@given(st.integers(0, 2**32 - 1), cuts(40))
def test_weights_do_not_depend_on_how_the_stream_was_cut(solver, seed, at):
    rows, labels = problem(seed, 40, 4)
    whole = solver.weights(after(solver, rows, labels))
    assert_allclose(solver.weights(after(solver, rows, labels, at)), whole, rtol=1e-9, atol=1e-12)


@everyone
@pytest.mark.filterwarnings("ignore::opauc.DivergenceWarning")  # forty rows are few; both must agree all the same
@settings(max_examples=FEW_EXAMPLES)
@given(st.integers(0, 2**32 - 1))
def test_sparse_rows_give_the_weights_of_dense_ones(solver, seed):
    rows, labels = problem(seed, 40, 6)
    rows[np.random.default_rng(seed).random(rows.shape) < 0.7] = 0.0
    dense = solver.weights(after(solver, rows, labels))
    csr = solver.weights(after(solver, sparse.csr_array(rows), labels))
    assert_allclose(csr, dense, rtol=1e-8, atol=1e-12)


@everyone
@pytest.mark.filterwarnings("ignore::opauc.DivergenceWarning")  # forty rows are few; both must agree all the same
@settings(max_examples=FEW_EXAMPLES)
@given(st.integers(0, 2**32 - 1), st.sampled_from([np.asarray, sparse.csr_array]))
def test_float32_rows_give_nearly_the_weights_of_float64_ones(solver, seed, form):
    rows, labels = problem(seed, 60, 4)
    wide = solver.weights(after(solver, form(rows), labels))
    narrow = solver.weights(after(solver, form(rows.astype(np.float32)), labels))
    assert narrow.dtype == np.float64
    assert_allclose(narrow, wide, rtol=1e-3, atol=1e-4 * np.abs(wide).max())


@everyone
def test_the_state_does_not_grow_with_the_rows(solver):
    rows, labels = problem(0, 5000, 4)
    assert size(after(solver, rows, labels)) == size(after(solver, rows[:3000], labels[:3000]))


@everyone
def test_the_state_has_n_covariances_covariance_matrices(solver):
    rows, labels = problem(3, 60, 37)
    arrays = solver.to_arrays(solver.step(solver.start(37), rows, labels)).values()
    assert sum(array.size // 37**2 for array in arrays if array.shape[-2:] == (37, 37)) == solver.n_covariances


@everyone
def test_rows_of_one_class_alone_give_zero_weights(solver):
    state = after(solver, np.eye(3), np.ones(3, np.int8))
    assert not solver.weights(state).any()
    assert solver.summary(state, np.ones(3)).counts == solver.counts(state) == (0, 3)
    assert not solver.counts(state).both


@everyone
def test_trained_weights_rank_positives_above_negatives(solver):
    rows, labels = problem(9, 2000, 4)
    rows[:, 0] += 2 * labels
    weights = solver.weights(after(solver, rows, labels))
    assert roc_auc_score(labels, rows @ weights) > 0.8


@everyone
def test_the_summary_of_scores_is_that_of_the_training_rows(solver):
    rows, labels = problem(10, 3000, 3, positives=0.2)
    state = after(solver, rows, labels)
    weights = solver.weights(state)
    seen = rows / np.maximum(np.linalg.norm(rows, axis=1), 1e-30)[:, None] if solver.scores_unit_rows(state) else rows
    scores = [seen[labels == k] @ weights for k in (0, 1)]
    summary = solver.summary(state, weights)
    assert summary.counts == solver.counts(state) == tuple(len(part) for part in scores)
    assert solver.counts(state).both
    assert_allclose(summary.means, [part.mean() for part in scores], rtol=1e-6)
    assert_allclose(summary.variances, [part.var() for part in scores], rtol=variance_error(solver))


def variance_error(solver):
    """Return the largest relative error of the score variances, which are exact where covariances are kept."""
    if solver.n_covariances:
        return 1e-9
    if solver.name.startswith("sketched"):
        return 3 * np.sqrt(2 / solver.rank)  # three standard errors of the estimate of a sketch
    if solver.name == "oam":
        return 3 * np.sqrt(2 / solver.buffer_size)  # three standard errors of the rows in the buffer
    if solver.name == "mean_difference":
        return 0.1  # features count as uncorrelated, which those of this problem nearly are
    return 0.3  # of the scores that rows got before they were trained on, by earlier weights


@everyone
def test_class_statistics_are_there_where_has_statistics_says_so(solver):
    rows, labels = problem(11, 50, 3)
    state = after(solver, rows, labels)
    if solver.has_statistics:
        weights = np.array([1.0, -2.0, 0.5])
        assert_allclose(solver.statistics(state).summary(weights), solver.summary(state, weights), rtol=1e-9)
    else:
        with pytest.raises(UnsupportedOperationError, match=f"{type(solver).__name__} keeps no class statistics"):
            solver.statistics(state)


def size(state):
    """Numbers held in a state, whatever it is made of."""
    if isinstance(state, np.ndarray):
        return state.size
    if isinstance(state, tuple):
        return sum(size(part) for part in state)
    if dataclasses.is_dataclass(state):
        return sum(size(getattr(state, field.name)) for field in dataclasses.fields(state))
    return 1
