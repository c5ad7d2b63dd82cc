import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from opauc.core.kernels.sparse_rows import sum_of_squares
from opauc.core.row_blocks import NO_WEIGHTS, kernel_rows, read_only
from opauc.linear.kernels.means import (
    FACTOR,
    FACTOR_SUM,
    SHARE_SUM,
    STEPS,
    MeansWeights,
    combine_records,
    means_pass,
)
from opauc.linear.means import RELATIVE_STEP, ClassMeans
from opauc.linear.sgd import LEARNING_RATES
from tests.problems import problem

# eta0 and alpha by learning rate: no penalty, a moderate one, eta0 * alpha = 1 and beyond.
SETTINGS = [
    ("constant", 0.05, 0.0), ("constant", 0.05, 0.4), ("constant", 0.05, 6.0), ("constant", 0.0625, 16.0),
    ("constant", 0.05, 30.0), ("invsqrt", 0.2, 0.0), ("invsqrt", 0.2, 0.1), ("invsqrt", 0.25, 4.0),
    ("invsqrt", 0.2, 9.0), ("curvature", 1e4, 0.0), ("curvature", 1e4, 1e-4), ("curvature", 30.0, 0.3),
    ("curvature", 1e4, 50.0),
]  # fmt: skip
every_setting = pytest.mark.parametrize(("learning_rate", "eta0", "alpha"), SETTINGS)


def literal_descent(rows, labels, alpha, sizes, relative, weights=None):
    """Iterates and means of iterates weighted by t^2, one a row, as plainly as NumPy allows."""
    w, total, shares, steps, curvature = np.zeros(rows.shape[1]), np.zeros(rows.shape[1]), 0.0, 0, 0.0
    counts, sums, iterates, means = [0, 0], [np.zeros_like(w), np.zeros_like(w)], [], []
    weights = np.ones(labels.size) if weights is None else weights
    for x, k, step, weight in zip(rows.astype(float), labels, sizes, weights, strict=True):
        counts[k] += weight
        sums[k] = sums[k] + weight * x
        if counts[1 - k]:
            gap = x - sums[1 - k] / counts[1 - k]
            balance = weight * sum(counts) / (2 * counts[k])
            if relative:
                curvature = max(curvature, alpha + gap @ gap)
                step = step / curvature
                balance = min(balance, 1 / (step * (gap @ gap)))
            w = (1 - step * alpha) * w - step * balance * (w @ gap - (2.0 * k - 1)) * gap
            steps += 1
            total, shares = total + steps**2 * w, shares + steps**2
        iterates.append(w)
        means.append(total / max(shares, 1))
    return np.array(iterates), np.array(means)


def fresh(d):
    return MeansWeights(
        np.zeros((d, 4)), *np.zeros((5, 2)), np.zeros((2, 2)), np.zeros((2, 2)),
        np.array([1.0, 0.0, 0.0, 0.0, 0.0, 0.0]),
    )  # fmt: skip


def last_and_mean(state):
    last, mean = np.empty(len(state.records)), np.empty(len(state.records))
    combine_records(state.records, np.array([state.scalars[FACTOR], 0.0, *state.coefficients]), last)
    combine_records(state.records, np.array([state.scalars[FACTOR_SUM], 1.0, *state.coefficient_sums]), mean)
    return last, mean / max(state.scalars[SHARE_SUM], 1.0)


def after(rows, labels, alpha=0.01, sizes=None, relative=False, weights=NO_WEIGHTS):
    csr = rows if sparse.issparse(rows) else sparse.csr_array(rows)
    state = fresh(rows.shape[1])
    sizes = np.full(labels.size, 0.03) if sizes is None else sizes
    means_pass(kernel_rows(csr), labels, read_only(weights), sizes, relative, alpha, state)
    return state


def mostly_zero(seed, n_rows, n_features, **how):
    rows, labels = problem(seed, n_rows, n_features, **how)
    rows[np.random.default_rng(seed).random(rows.shape) < 0.6] = 0.0
    return rows, labels


def near(got, expected, rtol=1e-9):
    """Held to the tolerance relative to the largest entry: single ones may cancel."""
    assert_allclose(got, expected, rtol=0, atol=rtol * max(np.abs(expected).max(), 1e-300))


@every_setting
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n_features", [1, 5, 9])
def test_iterates_and_their_means_are_those_of_the_literal_algorithm(learning_rate, eta0, alpha, n_features, weighted):
    rows, labels = mostly_zero(n_features, 90, n_features, positives=0.2, scale=0.3, offset=0.5)
    labels[:4] = 1, 1, 1, 0
    relative, sizes = LEARNING_RATES[learning_rate]
    steps = sizes(eta0, np.arange(1.0, 91.0))
    weights = np.random.default_rng(1).uniform(0.1, 2.0, 90) if weighted else None
    iterates, means = literal_descent(rows, labels, alpha, steps, relative, weights)
    state = fresh(n_features)
    for i in range(90):
        row = kernel_rows(sparse.csr_array(rows[i : i + 1]))
        given = read_only(weights[i : i + 1]) if weighted else NO_WEIGHTS
        means_pass(row, labels[i : i + 1], given, steps[i : i + 1], relative, alpha, state)
        last, mean = last_and_mean(state)
        near(last, iterates[i])
        near(mean, means[i])


