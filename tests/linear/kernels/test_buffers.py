import numpy as np
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from opauc.core.kernels.sparse_rows import CsrRows, clear_row, unpack_row
from opauc.linear.kernels.moments import add_csr_products, column_ranges, fill_buffers, fill_buffers_csr

RNG = np.random.default_rng(5)
DENSE = np.where(RNG.random((13, 4)) < 0.5, RNG.normal(size=(13, 4)), 0.0)
LABELS = (RNG.random(13) < 0.4).astype(np.int8)
WEIGHT = RNG.random(13)
NONE = np.empty(0)


def csr(dense):
    rows = sparse.csr_array(dense)
    return CsrRows(rows.data, rows.indices, rows.indptr)


def filled_by(fill, rows, weight, start, capacity=4):
    shifts = np.arange(10.0).reshape(2, 5)
    buffers, filled, counts = np.zeros((2, capacity, 5)), np.zeros(2, np.int64), np.zeros(2)
    following = fill(rows, LABELS, weight, start, shifts, buffers, filled, counts)
    return following, filled, counts, [buffers[k, : filled[k]].copy() for k in (0, 1)]


def test_a_buffer_holds_its_class_shifted_and_weighted_and_stops_when_full():
    following, filled, counts, buffers = filled_by(fill_buffers, DENSE, WEIGHT, 2)
    seen = np.arange(2, following)
    assert filled.max() == 4
    assert filled.sum() == seen.size
    for k in (0, 1):
        mine = seen[LABELS[seen] == k]
        root = np.sqrt(WEIGHT[mine])[:, None]
        shifted = np.hstack([DENSE[mine] - np.arange(10.0).reshape(2, 5)[k, :4], np.ones((mine.size, 1))])
        assert_allclose(buffers[k], root * shifted, rtol=1e-14)
        assert_allclose(counts[k], WEIGHT[mine].sum(), rtol=1e-14)


def test_sparse_rows_fill_buffers_as_dense_ones_do():
    for weight in (NONE, WEIGHT):
        dense = filled_by(fill_buffers, DENSE, weight, 0)
        from_sparse = filled_by(fill_buffers_csr, csr(DENSE), weight, 0)
        assert dense[0] == from_sparse[0]
        for one, other in zip(dense[1:3] + tuple(dense[3]), from_sparse[1:3] + tuple(from_sparse[3]), strict=True):
            assert_array_equal(one, other)


def test_products_of_entries_are_the_weighted_second_moments():
    for weight in (NONE, WEIGHT):
        counts, sums, lowers = np.zeros(2), np.zeros((2, 4)), np.zeros((2, 4, 4))
        add_csr_products(csr(DENSE), LABELS, weight, counts, sums, lowers)
        for k in (0, 1):
            mine, w = DENSE[k == LABELS], (weight if weight.size else np.ones(13))[k == LABELS]
            assert_allclose(counts[k], w.sum())
            assert_allclose(sums[k], w @ mine, atol=1e-14)
            assert_allclose(lowers[k], np.tril((mine * w[:, None]).T @ mine), atol=1e-14)


def test_column_ranges_count_zeros_that_are_not_stored_and_skip_rows_without_weight():
    weight = WEIGHT.copy()
    weight[::3] = 0.0
    lowest, highest = np.empty((2, 4)), np.empty((2, 4))
    column_ranges(csr(DENSE), LABELS, weight, lowest, highest)
    for k in (0, 1):
        mine = DENSE[(k == LABELS) & (weight > 0)]
        assert_array_equal(lowest[k], mine.min(0))
        assert_array_equal(highest[k], mine.max(0))


def test_an_unpacked_row_is_cleared_without_a_trace():
    row = np.zeros(4)
    for i in range(13):
        unpack_row(csr(DENSE), i, row)
        assert_array_equal(row, DENSE[i])
        clear_row(csr(DENSE), i, row)
        assert not row.any()
