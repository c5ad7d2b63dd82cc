"""Comma-, tab- or semicolon-separated text as batches of a table, a block at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from opauc.errors import InputChanged, InputError, MalformedRow, Remedy
from opauc.reading.bad_rows import BadRows
from opauc.reading.byte_source import ByteSource
from opauc.reading.csv_records import DELIMITERS, CsvRecords, Stretch, whole_records
from opauc.reading.csv_values import (
    MISSING_WORDS,
    CsvForm,
    all_numbers,
    careful_rows,
    fields_of,
    number_of,
    quick_rows,
    shown,
    texts_in,
    valid_text,
)
from opauc.reading.csv_wide import wide_rows
from opauc.reading.labelled_chunk import Part, Place
from opauc.reading.table_columns import ColumnRoles, TableColumns


class Opening(NamedTuple):
    """What the first record tells: the names of the columns, what they are, and whether it is a header."""

    names: list[str]
    roles: ColumnRoles
    header: bool


class Start(NamedTuple):
    """Bytes and lines of a stretch before its first row."""

    size: int = 0
    lines: int = 0


@dataclass(frozen=True)
class CsvReader:
    """Tables as text, one record a line unless a quoted field holds an end of line.

    Features are numbers, in float64, unless declared categorical. Labels are
    numbers if all of the first block are, and exact, else words. Numbers are missing where
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
        opening: Opening | None = None
        form: CsvForm | None = None
        before, reached, passed = place, place.offset == 0, 0
        for stretch in whole_records(source, self.delimiter):
            start = Start()
            if form is None:
                records = stretch.records or CsvRecords.of(stretch.text, stretch.delimiter)
                if opening is None and records.size:
                    opening = self._opening(stretch, records, passed, source.name)
                    start = _after_header(stretch, records) if opening.header else start
                if opening is not None and start.size < len(stretch.text) and records.size:
                    form = _form(opening, stretch, records, start, source.name)
                passed += stretch.n_lines
            after = Place(stretch.end, before.line + stretch.n_lines, stretch.sha256)
            if not reached:
                reached = _is_reached(stretch, place, source.name)
                continue
            if form is not None:
                yield _part(form, stretch, start, before, after, bad_rows)
            before = after
        if not reached:
            raise InputChanged(f"{source.name}: ends before the place to go on from")
        if opening is None:
            raise InputError(f"{source.name}: there is nothing in it")
        if form is None and not place.offset:
            form = CsvForm.of(source.name, DELIMITERS[0], opening.names, opening.roles, False)
            nothing = Stretch(b"", DELIMITERS[0], None, 0, before.offset, before.sha256)
            yield _part(form, nothing, Start(), place, before, bad_rows)

    def _opening(self, first: Stretch, records: CsvRecords, lines_before: int, source: str) -> Opening:
        line = lines_before + int(records.lines[0]) + 1
        fields = []
        for position, text in enumerate(fields_of(records.text_of(first.text, 0), first.delimiter)):
            if not valid_text(text):
                raise MalformedRow(source, line, f"{shown(text)} is not UTF-8 text", column=position)
            fields.append(text.decode())
        header = _is_header(fields, source) if self.header is None else self.header
        names = self._names(fields, header, source)
        return Opening(names, self.columns.roles_in(names, source), header)

    def _names(self, fields: Sequence[str], header: bool, source: str) -> list[str]:
        if not header:
            return [str(position) for position in range(len(fields))]
        names = [name.strip() for name in fields]
        if self.columns.features is None and "" in names:
            raise InputError(
                f"{source}: column {names.index('')}, from 0, has no name; "
                f"give it one, or name the features {Remedy('features')} to leave it out",
                Remedy("features"),
            )
        return [name or str(position) for position, name in enumerate(names)]


def _after_header(stretch: Stretch, records: CsvRecords) -> Start:
    if records.size > 1:
        return Start(int(records.edges[1]), int(records.lines[1]))
    return Start(len(stretch.text), stretch.n_lines)


def _form(opening: Opening, stretch: Stretch, records: CsvRecords, start: Start, source: str) -> CsvForm:
    """Infer from the first rows how to read all of them."""
    label, width = opening.roles.label, len(opening.names)
    whole = (records.fields == width) & (records.edges[:-1] >= start.size)
    is_number = False
    if label is not None and whole.any():
        rows = b"".join(records.text_of(stretch.text, record) for record in np.flatnonzero(whole).tolist())
        is_number = all_numbers(texts_in(rows, stretch.delimiter, width, [label])[0])
    return CsvForm.of(source, stretch.delimiter, opening.names, opening.roles, is_number)


def _part(form: CsvForm, stretch: Stretch, start: Start, before: Place, after: Place, bad_rows: BadRows) -> Part:
    """Read the rows of a stretch: whole, or one by one where that is refused or the lines of the rows are not plain."""
    text = stretch.text[start.size :]
    batch = None if form.matrix else quick_rows(form, text)
    n_lines = stretch.n_lines - start.lines
    # Without quotes only empty lines could make fewer rows than lines.
    if batch is not None and stretch.records is None and batch.num_rows == n_lines:
        numbers = before.line + start.lines + 1 + np.arange(batch.num_rows) if start.lines else None
        return Part(batch, None, numbers, before, after)
    records = stretch.records if stretch.records and not start.size else CsvRecords.of(text, form.delimiter)
    lines = before.line + start.lines + records.lines + 1
    if form.matrix:
        batch, lines = wide_rows(form, text, records, lines, bad_rows)
    elif batch is None or batch.num_rows != records.size:
        batch, lines = careful_rows(form, text, records, lines, bad_rows)
    return Part(batch, None, lines, before, after)


def _is_reached(stretch: Stretch, place: Place, source: str) -> bool:
    if stretch.end < place.offset:
        return False
    if stretch.end == place.offset and stretch.sha256 == place.sha256:
        return True
    raise InputChanged(f"{source}: the first {place.offset} bytes are not those read before")


def _is_header(fields: Sequence[str], source: str) -> bool:
    """Tell whether the first record names the columns: names are words, and a row has numbers or nothing."""
    words = [number_of(name.strip().encode()) is None and name not in MISSING_WORDS for name in fields]
    if any(words) and not all(words):
        raise InputError(f"{source}: the first line has words and numbers; say whether it is a header")
    return all(words)
