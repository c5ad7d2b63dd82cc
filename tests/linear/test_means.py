import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from opauc.errors import DivergedError, DivergenceWarning, StatisticsOverflowError
from opauc.linear.exact import Exact
from opauc.linear.means import ClassMeans
from opauc.linear.moments.classes import ClassMoments
from tests.problems import cuts, problem, problems

SCALED = ClassMeans(scale_power=0.35, scale_rows=25)


def run(solver, rows, labels, at=(), weight=None):
    """State after the chunks, with weights asked for between them."""
    state = solver.start(rows.shape[1])
    for part in np.split(np.arange(labels.size), at):
        state = solver.step(state, rows[part], labels[part], None if weight is None else weight[part])
        solver.weights(state)
    return state


def answers(solver, state):
    weights = solver.weights(state)
    return [weights, solver.counts(state), *solver.summary(state, weights)]


@pytest.mark.parametrize("scale_power", [0.0, 0.35])
@pytest.mark.parametrize("average", [True, False])
@given(problems(), cuts(80), st.booleans())
def test_any_cut_of_the_stream_gives_the_same_bits(scale_power, average, drawn, at, dense):
    rows, labels = drawn
    rows = rows if dense else sparse.csr_array(rows)
    solver = ClassMeans(average=average, scale_power=scale_power, scale_rows=25)
    whole = answers(solver, run(solver, rows, labels))
    at = [place for place in at if place < labels.size]
    for one, other in zip(answers(solver, run(solver, rows, labels, at)), whole, strict=True):
        assert_array_equal(one, other)


@pytest.mark.parametrize("learning_rate", ["constant", "invsqrt"])
@given(st.integers(0, 2**32 - 1), cuts(60))
def test_any_cut_gives_the_same_bits_for_steps_taken_as_given(learning_rate, seed, at):
    rows, labels = problem(seed)
    solver = ClassMeans(1e-3, 1e-3, learning_rate, scale_power=0.2, scale_rows=30)
    whole = run(solver, rows, labels)
    assert_array_equal(solver.weights(run(solver, rows, labels, at)), solver.weights(whole))


def test_before_the_scale_is_fixed_weights_come_from_the_rows_there_are_and_change_nothing():
    rows, labels = problem(0, 40, 4)
    state = run(SCALED, rows[:17], labels[:17], (3, 9))
    assert state.buffer is not None
    early = ClassMeans(scale_power=0.35, scale_rows=17)
    fixed = run(early, rows[:17], labels[:17])
    assert fixed.buffer is None
    for one, other in zip(answers(SCALED, state), answers(early, fixed), strict=True):
        assert_array_equal(one, other)
    assert not state.parts.records.any()
    later = SCALED.step(state, rows[17:], labels[17:])
    assert_array_equal(SCALED.weights(later), SCALED.weights(run(SCALED, rows, labels)))


def test_rows_that_wait_are_copies():
    rows, labels = problem(1, 40, 4)
    chunk, marks = sparse.csr_array(rows[:20]), labels[:20].copy()
    state = SCALED.step(SCALED.start(4), chunk, marks)
    chunk.data[:] = 0.0
    marks[:] = 0
    state = SCALED.step(state, rows[20:], labels[20:])
    assert_array_equal(SCALED.weights(state), SCALED.weights(run(SCALED, rows, labels)))


def test_no_more_rows_wait_than_it_takes_to_fix_the_scale():
    rows, labels = problem(2, 60, 4)
    state = SCALED.start(4)
    for i in range(60):
        state = SCALED.step(state, rows[i : i + 1], labels[i : i + 1])
        assert (state.buffer is None) == (i >= 24)


@pytest.mark.parametrize("solver", [ClassMeans(), SCALED])
def test_no_rows_and_rows_of_zeros_have_no_weights(solver):
    assert solver.weights(solver.start(3)).tolist() == [0.0, 0.0, 0.0]
    labels = (np.arange(30) % 2).astype(np.int8)
    state = run(solver, np.zeros((30, 3)), labels, (10,))
    assert solver.weights(state).tolist() == [0.0, 0.0, 0.0]
    assert solver.summary(state, np.ones(3)) == ((15.0, 15.0), (0.0, 0.0), (0.0, 0.0))


@pytest.mark.parametrize("solver", [ClassMeans(), SCALED])
@pytest.mark.parametrize("n_rows", [20, 3000])
def test_counts_means_and_mean_scores_are_exact_in_the_units_of_the_rows(solver, n_rows):
    rows, labels = problem(3, n_rows, 4, offset=2.0)
    rows[:, 1] *= 50.0
    state = run(solver, rows, labels)
    means = np.array([rows[labels == k].mean(0) for k in (0, 1)])
    assert solver.counts(state) == tuple(np.bincount(labels))
    weights = solver.weights(state)
    assert_allclose(solver.summary(state, weights).means, means @ weights, rtol=1e-12)
    found = [solver.summary(state, unit).means for unit in np.eye(4)]
    assert_allclose(np.transpose(found), means, rtol=1e-12)


def test_the_variances_are_the_weighted_mean_squared_deviations_of_the_scores_met_on_the_way():
    rows, labels = problem(4, 70, 3, scale=0.5)
    solver, last = ClassMeans(), ClassMeans(average=False)
    state, squares, shares, steps = solver.start(3), np.zeros(2), np.zeros(2), 0
    for i, k in enumerate(labels):
        weights = last.weights(state)
        own = rows[: i + 1][labels[: i + 1] == k] @ weights
        state = solver.step(state, rows[i : i + 1], labels[i : i + 1])
        if len(set(labels[: i + 1])) == 2:
            steps += 1
            squares[k] += steps**2 * (own[-1] - own.mean()) ** 2
            shares[k] += steps**2
    assert_allclose(solver.summary(state, np.ones(3)).variances, squares / shares, rtol=1e-9)


