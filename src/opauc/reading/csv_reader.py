"""Comma-, tab- or semicolon-separated text as batches of a table, a block at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from opauc.errors import InputChanged, InputError, MalformedRow
from opauc.reading.bad_rows import BadRows
from opauc.reading.byte_source import ByteSource
from opauc.reading.csv_records import CsvRecords, Stretch, whole_records
from opauc.reading.csv_values import (
    MISSING_WORDS,
    CsvForm,
    all_numbers,
    careful_rows,
    number_of,
    quick_rows,
    shown,
    texts_in,
    valid_text,
)
from opauc.reading.labelled_chunk import Part, Place
from opauc.reading.table_columns import TableColumns


class Head(NamedTuple):
    """How the text is to be read, and how many bytes and lines stand before its first row."""

    form: CsvForm
    size: int
    lines: int


@dataclass(frozen=True)
class CsvReader:
    """Tables as text, one record a line unless a quoted field holds an end of line.

    Features are numbers, in float64, unless declared categorical. Labels are
    numbers if all of the first block are, else words. Numbers are missing where
    the field is empty or says NA, N/A, NaN, nan, null, NULL or ?; what cannot be
    read is a bad row. An open quote at the end of the source is an error always,
    because nobody can tell how many rows it swallowed.

    Parameters
    ----------
    columns : TableColumns
        The label, the features and which of them are categorical.
    delimiter : str, optional
        By default tab for names that end in .tsv or .tab, else the one of comma,
        tab and semicolon that the first line has most of.
    header : bool, optional
        Whether the first line names the columns; columns without names are called
        by their positions, from "0" on. None means that a line of words is a
        header, a line of numbers is not, and any other is an error.

    Examples
    --------
    >>> import tempfile
    >>> from opauc.reading.bad_rows import BadRows
    >>> from opauc.reading.byte_source import ByteSource
    >>> from opauc.reading.csv_reader import CsvReader
    >>> from opauc.reading.labelled_chunk import BEGINNING
    >>> with tempfile.NamedTemporaryFile(suffix=".csv") as file:
    ...     _ = file.write(b"size;label\\n1.5;yes\\n2;no\\n"), file.flush()
    ...     [part] = CsvReader().parts(ByteSource(file.name), BEGINNING, BadRows())
    >>> part.rows.to_pydict(), part.lines
    ({'size': [1.5, 2.0], 'label': ['yes', 'no']}, array([2, 3]))
    """

    columns: TableColumns = field(default_factory=TableColumns)
    delimiter: str | None = None
    header: bool | None = True

    def __post_init__(self) -> None:
        if self.delimiter is not None and (len(self.delimiter.encode()) != 1 or self.delimiter in '"\r\n'):
            raise ValueError(f"delimiter must be one ASCII character, no quote and no end of line: {self.delimiter!r}")

    def parts(self, source: ByteSource, place: Place, bad_rows: BadRows) -> Iterator[Part]:
        """Yield the rows of each block of `source` from `place` on.

        Whatever the place, the source is read from its beginning: there the names
        and the kind of the labels stand, and what was read before is compared.
        """
        head: Head | None = None
        before, reached = place, place.offset == 0
        for stretch in whole_records(source, self.delimiter):
            if head is None:
                head = self._head(stretch, source.name)
                skipped = head
            else:
                skipped = head._replace(size=0, lines=0)
            if reached:
                yield _part(stretch, skipped, before, bad_rows)
                before = Place(stretch.end, before.line + stretch.n_lines, stretch.sha256)
            else:
                reached = _is_reached(stretch, place, source.name)
        if not reached:
            raise InputChanged(f"{source.name}: ends before the place to go on from")
        if head is None:
            raise InputError(f"{source.name}: there is nothing in it")

    def _head(self, first: Stretch, source: str) -> Head:
        """Tell from the first stretch how to read the source."""
        text, records = first.text, first.records or CsvRecords.of(first.text, first.delimiter)
        if not records.size:
            raise InputError(f"{source}: there is nothing in it")
        line = int(records.lines[0]) + 1
        fields = _fields(records.text_of(text, 0), first.delimiter, int(records.fields[0]), source, line)
        header = _is_header(fields, source) if self.header is None else self.header
        names = self._names(fields, header, source)
        roles = self.columns.roles_in(names, source)
        if not header:
            size, lines = 0, 0
        elif records.size > 1:
            size, lines = int(records.edges[1]), int(records.lines[1])
        else:
            size, lines = len(text), first.n_lines
        label_is_number = False
        whole = int(header) + np.flatnonzero(records.fields[int(header) :] == len(names))
        if roles.label is not None and whole.size:
            rows = b"".join(records.text_of(text, record) for record in whole.tolist())
            label_is_number = all_numbers(texts_in(rows, first.delimiter, len(names))[roles.label])
        return Head(CsvForm.of(source, first.delimiter, names, roles, label_is_number), size, lines)

    def _names(self, fields: Sequence[str], header: bool, source: str) -> list[str]:
        if not header:
            return [str(position) for position in range(len(fields))]
        names = [name.strip() for name in fields]
        if self.columns.features is None and "" in names:
            raise InputError(
                f"{source}: column {names.index('')}, from 0, has no name; "
                "give it one, or name the features (--features) to leave it out"
            )
        return [name or str(position) for position, name in enumerate(names)]


def _part(stretch: Stretch, head: Head, before: Place, bad_rows: BadRows) -> Part:
    """Read the rows of a stretch: whole, or one by one where that is refused or the lines of the rows are not plain."""
    after = Place(stretch.end, before.line + stretch.n_lines, stretch.sha256)
    text = stretch.text[head.size :]
    batch = quick_rows(head.form, text)
    n_lines = stretch.n_lines - head.lines
    # Without quotes only empty lines could make fewer rows than lines.
    if batch is not None and stretch.records is None and batch.num_rows == n_lines:
        numbers = before.line + head.lines + 1 + np.arange(batch.num_rows) if head.lines else None
        return Part(batch, None, numbers, before, after)
    records = stretch.records if stretch.records and not head.size else CsvRecords.of(text, head.form.delimiter)
    lines = before.line + head.lines + records.lines + 1
    if batch is None or batch.num_rows != records.size:
        batch, lines = careful_rows(head.form, text, records, lines, bad_rows)
    return Part(batch, None, lines, before, after)


def _is_reached(stretch: Stretch, place: Place, source: str) -> bool:
    if stretch.end < place.offset:
        return False
    if stretch.end == place.offset and stretch.sha256 == place.sha256:
        return True
    raise InputChanged(f"{source}: the first {place.offset} bytes are not those read before")


def _fields(record: bytes, delimiter: str, width: int, source: str, line: int) -> list[str]:
    texts = [column[0].as_py() for column in texts_in(record, delimiter, width)]
    for position, text in enumerate(texts):
        if not valid_text(text):
            raise MalformedRow(source, line, f"{shown(text)} is not UTF-8 text", column=position)
    return [text.decode() for text in texts]


def _is_header(fields: Sequence[str], source: str) -> bool:
    """Tell whether the first record names the columns: names are words, and a row has numbers or nothing."""
    words = [number_of(name.strip().encode()) is None and name not in MISSING_WORDS for name in fields]
    if any(words) and not all(words):
        raise InputError(f"{source}: the first line has words and numbers; say whether it is a header")
    return all(words)
