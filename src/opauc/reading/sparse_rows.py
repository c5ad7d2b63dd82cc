"""Sparse rows from elsewhere: put in order, and checked."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from opauc.errors import InputError
from opauc.reading.bad_rows import BadRows
from opauc.reading.row_faults import Mask, RowFaults

WRONG_ENDS = "row ends (indptr) must start at 0 and grow up to the number of entries"


def canonical_rows(
    data: NDArray[Any], indices: NDArray[Any], ends: NDArray[Any], n_features: int, source: str
) -> csr_array:
    """Return rows sorted and without duplicates, of float32 or float64; refuse indices and row ends out of bounds."""
    if ends[0] != 0 or ends[-1] != len(indices) or len(indices) != len(data) or (np.diff(ends) < 0).any():
        raise InputError(f"{source}: {WRONG_ENDS}")
    if len(indices) and not (indices.min() >= 0 and indices.max() < n_features):
        raise InputError(
            f"{source}: column indices must lie between 0 and {n_features - 1}, got {indices.min()} to {indices.max()}"
        )
    values = np.asarray(data, dtype=float_type(data.dtype, source))
    rows = csr_array((values, indices.astype(np.int32), ends.astype(np.int32)), shape=(len(ends) - 1, n_features))
    if not rows.has_canonical_format:
        rows = rows.copy()
        rows.sum_duplicates()
    return rows


def float_type(kind: np.dtype[Any], source: str) -> np.dtype[np.floating]:
    """Return float32 where it holds every value of `kind`, else float64; refuse what is no number."""
    if kind.kind not in "biuf":
        raise InputError(f"{source}: expected numbers, got an array of {kind}")
    return np.result_type(kind, np.float32) if kind.itemsize <= 4 and kind.kind == "f" else _of_integers(kind)


def _of_integers(kind: np.dtype[Any]) -> np.dtype[np.floating]:
    return np.dtype(np.float32) if kind.kind in "biu" and kind.itemsize <= 2 else np.dtype(np.float64)


def checked_sparse(
    rows: csr_array, missing: str, faults: RowFaults, bad_rows: BadRows
) -> tuple[csr_array, Mask | None]:
    """Return the rows whose entries are finite, and which they are; missing entries become zero if that is asked."""
    finite = np.isfinite(rows.data)
    holes = np.isnan(rows.data)
    if missing == "mean" and holes.any():
        raise InputError("missing entries of sparse rows can be taken as zero, not as the mean (--missing)")
    for entry in np.flatnonzero(~finite if missing == "error" else ~finite & ~holes).tolist():
        row = int(np.searchsorted(rows.indptr, entry, side="right")) - 1
        faults.add_cell(row, float(rows.data[entry]), str(rows.indices[entry]))
    kept = faults.kept(rows.shape[0], bad_rows)
    if kept is None and finite.all():
        return rows, None
    filled = csr_array((np.where(holes, 0, rows.data), rows.indices, rows.indptr), shape=rows.shape)
    if kept is not None:
        filled = filled[kept]
    filled.eliminate_zeros()
    return filled, kept
