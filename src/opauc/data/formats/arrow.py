"""Parquet files, Arrow IPC files (Feather version 2) and Arrow IPC streams, recognized by their first bytes."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import accumulate, chain
from typing import IO, TypeAlias

import pyarrow as pa
from pyarrow import ipc, parquet

from opauc.core.batch import Position, RawBatch
from opauc.data.arrow_columns import without_views
from opauc.data.bad_rows import BadRows
from opauc.data.byte_ranges import ByteRange, join_ranges
from opauc.data.columns import TableColumns
from opauc.data.encode.encoder import ColumnRequest
from opauc.data.formats.format import DataFormat, Reader
from opauc.data.options import ReadOptions
from opauc.data.remote import is_url, shown_url
from opauc.data.sources import STANDARD_INPUT, ByteSource, Fingerprint
from opauc.data.storage import arrow_file, file_size, open_file
from opauc.data.tables import even_batches, rows_per_batch
from opauc.errors import InputError

# Without a buffer pyarrow reads a whole column of a row group at once; so small a one costs no time.
BUFFER_BYTES = 2**16
# Compressed bytes of the row groups of a URL that are read at once, unless one alone has more.
REMOTE_BYTES = 2**25
PARQUET_MAGIC, ARROW_FILE, STREAM, FEATHER_1 = b"PAR1", b"ARROW1", b"\xff\xff\xff\xff", b"FEA1"
HEAD_BYTES = 2**16

# The first row of each batch in its file, the batch, and its columns.
NumberedBatches: TypeAlias = Iterator[tuple[int, pa.RecordBatch]]
Batches: TypeAlias = Iterator[tuple[int, pa.RecordBatch, TableColumns]]


@dataclass(frozen=True)
class ArrowReader:
    """Rows of Parquet files, Arrow IPC files (Feather version 2) and Arrow IPC streams, known by their first bytes.

    A batch has 131,072 rows, fewer where there are many columns, but for the last of
    a source: row groups and record batches do not matter, so that a table gives the
    same batches however it is stored. Memory does not grow with a Parquet file, nor
    with the size of its row groups; of an Arrow file one record batch is in memory
    at a time. To resume from a position, whole row groups are skipped.
    The hash of a position covers the file's size and footer, with the offset and
    size of every column and, in Parquet, its minimum and maximum; of a stream,
    which has no footer, its size and first 64 KiB.

    Parameters
    ----------
    columns : TableColumns
        The label, the features and which of them are categorical; no other columns are read.

    Examples
    --------
    >>> import tempfile
    >>> import pyarrow as pa
    >>> from pyarrow import parquet
    >>> from opauc.data.formats.arrow import ArrowReader
    >>> from opauc.data.bad_rows import BadRows
    >>> from opauc.data.sources import ByteSource
    >>> from opauc.core.batch import BEGINNING
    >>> from opauc.data.columns import TableColumns
    >>> with tempfile.NamedTemporaryFile() as file:
    ...     parquet.write_table(pa.table({"a": [1, 2], "b": [3, 4], "y": [0, 1]}), file.name)
    ...     reader = ArrowReader(TableColumns(features=["b"]))
    ...     [batch] = reader.batches(ByteSource(file.name), BEGINNING, BadRows())
    >>> batch.rows.to_pydict(), batch.after.offset
    ({'b': [3, 4], 'y': [0, 1]}, 2)
    """

    columns: TableColumns = field(default_factory=TableColumns)

    def batches(self, source: ByteSource, position: Position, bad_rows: BadRows) -> Iterator[RawBatch]:  # noqa: ARG002
        """Yield the batches of `source` from `position` on; rows count as lines."""
        with _read_errors(source.name):
            if source.path == STANDARD_INPUT:
                raise InputError("standard input: tables of Arrow and Parquet are read from files")
            kind, fingerprint = _recognize(source.path)
            fingerprint.check_start(position)
            batches = {PARQUET_MAGIC: self._parquet, ARROW_FILE: self._arrow_file}.get(kind, self._stream)
            start, stop = (position.offset, sys.maxsize) if source.byte_range is None else source.byte_range[:2]
            before = position if source.byte_range is None else Position(start, start)
            parts = batches(source, start, stop)
            if (first := next(parts, None)) is None:
                return
            columns, checked = first[2], (_checked(batch, fingerprint) for _, batch, _ in chain([first], parts))
            for batch in even_batches(checked, rows_per_batch(first[1].num_columns)):
                rows = before.offset + batch.num_rows
                after = Position(rows, rows, fingerprint.sha256)
                yield RawBatch(batch, None, None, before, after, columns, typed=True)
                before = after
            fingerprint.check_unchanged(at_end=True)

    def _parquet(self, source: ByteSource, start: int, stop: int) -> Batches:
        # Of a URL the columns of some row groups are read at once, in few requests, and are in memory compressed.
        remote = is_url(source.path)
        with (
            arrow_file(source.path) as opened,
            parquet.ParquetFile(
                opened, pre_buffer=remote, buffer_size=0 if remote else BUFFER_BYTES, page_checksum_verification=True
            ) as file,
        ):
            names = file.schema_arrow.names
            roles, columns = self.columns.resolve(names, source.name)
            used = [names[position] for position in roles.used()]
            batch_rows = rows_per_batch(len(used))
            n_rows, n_groups = max(file.metadata.num_rows, 1), max(file.num_row_groups, 1)
            # Read together, row groups of about a batch give even batches without a copy; of many small ones pyarrow
            # would hold more than a copy takes.
            most = sys.maxsize if 2 * n_rows >= n_groups * batch_rows else 0
            for groups, first in _runs(file.metadata, start, stop, REMOTE_BYTES if remote else most):
                # Two threads are no faster and would take a core from training.
                batches = file.iter_batches(batch_rows, groups, used, use_threads=False)
                for row, batch in _between(batches, first, start, stop):
                    source.passed = source.size * (row + batch.num_rows) // n_rows
                    yield row, batch, columns

    def _arrow_file(self, source: ByteSource, start: int, stop: int) -> Batches:
        with arrow_file(source.path) as file:
            roles, columns = self.columns.resolve(ipc.open_file(file).schema.names, source.name)
            chosen = ipc.IpcReadOptions(included_fields=list(roles.used()), use_threads=False)
            opened = ipc.open_file(file, options=chosen)

            edges = list(accumulate(_batch_sizes(source.path), initial=0))
            numbers = [n for n in range(opened.num_record_batches) if edges[n + 1] > start and edges[n] < stop]

            def batches() -> Iterator[pa.RecordBatch]:
                for number in numbers:
                    source.passed = source.size * (number + 1) // opened.num_record_batches
                    yield opened.get_batch(number)

            first = edges[numbers[0]] if numbers else 0
            yield from ((row, batch, columns) for row, batch in _between(batches(), first, start, stop))

    def _stream(self, source: ByteSource, start: int, stop: int) -> Batches:
        with arrow_file(source.path) as file, ipc.open_stream(file) as stream:
            names = stream.schema.names
            roles, columns = self.columns.resolve(names, source.name)
            used = [names[position] for position in roles.used()]

            def batches() -> Iterator[pa.RecordBatch]:
                for batch in stream:
                    source.passed = file.tell()
                    yield batch.select(used)

            yield from ((row, batch, columns) for row, batch in _between(batches(), 0, start, stop))


def _runs(metadata: parquet.FileMetaData, start: int, stop: int, most: int) -> Iterator[tuple[list[int], int]]:
    """Yield row groups with rows from `start` to before `stop` that are read at once, and the first row of each run.

    Those of a run have so many compressed bytes at most, or it is one.
    """
    run, n_bytes, first, beyond = list[int](), 0, 0, 0
    for number in range(metadata.num_row_groups):
        group = metadata.row_group(number)
        here, beyond = beyond, beyond + group.num_rows
        if beyond <= start or here >= stop:
            continue
        size = sum(group.column(at).total_compressed_size for at in range(group.num_columns))
        if run and n_bytes + size > most:
            yield run, first
            run, n_bytes = [], 0
        run, n_bytes, first = [*run, number], n_bytes + size, first if run else here
    if run:
        yield run, first


def table_byte_ranges(path: str, size: int) -> list[ByteRange]:
    """Cut a Parquet file between row groups, an Arrow file between record batches; a stream has no ranges."""
    with _read_errors(shown_url(path)):
        kind, _ = _recognize(path)
        if kind == PARQUET_MAGIC:
            with arrow_file(path) as opened, parquet.ParquetFile(opened) as file:
                groups = [file.metadata.row_group(number) for number in range(file.num_row_groups)]
                return join_ranges([one.num_rows for one in groups], [one.total_byte_size for one in groups], size)
        if kind == ARROW_FILE:
            sizes = _batch_sizes(path)
            row_bytes = file_size(path) / max(1, sum(sizes))
            return join_ranges(sizes, [row_bytes * rows for rows in sizes], size)
    return []


def _batch_sizes(path: str) -> list[int]:
    """Return how many rows each record batch of an Arrow file has; only one column is read."""
    with arrow_file(path) if is_url(path) else pa.memory_map(path) as file:
        opened = ipc.open_file(file, options=ipc.IpcReadOptions(included_fields=[0], use_threads=False))
        return [opened.get_batch(number).num_rows for number in range(opened.num_record_batches)]


def _checked(batch: pa.RecordBatch, fingerprint: Fingerprint) -> pa.RecordBatch:
    """Return a batch of a file that did not change, with types that every function takes."""
    fingerprint.check_unchanged()
    # Arrow files are memory images: without the check a broken batch could point anywhere.
    batch.validate(full=True)
    return without_views(batch)


def _between(batches: Iterable[pa.RecordBatch], first: int, start: int, stop: int) -> NumberedBatches:
    """Yield the rows from `start` to before `stop` of batches of which the first begins at row `first`."""
    for batch in batches:
        if first >= stop:  # so that the rest of a row group is not decoded
            return
        skipped = min(max(start - first, 0), batch.num_rows)
        n_rows = min(batch.num_rows, stop - first) - skipped
        if n_rows > 0:
            yield first + skipped, batch.slice(skipped, n_rows)
        first += batch.num_rows


def _recognize(path: str) -> tuple[bytes, Fingerprint]:
    """Return the format of a file, by its first bytes, and its fingerprint."""
    with open_file(path) as file:
        begin = file.read(HEAD_BYTES)
        kind = next((kind for kind in (PARQUET_MAGIC, ARROW_FILE, STREAM, FEATHER_1) if begin.startswith(kind)), None)
        if kind is None:
            raise InputError(f"{shown_url(path)}: is neither a Parquet nor an Arrow file")
        if kind == FEATHER_1:
            raise InputError(
                f"{shown_url(path)}: is a Feather file of version 1, which is no longer read; write it again"
            )
        return kind, Fingerprint.of(path, begin if kind == STREAM else _footer(file, kind))


def _footer(file: IO[bytes], magic: bytes) -> bytes:
    """Return the footer of a file, whose length is in its last bytes."""
    tail = 4 + len(magic)
    size = file.seek(0, os.SEEK_END)
    file.seek(max(size - tail, 0))
    length = int.from_bytes(file.read(4), "little", signed=True)
    file.seek(max(size - tail - max(length, 0), 0))
    return file.read()


@contextmanager
def _read_errors(name: str) -> Iterator[None]:
    """Turn errors of pyarrow and the system into one line with the name of the source."""
    try:
        yield
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or str(error).split("\n", 1)[0] or type(error).__name__
        raise InputError(f"{name}: {reason}") from error


def _reader(_: ReadOptions, request: ColumnRequest) -> Reader:
    return ArrowReader(request.pinned_columns)


def _byte_ranges(path: str, size: int) -> list[ByteRange]:
    return table_byte_ranges(path, size)


PARQUET = DataFormat("parquet", (".parquet", ".pq"), _reader, byte_ranges=_byte_ranges)
ARROW = DataFormat("arrow", (".arrow", ".feather", ".ipc"), _reader, byte_ranges=_byte_ranges)
