"""Sums of products over the entries of sparse rows, touching nothing else."""

import numpy as np

from opauc.kernels.compile_kernel import kernel


@kernel
def add_csr_products(rows, groups, weights, counts, sums, lowers):
    """Add every row's weight, entries and products of entries to the sums of its group (lower triangles)."""
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
    """Write the smallest and largest value of every feature in each group, zeros not stored included."""
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
