"""SPAUC against a literal loop, and its expected step against the gradient over all pairs."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from opauc.baselines.spauc import SPAUCSolver
from opauc.errors import DivergedError
from opauc.linear.kernels.means import SUMS, WEIGHT
from tests import literal as plain
from tests.problems import cuts, problem


def literal(rows, labels, alpha, eta0, learning_rate, weights):
    """All iterates, one per row."""
    w, seen, bend, iterates = np.zeros(rows.shape[1]), ([], []), 0.0, []
    weighed = [], []
    for t, (x, k, weight) in enumerate(zip(rows, labels, weights, strict=True), 1):
        seen[k].append(x)
        weighed[k].append(weight)
        if seen[1 - k]:
            p = sum(weighed[1]) / (sum(weighed[0]) + sum(weighed[1]))
            c0, c1 = (np.average(part, axis=0, weights=share) for part, share in zip(seen, weighed, strict=True))
            d, away, q = c1 - c0, x - (c1 if k else c0), 1 - p if k else p
            bend = max(bend, alpha + q * away @ away + p * (1 - p) * d @ d)
            step = {"constant": eta0, "invsqrt": eta0 / np.sqrt(t)}.get(learning_rate)
            pushed = None if step is None else step * weight
            if step is None:
                step = 1 / (1 + np.sqrt(1 + t / eta0)) / bend
                pushed = min(step * weight, 1 / bend)
            w = (w - pushed * (q * (w @ away) * away - p * (1 - p) * (1 - w @ d) * d)) / (1 + step * alpha)
        iterates.append(w)
    return np.array(iterates)


def run(solver, rows, labels, at=(), weight=None):
    state = solver.start(rows.shape[1])
    for part in np.split(np.arange(labels.size), at):
        state = solver.step(state, rows[part], labels[part], None if weight is None else weight[part])
    return state


@pytest.mark.parametrize("learning_rate", ["constant", "invsqrt", "curvature"])
@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from([0.0, 0.1, 30.0]),
    st.sampled_from([0.01, 0.2]),
    st.sampled_from([0.1, 0.5, 0.9]),
    st.booleans(),
)
def test_the_weights_are_those_of_the_literal_algorithm(learning_rate, seed, alpha, eta0, positives, weighted):
    rows, labels = problem(seed, 60, 4, positives, scale=0.5)
    weight = np.random.default_rng(seed).uniform(0.1, 3.0, 60) if weighted else None
    expected = literal(rows, labels, alpha, eta0, learning_rate, np.ones(60) if weight is None else weight)
    last, mean = (SPAUCSolver(alpha, eta0, learning_rate, average) for average in (False, True))
    size = np.abs(expected).max()
    assert_allclose(last.weights(run(last, rows, labels, weight=weight)), expected[-1], rtol=1e-10, atol=1e-10 * size)
    taken = expected[max(np.argmax(labels == 0), np.argmax(labels == 1)) :]
    shares = np.arange(1.0, len(taken) + 1.0) ** 2
    found = mean.weights(run(mean, rows, labels, weight=weight))
    assert_allclose(found, shares @ taken / shares.sum(), rtol=1e-10, atol=1e-10 * size)


@given(st.integers(0, 2**32 - 1), st.sampled_from([0.2, 0.5]))
def test_the_mean_step_is_along_the_gradient_over_all_pairs(seed, positives):
    """With statistics of a million copies of a sample, one more row changes them by a millionth."""
    rows, labels = problem(seed, 30, 3, positives)
    copies, step = 1e6, 1e-3
    w = np.random.default_rng(seed).normal(size=3)
    solver = SPAUCSolver(alpha=0.0, eta0=step, learning_rate="constant", average=False)
    sums = np.array([rows[labels == k].sum(axis=0) for k in (0, 1)])
    state = solver.start(3)
    state.parts.records[:, WEIGHT] = w
    state.parts.records[:, SUMS:] = copies * sums.T
    state.parts.counts[:] = copies * np.bincount(labels)
    state.parts.products[:] = copies * sums @ w
    state.parts.gram[:] = copies**2 * sums @ sums.T
    moves = []
    for i in range(30):
        rollback = solver.rollback(state, rows[i : i + 1])
        moves.append(solver.weights(solver.step(state, rows[i : i + 1], labels[i : i + 1])) - w)
        rollback.roll_back()
    p, small = labels.mean(), 1e-6
    pairs = [
        (plain.objective(w + move, rows, labels, 0.0) - plain.objective(w - move, rows, labels, 0.0)) / (2 * small)
        for move in small * np.eye(3)
    ]
    size = np.abs(moves).max() / step
    assert_allclose(-np.mean(moves, axis=0) / step, p * (1 - p) * np.array(pairs), rtol=1e-4, atol=1e-4 * size)


@given(st.integers(0, 2**32 - 1), cuts(60), st.booleans())
def test_any_cut_of_the_stream_and_any_kind_of_row_give_the_same_bits(seed, at, dense):
    rows, labels = problem(seed, 60, 5)
    rows[np.random.default_rng(seed).random(rows.shape) < 0.5] = 0.0
    solver = SPAUCSolver()
    whole = run(solver, rows, labels)
    pieces = run(solver, rows if dense else sparse.csr_array(rows), labels, at)
    for one, other in zip(whole.parts, pieces.parts, strict=True):
        assert_array_equal(one, other)


@given(st.integers(0, 2**32 - 1), st.sampled_from([1e-6, 10.0, 1e8]))
def test_steps_without_units_give_the_same_scores_in_any_units(seed, scale):
    rows, labels = problem(seed, 60, 4)
    weights = [SPAUCSolver().weights(run(SPAUCSolver(), rows * factor, labels)) * factor for factor in (1.0, scale)]
    assert_allclose(weights[1], weights[0], rtol=1e-9, atol=1e-10 * np.abs(weights[0]).max())


@given(st.integers(0, 2**32 - 1))
def test_moving_all_rows_changes_nothing(seed):
    rows, labels = problem(seed, 60, 4)
    here, there = (SPAUCSolver().weights(run(SPAUCSolver(), rows + shift, labels)) for shift in (0.0, 7.0))
    assert_allclose(here, there, rtol=1e-8, atol=1e-9 * np.abs(here).max())


def test_steps_too_large_for_the_rows_raise_and_can_be_rolled_back():
    rows, labels = problem(0, 200, 4)
    state = run(SPAUCSolver(), rows, labels)
    before = [part.copy() for part in state.parts]
    solver = SPAUCSolver(eta0=1e9, learning_rate="constant")
    rollback = solver.rollback(state, rows)
    with pytest.raises(DivergedError, match=r"eta0=1000000000\.0 is too large"):
        solver.step(state, rows, labels)
    rollback.roll_back()
    for part, was in zip(state.parts, before, strict=True):
        assert_array_equal(part, was)
