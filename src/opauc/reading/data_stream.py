"""All sources of a run as one stream of labelled chunks, which can be taken up from a bookmark."""

from __future__ import annotations

import os
from collections.abc import Generator, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from opauc.errors import InputError
from opauc.reading.arrow_reader import ArrowReader
from opauc.reading.bad_rows import BadRows
from opauc.reading.byte_source import ByteSource
from opauc.reading.csv_reader import CsvReader
from opauc.reading.find_sources import find_sources, format_of
from opauc.reading.hashed_features import HashedFeatures
from opauc.reading.labelled_chunk import BEGINNING, Bookmark, LabelledChunk, Part
from opauc.reading.libsvm_reader import LibsvmReader
from opauc.reading.memory_reader import NAME, MemoryReader
from opauc.reading.numpy_reader import NumpyReader
from opauc.reading.read_ahead import read_ahead
from opauc.reading.read_options import ReadOptions
from opauc.reading.table_columns import TableColumns
from opauc.reading.table_encoder import EncodedRows, TableEncoder

START, DEFAULTS = Bookmark(), ReadOptions()
TABS = {"tsv": "\t"}
TEXT = ("libsvm", "csv", "tsv")


class DataStream:
    """Labelled chunks of files, patterns, folders or standard input, in order, each read once.

    Memory does not grow with the sources. A chunk is a function of the content
    alone, so that a stream taken up from the bookmark of a chunk gives the
    chunks that would have followed. Reading runs ahead in a thread of its own.

    Parameters
    ----------
    paths : sequence of paths
        Files, patterns, folders, "-".
    options : ReadOptions
        How they are to be read.
    bookmark : Bookmark
        Where to begin.
    bad_rows : BadRows, optional
        What becomes of rows that cannot be read.
    encoding : mapping, optional
        What the encoder of tables had learnt when a model was trained: columns
        mean the same, and nothing new is learnt.
    labelled : bool
        Whether labels are wanted; where not, tables may lack them.

    Examples
    --------
    >>> import tempfile
    >>> from opauc.reading import DataStream, ReadOptions
    >>> with tempfile.NamedTemporaryFile(suffix=".csv") as file:
    ...     _ = file.write(b"age,label\\n30,no\\n40,yes\\n"), file.flush()
    ...     [chunk] = DataStream([file.name], ReadOptions()).chunks()
    >>> chunk.rows, chunk.labels, chunk.line_of(1)
    (array([[30.],
           [40.]]), array(['no', 'yes'], dtype='<U3'), 3)
    """

    def __init__(
        self,
        paths: Sequence[str | os.PathLike[str]],
        options: ReadOptions,
        bookmark: Bookmark = START,
        bad_rows: BadRows | None = None,
        *,
        encoding: Mapping[str, Any] | None = None,
        labelled: bool = True,
    ) -> None:
        self.sources = find_sources(paths)
        self.bad_rows = bad_rows or BadRows()
        self.bad_rows.total, self.bad_rows.first = bookmark.bad_rows, list(bookmark.first_bad)
        self._options, self._start = options, bookmark
        self._formats = [format_of(path, options.format) for path in self.sources]
        self._hashing = None if options.hash_bits is None else HashedFeatures(options.hash_bits)
        columns = TableColumns(options.label, options.features, options.categorical, labelled)
        self._encoder = TableEncoder(columns, self._hashing, options.missing)
        self._memory: tuple[Any, Any] | None = None
        known = encoding if encoding is not None else bookmark.encoding
        if known is not None:
            self._encoder = self._encoder.with_state(known, frozen=encoding is not None)

    @classmethod
    def of_memory(cls, data: Any, labels: Any = None, options: ReadOptions = DEFAULTS) -> DataStream:
        """Return the stream of an array, sparse rows or a table in memory, with its labels beside it or in a column.

        Examples
        --------
        >>> import numpy as np
        >>> from opauc.reading import DataStream
        >>> [chunk] = DataStream.of_memory(np.eye(2), labels=["no", "yes"]).chunks()
        >>> chunk.rows.shape, chunk.source
        ((2, 2), 'data in memory')
        """
        stream = cls([], options)
        stream.sources, stream._formats = [NAME], ["memory"]
        stream._memory = data, labels
        return stream

    @property
    def feature_names(self) -> list[str] | None:
        """Names of the features, or None where rows have none: LIBSVM and arrays."""
        if all(kind in ("libsvm", "numpy") for kind in self._formats):
            return None
        return self._encoder.feature_names()

    @property
    def total_bytes(self) -> int | None:
        """Size of all files, or None where something is no file."""
        if not all(os.path.isfile(path) for path in self.sources):
            return None
        return sum(os.path.getsize(path) for path in self.sources)

    def chunks(self) -> Iterator[LabelledChunk]:
        """Yield the chunks that follow the bookmark."""
        return read_ahead(self._chunks())

    def _chunks(self) -> Generator[LabelledChunk, None, None]:
        rows, records, passed = self._start.rows, list(self._start.records), 0
        for number, path in enumerate(self.sources):
            source = ByteSource(path)
            if number < self._start.source:
                self._refuse_changed(records[number], path)
                passed += source.size
                continue
            place = self._start.place if number == self._start.source else BEGINNING
            rows_here = records[number]["rows"] if number < len(records) else 0
            content = source if self._memory is None else self._memory[0]
            for part in self._reader(number).parts(content, place, self.bad_rows):
                found = self._encoded(part, source.name, self._formats[number])
                rows_here += found.rows.shape[0]
                size = part.after.offset if self._formats[number] in TEXT else source.size
                records[number:] = [{"path": path, "bytes": size, "rows": rows_here, "sha256": part.after.sha256}]
                bookmark = Bookmark(
                    number, part.after, rows + found.rows.shape[0], tuple(records), self.bad_rows.total,
                    tuple(self.bad_rows.first), self._learnt(number),
                )  # fmt: skip
                if found.rows.shape[0]:
                    yield LabelledChunk(
                        found.rows, found.labels, rows, source.name, part.before.line + 1, found.lines, bookmark,
                        passed + source.passed,
                    )  # fmt: skip
                rows += found.rows.shape[0]
            passed += source.size

    def _reader(self, number: int) -> Any:
        """Return the reader of a source; columns mean what they meant in the first one."""
        kind, options, columns = self._formats[number], self._options, self._encoder.pinned_columns
        if self._memory is not None:
            return MemoryReader(columns, self._memory[1])
        try:
            if kind == "libsvm":
                return LibsvmReader(options.n_features, options.zero_based, self._hashing)
            if kind in ("csv", "tsv"):
                return CsvReader(columns, options.delimiter or TABS.get(kind), options.header)
        except ValueError as error:
            raise InputError(str(error)) from error
        return NumpyReader(columns) if kind == "numpy" else ArrowReader(columns)

    def _encoded(self, part: Part, name: str, kind: str) -> EncodedRows:
        if kind == "libsvm":  # checked by its reader
            return EncodedRows(part.rows, part.labels, part.lines)
        return self._encoder.encode(part, name, self.bad_rows)

    def _learnt(self, number: int) -> Any:
        """Return a function that gives what the encoder has learnt by now: reading runs ahead of whoever asks."""
        if self._formats[number] == "libsvm":
            return None
        return partial(self._encoder.state, self._encoder.mark())

    def _refuse_changed(self, record: Mapping[str, Any], path: str) -> None:
        if record["path"] != path:
            raise InputError(f"{path}: stands where {record['path']} stood when the bookmark was made")
