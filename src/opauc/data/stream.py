"""All sources of a run as one stream of labeled chunks, which can be taken up from a resume_position."""

from __future__ import annotations

import os
import queue
import threading
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import closing
from typing import TYPE_CHECKING, Any, TypeVar

from opauc.core.batch import BEGINNING, Batch, Part, ResumePosition, SourceRecord
from opauc.data.bad_rows import BadRows
from opauc.data.byte_ranges import ByteRange
from opauc.data.encode.encoder import EncodedRows, Encoder, UnknownCategories
from opauc.data.find_sources import find_sources, format_of
from opauc.data.formats.format import DataFormat, Reader
from opauc.data.options import ReadOptions
from opauc.data.sources import IN_MEMORY, ByteSource
from opauc.errors import InputError

if TYPE_CHECKING:
    from opauc.data.schema.infer import ColumnProfile

Item = TypeVar("Item")

_END = object()
LONGEST_WAIT = 1.0


def read_ahead(items: Generator[Item, None, None], depth: int = 2) -> Iterator[Item]:
    """Yield the items of a generator that runs in a thread of its own, at most `depth` items ahead.

    What it raises is raised here, after the items before it. The thread ends
    when this iterator does, also when it is given up half way, unless it waits
    for a pipe that nobody writes to.

    Examples
    --------
    >>> from opauc.data.stream import read_ahead
    >>> list(read_ahead(letter for letter in "abc"))
    ['a', 'b', 'c']
    """
    line: queue.Queue[object] = queue.Queue(depth)
    given_up = threading.Event()

    def work() -> None:
        last: object = _END
        try:
            with closing(items):
                for item in items:
                    if not _put(line, item, given_up):
                        return
        except BaseException as error:  # handed over, whatever it is
            last = _Raised(error)
        _put(line, last, given_up)

    thread = threading.Thread(target=work, name="opauc reader", daemon=True)
    thread.start()
    try:
        while (item := line.get()) is not _END:
            if isinstance(item, _Raised):
                raise item.error
            yield item  # type: ignore[misc]
    finally:
        given_up.set()
        # A thread that waits for a pipe cannot be told; it ends with the program.
        thread.join(LONGEST_WAIT)


class _Raised:
    def __init__(self, error: BaseException) -> None:
        self.error = error


def _put(line: queue.Queue[object], item: object, given_up: threading.Event) -> bool:
    """Put an item in line, unless nobody waits for it any more."""
    while not given_up.is_set():
        try:
            line.put(item, timeout=0.1)
        except queue.Full:
            continue
        return True
    return False


START = ResumePosition()


