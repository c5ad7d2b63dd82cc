import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from opauc.core.row_blocks import NO_WEIGHTS, csr_rows, kernel_rows, read_only
from opauc.linear.kernels.grid import KEPT_SCORES
from opauc.linear.kernels.progressive_selection import (
    CANDIDATES,
    N_CANDIDATES,
    RAW_OFFSET,
    SelectionState,
    selection_pass,
)
from opauc.linear.progressive_selection import ProgressiveSelection


def texts(seed, n_rows=120, n_features=12, positives=0.4):
    """Sparse rows with features of very different frequency, a few empty rows, and labels 0/1."""
    rng = np.random.default_rng(seed)
    often = np.geomspace(0.9, 0.05, n_features)
    labels = (rng.random(n_rows) < positives).astype(np.int8)
    rows = (rng.random((n_rows, n_features)) < often) * rng.gamma(2.0, size=(n_rows, n_features))
    rows[:, 1::3] *= 1 + labels[:, None]
    rows[::17] = 0.0
    return sparse.csr_array(rows), labels


def begun(n_features, unit):
    """The state before any row; without `unit` no row is scaled to length one."""
    return ProgressiveSelection().start(n_features)._replace(unit=np.full(1, float(unit)))


def learn(rows, labels, state=None, weights=NO_WEIGHTS, unit=True):
    state = begun(rows.shape[1], unit) if state is None else state
    selection_pass(kernel_rows(rows), labels, read_only(weights), state)
    return state


class Literal:
    """The same pass written out for one candidate, with all scores kept and no factor taken out of the weights."""

    def __init__(self, candidate, n_features, unit=True):
        self.power, self.step_size, self.forgetting, self.unit_rows = candidate
        self.unit = unit
        self.squares, self.weights, self.intercept = np.zeros(n_features), np.zeros(n_features), 0.0
        self.values, self.curvatures, self.past, self.seen, self.weighed = [], [], ([], []), [], ([], [])
        self.won = self.compared = 0.0

    def learn(self, row, k, weight=1.0):
        shares = [w for _, w in self.values]
        typical = np.average([x**2 for x, _ in self.values], weights=shares) if shares else 0.0
        scaled = row * (1.0 / (np.linalg.norm(row) or 1.0)) if self.unit else row  # rounded alike: rows may tie
        self.squares += weight * scaled**2
        self.values.extend((x, weight) for x in scaled[scaled != 0])
        row = scaled if self.unit_rows else row
        score = self.weights @ row
        self.past[k].append(score)
        self.weighed[k].append(weight)
        numbers, counts = [len(part) for part in self.past], [sum(part) for part in self.weighed]
        n = sum(counts)
        prior = {0.0: 0.0, 0.5: 3.0, 1.0: 10.0}[self.power] * typical + 1e-300
        diagonal = ((self.squares + prior) / n) ** -self.power
        curvature = row @ (diagonal * row)
        self.curvatures.append(curvature)
        self.seen.append(weight)
        self.compare(score, k, weight, numbers)
        if counts[1 - k] == 0 or not row.any():
            return
        y, number = 2.0 * k - 1, sum(numbers)
        slack = max(0.0, 1 - y * (score + self.intercept))
        step = self.step_size * weight * n / (2 * counts[k]) / np.sqrt(1 + number / 3000) / self.curvature()
        step = min(step, 1 / curvature)
        self.intercept += 0.03 * step * slack * y * curvature
        self.weights = self.weights * (1 - self.forgetting / (number + 10 * self.forgetting))
        self.weights = self.weights + step * slack * y * diagonal * row

    def curvature(self):
        return np.average(self.curvatures, weights=self.seen)

    def compare(self, score, k, weight, numbers):
        if numbers[1 - k] == 0 or numbers[k] > numbers[1 - k]:
            return
        pairs = int(min(numbers[1 - k], 256, np.ceil(16 * numbers[1 - k] / numbers[k])))
        gaps = (2 * k - 1) * (score - np.array(self.past[1 - k][-pairs:]))
        right = np.average((gaps > 0) + 0.5 * (gaps == 0), weights=self.weighed[1 - k][-pairs:])
        self.won += weight * sum(numbers) * right
        self.compared += weight * sum(numbers)


def assert_same(state, candidates):
    for h, expected in enumerate(candidates):
        assert_allclose(state.scales[h] * state.weights[:, h], expected.weights, rtol=1e-10, atol=1e-13)
        assert_allclose(state.intercepts[h], expected.intercept, rtol=1e-10, atol=1e-13)
        assert_allclose(state.wins[h], expected.won, rtol=1e-10)
        assert_allclose(state.wins[N_CANDIDATES], expected.compared, rtol=1e-10)
        place = int(2 * expected.power) + (0 if expected.unit_rows else RAW_OFFSET)
        assert_allclose(state.curvatures[place], expected.curvature(), rtol=1e-10)


