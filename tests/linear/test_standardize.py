"""Both solvers in the features' own units: literal versions, and the law that units and shifts change no ranking."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from opauc import OPAUC, OPAUCCV
from opauc.errors import IncompatibleMomentsError
from opauc.linear.exact import Exact
from opauc.linear.sgd import SGD
from opauc.metrics import exact_auc
from tests import literal
from tests.problems import problem, problems

UNTUNED = SGD(standardize=True)


def run(solver, rows, labels, weight=None):
    return solver.step(solver.start(rows.shape[1]), rows, labels, weight)


def weights(solver, rows, labels, weight=None):
    return solver.weights(run(solver, rows, labels, weight))


def in_units(rows, seed, most=6.0):
    """The rows with every feature in a unit of its own, and shifted; the units."""
    rng = np.random.default_rng(seed)
    units = 10.0 ** rng.uniform(-most, most, rows.shape[1])
    return (rows + rng.normal(size=rows.shape[1])) * units, units


@given(st.integers(0, 2**32 - 1), st.integers(1, 8), st.sampled_from([0.0, 1e-4, 0.3]), st.sampled_from([0.05, 0.5]))
def test_neither_units_nor_shifts_of_features_change_a_ranking_of_descent(seed, n_features, alpha, positives):
    rows, labels = problem(seed, 80, n_features, positives)
    rows[np.random.default_rng(seed).random(rows.shape) < 0.3] = 0.0
    other, units = in_units(rows, seed)
    solver = SGD(alpha=alpha, standardize=True)
    one, two = weights(solver, rows, labels), weights(solver, other, labels) * units
    assert_allclose(two, one, rtol=1e-5, atol=1e-7 * np.abs(one).max())


@given(st.integers(0, 2**32 - 1), st.integers(1, 8), st.sampled_from([1e-4, 0.3, 100.0]), st.sampled_from([0.05, 0.5]))
def test_neither_units_nor_shifts_of_features_change_a_ranking_of_the_exact_minimizer(
    seed, n_features, alpha, positives
):
    rows, labels = problem(seed, 80, n_features, positives)
    other, units = in_units(rows, seed)
    solver = Exact(alpha=alpha, standardize=True)
    one, two = weights(solver, rows, labels), weights(solver, other, labels) * units
    assert_allclose(two, one, rtol=1e-5, atol=1e-7 * np.abs(one).max())


@pytest.mark.parametrize("model", [OPAUC(solver="exact"), OPAUC(solver="sgd"), OPAUCCV()], ids=str)
def test_by_default_no_estimator_minds_units_or_shifts(model):
    rows, labels = problem(5, 400, 6)
    other, _ = in_units(rows, 5)
    scores = [model.fit(part, labels).decision_function(part) for part in (rows, other)]
    assert_allclose(scores[1], scores[0], rtol=1e-5, atol=1e-6 * np.abs(scores[0]).max())


@given(problems(), st.sampled_from([0.0, 1e-4, 1.0]))
@settings(max_examples=60)
def test_weights_are_finite_and_the_minimizer_no_worse_than_none_on_any_data(case, alpha):
    rows, labels = case
    solver = Exact(alpha=alpha, standardize=True)
    assert np.isfinite(weights(SGD(alpha=alpha, standardize=True), rows, labels)).all()
    state = run(solver, rows, labels)
    for found in (solver.weights(state), *solver.path(state, [alpha, 1.0])):
        assert np.isfinite(found).all()
    assert state.pair_loss(solver.weights(state)) <= 0.5 + 1e-9


@pytest.mark.parametrize("size", [1e-170, 1e-150, 1e-100, 1e100, 1e140])
def test_features_of_extreme_size_give_finite_weights(size):
    rows, labels = problem(7, 100, 3)
    rows[:, 1] *= size
    for solver in (UNTUNED, SGD(alpha=0.0, standardize=True), Exact(standardize=True)):
        found = weights(solver, rows, labels)
        assert np.isfinite(found).all()
        assert exact_auc(labels, rows @ found) > 0.6


def test_rows_all_alike_move_nothing():
    for alpha in (0.0, 0.1):
        assert_array_equal(
            weights(SGD(alpha, standardize=True), np.full((6, 2), 7.0), np.array([0, 1] * 3, np.int8)), [0.0, 0.0]
        )


def test_a_feature_that_turns_out_larger_than_it_seemed_does_not_drown_the_others():
    rows, labels = problem(6, 3000, 4)
    rows = np.column_stack([rows, np.random.default_rng(6).normal(size=3000)])
    rows[:300, 4] *= 1e-9  # a sensor that warms up
    learned, held_out = slice(2000), slice(2000, 3000)
    aucs = [
        exact_auc(labels[held_out], rows[held_out, :d] @ weights(UNTUNED, rows[learned, :d], labels[learned]))
        for d in (4, 5)
    ]
    assert abs(aucs[0] - aucs[1]) < 0.01


def test_the_mean_iterate_approaches_the_exact_minimizer_of_standardized_features():
    rows, labels = in_units(problem(3, 60_000, 5)[0], 3)[0], problem(3, 60_000, 5)[1]
    solver, exact = SGD(alpha=0.3, standardize=True), Exact(alpha=0.3, standardize=True)
    moments = run(exact, rows, labels)
    best, found = exact.weights(moments), weights(solver, rows, labels)
    deviation = exact.scale(moments)
    assert_allclose(found * deviation, best * deviation, atol=0.02 * np.abs(best * deviation).max())


def test_a_state_begun_without_scales_goes_on_with_them_and_back_and_keeps_its_mean():
    rows, labels = problem(8, 300, 5)
    plain, scaled = SGD(), SGD(standardize=True)
    for first, second in ((plain, scaled), (scaled, plain)):
        state = run(first, rows[:200], labels[:200])
        none = np.empty((0, 5)), np.empty(0, np.int8)
        assert_allclose(second.weights(second.step(state, *none)), first.weights(state), rtol=1e-12)
        whole = second.step(state, rows[200:], labels[200:])
        assert_allclose(
            second.statistics(whole).covariance_sum(), run(Exact(), rows, labels).covariance_sum(), atol=1e-9
        )
        assert second.widen(state, 7).weights.shape == (7,)
    later = scaled.step(run(plain, rows[:200], labels[:200]), rows[200:], labels[200:])
    moments = scaled.statistics(later)
    for k, one in enumerate(moments.groups):
        assert_allclose(later.scales[k] * later.squares[k], np.diagonal(one.scatter), rtol=1e-9)


def test_sums_of_squares_are_the_diagonals_however_much_is_forgotten():
    rows, labels = problem(1, 400, 3)
    solver = SGD(forgetting_factor=0.5, standardize=True)
    state = run(solver, np.tile(rows, (4, 1)), np.tile(labels, 4))
    for k, one in enumerate(solver.statistics(state).groups):
        assert_allclose(state.scales[k] * state.squares[k], np.diagonal(one.scatter), rtol=1e-9)
    assert np.isfinite(solver.weights(state)).all()


def test_a_heavy_row_does_not_step_beyond_one_over_its_curvature():
    rows, labels = problem(6, 200, 4)
    heavy = weights(SGD(alpha=0.0, standardize=True), rows, labels, np.full(200, 1e9))
    assert_allclose(heavy, weights(SGD(alpha=0.0, standardize=True), rows, labels, np.full(200, 1e3)), rtol=1e-9)


def test_squares_that_no_rows_can_have_raise():
    arrays = UNTUNED.to_arrays(run(UNTUNED, *problem(0)))
    for name in ("squares", "largest"):
        with pytest.raises(IncompatibleMomentsError, match="squares of features"):
            UNTUNED.from_arrays(5, {**arrays, name: -1.0 - arrays[name]})


@given(st.integers(0, 2**32 - 1), st.integers(1, 9), st.sampled_from([1e-6, 1e-2, 1.0, 1e3]))
def test_the_exact_minimizer_has_a_ridge_in_units_of_each_features_variance(seed, n_features, alpha):
    rows, labels = problem(seed, 70, n_features)
    negative, positive = rows[labels == 0], rows[labels == 1]
    spread = literal.covariance(negative) + literal.covariance(positive)
    difference = positive.mean(0) - negative.mean(0)
    ridge = alpha * np.diag(np.diagonal(spread)) / 2
    expected = np.linalg.solve(ridge + spread + np.outer(difference, difference), difference)
    solver = Exact(alpha=alpha, standardize=True)
    state = run(solver, rows, labels)
    for found in (solver.weights(state), solver.path(state, [alpha])[0]):
        assert_allclose(found, expected, rtol=1e-6, atol=1e-9 * np.abs(expected).max())


def test_features_without_variance_within_the_classes_do_not_mind_units_either():
    rows, labels = problem(2, 60, 3)
    rows = np.column_stack([rows, labels, np.full(60, 0.1)])  # one tells the classes apart, one is the same everywhere
    units = np.array([1.0, 1e5, 1e-5, 1e-6, 1e6])
    solver = Exact(alpha=0.5, standardize=True)
    one, two = weights(solver, rows, labels), weights(solver, rows * units, labels) * units
    assert_allclose(two, one, rtol=1e-6, atol=1e-9)
    assert one[3] > 0.1
    assert abs(one[4]) < 1e-9
    assert_array_equal(Exact(standardize=True).scale(Exact().start(2)), np.ones(2))


def test_merging_and_forgetting_standardized_models_leave_what_one_pass_would_have():
    rows, labels = in_units(problem(4, 300, 4)[0], 4)[0], problem(4, 300, 4)[1]
    whole = OPAUC(alpha=0.3).fit(rows, labels)
    merged = OPAUC(alpha=0.3).fit(rows[:100], labels[:100]).merge(OPAUC(alpha=0.3).fit(rows[100:], labels[100:]))
    assert_allclose(merged.coef_, whole.coef_, rtol=1e-9)
    assert_allclose(merged.path([0.3])[0], whole.coef_[0], rtol=1e-9)
    kept = merged.forget(rows[200:], labels[200:])
    assert_allclose(kept.coef_, OPAUC(alpha=0.3).fit(rows[:200], labels[:200]).coef_, rtol=1e-8)
