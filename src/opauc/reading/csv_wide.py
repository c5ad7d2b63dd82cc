"""Rows of comma-separated text with thousands of columns of numbers, read without an array for each."""

from __future__ import annotations

import math

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from opauc.kernels.text.csv_fields import find_fields, read_fields
from opauc.reading.bad_rows import BadRows
from opauc.reading.csv_records import CsvRecords
from opauc.reading.csv_values import (
    FEATURE_ADVICE,
    CsvForm,
    RecordFaults,
    careful_columns,
    fields_of,
    number_or_reason,
)
from opauc.reading.wide_table import WideTable
from opauc.rows import Floats


def wide_rows(
    form: CsvForm, text: bytes, records: CsvRecords, lines: NDArray[np.int64], bad_rows: BadRows
) -> tuple[WideTable, NDArray[np.int64]]:
    """Return the rows of `text` that are clear and the line of each; the others are met in their order."""
    faults = RecordFaults(form, records, lines)
    others = careful_columns(form, text, records, faults) if form.positions else []
    numbers = _numbers(form, text + b"\n", records.edges[:-1][faults.whole], faults)
    clear = faults.clear(bad_rows)
    if not clear.all():
        numbers, others = numbers[clear], [column.filter(pa.array(clear)) for column in others]
    names = [form.names[position] for position in sorted({*form.positions, *form.matrix})]
    batch = pa.RecordBatch.from_arrays(others, schema=form.schema) if others else None
    table = WideTable(names, [form.names[position] for position in form.matrix], numbers, batch)
    return table, lines[faults.whole[clear]]


def _numbers(form: CsvForm, text: bytes, starts: NDArray[np.int64], faults: RecordFaults) -> Floats:
    """Return the matrix of the records that begin at `starts`; the text ends in an end of line."""
    data, columns = np.frombuffer(text, np.uint8), np.array(form.matrix)
    begins = np.empty((starts.size, form.width + 1), np.int32 if len(text) < 2**31 else np.int64)
    find_fields(data, ord(form.delimiter), starts, begins)
    out, undecided = np.empty((starts.size, columns.size)), np.zeros((starts.size, columns.size), np.bool_)
    read_fields(data, begins, columns, out, undecided)
    for row, column in np.argwhere(undecided).tolist():
        position = form.matrix[column]
        [field] = fields_of(text[begins[row, position] : begins[row, position + 1] - 1], form.delimiter)
        value, reason = number_or_reason(field)
        out[row, column] = math.nan if value is None else value
        if reason is not None:
            faults.add(row, reason + FEATURE_ADVICE, form.names[position])
    return out
