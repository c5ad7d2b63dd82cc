"""All sources of a run as one stream of labeled batches, which can resume from a position."""

from __future__ import annotations

import queue
import threading
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import closing
from typing import TYPE_CHECKING, Any, TypeVar

from opauc.core.batch import BEGINNING, Batch, RawBatch, ResumePosition, SourceRecord
from opauc.data.bad_rows import BadRows
from opauc.data.byte_ranges import ByteRange
from opauc.data.encode.encoder import ColumnRequest, EncodedRows, Encoder, UnknownCategories
from opauc.data.find_sources import can_read_again, find_sources, format_of, name_of
from opauc.data.formats.format import DataFormat, Reader
from opauc.data.options import ReadOptions
from opauc.data.sources import IN_MEMORY, ByteSource
from opauc.data.storage import file_size, is_file
from opauc.data.table_source import Source
from opauc.errors import InputError

if TYPE_CHECKING:
    from opauc.data.schema.infer import ColumnProfile

Item = TypeVar("Item")

_END = object()
LONGEST_WAIT = 1.0


def read_ahead(items: Generator[Item, None, None], depth: int = 2) -> Iterator[Item]:
    """Yield the items of a generator that runs in its own thread, at most `depth` items ahead.

    Its exceptions are raised here, after the items before them. The thread ends
    with this iterator, also when the iterator is closed early, unless it waits
    for an idle pipe.

    Examples
    --------
    >>> from opauc.data.stream import read_ahead
    >>> list(read_ahead(letter for letter in "abc"))
    ['a', 'b', 'c']
    """
    items_ready: queue.Queue[object] = queue.Queue(depth)
    closed = threading.Event()

    def work() -> None:
        last: object = _END
        try:
            with closing(items):
                for item in items:
                    if not _put(items_ready, item, closed):
                        return
        except BaseException as error:  # raised in the consumer's thread
            last = _Raised(error)
        _put(items_ready, last, closed)

    thread = threading.Thread(target=work, name="opauc reader", daemon=True)
    thread.start()
    try:
        while (item := items_ready.get()) is not _END:
            if isinstance(item, _Raised):
                raise item.error
            yield item  # type: ignore[misc]
    finally:
        closed.set()
        # A thread that waits for a pipe ends with the program.
        thread.join(LONGEST_WAIT)


class _Raised:
    def __init__(self, error: BaseException) -> None:
        self.error = error


def _put(items_ready: queue.Queue[object], item: object, closed: threading.Event) -> bool:
    """Put an item into the queue, unless its consumer is closed."""
    while not closed.is_set():
        try:
            items_ready.put(item, timeout=0.1)
        except queue.Full:
            continue
        return True
    return False


START = ResumePosition()


