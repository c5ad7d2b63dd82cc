"""Rows of a batch in the forms that kernels take, and checks that come before a kernel."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy import sparse

from opauc.core.kernels.sparse_rows import CsrRows, nonzero_entries, sum_of_squares
from opauc.errors import IncompatibleMomentsError, StatisticsOverflowError
from opauc.types import Array, DenseRows, Floats, Labels, Rows  # noqa: F401  imported from here elsewhere

# Row weights of a batch in which every row has weight one.
NO_WEIGHTS: Floats = np.empty(0)
NO_WEIGHTS.flags.writeable = False
# Rows whose squares sum to at most this cannot make sums of squares overflow, however many rows there are.
MAX_SUM_OF_SQUARES = 1e200
# Dense entries per block of `sparse_blocks`: the sparse copy is larger than the block itself.
ENTRIES_PER_BLOCK = 2**20


def kernel_rows(rows: Rows) -> DenseRows | CsrRows:
    """Return the arrays of the rows, read-only: kernels are then compiled once for writable and read-only rows."""
    if isinstance(rows, np.ndarray):
        return read_only(rows)
    return csr_rows(rows.data, rows.indices, rows.indptr)


def csr_rows(data: Array, indices: Array, indptr: Array) -> CsrRows:
    """Return sparse rows for a kernel.

    Column indices become unsigned. For a signed index, a kernel has to check at
    each access whether it counts from the end, which costs up to a third of the
    time.
    """
    unsigned = indices.view(f"u{indices.dtype.itemsize}")
    return CsrRows(read_only(data), read_only(unsigned), read_only(indptr))


def read_only(array: Array) -> Array:
    """Return a view that cannot be written to."""
    view = array.view()
    view.flags.writeable = False
    return view


def widen_rows(rows: Rows, n_features: int) -> Rows:
    """Return the rows with exactly `n_features` features.

    Sparse rows gain empty columns, or lose those beyond `n_features`, which the
    model has no weights for. Dense rows must have the right width already.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy import sparse
    >>> from opauc.core.row_blocks import widen_rows
    >>> widen_rows(sparse.csr_array(np.eye(2)), 3).toarray().tolist()
    [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]
    """
    if rows.shape[1] == n_features:
        return rows
    if isinstance(rows, np.ndarray):
        raise IncompatibleMomentsError(f"rows have {rows.shape[1]} features, the model has {n_features}")
    if rows.shape[1] > n_features:
        return rows[:, :n_features]
    return sparse.csr_array((rows.data, rows.indices, rows.indptr), shape=(rows.shape[0], n_features))


def contiguous_blocks(rows: Rows, rows_per_block: int = 4096) -> Iterator[tuple[slice, Rows]]:
    """Yield all rows at once if they are sparse or C-contiguous, else contiguous copies of `rows_per_block` rows."""
    n_rows = rows.shape[0]
    if not isinstance(rows, np.ndarray) or (rows.flags.c_contiguous and rows.flags.aligned):
        yield slice(0, n_rows), rows
        return
    for start in range(0, n_rows, rows_per_block):
        part = slice(start, min(start + rows_per_block, n_rows))
        yield part, np.array(rows[part], order="C")


def sparse_blocks(rows: Rows) -> Iterator[tuple[slice, CsrRows]]:
    """Yield sparse rows at once, and dense rows in blocks converted to CSR without their zeros.

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
    """Return the row weights read-only, for a kernel; an empty array where every row has weight one.

    Examples
    --------
    >>> from opauc.core.row_blocks import row_weights
    >>> row_weights(None).size
    0
    """
    return NO_WEIGHTS if weight is None else read_only(np.ascontiguousarray(weight, np.float64))


def sum_row_squares(rows: Rows) -> float:
    """Return the sum of the squares of all values; raise where it is so large that products with it may overflow."""
    values = rows.ravel(order="K") if isinstance(rows, np.ndarray) else rows.data
    with np.errstate(over="ignore"):
        squares = float(sum_of_squares(read_only(values)))
    check_sum_of_squares(squares)
    return squares


def check_sum_of_squares(squares: float) -> None:
    """Raise where a sum of squares is too large or NaN."""
    if not squares <= MAX_SUM_OF_SQUARES:
        raise StatisticsOverflowError("the squares of the rows overflow float64; scale the features down")
