"""Sparse rows as three arrays, and one of them unpacked."""

from typing import NamedTuple

import numpy as np

from opauc.kernels.compile_kernel import kernel


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
