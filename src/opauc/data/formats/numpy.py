"""NumPy files: dense arrays, and the arrays of a CSR matrix."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from typing import Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from opauc.core.batch import Position, RawBatch, RawLabels
from opauc.data.arrays import WRONG_ENDS, ArrayStream, canonical_rows, check_exact, float_type, member_stream
from opauc.data.bad_rows import BadRows
from opauc.data.byte_ranges import ByteRange, split_evenly
from opauc.data.columns import ColumnRoles, TableColumns, listed
from opauc.data.encode.encoder import ColumnRequest
from opauc.data.formats.format import DataFormat, Reader
from opauc.data.options import ReadOptions
from opauc.data.sources import STANDARD_INPUT, ByteSource, Fingerprint
from opauc.data.storage import file_size, is_file, open_file
from opauc.errors import InputError
from opauc.types import Rows

BATCH_BYTES = 2**24
MAX_ROWS = 65_536

Labeled: TypeAlias = tuple[Rows, RawLabels | None]


class ArrayRows(Protocol):
    """Rows that are read in order; `rows_per_batch` of them take about BATCH_BYTES."""

    n_rows: int
    rows_per_batch: int

    def skip(self, n_rows: int) -> None:
        """Skip the next rows."""

    def read(self, n_rows: int) -> Labeled:
        """Return the next rows and their labels."""


class DenseRows:
    """Columns of an array (n, d) as features, one of them or another array as labels."""

    def __init__(self, array: ArrayStream, roles: ColumnRoles, labels: ArrayStream | None) -> None:
        self._array, self._roles, self._labels = array, roles, labels
        self._dtype = float_type(array.dtype, array.name)
        self.n_rows: int = array.shape[0]
        self.rows_per_batch: int = _rows_per_batch(array.row_bytes)
        _check_labels(labels, self.n_rows)

    def skip(self, n_rows: int) -> None:
        """Skip the next rows."""
        self._array.skip(n_rows)
        if self._labels is not None:
            self._labels.skip(n_rows)

    def read(self, n_rows: int) -> Labeled:
        """Return the next rows and their labels."""
        block = self._array.read(n_rows)
        labels = None if self._labels is None else self._labels.read(n_rows).reshape(-1)
        if self._roles.label is not None:
            labels = block[:, self._roles.label].copy()
        check_exact(block, self._roles.numeric, self._array.name)
        if self._roles.numeric != tuple(range(block.shape[1])):
            block = block[:, self._roles.numeric]
        return np.ascontiguousarray(block, dtype=self._dtype), labels


class SparseRows:
    """The arrays of a CSR matrix, as `scipy.sparse.save_npz` names them, with an array of labels."""

    n_rows: int

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
        self.rows_per_batch: int = _rows_per_batch(entry_bytes * n_entries // max(self.n_rows, 1))
        _check_labels(labels, self.n_rows)
        if self._next_ends(1).any():
            raise InputError(f"{source}: {WRONG_ENDS}")

    def skip(self, n_rows: int) -> None:
        """Skip the next rows."""
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
        """Read row ends, which must not decrease nor exceed the number of entries."""
        ends = self._ends.read(n_rows).astype(np.int64)
        if ends[0] < self._end or (np.diff(ends) < 0).any() or ends[-1] > self._data.shape[0]:
            raise InputError(f"{self._source}: {WRONG_ENDS}")
        self._end = int(ends[-1])
        return ends


def _rows_per_batch(row_bytes: int) -> int:
    return min(MAX_ROWS, max(1, BATCH_BYTES // max(row_bytes, 1)))


def _check_labels(labels: ArrayStream | None, n_rows: int) -> None:
    if labels is not None and labels.shape not in ((n_rows,), (n_rows, 1)):
        raise InputError(f"{labels.name}: expected {n_rows} labels, its shape is {labels.shape}")
    if labels is not None and labels.dtype.kind == "S":
        raise InputError(f"{labels.name}: expected numbers or text, got bytes ({labels.dtype})")


SPARSE_ARRAYS = ("data", "indices", "indptr", "shape")
SAMPLES, SAMPLE_BYTES = 64, 4096
BROKEN = (OSError, EOFError, zlib.error, zipfile.BadZipFile, NotImplementedError, RuntimeError)


@dataclass(frozen=True)
class NumpyReader:
    """Rows of an array (n, d) in a .npy file, or of an .npz file with arrays `X` and `y`, or CSR arrays and `y`.

    The label is the array `y`, the array named as the label, or a column of the
    array by its position. CSR arrays are `data`, `indices`, `indptr` and `shape`,
    as `scipy.sparse.save_npz` writes them. Compressed arrays are decompressed while
    they are read. Values stay unchanged, missing ones nan. The hash of a position
    covers the file's size and, of an .npz file, its directory with the checksums of
    its arrays, of a .npy file, samples of its bytes.

    Parameters
    ----------
    columns : TableColumns
        The label and the features by their positions, from 0.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from opauc.data.bad_rows import BadRows
    >>> from opauc.data.sources import ByteSource
    >>> from opauc.core.batch import BEGINNING
    >>> from opauc.data.formats.numpy import NumpyReader
    >>> with tempfile.NamedTemporaryFile(suffix=".npz") as file:
    ...     np.savez_compressed(file.name, X=np.eye(2), y=[0, 1])
    ...     [batch] = NumpyReader().batches(ByteSource(file.name), BEGINNING, BadRows())
    >>> batch.rows, batch.labels
    (array([[1., 0.],
           [0., 1.]]), array([0, 1]))
    """

    columns: TableColumns = field(default_factory=TableColumns)

    def batches(self, source: ByteSource, position: Position, bad_rows: BadRows) -> Iterator[RawBatch]:  # noqa: ARG002
        """Yield the rows of `source` from `position` on; rows count as lines."""
        path = source.path
        if path == STANDARD_INPUT:
            raise InputError("standard input: arrays of NumPy are read from files")
        if self.columns.categorical:
            raise InputError(f"{path}: arrays have no categorical columns; they need a table")
        with _read_errors(path), ExitStack() as opened:
            file = opened.enter_context(open_file(path))
            if zipfile.is_zipfile(file):
                archive = opened.enter_context(zipfile.ZipFile(file))
                fingerprint = Fingerprint.of(path, _directory(archive, path))
                rows = self._archive_rows(archive, path, opened)
            else:
                file.seek(0)
                fingerprint = Fingerprint.of(path, _sample_bytes(path))
                rows = self._dense_rows(ArrayStream(file, file_size(path), path, (path, 0)), None)
            yield from _batches(rows, fingerprint, source, position)

    def _archive_rows(self, archive: zipfile.ZipFile, path: str, opened: ExitStack) -> ArrayRows:
        names = [name.removesuffix(".npy") for name in archive.namelist() if name.endswith(".npy")]
        label = self.columns.label if self.columns.label in names else "y"
        labels = None
        if self.columns.labeled and label in names:
            labels = member_stream(archive, str(label), path, opened)
        if "X" in names:
            return self._dense_rows(member_stream(archive, "X", path, opened), labels)
        if not set(SPARSE_ARRAYS) <= set(names):
            expected = f"an array X or arrays {', '.join(SPARSE_ARRAYS)}"
            raise InputError(f"{path}: expected {expected}, found {listed(names) or 'none'}")
        if "format" in names and member_stream(archive, "format", path, opened).read_string() != "csr":
            raise InputError(f"{path}: sparse arrays must be in CSR format")
        if self.columns.features is not None or (self.columns.labeled and labels is None):
            raise InputError(f"{path}: of sparse arrays all columns are features, and the labels are an array y")
        return SparseRows({name: member_stream(archive, name, path, opened) for name in SPARSE_ARRAYS}, labels, path)

    def _dense_rows(self, array: ArrayStream, labels: ArrayStream | None) -> DenseRows:
        if len(array.shape) != 2:
            raise InputError(f"{array.name}: expected an array of rows and columns, its shape is {array.shape}")
        columns = self.columns if labels is None else replace(self.columns, label=None, labeled=False)
        roles = columns.roles_in([str(position) for position in range(array.shape[1])], array.name)
        return DenseRows(array, roles, labels)


def _batches(rows: ArrayRows, fingerprint: Fingerprint, source: ByteSource, position: Position) -> Iterator[RawBatch]:
    fingerprint.check_start(position)
    before, end = position, rows.n_rows
    if source.byte_range is not None:
        before, end = Position(source.byte_range.begin, source.byte_range.begin), min(end, source.byte_range.end)
    rows.skip(before.offset)
    while before.offset < end:
        count = min(rows.rows_per_batch, end - before.offset)
        block, labels = rows.read(count)
        fingerprint.check_unchanged()
        after = Position(before.offset + count, before.offset + count, fingerprint.sha256)
        source.passed = source.size * after.offset // rows.n_rows
        yield RawBatch(block, labels, None, before, after)
        before = after


def array_byte_ranges(path: str, size: int) -> list[ByteRange]:
    """Cut an array into ranges of rows of about `size` bytes; an archive of arrays has no ranges."""
    with _read_errors(path), open_file(path) as file:
        if zipfile.is_zipfile(file):
            return []
        file.seek(0)
        array = ArrayStream(file, file_size(path), path, (path, 0))
        return split_evenly(array.shape[0] if array.shape else 0, max(1, size // max(1, array.row_bytes)))


def has_sparse_rows(path: str) -> bool:
    """Tell whether a file holds the arrays of a CSR matrix."""
    if not is_file(path):
        return False
    with _read_errors(path), open_file(path) as file:
        if not zipfile.is_zipfile(file):
            return False
        archive = zipfile.ZipFile(file)
        return "X.npy" not in archive.namelist()


def _directory(archive: zipfile.ZipFile, path: str) -> bytes:
    with open_file(path) as file:
        file.seek(archive.start_dir)
        return file.read()


def _sample_bytes(path: str) -> bytes:
    """Return bytes from evenly spaced offsets of a file."""
    with open_file(path) as file:
        pieces = []
        for start in np.linspace(0, max(file_size(path) - SAMPLE_BYTES, 0), SAMPLES).astype(int).tolist():
            file.seek(start)
            pieces.append(file.read(SAMPLE_BYTES))
        return b"".join(pieces)


@contextmanager
def _read_errors(path: str) -> Iterator[None]:
    """Turn errors of the system and of zipfile into one line with the name of the source."""
    try:
        yield
    except BROKEN as error:
        reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
        raise InputError(f"{path}: {reason}") from error


def _reader(_: ReadOptions, request: ColumnRequest) -> Reader:
    return NumpyReader(request.pinned_columns)


def _byte_ranges(path: str, size: int) -> list[ByteRange]:
    return array_byte_ranges(path, size)


def _is_sparse(path: str) -> bool:
    return has_sparse_rows(path)


NUMPY = DataFormat("numpy", (".npz", ".npy"), _reader, has_names=False, byte_ranges=_byte_ranges, is_sparse=_is_sparse)
