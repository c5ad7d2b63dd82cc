"""Rows of comma-separated text with thousands of columns of numbers, read without an array for each."""

from __future__ import annotations

import math

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from opauc.kernels.text.csv_fields import read_fields
from opauc.reading.bad_rows import BadRows
from opauc.reading.csv_faults import RecordFaults
from opauc.reading.csv_field import COMMA_AS_POINT, fields_of, number_or_reason
from opauc.reading.csv_records import CsvRecords
from opauc.reading.csv_values import CsvForm, careful_columns, field_begins
from opauc.reading.wide_table import WideTable
from opauc.rows import Floats


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