@pytest.mark.parametrize("unit", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("positives", [0.1, 0.5, 0.8])
def test_every_candidate_is_the_literal_one_after_every_row(positives, weighted, unit):
    rows, labels = texts(1, positives=positives)
    weights = np.random.default_rng(2).gamma(0.5, size=120) if weighted else np.ones(120)
    state, candidates = begun(12, unit), [Literal(candidate, 12, unit) for candidate in CANDIDATES]
    for i, k in enumerate(labels):
        learn(rows[[i]], labels[i : i + 1], state, weights[i : i + 1] if weighted else NO_WEIGHTS)
        for candidate in candidates:
            candidate.learn(rows[[i]].toarray()[0], k, weights[i])
        assert_same(state, candidates)


@pytest.mark.parametrize("unit", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_class_sums_and_counts_are_those_of_the_weighted_rows(weighted, unit):
    rows, labels = texts(2)
    weights = np.random.default_rng(3).gamma(0.5, size=120) if weighted else np.ones(120)
    state, dense = learn(rows, labels, weights=weights if weighted else NO_WEIGHTS, unit=unit), rows.toarray()
    for k in (0, 1):
        assert_allclose(state.sums[:, 3 + k], weights[labels == k] @ dense[labels == k], rtol=1e-12)
    if unit:
        dense /= np.maximum(np.linalg.norm(dense, axis=1), 1e-30)[:, None]
    assert_array_equal(state.n_rows, np.bincount(labels, minlength=2))
    assert_allclose(state.counts, np.bincount(labels, weights), rtol=1e-12)
    assert_allclose(state.sums[:, 0], weights @ dense**2, rtol=1e-12)
    for k in (0, 1):
        assert_allclose(state.sums[:, 1 + k], weights[labels == k] @ dense[labels == k], rtol=1e-12)
    assert_allclose(state.value_totals, [(weights @ dense**2).sum(), (weights @ (dense != 0)).sum()], rtol=1e-12)


@pytest.mark.parametrize("positives", [0.01, 0.5, 0.99])
def test_old_scores_make_room_for_new_ones_and_the_literal_candidates_agree(positives):
    rows, labels = texts(3, n_rows=2 * KEPT_SCORES + 300, n_features=5, positives=positives)
    labels[:2] = 0, 1
    assert max(np.bincount(labels)) > KEPT_SCORES
    state, candidates = learn(rows, labels), [Literal(candidate, 5) for candidate in CANDIDATES]
    for row, k in zip(rows.toarray(), labels, strict=True):
        for candidate in candidates:
            candidate.learn(row, k)
    assert_same(state, candidates)
    for h, candidate in enumerate(candidates):
        for k in (0, 1):
            kept = min(len(candidate.past[k]), KEPT_SCORES)
            latest = np.sort(candidate.past[k][-kept:])
            assert_allclose(np.sort(state.recent[k, :kept, h]), latest, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("cuts", [[1], [0, 60, 60], [2, 3, 50, 119], list(range(1, 120))])
def test_chunks_give_the_bits_of_the_whole(cuts):
    rows, labels = texts(4)
    parts = np.split(np.arange(120), cuts)
    state = ProgressiveSelection().start(12)
    for part in parts:
        learn(rows[part], labels[part], state)
    for one, other in zip(state, learn(rows, labels), strict=True):
        assert_array_equal(one, other)


@pytest.mark.parametrize("unit", [False, True])
@pytest.mark.parametrize("factor", [1000.0, 1e-3, 1e90, 1e-90])
def test_rows_in_another_unit_give_the_same_selection(factor, unit):
    rows, labels = texts(5, n_rows=400)
    one, other = learn(rows, labels, unit=unit), learn(rows * factor, labels, unit=unit)
    assert_array_equal(one.wins, other.wins)
    factors = np.array([1.0 if unit and candidate.unit_rows else factor for candidate in CANDIDATES])
    largest = np.abs(other.weights).max(axis=0)
    assert_allclose(one.weights / factors / largest, other.weights / largest, rtol=1e-9, atol=1e-12)
    assert_allclose(one.intercepts, other.intercepts, rtol=1e-9)


def test_rows_of_any_lengths_give_the_weights_of_unit_rows_to_candidates_that_see_those():
    rows, labels = texts(5, n_rows=400)
    lengths = sparse.diags_array(10.0 ** np.random.default_rng(0).uniform(-3, 3, 400))
    one, other = learn(rows, labels), learn(sparse.csr_array(lengths @ rows), labels)
    seen = [h for h, candidate in enumerate(CANDIDATES) if candidate.unit_rows]
    assert len(seen) == 6
    assert_allclose(one.weights[:, seen], other.weights[:, seen], rtol=1e-9, atol=1e-12)
    assert_array_equal(one.wins[seen], other.wins[seen])


def test_unit_rows_give_every_candidate_what_it_had_before_any_were_scaled():
    rows, labels = texts(5, n_rows=400)
    lengths = np.linalg.norm(rows.toarray(), axis=1)
    unit_rows = sparse.csr_array(sparse.diags_array(1.0 / np.maximum(lengths, 1e-30)) @ rows)
    one, other = learn(unit_rows, labels), learn(unit_rows, labels, unit=False)
    assert_allclose(one.weights, other.weights, rtol=1e-9, atol=1e-12)
    assert_array_equal(one.wins, other.wins)


def test_explicit_zeros_change_nothing():
    rows, labels = texts(6)
    dense = rows.toarray()
    n_rows, n_features = dense.shape
    full = sparse.csr_array(
        (dense.ravel(), np.tile(np.arange(n_features), n_rows), np.arange(0, dense.size + 1, n_features)),
        shape=dense.shape,
    )
    assert full.nnz == dense.size
    for one, other in zip(learn(rows, labels), learn(full, labels), strict=True):
        assert_allclose(one, other, rtol=1e-12, atol=1e-15)


def test_an_empty_row_is_counted_and_compared_and_moves_nothing():
    rows, labels = texts(7)
    before = learn(rows, labels)
    after = learn(sparse.csr_array((1, 12)), np.zeros(1, np.int8), SelectionState(*(part.copy() for part in before)))
    assert_array_equal(before.weights, after.weights)
    assert_array_equal(before.intercepts, after.intercepts)
    assert_array_equal(before.sums, after.sums)
    assert_array_equal(after.counts - before.counts, [1, 0])
    assert not after.recent[0, int(before.counts[0]) % KEPT_SCORES].any()


def test_rows_that_are_all_empty_leave_no_trace_but_their_number():
    state = learn(sparse.csr_array((6, 3)), np.array([0, 1, 0, 1, 1, 0], np.int8))
    assert_array_equal(state.counts, [3, 3])
    assert not state.weights.any()
    assert_array_equal(state.wins[:N_CANDIDATES], state.wins[N_CANDIDATES] / 2)  # every pair a tie


@pytest.mark.parametrize("k", [0, 1])
def test_one_class_alone_teaches_nothing(k):
    rows, _ = texts(8)
    state = learn(rows, np.full(120, k, np.int8))
    assert not state.weights.any()
    assert not state.intercepts.any()
    assert not state.wins.any()
    assert state.counts[k] == 120


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("index", [np.int32, np.int64])
def test_any_kind_of_number_gives_the_selection_of_float64(dtype, index):
    rows, labels = texts(9)
    rows.data = rows.data.astype(np.float32)
    expected = learn(rows.astype(np.float64), labels)
    state = ProgressiveSelection().start(12)
    selection_pass(
        csr_rows(rows.data.astype(dtype), rows.indices.astype(index), rows.indptr.astype(index)),
        labels,
        NO_WEIGHTS,
        state,
    )
    for one, other in zip(state, expected, strict=True):
        assert_allclose(one, other, rtol=1e-12, atol=1e-15)


def test_squares_of_float32_values_are_those_of_float64():
    rows = sparse.csr_array(np.array([[1e30], [-1e30], [2e30]], np.float32))  # the squares leave float32
    state = learn(rows, np.array([1, 0, 1], np.int8), unit=False)
    assert_allclose(state.sums[0, 0], 6e60, rtol=1e-6)
    assert (state.weights > 0).all()
    state = learn(rows, np.array([1, 0, 1], np.int8))
    assert_allclose(state.sums[0, 0], 3.0, rtol=1e-6)
    assert (state.weights > 0).all()


def test_a_row_below_the_underflow_floor_is_not_trained_on():
    state = learn(sparse.csr_array(np.array([[1e-150], [-1e-150]])), np.array([1, 0], np.int8))
    assert_array_equal(state.counts, [1, 1])
    assert not state.weights.any()


def test_nan_stays_nan():
    state = learn(sparse.csr_array(np.array([[1.0], [-1.0], [np.nan], [1.0]])), np.array([1, 0, 1, 0], np.int8))
    assert np.isnan(state.value_totals[0])
    assert np.isnan(state.sums[0, 0])