class DataStream:
    """Labeled chunks of files, patterns, folders or standard input, in order, each read once.

    Memory does not grow with the sources. A chunk is a function of the content
    alone, so that a stream taken up from the resume_position of a chunk gives the
    chunks that would have followed. Reading runs ahead in a thread of its own.
    `opauc.data.open_stream` makes one with the encoder that the options ask for.

    Parameters
    ----------
    paths : sequence of paths
        Files, patterns, folders, "-".
    options : ReadOptions
        How they are to be read.
    encoder : Encoder
        Turns parts of tables and arrays into rows; it has learned by now what is known at the resume_position.
    resume_position : ResumePosition
        Where to begin.
    bad_rows : BadRows, optional
        What becomes of rows that cannot be read.

    Examples
    --------
    >>> import tempfile
    >>> from opauc.data.encode.onehot import OneHotEncoder
    >>> from opauc.data import DataStream, ReadOptions
    >>> with tempfile.NamedTemporaryFile(suffix=".csv") as file:
    ...     _ = file.write(b"age,label\\n30,no\\n40,yes\\n"), file.flush()
    ...     [chunk] = DataStream([file.name], ReadOptions(), OneHotEncoder()).chunks()
    >>> chunk.rows, chunk.labels, chunk.line_of(1)
    (array([[30.],
           [40.]]), array(['no', 'yes'], dtype='<U3'), 3)
    """

    def __init__(
        self,
        paths: Sequence[str | os.PathLike[str]],
        options: ReadOptions,
        encoder: Encoder,
        resume_position: ResumePosition = START,
        bad_rows: BadRows | None = None,
    ) -> None:
        self.sources = find_sources(paths)
        self.bad_rows = bad_rows or BadRows()
        self.bad_rows.total, self.bad_rows.first = resume_position.bad_rows, list(resume_position.first_bad)
        self._options, self._encoder, self._start = options, encoder, resume_position
        self._formats = [format_of(path, options.format) for path in self.sources]
        self._memory: Any = None  # what is read if it is no file
        self._extent: ByteRange | None = None  # what is read of a single file

    @classmethod
    def of_memory(cls, data: object, labels: object, options: ReadOptions, encoder: Encoder) -> DataStream:
        """Return the stream of an array, sparse rows or a table in memory, with its labels beside it or in a column."""

        def reader(_: ReadOptions, encoder: Encoder) -> Reader:
            from opauc.data.formats.memory import MemoryReader

            return MemoryReader(encoder.pinned_columns, labels)

        stream = cls([], options, encoder)
        stream.sources, stream._formats = [IN_MEMORY], [DataFormat("memory", (), reader)]
        stream._memory = data
        return stream

    @classmethod
    def of_byte_range(
        cls, path: str, byte_range: ByteRange | None, options: ReadOptions, encoder: Encoder, bad_rows: BadRows
    ) -> DataStream:
        """Return the stream of a stretch of one file, the whole file where that is None; its rows are numbered from 0.

        Lines of text are counted from the beginning of the stretch.
        """
        stream = cls([], options, encoder, bad_rows=bad_rows)
        stream.sources, stream._formats = [path], [format_of(path, options.format)]
        stream._extent = byte_range
        return stream

    @property
    def feature_names(self) -> list[str] | None:
        """Names of the features, or None where rows have none: LIBSVM and arrays."""
        return self._encoder.feature_names() if any(kind.has_names for kind in self._formats) else None

    @property
    def category_counts(self) -> Mapping[str, int]:
        """How many categories each column has so far that becomes a feature a category."""
        return self._encoder.category_counts

    @property
    def column_profiles(self) -> Sequence[ColumnProfile]:
        """The inferred type of each column; empty before the first rows, and where the user says what columns are."""
        return self._encoder.column_profiles

    @property
    def unreadable_values(self) -> Mapping[str, int]:
        """How many values of each column were not what the column is so far, and count as missing."""
        return self._encoder.unreadable_values

    @property
    def unknown_categories(self) -> Mapping[str, UnknownCategories]:
        """Categories met so far that the model knows nothing of, by their columns, where nothing new is learned."""
        return self._encoder.unknown_categories

    @property
    def has_columns(self) -> bool:
        """Whether all sources are tables, whose columns have names."""
        return all(kind.has_names for kind in self._formats)

    @property
    def total_bytes(self) -> int | None:
        """Size of all files, or None where something is no file."""
        if not all(os.path.isfile(path) for path in self.sources):
            return None
        return sum(os.path.getsize(path) for path in self.sources)

    def chunks(self, ahead: bool = True) -> Iterator[Batch]:
        """Yield the chunks that follow the resume_position; read in the thread of the caller unless that may run ahead."""
        return read_ahead(self._chunks()) if ahead else self._chunks()

    def _chunks(self) -> Generator[Batch, None, None]:
        rows, records, passed = self._start.rows, list(self._start.records), 0
        for number, (path, kind) in enumerate(zip(self.sources, self._formats, strict=True)):
            source = ByteSource(path, byte_range=self._extent)
            if number < self._start.source:
                _refuse_changed(records[number], path)
                passed += source.size
                continue
            place = self._start.place if number == self._start.source else BEGINNING
            rows_here = records[number]["rows"] if number < len(records) else 0
            content = source if self._memory is None else self._memory
            for part in self._reader(kind).parts(content, place, self.bad_rows):
                found = self._encoded(part, source.name, kind)
                n_rows = found.rows.shape[0]
                rows_here += n_rows
                size = part.after.offset if kind.is_text else source.size
                records[number:] = [SourceRecord(path=path, bytes=size, rows=rows_here, sha256=part.after.sha256)]
                resume_position = ResumePosition(
                    number, part.after, rows + n_rows, tuple(records), self.bad_rows.total,
                    tuple(self.bad_rows.first), None if kind.is_encoded else self._encoder.learned(),
                )  # fmt: skip
                if n_rows:
                    yield Batch(
                        found.rows, found.labels, rows, source.name, part.before.line + 1, found.lines, resume_position,
                        passed + source.passed, found.kept, found.groups,
                    )  # fmt: skip
                rows += n_rows
            passed += source.size

    def _reader(self, kind: DataFormat) -> Reader:
        try:
            return kind.reader(self._options, self._encoder)
        except ValueError as error:
            raise InputError(str(error)) from error

    def _encoded(self, part: Part, name: str, kind: DataFormat) -> EncodedRows:
        if kind.is_encoded:
            return EncodedRows(part.rows, part.labels, part.lines)
        return self._encoder.encode(part, name, self.bad_rows)


def _refuse_changed(record: SourceRecord, path: str) -> None:
    if record["path"] != path:
        raise InputError(f"{path}: stands where {record['path']} stood when the resume_position was made")
