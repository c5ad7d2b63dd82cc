"""OAM against a literal rewriting, its reservoirs against the law they should follow, its state against a file."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse, stats

from opauc.errors import IncompatibleMoments, StatisticsOverflow
from opauc.kernels.sums.codes import code_word
from opauc.learners import oam
from opauc.learners.oam import OAM, OAMState
from tests.problems import cuts, problem

both = pytest.mark.parametrize("update", ["sequential", "gradient"])
# Small buffers, so that most rows of a short stream meet full ones; sizes that fill no vector register, and that do.
sizes = st.sampled_from([1, 3, 8, 11])
penalties = st.sampled_from([1e-3, 0.05, 1.0, 30.0])


def literal(rows, labels, update, size, penalty, key):
    """All iterates, one a row, and the buffers at the end: pairs one by one, weights as one vector."""
    w, counts, buffers, iterates = np.zeros(rows.shape[1]), [0, 0], ([], []), []
    for x, k in zip(rows, labels, strict=True):
        counts[k] += 1
        if counts[k] <= size:
            buffers[k].append(x)
        else:
            share = (int(code_word(np.uint64(key), counts[k], k)) >> 11) * 2.0**-53
            if int(share * counts[k]) < size:
                buffers[k][int(share * counts[k])] = x
        most = penalty * max(1.0, counts[1 - k] / size) / 2
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
    buffers, n_features = state.buffers, state.n_features
    out = np.zeros((int(min(buffers.counts[k], buffers.lengths.shape[1])), n_features))
    for b, row in enumerate(out):
        length = buffers.lengths[k, b]
        row[buffers.indices[k, b, :length]] = buffers.values[k, b, :length]
    return out


def run(learner, rows, labels, at=()):
    state = learner.start(rows.shape[1])
    for part in np.split(np.arange(labels.size), at):
        state = learner.step(state, rows[part], labels[part])
    return state


@both
@pytest.mark.parametrize("column_bytes", [0, oam.COLUMN_BYTES])
@given(st.integers(0, 2**32 - 1), sizes, penalties, st.sampled_from([0.1, 0.5]))
def test_every_iterate_is_that_of_the_literal_algorithm(update, column_bytes, seed, size, penalty, positives):
    rows, labels = problem(seed, 90, 5, positives)
    rows[np.random.default_rng(seed).random(rows.shape) < 0.4] = 0.0
    learner = OAM(update, size, penalty, random_state=seed)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(oam, "COLUMN_BYTES", column_bytes)
        state = learner.start(5)
        assert (state.buffers.columns.size > 0) == (column_bytes > 0)
        expected, buffers = literal(rows, labels, update, size, penalty, state.buffers.key[0])
        for i, iterate in enumerate(expected):
            state = learner.step(state, sparse.csr_array(rows[i : i + 1]), labels[i : i + 1])
            assert_allclose(learner.weights(state), iterate, rtol=1e-10, atol=1e-10 * np.abs(iterate).max())
    for k in (0, 1):
        assert_array_equal(kept(state, k), buffers[k])


@both
@given(st.integers(0, 2**32 - 1), sizes, cuts(80), st.booleans())
def test_any_cut_of_the_stream_gives_the_same_bits(update, seed, size, at, dense):
    rows, labels = problem(seed, 80, 6, 0.3)
    rows[np.random.default_rng(seed).random(rows.shape) < 0.5] = 0.0
    rows = rows if dense else sparse.csr_array(rows)
    learner = OAM(update, size, 0.1)
    whole, pieces = run(learner, rows, labels), run(learner, rows, labels, at)
    for one, other in zip(whole.buffers[:-1], pieces.buffers[:-1], strict=True):
        assert_array_equal(one, other)
    # The bound on |w| is summed up chunk by chunk and steers nothing.
    assert pieces.buffers.reach[1] <= whole.buffers.reach[1] * (1 + 1e-12)
    assert_array_equal(learner.weights(whole), learner.weights(pieces))


@both
@given(st.integers(0, 2**32 - 1), st.integers(1, 79))
def test_a_run_resumed_from_saved_arrays_gives_the_same_bits(update, seed, at):
    rows, labels = problem(seed, 80, 4, 0.3)
    learner = OAM(update, 5, 0.1)
    half = run(learner, rows[:at], labels[:at])
    resumed = OAMState.from_arrays(half.to_arrays())
    assert resumed.n_features == 4
    assert_array_equal(resumed.buffers.columns, half.buffers.columns)
    one, other = (learner.step(state, rows[at:], labels[at:]) for state in (half, resumed))
    assert_array_equal(learner.weights(one), learner.weights(other))


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("indices", lambda part: part + 9, "array indices: expected 0 to 3, got 12"),
        ("lengths", lambda part: part + 9, "array lengths: expected 0 to 4, got 13 to 13"),
        ("scores", lambda part: part[:-1], r"array scores: expected shape \(8,\), got \(7,\)"),
        ("counts", lambda part: -part, "expected counts of rows"),
        ("in_use", lambda part: part + 5, "and a class in use"),
    ],
)
def test_arrays_that_are_no_state_are_refused(name, change, message):
    rows, labels = problem(0, 40, 4)
    arrays = run(OAM(buffer_size=5), rows, labels).to_arrays()
    with pytest.raises(IncompatibleMoments, match=message):
        OAMState.from_arrays(arrays | {name: change(arrays[name])})


def test_every_row_is_kept_with_the_same_chance_and_in_every_slot():
    """Rows are their own number; over many seeds each of 30 is kept 6 times in 30, in each slot alike."""
    n_rows, size, runs = 30, 6, 3000
    rows, labels = np.arange(1.0, n_rows + 1.0)[:, None], np.zeros(n_rows, np.int8)
    found = np.zeros((n_rows, size))
    for seed in range(runs):
        values = run(OAM(buffer_size=size, random_state=seed), rows, labels).buffers.values[0, :, 0]
        found[values.astype(int) - 1, np.arange(size)] += 1
    kept_rows = found.sum(axis=1)
    # Exactly `size` of n_rows are kept each time: counts vary by that much less than those of free draws.
    statistic = ((kept_rows - runs * size / n_rows) ** 2).sum() / (runs * size / n_rows) / (1 - size / n_rows)
    statistic *= (n_rows - 1) / n_rows
    assert stats.chi2.sf(statistic, n_rows - 1) > 1e-3
    # A late row, which did not start in a slot of its own, is as likely in any slot.
    late = found[size:].sum(axis=0)
    assert stats.chisquare(late).pvalue > 1e-3


def test_both_classes_draw_numbers_of_their_own():
    rows, labels = np.arange(1.0, 401.0)[:, None], np.tile(np.array([0, 1], np.int8), 200)
    buffers = run(OAM(buffer_size=10), rows, labels).buffers
    assert (np.diff(buffers.values[:, :, 0], axis=0) != 1.0).any()


def test_the_step_grows_with_the_rows_that_each_buffered_one_stands_for():
    rows, labels = np.array([[0.0]] * 6 + [[1.0]]), np.array([0] * 6 + [1], np.int8)
    for size, scale in ((2, 3.0), (6, 1.0), (10, 1.0)):
        weights = OAM("gradient", size, 1e-3).weights(run(OAM("gradient", size, 1e-3), rows, labels))
        assert_allclose(weights, [1e-3 / 2 * scale * min(size, 6)], rtol=1e-12)


@both
def test_a_row_equal_to_a_buffered_one_makes_no_pair(update):
    row = np.random.default_rng(0).normal(size=(1, 5))
    rows, labels = np.repeat(row, 4, axis=0), np.array([0, 1, 0, 1], np.int8)
    assert_allclose(OAM(update).weights(run(OAM(update, C=1.0), rows, labels)), 0.0, atol=1e-15)


def test_no_sequential_step_goes_beyond_the_margin():
    rows, labels = np.array([[0.0], [2.0]]), np.array([0, 1], np.int8)
    assert_allclose(OAM(C=1e3).weights(run(OAM(C=1e3), rows, labels)), [0.5], rtol=1e-12)


@both
@given(st.integers(0, 2**32 - 1))
def test_moving_all_rows_changes_nothing(update, seed):
    """Pairs are differences of rows."""
    rows, labels = problem(seed, 80, 4)
    learner = OAM(update, 5, 0.01)
    here, there = (learner.weights(run(learner, rows + shift, labels)) for shift in (0.0, 7.0))
    assert_allclose(here, there, rtol=1e-8, atol=1e-9 * np.abs(here).max())


def test_longer_rows_find_room_whenever_they_come():
    rows, labels = problem(0, 40, 6)
    rows[:20, 2:] = 0.0
    state = run(OAM(buffer_size=50), sparse.csr_array(rows), labels, (5, 20, 30))
    for k in (0, 1):
        assert_array_equal(kept(state, k), rows[labels == k])
    assert state.buffers.indices.shape[2] == 6


@both
def test_the_summary_of_few_rows_is_exact(update):
    rows, labels = problem(1, 60, 4)
    learner = OAM(update)
    state = run(learner, sparse.csr_array(rows), labels)
    weights = np.random.default_rng(1).normal(size=4)
    scores = [rows[labels == k] @ weights for k in (0, 1)]
    summary = learner.summary(state, weights)
    assert_allclose(summary.means, [part.mean() for part in scores], rtol=1e-10)
    assert_allclose(summary.variances, [part.var() for part in scores], rtol=1e-10)
    assert_allclose(learner.moments(state).means, [rows[labels == k].mean(axis=0) for k in (0, 1)], rtol=1e-10)


@both
@given(st.integers(0, 2**32 - 1), penalties, cuts(60))
def test_the_weights_are_never_longer_than_the_bound_that_guards_them(update, seed, penalty, at):
    rows, labels = problem(seed, 60, 4)
    learner = OAM(update, 5, penalty)
    state = run(learner, rows, labels, at)
    assert np.linalg.norm(learner.weights(state)) <= state.buffers.reach[1]
    assert_allclose(state.buffers.reach[0], (rows**2).sum(), rtol=1e-12)


def test_a_step_that_is_refused_leaves_the_state_as_it_was():
    rows, labels = problem(2, 40, 3)
    learner = OAM()
    state = run(learner, rows, labels)
    before = state.to_arrays()
    with pytest.raises(StatisticsOverflow, match="squares of the rows overflow"):
        learner.step(state, rows * 1e120, labels)
    with pytest.raises(StatisticsOverflow, match=r"C=1e\+290 is too large"):
        OAM(C=1e290).step(state, rows, labels)
    for name, part in state.to_arrays().items():
        assert_array_equal(part, before[name])
