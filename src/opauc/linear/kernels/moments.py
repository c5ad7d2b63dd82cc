"""Sums over blocks of rows: buffers of one group each, Gram matrices, and statistics that decay.

Narrow Gram matrices are summed in vector registers, because BLAS spends half
its time on packing matrices this small. A sum runs over a block of rows in
registers and is then added to the matrix: in float32 a single sum over
thousands of rows would lose a digit.
"""

from __future__ import annotations

import numpy as np

from opauc.core.kernels.compile import borrowing, inlined, kernel
from opauc.core.kernels.simd import LANES, lanes_at, plus, put_lanes, times


@kernel
def fill_buffers(rows, groups, weights, start, shifts, buffers, filled, counts):
    """Copy rows from `start` on into the buffers of their groups until one is full; return the next row's number.

    A buffer line is root * (row - shift) followed by root, the square root of the
    row's weight. The weights are added to `counts`; empty `weights` mean ones.
    """
    n_rows, n_features = rows.shape
    for i in range(start, n_rows):
        k = groups[i]
        row, shift, slot = rows[i], shifts[k], buffers[k, filled[k]]
        for j in range(n_features):
            slot[j] = row[j] - shift[j]
        slot[n_features] = 1.0
        weight = 1.0
        if weights.size:
            weight = weights[i]
            slot *= np.sqrt(weight)
        counts[k] += weight
        filled[k] += 1
        if filled[k] == buffers.shape[1]:
            return i + 1
    return n_rows


@kernel
def fill_buffers_csr(rows, groups, weights, start, shifts, buffers, filled, counts):
    """Do as `fill_buffers` with sparse rows."""
    n_rows, n_features = rows.indptr.size - 1, shifts.shape[1] - 1
    for i in range(start, n_rows):
        k = groups[i]
        shift, slot = shifts[k], buffers[k, filled[k]]
        for j in range(n_features):
            slot[j] = -shift[j]
        for at in range(rows.indptr[i], rows.indptr[i + 1]):
            j = rows.indices[at]
            slot[j] = rows.data[at] - shift[j]
        slot[n_features] = 1.0
        weight = 1.0
        if weights.size:
            weight = weights[i]
            slot *= np.sqrt(weight)
        counts[k] += weight
        filled[k] += 1
        if filled[k] == buffers.shape[1]:
            return i + 1
    return n_rows


@kernel
def add_signed_rows(rows, labels, sign_rows, sums):
    """Add x signs^T of every sparse row x of class k to sums[:, k], `sums` of shape (d, 2, width)."""
    for i in range(labels.size):
        k, signs = labels[i], sign_rows[i]
        for at in range(rows.indptr[i], rows.indptr[i + 1]):
            x, line = rows.data[at], sums[rows.indices[at], k]
            for c in range(signs.size):
                line[c] += x * signs[c]


# Rows of the matrix per tile, with one, two or three vectors of each: twelve sums stay in registers.
TALL = 4
# Bytes of rows per block: they stay in the nearest cache while all tiles pass over them.
CACHE_BYTES = 2**15


@inlined
def add_at(out, at, lanes):
    """Add the lanes to `out` from `at` on."""
    put_lanes(out, at, plus(lanes_at(out, at), 1.0, lanes))


@borrowing
def add_one(rows, width, n_rows, i, c, out):
    """Add the products of columns i..i+3 with those of one vector from column c on."""
    a = times(0.0, lanes_at(rows, c))
    b, e, f, at = a, a, a, 0
    for _ in range(n_rows):
        x = lanes_at(rows, at + c)
        a, b = plus(a, rows[at + i], x), plus(b, rows[at + i + 1], x)
        e, f = plus(e, rows[at + i + 2], x), plus(f, rows[at + i + 3], x)
        at += width
    top = i * width + c
    add_at(out, top, a)
    add_at(out, top + width, b)
    add_at(out, top + 2 * width, e)
    add_at(out, top + 3 * width, f)


