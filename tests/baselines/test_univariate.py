"""UniExp and UniSqu against a literal loop."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from opauc.baselines.uni_exp import UniExpSolver
from opauc.baselines.uni_squ import UniSquSolver
from opauc.errors import DivergedError, DivergenceWarning
from tests.problems import cuts, problem

both = pytest.mark.parametrize("make", [UniExpSolver, UniSquSolver])


def literal(rows, labels, exponential, eta0, learning_rate, weights):
    """All iterates, one per row."""
    w, counts, longest, iterates = np.zeros(rows.shape[1]), np.zeros(2), 0.0, []
    for t, (x, k, weight) in enumerate(zip(rows, labels, weights, strict=True), 1):
        counts[k] += weight
        y, omega, square = 2.0 * k - 1, weight * counts.sum() / (2 * counts[k]), x @ x
        if counts.min() > 0:
            bend = np.exp(min(10.0, -y * (w @ x))) if exponential else 1.0
            slope = y * bend if exponential else y - w @ x
            longest = max(longest, square)
            step = {"constant": eta0, "invsqrt": eta0 / np.sqrt(t)}.get(learning_rate)
            if step is None:
                step = min(1 / (1 + np.sqrt(1 + t / eta0)) / longest * omega, 1 / (bend * square)) / omega
            w = w + step * omega * slope * x
        iterates.append(w)
    return np.array(iterates)


def run(solver, rows, labels, at=(), weight=None):
    state = solver.start(rows.shape[1])
    for part in np.split(np.arange(labels.size), at):
        state = solver.step(state, rows[part], labels[part], None if weight is None else weight[part])
    return state


@both
@pytest.mark.filterwarnings("ignore::opauc.errors.DivergenceWarning")
@pytest.mark.parametrize("learning_rate", ["constant", "invsqrt", "curvature"])
@given(st.integers(0, 2**32 - 1), st.sampled_from([0.02, 0.3]), st.sampled_from([0.1, 0.5, 0.9]), st.booleans())
def test_the_weights_are_those_of_the_literal_algorithm(make, learning_rate, seed, eta0, positives, weighted):
    rows, labels = problem(seed, 60, 4, positives, scale=0.3)
    if learning_rate == "curvature":
        eta0 *= 100
    weight = np.random.default_rng(seed).uniform(0.1, 2.0, 60) if weighted else None
    ones = np.ones(60) if weight is None else weight
    expected = literal(rows, labels, make is UniExpSolver, eta0, learning_rate, ones)
    last = make(eta0, learning_rate, average=False)
    found = last.weights(run(last, rows, labels, weight=weight))
    averaged = make(eta0, learning_rate)
    mean = averaged.weights(run(averaged, rows, labels, weight=weight))
    assert_allclose(found, expected[-1], rtol=1e-10, atol=1e-10 * np.abs(expected).max())
    taken = expected[max(np.argmax(labels == 0), np.argmax(labels == 1)) :]
    shares = np.arange(1.0, len(taken) + 1.0) ** 2
    assert_allclose(mean, shares @ taken / shares.sum(), rtol=1e-10, atol=1e-10 * np.abs(expected).max())


@both
@given(st.integers(0, 2**32 - 1), cuts(60), st.booleans(), st.booleans())
def test_any_cut_of_the_stream_and_any_kind_of_row_give_the_same_bits(make, seed, at, dense, average):
    rows, labels = problem(seed, 60, 5)
    rows[np.random.default_rng(seed).random(rows.shape) < 0.5] = 0.0
    solver = make(average=average)
    whole = run(solver, rows, labels)
    pieces = run(solver, rows if dense else sparse.csr_array(rows), labels, at)
    for one, other in zip(whole, pieces, strict=True):
        assert_array_equal(one, other)


@both
@given(st.integers(0, 2**32 - 1), st.sampled_from([1e-6, 10.0, 1e8]))
def test_steps_without_units_give_the_same_scores_in_any_units(make, seed, scale):
    rows, labels = problem(seed, 60, 4)
    weights = [make().weights(run(make(), rows * factor, labels)) * factor for factor in (1.0, scale)]
    assert_allclose(weights[1], weights[0], rtol=1e-9, atol=1e-10 * np.abs(weights[0]).max())


def test_the_exponent_is_bounded():
    rows, labels = np.array([[1.0], [-1e3], [1.0]]), np.array([0, 1, 0], np.int8)
    solver = UniExpSolver(1.0, "constant", average=False)
    first = solver.weights(run(solver, rows[:2], labels[:2]))
    assert_allclose(first, [-1e3], rtol=1e-12)  # e^0: no step was taken on the first row
    state = solver.step(run(solver, rows[:2], labels[:2]), np.array([[-1.0]]), np.array([0], np.int8))
    assert_allclose(solver.weights(state) - first, [3 / 4 * np.exp(10.0)], rtol=1e-9)


def test_steps_too_large_for_the_rows_raise_or_warn_and_can_be_rolled_back():
    rows, labels = problem(0, 100, 4)
    state = run(UniSquSolver(), rows, labels)
    before = [part.copy() for part in state]
    rollback = UniSquSolver(1e9, "constant").rollback(state, rows)
    with pytest.raises(DivergedError, match=r"eta0=1000000000\.0 is too large"):
        UniSquSolver(1e9, "constant").step(state, rows, labels)
    rollback.roll_back()
    for part, was in zip(state, before, strict=True):
        assert_array_equal(part, was)
    with pytest.warns(DivergenceWarning, match=r"eta0=1\.0 looks too large"):
        run(UniSquSolver(1.0, "constant"), rows[:20], labels[:20])


@both
def test_rows_of_zeros_give_zero_weights(make):
    rows, labels = np.zeros((6, 3)), np.array([0, 1] * 3, np.int8)
    solver = make()
    state = run(solver, rows, labels)
    assert not solver.weights(state).any()
    assert solver.summary(state, np.ones(3)) == ((3.0, 3.0), (0.0, 0.0), (0.0, 0.0))
