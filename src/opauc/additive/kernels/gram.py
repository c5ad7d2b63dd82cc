"""Sums of products of sparse rows whose entries come in neighboring couples, as those of hat functions do.

Each row writes all over a matrix larger than the cache. So a block of rows is
read several times, once for every tile of lines of the matrix.
"""

from __future__ import annotations

import numpy as np

from opauc.core.kernels.compile import borrowing, kernel
from opauc.core.kernels.simd import couple_at, plus, put_lanes

# Numbers of a tile of lines of the matrix, which stays in the cache.
COUPLE_TILE = 32_768


@kernel
def write_couples(rows, size, starts, values, ends):
    """Write the entries of sparse rows as couples of neighboring columns, `ends` as the row ends of a CSR array.

    A couple is its first column and two values; an entry without a neighbor is
    coupled with a zero. No couple exceeds the last of `size` columns.
    """
    n_couples = 0
    for i in range(rows.indptr.size - 1):
        at, end = rows.indptr[i], rows.indptr[i + 1]
        while at < end:
            column, value = np.int64(rows.indices[at]), rows.data[at]
            coupled = at + 1 < end and np.int64(rows.indices[at + 1]) == column + 1
            if coupled:
                starts[n_couples], values[n_couples, 0], values[n_couples, 1] = column, value, rows.data[at + 1]
            elif column == size - 1:
                starts[n_couples], values[n_couples, 0], values[n_couples, 1] = column - 1, 0.0, value
            else:
                starts[n_couples], values[n_couples, 0], values[n_couples, 1] = column, value, 0.0
            at += 2 if coupled else 1
            n_couples += 1
        ends[i + 1] = n_couples


@kernel
def add_couple_products(starts, values, ends, weights, lower):
    """Add every row's products of entries, times its weight, to a lower triangle of two columns or more.

    Products are added in blocks of two by two, one store per two products. Entries
    next to the diagonal are also written above it. `starts` are unsigned.
    """
    size, n_rows = lower.shape[0], ends.size - 1
    following, flat = ends[:-1].copy(), values.reshape(values.size)
    bottom = 0
    while bottom < size:
        # Line k has k numbers: the first tiles have more lines.
        top = bottom
        while bottom < size and (bottom - top) * bottom < COUPLE_TILE:
            bottom += 1
        for i in range(n_rows):
            begin, a, end = ends[i], following[i], ends[i + 1]
            columns, entries = starts[begin:end], flat[2 * begin : 2 * end]
            while a < end and starts[a] < np.uint32(bottom):
                line, next_line = lower[starts[a]], lower[starts[a] + np.uint32(1)]
                one, two = weights[i] * values[a, 0], weights[i] * values[a, 1]
                for b in range(a - begin + 1):
                    c, couple = columns[b], couple_at(entries, 2 * b)
                    put_lanes(line, c, plus(couple_at(line, c), one, couple))
                    put_lanes(next_line, c, plus(couple_at(next_line, c), two, couple))
                a += 1
            following[i] = a


# Dense columns that are multiplied at a time: those of a block of rows stay in the cache.
TILE = 256


@kernel
def count_entries(rows, counts):
    """Add the number of entries of every column to `counts`."""
    for at in range(np.int64(rows.indptr[0]), np.int64(rows.indptr[-1])):
        counts[np.int64(rows.indices[at])] += 1


@kernel
def write_split_rows(rows, factors, positions, dense, data, indices, ends):
    """Write the entries of dense columns into `dense`, which must be zero, and the others as sparse rows.

    `positions` has the column of `dense` of each column, -1 if it is sparse. Entries of `dense` are multiplied by the
    factor of their row. Return the number of sparse entries.
    """
    written = 0
    ends[0] = 0
    for i in range(rows.indptr.size - 1):
        line, factor = dense[i], factors[i]
        for at in range(np.int64(rows.indptr[i]), np.int64(rows.indptr[i + 1])):
            column = np.int64(rows.indices[at])
            if positions[column] >= 0:
                line[positions[column]] = factor * rows.data[at]
            else:
                data[written], indices[written] = rows.data[at], column
                written += 1
        ends[i + 1] = written
    return written


