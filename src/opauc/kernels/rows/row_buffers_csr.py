"""The sparse twin of `row_buffers`: rows are unpacked only as they enter a buffer."""

import numpy as np

from opauc.kernels.compile_kernel import kernel


@kernel
def fill_buffers_csr(rows, groups, weights, start, shifts, buffers, filled, counts):
    """Copy sparse rows from `start` on into their group's buffer until one is full; return the next row's number."""
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
