"""SOLAM against a literal loop, and the saddle against the pair loss."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from opauc.baselines.solam import DUAL, SOLAMSolver, saddle_gradient
from opauc.errors import StatisticsOverflowError
from tests import literal as plain
from tests.problems import cuts, problem


def literal(rows, labels, eta0, radius, weights):
    """The weighted mean of the iterates and the variables of the saddle at the end."""
    w, (a, b, alpha), longest = np.zeros(rows.shape[1]), (0.0, 0.0, 0.0), 0.0
    total, steps, counts = np.zeros(rows.shape[1]), 0.0, np.zeros(2)
    for t, (x, k, weight) in enumerate(zip(rows, labels, weights, strict=True), 1):
        counts[k] += weight
        p, step, f = counts[1] / counts.sum(), weight * eta0 / np.sqrt(t), w @ x
        longest = max(longest, np.sqrt(x @ x))
        if k == 1:
            gradient, down_a, down_b = 2 * (1 - p) * (f - a - 1 - alpha) * x, -2 * (1 - p) * (f - a), 0.0
            up = -2 * (1 - p) * f - 2 * p * (1 - p) * alpha
        else:
            gradient, down_a, down_b = 2 * p * (f - b + 1 + alpha) * x, 0.0, -2 * p * (f - b)
            up = 2 * p * f - 2 * p * (1 - p) * alpha
        w = w - step * gradient
        w = w * min(1.0, radius / max(np.sqrt(w @ w), 1e-300))
        a, b = np.clip([a - step * down_a, b - step * down_b], -radius * longest, radius * longest)
        alpha = np.clip(alpha + step * up, -2 * radius * longest, 2 * radius * longest)
        total, steps = total + step * w, steps + step
    return total / steps, (b, a, alpha)


def run(solver, rows, labels, at=(), weight=None):
    state = solver.start(rows.shape[1])
    for part in np.split(np.arange(labels.size), at):
        state = solver.step(state, rows[part], labels[part], None if weight is None else weight[part])
    return state


@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from([0.02, 0.3, 2.0]),
    st.sampled_from([0.1, 1.0, 50.0]),
    st.sampled_from([0.1, 0.5]),
    st.booleans(),
)
def test_the_weights_are_those_of_the_literal_algorithm(seed, eta0, radius, positives, weighted):
    rows, labels = problem(seed, 80, 4, positives, scale=0.5)
    weight = np.random.default_rng(seed).uniform(0.1, 2.0, 80) if weighted else None
    solver = SOLAMSolver(eta0, radius)
    state = run(solver, rows, labels, weight=weight)
    expected, saddle = literal(rows, labels, eta0, radius, np.ones(80) if weight is None else weight)
    assert_allclose(solver.weights(state), expected, rtol=1e-9, atol=1e-10 * np.abs(expected).max())
    assert_allclose([*state.centres, state.scalars[DUAL]], saddle, rtol=1e-9, atol=1e-9)


def test_thousands_of_projections_lose_no_digits():
    rows, labels = problem(0, 5000, 4)
    expected, _ = literal(rows, labels, 5.0, 0.01, np.ones(5000))
    solver = SOLAMSolver(5.0, 0.01)
    assert_allclose(solver.weights(run(solver, rows, labels)), expected, rtol=1e-9)


@given(st.integers(0, 2**32 - 1), st.sampled_from([0.1, 0.5, 0.8]))
def test_at_the_best_centres_the_mean_gradient_is_that_of_all_pairs(seed, positives):
    """Mean over rows of the saddle's gradient = 2 p (1 - p) times the gradient of the pair loss, others zero."""
    rows, labels = problem(seed, 50, 4, positives)
    w = np.random.default_rng(seed).normal(size=4)
    scores = rows @ w
    centres = [scores[labels == k].mean() for k in (0, 1)]
    p, dual = labels.mean(), centres[0] - centres[1]
    parts = np.array([saddle_gradient(k, f, centres[k], dual, p) for k, f in zip(labels, scores, strict=True)])
    small = 1e-6
    pairs = [
        (plain.objective(w + move, rows, labels, 0.0) - plain.objective(w - move, rows, labels, 0.0)) / (2 * small)
        for move in small * np.eye(4)
    ]
    size = np.abs(parts[:, 0] @ rows).max() + 1.0
    assert_allclose(parts[:, 0] @ rows / 50, 2 * p * (1 - p) * np.array(pairs), rtol=1e-6, atol=1e-7 * size)
    assert_allclose(parts[:, 1][labels == 1].mean(), 0.0, atol=1e-12 * size)
    assert_allclose(parts[:, 1][labels == 0].mean(), 0.0, atol=1e-12 * size)
    assert_allclose(parts[:, 2].mean(), 0.0, atol=1e-12 * size)


@given(st.integers(0, 2**32 - 1), st.integers(0, 1))
def test_the_gradient_is_the_derivative_of_the_function(seed, k):
    def value(f, center, dual, p):
        q, y = (1 - p, 1) if k else (p, -1)
        return q * (f - center) ** 2 - 2 * q * y * (1 + dual) * f - p * (1 - p) * dual**2

    f, center, dual, p = np.random.default_rng(seed).random(4) * [4, 4, 4, 1] - [2, 2, 2, 0]
    steps = 1e-6 * np.eye(3)
    slopes = [
        (value(*(np.array([f, center, dual]) + s), p) - value(*(np.array([f, center, dual]) - s), p)) / 2e-6
        for s in steps
    ]
    assert_allclose(saddle_gradient(k, f, center, dual, p), slopes, rtol=1e-6, atol=1e-7)


@given(st.integers(0, 2**32 - 1), cuts(60), st.booleans())
def test_any_cut_of_the_stream_and_any_kind_of_row_give_the_same_bits(seed, at, dense):
    rows, labels = problem(seed, 60, 5)
    rows[np.random.default_rng(seed).random(rows.shape) < 0.5] = 0.0
    solver = SOLAMSolver(3.0, 0.1)
    whole = run(solver, rows, labels)
    pieces = run(solver, rows if dense else sparse.csr_array(rows), labels, at)
    for one, other in zip(whole, pieces, strict=True):
        assert_array_equal(one, other)


def test_the_weights_stay_within_the_radius():
    rows, labels = problem(1, 500, 4, scale=100.0)
    for radius in (1e-3, 1.0):
        assert np.linalg.norm(
            SOLAMSolver(1.0, radius).weights(run(SOLAMSolver(1.0, radius), rows, labels))
        ) <= radius * (1 + 1e-12)


def test_a_step_that_might_overflow_raises_and_changes_nothing():
    rows, labels = problem(2, 40, 3)
    state = run(SOLAMSolver(), rows, labels)
    before = [part.copy() for part in state]
    with pytest.raises(StatisticsOverflowError, match=r"eta0=1e\+150 within radius=1"):
        SOLAMSolver(1e150).step(state, rows, labels)
    for part, was in zip(state, before, strict=True):
        assert_array_equal(part, was)
