"""Kernels on sparse rows in CSR form."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from opauc.core.kernels.compile import kernel


class CsrRows(NamedTuple):
    """Canonical CSR: unsigned indices increase strictly within a row and every array is C-contiguous."""

    data: np.ndarray
    indices: np.ndarray
    indptr: np.ndarray


@kernel
def unpack_row(rows, i, out):
    """Write sparse row `i` into `out`, which is all zero where the row has no entry."""
    for at in range(rows.indptr[i], rows.indptr[i + 1]):
        out[rows.indices[at]] = rows.data[at]


@kernel
def clear_row(rows, i, out):
    """Set `out` back to zero where sparse row `i` has entries."""
    for at in range(rows.indptr[i], rows.indptr[i + 1]):
        out[rows.indices[at]] = 0.0


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


@kernel
def sum_of_squares(values):
    """Return the sum of the squares, in float64."""
    total = 0.0
    for at in range(values.size):
        x = np.float64(values[at])
        total += x * x
    return total
