"""Sums of products over sparse rows whose entries come two by two, as those of piecewise linear columns do.

Each row touches lines all over a matrix that no cache holds, so a block of rows
is gone through once for every few lines.
"""

from __future__ import annotations

import numpy as np

from opauc.core.kernels.compile import borrowing, kernel
from opauc.core.kernels.simd import couple_at, plus, put_lanes

# Lines of the matrix that are filled at a time take about so many numbers.
COUPLE_TILE = 32_768


@kernel
def write_couples(rows, size, starts, values, ends):
    """Write the entries of sparse rows as couples of neighboring columns, `ends` as the row ends of a CSR array.

    A couple has its first column and two values; an entry without a neighbor
    is coupled with a zero. No couple reaches beyond the last of `size` columns.
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
    """Add every row's products of entries, times its weight, to the lower triangle, which has two columns or more.

    Blocks of two by two: a store for every two products. Entries next to the
    diagonal are written above it too. `starts` are unsigned.
    """
    size, n_rows = lower.shape[0], ends.size - 1
    following, flat = ends[:-1].copy(), values.reshape(values.size)
    bottom = 0
    while bottom < size:
        # Lines are as long as their number: the first tiles are higher.
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


# Full columns that are gone through at a time: those of a block of rows stay in the cache.
TILE = 256


@kernel
def count_entries(rows, counts):
    """Count the entries of every column."""
    for at in range(np.int64(rows.indptr[0]), np.int64(rows.indptr[-1])):
        counts[np.int64(rows.indices[at])] += 1


@kernel
def write_split_rows(rows, factors, places, full, data, indices, ends):
    """Write the entries of columns that have a place in `full`, which is zero, there, and the others as sparse rows.

    A place is -1 for a sparse column; in `full` an entry is multiplied by the factor of its row. Return how many
    entries are sparse.
    """
    written = 0
    ends[0] = 0
    for i in range(rows.indptr.size - 1):
        line, factor = full[i], factors[i]
        for at in range(np.int64(rows.indptr[i]), np.int64(rows.indptr[i + 1])):
            column = np.int64(rows.indices[at])
            if places[column] >= 0:
                line[places[column]] = factor * rows.data[at]
            else:
                data[written], indices[written] = rows.data[at], column
                written += 1
        ends[i + 1] = written
    return written


@kernel
def write_by_columns(sparse, factors, ends, owners, values):
    """Write the entries of sparse rows, times a factor a row, column by column: the row of each, and its value.

    Place 2c has the entries of column c that stand alone, place 2c + 1 those
    that have a neighbor in column c + 1, with both values. `ends`, which is
    zero, takes where each place ends, as the row ends of a CSR array.
    """
    n_rows = sparse.indptr.size - 1
    for i in range(n_rows):
        at, end = np.int64(sparse.indptr[i]), np.int64(sparse.indptr[i + 1])
        while at < end:
            c = np.int64(sparse.indices[at])
            coupled = at + 1 < end and np.int64(sparse.indices[at + 1]) == c + 1
            ends[2 * c + 1 + coupled] += 1
            at += 1 + coupled
    for place in range(ends.size - 1):
        ends[place + 1] += ends[place]
    following = ends[:-1].copy()
    for i in range(n_rows):
        at, end = np.int64(sparse.indptr[i]), np.int64(sparse.indptr[i + 1])
        while at < end:
            c = np.int64(sparse.indices[at])
            coupled = at + 1 < end and np.int64(sparse.indices[at + 1]) == c + 1
            place = following[2 * c + coupled]
            owners[place], values[place, 0] = i, factors[i] * sparse.data[at]
            if coupled:
                values[place, 1] = factors[i] * sparse.data[at + 1]
            following[2 * c + coupled] += 1
            at += 1 + coupled


@borrowing
def add_alone(owners, values, full, left, line):
    """Add entries of one column times the full columns of their rows, from `left` on, to the line of the column."""
    at, end, width = 0, owners.size, line.size
    while at + 4 <= end:
        a, b, c, d = values[at, 0], values[at + 1, 0], values[at + 2, 0], values[at + 3, 0]
        row_a, row_b = full[owners[at], left : left + width], full[owners[at + 1], left : left + width]
        row_c, row_d = full[owners[at + 2], left : left + width], full[owners[at + 3], left : left + width]
        for j in range(width):
            line[j] += a * row_a[j] + b * row_b[j] + c * row_c[j] + d * row_d[j]
        at += 4
    while at < end:
        a, row_a = values[at, 0], full[owners[at], left : left + width]
        for j in range(width):
            line[j] += a * row_a[j]
        at += 1


@borrowing
def add_coupled(owners, values, full, left, line, next_line):
    """Add couples of entries of neighboring columns in the same way to the lines of both."""
    at, end, width = 0, owners.size, line.size
    while at + 4 <= end:
        a, b, c, d = values[at, 0], values[at + 1, 0], values[at + 2, 0], values[at + 3, 0]
        e, f, g, h = values[at, 1], values[at + 1, 1], values[at + 2, 1], values[at + 3, 1]
        row_a, row_b = full[owners[at], left : left + width], full[owners[at + 1], left : left + width]
        row_c, row_d = full[owners[at + 2], left : left + width], full[owners[at + 3], left : left + width]
        for j in range(width):
            line[j] += a * row_a[j] + b * row_b[j] + c * row_c[j] + d * row_d[j]
            next_line[j] += e * row_a[j] + f * row_b[j] + g * row_c[j] + h * row_d[j]
        at += 4
    while at < end:
        a, b, row = values[at, 0], values[at, 1], full[owners[at], left : left + width]
        for j in range(width):
            line[j] += a * row[j]
            next_line[j] += b * row[j]
        at += 1


@kernel
def add_cross_products(ends, owners, values, full, out):
    """Add the products of sparse entries with the full columns of their rows: out[c, j] for sparse column c.

    Four entries share a load and a store of a line, and two columns the loads of the rows.
    """
    n_sparse, n_full = out.shape
    for left in range(0, n_full, TILE):
        right = min(left + TILE, n_full)
        for c in range(n_sparse):
            begin, middle, end = ends[2 * c], ends[2 * c + 1], ends[2 * c + 2]
            line = out[c, left:right]
            if begin < middle:
                add_alone(owners[begin:middle], values[begin:middle], full, left, line)
            if middle < end:
                add_coupled(owners[middle:end], values[middle:end], full, left, line, out[c + 1, left:right])


@kernel
def add_level_products(levels, rows, factors, sums):
    """Add to the line of each level the sparse rows that have it, each times its factor.

    `levels` and `rows` are as many sparse rows: of zeros and ones, and of what is summed.
    """
    for i in range(factors.size):
        begin, end, factor = np.int64(rows.indptr[i]), np.int64(rows.indptr[i + 1]), factors[i]
        for place in range(np.int64(levels.indptr[i]), np.int64(levels.indptr[i + 1])):
            line = sums[np.int64(levels.indices[place])]
            for at in range(begin, end):
                line[np.int64(rows.indices[at])] += factor * rows.data[at]
