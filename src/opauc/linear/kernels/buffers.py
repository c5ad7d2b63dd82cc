"""Rows sorted into one small buffer per group, each less its group's shift."""

from __future__ import annotations

import numpy as np

from opauc.core.kernels.compile import kernel


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


@kernel
def add_coded_rows(rows, labels, codes, sums):
    """Add x code^T of every sparse row to block k of `sums` (d, 2, width), k its class."""
    for i in range(labels.size):
        k, code = labels[i], codes[i]
        for at in range(rows.indptr[i], rows.indptr[i + 1]):
            x, line = rows.data[at], sums[rows.indices[at], k]
            for c in range(code.size):
                line[c] += x * code[c]
