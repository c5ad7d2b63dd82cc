"""File formats: each module of `formats/` declares the name, the file endings and the reader of one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Protocol

from opauc.core.batch import Position, RawBatch
from opauc.data.bad_rows import BadRows
from opauc.data.byte_ranges import ByteRange
from opauc.data.columns import TableColumns
from opauc.data.encode.encoder import ColumnRequest
from opauc.data.options import ReadOptions
from opauc.data.sources import ByteSource


class Reader(Protocol):
    """Reads the rows of one source, a batch at a time."""

    def batches(self, source: ByteSource, position: Position, bad_rows: BadRows) -> Iterator[RawBatch]:
        """Yield the rows of `source` from `position` on."""


def never(_line: bytes) -> int:
    """Return 0: no line of text is of this format."""
    return 0


def whole(_path: str, _size: int) -> list[ByteRange]:
    """Return no ranges: a source of this format can only be read as a whole."""
    return []


def dense(_path: str) -> bool:
    """Return False: rows of this format are not sparse."""
    return False


def unquoted(_path: str, _options: ReadOptions) -> None:
    """Return None: quotes mean nothing in this format."""


def headerless(_path: str, _options: ReadOptions, _columns: TableColumns) -> bool:
    """Tell that a file of this format has no header."""
    return False


@dataclass(frozen=True)
class DataFormat:
    """How a format is recognized, and how it is read.

    Parameters
    ----------
    name : str
        The name by which users choose it.
    endings : tuple of str
        Of the names of its files; a compressed text has one more.
    reader : callable
        Makes a reader from the options of a run and the columns that its encoder
        requests. Slow imports belong into it.
    is_text : bool
        Whether positions in it count bytes, and it may be compressed or come through a pipe.
    has_names : bool
        Whether its columns have names.
    is_encoded : bool
        Whether its reader returns finite features, which need no encoding.
    likeness : callable
        How much the first line of a text without a known ending looks like this format; the largest wins.
    byte_ranges : callable
        Cuts a file, by its path, into ranges of about so many bytes that can be read independently; or returns none.
    delimiter : callable
        Returns the byte between the fields of a text in which an end of line within quotes ends no record, by its
        path; None where quotes mean nothing.
    has_header : callable
        Tells whether the first record of a text, by its path, names the columns, given those asked for.
    is_sparse : callable
        Tells whether a file, by its path, has sparse rows.
    """

    name: str
    endings: tuple[str, ...]
    reader: Callable[[ReadOptions, ColumnRequest], Reader]
    is_text: bool = False
    has_names: bool = True
    is_encoded: bool = False
    likeness: Callable[[bytes], int] = never
    byte_ranges: Callable[[str, int], list[ByteRange]] = whole
    delimiter: Callable[[str, ReadOptions], int | None] = unquoted
    has_header: Callable[[str, ReadOptions, TableColumns], bool] = headerless
    is_sparse: Callable[[str], bool] = dense
