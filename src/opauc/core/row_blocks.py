"""The rows of a chunk in the shapes the kernels take."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy.sparse import csr_array

from opauc.core.kernels.sparse_rows import CsrRows, nonzero_entries
from opauc.errors import IncompatibleMomentsError
from opauc.types import Array, DenseRows, Floats, Rows

NO_WEIGHTS: Floats = np.empty(0)
NO_WEIGHTS.flags.writeable = False


def widen_rows(rows: Rows, width: int) -> Rows:
    """Return the rows with as many features as a model has: sparse rows may lack some or have more."""
    if rows.shape[1] == width:
        return rows
    if isinstance(rows, np.ndarray):
        raise IncompatibleMomentsError(f"rows have {rows.shape[1]} features, the model has {width}")
    if rows.shape[1] > width:
        return rows[:, :width]
    return csr_array((rows.data, rows.indices, rows.indptr), shape=(rows.shape[0], width))


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


# So many dense entries at a time: their sparse form is larger than they are.
ENTRIES_PER_BLOCK = 2**20


def sparse_blocks(rows: Rows) -> Iterator[tuple[slice, CsrRows]]:
    """Yield sparse rows whole and dense ones in blocks, the zeros left out.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.core.row_blocks import sparse_blocks
    >>> [(part, block)] = sparse_blocks(np.array([[0.0, 2.0], [3.0, 0.0]]))
    >>> block.data.tolist(), block.indices.tolist(), block.indptr.tolist()
    ([2.0, 3.0], [1, 0], [0, 1, 2])
    """
    n_rows = rows.shape[0]
    if not isinstance(rows, np.ndarray):
        yield slice(0, n_rows), csr_rows(rows.data, rows.indices, rows.indptr)
        return
    rows_per_block = max(1, ENTRIES_PER_BLOCK // max(1, rows.shape[1]))
    for start in range(0, n_rows, rows_per_block):
        part = slice(start, min(start + rows_per_block, n_rows))
        block = read_only(np.require(rows[part], requirements=("C", "A")))
        yield part, csr_rows(*nonzero_entries(block))


def row_weights(weight: Floats | None) -> Floats:
    """Return the weights read-only, one compiled form serves all; none where every row has weight one.

    Examples
    --------
    >>> from opauc.core.row_blocks import row_weights
    >>> row_weights(None).size
    0
    """
    return NO_WEIGHTS if weight is None else read_only(np.ascontiguousarray(weight, np.float64))
