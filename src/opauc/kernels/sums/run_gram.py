"""Sums of products over sparse rows whose entries come two by two, as those of piecewise linear columns do.

Each row touches lines all over a matrix that no cache holds, so a block of rows
is gone through once for every few lines.
"""

import numpy as np

from opauc.kernels.compile_kernel import kernel
from opauc.kernels.simd.lanes import couple_at, plus, put_lanes

# Lines of the matrix that are filled at a time take about so many numbers.
TILE = 32_768


@kernel
def write_couples(rows, size, starts, values, ends):
    """Write the entries of sparse rows as couples of neighbouring columns, `ends` as the row ends of a CSR array.

    A couple has its first column and two values; an entry without a neighbour
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
        while bottom < size and (bottom - top) * bottom < TILE:
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
