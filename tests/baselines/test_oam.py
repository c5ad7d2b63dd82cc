"""OAM against a literal loop, its reservoirs against their distribution, its state against saved arrays."""

import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse, stats

import opauc
from opauc.baselines import OAM, oam
from opauc.baselines.oam import OAMSolver
from opauc.core.kernels.random_signs import random_bits
from opauc.errors import IncompatibleMomentsError, StatisticsOverflowError
from tests.problems import cuts, problem

both = pytest.mark.parametrize("update", ["sequential", "gradient"])
# Small buffers, so that most rows of a short stream are compared with full ones; multiples of LANES and others.
sizes = st.sampled_from([1, 3, 8, 11])
penalties = st.sampled_from([1e-3, 0.05, 1.0, 30.0])


def literal(rows, labels, update, size, penalty, key, weights):
    """All iterates, one per row, and the buffers at the end: pairs one by one, weights as one vector."""
    w, numbers, counts, buffers, iterates = np.zeros(rows.shape[1]), [0, 0], [0, 0], ([], []), []
    for x, k, weight in zip(rows, labels, weights, strict=True):
        numbers[k] += 1
        counts[k] += weight
        if numbers[k] <= size:
            buffers[k].append(x)
        else:
            share = (int(random_bits(np.uint64(key), numbers[k], k)) >> 11) * 2.0**-53
            slot = int(share * max(size, counts[k] / weight))
            if slot < size:
                buffers[k][slot] = x
        most = penalty * weight * counts[1 - k] / max(1, len(buffers[1 - k])) / 2
        pairs = [(2 * k - 1) * (x - other) for other in buffers[1 - k]]
        if update == "gradient":
            w = w + most * sum((z for z in pairs if w @ z <= 1.0), np.zeros(w.size))
        else:
            for z in pairs:
                if z.any():
                    w = w + min(most, max(0.0, 1.0 - w @ z) / (z @ z)) * z
        iterates.append(w)
    return np.array(iterates), buffers


def kept(state, k):
    """The rows in the buffer of class k, from where they are kept entry by entry."""
    out = np.zeros((int(min(state.n_rows[k], state.lengths.shape[1])), state.weights.size))
    for b, row in enumerate(out):
        length = state.lengths[k, b]
        row[state.indices[k, b, :length]] = state.values[k, b, :length]
    return out


def run(solver, rows, labels, at=(), weight=None):
    state = solver.start(rows.shape[1])
    for part in np.split(np.arange(labels.size), at):
        state = solver.step(state, rows[part], labels[part], None if weight is None else weight[part])
    return state


def copies(solver, state):
    return {name: part.copy() for name, part in solver.to_arrays(state).items()}


@both
@pytest.mark.parametrize("column_bytes", [0, oam.MAX_COLUMN_BYTES])
@given(st.integers(0, 2**32 - 1), sizes, penalties, st.sampled_from([0.1, 0.5]), st.booleans())
def test_every_iterate_is_that_of_the_literal_algorithm(update, column_bytes, seed, size, penalty, positives, weighted):
    rows, labels = problem(seed, 90, 5, positives)
    rows[np.random.default_rng(seed).random(rows.shape) < 0.4] = 0.0
    weight = np.random.default_rng(seed).gamma(1.0, size=90) if weighted else np.ones(90)
    solver = OAMSolver(update, size, penalty, random_state=seed)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(oam, "MAX_COLUMN_BYTES", column_bytes)
        state = solver.start(5)
        assert (state.columns.size > 0) == (column_bytes > 0)
        expected, buffers = literal(rows, labels, update, size, penalty, state.key[0], weight)
        for i, iterate in enumerate(expected):
            given = weight[i : i + 1] if weighted else None
            state = solver.step(state, sparse.csr_array(rows[i : i + 1]), labels[i : i + 1], given)
            assert_allclose(solver.weights(state), iterate, rtol=1e-10, atol=1e-10 * np.abs(iterate).max())
    for k in (0, 1):
        assert_array_equal(kept(state, k), buffers[k])


