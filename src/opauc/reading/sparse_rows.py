"""Sparse rows from elsewhere: put in order, and within their bounds."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array

from opauc.errors import InputError
from opauc.reading.array_stream import Kind, Values

WRONG_ENDS = "row ends (indptr) must start at 0 and grow up to the number of entries"


def canonical_rows(data: Values, indices: Values, ends: Values, n_features: int, source: str) -> csr_array:
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


def float_type(kind: Kind, source: str) -> np.dtype[np.floating]:
    """Return float32 where it holds every value of `kind`, else float64; refuse what is no number."""
    if kind.kind not in "biuf":
        raise InputError(f"{source}: expected numbers, got an array of {kind}")
    return np.result_type(kind, np.float32) if kind.itemsize <= 4 and kind.kind == "f" else _of_integers(kind)


def _of_integers(kind: Kind) -> np.dtype[np.floating]:
    return np.dtype(np.float32) if kind.kind in "biu" and kind.itemsize <= 2 else np.dtype(np.float64)
