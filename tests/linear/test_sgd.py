from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from opauc.errors import DivergedError
from opauc.linear import theorem_step_size
from opauc.linear.exact import Exact
from opauc.linear.moments.classes import ClassMoments
from opauc.linear.sgd import LEARNING_RATES, SGD
from tests import literal
from tests.problems import problem


def run(solver, rows, labels, weight=None):
    return solver.step(solver.start(rows.shape[1]), rows, labels, weight)


@pytest.mark.parametrize("n_features", [1, 6, 40])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_last_and_mean_iterate_are_the_literal_ones(n_features, dtype):
    rows, labels = problem(n_features, 120, n_features, positives=0.15, scale=0.2)
    rows = rows.astype(dtype)
    step = 0.1 / n_features
    iterates = literal.descent(rows.astype(float), labels, 0.01, np.full(120, step))
    state = run(SGD(0.01, step, "constant", average=False), rows, labels)
    assert_allclose(SGD(average=False).weights(state), iterates[-1], rtol=1e-9)
    moved = iterates[np.abs(iterates).sum(1) > 0]
    assert_allclose(SGD(average=True).weights(state), moved.mean(0), rtol=1e-9)


def test_iterates_stay_the_literal_ones_over_a_long_run_of_blocks():
    rows, labels = problem(0, 3000, 10, scale=0.2, offset=1.0)
    expected = np.zeros(10)
    counts, means, covariances = np.zeros(2), np.zeros((2, 10)), np.zeros((2, 10, 10))
    for x, k in zip(rows, labels, strict=True):  # Welford instead of all rows so far, for the sake of time
        counts[k] += 1
        away = x - means[k]
        means[k] += away / counts[k]
        covariances[k] = (1 - 1 / counts[k]) * (covariances[k] + np.outer(away, away) / counts[k])
        if counts[1 - k]:
            gap = x - means[1 - k]
            expected = expected - 0.02 * (
                0.001 * expected + (expected @ gap - (2.0 * k - 1)) * gap + covariances[1 - k] @ expected
            )
    state = run(SGD(0.001, 0.02, "constant"), rows, labels)
    assert_allclose(state.weights, expected, rtol=1e-9)


def test_each_step_follows_the_gradient_of_its_pair_loss_by_finite_differences():
    rows, labels = problem(1, 25, 4)
    solver = SGD(0.3, 1e-3, "constant", average=False)
    before = run(solver, rows[:24], labels[:24])
    after = solver.step(before, rows[24:], labels[24:])
    others = rows[:24][labels[:24] != labels[24]]
    sign = 2.0 * labels[24] - 1

    def loss(w):
        return 0.15 * w @ w + np.mean((1 - sign * (rows[24] - others) @ w) ** 2) / 2

    w, step = before.weights, 1e-6
    gradient = [(loss(w + step * e) - loss(w - step * e)) / (2 * step) for e in np.eye(4)]
    assert_allclose(after.weights, w - 1e-3 * np.array(gradient), atol=1e-10)


@pytest.mark.parametrize("learning_rate", LEARNING_RATES)
def test_step_sizes_are_those_documented(learning_rate):
    relative, sizes = LEARNING_RATES[learning_rate]
    t = np.array([1.0, 4.0, 100.0])
    expected = {
        "constant": [0.5, 0.5, 0.5],
        "invsqrt": [0.5, 0.25, 0.05],
        "curvature": 1 / (1 + np.sqrt(1 + t / 0.5)),
    }[learning_rate]
    assert_allclose(sizes(0.5, t), expected)
    assert relative == (learning_rate == "curvature")


def test_the_curvature_step_has_the_form_of_the_theorems_step():
    # With t = T, the curvature at its bound k = 4 + lambda, and eta0 = k B^2 / (2 L).
    k, T, L, B = 4.01, 5000, 0.2, 3.0
    _, sizes = LEARNING_RATES["curvature"]
    assert_allclose(sizes(k * B**2 / (2 * L), np.array([float(T)])) / k, theorem_step_size(T, L, B, 0.01))


@pytest.mark.parametrize("scale", [1e-4, 1.0, 1e5])
def test_the_curvature_step_neither_diverges_nor_depends_on_units(scale):
    rows, labels = problem(2, 400, 6)
    reference = SGD(alpha=0.0)
    expected = reference.weights(run(reference, rows, labels))
    assert_allclose(reference.weights(run(reference, rows * scale, labels)) * scale, expected, rtol=1e-8)


def test_the_mean_iterate_approaches_the_exact_minimizer():
    rows, labels = problem(3, 60_000, 5, scale=0.5)
    solver, exact = SGD(alpha=1e-3), Exact(alpha=1e-3)
    state = run(solver, rows, labels)
    moments = solver.statistics(state)
    best = moments.pair_loss(exact.weights(moments))
    assert moments.pair_loss(solver.weights(state)) < best + 0.01 * (0.5 - best)


def test_statistics_are_those_of_the_rows_pending_ones_included():
    rows, labels = problem(4, 101, 7, offset=4.0)
    weights = None, np.full(101, 2.0), np.random.default_rng(4).gamma(0.5, size=101)
    for forgetting_factor, weight in product((1.0, 0.97), weights):
        solver = SGD(forgetting_factor=forgetting_factor)
        state = run(solver, rows, labels, weight)
        got = solver.statistics(state)
        expected = ClassMoments.empty(7).update(rows, labels, weight, forgetting_factor=forgetting_factor)
        assert solver.counts(state) == (got.negative.count, got.positive.count)
        for one, other in ((got.negative, expected.negative), (got.positive, expected.positive)):
            assert_allclose(one.count, other.count, rtol=1e-10)
            assert_allclose(one.mean, other.mean, rtol=1e-10)
            assert_allclose(one.scatter, other.scatter, rtol=1e-8, atol=1e-10)


def test_a_step_too_large_is_an_error_that_names_it_and_the_old_state_stays():
    rows, labels = problem(5, 400, 4, scale=10.0)
    solver = SGD(eta0=1.0, learning_rate="constant")
    before = run(SGD(), rows[:30], labels[:30])
    kept = [part.copy() for part in before]
    with pytest.raises(DivergedError, match=r"eta0=1\.0 is too large"):
        solver.step(before, rows, labels)
    for part, copy in zip(before, kept, strict=True):
        assert_array_equal(part, copy)


def test_a_heavy_row_does_not_step_beyond_one_over_the_curvature():
    rows, labels = problem(6, 200, 4)
    solver = SGD(alpha=0.0)
    heavy = solver.weights(run(solver, rows, labels, np.full(200, 1e9)))
    # All rows alike heavy: the statistics are those of any equal weights, and every step is the longest.
    assert_allclose(heavy, solver.weights(run(solver, rows, labels, np.full(200, 3.0))), rtol=1e-9)


def test_weights_of_one_change_no_bit():
    rows, labels = problem(7, 90, 5)
    for one, other in zip(run(SGD(), rows, labels), run(SGD(), rows, labels, np.ones(90)), strict=True):
        assert_array_equal(one, other)
