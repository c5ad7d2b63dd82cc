"""The CSV reader: text tables as Arrow batches, one block at a time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from opauc.core.batch import Position, RawBatch
from opauc.data.bad_rows import BadRows
from opauc.data.columns import TableColumns
from opauc.data.formats.csv.fields import RecordErrors
from opauc.data.formats.csv.header import CsvHeader, FirstRecords
from opauc.data.formats.csv.records import DELIMITERS, CsvBlock, CsvRecords, whole_records
from opauc.data.formats.csv.values import (
    CsvLayout,
    passthrough_batch,
    read_columns,
    read_fast,
    read_rows,
    select_fields,
)
from opauc.data.formats.csv.wide import read_wide_rows
from opauc.data.sources import ByteSource
from opauc.errors import InputChangedError, InputError


@dataclass(frozen=True)
class CsvReader:
    """Text tables, one record per line unless a quoted field contains an end of line.

    Features are numbers, in float64, unless declared categorical; True is 1 and
    False 0. Numbers and missing-value markers follow `opauc.data.schema.numbers`:
    pyarrow parses plain numbers, and for columns such as "$1,200" the number
    format is inferred from the first rows. Labels are numbers if all of the first
    block are plain and exact, booleans if all are, else strings. A value that
    cannot be read makes a bad row.

    A first column without a name and without repeated values, as
    `DataFrame.to_csv` writes it, is dropped; other columns without a name, or
    with one that is taken, are named as pandas does. Strings that are not in
    UTF-8 are read as Windows-1252. Each of these gives a warning. A quote that is
    still open at the end of the source is always an error: nobody can tell how
    many rows it swallowed.

    Parameters
    ----------
    columns : TableColumns
        The label, the features and which of them are categorical.
    delimiter : str, optional
        By default tab for names that end in .tsv or .tab, else the one of comma,
        tab, semicolon and bar that the first line has most of, or any run of blanks.
    header : bool, optional
        Whether the first line names the columns; without names columns are called
        by their positions, from "0" on. None means that a line of strings is a
        header, a line of numbers is not, and any other is an error.
    decimal : {".", ","}, optional
        The decimal separator. By default it is inferred for each column (see
        `opauc.data.schema.numbers.infer_number_format`).
    missing : {"error", "zero", "mean"}
        How missing values are treated later: with "error", a message about text
        columns also names the columns with missing values.

    Examples
    --------
    >>> import tempfile
    >>> from opauc.data.bad_rows import BadRows
    >>> from opauc.data.sources import ByteSource
    >>> from opauc.data.formats.csv.reader import CsvReader
    >>> from opauc.core.batch import BEGINNING
    >>> with tempfile.NamedTemporaryFile(suffix=".csv") as file:
    ...     _ = file.write(b"size;label\\n1.5;yes\\n2;no\\n"), file.flush()
    ...     [batch] = CsvReader().batches(ByteSource(file.name), BEGINNING, BadRows())
    >>> batch.rows.to_pydict(), batch.lines
    ({'size': [1.5, 2.0], 'label': ['yes', 'no']}, array([2, 3]))
    """

    columns: TableColumns = field(default_factory=TableColumns)
    delimiter: str | None = None
    header: bool | None = True
    decimal: str | None = None
    missing: str = "error"

    def __post_init__(self) -> None:
        if self.decimal == "," == self.delimiter:
            raise ValueError("delimiter and decimal cannot both be a comma")
        if self.delimiter is not None and (len(self.delimiter.encode()) != 1 or self.delimiter in '"\r\n'):
            raise ValueError(f"delimiter must be one ASCII character, no quote and no end of line: {self.delimiter!r}")

    def batches(self, source: ByteSource, position: Position, bad_rows: BadRows) -> Iterator[RawBatch]:
        """Yield the rows of each block of `source` from `position` on.

        The source is always read from its beginning, which has the names of the
        columns and the type of the labels; what was read before is compared by hash.
        """
        header, layout = None, None
        before, reached = position, position.offset == 0
        for block, header, layout in self._blocks(source):  # noqa: B007
            after = Position(block.end, before.line + block.n_lines, block.sha256)
            if not reached:
                reached = _is_reached(block, position, source.name)
                continue
            if layout is not None:
                yield self._read_block(layout, block, before, after, bad_rows)
            before = after
        if not reached:
            raise InputChangedError(f"{source.name}: ends before the position to resume from")
        if source.byte_range is not None and source.byte_range.begin:
            return
        if header is None:
            raise InputError(f"{source.name}: there is nothing in it")
        if layout is None and not position.offset:  # a table without rows
            layout = CsvLayout.of(source.name, header.names, header.columns)
            empty = CsvBlock(b"", DELIMITERS[0], None, 0, before.offset, before.sha256)
            yield self._read_block(layout, empty, position, before, bad_rows)

    def has_header(self, source: ByteSource) -> bool:
        """Tell whether the first record names the columns, as the user says or as the first block shows."""
        if self.header is not None:
            return self.header
        for block in whole_records(source, self.delimiter, self.decimal):
            records = block.records or CsvRecords.of(block.text, block.delimiter)
            if records.size:
                return FirstRecords.of(source.name, block, records, self.decimal).has_header(self.columns)
        return False

    def _blocks(self, source: ByteSource) -> Iterator[tuple[CsvBlock, CsvHeader | None, CsvLayout | None]]:
        """Yield the blocks of a source, with the header and the layout once they have been read."""
        header, layout = None, None
        if source.byte_range is not None and source.byte_range.begin:  # header and layout are those of the whole file
            head = self._blocks(ByteSource(source.path, source.block_bytes))
            header, layout = next(((header, layout) for _, header, layout in head if layout), (None, None))
        delimiter = self.delimiter if layout is None else layout.delimiter
        for block in whole_records(source, delimiter, self.decimal):
            if layout is None:
                records = block.records or CsvRecords.of(block.text, block.delimiter)
                if records.size:
                    first = FirstRecords.of(source.name, block, records, self.decimal)
                    if header is None:
                        header = first.header(self.columns, self.header, self.missing == "error")
                        block = block.after_header(records) if header.is_header else block
                    if block.header_bytes < len(block.text):
                        layout = first.layout(header, block.header_bytes)
            yield block, header, layout

    def _read_block(
        self, layout: CsvLayout, block: CsvBlock, before: Position, after: Position, bad_rows: BadRows
    ) -> RawBatch:
        """Read the rows of a block: all at once, or record by record where some are bad or span several lines."""
        text = block.text[block.header_bytes :]
        rows = None if layout.matrix else read_fast(layout, text)
        first_line = before.line + block.header_lines + 1
        passthrough = None
        # Without quotes only empty lines could make fewer rows than lines.
        if rows is not None and block.records is None and rows.num_rows == block.n_lines - block.header_lines:
            lines = first_line + np.arange(rows.num_rows) if block.header_lines else None
            if layout.passthrough:
                texts = read_columns(text, layout.delimiter, layout.width, layout.passthrough)
                passthrough = passthrough_batch(layout, texts)
            return RawBatch(rows, None, lines, before, after, layout.columns, passthrough)
        records = block.records if block.records and not block.header_bytes else CsvRecords.of(text, layout.delimiter)
        lines, chosen = first_line + records.lines, np.arange(records.size)
        errors = RecordErrors(layout.source, records.fields, layout.names, lines, self.missing == "error")
        if layout.matrix:
            rows, chosen = read_wide_rows(layout, text, records, errors, bad_rows)
        elif rows is None or rows.num_rows != records.size:
            rows, chosen = read_rows(layout, text, records, errors, bad_rows)
        if layout.passthrough:
            passthrough = passthrough_batch(layout, select_fields(layout, text, records, chosen, layout.passthrough))
        return RawBatch(rows, None, lines[chosen], before, after, layout.columns, passthrough)


def _is_reached(block: CsvBlock, position: Position, source: str) -> bool:
    if block.end < position.offset:
        return False
    if block.end == position.offset and block.sha256 == position.sha256:
        return True
    raise InputChangedError(f"{source}: the first {position.offset} bytes are not those read before")
