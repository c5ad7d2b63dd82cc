"""The rows of a chunk in the shapes the kernels take."""

from collections.abc import Iterator

import numpy as np

from opauc.kernels.rows.csr_rows import CsrRows
from opauc.rows import Array, DenseRows, Floats, Labels, Rows  # noqa: F401  rooms not yet moved to opauc.rows

NO_WEIGHTS: Floats = np.empty(0)
NO_WEIGHTS.flags.writeable = False


def kernel_rows(rows: Rows) -> DenseRows | CsrRows:
    """Give the arrays of the rows to a kernel, read-only whether or not they were: one compiled form serves both."""
    if isinstance(rows, np.ndarray):
        return read_only(rows)
    return csr_rows(rows.data, rows.indices, rows.indptr)


def csr_rows(data: Array, indices: Array, indptr: Array) -> CsrRows:
    """Return sparse rows as kernels take them.

    Column numbers are unsigned: of a signed one a kernel has to ask each time
    whether it counts from the end, which costs up to a third of the time.
    """
    unsigned = indices.view(f"u{indices.dtype.itemsize}")
    return CsrRows(read_only(data), read_only(unsigned), read_only(indptr))


def read_only(array: Array) -> Array:
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