@pytest.mark.parametrize(
    ("learning_rate", "eta0", "alpha"), [("constant", 0.02, 0.5), ("invsqrt", 0.3, 1e-3), ("curvature", 1e4, 1e-4)]
)
def test_iterates_stay_the_literal_ones_over_a_long_stream(learning_rate, eta0, alpha):
    rows, labels = mostly_zero(0, 3000, 12, positives=0.1, scale=0.2)
    relative, sizes = LEARNING_RATES[learning_rate]
    steps = sizes(eta0, np.arange(1.0, 3001.0))
    iterates, means = literal_descent(rows, labels, alpha, steps, relative)
    last, mean = last_and_mean(after(rows, labels, alpha, steps, relative))
    near(last, iterates[-1])
    near(mean, means[-1])


@every_setting
def test_with_a_scale_they_are_those_of_the_scaled_rows_in_the_old_units(learning_rate, eta0, alpha):
    rows, labels = mostly_zero(7, 80, 6, scale=0.1)
    rows[:, 2] *= 9.0
    first = rows[:30]
    floor = (first[first != 0] ** 2).mean() / 30
    scale = ((first**2).mean(0) + floor) ** -0.35
    relative, sizes = LEARNING_RATES[learning_rate]
    step_sizes = sizes(eta0, np.arange(1.0, 81.0)) * (RELATIVE_STEP if relative else 1.0)
    iterates, means = literal_descent(rows * scale, labels, alpha, step_sizes, relative)
    for average, expected in ((False, iterates[-1]), (True, means[-1])):
        solver = ClassMeans(alpha, eta0, learning_rate, average, scale_power=0.35, scale_rows=30)
        near(solver.weights(solver.step(solver.start(6), rows, labels)), expected * scale)


def test_the_carried_products_are_those_of_the_sums_and_the_weights():
    rows, labels = mostly_zero(2, 200, 7, offset=0.3)
    state = after(rows, labels, sizes=np.full(200, 0.5), relative=True)
    sums = np.array([rows[labels == k].sum(0) for k in (0, 1)])
    last, _ = last_and_mean(state)
    assert_array_equal(state.counts, [(labels == 0).sum(), (labels == 1).sum()])
    assert_allclose(state.records[:, 2:].T, sums, rtol=1e-12, atol=1e-12)
    assert_allclose(state.gram, sums @ sums.T, rtol=1e-11)
    assert_allclose(state.products, sums @ last, rtol=1e-9)


def test_rows_without_entries_step_along_the_mean_of_the_other_class():
    rows, labels = problem(3, 60, 4, scale=0.3)
    rows[::3] = 0.0
    iterates, means = literal_descent(rows, labels, 0.01, np.full(60, 0.03), False)
    last, mean = last_and_mean(after(rows, labels))
    near(last, iterates[-1])
    near(mean, means[-1])


def test_stored_zeros_change_nothing():
    rows, labels = mostly_zero(4, 50, 6, scale=0.3)
    csr = sparse.csr_array(np.where(rows == 0, 7.0, rows))
    csr.data[csr.data == 7.0] = 0.0
    assert csr.nnz > np.count_nonzero(rows)
    for one, other in zip(last_and_mean(after(csr, labels)), last_and_mean(after(rows, labels)), strict=True):
        assert_allclose(one, other, rtol=1e-12)


def test_wide_indices_and_narrow_values_give_the_bits_of_the_usual_ones():
    rows, labels = mostly_zero(5, 50, 6, scale=0.3)
    narrow = sparse.csr_array(rows.astype(np.float32))
    usual = after(narrow.astype(float), labels, relative=True)
    narrow.indices, narrow.indptr = narrow.indices.astype(np.int64), narrow.indptr.astype(np.int64)
    for one, other in zip(after(narrow, labels, relative=True), usual, strict=True):
        assert_array_equal(one, other)
    assert sum_of_squares(np.full(3, 1e30, np.float32)) == pytest.approx(3e60, rel=1e-6)


def test_no_step_until_both_classes_are_seen():
    state = after(np.ones((5, 2)), np.zeros(5, np.int8), relative=True)
    assert not np.array(last_and_mean(state)).any()
    assert state.counts.tolist() == [5.0, 0.0]
    assert state.scalars[STEPS] == 0


@pytest.mark.parametrize("row", [[0.0, 0.0], [0.1, 0.7]])
def test_a_row_equal_to_the_mean_of_the_other_class_has_no_gap_to_step_along(row):
    labels = np.array([0, 1, 0, 1, 1, 0], np.int8)
    state = after(np.tile(row, (6, 1)), labels, alpha=0.0, relative=True)
    assert not np.array(last_and_mean(state)).any()
    assert np.isfinite(state.scalars).all()


def test_a_relative_step_never_overshoots_however_rare_the_class():
    rows, labels = np.zeros((401, 1)), np.zeros(401, np.int8)
    rows[400], labels[400] = 1.0, 1
    state = after(rows, labels, alpha=0.0, sizes=np.full(401, 0.5), relative=True)
    assert last_and_mean(state)[0].tolist() == [1.0]  # weighted 200 times, the step alone would lead to 100
