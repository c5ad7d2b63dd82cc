import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from opauc.core.row_blocks import NO_WEIGHTS, kernel_rows, read_only
from opauc.linear.kernels.sgd import CURVATURE, ROWS, STEPS, DescentState, csr_pass, dense_pass
from tests import literal
from tests.problems import problem


def fresh(d, block):
    return DescentState(
        np.zeros(2), np.zeros((2, d)), np.zeros((2, d, d)), np.zeros((2, block, d)), np.zeros(2, np.int64),
        np.ones(2), np.zeros(2), np.zeros(d), np.zeros(d), np.zeros(4),
    )  # fmt: skip


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("block", [4, 8, 32])
@pytest.mark.parametrize("n_features", [1, 3, 8, 13])
def test_iterates_are_those_of_the_literal_algorithm_whatever_the_block(block, n_features, weighted):
    rows, labels = problem(n_features, 70, n_features, positives=0.2, scale=0.3, offset=2.0)
    steps = 0.02 / np.sqrt(np.arange(1, 71))
    weights = np.random.default_rng(0).gamma(0.5, size=70) if weighted else None
    expected = literal.descent(rows, labels, 0.01, steps, weights)
    state = fresh(n_features, block)
    for i in range(70):
        given = read_only(weights[i : i + 1]) if weighted else NO_WEIGHTS
        dense_pass(kernel_rows(rows[i : i + 1]), labels[i : i + 1], given, steps[i : i + 1], False, 0.01, 1.0, state)
        assert_allclose(state.weights, expected[i], rtol=1e-9, atol=1e-12)
    assert_allclose(state.weight_sum, expected.sum(0), rtol=1e-9)


def test_sparse_rows_give_the_bits_of_dense_ones():
    rows, labels = problem(3, 50, 11)
    rows[np.random.default_rng(0).random(rows.shape) < 0.6] = 0.0
    csr = sparse.csr_array(rows)
    one, other = fresh(11, 8), fresh(11, 8)
    steps = np.full(50, 0.01)
    dense_pass(kernel_rows(rows), labels, NO_WEIGHTS, steps, True, 0.1, 0.99, one)
    csr_pass(kernel_rows(csr), labels, NO_WEIGHTS, steps, True, 0.1, 0.99, other)
    for a, b in zip(one, other, strict=True):
        assert_array_equal(a, b)


def test_a_relative_step_is_divided_by_the_largest_curvature_so_far():
    rows, labels = problem(4, 40, 3, scale=5.0)
    curvature, steps = 0.0, np.zeros(40)
    for i in range(40):
        other = rows[:i][labels[:i] != labels[i]]
        if len(other):
            curvature = max(curvature, 0.5 + ((rows[i] - other) ** 2).sum(1).mean())
            steps[i] = 0.7 / curvature
    state = fresh(3, 8)
    dense_pass(kernel_rows(rows), labels, NO_WEIGHTS, np.full(40, 0.7), True, 0.5, 1.0, state)
    assert_allclose(state.progress[CURVATURE], curvature, rtol=1e-10)
    assert_allclose(state.weights, literal.descent(rows, labels, 0.5, steps)[-1], rtol=1e-9)


def test_no_step_until_both_classes_are_seen():
    state = fresh(2, 4)
    dense_pass(kernel_rows(np.ones((5, 2))), np.zeros(5, np.int8), NO_WEIGHTS, np.ones(5), False, 1.0, 1.0, state)
    assert not state.weights.any()
    assert state.progress[ROWS] == 5
    assert state.progress[STEPS] == 0


def test_a_class_unseen_for_ages_is_not_forgotten_into_nothing():
    rows, labels = problem(1, 40, 3)
    state = fresh(3, 4)
    for _ in range(3):
        dense_pass(kernel_rows(rows), labels, NO_WEIGHTS, np.full(40, 1e-3), False, 0.1, 0.5, state)
        for _ in range(20):
            dense_pass(kernel_rows(rows), np.zeros(40, np.int8), NO_WEIGHTS, np.full(40, 1e-3), False, 0.1, 0.5, state)
    assert np.isfinite(state.weights).all()
    assert (state.counts > 0).all()
