"""Sums of random effects against the Gram matrix with a column per category."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.sparse import csr_array
from scipy.special import expit

from opauc.additive.random_effects import RandomEffectSums
from opauc.additive.sums import LabeledRows
from opauc.errors import IncompatibleMomentsError

N_CATEGORIES, N_COLUMNS = 9, 4
seeds = st.integers(0, 2**32 - 1)


def sample(seed, n_rows=60):
    """Rows with an intercept, their labels and weights, and at most one of four and one of five categories each."""
    rng = np.random.default_rng(seed)
    rows = np.c_[
        np.ones(n_rows), rng.normal(size=(n_rows, N_COLUMNS - 1)) * (rng.random((n_rows, N_COLUMNS - 1)) < 0.6)
    ]
    levels = np.zeros((n_rows, N_CATEGORIES))
    for first, size in ((0, 4), (4, 5)):
        has = np.flatnonzero(rng.random(n_rows) < 0.8)
        levels[has, first + rng.integers(0, size, has.size)] = 1.0
    labels, weight = rng.integers(0, 2, n_rows).astype(np.int8), rng.integers(1, 4, n_rows).astype(float)
    return LabeledRows(csr_array(rows), labels, weight), csr_array(levels)


def point(seed):
    return np.random.default_rng((seed, 1)).normal(size=N_COLUMNS)


def literal(parts, at):
    """All rows as dense columns, then those of categories: gram and rhs of the loss linearized at the point."""
    rows = np.vstack([np.c_[rows.toarray(), levels.toarray()] for (rows, *_), levels in parts])
    labels, weight = (np.concatenate([part[number] for part, _ in parts]) for number in (1, 2))
    scores = rows[:, :N_COLUMNS] @ at
    margin, error_probability = np.where(labels == 1, scores, -scores), expit(np.where(labels == 1, -scores, scores))
    curvature = weight * np.where(
        margin >= 0, error_probability * (1 - error_probability), (error_probability - 0.5) / np.abs(margin)
    )
    residual = weight * np.where(labels == 1, error_probability, -error_probability)
    rhs = rows.T @ (curvature * scores + residual)
    return rows.T @ (curvature[:, None] * rows), rhs, rows.T @ residual**2, rows.T @ weight


def assert_same(one, other):
    for name in ("products", "curvature", "rhs", "squares", "counts"):
        assert_allclose(getattr(one, name), getattr(other, name), rtol=1e-9, atol=1e-9)
    assert_allclose(one.shared.toarray(), other.shared.toarray(), rtol=1e-9, atol=1e-9)


@given(seeds, st.integers(1, 4))
def test_the_sums_are_the_blocks_of_the_gram_matrix_however_the_rows_are_cut(seed, n_parts):
    parts = [sample((seed, number), n_rows=5 + 20 * number) for number in range(n_parts)]
    gram, rhs, squares, counts = literal(parts, point(seed))
    sums = RandomEffectSums.empty(N_CATEGORIES, N_COLUMNS).update_all(parts, point(seed))
    theirs = gram[N_COLUMNS:, N_COLUMNS:]
    assert_allclose(sums.products, gram[N_COLUMNS:, :N_COLUMNS], atol=1e-9)
    assert_allclose(sums.curvature, np.diagonal(theirs), atol=1e-9)
    assert_allclose(sums.shared.toarray(), theirs - np.diag(np.diagonal(theirs)), atol=1e-9)
    assert_allclose(sums.rhs, rhs[N_COLUMNS:], atol=1e-9)
    assert_allclose(sums.squares, squares[N_COLUMNS:], atol=1e-9)
    assert_allclose(sums.counts, counts[N_COLUMNS:])


@given(seeds)
def test_merge_adds_the_rows_of_both_and_subtract_undoes_it(seed):
    one, other = sample((seed, 0)), sample((seed, 1))
    empty = RandomEffectSums.empty(N_CATEGORIES, N_COLUMNS)
    first, second = (empty.update_all([part], point(seed)) for part in (one, other))
    assert_same(first.merge(second), empty.update_all([one, other], point(seed)))
    assert_same(first.merge(second), second.merge(first))
    assert_same(first.merge(second).subtract(second), first)
    assert_same(first.subtract(first), first.empty_copy())
    assert not first.subtract(first).curvature.any()


@given(seeds)
def test_sums_are_restored_from_their_arrays_bit_by_bit(seed):
    sums = RandomEffectSums.empty(N_CATEGORIES, N_COLUMNS).update_all([sample(seed)], point(seed))
    again = RandomEffectSums.from_arrays(sums.to_arrays()).to_arrays()
    assert all(np.array_equal(array, again[name]) for name, array in sums.to_arrays().items())


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("products", lambda array: array[:-1]),
        ("products", lambda array: array.astype(np.float32)),
        ("counts", lambda array: -array),
        ("curvature", lambda array: -array),
        ("rhs", lambda array: np.where(array == array[0], np.nan, array)),
        ("shared.indices", lambda array: array + N_CATEGORIES),
        ("shared.data", lambda array: np.arange(float(array.size))),
        ("shared.indptr", lambda array: array[::-1].copy()),
    ],
)
def test_arrays_that_are_no_sums_of_rows_raise(name, change):
    arrays = RandomEffectSums.empty(N_CATEGORIES, N_COLUMNS).update_all([sample(0)], point(0)).to_arrays()
    with pytest.raises(IncompatibleMomentsError, match=": expected"):
        RandomEffectSums.from_arrays({**arrays, name: change(arrays[name])})


def test_sums_of_different_categories_do_not_merge():
    with pytest.raises(IncompatibleMomentsError, match="different categories"):
        RandomEffectSums.empty(3, 2).merge(RandomEffectSums.empty(4, 2))
    with pytest.raises(IncompatibleMomentsError, match="expected"):
        RandomEffectSums.from_arrays({})