@borrowing
def add_two(rows, width, n_rows, i, c, out):
    """Add the products of columns i..i+3 with those of two vectors from column c on."""
    a0 = times(0.0, lanes_at(rows, c))
    a1, b0, b1, e0, e1, f0, f1, at = a0, a0, a0, a0, a0, a0, a0, 0
    for _ in range(n_rows):
        x, y = lanes_at(rows, at + c), lanes_at(rows, at + c + LANES)
        a, b, e, f = rows[at + i], rows[at + i + 1], rows[at + i + 2], rows[at + i + 3]
        a0, a1, b0, b1 = plus(a0, a, x), plus(a1, a, y), plus(b0, b, x), plus(b1, b, y)
        e0, e1, f0, f1 = plus(e0, e, x), plus(e1, e, y), plus(f0, f, x), plus(f1, f, y)
        at += width
    top = i * width + c
    add_at(out, top, a0)
    add_at(out, top + LANES, a1)
    add_at(out, top + width, b0)
    add_at(out, top + width + LANES, b1)
    add_at(out, top + 2 * width, e0)
    add_at(out, top + 2 * width + LANES, e1)
    add_at(out, top + 3 * width, f0)
    add_at(out, top + 3 * width + LANES, f1)


@borrowing
def add_three(rows, width, n_rows, i, c, out):
    """Add the products of columns i..i+3 with those of three vectors from column c on."""
    a0 = times(0.0, lanes_at(rows, c))
    a1, a2, b0, b1, b2, at = a0, a0, a0, a0, a0, 0
    e0, e1, e2, f0, f1, f2 = a0, a0, a0, a0, a0, a0
    for _ in range(n_rows):
        x, y, z = lanes_at(rows, at + c), lanes_at(rows, at + c + LANES), lanes_at(rows, at + c + 2 * LANES)
        a, b, e, f = rows[at + i], rows[at + i + 1], rows[at + i + 2], rows[at + i + 3]
        a0, a1, a2 = plus(a0, a, x), plus(a1, a, y), plus(a2, a, z)
        b0, b1, b2 = plus(b0, b, x), plus(b1, b, y), plus(b2, b, z)
        e0, e1, e2 = plus(e0, e, x), plus(e1, e, y), plus(e2, e, z)
        f0, f1, f2 = plus(f0, f, x), plus(f1, f, y), plus(f2, f, z)
        at += width
    top = i * width + c
    add_at(out, top, a0)
    add_at(out, top + LANES, a1)
    add_at(out, top + 2 * LANES, a2)
    add_at(out, top + width, b0)
    add_at(out, top + width + LANES, b1)
    add_at(out, top + width + 2 * LANES, b2)
    add_at(out, top + 2 * width, e0)
    add_at(out, top + 2 * width + LANES, e1)
    add_at(out, top + 2 * width + 2 * LANES, e2)
    add_at(out, top + 3 * width, f0)
    add_at(out, top + 3 * width + LANES, f1)
    add_at(out, top + 3 * width + 2 * LANES, f2)


@borrowing
def add_block(rows, width, n_rows, out):
    """Add the products of all columns of a block of rows, tile by tile."""
    for i in range(0, width, TALL):
        # np.int64, not 0: a literal has a type of its own, for which numba would compile every tile again.
        c, end = np.int64(0), i + TALL
        while c < end:
            if c + 2 * LANES < end:
                add_three(rows, width, n_rows, i, c, out)
                c += 3 * LANES
            elif c + LANES < end:
                add_two(rows, width, n_rows, i, c, out)
                c += 2 * LANES
            else:
                add_one(rows, width, n_rows, i, c, out)
                c += LANES


