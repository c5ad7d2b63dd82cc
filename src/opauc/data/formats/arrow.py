"""Parquet, Arrow IPC (Feather version 2) and Arrow streams; which of them a file is, its first bytes tell."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import accumulate
from typing import IO, TypeAlias

import pyarrow as pa
from pyarrow import ipc, parquet, types

from opauc.core.batch import Part, Place
from opauc.data.bad_rows import BadRows
from opauc.data.byte_ranges import ByteRange, joined_extents
from opauc.data.columns import TableColumns
from opauc.data.encode.encoder import Encoder
from opauc.data.fingerprint import Fingerprint
from opauc.data.formats.format import DataFormat, Reader
from opauc.data.options import ReadOptions
from opauc.data.sources import STANDARD_INPUT, ByteSource
from opauc.errors import InputError

# The larger the batches, the less pyarrow spends on each: half as large ones took a tenth longer.
BATCH_ROWS, BATCH_BYTES = 131_072, 2**25
# Without a buffer a whole column of a row group is held, compressed; so little of it costs no time.
BUFFER_BYTES = 2**16
PARQUET_MAGIC, ARROW_FILE, STREAM, FEATHER_1 = b"PAR1", b"ARROW1", b"\xff\xff\xff\xff", b"FEA1"
HEAD_BYTES = 2**16

# The first row of each batch in its file, and the batch; and what its columns are.
Placed: TypeAlias = Iterator[tuple[int, pa.RecordBatch]]
Batches: TypeAlias = Iterator[tuple[int, pa.RecordBatch, TableColumns]]


@dataclass(frozen=True)
class ArrowReader:
    """Rows of Parquet files, Arrow IPC files (Feather version 2) and Arrow IPC streams, known by their first bytes.

    A part has at most 131,072 rows, fewer where rows are wide, and none crosses the end of a row group or
    record batch. Memory does not grow with a Parquet file, nor with the size of
    its row groups; of an Arrow file one record batch is held at a time. To go on
    from a place, whole row groups are passed over unread. A place's hash is that
    of the file's size and footer, which holds where every column lies, how long it
    is and, in Parquet, its least and greatest values; of a stream, which has no
    footer, that of its size and first 64 KiB.

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
    ...     [part] = reader.parts(ByteSource(file.name), BEGINNING, BadRows())
    >>> part.rows.to_pydict(), part.after.offset
    ({'b': [3, 4], 'y': [0, 1]}, 2)
    """

    columns: TableColumns = field(default_factory=TableColumns)

    def parts(self, source: ByteSource, place: Place, bad_rows: BadRows) -> Iterator[Part]:  # noqa: ARG002
        """Yield the batches of `source` from `place` on; rows take the part of lines."""
        with _refusals(source.name):
            if source.path == STANDARD_INPUT:
                raise InputError("standard input: tables of Arrow and Parquet are read from files")
            kind, known = _kind_and_print(source.path)
            known.check_start(place)
            batches = {PARQUET_MAGIC: self._parquet, ARROW_FILE: self._arrow_file}.get(kind, self._stream)
            start, stop = (place.offset, sys.maxsize) if source.byte_range is None else source.byte_range[:2]
            before = place if source.byte_range is None else Place(start, start)
            for first_row, batch, columns in batches(source, start, stop):
                known.check_unchanged()
                # Batches lie in Arrow files as in memory: a broken one would be followed wherever it points.
                batch.validate(full=True)
                rows = first_row + batch.num_rows
                after = Place(rows, rows, known.sha256)
                yield Part(batch, None, None, before, after, columns)
                before = after
            known.check_unchanged()

    def _parquet(self, source: ByteSource, start: int, stop: int) -> Batches:
        with parquet.ParquetFile(
            source.path, pre_buffer=False, buffer_size=BUFFER_BYTES, page_checksum_verification=True
        ) as file:
            schema = file.schema_arrow  # made anew each time it is asked for
            names = schema.names
            roles, columns = self.columns.found_in(names, source.path)
            wanted = [names[position] for position in roles.used()]
            batch_rows = _rows_at_a_time([schema.field(name).type for name in wanted])
            first = 0
            for group in range(file.num_row_groups):
                beyond = first + file.metadata.row_group(group).num_rows
                source.passed = source.size * beyond // max(file.metadata.num_rows, 1)
                if beyond > start and first < stop:
                    # One thread: two took as long, and nothing else had a core meanwhile.
                    batches = file.iter_batches(batch_rows, [group], wanted, use_threads=False)
                    yield from ((row, batch, columns) for row, batch in _between(batches, first, start, stop))
                first = beyond

    def _arrow_file(self, source: ByteSource, start: int, stop: int) -> Batches:
        with pa.OSFile(source.path, "rb") as file:
            roles, columns = self.columns.found_in(ipc.open_file(file).schema.names, source.path)
            chosen = ipc.IpcReadOptions(included_fields=list(roles.used()), use_threads=False)
            opened = ipc.open_file(file, options=chosen)

            edges = list(accumulate(_batch_sizes(source.path), initial=0))
            numbers = [n for n in range(opened.num_record_batches) if edges[n + 1] > start and edges[n] < stop]

            def batches() -> Iterator[pa.RecordBatch]:
                for number in numbers:
                    source.passed = source.size * (number + 1) // opened.num_record_batches
                    yield opened.get_batch(number)

            first = edges[numbers[0]] if numbers else 0
            yield from ((row, batch, columns) for row, batch in _between(_sliced(batches()), first, start, stop))

    def _stream(self, source: ByteSource, start: int, stop: int) -> Batches:
        with pa.OSFile(source.path, "rb") as file, ipc.open_stream(file) as stream:
            names = stream.schema.names
            roles, columns = self.columns.found_in(names, source.path)
            wanted = [names[position] for position in roles.used()]

            def batches() -> Iterator[pa.RecordBatch]:
                for batch in stream:
                    source.passed = file.tell()
                    yield batch.select(wanted)

            yield from ((row, batch, columns) for row, batch in _between(_sliced(batches()), 0, start, stop))


def table_byte_ranges(path: str, size: int) -> list[ByteRange]:
    """Cut a Parquet file between row groups, an Arrow file between record batches; a stream cannot be."""
    with _refusals(path):
        kind, _ = _kind_and_print(path)
        if kind == PARQUET_MAGIC:
            with parquet.ParquetFile(path) as file:
                groups = [file.metadata.row_group(number) for number in range(file.num_row_groups)]
                return joined_extents([one.num_rows for one in groups], [one.total_byte_size for one in groups], size)
        if kind == ARROW_FILE:
            sizes = _batch_sizes(path)
            row_bytes = os.path.getsize(path) / max(1, sum(sizes))
            return joined_extents(sizes, [row_bytes * rows for rows in sizes], size)
    return []


def _batch_sizes(path: str) -> list[int]:
    """Return how many rows each record batch of an Arrow file has; of its content only one column is looked at."""
    with pa.memory_map(path) as file:
        opened = ipc.open_file(file, options=ipc.IpcReadOptions(included_fields=[0], use_threads=False))
        return [opened.get_batch(number).num_rows for number in range(opened.num_record_batches)]


def _sliced(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        batch_rows = _rows_at_a_time(batch.schema.types)
        for first in range(0, batch.num_rows, batch_rows):
            yield batch.slice(first, batch_rows)


def _rows_at_a_time(kinds: Iterable[pa.DataType]) -> int:
    """Return how many rows of columns of these types make a part; words are taken for eight bytes."""
    row_bytes = sum(kind.bit_width / 8 if types.is_primitive(kind) else 8 for kind in kinds)
    return min(BATCH_ROWS, max(1, int(BATCH_BYTES / max(row_bytes, 1))))


def _between(batches: Iterable[pa.RecordBatch], first: int, start: int, stop: int) -> Placed:
    """Yield what lies at row `start` or later, before `stop`, of batches of which the first begins at row `first`."""
    for batch in batches:
        if first >= stop:  # the rest of a row group would be decoded for nothing
            return
        passed = min(max(start - first, 0), batch.num_rows)
        kept = min(batch.num_rows, stop - first) - passed
        if kept > 0:
            yield first + passed, batch.slice(passed, kept)
        first += batch.num_rows


def _kind_and_print(path: str) -> tuple[bytes, Fingerprint]:
    """Return which of the formats a file has, by its first bytes, and its print."""
    with open(path, "rb") as file:
        begin = file.read(HEAD_BYTES)
        kind = next((kind for kind in (PARQUET_MAGIC, ARROW_FILE, STREAM, FEATHER_1) if begin.startswith(kind)), None)
        if kind is None:
            raise InputError(f"{path}: is neither a Parquet nor an Arrow file")
        if kind == FEATHER_1:
            raise InputError(f"{path}: is a Feather file of version 1, which is no longer read; write it anew")
        return kind, Fingerprint.of(path, begin if kind == STREAM else _footer(file, kind))


def _footer(file: IO[bytes], magic: bytes) -> bytes:
    """Return the last bytes of a file, as many as its footer says it has."""
    tail = 4 + len(magic)
    size = file.seek(0, os.SEEK_END)
    file.seek(max(size - tail, 0))
    length = int.from_bytes(file.read(4), "little", signed=True)
    file.seek(max(size - tail - max(length, 0), 0))
    return file.read()


@contextmanager
def _refusals(name: str) -> Iterator[None]:
    """Turn what pyarrow and the system say into one line with the name of the source."""
    try:
        yield
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or str(error).split("\n", 1)[0] or type(error).__name__
        raise InputError(f"{name}: {reason}") from error


def _reader(_: ReadOptions, encoder: Encoder) -> Reader:

    return ArrowReader(encoder.pinned_columns)


def _byte_ranges(path: str, size: int) -> list[ByteRange]:

    return table_byte_ranges(path, size)


PARQUET = DataFormat("parquet", (".parquet", ".pq"), _reader, byte_ranges=_byte_ranges)
ARROW = DataFormat("arrow", (".arrow", ".feather", ".ipc"), _reader, byte_ranges=_byte_ranges)
