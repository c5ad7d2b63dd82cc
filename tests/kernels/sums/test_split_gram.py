"""Rows whose last columns are full, against NumPy."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy import sparse

from opauc.kernels.sums.split_gram import add_cross_products, full_columns, write_by_columns, write_split_rows
from opauc.statistics.chunk_rows import csr_rows
from opauc.statistics.row_products import FEWEST_FULL, RowProducts


def mixed_rows(seed, n_rows, n_sparse, n_full, density):
    rng = np.random.default_rng(seed)
    some = rng.normal(size=(n_rows, n_sparse)) * (rng.random((n_rows, n_sparse)) < density)
    some[: n_rows // 2, -1:] = 0.0  # so that the column before the full ones is not
    rows = sparse.csr_array(np.hstack([some, rng.normal(size=(n_rows, n_full))]))
    rows.sort_indices()
    return rows, csr_rows(rows.data, rows.indices, rows.indptr)


@given(st.integers(0, 2**32 - 1), st.integers(1, 9), st.integers(1, 6), st.integers(0, 7))
def test_full_columns_are_the_last_ones_that_every_row_has(seed, n_rows, n_sparse, n_full):
    rows, entries = mixed_rows(seed, n_rows, n_sparse, n_full, 0.3)
    there = (rows.toarray() != 0).all(axis=0)[::-1]
    expected = there.size if there.all() else int(np.argmin(there))
    assert full_columns(entries, n_sparse + n_full) == expected


@pytest.mark.parametrize("real", [np.float64, np.float32])
@given(seed=st.integers(0, 2**32 - 1), n_rows=st.integers(1, 30), n_full=st.integers(1, 150))
def test_split_rows_multiply_as_the_whole(real, seed, n_rows, n_full):
    rows, entries = mixed_rows(seed, n_rows, 5, n_full, 0.5)
    factors = np.random.default_rng(seed).uniform(0.5, 2.0, n_rows)
    n_sparse = rows.nnz - n_rows * n_full
    full, data = np.empty((n_rows, n_full), real), np.empty(n_sparse)
    indices, ends = np.empty(n_sparse, np.uint32), np.empty(n_rows + 1, np.int32)
    write_split_rows(entries, factors, full, data, indices, ends)
    whole = rows.toarray() * factors[:, None]
    assert_allclose(full, whole[:, 5:], rtol=1e-6)
    column_ends, owners, values = np.zeros(11, np.int64), np.empty(n_sparse, np.uint32), np.empty((n_sparse, 2), real)
    write_by_columns(csr_rows(data, indices, ends), factors, column_ends, owners, values)
    out = np.zeros((5, n_full))
    add_cross_products(column_ends, owners, values, full, out)
    assert_allclose(out, whole[:, :5].T @ whole[:, 5:], rtol=1e-4, atol=1e-4 if real is np.float32 else 1e-12)


@pytest.mark.parametrize("narrow", [False, True])
@pytest.mark.parametrize("density", [0.02, 0.9])
@pytest.mark.parametrize(("n_sparse", "n_full"), [(60, 2 * FEWEST_FULL), (400, 2 * FEWEST_FULL), (1, 40), (9, 3)])
def test_products_do_not_depend_on_the_way_they_are_made(narrow, density, n_sparse, n_full):
    rows, entries = mixed_rows(3, 50, n_sparse, n_full, density)
    curvature = np.random.default_rng(1).uniform(0.1, 0.25, 50)
    products = RowProducts(np.zeros((n_sparse + n_full,) * 2), narrow)
    for _ in range(2):  # what the first call leaves above the diagonal does not matter to the second
        products.add(entries, curvature)
    expected = 2.0 * rows.toarray().T @ (curvature[:, None] * rows.toarray())
    for _ in range(2):  # nothing is added twice
        found = products.finish()
        assert_allclose(np.tril(found), np.tril(expected), rtol=1e-4, atol=1e-4 if narrow else 1e-12)


def test_blocks_may_differ_in_how_many_columns_are_full():
    products, expected = RowProducts(np.zeros((200, 200))), np.zeros((200, 200))
    for n_full in (100, 40, 100):
        rows, entries = mixed_rows(n_full, 30, 200 - n_full, n_full, 0.02)
        products.add(entries, np.full(30, 0.25))
        expected += 0.25 * (rows.T @ rows).toarray()
    assert_allclose(np.tril(products.finish()), np.tril(expected), atol=1e-12)
