"""Arrays of .npy and .npz files, read a few rows at a time."""

from __future__ import annotations

import io
import math
import os
import zipfile
from collections.abc import Sequence
from contextlib import ExitStack
from tokenize import TokenError
from typing import IO, Any, NamedTuple, TypeAlias

import numpy as np
from numpy.lib import format as npy
from scipy.sparse import csr_array

from opauc.core.batch import MAX_COUNT
from opauc.data.columns import check_integers
from opauc.data.remote import is_url
from opauc.data.schema.policy import DEFAULT_POLICY, SchemaPolicy
from opauc.data.storage import open_file
from opauc.errors import InputError
from opauc.types import Array

# Numbers or text of any type, and that type.
Values: TypeAlias = Array
Kind: TypeAlias = np.dtype[Any]

PIECE_BYTES = 2**22
LOCAL_HEADER = 30  # bytes of the header of a zip entry, before its name


class Header(NamedTuple):
    """Shape, order and type of an array, and the size of its header."""

    shape: tuple[int, ...]
    by_columns: bool
    dtype: Kind
    size: int


class ArrayStream:
    """The rows of an array, read in order.

    Arrays in C order are read from the stream. Arrays in Fortran order are
    memory-mapped, which needs them uncompressed.
    """

    def __init__(self, stream: IO[bytes], size: int, name: str, mapped: tuple[str, int] | None) -> None:
        self.name: str = name
        self._stream, self._next = stream, 0
        header = read_header(stream, name)
        self.shape: tuple[int, ...] = header.shape
        self.dtype: np.dtype[Any] = header.dtype
        self.row_bytes: int = header.dtype.itemsize * math.prod(header.shape[1:])
        expected = header.size + header.dtype.itemsize * math.prod(header.shape)
        if expected != size:
            raise InputError(f"{name}: an array of shape {header.shape} takes {expected} bytes, there are {size}")
        self._plain = isinstance(stream, io.BufferedReader)  # an archive must be decompressed to skip rows
        self._columns: Values | None = None
        if header.by_columns and len(header.shape) > 1:
            if mapped is None:
                raise InputError(f"{name}: stored by columns (Fortran order) and compressed; save it in row order (C)")
            path, offset = mapped
            if is_url(path):
                raise InputError(f"{name}: stored by columns (Fortran order); download it, or save it in row order (C)")
            self._columns = np.memmap(path, header.dtype, "r", offset + header.size, header.shape, order="F")

    def read(self, n_rows: int) -> Values:
        """Return the next rows."""
        first, self._next = self._next, self._next + n_rows
        if self._columns is not None:
            return np.array(self._columns[first : self._next], order="C")
        content = self._stream.read(n_rows * self.row_bytes)
        if len(content) < n_rows * self.row_bytes:
            raise InputError(f"{self.name}: ends in row {first + len(content) // max(self.row_bytes, 1) + 1}")
        return np.frombuffer(content, self.dtype).reshape(n_rows, *self.shape[1:])

    def read_string(self) -> str:
        """Return the string of a scalar array."""
        return str(np.frombuffer(self._stream.read(), self.dtype)[0].astype(str)) if self.shape == () else ""

    def skip(self, n_rows: int) -> None:
        """Skip the next rows."""
        self._next += n_rows
        if self._columns is not None:
            return
        left = n_rows * self.row_bytes
        if self._plain:
            self._stream.seek(left, os.SEEK_CUR)
            left = 0
        while left:
            passed = len(self._stream.read(min(left, PIECE_BYTES)))
            if not passed:
                raise InputError(f"{self.name}: ends before row {self._next}")
            left -= passed


def read_header(stream: IO[bytes], name: str) -> Header:
    """Read the header of an array; raise unless it holds numbers or text."""
    try:
        version = npy.read_magic(stream)
        if version not in ((1, 0), (2, 0)):
            raise ValueError(f"version {version[0]}.{version[1]} of the format is not known")
        read = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
        shape, by_columns, dtype = read(stream)
    except (ValueError, SyntaxError, TokenError) as error:
        raise InputError(f"{name}: not an array of NumPy: {str(error).splitlines()[0]}") from error
    if dtype.kind not in "biufSU":
        raise InputError(f"{name}: holds {dtype}, expected numbers or text")
    return Header(shape, by_columns, dtype, stream.tell())


def member_stream(archive: zipfile.ZipFile, member: str, path: str, opened: ExitStack) -> ArrayStream:
    """Open an array of an .npz file; `opened` closes it."""
    info = archive.getinfo(f"{member}.npy")
    mapped = None
    if info.compress_type == zipfile.ZIP_STORED:
        with open_file(path) as file:
            file.seek(info.header_offset + LOCAL_HEADER - 4)
            lengths = np.frombuffer(file.read(4), "<u2")
        mapped = path, info.header_offset + LOCAL_HEADER + int(lengths.sum())
    return ArrayStream(opened.enter_context(archive.open(info)), info.file_size, f"{path}, array {member}", mapped)


WRONG_ENDS = "row ends (indptr) must start at 0 and grow up to the number of entries"


def canonical_rows(data: Values, indices: Values, ends: Values, n_features: int, source: str) -> csr_array:
    """Return canonical CSR rows of float32 or float64; raise where indices or row ends are out of bounds."""
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


def check_exact(array: Values, columns: Sequence[int], source: str, policy: SchemaPolicy = DEFAULT_POLICY) -> None:
    """Raise where integers of a column become equal in float64.

    >>> import numpy as np
    >>> from opauc.data.arrays import check_exact
    >>> check_exact(np.array([[2**53], [2**53 + 1]]), [0], "a.npy")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    opauc.errors.InputError: a.npy: column 0: integers beyond 2**53 become equal as numbers; ...
    """
    if array.dtype.kind not in "iu" or not array.size or max(-int(array.min()), int(array.max())) <= MAX_COUNT:
        return
    merged = []
    for at in columns:
        integers = np.unique(array[:, at])
        if np.unique(integers.astype(np.float64)).size < (1.0 - policy.max_merged_share) * integers.size:
            merged.append(str(at))
    check_integers(merged, source)


def float_type(kind: Kind, source: str) -> np.dtype[np.floating]:
    """Return float32 where every value of `kind` is exact in it, else float64; raise unless `kind` is numeric."""
    if kind.kind not in "biuf":
        raise InputError(f"{source}: expected numbers, got an array of {kind}")
    return np.result_type(kind, np.float32) if kind.itemsize <= 4 and kind.kind == "f" else _of_integers(kind)


def _of_integers(kind: Kind) -> np.dtype[np.floating]:
    return np.dtype(np.float32) if kind.kind in "biu" and kind.itemsize <= 2 else np.dtype(np.float64)
