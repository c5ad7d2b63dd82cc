import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from opauc.core.kernels.compile import kernel
from opauc.core.row_blocks import NO_WEIGHTS, kernel_rows, read_only
from opauc.linear.kernels.sgd import scaled_csr_pass, scaled_dense_pass, train_on_scaled_row
from opauc.linear.sgd import LEARNING_RATES, SGD
from tests import literal
from tests.problems import problem


def fresh(n_features):
    return SGD(standardize=True).start(n_features)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("learning_rate", LEARNING_RATES)
@pytest.mark.parametrize("n_features", [1, 5, 13])
def test_scaled_iterates_and_their_mean_are_the_literal_ones_after_every_row(n_features, learning_rate, weighted):
    rows, labels = problem(n_features, 70, n_features, positives=0.2)
    rows = (rows + 0.7) * 10.0 ** np.linspace(-3, 3, n_features)
    rows[:, -1] = np.round(rows[:, -1] / np.abs(rows[:, -1]).max())  # zero in most rows: records come late
    weights = np.random.default_rng(1).gamma(0.5, size=70) if weighted else np.ones(70)
    relative, sizes = LEARNING_RATES[learning_rate]
    steps = 2.0 * sizes(1e4, np.arange(1.0, 71.0)) if relative else sizes(0.01, np.arange(1.0, 71.0))
    expected, mean = literal.scaled_descent(rows, labels, 0.01, steps, relative, weights)
    state, largest = fresh(n_features), np.abs(expected).max()
    for i in range(70):
        given = read_only(weights[i : i + 1]) if weighted else NO_WEIGHTS
        scaled_dense_pass(
            kernel_rows(rows[i : i + 1]), labels[i : i + 1], given, steps[i : i + 1], relative, 0.01, 1.0, state
        )
        assert_allclose(state.weights, expected[i], rtol=1e-8, atol=1e-10 * largest)
    averaged = SGD(standardize=True).weights(state)
    assert_allclose(averaged, mean, rtol=1e-8, atol=1e-10 * np.abs(mean).max())


def test_sparse_rows_give_the_bits_of_dense_ones():
    rows, labels = problem(3, 90, 11)
    rows[np.random.default_rng(0).random(rows.shape) < 0.6] = 0.0
    csr, one, other, steps = sparse.csr_array(rows), fresh(11), fresh(11), np.full(90, 0.7)
    scaled_dense_pass(kernel_rows(rows), labels, NO_WEIGHTS, steps, True, 0.1, 0.99, one)
    scaled_csr_pass(kernel_rows(csr), labels, NO_WEIGHTS, steps, True, 0.1, 0.99, other)
    for a, b in zip(one, other, strict=True):
        assert_array_equal(a, b)


def test_chunks_give_the_bits_of_the_whole():
    rows, labels = problem(4, 90, 6)
    whole, parts, steps = fresh(6), fresh(6), np.full(90, 0.7)
    scaled_dense_pass(kernel_rows(rows), labels, NO_WEIGHTS, steps, True, 0.1, 0.99, whole)
    for part in np.split(np.arange(90), [1, 40, 41]):
        scaled_dense_pass(kernel_rows(rows[part]), labels[part], NO_WEIGHTS, steps[part], True, 0.1, 0.99, parts)
    for a, b in zip(whole, parts, strict=True):
        assert_array_equal(a, b)


@kernel
def train(rows, labels, step_sizes, state, product, inverse):
    for i in range(rows.shape[0]):
        train_on_scaled_row(rows[i], labels[i], 1.0, 1e-4, step_sizes[i], True, 1.0, state, product, inverse)


def place_close_together(arrays, rng):
    """Copies of the arrays in one buffer: in any order, with up to two numbers in between, from any offset."""
    buffer, at, placed = np.empty(sum(array.size + 2 for array in arrays) + 16), int(rng.integers(16)), list(arrays)
    for i in rng.permutation(len(arrays)):
        placed[i] = buffer[at : at + arrays[i].size].view(arrays[i].dtype).reshape(arrays[i].shape)
        placed[i][...] = arrays[i]
        at += arrays[i].size + int(rng.integers(3))
    return placed


@pytest.mark.parametrize("n_features", [5, 7, 8, 12])
def test_the_last_bit_does_not_depend_on_where_arrays_lie_in_memory(n_features):
    rng = np.random.default_rng(0)
    rows, labels = rng.normal(size=(60, n_features)), (np.arange(60) % 2).astype(np.int8)
    solver, results = SGD(standardize=True), set()
    half = solver.step(solver.start(n_features), rows[:30], labels[:30])
    for _ in range(40):
        product, inverse, later, *parts = place_close_together([*np.zeros((2, n_features)), rows[30:], *half], rng)
        state = type(half)(*parts)
        train(later, labels[30:], 1.0 / np.arange(30.0, 60.0), state, product, inverse)
        results.add(state.weights.tobytes())
    assert len(results) == 1
