"""Rows sorted into one small buffer per group, each less its group's shift."""

import numpy as np

from opauc.kernels.compile_kernel import kernel


@kernel
def fill_buffers(rows, groups, weights, start, shifts, buffers, filled, counts):
    """Copy rows from `start` on into their group's buffer until one is full; return the next row's number.

    A row enters as root * (row - shift), followed by root itself, the square
    root of its weight. `counts` takes the weights; no `weights` means ones.
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
