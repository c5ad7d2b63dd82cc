"""The exact minimizer for several classes: against the formula over all pairs of classes, and of rows."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.optimize import minimize

from opauc.linear.exact import Exact
from opauc.linear.multiclass.solver import MulticlassExact
from opauc.linear.multiclass.solver_cv import MulticlassExactCV
from tests.literal import several_minimizers, several_objective
from tests.problems import cuts, several_problem

SEEDS = st.integers(0, 2**32 - 1)


def after(solver, rows, labels, weight=None, at=()):
    """Return the state after rows in batches."""
    state = solver.start(rows.shape[1])
    for part in np.split(np.arange(labels.size), at):
        state = solver.step(state, rows[part], labels[part], None if weight is None else weight[part])
    return state


@given(SEEDS, st.integers(2, 6), st.sampled_from([1e-3, 0.1, 10.0]))
def test_weights_are_those_of_the_formula_over_all_pairs_of_classes(seed, n_classes, alpha):
    rows, labels = several_problem(seed, 120, 4, n_classes)
    solver = MulticlassExact(n_classes, alpha=alpha)
    expected = several_minimizers(rows, labels, alpha)
    assert_allclose(solver.weights(after(solver, rows, labels)), expected, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("seed", range(3))
def test_weights_minimize_the_loss_over_all_pairs_of_rows(seed):
    rows, labels = several_problem(seed, 40, 3, 4)
    solver = MulticlassExact(4, alpha=0.1)
    for k, weights in enumerate(solver.weights(after(solver, rows, labels))):
        least = minimize(several_objective, np.zeros(3), args=(k, rows, labels, 0.1), tol=1e-12)
        assert_allclose(weights, least.x, atol=1e-6)
        assert several_objective(weights, k, rows, labels, 0.1) <= least.fun + 1e-12


@pytest.mark.parametrize("standardize", [False, True])
def test_two_classes_have_the_weights_of_the_solver_of_two_with_either_sign(standardize):
    rows, labels = several_problem(3, 90, 5, 2, scale=np.array([1e-3, 1.0, 1.0, 50.0, 1e4]))
    several, two = MulticlassExact(2, alpha=0.2, standardize=standardize), Exact(alpha=0.2, standardize=standardize)
    expected = two.weights(two.step(two.start(5), rows, labels))
    assert_allclose(several.weights(after(several, rows, labels)), [-expected, expected], rtol=1e-7)


def test_scaled_features_have_the_penalty_of_their_units():
    """Weights of standardized features are those of the features, divided by the scale."""
    rows, labels = several_problem(4, 200, 3, 3)
    scale = np.sqrt(np.mean([rows[labels == k].var(axis=0) for k in range(3)], axis=0))
    solver = MulticlassExact(3, alpha=0.3, standardize=True)
    expected = several_minimizers(rows / scale, labels, 0.3) / scale
    assert_allclose(solver.weights(after(solver, rows, labels)), expected, rtol=1e-8)


@given(SEEDS, cuts(60), st.booleans())
def test_batches_give_the_weights_of_the_whole_weighted_or_not(seed, at, weighted):
    rows, labels = several_problem(seed, 60, 4, 3)
    weight = np.random.default_rng(seed).uniform(0.5, 2.0, 60) if weighted else None
    solver = MulticlassExact(3)
    whole, cut = after(solver, rows, labels, weight), after(solver, rows, labels, weight, at)
    assert_allclose(solver.weights(cut), solver.weights(whole), rtol=1e-7, atol=1e-9)


def test_whole_weights_count_rows_several_times():
    rows, labels = several_problem(5, 60, 4, 3)
    copies = np.random.default_rng(5).integers(1, 4, 60)
    solver = MulticlassExact(3, alpha=0.1)
    weighted = solver.weights(after(solver, rows, labels, copies.astype(float)))
    repeated = solver.weights(after(solver, np.repeat(rows, copies, axis=0), np.repeat(labels, copies)))
    assert_allclose(weighted, repeated, rtol=1e-9)


@pytest.mark.parametrize("make", [MulticlassExact, MulticlassExactCV])
def test_sparse_float32_and_threads_give_the_weights_of_dense_rows(make):
    rows, labels = several_problem(6, 4000, 6, 5)
    rows[np.random.default_rng(6).random(rows.shape) < 0.7] = 0.0
    rows = rows.astype(np.float32).astype(np.float64)
    solver = make(5)
    expected = solver.weights(after(solver, rows, labels))
    assert_allclose(solver.weights(after(solver, sparse.csr_array(rows), labels)), expected, rtol=1e-8)
    assert_allclose(solver.weights(after(solver, rows.astype(np.float32), labels)), expected, rtol=1e-3, atol=1e-5)
    assert_allclose(solver.weights(after(make(5, n_jobs=2), rows, labels)), expected, rtol=1e-9)


def test_a_forgetting_factor_weighs_rows_by_their_age():
    rows, labels = several_problem(7, 60, 3, 3)
    solver = MulticlassExact(3, alpha=0.1, forgetting_factor=0.95)
    weighted = MulticlassExact(3, alpha=0.1)
    expected = weighted.weights(after(weighted, rows, labels, 0.95 ** np.arange(59.0, -1.0, -1.0)))
    for at in ([], [20, 21, 40]):
        assert_allclose(solver.weights(after(solver, rows, labels, at=at)), expected, rtol=1e-8)
    with pytest.raises(ValueError, match=r"forget needs forgetting_factor=1\.0, got 0\.95"):
        solver.forget(after(solver, rows, labels), rows, labels)


def test_classes_without_rows_play_no_part():
    rows, labels = several_problem(8, 60, 3, 3)
    fewer, more = MulticlassExact(3, alpha=0.1), MulticlassExact(5, alpha=0.1)
    numbers = np.array([0, 2, 3], np.int8)[labels]
    state = after(more, rows, numbers)
    weights, expected = more.weights(state), fewer.scorer(after(fewer, rows, labels))
    assert_allclose(weights[[0, 2, 3]], fewer.weights(after(fewer, rows, labels)), rtol=1e-9)
    assert not weights[[1, 4]].any()
    scores = more.scorer(state).scores(rows)
    assert_allclose(scores[:, [0, 2, 3]], expected.scores(rows), rtol=1e-9)
    assert np.isneginf(scores[:, [1, 4]]).all()
    probabilities = more.scorer(state).probabilities(scores)
    assert_allclose(probabilities.sum(axis=1), 1.0)
    assert not probabilities[:, [1, 4]].any()


@pytest.mark.parametrize("make", [MulticlassExact, MulticlassExactCV])
def test_the_only_class_is_certain_and_without_rows_all_are_alike(make):
    solver = make(3)
    nothing = solver.scorer(solver.start(2))
    assert_allclose(nothing.probabilities(nothing.scores(np.ones((1, 2)))), [[1 / 3] * 3])
    one = solver.scorer(after(solver, np.eye(2), np.ones(2, np.int8)))
    assert one.probabilities(one.scores(np.ones((1, 2)))).tolist() == [[0.0, 1.0, 0.0]]


@pytest.mark.parametrize("make", [MulticlassExact, MulticlassExactCV])
def test_classes_of_one_row_and_constant_or_doubled_features_have_finite_scores(make):
    rows, labels = several_problem(9, 30, 4, 3)
    labels[:] = np.where(np.arange(30) == 3, 2, labels % 2)
    rows[:, 2], rows[:, 3] = 7.0, rows[:, 0]
    solver = make(3)
    scorer = solver.scorer(after(solver, rows, labels))
    scores = scorer.scores(rows)
    assert np.isfinite(scores).all()
    assert_allclose(scorer.probabilities(scores).sum(axis=1), 1.0)


@given(SEEDS)
def test_a_path_has_the_weights_of_each_alpha(seed):
    rows, labels = several_problem(seed, 60, 4, 3)
    alphas = [0.0, 0.01, 1.0, 100.0]
    state = after(MulticlassExact(3), rows, labels)
    path = MulticlassExact(3).path(state, alphas)
    for alpha, weights in zip(alphas, path, strict=True):
        assert_allclose(weights, MulticlassExact(3, alpha=alpha).weights(state), rtol=1e-6, atol=1e-9)
    assert MulticlassExact(3).path(state, []).shape == (0, 3, 4)


@pytest.mark.parametrize("make", [MulticlassExact, MulticlassExactCV])
def test_features_that_turn_up_late_were_zero_before(make):
    rows, labels = several_problem(10, 200, 8, 3)
    rows[:120, 5:] = 0.0
    solver = make(3)
    wide = after(solver, rows, labels, at=[120])
    late = solver.step(solver.widen(after(solver, rows[:120, :5], labels[:120]), 8), rows[120:], labels[120:])
    assert_allclose(solver.weights(late), solver.weights(wide), rtol=1e-8)


@pytest.mark.parametrize("make", [MulticlassExact, MulticlassExactCV])
def test_the_state_has_n_covariances_and_comes_back_from_arrays(make):
    rows, labels = several_problem(11, 300, 7, 4)
    solver = make(4)
    state = after(solver, rows, labels)
    arrays = solver.to_arrays(state)
    assert sum(array.shape == (7, 7) for array in arrays.values()) == solver.n_covariances
    again = solver.from_arrays(7, arrays)
    one, other = (solver.step(each, rows, labels) for each in (state, again))
    assert_array_equal(solver.weights(one), solver.weights(other))
    with pytest.raises(ValueError, match="expected"):
        solver.from_arrays(6, arrays)
    with pytest.raises(ValueError, match="expected"):
        make(5).from_arrays(7, arrays)
