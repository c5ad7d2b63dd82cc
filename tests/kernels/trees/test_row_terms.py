"""What trees are grown from, held against finite differences of the logistic loss."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from opauc.kernels.trees.row_terms import write_terms


@given(seed=st.integers(0, 2**32 - 1))
def test_terms_are_the_derivatives_of_the_weighted_loss(seed):
    random = np.random.default_rng(seed)
    scores, weight = random.uniform(-8.0, 8.0, 30), random.uniform(0.1, 3.0, 30)
    labels, terms, step = random.integers(0, 2, 30).astype(np.int8), np.empty((30, 3)), 1e-3
    write_terms(scores, labels, weight, terms)

    def loss(scores):
        return weight * np.log1p(np.exp(-(2.0 * labels - 1.0) * scores))

    up, here, down = (loss(scores + move) for move in (step, 0.0, -step))
    assert_allclose(terms[:, 0], (down - up) / (2 * step), atol=1e-6)
    assert_allclose(terms[:, 1], (up - 2 * here + down) / step**2, atol=1e-6)
    assert_array_equal(terms[:, 2], weight)


def test_scores_that_are_far_leave_a_pull_of_one_or_none():
    terms = np.empty((4, 3))
    write_terms(np.array([700.0, 700.0, -700.0, -700.0]), np.array([0, 1, 0, 1], np.int8), np.ones(4), terms)
    assert_allclose(terms, [[-1, 0, 1], [0, 0, 1], [0, 0, 1], [1, 0, 1]], atol=1e-12)
