"""Weighted sums of the products of sparse rows, by the way that suits where their entries are."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from opauc.kernels.rows.csr_rows import CsrRows
from opauc.kernels.rows.unpacked_rows import unpack_rows
from opauc.kernels.sums.run_gram import add_couple_products, write_couples
from opauc.kernels.sums.split_gram import add_cross_products, count_entries, write_by_columns, write_split_rows
from opauc.kernels.sums.symmetric_matrix import add_lower
from opauc.rows import DenseRows, Floats
from opauc.statistics.blas_gram import add_gram
from opauc.statistics.chunk_rows import csr_rows

# Products of two couples of entries, and of an entry with a full column, cost so many times a product by BLAS.
COUPLE_COST, CROSS_COST = 40.0, 4.0
# A column is as good as full that has entries in this share of the rows.
NEARLY_FULL = 0.9


class RowProducts:
    """A lower triangle to which curvature * row row^T of sparse rows is added, by the way that suits their entries.

    What is above its diagonal is written over. Where it pays, by what the first
    rows are like, columns that are full are treated apart until `finish`.
    `narrow` lets BLAS multiply in float32.

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
        self._full: NDArray[np.int64] | None = None  # full columns, once rows have been seen
        self._begin(np.empty(0, np.int64))

    def add(self, rows: CsrRows, curvature: Floats) -> None:
        """Add the products of some rows."""
        if self._full is None:
            self._full = _full_columns(rows, curvature.size, self._gram.shape[0])
            self._begin(self._full)
        if self._full.size:
            self._add_split(rows, curvature)
        else:
            self._add_sparse(rows, curvature)

    def finish(self) -> Floats:
        """Return the triangle with all that was added."""
        if self._full is not None and self._full.size:
            full = self._full
            self._gram[np.ix_(full, full)] += np.tril(self._between)
            before = np.arange(len(self._gram))[:, None] < full
            self._gram[:, full] += np.where(before, 0.0, self._cross)
            self._gram[full] += np.where(before, self._cross, 0.0).T
            self._begin(full)
        return self._gram

    def _begin(self, full: NDArray[np.int64]) -> None:
        """Set what stands apart to zero: products between full columns, and of them with the others."""
        size = self._gram.shape[0] if full.size else 0
        self._places = np.full(size, -1)
        self._places[full] = np.arange(full.size)
        self._between, self._cross = np.zeros((full.size, full.size)), np.zeros((size, full.size))

    def _add_split(self, rows: CsrRows, curvature: Floats) -> None:
        """Add the products of rows of which some columns are full: these by BLAS, and what is sparse entry by entry."""
        full, factors = np.zeros((curvature.size, len(self._between)), self._real), np.sqrt(curvature)
        sparse = _split(rows, factors, self._places, full)
        self._add_sparse(sparse, curvature)
        column_ends, owners = np.zeros(2 * len(self._gram) + 1, np.int64), np.empty(sparse.data.size, np.uint32)
        values = np.empty((sparse.data.size, 2), self._real)
        write_by_columns(sparse, factors, column_ends, owners, values)
        add_cross_products(column_ends, owners, values, full, self._cross)
        _add_dense_products(full, self._between)

    def _add_sparse(self, rows: CsrRows, curvature: Floats) -> None:
        """Add the products of rows."""
        couples = _couples(rows, curvature.size, self._gram.shape[0])
        if _cost(couples, curvature.size) < self._gram.shape[0] ** 2:
            add_couple_products(*couples, curvature, self._gram)
            return
        shape = curvature.size, self._gram.shape[0]
        dense: DenseRows = np.zeros(shape, np.float32) if self._real is np.float32 else np.zeros(shape)
        unpack_rows(rows, np.sqrt(curvature), dense)
        _add_dense_products(dense, self._gram)


def _full_columns(rows: CsrRows, n_rows: int, size: int) -> NDArray[np.int64]:
    """Return the columns that are full in nearly all of some rows, none where treating them apart does not pay."""
    counts, nothing = np.zeros(size, np.int64), np.empty(0, np.int64)
    count_entries(rows, counts)
    found = np.flatnonzero(counts >= NEARLY_FULL * n_rows)
    if not found.size or found.size == size:
        return nothing
    places = np.full(size, -1)
    places[found] = np.arange(found.size)
    sparse = _split(rows, np.ones(n_rows), places, np.zeros((n_rows, found.size)))
    cross = 2.0 * CROSS_COST * found.size * sparse.data.size / max(n_rows, 1)
    apart = found.size**2 + cross + _cost(_couples(sparse, n_rows, size), n_rows)
    return found if apart < min(size**2, _cost(_couples(rows, n_rows, size), n_rows)) else nothing


def _split(rows: CsrRows, factors: Floats, places: NDArray[np.int64], full: DenseRows) -> CsrRows:
    """Write the full columns of rows, times a factor a row, into `full`, and return the others."""
    n_entries = rows.data.size
    data, indices, ends = np.empty(n_entries), np.empty(n_entries, np.uint32), np.empty(factors.size + 1, np.int32)
    n_sparse = write_split_rows(rows, factors, places, full, data, indices, ends)
    return csr_rows(data[:n_sparse], indices[:n_sparse], ends)


def _couples(rows: CsrRows, n_rows: int, size: int) -> tuple[NDArray[np.uint32], Floats, NDArray[np.int64]]:
    """Return the couples of neighbouring entries of rows; none where they are many."""
    n_entries = rows.data.size
    starts, values, ends = np.empty(n_entries, np.uint32), np.empty((n_entries, 2)), np.zeros(n_rows + 1, np.int64)
    # A couple has at most two entries: where half of them are too many, there is no need to count.
    if size < 2 or COUPLE_COST * (0.5 * n_entries / max(n_rows, 1)) ** 2 >= size**2:
        ends[-1] = n_rows * size
    else:
        write_couples(rows, size, starts, values, ends)
    return starts, values, ends


def _cost(couples: tuple[NDArray[np.uint32], Floats, NDArray[np.int64]], n_rows: int) -> float:
    """Return what the products of couples cost a row."""
    return COUPLE_COST * (float(couples[2][-1]) / max(n_rows, 1)) ** 2


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
