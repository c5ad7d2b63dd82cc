"""Weighted sums of the products of sparse rows, by the way that suits where their entries are."""

from __future__ import annotations

import numpy as np

from opauc.kernels.rows.csr_rows import CsrRows
from opauc.kernels.rows.unpacked_rows import unpack_rows
from opauc.kernels.sums.run_gram import add_couple_products, write_couples
from opauc.kernels.sums.split_gram import add_cross_products, full_columns, write_by_columns, write_split_rows
from opauc.kernels.sums.symmetric_matrix import add_lower
from opauc.rows import DenseRows, Floats
from opauc.statistics.blas_gram import add_gram
from opauc.statistics.chunk_rows import csr_rows

# Products of two couples of entries, and of an entry with a full column, cost so many times a product by BLAS.
COUPLE_COST, CROSS_COST = 40.0, 4.0
# Fewer full columns are not worth being treated apart.
FEWEST_FULL = 32


class RowProducts:
    """A lower triangle to which curvature * row row^T of sparse rows is added, by the way that suits their entries.

    What is above its diagonal is written over. Products of sparse with full
    columns stand apart until `finish`. `narrow` lets BLAS multiply in float32.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.statistics.chunk_rows import csr_rows
    >>> from opauc.statistics.row_products import RowProducts
    >>> products = RowProducts(np.zeros((2, 2)))
    >>> rows = csr_rows(np.array([1.0, 2.0, 3.0]), np.array([0, 1, 1], np.int32), np.array([0, 2, 3], np.int32))
    >>> products.add(rows, np.array([1.0, 10.0]))
    >>> np.tril(products.finish()).tolist()
    [[1.0, 0.0], [2.0, 94.0]]
    """

    def __init__(self, gram: Floats, narrow: bool = False) -> None:
        self._gram = gram
        self._real = np.float32 if narrow else np.float64
        self._cross = np.empty((gram.shape[0], 0))  # of sparse columns with full ones

    def add(self, rows: CsrRows, curvature: Floats) -> None:
        """Add the products of some rows."""
        n_rows, size = curvature.size, self._gram.shape[0]
        n_full = full_columns(rows, size)
        if n_full >= FEWEST_FULL and size > n_full + 1:
            n_sparse = rows.data.size - n_rows * n_full
            sparse_cost = COUPLE_COST * (0.5 * n_sparse / n_rows) ** 2 + 2.0 * CROSS_COST * n_full * n_sparse / n_rows
            if n_full**2 + sparse_cost < size**2:
                self._add_split(rows, curvature, n_full)
                return
        self._add_sparse(rows, curvature, size)

    def finish(self) -> Floats:
        """Return the triangle with all that was added."""
        first = len(self._cross)
        self._gram[first:, :first] += self._cross.T
        self._cross = np.empty((self._gram.shape[0], 0))
        return self._gram

    def _add_split(self, rows: CsrRows, curvature: Floats, n_full: int) -> None:
        """Add the products of rows whose last columns are full: these by BLAS, and what is sparse entry by entry."""
        n_rows, first = curvature.size, self._gram.shape[0] - n_full
        n_sparse = rows.data.size - n_rows * n_full
        full, factors = np.empty((n_rows, n_full), self._real), np.sqrt(curvature)
        data, indices, ends = np.empty(n_sparse), np.empty(n_sparse, np.uint32), np.empty(n_rows + 1, np.int32)
        write_split_rows(rows, factors, full, data, indices, ends)
        sparse = csr_rows(data, indices, ends)
        self._add_sparse(sparse, curvature, first)
        if len(self._cross) != first:
            self.finish()
            self._cross = np.zeros((first, n_full))
        column_ends, owners = np.zeros(2 * first + 1, np.int64), np.empty(n_sparse, np.uint32)
        values = np.empty((n_sparse, 2), self._real)
        write_by_columns(sparse, factors, column_ends, owners, values)
        add_cross_products(column_ends, owners, values, full, self._cross)
        _add_dense_products(full, self._gram[first:, first:])

    def _add_sparse(self, rows: CsrRows, curvature: Floats, size: int) -> None:
        """Add the products of rows that have the first `size` columns only."""
        if not _added_by_couples(rows, curvature, self._gram, size):
            shape = curvature.size, size
            dense: DenseRows = np.zeros(shape, np.float32) if self._real is np.float32 else np.zeros(shape)
            unpack_rows(rows, np.sqrt(curvature), dense)
            _add_dense_products(dense, self._gram[:size, :size])


def _added_by_couples(rows: CsrRows, curvature: Floats, gram: Floats, size: int) -> bool:
    """Add the products of the first `size` columns where couples of their entries are few; tell whether they are."""
    n_rows, n_entries = curvature.size, rows.data.size
    # A couple has at most two entries: where half of them are too many, there is no need to count.
    if size < 2 or COUPLE_COST * (0.5 * n_entries / n_rows) ** 2 >= size**2:
        return False
    starts, values, ends = np.empty(n_entries, np.uint32), np.empty((n_entries, 2)), np.zeros(n_rows + 1, np.int64)
    write_couples(rows, size, starts, values, ends)
    if COUPLE_COST * (ends[-1] / n_rows) ** 2 >= size**2:
        return False
    add_couple_products(starts, values, ends, curvature, gram)
    return True


def _add_dense_products(dense: DenseRows, lower: Floats) -> None:
    """Add dense^T dense to the lower triangle of a matrix or of a block of one."""
    if dense.dtype == np.float64:
        add_gram(dense, lower)
        return
    part = np.zeros((dense.shape[1],) * 2, np.float32)
    add_gram(dense, part)
    if lower.flags.c_contiguous:
        add_lower(lower, part)
    else:
        lower += part
