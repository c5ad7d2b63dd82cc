"""Rows from all over files, before they are read in order."""

from __future__ import annotations

import io
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from typing import IO, TYPE_CHECKING, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from opauc.core.batch import BEGINNING, RawBatch
from opauc.data.bad_rows import BadRows
from opauc.data.byte_ranges import ByteRange, records_of, split_evenly, states_after, with_quoting
from opauc.data.columns import TableColumns
from opauc.data.encode.encoder import EncodedRows, Hashing
from opauc.data.encode.number_reading import OrdinalReading
from opauc.data.encode.ordinal import OrdinalEncoder
from opauc.data.find_sources import find_sources, format_of
from opauc.data.formats.csv.records import CsvRecords, whole_records
from opauc.data.formats.format import DataFormat
from opauc.data.options import ReadOptions
from opauc.data.sources import STANDARD_INPUT, ByteSource, compression_of
from opauc.types import Rows

if TYPE_CHECKING:
    from pyarrow import RecordBatch

QUOTE = b'"'
# Bytes that the first record is looked for in, and those that are read for a few records.
HEAD_BYTES, LEAST_BYTES = 2**20, 2**10
# Of places that lines are taken from, so many may turn out to lie within quotes: the others are as good a sample.
STRAYS = 0.01


class SampledText(ByteSource):
    """A text of which only some records are read; its name is that of the file.

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


def sampled_text(path: str, size: int, places: NDArray[np.float64], lines_each: int, delimiter: int | None) -> bytes:
    """Return the first record of a text, which may be its header, and some that follow places between 0 and 1.

    Where quotes may enclose ends of line, `delimiter` is what stands between fields: if lines that were met look as
    if they did, the text is followed from quote to quote.
    """
    with open(path, "rb") as file:
        head = file.read(min(size, HEAD_BYTES))
        first = _first_record(head, delimiter)
        pieces, end = [], first
        for place in np.sort(places).tolist():  # no line is taken twice
            pieces.append(_lines_from(file, int(place * size), end, lines_each))
            end = max(end, file.tell())
        whole = pieces if delimiter is None else [piece for piece in pieces if not _is_within_quotes(piece)]
        if delimiter is not None and len(pieces) - len(whole) > STRAYS * len(pieces):
            whole = _records_after(path, file, size, delimiter, len(pieces), lines_each)
    return b"".join(map(_ended, [head[:first], *(piece for piece in whole if piece.strip())]))


def drawn_text(source: ByteSource, n_records: int, delimiter: str, random: np.random.Generator) -> bytes:
    """Return the first record of a text that can only be read in order, and so many others, any as likely as another.

    It is read once, and no more of it is kept than twice as many records and a block.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.data.sample import SampledText, drawn_text
    >>> rows = SampledText("a.csv", b"age,label\\n" + b"30,no\\n" * 1000)
    >>> drawn_text(rows, 2, ",", np.random.default_rng(0))
    b'age,label\\n30,no\\n30,no\\n'
    """
    first, kept, keys, highest = b"", list[bytes](), np.empty(0), 1.0
    for stretch in whole_records(source, delimiter):
        records = stretch.records or CsvRecords.of(stretch.text, delimiter)
        if not first and records.size:
            first, records = records.text_of(stretch.text, 0), records.between(1, records.size)
        drawn = random.random(records.size)
        chosen = np.flatnonzero(drawn < highest)
        kept += [records.text_of(stretch.text, at) for at in chosen.tolist()]
        keys = np.concatenate([keys, drawn[chosen]])
        if keys.size > n_records:
            highest = float(np.partition(keys, n_records)[n_records])
            kept = [record for record, stays in zip(kept, (keys < highest).tolist(), strict=True) if stays]
            keys = keys[keys < highest]
    return b"".join(map(_ended, [first, *kept]))


def _ended(text: bytes) -> bytes:
    return text if not text or text.endswith(b"\n") else text + b"\n"


def _first_record(head: bytes, delimiter: int | None) -> int:
    """Return where the first record that is not empty ends."""
    if delimiter is None:
        return head.find(b"\n") + 1 or len(head)
    few = head[: max(head.find(b"\n", len(head) - len(head.lstrip())) + 1, 1)]
    text = few if few.count(QUOTE) % 2 == 0 and few.strip() else head
    records = CsvRecords.of(text, chr(delimiter))
    return int(records.edges[1]) if records.size else len(head)


def _lines_from(file: IO[bytes], offset: int, end: int, wanted: int) -> bytes:
    """Return some lines from the first that begins at `offset` or later; another line ends at `end`."""
    file.seek(max(offset - 1, end))
    if offset > end:
        file.readline()
    return b"".join(file.readline() for _ in range(wanted))


def _is_within_quotes(piece: bytes) -> bool:
    return any(line.count(QUOTE) % 2 for line in piece.split(b"\n"))


def _records_after(path: str, file: IO[bytes], size: int, delimiter: int, n_places: int, wanted: int) -> list[bytes]:
    """Return some records after evenly spread places of a text whose records may have several lines."""
    byte_ranges = split_evenly(size, -(-size // n_places))
    states = [states_after(path, delimiter, byte_range) for byte_range in byte_ranges]
    pieces = []
    for byte_range in with_quoting(byte_ranges, delimiter, states)[1:]:
        begin, end = records_of(file, byte_range)
        file.seek(begin)
        text = file.read(max(end - begin, LEAST_BYTES) if end > begin else 0)[: max(0, end - begin)]
        records = CsvRecords.of(text, chr(delimiter))
        pieces.append(text[: records.edges[min(wanted, records.size)]] if records.size else b"")
    return [piece.replace(b"\r\n", b"\n") for piece in pieces]


# Of very many files so many are looked into, spread evenly over all bytes.
MOST_FILES = 64
# Lines of text are taken a few at a time. Of row groups and the like no more than so many a file are read, unless
# they have few rows: so many times those that are wanted.
LINES_EACH, MOST_GROUPS, ROWS_READ = 8, 32, 2
STRETCHES = 512
ESTIMATED_FROM = 2**16
# Of packed text, whose reader runs ahead, several blocks.
BLOCKS_COUNTED = 8
NEWLINE = 10


class SampledPart(NamedTuple):
    """Some rows of one source, as its reader gives them."""

    part: RawBatch
    source: str


class _ColumnRequest:
    """What a reader asks of an encoder, which comes later."""

    hashing: Hashing | None = None

    def __init__(self, columns: TableColumns) -> None:
        self.pinned_columns = columns


@dataclass(frozen=True)
class SampledFiles:
    """Files of which any rows can be read, and about how many rows they have; text that is packed is read twice for it.

    Examples
    --------
    >>> import tempfile
    >>> from opauc.data.sample import SampledFiles
    >>> from opauc.data.options import ReadOptions
    >>> from opauc.data.columns import TableColumns
    >>> with tempfile.NamedTemporaryFile(suffix=".csv") as file:
    ...     _ = file.write(b"age,label\\n" + b"30,no\\n" * 1000), file.flush()
    ...     files = SampledFiles.of([file.name], ReadOptions())
    ...     [part] = files.sampled(TableColumns(), n_rows=96, seed=0)
    >>> files.n_rows, part.part.rows.num_rows
    (1001, 96)
    """

    paths: tuple[str, ...]
    options: ReadOptions
    n_rows: int
    packed: bool = False  # whether some can only be read in order

    @classmethod
    def of(cls, paths: Sequence[str | os.PathLike[str]], options: ReadOptions) -> SampledFiles | None:
        """Return the files meant; None where one of them can only be read in order."""
        found = find_sources(paths)
        if not found or any(path == STANDARD_INPUT or not os.path.isfile(path) for path in found):
            return None
        sizes = np.array([os.path.getsize(path) for path in found], float)
        looked = [found[at] for at in np.unique(np.linspace(0, len(found) - 1, MOST_FILES).astype(int)).tolist()]
        rows, n_bytes, packed = 0.0, 0.0, False
        for path in looked:
            kind, size = format_of(path, options.format), os.path.getsize(path)
            if _is_packed(path, kind) and kind.delimiter(path, options) is not None:
                rows, packed = rows + _rows_of_packed(path), True
            else:
                byte_ranges = kind.byte_ranges(path, max(1, size // STRETCHES))
                if not byte_ranges and size:
                    return None
                rows += _rows_of_text(path) if kind.is_text else sum(end - begin for begin, end, _ in byte_ranges)
            n_bytes += size
        return cls(tuple(found), options, int(rows * sizes.sum() / max(n_bytes, 1.0)), packed)

    def sampled(self, columns: TableColumns, n_rows: int, seed: int) -> Iterator[SampledPart]:
        """Yield about so many rows, evenly spread over all bytes; rows that cannot be read are left out.

        Columns are found in the first file and asked of the others by their names.
        """
        random = np.random.default_rng(seed)
        sizes = np.array([os.path.getsize(path) for path in self.paths], float)
        ends = np.cumsum(sizes)
        n_places = max(1, n_rows // LINES_EACH)
        places = (np.arange(n_places) + random.random(n_places)) * (ends[-1] / n_places)
        files = np.minimum(np.searchsorted(ends, places, "right"), len(sizes) - 1)
        for number in _some(np.unique(files), MOST_FILES, random).tolist():
            path, begin, size = self.paths[number], ends[number] - sizes[number], sizes[number]
            inside = (places[files == number] - begin) / max(size, 1.0)
            kind = format_of(path, self.options.format)
            for part in self._parts(path, kind, inside, columns, random):
                if part.columns is not None:
                    columns = part.columns
                yield SampledPart(part, path)

    def _parts(
        self,
        path: str,
        kind: DataFormat,
        places: NDArray[np.float64],
        columns: TableColumns,
        random: np.random.Generator,
    ) -> Iterator[RawBatch]:
        reader = kind.reader(self.options, _ColumnRequest(columns))
        skipped = BadRows("skip")
        if kind.is_text:
            delimiter = kind.delimiter(path, self.options)
            if _is_packed(path, kind) and delimiter is not None:
                text = drawn_text(ByteSource(path), LINES_EACH * places.size, chr(delimiter), random)
            else:
                text = sampled_text(path, os.path.getsize(path), places, LINES_EACH, delimiter)
            yield from reader.batches(SampledText(path, text), BEGINNING, skipped)
            return
        byte_ranges = kind.byte_ranges(path, max(1, os.path.getsize(path) // STRETCHES))
        if not byte_ranges:
            return
        sizes, wanted = np.array([end - begin for begin, end, _ in byte_ranges]), LINES_EACH * places.size
        most = max(MOST_GROUPS, int(ROWS_READ * wanted / max(1.0, sizes.mean())))
        numbers = _some(np.arange(len(byte_ranges)), most, random)
        chosen = [byte_ranges[at] for at in numbers.tolist()]
        share = min(1.0, wanted / max(1, int(sizes[numbers].sum())))
        for byte_range in chosen:
            yield from _drawn(
                reader.batches(ByteSource(path, byte_range=byte_range), BEGINNING, skipped), byte_range, share, random
            )


def _drawn(
    parts: Iterator[RawBatch], byte_range: ByteRange, share: float, random: np.random.Generator
) -> Iterator[RawBatch]:
    """Yield a random share of the rows of an byte_range."""
    n_rows = byte_range.end - byte_range.begin
    wanted = np.sort(random.choice(n_rows, min(n_rows, round(share * n_rows)), replace=False)) + byte_range.begin
    first = byte_range.begin
    for part in parts:
        size = part.after.offset - first
        here = wanted[(wanted >= first) & (wanted < first + size)] - first
        first += size
        if here.size:
            yield part._replace(rows=_taken(part, here), labels=None if part.labels is None else part.labels[here])


def _taken(part: RawBatch, rows: NDArray[np.int64]) -> Rows | RecordBatch:
    if part.columns is None:
        return cast(Rows, part.rows)[rows]
    return cast("RecordBatch", part.rows).take(rows)


def _some(numbers: NDArray[np.int64], most: int, random: np.random.Generator) -> NDArray[np.int64]:
    """Return so many of the numbers at most, one of each even stretch of them."""
    if numbers.size <= most:
        return numbers
    edges = np.linspace(0, numbers.size, most + 1)
    chosen: NDArray[np.int64] = numbers[np.unique((edges[:-1] + random.random(most) * np.diff(edges)).astype(int))]
    return chosen


def _is_packed(path: str, kind: DataFormat) -> bool:
    """Tell whether a file is text that can only be read in order."""
    if not kind.is_text:
        return False
    with open(path, "rb") as raw:
        return compression_of(raw) is not None


def _rows_of_packed(path: str) -> float:
    """Return how many lines a packed text has, by its first blocks; about, if there are more."""
    source = ByteSource(path)
    blocks = list(islice((np.count_nonzero(block.data == NEWLINE) for block in source.blocks()), BLOCKS_COUNTED + 1))
    if len(blocks) <= BLOCKS_COUNTED:
        return float(sum(blocks))
    return sum(blocks) * source.size / max(source.passed, 1)


def _rows_of_text(path: str) -> float:
    """Return how many lines a text has, about, by those at its beginning, in its middle and at its end."""
    size = os.path.getsize(path)
    with open(path, "rb") as file:
        pieces = []
        for start in {0, max(0, size // 2 - ESTIMATED_FROM // 2), max(0, size - ESTIMATED_FROM)}:
            file.seek(start)
            pieces.append(file.read(ESTIMATED_FROM))
    looked = sum(map(len, pieces))
    return size * sum(piece.count(b"\n") for piece in pieces) / max(looked, 1)


class RowSample(NamedTuple):
    """Rows as numbers with their labels, the source of each part, and the encoder that knows their columns."""

    parts: list[EncodedRows]
    sources: list[str]
    encoder: OrdinalEncoder


def sample_rows(files: SampledFiles, reading: OrdinalReading, n_rows: int, seed: int) -> RowSample:
    """Return about so many rows from all over the files; those that cannot be read are left out.

    Examples
    --------
    >>> import tempfile
    >>> from opauc.data.sample import sample_rows
    >>> from opauc.data.encode.number_reading import OrdinalReading
    >>> from opauc.data import ReadOptions
    >>> from opauc.data.sample import SampledFiles
    >>> with tempfile.NamedTemporaryFile(suffix=".csv") as file:
    ...     _ = file.write(b"age,label\\n" + b"30,no\\n?,yes\\n" * 500), file.flush()
    ...     drawn = sample_rows(SampledFiles.of([file.name], ReadOptions()), OrdinalReading(ReadOptions()), 96, seed=0)
    >>> [part.rows.shape for part in drawn.parts], drawn.encoder.column_profiles[0].kind
    ([(96, 1)], 'number')
    """
    encoder, skipped = reading.encoder(), BadRows("skip")
    parts = list(files.sampled(reading.requested_columns(), n_rows, seed))
    tables = [one for one in parts if one.part.columns is not None]
    if tables:
        encoder.infer_schema(_joined(tables), tables[0].part.columns, tables[0].source)
    encoded = [encoder.encode(part, source, skipped) for part, source in parts]
    return RowSample(encoded, [source for _, source in parts], encoder)


def _joined(parts: Sequence[SampledPart]) -> RecordBatch:
    """Return the rows of all parts that have the columns of the first, of the same types."""
    import pyarrow as pa

    batches = [cast("RecordBatch", part.rows) for part, _ in parts]
    first = batches[0].schema
    table = pa.Table.from_batches([batch for batch in batches if batch.schema.equals(first)])
    [joined] = table.combine_chunks().to_batches() or [pa.RecordBatch.from_pylist([], schema=first)]
    return joined
