"""What trees are grown from, held against finite differences of the logistic loss."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from opauc.additive.kernels.trees import SMALL_RESIDUAL, SUBSAMPLING, write_terms

EVERYONE = np.arange(50, dtype=np.int32)


def loss(scores, labels, weight):
    return weight * np.log1p(np.exp(-(2.0 * labels - 1.0) * scores))


@given(seed=st.integers(0, 2**32 - 1), turn=st.integers(0, 9))
def test_terms_are_the_derivatives_of_the_weighted_loss(seed, turn):
    random = np.random.default_rng(seed)
    scores, weight = random.uniform(-3.8, 3.8, 30), random.uniform(0.1, 3.0, 30)  # no residual is small
    labels, terms, step = random.integers(0, 2, 30).astype(np.int8), np.empty((30, 3)), 1e-3
    write_terms(EVERYONE[: scores.size], scores, labels, weight, turn, terms)
    up, here, down = (loss(scores + move, labels, weight) for move in (step, 0.0, -step))
    assert_allclose(terms[:, 0], (down - up) / (2 * step), atol=1e-6)
    assert_allclose(terms[:, 1], (up - 2 * here + down) / step**2, atol=1e-6)
    assert_array_equal(terms[:, 2], weight)


@given(seed=st.integers(0, 2**32 - 1))
def test_each_row_of_small_residual_has_the_weight_of_all_once_in_as_many_turns(seed):
    random = np.random.default_rng(seed)
    scores, weight = random.uniform(-9.0, 9.0, 50), random.uniform(0.1, 3.0, 50)
    labels = random.integers(0, 2, 50).astype(np.int8)
    turns = np.empty((SUBSAMPLING, 50, 3))
    for turn, terms in enumerate(turns):
        write_terms(EVERYONE[: scores.size], scores, labels, weight, turn, terms)
    residual = labels - 1.0 / (1.0 + np.exp(-scores))
    is_small = np.abs(residual) < SMALL_RESIDUAL
    assert_allclose(
        turns.mean(axis=0),
        weight[:, None] * np.stack([residual, np.abs(residual) * (1 - np.abs(residual)), residual**0], 1),
    )
    assert ((turns[:, is_small, 2] > 0).sum(axis=0) == 1).all()
    assert abs(int((turns[0][is_small, 2] > 0).sum()) - is_small.sum() // SUBSAMPLING) <= 1
    assert_array_equal(turns[0][~is_small], turns[1][~is_small])


def test_extreme_scores_have_a_residual_of_one_or_zero():
    terms = np.empty((4, 3))
    write_terms(
        EVERYONE[:4], np.array([700.0, 700.0, -700.0, -700.0]), np.array([0, 1, 0, 1], np.int8), np.ones(4), 0, terms
    )
    assert_allclose(terms, [[-1, 0, 1], [0, 0, 0], [0, 0, 0], [1, 0, 1]], atol=1e-12)


@given(seed=st.integers(0, 2**32 - 1), turn=st.integers(0, 9))
def test_rows_that_are_not_in_the_order_are_not_written(seed, turn):
    random = np.random.default_rng(seed)
    scores, weight = random.uniform(-9.0, 9.0, 50), random.uniform(0.1, 3.0, 50)
    labels, some = random.integers(0, 2, 50).astype(np.int8), np.flatnonzero(random.random(50) < 0.7).astype(np.int32)
    terms, alone = np.full((50, 3), np.nan), np.empty((some.size, 3))
    write_terms(some, scores, labels, weight, turn, terms)
    write_terms(EVERYONE[: some.size], scores[some], labels[some], weight[some], turn, alone)
    assert_array_equal(terms[some], alone)
    assert np.isnan(np.delete(terms, some, axis=0)).all()
