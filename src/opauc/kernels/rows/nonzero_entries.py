"""Dense rows as sparse ones."""

import numpy as np

from opauc.kernels.compile_kernel import kernel


@kernel
def nonzero_entries(rows):
    """Return values, column indices and row ends of the entries of `rows` that are not zero."""
    ends = np.zeros(rows.shape[0] + 1, np.int32)
    for i in range(rows.shape[0]):
        count = 0
        for j in range(rows.shape[1]):
            count += rows[i, j] != 0
        ends[i + 1] = ends[i] + count
    data, indices = np.empty(ends[-1], rows.dtype), np.empty(ends[-1], np.int32)
    at = 0
    for i in range(rows.shape[0]):
        for j in range(rows.shape[1]):
            if rows[i, j] != 0:
                data[at], indices[at] = rows[i, j], j
                at += 1
    return data, indices, ends