@kernel
def add_narrow_gram(rows, lower):
    """Add rows^T rows to the lower triangle of `lower`; the upper triangle is undefined.

    Both are C-contiguous, have the same dtype, and their width is a multiple of LANES.
    """
    width, out = rows.shape[1], lower.reshape(-1)
    block = max(32, CACHE_BYTES // (width * rows.itemsize))
    for begin in range(0, rows.shape[0], block):
        part = rows[begin : begin + block].reshape(-1)
        add_block(part, width, min(block, rows.shape[0] - begin), out)


@kernel
def add_csr_products(rows, groups, weights, counts, sums, lowers):
    """Add each row's weight, entries and products of entries to the sums of its group (lower triangles)."""
    for i in range(rows.indptr.size - 1):
        k = groups[i]
        weight = 1.0 if weights.size == 0 else weights[i]
        counts[k] += weight
        total, lower = sums[k], lowers[k]
        begin, end = rows.indptr[i], rows.indptr[i + 1]
        columns, values = rows.indices[begin:end], rows.data[begin:end]
        for a in range(columns.size):
            scaled = weight * values[a]
            total[columns[a]] += scaled
            line = lower[columns[a]]
            for b in range(a + 1):
                line[columns[b]] += scaled * values[b]


@kernel
def column_ranges(rows, groups, weights, lowest, highest):
    """Write the smallest and largest value of every feature in each group, implicit zeros included."""
    lowest[:] = np.inf
    highest[:] = -np.inf
    stored = np.zeros(lowest.shape, np.int64)
    members = np.zeros(lowest.shape[0], np.int64)
    for i in range(rows.indptr.size - 1):
        if weights.size and weights[i] == 0.0:
            continue
        k = groups[i]
        members[k] += 1
        for at in range(rows.indptr[i], rows.indptr[i + 1]):
            j, value = rows.indices[at], rows.data[at]
            stored[k, j] += 1
            lowest[k, j] = min(lowest[k, j], value)
            highest[k, j] = max(highest[k, j], value)
    for k in range(lowest.shape[0]):
        for j in range(lowest.shape[1]):
            if stored[k, j] < members[k]:
                lowest[k, j] = min(lowest[k, j], 0.0)
                highest[k, j] = max(highest[k, j], 0.0)


@kernel
def decay_and_merge(factors, fresh_counts, fresh_means, fresh_scatters, counts, means, scatters, away):
    """Multiply the weight of the statistics of every candidate by its factor, then merge those of fresh rows.

    Axis 0 of `factors` (p, 2), `counts` (p, 2), `means` (p, 2, d) and `scatters`
    (p, 2, d, d) is the candidate, axis 1 the class; axis 0 of the fresh statistics
    is the class. `away` is scratch for d numbers.
    """
    for p in range(counts.shape[0]):
        for k in range(2):
            kept = factors[p, k] * counts[p, k]
            total = kept + fresh_counts[k]
            share = fresh_counts[k] / total if total > 0.0 else 0.0
            mean, fresh_mean = means[p, k], fresh_means[k]
            for j in range(away.size):
                away[j] = fresh_mean[j] - mean[j]
            for i in range(away.size):
                row, added, lift = scatters[p, k, i], fresh_scatters[k, i], kept * share * away[i]
                for j in range(away.size):
                    row[j] = factors[p, k] * row[j] + (added[j] + lift * away[j])
            for j in range(away.size):
                mean[j] += share * away[j]
            counts[p, k] = total


@kernel
def count_wins(scores, labels, weight, wins):
    """Add to `wins` the pairs that each column of scores ranks correctly, ties half; return the weight of all pairs.

    A pair of a positive and a negative row has the product of their weights.
    """
    pairs = 0.0
    for i in range(labels.size):
        if labels[i] == 1:
            high = scores[i]
            for j in range(labels.size):
                if labels[j] == 0:
                    low, both = scores[j], weight[i] * weight[j]
                    pairs += both
                    for p in range(wins.size):
                        wins[p] += both * (0.5 * (high[p] > low[p]) + 0.5 * (high[p] >= low[p]))
    return pairs
