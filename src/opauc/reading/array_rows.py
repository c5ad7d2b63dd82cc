"""Labelled rows from streams of arrays: dense from one array, sparse from the three of a CSR matrix."""

from __future__ import annotations

from typing import Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from opauc.errors import InputError
from opauc.reading.array_stream import ArrayStream
from opauc.reading.labelled_chunk import RawLabels
from opauc.reading.sparse_rows import WRONG_ENDS, canonical_rows, float_type
from opauc.reading.table_columns import ColumnRoles
from opauc.rows import Rows

PART_BYTES = 2**24
MOST_ROWS = 65_536

Labelled: TypeAlias = tuple[Rows, RawLabels | None]


class ArrayRows(Protocol):
    """Rows that are read in order; `rows_per_part` of them at a time take about as much memory as any others."""

    n_rows: int
    rows_per_part: int

    def skip(self, n_rows: int) -> None:
        """Pass over the next rows."""

    def read(self, n_rows: int) -> Labelled:
        """Return the next rows and their labels."""


class DenseRows:
    """Columns of an array (n, d) as features, one of them or another array as labels."""

    def __init__(self, array: ArrayStream, roles: ColumnRoles, labels: ArrayStream | None) -> None:
        self._array, self._roles, self._labels = array, roles, labels
        self._dtype = float_type(array.dtype, array.name)
        self.n_rows = array.shape[0]
        self.rows_per_part = _rows_per_part(array.row_bytes)
        _check_labels(labels, self.n_rows)

    def skip(self, n_rows: int) -> None:
        """Pass over the next rows."""
        self._array.skip(n_rows)
        if self._labels is not None:
            self._labels.skip(n_rows)

    def read(self, n_rows: int) -> Labelled:
        """Return the next rows and their labels."""
        block = self._array.read(n_rows)
        labels = None if self._labels is None else self._labels.read(n_rows).reshape(-1)
        if self._roles.label is not None:
            labels = block[:, self._roles.label].copy()
        if self._roles.numeric != tuple(range(block.shape[1])):
            block = block[:, self._roles.numeric]
        return np.ascontiguousarray(block, dtype=self._dtype), labels


class SparseRows:
    """The arrays of a CSR matrix, as `scipy.sparse.save_npz` names them, with an array of labels."""

    def __init__(self, arrays: dict[str, ArrayStream], labels: ArrayStream | None, source: str) -> None:
        if arrays["shape"].shape != (2,) or any(len(arrays[name].shape) != 1 for name in ("data", "indices", "indptr")):
            raise InputError(
                f"{source}: the arrays data, indices and indptr must be flat and shape must be two numbers"
            )
        self.n_rows, self._n_features = (int(size) for size in arrays["shape"].read(2))
        self._data, self._indices, self._ends = arrays["data"], arrays["indices"], arrays["indptr"]
        self._labels, self._source, self._end = labels, source, 0
        n_entries = self._data.shape[0]
        if self._ends.shape[0] != self.n_rows + 1 or self._indices.shape[0] != n_entries:
            raise InputError(
                f"{source}: {self.n_rows} rows need as many and one row ends (indptr) and as many column indices as "
                f"values, got {self._ends.shape[0]} row ends, {self._indices.shape[0]} indices and {n_entries} values"
            )
        if any(arrays[name].dtype.kind not in "iu" for name in ("indices", "indptr")):
            raise InputError(f"{source}: the arrays indices and indptr must hold integers")
        entry_bytes = self._data.row_bytes + self._indices.row_bytes
        self.rows_per_part = _rows_per_part(entry_bytes * n_entries // max(self.n_rows, 1))
        _check_labels(labels, self.n_rows)
        if self._next_ends(1).any():
            raise InputError(f"{source}: {WRONG_ENDS}")

    def skip(self, n_rows: int) -> None:
        """Pass over the next rows."""
        if n_rows:
            before = self._end
            self._ends.skip(n_rows - 1)
            self._next_ends(1)
            for array in (self._data, self._indices):
                array.skip(self._end - before)
            if self._labels is not None:
                self._labels.skip(n_rows)

    def read(self, n_rows: int) -> tuple[csr_array, RawLabels | None]:
        """Return the next rows and their labels."""
        before = self._end
        ends = np.concatenate([[before], self._next_ends(n_rows)]) - before
        data, indices = self._data.read(int(ends[-1])), self._indices.read(int(ends[-1]))
        rows = canonical_rows(data, indices, ends, self._n_features, self._source)
        return rows, None if self._labels is None else self._labels.read(n_rows).reshape(-1)

    def _next_ends(self, n_rows: int) -> NDArray[np.int64]:
        """Read row ends, which must not go back nor beyond the entries: what lies between them is read next."""
        ends = self._ends.read(n_rows).astype(np.int64)
        if ends[0] < self._end or (np.diff(ends) < 0).any() or ends[-1] > self._data.shape[0]:
            raise InputError(f"{self._source}: {WRONG_ENDS}")
        self._end = int(ends[-1])
        return ends


def _rows_per_part(row_bytes: int) -> int:
    return min(MOST_ROWS, max(1, PART_BYTES // max(row_bytes, 1)))


def _check_labels(labels: ArrayStream | None, n_rows: int) -> None:
    if labels is not None and labels.shape not in ((n_rows,), (n_rows, 1)):
        raise InputError(f"{labels.name}: expected {n_rows} labels, its shape is {labels.shape}")
    if labels is not None and labels.dtype.kind == "S":
        raise InputError(f"{labels.name}: expected numbers or text, got bytes ({labels.dtype})")
