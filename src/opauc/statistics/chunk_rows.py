"""The rows of a chunk in the shapes the kernels take."""

from collections.abc import Iterator
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from opauc.kernels.rows.csr_rows import CsrRows

# An array (n, d) of float32 or float64, or a canonical scipy CSR array of them.
Rows: TypeAlias = Any
# Zero for the negative class, one for the positive.
Labels: TypeAlias = NDArray[np.int8]

NO_WEIGHTS: NDArray[np.float64] = np.empty(0)
NO_WEIGHTS.flags.writeable = False


def kernel_rows(rows: Rows) -> NDArray[np.floating] | CsrRows:
    """Give the arrays of the rows to a kernel, read-only whether or not they were: one compiled form serves both."""
    if isinstance(rows, np.ndarray):
        return read_only(rows)
    return csr_rows(rows.data, rows.indices, rows.indptr)


def csr_rows(data: NDArray[Any], indices: NDArray[Any], indptr: NDArray[Any]) -> CsrRows:
    """Return sparse rows as kernels take them.

    Column numbers are unsigned: of a signed one a kernel has to ask each time
    whether it counts from the end, which costs up to a third of the time.
    """
    unsigned = indices.view(f"u{indices.dtype.itemsize}")
    return CsrRows(read_only(data), read_only(unsigned), read_only(indptr))


def read_only(array: NDArray[Any]) -> NDArray[Any]:
    """Return a view that cannot be written to."""
    view = array.view()
    view.flags.writeable = False
    return view


def contiguous_blocks(rows: Rows, rows_per_block: int = 4096) -> Iterator[tuple[slice, Rows]]:
    """Yield the chunk whole where its rows lie one after the other, else copies of a few thousand rows."""
    n_rows = rows.shape[0]
    if not isinstance(rows, np.ndarray) or (rows.flags.c_contiguous and rows.flags.aligned):
        yield slice(0, n_rows), rows
        return
    for start in range(0, n_rows, rows_per_block):
        part = slice(start, min(start + rows_per_block, n_rows))
        yield part, np.array(rows[part], order="C")