class DataStream:
    """Labeled batches of files, patterns, folders, standard input or tables, in order, each read once.

    Memory does not grow with the sources. Batches depend on the content alone, so
    that a stream that resumes from the position of a batch gives the batches that
    would have followed. Reading runs ahead in its own thread.
    `opauc.data.open_stream` makes a stream with the encoder that fits the options.

    Parameters
    ----------
    paths : sequence of paths or tables
        Files, patterns, folders, "-".
    options : ReadOptions
        How to read them.
    encoder : Encoder
        Turns raw batches into rows; its state must be that of the resume position.
    resume_position : ResumePosition
        Where to begin.
    bad_rows : BadRows, optional
        Whether bad rows raise or are skipped.

    Examples
    --------
    >>> import tempfile
    >>> from opauc.data.encode.onehot import OneHotEncoder
    >>> from opauc.data import DataStream, ReadOptions
    >>> with tempfile.NamedTemporaryFile(suffix=".csv") as file:
    ...     _ = file.write(b"age,label\\n30,no\\n40,yes\\n"), file.flush()
    ...     [batch] = DataStream([file.name], ReadOptions(), OneHotEncoder()).batches()
    >>> batch.rows, batch.labels, batch.line_of(1)
    (array([[30.],
           [40.]]), array(['no', 'yes'], dtype='<U3'), 3)
    """

    def __init__(
        self,
        paths: Sequence[Source],
        options: ReadOptions,
        encoder: Encoder,
        resume_position: ResumePosition = START,
        bad_rows: BadRows | None = None,
    ) -> None:
        self._contents = find_sources(paths)
        self.bad_rows: BadRows = bad_rows or BadRows()
        self.bad_rows.drop_unlabeled |= options.drop_unlabeled
        self.bad_rows.total, self.bad_rows.first = resume_position.bad_rows, list(resume_position.first_bad)
        self._options, self._encoder, self._start = options, encoder, resume_position
        self._formats = [format_of(path, options.format) for path in self._contents]
        encoded = [path for path, kind in zip(self.sources, self._formats, strict=True) if kind.is_encoded]
        if 0 < len(encoded) < len(self.sources):
            other = next(path for path in self.sources if path not in encoded)
            raise InputError(f"{encoded[0]} has LIBSVM rows, {other} has not; one run reads one of the two")
        self._memory: Any = None  # data in memory
        self._byte_range: ByteRange | None = None  # of a single file

    @classmethod
    def of_memory(cls, data: object, labels: object, options: ReadOptions, encoder: Encoder) -> DataStream:
        """Return the stream of an array, sparse rows or a table in memory, with its labels separate or in a column."""

        def reader(_: ReadOptions, request: ColumnRequest) -> Reader:
            from opauc.data.formats.memory import MemoryReader

            return MemoryReader(request.pinned_columns, labels)

        stream = cls([], options, encoder)
        stream._contents, stream._formats = [IN_MEMORY], [DataFormat("memory", (), reader)]
        stream._memory = data
        return stream

    @classmethod
    def of_byte_range(
        cls, path: str, byte_range: ByteRange | None, options: ReadOptions, encoder: Encoder, bad_rows: BadRows
    ) -> DataStream:
        """Return the stream of a byte range of one file, or of the whole file; its rows are numbered from 0.

        Lines of text are counted from the beginning of the range.
        """
        stream = cls([], options, encoder, bad_rows=bad_rows)
        stream._contents, stream._formats = [path], [format_of(path, options.format)]
        stream._byte_range = byte_range
        return stream

    @property
    def sources(self) -> list[str]:
        """The paths of the files, and the names of the tables."""
        return [name_of(source) for source in self._contents]

    @property
    def repeatable(self) -> bool:
        """Whether all of it can be read again."""
        return all(map(can_read_again, self._contents))

    @property
    def feature_names(self) -> list[str] | None:
        """Names of the features, or None where rows have none: LIBSVM and arrays."""
        return self._encoder.feature_names() if any(kind.has_names for kind in self._formats) else None

    @property
    def category_counts(self) -> Mapping[str, int]:
        """Number of categories of each one-hot encoded column so far."""
        return self._encoder.category_counts

    @property
    def column_profiles(self) -> Sequence[ColumnProfile]:
        """The inferred type of each column; empty before the first rows, and where the user says what columns are."""
        return self._encoder.column_profiles

    @property
    def unreadable_values(self) -> Mapping[str, int]:
        """Number of values of each column so far that could not be read and count as missing."""
        return self._encoder.unreadable_values

    @property
    def unknown_categories(self) -> Mapping[str, UnknownCategories]:
        """Categories so far that the model was not trained on, by column, where the encoder is frozen."""
        return self._encoder.unknown_categories

    @property
    def has_columns(self) -> bool:
        """Whether all sources are tables, whose columns have names."""
        return all(kind.has_names for kind in self._formats)

    @property
    def total_bytes(self) -> int | None:
        """Size of all files, or None where a source is not a file."""
        sizes = [file_size(path) for path in self._contents if isinstance(path, str) and is_file(path)]
        return sum(sizes) if len(sizes) == len(self._contents) else None

    def batches(self, ahead: bool = True) -> Iterator[Batch]:
        """Yield the batches after the resume position; `ahead` reads them in another thread."""
        return read_ahead(self._batches()) if ahead else self._batches()

    def _batches(self) -> Generator[Batch, None, None]:
        rows, records, passed = self._start.rows, list(self._start.records), 0
        for number, (path, content, kind) in enumerate(zip(self.sources, self._contents, self._formats, strict=True)):
            source = ByteSource(content, byte_range=self._byte_range) if isinstance(content, str) else content
            if number < self._start.source:
                _check_same_path(records[number], path)
                passed += source.size
                continue
            position = self._start.position if number == self._start.source else BEGINNING
            rows_here = records[number]["rows"] if number < len(records) else 0
            rows_of: Any = source if self._memory is None else self._memory
            for raw in self._reader(kind).batches(rows_of, position, self.bad_rows):
                encoded = self._encode(raw, source.name, kind)
                n_rows = encoded.rows.shape[0]
                rows_here += n_rows
                size = raw.after.offset if kind.is_text else source.size
                records[number:] = [SourceRecord(path=path, bytes=size, rows=rows_here, sha256=raw.after.sha256)]
                resume_position = ResumePosition(
                    number, raw.after, rows + n_rows, tuple(records), self.bad_rows.total,
                    tuple(self.bad_rows.first), None if kind.is_encoded else self._encoder.learned(),
                )  # fmt: skip
                if n_rows:
                    yield Batch(
                        encoded.rows, encoded.labels, rows, source.name, raw.before.line + 1, encoded.lines,
                        resume_position, passed + source.passed, encoded.passthrough, encoded.groups,
                    )  # fmt: skip
                rows += n_rows
            passed += source.size

    def _reader(self, kind: DataFormat) -> Reader:
        try:
            return kind.reader(self._options, self._encoder)
        except ValueError as error:
            raise InputError(str(error)) from error

    def _encode(self, raw: RawBatch, name: str, kind: DataFormat) -> EncodedRows:
        if kind.is_encoded:
            self._encoder.check_takes_features(f"{name}: has {kind.name.upper()} rows")
            return EncodedRows(raw.rows, raw.labels, raw.lines)
        return self._encoder.encode(raw, name, self.bad_rows)


def _check_same_path(record: SourceRecord, path: str) -> None:
    if record["path"] != path:
        raise InputError(f"{path}: is read where {record['path']} was read before")
