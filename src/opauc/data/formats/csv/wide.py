"""Rows of comma-separated text with thousands of columns of numbers, read without an array for each."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from opauc.data.bad_rows import BadRows
from opauc.data.formats.csv.faults import RecordFaults
from opauc.data.formats.csv.fields import COMMA_AS_POINT, fields_of, number_or_reason
from opauc.data.formats.csv.records import CsvRecords
from opauc.data.formats.csv.values import CsvForm, careful_columns, field_begins
from opauc.data.kernels.csv import read_fields
from opauc.types import Floats


@dataclass(frozen=True, eq=False)
class WideTable:
    """Rows whose columns of numbers are one matrix, missing values as nan; other columns are as in any table."""

    names: list[str]  # of all columns, in their order in the source
    numeric: list[str]  # of the columns of the matrix
    numbers: Floats
    others: pa.RecordBatch | None  # the label and the categories; None where there are none

    @property
    def num_rows(self) -> int:
        """Number of rows."""
        return len(self.numbers)


def wide_rows(
    form: CsvForm, text: bytes, records: CsvRecords, faults: RecordFaults, bad_rows: BadRows
) -> tuple[WideTable, NDArray[np.int64]]:
    """Return the rows of `text` that are clear and which records they are; the others are met in their order."""
    others = careful_columns(form, text, records, faults) if form.positions else []
    numbers = _numbers(form, text + b"\n", records.edges[:-1][faults.whole], faults)
    clear = faults.clear(bad_rows)
    if not clear.all():
        numbers, others = numbers[clear], [column.filter(pa.array(clear)) for column in others]
    names = [form.names[position] for position in sorted({*form.positions, *form.matrix})]
    batch = pa.RecordBatch.from_arrays(others, schema=form.schema) if others else None
    table = WideTable(names, [form.names[position] for position in form.matrix], numbers, batch)
    return table, faults.whole[clear]


def _numbers(form: CsvForm, text: bytes, starts: NDArray[np.int64], faults: RecordFaults) -> Floats:
    """Return the matrix of the records that begin at `starts`; the text ends in an end of line."""
    decimal = form.spelling.decimal
    pointed = text if decimal == "." else text.translate(COMMA_AS_POINT)
    data, columns = np.frombuffer(pointed, np.uint8), np.array(form.matrix)
    begins = field_begins(form, data, starts)
    out, undecided = np.empty((starts.size, columns.size)), np.zeros((starts.size, columns.size), np.bool_)
    read_fields(data, begins, columns, out, undecided)
    missing = np.isnan(out) & ~undecided
    # By columns, as tables of few columns are looked through.
    for column, row in np.argwhere(undecided.T).tolist():
        position = form.matrix[column]
        [field] = fields_of(text[begins[row, position] : begins[row, position + 1] - 1], form.delimiter)
        value, reason = number_or_reason(field, decimal)
        out[row, column] = math.nan if value is None else value
        missing[row, column] = value is None and reason is None
        if reason is not None:
            faults.add_word(row, reason, form.names[position])
    for column in np.flatnonzero(missing.any(axis=0)).tolist():
        faults.note_missing(form.names[form.matrix[column]])
    return out
