"""Tables with commas, tabs, semicolons, bars or blanks between columns as batches of a table, a block at a time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from opauc.core.batch import Part, Place
from opauc.data.bad_rows import BadRows
from opauc.data.columns import TableColumns
from opauc.data.formats.csv.faults import RecordFaults
from opauc.data.formats.csv.header import Beginning, Opening
from opauc.data.formats.csv.records import DELIMITERS, CsvRecords, Stretch, whole_records
from opauc.data.formats.csv.values import (
    CsvForm,
    Inferred,
    Spelling,
    careful_rows,
    kept_texts,
    quick_rows,
    texts_in,
    texts_of,
)
from opauc.data.formats.csv.wide import wide_rows
from opauc.data.sources import ByteSource
from opauc.errors import InputChangedError, InputError


class Start(NamedTuple):
    """Bytes and lines of a stretch before its first row."""

    size: int = 0
    lines: int = 0


class Known(NamedTuple):
    """What the first record tells, and how all are to be read, once that is known."""

    opening: Opening | None = None
    form: CsvForm | None = None


class Span(NamedTuple):
    """The places before and after a stretch, and whether missing values are worth a word beside columns of words."""

    before: Place
    after: Place
    missing_too: bool


@dataclass(frozen=True)
class CsvReader:
    """Tables as text, one record a line unless a quoted field holds an end of line.

    Features are numbers, in float64, unless declared categorical; True is 1 and
    False 0. Labels are numbers if all of the first block are, and exact, truth
    values if all are, else words. Numbers are missing where the field is empty or
    says NA, N/A, NaN, nan, null, NULL, None, ? or -; what cannot be read is a bad
    row. A first column without a name and with no value twice, as `DataFrame.to_csv`
    writes it, is left out; others without a name, or with one that another has too,
    get one as pandas gives it. Words that are not in UTF-8 are read as Windows-1252.
    A warning says so. An open quote at the end of the source is an error always,
    because nobody can tell how many rows it swallowed.

    Parameters
    ----------
    columns : TableColumns
        The label, the features and which of them are categorical.
    delimiter : str, optional
        By default tab for names that end in .tsv or .tab, else the one of comma,
        tab, semicolon and bar that the first line has most of, or any run of blanks.
    header : bool, optional
        Whether the first line names the columns; columns without names are called
        by their positions, from "0" on. None means that a line of words is a
        header, a line of numbers is not, and any other is an error.
    decimal : {".", ","}
        What stands before the decimals of a number.
    missing : {"error", "zero", "mean"}
        What will become of missing values: where they are refused, a message about
        columns of words names the columns with missing values too.

    Examples
    --------
    >>> import tempfile
    >>> from opauc.data.bad_rows import BadRows
    >>> from opauc.data.sources import ByteSource
    >>> from opauc.data.formats.csv.reader import CsvReader
    >>> from opauc.core.batch import BEGINNING
    >>> with tempfile.NamedTemporaryFile(suffix=".csv") as file:
    ...     _ = file.write(b"size;label\\n1.5;yes\\n2;no\\n"), file.flush()
    ...     [part] = CsvReader().parts(ByteSource(file.name), BEGINNING, BadRows())
    >>> part.rows.to_pydict(), part.lines
    ({'size': [1.5, 2.0], 'label': ['yes', 'no']}, array([2, 3]))
    """

    columns: TableColumns = field(default_factory=TableColumns)
    delimiter: str | None = None
    header: bool | None = True
    decimal: str = "."
    missing: str = "error"

    def __post_init__(self) -> None:
        if self.decimal == "," == self.delimiter:
            raise ValueError("delimiter and decimal cannot both be a comma")
        if self.delimiter is not None and (len(self.delimiter.encode()) != 1 or self.delimiter in '"\r\n'):
            raise ValueError(f"delimiter must be one ASCII character, no quote and no end of line: {self.delimiter!r}")

    def parts(self, source: ByteSource, place: Place, bad_rows: BadRows) -> Iterator[Part]:
        """Yield the rows of each block of `source` from `place` on.

        Whatever the place, the source is read from its beginning: there the names
        and the kind of the labels stand, and what was read before is compared.
        """
        opening, form = Known()
        before, reached, missing_too = place, place.offset == 0, self.missing == "error"
        for stretch, start, known in self._stretches(source):
            opening, form = known
            after = Place(stretch.end, before.line + stretch.n_lines, stretch.sha256)
            if not reached:
                reached = _is_reached(stretch, place, source.name)
                continue
            if form is not None:
                yield _part(form, stretch, start, Span(before, after, missing_too), bad_rows)
            before = after
        if not reached:
            raise InputChangedError(f"{source.name}: ends before the place to go on from")
        if source.byte_range is not None and source.byte_range.begin:
            return
        if opening is None:
            raise InputError(f"{source.name}: there is nothing in it")
        if form is None and not place.offset:
            form = CsvForm.of(source.name, Spelling(), opening.names, opening.columns, Inferred())
            nothing = Stretch(b"", DELIMITERS[0], None, 0, before.offset, before.sha256)
            yield _part(form, nothing, Start(), Span(place, before, missing_too), bad_rows)

    def has_header(self, source: ByteSource) -> bool:
        """Tell whether the first record names the columns, as it is said or as the first block shows."""
        if self.header is not None:
            return self.header
        for stretch in whole_records(source, self.delimiter, self.decimal):
            records = stretch.records or CsvRecords.of(stretch.text, stretch.delimiter)
            if records.size:
                return Beginning.of(source.name, stretch, records, self.decimal, 0).has_header(self.columns)
        return False

    def _stretches(self, source: ByteSource) -> Iterator[tuple[Stretch, Start, Known]]:
        """Yield the stretches of a source, where their rows start and what is known of these by then."""
        opening, form = None, None
        if (
            source.byte_range is not None and source.byte_range.begin
        ):  # what is known of rows further on, the beginning tells
            head = ByteSource(source.path, source.block_bytes)
            opening, form = next((known for *_, known in self._stretches(head) if known.form), Known())
        passed, delimiter = 0, self.delimiter if form is None else form.delimiter
        for stretch in whole_records(source, delimiter, self.decimal):
            start = Start()
            if form is None:
                records = stretch.records or CsvRecords.of(stretch.text, stretch.delimiter)
                first = Beginning.of(source.name, stretch, records, self.decimal, passed) if records.size else None
                if opening is None and first is not None:
                    opening = first.opening(self.columns, self.header, self.missing == "error")
                    start = _after_header(stretch, records) if opening.header else start
                if opening is not None and first is not None and start.size < len(stretch.text):
                    form = first.form(opening, start.size)
                passed += stretch.n_lines
            yield stretch, start, Known(opening, form)


def _after_header(stretch: Stretch, records: CsvRecords) -> Start:
    if records.size > 1:
        return Start(int(records.edges[1]), int(records.lines[1]))
    return Start(len(stretch.text), stretch.n_lines)


def _part(form: CsvForm, stretch: Stretch, start: Start, span: Span, bad_rows: BadRows) -> Part:
    """Read the rows of a stretch: whole, or one by one where that is refused or the lines of the rows are not plain."""
    text, (before, after, missing_too) = stretch.text[start.size :], span
    batch = None if form.matrix else quick_rows(form, text)
    n_lines = stretch.n_lines - start.lines
    # Without quotes only empty lines could make fewer rows than lines.
    if batch is not None and stretch.records is None and batch.num_rows == n_lines:
        numbers = before.line + start.lines + 1 + np.arange(batch.num_rows) if start.lines else None
        kept = kept_texts(form, texts_in(text, form.delimiter, form.width, form.kept)) if form.kept else None
        return Part(batch, None, numbers, before, after, form.columns, kept)
    records = stretch.records if stretch.records and not start.size else CsvRecords.of(text, form.delimiter)
    lines, chosen = before.line + start.lines + records.lines + 1, np.arange(records.size)
    faults = RecordFaults(form.source, records.fields, form.width, lines, missing_too)
    if form.matrix:
        batch, chosen = wide_rows(form, text, records, faults, bad_rows)
    elif batch is None or batch.num_rows != records.size:
        batch, chosen = careful_rows(form, text, records, faults, bad_rows)
    kept = kept_texts(form, texts_of(form, text, records, chosen, form.kept)) if form.kept else None
    return Part(batch, None, lines[chosen], before, after, form.columns, kept)


def _is_reached(stretch: Stretch, place: Place, source: str) -> bool:
    if stretch.end < place.offset:
        return False
    if stretch.end == place.offset and stretch.sha256 == place.sha256:
        return True
    raise InputChangedError(f"{source}: the first {place.offset} bytes are not those read before")
