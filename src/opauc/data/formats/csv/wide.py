"""CSV rows with thousands of columns of numbers, read as one matrix instead of an array per column."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from opauc.data.bad_rows import BadRows
from opauc.data.formats.csv.fields import RecordErrors, decode_field, show_field, split_record
from opauc.data.formats.csv.records import CsvRecords
from opauc.data.formats.csv.values import CsvLayout, field_begins, parse_columns
from opauc.data.kernels.csv import read_fields
from opauc.data.schema.numbers import POINT, is_missing, parse_number
from opauc.types import Floats

SWAP_SEPARATORS = bytes.maketrans(b",.", b".,")


@dataclass(frozen=True, eq=False)
class WideTable:
    """Rows whose columns of numbers are one matrix, missing values as nan; the other columns are an Arrow batch."""

    names: list[str]  # of all columns, in their order in the source
    numeric: list[str]  # of the columns of the matrix
    numbers: Floats
    others: pa.RecordBatch | None  # the label, the categories and numbers in formats of their own; None without any

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return self.num_rows, len(self.names)

    @property
    def num_rows(self) -> int:
        """Number of rows."""
        return len(self.numbers)


def read_wide_rows(
    layout: CsvLayout, text: bytes, records: CsvRecords, errors: RecordErrors, bad_rows: BadRows
) -> tuple[WideTable, NDArray[np.int64]]:
    """Return the good rows of `text` and the records they come from; bad ones are raised or skipped in their order."""
    others = parse_columns(layout, text, records, errors) if layout.positions else []
    numbers = _read_matrix(layout, text + b"\n", records.edges[:-1][errors.complete], errors)
    good = errors.handle(bad_rows)
    if not good.all():
        numbers, others = numbers[good], [column.filter(pa.array(good)) for column in others]
    names = [layout.names[position] for position in sorted({*layout.positions, *layout.matrix})]
    batch = pa.RecordBatch.from_arrays(others, schema=layout.schema) if others else None
    table = WideTable(names, [layout.names[position] for position in layout.matrix], numbers, batch)
    return table, errors.complete[good]


def _read_matrix(layout: CsvLayout, text: bytes, starts: NDArray[np.int64], errors: RecordErrors) -> Floats:
    """Return the matrix of the records that begin at `starts`; the text ends in an end of line."""
    pointed = text if layout.decimal == POINT else text.translate(SWAP_SEPARATORS)
    data, columns = np.frombuffer(pointed, np.uint8), np.array(layout.matrix)
    begins = field_begins(layout, np.frombuffer(text, np.uint8), starts)
    out, undecided = np.empty((starts.size, columns.size)), np.zeros((starts.size, columns.size), np.bool_)
    read_fields(data, begins, columns, out, undecided)
    missing = np.isnan(out) & ~undecided
    # By columns, in the order in which narrow tables report errors.
    for column, row in np.argwhere(undecided.T).tolist():
        position = layout.matrix[column]
        [field] = split_record(text[begins[row, position] : begins[row, position + 1] - 1], layout.delimiter)
        string = decode_field(field)
        missing[row, column] = is_missing(string)
        out[row, column] = np.nan if missing[row, column] else parse_number(string, layout.decimal)
        if np.isnan(out[row, column]) and not missing[row, column]:
            errors.add_text(row, f"{show_field(field)} is not a number", layout.names[position])
    for column in np.flatnonzero(missing.any(axis=0)).tolist():
        errors.add_missing(layout.names[layout.matrix[column]])
    return out