@pytest.mark.parametrize("positives", [0.03, 0.5])
def test_balanced_steps_lead_in_the_direction_of_the_pair_losses_minimizer_with_twice_the_penalty(positives):
    rows, labels = problem(5, 60_000, 4, positives=positives, scale=0.5)
    solver, exact = ClassMeans(alpha=0.05), Exact(alpha=0.1)
    got = solver.weights(run(solver, rows, labels))
    best = exact.weights(ClassMoments.empty(4).update(rows, labels))
    assert got @ best > 0.99 * np.linalg.norm(got) * np.linalg.norm(best)


@pytest.mark.parametrize("scale", [1e-4, 1.0, 1e5])
def test_the_curvature_step_does_not_depend_on_units(scale):
    rows, labels = problem(6, 400, 6)
    solver = ClassMeans(alpha=0.0)
    expected = solver.weights(run(solver, rows, labels))
    assert_allclose(solver.weights(run(solver, rows * scale, labels)) * scale, expected, rtol=1e-8)


def test_a_step_too_large_is_an_error_that_names_it_and_can_be_undone():
    rows, labels = problem(8, 400, 4, scale=10.0)
    solver = ClassMeans(eta0=1.0, learning_rate="constant")
    before = run(ClassMeans(), rows[:30], labels[:30])
    kept = [part.copy() for part in before.parts]
    undo = solver.rollback(before, rows)
    with pytest.raises(DivergedError, match=r"eta0=1\.0 is too large"):
        solver.step(before, rows, labels)
    undo.roll_back()
    for part, copy in zip(before.parts, kept, strict=True):
        assert_array_equal(part, copy)


def test_divergence_on_the_rows_that_waited_leaves_them_waiting():
    rows, labels = problem(8, 400, 4, scale=10.0)
    solver = ClassMeans(eta0=1e3, learning_rate="constant", scale_power=0.1, scale_rows=25)
    before = run(SCALED, rows[:20], labels[:20])
    with pytest.raises(DivergedError, match=r"eta0=1000\.0 is too large"):
        solver.step(before, rows[20:], labels[20:])
    assert sum(part.size for _, part, _ in before.buffer) == 20
    assert not before.parts.records.any()


def test_weights_that_do_far_worse_than_none_are_warned_about():
    rows, labels = problem(9, 60, 3)
    with pytest.warns(DivergenceWarning, match=r"eta0=0\.4 looks too large"):
        run(ClassMeans(eta0=0.4, learning_rate="constant"), rows, labels)


@pytest.mark.parametrize("solver", [ClassMeans(), ClassMeans(scale_power=0.1, scale_rows=5)])
def test_rows_whose_squares_overflow_are_an_error_and_the_old_state_stays(solver):
    rows, labels = problem(10, 20, 3)
    before = run(solver, rows, labels)
    kept = [part.copy() for part in before.parts]
    rows[7, 1] = 1e200
    with pytest.raises(StatisticsOverflowError, match="scale the features down"):
        solver.step(before, rows, labels)
    for part, copy in zip(before.parts, kept, strict=True):
        assert_array_equal(part, copy)


def test_the_cost_of_a_row_does_not_depend_on_the_dimension():
    # 2000 rows of 100 entries; measured 1.5 times the time at a hundred times the features, most of it cache misses.
    best = {10**4: np.inf, 10**6: np.inf}
    solver, labels = ClassMeans(), (np.arange(2000) % 3 == 0).astype(np.int8)
    rng, problems = np.random.default_rng(0), {}
    for d in best:
        columns = (np.arange(100) * (d // 100) + rng.integers(0, d // 100, (2000, 100))).astype(np.int32)
        rows = sparse.csr_array((np.full(200_000, 0.1), columns.ravel(), np.arange(0, 200_001, 100)), (2000, d))
        problems[d] = rows, solver.step(solver.start(d), rows, labels)  # compiles, and commits the memory
    for _ in range(15):
        for d, (rows, state) in problems.items():
            start = time.perf_counter()
            solver.step(state, rows, labels)
            best[d] = min(best[d], time.perf_counter() - start)
    assert best[10**6] < 3 * best[10**4]


@pytest.mark.parametrize("at", [(), (7,), (7, 19, 33)])
def test_rows_wait_with_their_weights(at):
    rows, labels = problem(11, 60, 4)
    weight = np.random.default_rng(11).uniform(0.2, 3.0, 60)
    whole = answers(SCALED, run(SCALED, rows, labels, weight=weight))
    for one, other in zip(answers(SCALED, run(SCALED, rows, labels, at, weight)), whole, strict=True):
        assert_array_equal(one, other)
    waiting = run(SCALED, rows[:20], labels[:20], (7,), weight)
    assert_allclose(SCALED.counts(waiting), np.bincount(labels[:20], weight[:20]))


def test_a_scale_from_weighted_rows_is_that_of_the_rows_repeated():
    rows, labels = problem(12, 24, 3)
    often = np.random.default_rng(12).integers(1, 4, 24)
    one, other = ClassMeans(scale_power=0.3, scale_rows=24), ClassMeans(scale_power=0.3, scale_rows=often.sum())
    weighted = one.step(one.start(3), rows, labels, often.astype(float)).scale
    repeated = other.step(other.start(3), np.repeat(rows, often, axis=0), np.repeat(labels, often)).scale
    # the floor alone is over the number of rows
    assert_allclose(weighted, repeated, rtol=0.05)
