"""AdaOAM against a literal loop."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from opauc.baselines.ada_oam import AdaOAMSolver
from opauc.errors import DivergedError
from opauc.linear.sgd import SGD
from tests import literal as plain
from tests.problems import cuts, problem


def literal(rows, labels, alpha, eta0, epsilon, weights):
    """All iterates, one per row."""
    w, squares, seen, iterates = np.zeros(rows.shape[1]), np.zeros(rows.shape[1]), ([], []), []
    weighed = [], []
    for x, k, weight in zip(rows, labels, weights, strict=True):
        seen[k].append(x)
        weighed[k].append(weight)
        if seen[1 - k]:
            other, shares = np.array(seen[1 - k]), np.array(weighed[1 - k])
            gap = x - np.average(other, axis=0, weights=shares)
            slope = (w @ gap - (2 * k - 1)) * gap + plain.covariance(other, shares) @ w
            gradient = alpha * w + weight * slope
            squares = squares + gradient**2
            w = w - eta0 * gradient / (epsilon + np.sqrt(squares))
        iterates.append(w)
    return np.array(iterates)


def run(solver, rows, labels, at=(), weight=None):
    state = solver.start(rows.shape[1])
    for part in np.split(np.arange(labels.size), at):
        state = solver.step(state, rows[part], labels[part], None if weight is None else weight[part])
    return state


@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from([0.0, 0.1]),
    st.sampled_from([0.01, 0.5]),
    st.sampled_from([1e-8, 1.0]),
    st.booleans(),
)
def test_the_weights_are_those_of_the_literal_algorithm(seed, alpha, eta0, epsilon, weighted):
    rows, labels = problem(seed, 60, 4)
    weight = np.random.default_rng(seed).uniform(0.1, 3.0, 60) if weighted else None
    expected = literal(rows, labels, alpha, eta0, epsilon, np.ones(60) if weight is None else weight)
    last, mean = (AdaOAMSolver(alpha, eta0, epsilon, average) for average in (False, True))
    assert_allclose(last.weights(run(last, rows, labels, weight=weight)), expected[-1], rtol=1e-10, atol=1e-10)
    taken = expected[max(np.argmax(labels == 0), np.argmax(labels == 1)) :]
    assert_allclose(mean.weights(run(mean, rows, labels, weight=weight)), taken.mean(axis=0), rtol=1e-10, atol=1e-10)


@given(st.integers(0, 2**32 - 1), cuts(60), st.booleans())
def test_any_cut_of_the_stream_gives_the_same_bits(seed, at, dense):
    rows, labels = problem(seed, 60, 5)
    rows = rows if dense else sparse.csr_array(rows)
    whole, pieces = run(AdaOAMSolver(), rows, labels), run(AdaOAMSolver(), rows, labels, at)
    for one, other in zip((*whole.descent, whole.squares), (*pieces.descent, pieces.squares), strict=True):
        assert_array_equal(one, other)


def test_the_statistics_are_those_of_algorithm_1():
    rows, labels = problem(0, 60, 4)
    found, expected = (
        AdaOAMSolver().statistics(run(AdaOAMSolver(), rows, labels)),
        SGD().statistics(run(SGD(), rows, labels)),
    )
    assert_array_equal(found.positive.scatter, expected.positive.scatter)
    assert_array_equal(found.negative.mean, expected.negative.mean)


@given(st.integers(0, 2**32 - 1), st.sampled_from([1e-3, 1e3]))
def test_a_step_is_in_units_of_the_weights(seed, scale):
    """Features on another scale need eta0 on the inverse one, and nothing else."""
    rows, labels = problem(seed, 60, 3)
    one = AdaOAMSolver(0.0, 0.03, 0.0)
    other = AdaOAMSolver(0.0, 0.03 / scale, 0.0)
    found = other.weights(run(other, rows * scale, labels)) * scale
    assert_allclose(found, one.weights(run(one, rows, labels)), rtol=1e-8, atol=1e-10)


def test_gradients_that_overflow_raise_and_change_nothing():
    rows, labels = problem(1, 60, 3)
    state = run(AdaOAMSolver(), rows, labels)
    before = state.descent.weights.copy()
    with pytest.raises(DivergedError, match=r"eta0=1e\+200 is too large"):
        AdaOAMSolver(eta0=1e200).step(state, rows, labels)
    assert_array_equal(state.descent.weights, before)


def test_a_feature_that_is_always_zero_keeps_weight_zero_even_without_epsilon():
    rows, labels = problem(2, 60, 3)
    rows[:, 1] = 0.0
    solver = AdaOAMSolver(epsilon=0.0)
    assert solver.weights(run(solver, rows, labels))[1] == 0.0