@both
@given(st.integers(0, 2**32 - 1), sizes, cuts(80), st.booleans())
def test_any_cut_of_the_stream_gives_the_same_bits(update, seed, size, at, dense):
    rows, labels = problem(seed, 80, 6, 0.3)
    rows[np.random.default_rng(seed).random(rows.shape) < 0.5] = 0.0
    rows = rows if dense else sparse.csr_array(rows)
    solver = OAMSolver(update, size, 0.1)
    whole, pieces = run(solver, rows, labels), run(solver, rows, labels, at)
    for one, other in zip(whole[:-1], pieces[:-1], strict=True):
        assert_array_equal(one, other)
    # The bound on |w| is a sum over batches; the weights do not depend on it.
    assert pieces.reach[1] <= whole.reach[1] * (1 + 1e-12)
    assert_array_equal(solver.weights(whole), solver.weights(pieces))


@both
@given(st.integers(0, 2**32 - 1), st.integers(1, 79))
def test_a_run_resumed_from_saved_arrays_gives_the_same_bits(update, seed, at):
    rows, labels = problem(seed, 80, 4, 0.3)
    solver = OAMSolver(update, 5, 0.1)
    half = run(solver, rows[:at], labels[:at])
    resumed = solver.from_arrays(4, copies(solver, half))
    assert resumed.weights.size == 4
    one, other = (solver.step(state, rows[at:], labels[at:]) for state in (half, resumed))
    assert_array_equal(other.columns, one.columns)
    assert_array_equal(solver.weights(one), solver.weights(other))


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("indices", lambda part: part + 9, "indices: expected numbers of at most 3"),
        ("lengths", lambda part: part + 9, "lengths: expected numbers from 0 to 4"),
        (
            "scores",
            lambda part: part[:-1],
            r"scores: expected float64 numbers of shape \(8,\), got float64 of shape \(7,\)",
        ),
        ("counts", lambda part: -part, "counts: expected numbers that are not negative"),
        ("in_use", lambda part: part + 5, "in_use: expected numbers from -1 to 1"),
    ],
)
def test_arrays_that_are_not_a_valid_state_raise(name, change, message):
    rows, labels = problem(0, 40, 4)
    solver = OAMSolver(buffer_size=5)
    arrays = copies(solver, run(solver, rows, labels))
    with pytest.raises(IncompatibleMomentsError, match=message):
        solver.from_arrays(4, arrays | {name: change(arrays[name])})


def test_every_row_is_kept_with_the_same_probability_and_in_every_slot():
    """Rows are their own number; over many seeds each of 30 is kept 6 times in 30, in each slot alike."""
    n_rows, size, runs = 30, 6, 3000
    rows, labels = np.arange(1.0, n_rows + 1.0)[:, None], np.zeros(n_rows, np.int8)
    found = np.zeros((n_rows, size))
    for seed in range(runs):
        values = run(OAMSolver(buffer_size=size, random_state=seed), rows, labels).values[0, :, 0]
        found[values.astype(int) - 1, np.arange(size)] += 1
    kept_rows = found.sum(axis=1)
    # Exactly `size` of n_rows are kept each time: counts vary by that much less than those of free draws.
    statistic = ((kept_rows - runs * size / n_rows) ** 2).sum() / (runs * size / n_rows) / (1 - size / n_rows)
    statistic *= (n_rows - 1) / n_rows
    assert stats.chi2.sf(statistic, n_rows - 1) > 1e-3
    # A late row, which did not start in a slot of its own, is as likely in any slot.
    late = found[size:].sum(axis=0)
    assert stats.chisquare(late).pvalue > 1e-3


def test_rows_are_kept_in_proportion_to_their_weights():
    """Chao: every one of 40 rows is in a reservoir of 4 with a chance of 4 times its share of all weights."""
    n_rows, size, runs = 40, 4, 4000
    rows, labels = np.arange(1.0, n_rows + 1.0)[:, None], np.zeros(n_rows, np.int8)
    weight = 1.0 + np.arange(n_rows) % 5
    found = np.zeros(n_rows)
    for seed in range(runs):
        solver = OAMSolver(buffer_size=size, random_state=seed)
        values = run(solver, rows, labels, weight=weight).values[0, :, 0]
        found[values.astype(int) - 1] += 1
    late = np.arange(n_rows) >= 2 * size  # the first fill the buffer whatever their weight
    expected = size * weight / weight.sum()
    assert_allclose(found[late] / runs, expected[late], atol=5 * np.sqrt(expected.max() / runs))


def test_the_classes_have_different_random_numbers():
    rows, labels = np.arange(1.0, 401.0)[:, None], np.tile(np.array([0, 1], np.int8), 200)
    state = run(OAMSolver(buffer_size=10), rows, labels)
    assert (np.diff(state.values[:, :, 0], axis=0) != 1.0).any()