@kernel
def write_by_columns(sparse, factors, ends, row_numbers, values):
    """Write the entries of sparse rows, times a factor per row, column by column: the row of each, and its value.

    Segment 2c has the single entries of column c, segment 2c + 1 those with a
    neighbor in column c + 1, with both values. `ends`, which must be zero, takes
    the end of each segment, as the row ends of a CSR array.
    """
    n_rows = sparse.indptr.size - 1
    for i in range(n_rows):
        at, end = np.int64(sparse.indptr[i]), np.int64(sparse.indptr[i + 1])
        while at < end:
            c = np.int64(sparse.indices[at])
            coupled = at + 1 < end and np.int64(sparse.indices[at + 1]) == c + 1
            ends[2 * c + 1 + coupled] += 1
            at += 1 + coupled
    for segment in range(ends.size - 1):
        ends[segment + 1] += ends[segment]
    following = ends[:-1].copy()
    for i in range(n_rows):
        at, end = np.int64(sparse.indptr[i]), np.int64(sparse.indptr[i + 1])
        while at < end:
            c = np.int64(sparse.indices[at])
            coupled = at + 1 < end and np.int64(sparse.indices[at + 1]) == c + 1
            entry = following[2 * c + coupled]
            row_numbers[entry], values[entry, 0] = i, factors[i] * sparse.data[at]
            if coupled:
                values[entry, 1] = factors[i] * sparse.data[at + 1]
            following[2 * c + coupled] += 1
            at += 1 + coupled


@borrowing
def add_single(row_numbers, values, dense, left, line):
    """Add to the line of one column its entries times the dense columns of their rows, from `left` on."""
    at, end, width = 0, row_numbers.size, line.size
    while at + 4 <= end:
        a, b, c, d = values[at, 0], values[at + 1, 0], values[at + 2, 0], values[at + 3, 0]
        row_a, row_b = dense[row_numbers[at], left : left + width], dense[row_numbers[at + 1], left : left + width]
        row_c, row_d = dense[row_numbers[at + 2], left : left + width], dense[row_numbers[at + 3], left : left + width]
        for j in range(width):
            line[j] += a * row_a[j] + b * row_b[j] + c * row_c[j] + d * row_d[j]
        at += 4
    while at < end:
        a, row_a = values[at, 0], dense[row_numbers[at], left : left + width]
        for j in range(width):
            line[j] += a * row_a[j]
        at += 1


@borrowing
def add_coupled(row_numbers, values, dense, left, line, next_line):
    """Add to the lines of two neighboring columns their couples of entries in the same way."""
    at, end, width = 0, row_numbers.size, line.size
    while at + 4 <= end:
        a, b, c, d = values[at, 0], values[at + 1, 0], values[at + 2, 0], values[at + 3, 0]
        e, f, g, h = values[at, 1], values[at + 1, 1], values[at + 2, 1], values[at + 3, 1]
        row_a, row_b = dense[row_numbers[at], left : left + width], dense[row_numbers[at + 1], left : left + width]
        row_c, row_d = dense[row_numbers[at + 2], left : left + width], dense[row_numbers[at + 3], left : left + width]
        for j in range(width):
            line[j] += a * row_a[j] + b * row_b[j] + c * row_c[j] + d * row_d[j]
            next_line[j] += e * row_a[j] + f * row_b[j] + g * row_c[j] + h * row_d[j]
        at += 4
    while at < end:
        a, b, row = values[at, 0], values[at, 1], dense[row_numbers[at], left : left + width]
        for j in range(width):
            line[j] += a * row[j]
            next_line[j] += b * row[j]
        at += 1


@kernel
def add_cross_products(ends, row_numbers, values, dense, out):
    """Add the products of sparse entries with the dense columns of their rows to out[c, j], c being the sparse column.

    Four entries share a load and a store of a line, and two columns the loads of the rows.
    """
    n_sparse, n_dense = out.shape
    for left in range(0, n_dense, TILE):
        right = min(left + TILE, n_dense)
        for c in range(n_sparse):
            begin, middle, end = ends[2 * c], ends[2 * c + 1], ends[2 * c + 2]
            line = out[c, left:right]
            if begin < middle:
                add_single(row_numbers[begin:middle], values[begin:middle], dense, left, line)
            if middle < end:
                add_coupled(row_numbers[middle:end], values[middle:end], dense, left, line, out[c + 1, left:right])


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
