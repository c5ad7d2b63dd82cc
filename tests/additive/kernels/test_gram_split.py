"""Products of rows with dense columns, or nearly dense ones, against NumPy."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from opauc.additive.kernels.gram import add_cross_products
from opauc.additive.sums import RowProducts, SplitRows, round_up
from opauc.core.row_blocks import csr_rows


def mixed_rows(seed, n_rows, n_sparse, n_dense, density, missing=0.0):
    """Full columns stand anywhere among the sparse ones; some of their entries may be missing."""
    rng = np.random.default_rng(seed)
    known = rng.normal(size=(n_rows, n_sparse + n_dense))
    dense = rng.permutation(n_sparse + n_dense)[:n_dense]
    there = rng.random(known.shape) < density
    there[:, dense] = rng.random((n_rows, n_dense)) >= missing
    rows = sparse.csr_array(known * there)
    rows.sort_indices()
    return rows, csr_rows(rows.data, rows.indices, rows.indptr), np.sort(dense)


@given(
    seed=st.integers(0, 2**32 - 1),
    n_rows=st.integers(1, 30),
    n_dense=st.integers(1, 150),
    missing=st.sampled_from([0.0, 0.05, 0.9]),
)
def test_split_rows_multiply_as_the_whole(seed, n_rows, n_dense, missing):
    rows, entries, columns = mixed_rows(seed, n_rows, 5, n_dense, 0.5, missing)
    factors = np.random.default_rng(seed).uniform(0.5, 2.0, n_rows)
    size, positions = 5 + n_dense, np.full(5 + n_dense, -1, np.int32)
    positions[columns] = np.arange(n_dense)
    split = SplitRows.of(entries, factors, positions, n_dense)
    whole = rows.toarray() * factors[:, None]
    assert_allclose(split.dense[:, :n_dense], whole[:, columns], rtol=1e-12)
    assert not split.dense[:, n_dense:].any()
    out = np.zeros((size, round_up(n_dense)))
    add_cross_products(*split[1:], factors, split.dense, out)
    rest = np.where(positions[:, None] < 0, whole.T, 0.0)
    assert_allclose(out[:, :n_dense], rest @ whole[:, columns], atol=1e-12)


@pytest.mark.parametrize("narrow", [False, True])
@pytest.mark.parametrize("density", [0.02, 0.9])
@pytest.mark.parametrize("missing", [0.0, 0.05])
@pytest.mark.parametrize(("n_sparse", "n_dense"), [(60, 64), (400, 64), (1, 40), (9, 3), (700, 12)])
def test_products_do_not_depend_on_the_way_they_are_made(narrow, density, missing, n_sparse, n_dense):
    rows, entries, _ = mixed_rows(3, 50, n_sparse, n_dense, density, missing)
    curvature = np.random.default_rng(1).uniform(0.1, 0.25, 50)
    products = RowProducts(np.zeros((n_sparse + n_dense,) * 2), narrow)
    for _ in range(2):  # what the first call leaves above the diagonal does not matter to the second
        products.add(entries, curvature)
    expected = 2.0 * rows.toarray().T @ (curvature[:, None] * rows.toarray())
    for _ in range(2):  # nothing is added twice
        found = products.finish()
        assert_allclose(np.tril(found), np.tril(expected), rtol=1e-4, atol=1e-4 if narrow else 1e-12)


def test_later_rows_need_not_be_dense_where_the_first_are():
    products, expected = RowProducts(np.zeros((500, 500))), np.zeros((500, 500))
    for missing in (0.0, 0.5, 1.0, 0.0):
        rows, entries, dense = mixed_rows(9, 30, 400, 100, 0.02, missing)
        products.add(entries, np.full(30, 0.25))
        expected += 0.25 * (rows.T @ rows).toarray()
    assert_array_equal(products._dense, dense)
    assert_allclose(np.tril(products.finish()), np.tril(expected), atol=1e-12)
