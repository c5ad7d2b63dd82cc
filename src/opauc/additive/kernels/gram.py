"""Sums of products of sparse rows whose entries come in neighboring couples, as those of hat functions do.

Each row writes all over a matrix larger than the cache. So a block of rows is
read several times, once for every tile of lines of the matrix.
"""

from __future__ import annotations

import numpy as np

from opauc.core.kernels.compile import borrowing, kernel
from opauc.core.kernels.simd import LANES, couple_at, lanes_at, plus, put_lanes

# Unsigned numbers: at a signed index a kernel has to check whether it counts from the end.
ONE, TWO, NEXT = np.uint64(1), np.uint64(2), np.uint32(1)
# Numbers of a tile of lines of the matrix, which stays in the cache.
COUPLE_TILE = 32_768


@borrowing
def write_couples(rows, positions, factors, dense, starts, values, ends):
    """Write the entries of sparse rows as couples of neighboring columns, `ends` as the row ends of a CSR array.

    A couple is its first column and two of the `values`; an entry without a neighbor is
    coupled with a zero. Entries of columns that have a position are written there
    in `dense`, which must be zero, times the factor of their row, and are in no
    couple. Other columns have a position of -1.
    """
    n_couples, last = np.uint64(0), np.uint32(positions.size - 1)
    for i in range(rows.indptr.size - 1):
        at, end = np.uint64(rows.indptr[i]), np.uint64(rows.indptr[i + 1])
        while at < end:
            column, value = rows.indices[at], rows.data[at]
            at += ONE
            if positions[column] >= 0:
                dense[i, positions[column]] = factors[i] * value
                continue
            second = 0.0
            if at < end and rows.indices[at] == column + NEXT and positions[column + NEXT] < 0:
                second = rows.data[at]
                at += ONE
            elif column == last:
                column, value, second = column - NEXT, 0.0, value
            starts[n_couples] = column
            values[TWO * n_couples], values[TWO * n_couples + ONE] = value, second
            n_couples += ONE
        ends[i + 1] = n_couples


@borrowing
def add_couple_products(starts, values, ends, following, weights, lower):
    """Add every row's products of entries, times its weight, to a lower triangle of two columns or more.

    Products are added in blocks of two by two, one store per two products. Entries
    next to the diagonal are also written above it. `starts` are unsigned;
    `following` is a workspace for an index per row.
    """
    size, n_rows = lower.shape[0], ends.size - 1
    for i in range(n_rows):
        following[i] = ends[i]
    bottom = 0
    while bottom < size:
        # Line k has k numbers: the first tiles have more lines.
        top = bottom
        while bottom < size and (bottom - top) * bottom < COUPLE_TILE:
            bottom += 1
        for i in range(n_rows):
            begin, a, end = ends[i], following[i], ends[i + 1]
            columns, entries = starts[begin:end], values[2 * begin : 2 * end]
            while a < end and starts[a] < np.uint32(bottom):
                line, next_line = lower[starts[a]], lower[starts[a] + NEXT]
                one, two = weights[i] * values[2 * a], weights[i] * values[2 * a + 1]
                for b in range(a - begin + 1):
                    c, couple = columns[b], couple_at(entries, 2 * b)
                    put_lanes(line, c, plus(couple_at(line, c), one, couple))
                    put_lanes(next_line, c, plus(couple_at(next_line, c), two, couple))
                a += 1
            following[i] = a


# Dense columns that are multiplied at a time: their products with all other columns stay in the cache.
TILE = 128


@borrowing
def add_cross_products(starts, values, ends, factors, dense, out):
    """Add the products of couples with the dense columns of their rows to out[c, j], c being the column of an entry.

    Couples are multiplied by the factor of their row. Rows of `dense` and `out` have a multiple of LANES columns.
    """
    n_rows, n_dense = dense.shape
    for left in range(0, n_dense, TILE):
        right = min(left + TILE, n_dense)
        for i in range(n_rows):
            row = dense[i]
            for a in range(ends[i], ends[i + 1]):
                line, next_line = out[starts[a]], out[starts[a] + NEXT]
                one, two = factors[i] * values[2 * a], factors[i] * values[2 * a + 1]
                for j in range(left, right, LANES):
                    lanes = lanes_at(row, j)
                    put_lanes(line, j, plus(lanes_at(line, j), one, lanes))
                    put_lanes(next_line, j, plus(lanes_at(next_line, j), two, lanes))


@kernel
def add_category_products(indicators, rows, factors, sums):
    """Add to the line of each category the sparse rows that have it, each times its factor.

    `indicators` has the categories of each row as sparse rows of ones.
    """
    for i in range(factors.size):
        begin, end, factor = np.int64(rows.indptr[i]), np.int64(rows.indptr[i + 1]), factors[i]
        for k in range(np.int64(indicators.indptr[i]), np.int64(indicators.indptr[i + 1])):
            line = sums[np.int64(indicators.indices[k])]
            for at in range(begin, end):
                line[np.int64(rows.indices[at])] += factor * rows.data[at]
