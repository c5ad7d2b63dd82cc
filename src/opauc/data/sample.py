"""Sample rows by number from anything that knows how many rows it has: `sample_row_numbers`, and the rows of files."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import IO, TYPE_CHECKING, Any, NamedTuple, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from opauc.core.batch import BEGINNING, RawBatch
from opauc.data.bad_rows import BadRows
from opauc.data.columns import TableColumns
from opauc.data.encode.encoder import EncodedRows, Hashing
from opauc.data.encode.number_reading import OrdinalReading
from opauc.data.encode.ordinal import OrdinalEncoder
from opauc.data.find_sources import can_read_again, find_sources, format_of, name_of
from opauc.data.formats.csv.records import CsvRecords, whole_records
from opauc.data.formats.format import DataFormat
from opauc.data.options import ReadOptions
from opauc.data.sources import ByteSource, compression_of
from opauc.data.storage import file_size, open_file
from opauc.data.table_source import ResolvedSource, Source, TableSource
from opauc.types import Rows

if TYPE_CHECKING:
    from pyarrow import RecordBatch

RowNumbers: TypeAlias = NDArray[np.int64]
NEWLINE, RETURN = 10, 13


def sample_row_numbers(n_rows: int, size: int, seed: int) -> RowNumbers:
    """Return the sorted numbers of `size` of `n_rows` rows, uniform without replacement; all if there are fewer.

    They depend on the three arguments alone: a table gives the same sample as a
    frame, as files of any format and as partitions on a cluster.

    Examples
    --------
    >>> from opauc.data.sample import sample_row_numbers
    >>> sample_row_numbers(3, 5, seed=0).tolist(), sample_row_numbers(1000, 4, seed=0).tolist()
    ([0, 1, 2], [269, 510, 635, 848])
    """
    if n_rows <= size:
        return np.arange(n_rows)
    return np.sort(np.random.default_rng(seed).choice(n_rows, size, replace=False, shuffle=False))


class SampledText(ByteSource):
    """Some records of a text file, under the name of the file.

    Examples
    --------
    >>> from opauc.data.sample import SampledText
    >>> [block.data.tobytes() for block in SampledText("a.csv", b"age,label\\n30,no\\n").blocks()]
    [b'age,label\\n30,no\\n']
    """

    def __init__(self, path: str, text: bytes) -> None:
        super().__init__(path)
        self._text = text

    @contextmanager
    def _opened(self) -> Iterator[tuple[io.BufferedReader, IO[bytes]]]:
        with io.BytesIO(self._text) as stream:
            yield io.BufferedReader(stream), stream


def count_records(source: ByteSource, delimiter: str | None) -> int:
    """Return how many records a text has, its header among them; empty lines are none.

    `delimiter` is None where quotes mean nothing.

    Examples
    --------
    >>> from opauc.data.sample import SampledText, count_records
    >>> count_records(SampledText("a.csv", b'n,text\\n\\n1,"two\\nlines"\\n'), ",")
    2
    """
    return sum(begins.size for _, begins, _ in _record_blocks(source, delimiter))


def read_records(source: ByteSource, delimiter: str | None, numbers: RowNumbers) -> bytes:
    """Return the records of these sorted numbers, each with its end of line and empty lines after it.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.data.sample import SampledText, read_records
    >>> read_records(SampledText("a.csv", b'n,text\\n1,"two\\nlines"\\n2,a\\n'), ",", np.array([0, 2]))
    b'n,text\\n2,a\\n'
    """
    pieces, first, done = list[bytes](), 0, 0
    for text, begins, ends in _record_blocks(source, delimiter):
        if done == numbers.size:
            break
        beyond = int(np.searchsorted(numbers, first + begins.size))
        here = numbers[done:beyond] - first
        pieces += [text[a:b] for a, b in zip(begins[here].tolist(), ends[here].tolist(), strict=True)]
        first, done = first + begins.size, beyond
    return b"".join(piece if piece.endswith(b"\n") else piece + b"\n" for piece in pieces)


class RecordBlock(NamedTuple):
    """A text that ends where a record ends, the first byte of each of its records, and the byte after its end."""

    text: bytes
    begins: RowNumbers
    ends: RowNumbers


def _record_blocks(source: ByteSource, delimiter: str | None) -> Iterator[RecordBlock]:
    """Yield the text of a source with its records."""
    if delimiter is None:
        for block in source.blocks():
            text = block.data.tobytes()
            yield RecordBlock(text, *_line_edges(text))
        return
    for csv_block in whole_records(source, delimiter):
        text, records = csv_block.text, csv_block.records
        if records is None and b"\r" in text and text.count(b"\r") != text.count(b"\r\n"):
            records = CsvRecords.of(text, delimiter)
        edges = _line_edges(text) if records is None else (records.edges[:-1], records.edges[1:])
        yield RecordBlock(text, *edges)


def _line_edges(text: bytes) -> tuple[RowNumbers, RowNumbers]:
    """Return the first byte of each line that is not empty, and the byte after its end."""
    data = np.frombuffer(text, np.uint8)
    ends = np.flatnonzero(data == NEWLINE) + 1
    if data.size and (not ends.size or ends[-1] < data.size):
        ends = np.append(ends, data.size)
    begins = np.concatenate([ends[:0], [0], ends[:-1]])[: ends.size].astype(np.int64)
    first = data[begins]
    filled = (first != NEWLINE) & ~((first == RETURN) & (ends - begins == 2))
    return begins[filled], ends[filled]


class SampledBatch(NamedTuple):
    """Some rows of one source, as its reader gives them."""

    batch: RawBatch
    source: str


@dataclass(frozen=True)
class PinnedColumns:
    """The columns to read, for a reader whose encoder comes later."""

    pinned_columns: TableColumns
    hashing: Hashing | None = None


@dataclass(frozen=True)
class RowFiles:
    """Files and tables whose rows can be read by number, from 0 over all of them; the header of a text is not a row.

    Text is read once to count its records and once more to read some of them.

    Examples
    --------
    >>> import tempfile
    >>> from opauc.data.sample import RowFiles, sample_row_numbers
    >>> from opauc.data.options import ReadOptions
    >>> from opauc.data.columns import TableColumns
    >>> from opauc.data.encode.number_reading import OrdinalReading
    >>> with tempfile.NamedTemporaryFile(suffix=".csv") as file:
    ...     _ = file.write(b"age,label\\n" + b"30,no\\n" * 1000), file.flush()
    ...     files = RowFiles.of([file.name], OrdinalReading(ReadOptions()))
    ...     [part] = files.read_rows(TableColumns(), sample_row_numbers(1000, 96, seed=0))
    >>> files.n_rows, part.batch.rows.num_rows
    (1000, 96)
    """

    sources: tuple[ResolvedSource, ...]
    options: ReadOptions
    counts: tuple[int, ...]  # rows of each source
    headers: tuple[bool, ...]  # whether the first record of each file is a header
    compressed: bool = False  # whether some are text that can only be read in order

    @classmethod
    def of(cls, paths: Sequence[Source], reading: OrdinalReading) -> RowFiles | None:
        """Return the files and tables with their numbers of rows; None where one of them can be read once only."""
        sources, options, columns = find_sources(paths), reading.options, reading.requested_columns()
        if not sources or not all(map(can_read_again, sources)):
            return None
        counts, headers, compressed = list[int](), list[bool](), False
        for path in sources:
            if isinstance(path, TableSource):
                counts.append(path.count())
                headers.append(False)
                continue
            data_format = format_of(path, options.format)
            header = data_format.has_header(path, options, columns)
            headers.append(header)
            if data_format.is_text:
                counts.append(max(0, count_records(ByteSource(path), _delimiter(path, data_format, options)) - header))
                compressed = compressed or _is_compressed(path)
            else:
                counts.append(_count_rows(path, data_format, options, columns))
        return cls(tuple(sources), options, tuple(counts), tuple(headers), compressed)

    @property
    def n_rows(self) -> int:
        """Rows of all files, those that cannot be read among them."""
        return sum(self.counts)

    def read_rows(self, columns: TableColumns, numbers: RowNumbers) -> Iterator[SampledBatch]:
        """Yield the rows of these sorted numbers; rows that cannot be read are left out.

        Columns are found in the first file and looked for in the others by their names.
        """
        first = 0
        for source, count, header in zip(self.sources, self.counts, self.headers, strict=True):
            here = numbers[slice(*np.searchsorted(numbers, [first, first + count]))] - first
            first += count
            if not here.size:
                continue
            for part in self._batches(source, header, here, columns):
                if part.columns is not None:
                    columns = part.columns
                yield SampledBatch(part, name_of(source))

    def count_columns(self, columns: TableColumns) -> int:
        """Return the number of columns of the first row, without the label."""
        if self.sources and isinstance(self.sources[0], TableSource):
            table = self.sources[0]
            return max(1, len(columns.roles_in(table.schema.names, table.name).used()) - 1)
        first = next(self.read_rows(columns, np.arange(1)), None)
        return 1 if first is None else max(1, first.batch.rows.shape[1] - 1)

    def _batches(
        self, source: ResolvedSource, header: bool, numbers: RowNumbers, columns: TableColumns
    ) -> Iterator[RawBatch]:
        data_format, skipped = format_of(source, self.options.format), BadRows("skip")
        options = replace(self.options, header=header) if data_format.is_text else self.options
        reader: Any = data_format.reader(options, PinnedColumns(columns))
        if not data_format.is_text:
            content = source if isinstance(source, TableSource) else ByteSource(source)
            yield from _take_numbers(reader.batches(content, BEGINNING, skipped), numbers)
            return
        assert isinstance(source, str), "tables are no text"
        path = source
        records = np.concatenate([[0], numbers + 1]) if header else numbers
        text = read_records(ByteSource(path), _delimiter(path, data_format, self.options), records)
        yield from reader.batches(SampledText(path, text), BEGINNING, skipped)


def _take_numbers(parts: Iterator[RawBatch], numbers: RowNumbers) -> Iterator[RawBatch]:
    """Yield the rows of these sorted numbers, which count from the first part on."""
    first = 0
    for part in parts:
        if first > numbers[-1]:
            return
        here = numbers[slice(*np.searchsorted(numbers, [first, part.after.offset]))] - first
        first = part.after.offset
        if here.size:
            labels = None if part.labels is None else part.labels[here]
            yield part._replace(rows=_take_rows(part, here), labels=labels)


def _take_rows(part: RawBatch, rows: RowNumbers) -> Rows | RecordBatch:
    if part.columns is None:
        return cast(Rows, part.rows)[rows]
    return cast("RecordBatch", part.rows).take(rows)


def _delimiter(path: str, data_format: DataFormat, options: ReadOptions) -> str | None:
    delimiter = data_format.delimiter(path, options)
    return None if delimiter is None else chr(delimiter)


def _is_compressed(path: str) -> bool:
    with open_file(path) as raw:
        return compression_of(raw) is not None


def _count_rows(path: str, data_format: DataFormat, options: ReadOptions, columns: TableColumns) -> int:
    """Return how many rows a file has that is not text: as its footer says, or else by reading it."""
    if ranges := data_format.byte_ranges(path, max(1, file_size(path))):
        return sum(one.end - one.begin for one in ranges)
    reader = data_format.reader(options, PinnedColumns(columns))
    last = 0
    for part in reader.batches(ByteSource(path), BEGINNING, BadRows("skip")):
        last = part.after.offset
    return last


class RowSample(NamedTuple):
    """Rows as numbers with their labels, the source of each part, and the encoder that knows their columns."""

    parts: list[EncodedRows]
    sources: list[str]
    encoder: OrdinalEncoder


def read_sample(files: RowFiles, reading: OrdinalReading, numbers: RowNumbers) -> RowSample:
    """Return the rows of these numbers, their column types inferred from them; rows that cannot be read are left out.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from opauc.data.sample import RowFiles, read_sample
    >>> from opauc.data.encode.number_reading import OrdinalReading
    >>> from opauc.data import ReadOptions
    >>> with tempfile.NamedTemporaryFile(suffix=".csv") as file:
    ...     _ = file.write(b"age,label\\n" + b"30,no\\n?,yes\\n" * 500), file.flush()
    ...     reading = OrdinalReading(ReadOptions())
    ...     sample = read_sample(RowFiles.of([file.name], reading), reading, np.arange(96))
    >>> [part.rows.shape for part in sample.parts], sample.encoder.column_profiles[0].kind
    ([(96, 1)], 'number')
    """
    encoder, skipped = reading.encoder(), BadRows("skip")
    parts = list(files.read_rows(reading.requested_columns(), numbers))
    tables = [one for one in parts if one.batch.columns is not None]
    if tables:
        joined, source = _join(tables), tables[0].source
        encoder.infer_schema(joined, tables[0].batch.columns, source, tables[0].batch.typed)
        assert encoder.schema is not None, "inferred just now"
        encoder.schema = encoder.schema.with_sorted_categories(joined, source)
    encoded = [encoder.encode(part, source, skipped) for part, source in parts]
    return RowSample(encoded, [source for _, source in parts], encoder)


def _join(parts: Sequence[SampledBatch]) -> RecordBatch:
    """Return the rows of all parts that have the columns of the first, of the same types."""
    import pyarrow as pa

    batches = [cast("RecordBatch", part.rows) for part, _ in parts]
    first = batches[0].schema
    table = pa.Table.from_batches([batch for batch in batches if batch.schema.equals(first)])
    [joined] = table.combine_chunks().to_batches() or [pa.RecordBatch.from_pylist([], schema=first)]
    return joined
