"""NumPy's .npy and .npz files as rows, never a whole array at once."""

from __future__ import annotations

import os
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace

import numpy as np

from opauc.errors import InputError
from opauc.reading.array_rows import ArrayRows, DenseRows, SparseRows
from opauc.reading.array_stream import ArrayStream, member_stream
from opauc.reading.bad_rows import BadRows
from opauc.reading.byte_source import STANDARD_INPUT, ByteSource
from opauc.reading.extent import Extent, even_extents
from opauc.reading.file_print import FilePrint
from opauc.reading.labelled_chunk import Part, Place
from opauc.reading.table_columns import TableColumns, listed

SPARSE_ARRAYS = ("data", "indices", "indptr", "shape")
SAMPLES, SAMPLE_BYTES = 64, 4096
BROKEN = (OSError, EOFError, zlib.error, zipfile.BadZipFile, NotImplementedError, RuntimeError)


@dataclass(frozen=True)
class NumpyReader:
    """Rows of an array (n, d) in a .npy file, or of an .npz file with arrays `X` and `y`, or CSR arrays and `y`.

    The label is the array `y`, the array named as the label, or a column of the
    array by its position. CSR arrays are `data`, `indices`, `indptr` and `shape`,
    as `scipy.sparse.save_npz` writes them. Compressed arrays are inflated as they are
    read. Values stay as they are, missing ones as nan. A place's hash is that of
    the file's size and, of an .npz file, its directory with the checksums of its
    arrays, of a .npy file, samples of its bytes.

    Parameters
    ----------
    columns : TableColumns
        The label and the features by their positions, from 0.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from opauc.reading.bad_rows import BadRows
    >>> from opauc.reading.byte_source import ByteSource
    >>> from opauc.reading.labelled_chunk import BEGINNING
    >>> from opauc.reading.numpy_reader import NumpyReader
    >>> with tempfile.NamedTemporaryFile(suffix=".npz") as file:
    ...     np.savez_compressed(file.name, X=np.eye(2), y=[0, 1])
    ...     [part] = NumpyReader().parts(ByteSource(file.name), BEGINNING, BadRows())
    >>> part.rows, part.labels
    (array([[1., 0.],
           [0., 1.]]), array([0, 1]))
    """

    columns: TableColumns = field(default_factory=TableColumns)

    def parts(self, source: ByteSource, place: Place, bad_rows: BadRows) -> Iterator[Part]:  # noqa: ARG002
        """Yield the rows of `source` from `place` on; rows take the part of lines."""
        path = source.path
        if path == STANDARD_INPUT:
            raise InputError("standard input: arrays of NumPy are read from files")
        if self.columns.categorical:
            raise InputError(f"{path}: arrays have no categorical columns; they need a table")
        with _refusals(path), ExitStack() as opened:
            if zipfile.is_zipfile(path):
                archive = opened.enter_context(zipfile.ZipFile(path))
                known, rows = FilePrint.of(path, _directory(archive, path)), self._archive_rows(archive, path, opened)
            else:
                file = opened.enter_context(open(path, "rb"))
                known = FilePrint.of(path, _samples(path))
                rows = self._dense_rows(ArrayStream(file, os.path.getsize(path), path, (path, 0)), None)
            yield from _parts(rows, known, source, place)

    def _archive_rows(self, archive: zipfile.ZipFile, path: str, opened: ExitStack) -> ArrayRows:
        names = [name.removesuffix(".npy") for name in archive.namelist() if name.endswith(".npy")]
        label = self.columns.label if self.columns.label in names else "y"
        labels = None
        if self.columns.labelled and label in names:
            labels = member_stream(archive, str(label), path, opened)
        if "X" in names:
            return self._dense_rows(member_stream(archive, "X", path, opened), labels)
        if not set(SPARSE_ARRAYS) <= set(names):
            wanted = f"an array X or arrays {', '.join(SPARSE_ARRAYS)}"
            raise InputError(f"{path}: expected {wanted}, found {listed(names) or 'none'}")
        if "format" in names and member_stream(archive, "format", path, opened).word() != "csr":
            raise InputError(f"{path}: sparse arrays must be in CSR format")
        if self.columns.features is not None or (self.columns.labelled and labels is None):
            raise InputError(f"{path}: of sparse arrays all columns are features, and the labels are an array y")
        return SparseRows({name: member_stream(archive, name, path, opened) for name in SPARSE_ARRAYS}, labels, path)

    def _dense_rows(self, array: ArrayStream, labels: ArrayStream | None) -> DenseRows:
        if len(array.shape) != 2:
            raise InputError(f"{array.name}: expected an array of rows and columns, its shape is {array.shape}")
        columns = self.columns if labels is None else replace(self.columns, label=None, labelled=False)
        roles = columns.roles_in([str(position) for position in range(array.shape[1])], array.name)
        return DenseRows(array, roles, labels)


def _parts(rows: ArrayRows, known: FilePrint, source: ByteSource, place: Place) -> Iterator[Part]:
    known.check_start(place)
    before, end = place, rows.n_rows
    if source.extent is not None:
        before, end = Place(source.extent.begin, source.extent.begin), min(end, source.extent.end)
    rows.skip(before.offset)
    while before.offset < end:
        count = min(rows.rows_per_part, end - before.offset)
        block, labels = rows.read(count)
        known.check_unchanged()
        after = Place(before.offset + count, before.offset + count, known.sha256)
        source.passed = source.size * after.offset // rows.n_rows
        yield Part(block, labels, None, before, after)
        before = after


def array_extents(path: str, size: int) -> list[Extent]:
    """Cut an array into stretches of rows of about `size` bytes; an archive of arrays cannot be."""
    with _refusals(path):
        if zipfile.is_zipfile(path):
            return []
        with open(path, "rb") as file:
            array = ArrayStream(file, os.path.getsize(path), path, (path, 0))
            return even_extents(array.shape[0] if array.shape else 0, max(1, size // max(1, array.row_bytes)))


def has_sparse_rows(path: str) -> bool:
    """Tell whether a file holds the arrays of a CSR matrix."""
    if not os.path.isfile(path) or not zipfile.is_zipfile(path):
        return False
    with _refusals(path), zipfile.ZipFile(path) as archive:
        return "X.npy" not in archive.namelist()


def _directory(archive: zipfile.ZipFile, path: str) -> bytes:
    with open(path, "rb") as file:
        file.seek(archive.start_dir)
        return file.read()


def _samples(path: str) -> bytes:
    """Return some bytes from all over a file."""
    with open(path, "rb") as file:
        pieces = []
        for start in np.linspace(0, max(os.path.getsize(path) - SAMPLE_BYTES, 0), SAMPLES).astype(int).tolist():
            file.seek(start)
            pieces.append(file.read(SAMPLE_BYTES))
        return b"".join(pieces)


@contextmanager
def _refusals(path: str) -> Iterator[None]:
    """Turn what the system and the zip format say into one line with the name of the source."""
    try:
        yield
    except BROKEN as error:
        reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
        raise InputError(f"{path}: {reason}") from error