def test_the_step_grows_with_the_rows_that_each_buffered_one_stands_for():
    rows, labels = np.array([[0.0]] * 6 + [[1.0]]), np.array([0] * 6 + [1], np.int8)
    for size, scale in ((2, 3.0), (6, 1.0), (10, 1.0)):
        weights = OAMSolver("gradient", size, 1e-3).weights(run(OAMSolver("gradient", size, 1e-3), rows, labels))
        assert_allclose(weights, [1e-3 / 2 * scale * min(size, 6)], rtol=1e-12)


@both
def test_a_row_equal_to_a_buffered_one_makes_no_pair(update):
    row = np.random.default_rng(0).normal(size=(1, 5))
    rows, labels = np.repeat(row, 4, axis=0), np.array([0, 1, 0, 1], np.int8)
    assert_allclose(OAMSolver(update).weights(run(OAMSolver(update, C=1.0), rows, labels)), 0.0, atol=1e-15)


def test_no_sequential_step_goes_beyond_the_margin():
    rows, labels = np.array([[0.0], [2.0]]), np.array([0, 1], np.int8)
    assert_allclose(OAMSolver(C=1e3).weights(run(OAMSolver(C=1e3), rows, labels)), [0.5], rtol=1e-12)


@both
@given(st.integers(0, 2**32 - 1))
def test_moving_all_rows_changes_nothing(update, seed):
    """Pairs are differences of rows."""
    rows, labels = problem(seed, 80, 4)
    solver = OAMSolver(update, 5, 0.01)
    here, there = (solver.weights(run(solver, rows + shift, labels)) for shift in (0.0, 7.0))
    assert_allclose(here, there, rtol=1e-8, atol=1e-9 * np.abs(here).max())


def test_buffers_widen_for_longer_rows_at_any_time():
    rows, labels = problem(0, 40, 6)
    rows[:20, 2:] = 0.0
    state = run(OAMSolver(buffer_size=50), sparse.csr_array(rows), labels, (5, 20, 30))
    for k in (0, 1):
        assert_array_equal(kept(state, k), rows[labels == k])
    assert state.indices.shape[2] == 6


@both
def test_the_summary_of_few_rows_is_exact(update):
    rows, labels = problem(1, 60, 4)
    solver = OAMSolver(update)
    state = run(solver, sparse.csr_array(rows), labels)
    weights = np.random.default_rng(1).normal(size=4)
    scores = [rows[labels == k] @ weights for k in (0, 1)]
    summary = solver.summary(state, weights)
    assert_allclose(summary.means, [part.mean() for part in scores], rtol=1e-10)
    assert_allclose(summary.variances, [part.var() for part in scores], rtol=1e-10)
    assert_allclose(state.sums.T / state.counts[:, None], [rows[labels == k].mean(axis=0) for k in (0, 1)], rtol=1e-10)


@both
@given(st.integers(0, 2**32 - 1), penalties, cuts(60))
def test_the_weights_never_exceed_their_bound(update, seed, penalty, at):
    rows, labels = problem(seed, 60, 4)
    solver = OAMSolver(update, 5, penalty)
    state = run(solver, rows, labels, at)
    assert np.linalg.norm(solver.weights(state)) <= state.reach[1]
    assert_allclose(state.reach[0], (rows**2).sum(), rtol=1e-12)


def test_a_step_that_raises_leaves_the_state_unchanged():
    rows, labels = problem(2, 40, 3)
    solver = OAMSolver()
    state = run(solver, rows, labels)
    before = copies(solver, state)
    with pytest.raises(StatisticsOverflowError, match="squares of the rows overflow"):
        solver.step(state, rows * 1e120, labels)
    with pytest.raises(StatisticsOverflowError, match=r"C=1e\+290 is too large"):
        OAMSolver(C=1e290).step(state, rows, labels)
    for name, part in solver.to_arrays(state).items():
        assert_array_equal(part, before[name])


def test_buffered_rows_of_many_features_are_laid_out_by_feature_only_when_training_goes_on(tmp_path):
    rows, labels = sparse.csr_array(np.eye(8, 16_000)), np.arange(8) % 2
    model, path = OAM(buffer_size=64, random_state=0).fit(rows, labels), tmp_path / "model"
    opauc.save(model, path)
    tracemalloc.start()
    again = opauc.load(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2**20 + 8 * path.stat().st_size
    assert_array_equal(again.partial_fit(rows, labels).coef_, model.partial_fit(rows, labels).coef_)
