"""Laws of sample weights, for every solver."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from tests.problems import cuts, problem
from tests.solvers import every_solver

EVERY_SOLVER = every_solver()
everyone = pytest.mark.parametrize("solver", list(EVERY_SOLVER.values()), ids=list(EVERY_SOLVER))


def weighted_problem(seed, n_rows=50, n_features=5):
    rows, labels = problem(seed, n_rows, n_features)
    rng = np.random.default_rng(seed)
    rows[rng.random(rows.shape) < 0.4] = 0.0
    return rows, labels, rng.uniform(0.1, 3.0, n_rows)


def after(solver, rows, labels, weight, at=()):
    state = solver.start(rows.shape[1])
    for part in np.split(np.arange(labels.size), at):
        state = solver.step(state, rows[part], labels[part], None if weight is None else weight[part])
    return state


def same(solver, one, other):
    """Compare to the bit where rows are processed one by one; sums over whole chunks agree to rounding."""
    if solver.order_matters:
        assert_array_equal(one, other)
    else:
        assert_allclose(one, other, rtol=1e-12, atol=1e-12)


@everyone
@pytest.mark.parametrize("shape", [np.asarray, sparse.csr_array])
def test_weights_of_one_are_no_weights(solver, shape):
    rows, labels, _ = weighted_problem(0)
    one, none = (after(solver, shape(rows), labels, weight) for weight in (np.ones(50), None))
    for name, part in solver.to_arrays(none).items():
        same(solver, solver.to_arrays(one)[name], part)


@everyone
def test_counts_and_mean_scores_are_weighted(solver):
    rows, labels, weight = weighted_problem(1)
    state, weights = after(solver, rows, labels, weight), np.arange(1.0, 6.0)
    summary = solver.summary(state, weights)
    expected = np.bincount(labels, weight)
    assert_allclose(solver.counts(state), expected, rtol=1e-12)
    assert_allclose(summary.counts, expected, rtol=1e-12)
    seen = rows / np.maximum(np.linalg.norm(rows, axis=1), 1e-30)[:, None] if solver.scores_unit_rows(state) else rows
    assert_allclose(summary.means, np.bincount(labels, weight * (seen @ weights)) / expected, rtol=1e-9)


@everyone
@pytest.mark.parametrize("size", [1e-6, 1e6])
@pytest.mark.filterwarnings("ignore::opauc.errors.DivergenceWarning")
def test_weights_far_from_one_give_finite_weights(solver, size):
    rows, labels = problem(2, 400, 4)
    assert np.isfinite(solver.weights(after(solver, rows, labels, np.full(400, size)))).all()


@everyone
def test_weighted_training_ranks_positives_above_negatives(solver):
    rows, labels = problem(2, 400, 4)
    rows[:, 0] += 2 * labels
    weight = np.random.default_rng(2).uniform(0.2, 3.0, 400)
    scores = rows @ solver.weights(after(solver, rows, labels, weight))
    assert (scores[labels == 1][:, None] > scores[labels == 0]).mean() > 0.7


@everyone
@given(st.integers(0, 2**32 - 1), cuts(50))
def test_weighted_rows_can_be_cut_anywhere_and_come_in_any_form(solver, seed, at):
    rows, labels, weight = weighted_problem(seed)
    whole = solver.weights(after(solver, rows, labels, weight))
    pieces = solver.weights(after(solver, sparse.csr_array(rows), labels, weight, at))
    assert_allclose(pieces, whole, rtol=1e-8, atol=1e-12)


@everyone
def test_weighted_rows_may_follow_rows_without_weights(solver):
    rows, labels, weight = weighted_problem(3)
    plain = solver.step(solver.start(5), rows[:25], labels[:25])
    ones = solver.step(solver.start(5), rows[:25], labels[:25], np.ones(25))
    mixed, given = (solver.step(state, rows[25:], labels[25:], weight[25:]) for state in (plain, ones))
    same(solver, solver.weights(mixed), solver.weights(given))
