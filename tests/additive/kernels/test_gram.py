"""Products of couples of entries against the dense product."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numba import njit
from numpy.testing import assert_allclose
from scipy import sparse

from opauc.additive.kernels import gram as module
from opauc.additive.kernels.gram import add_couple_products, write_couples
from opauc.core.kernels.compile import in_python
from opauc.core.kernels.symmetric_matrix import clear_upper
from opauc.core.row_blocks import csr_rows


def couples_of(rows):
    starts, values = np.empty(rows.nnz, np.uint32), np.empty(2 * rows.nnz)
    ends, all_sparse = np.zeros(rows.shape[0] + 1, np.int64), np.full(rows.shape[1], -1, np.int32)
    no_dense, factors = np.zeros((rows.shape[0], 0)), np.ones(rows.shape[0])
    entries = csr_rows(rows.data, rows.indices, rows.indptr)
    write_couples(entries, all_sparse, factors, no_dense, starts, values, ends)
    return starts, values, ends


def workspace(rows):
    return np.empty(rows.shape[0], np.int64)


def random_rows(seed, n_columns, density):
    rng = np.random.default_rng(seed)
    dense = np.where(rng.random((12, n_columns)) < density, rng.normal(size=(12, n_columns)), 0.0)
    dense[3] = 0.0
    return sparse.csr_array(dense), rng.uniform(0.1, 2.0, 12)


@settings(max_examples=30)
@given(st.integers(0, 2**32 - 1), st.integers(2, 12), st.sampled_from([0.1, 0.5, 1.0]))
def test_the_lower_triangle_is_that_of_the_dense_product(seed, n_columns, density):
    rows, weights = random_rows(seed, n_columns, density)
    lower = np.zeros((n_columns, n_columns))
    add_couple_products(*couples_of(rows), workspace(rows), weights, lower)
    clear_upper(lower)
    assert_allclose(lower, np.tril(rows.T @ (weights[:, None] * rows.toarray())), atol=1e-12)


@settings(max_examples=30)
@given(st.integers(0, 2**32 - 1), st.integers(2, 12))
def test_couples_hold_every_entry_once_and_stay_within_the_columns(seed, n_columns):
    rows, _ = random_rows(seed, n_columns, 0.5)
    starts, values, ends = couples_of(rows)
    dense = np.zeros(rows.shape)
    for i in range(rows.shape[0]):
        for at in range(ends[i], ends[i + 1]):
            dense[i, starts[at]] += values[2 * at]
            dense[i, starts[at] + 1] += values[2 * at + 1]
    assert_allclose(dense, rows.toarray(), rtol=0)


@pytest.mark.skipif(not hasattr(add_couple_products, "py_func"), reason="the compiled form has its tiles fixed")
def test_low_tiles_give_the_same(monkeypatch):
    rows, weights = random_rows(0, 12, 0.6)
    monkeypatch.setattr(module, "COUPLE_TILE", 20)
    lower, expected = np.zeros((12, 12)), np.zeros((12, 12))
    njit(in_python(add_couple_products))(
        *couples_of(rows), workspace(rows), weights, lower
    )  # which sees the other constant
    add_couple_products(*couples_of(rows), workspace(rows), weights, expected)
    assert_allclose(lower, expected, atol=1e-12)
