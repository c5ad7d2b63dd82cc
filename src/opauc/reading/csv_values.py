"""Rows of comma-separated text: read by pyarrow, and looked at one by one where it refuses them."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pyarrow import csv

from opauc.errors import MalformedRow
from opauc.reading.bad_rows import BadRows
from opauc.reading.csv_records import BYTE_ORDER_MARK, CsvRecords
from opauc.reading.table_columns import ColumnRoles

# Words that stand for a missing number; among categories only the empty word does.
MISSING_WORDS = ("", "NA", "N/A", "NaN", "nan", "null", "NULL", "?")
MISSING_BYTES = frozenset(word.encode() for word in MISSING_WORDS)
NUMBER = re.compile(rb"[+-]?(?:(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?|inf|infinity)", re.IGNORECASE)
# pyarrow also takes what the C standard lets a nan say of itself.
NOT_A_NUMBER = re.compile(rb"[+-]?nan(?:\(\w*\))?", re.IGNORECASE)
# pyarrow parses pieces of this size nearly twice as fast as a block in one piece: what it parses stays in cache.
PIECE_BYTES = 2**19
SHOWN = 40
FEATURE_ADVICE = "; a column of words must be declared categorical"
LABEL_ADVICE = ", as the labels at the beginning are"


@dataclass(frozen=True)
class CsvForm:
    """How the text of one source is to be read; told by its beginning and fixed from then on."""

    source: str
    delimiter: str
    width: int
    positions: tuple[int, ...]  # of the columns that are read
    label: int | None
    schema: pa.Schema  # their names and types

    @classmethod
    def of(
        cls, source: str, delimiter: str, names: Sequence[str], roles: ColumnRoles, label_is_number: bool
    ) -> CsvForm:
        """Return the form of a text with columns of these names."""
        words = {*roles.categorical, *([] if label_is_number or roles.label is None else [roles.label])}
        used = roles.used()
        kinds = [(names[position], pa.string() if position in words else pa.float64()) for position in used]
        return cls(source, delimiter, len(names), used, roles.label, pa.schema(kinds))


def quick_rows(form: CsvForm, text: bytes) -> pa.RecordBatch | None:
    """Return the rows of `text`, or None where pyarrow refuses some."""
    types = dict(zip(map(str, form.positions), form.schema.types, strict=True))
    for piece_bytes in (PIECE_BYTES, len(text) + 2):
        try:
            table = _parsed(text, form.delimiter, form.width, types, piece_bytes)
        except pa.ArrowInvalid as error:
            if "straddling" in str(error):  # a record is longer than a piece
                continue
            return None
        columns = [column.combine_chunks() for column in table.columns]
        return pa.RecordBatch.from_arrays(columns, schema=form.schema)
    return None


def texts_in(text: bytes, delimiter: str, n_columns: int) -> list[pa.BinaryArray]:
    """Return the fields of records that all have `n_columns` of them, as bytes, a column at a time."""
    types = {str(position): pa.binary() for position in range(n_columns)}
    return [column.combine_chunks() for column in _parsed(text, delimiter, n_columns, types, len(text) + 2).columns]


def _parsed(text: bytes, delimiter: str, n_columns: int, types: dict[str, pa.DataType], piece_bytes: int) -> pa.Table:
    # An empty line is passed over; without it pyarrow would pass over a byte order mark in the midst of the text.
    start = b"\n" if text.startswith(BYTE_ORDER_MARK) else b""
    return csv.read_csv(
        pa.py_buffer(start + text),
        csv.ReadOptions(
            use_threads=False, block_size=piece_bytes, column_names=[str(position) for position in range(n_columns)]
        ),
        csv.ParseOptions(delimiter=delimiter, newlines_in_values=True),
        csv.ConvertOptions(
            column_types=types, include_columns=list(types), null_values=MISSING_WORDS, strings_can_be_null=False
        ),
    )


def careful_rows(
    form: CsvForm, text: bytes, records: CsvRecords, lines: NDArray[np.int64], bad_rows: BadRows
) -> tuple[pa.RecordBatch, NDArray[np.int64]]:
    """Return the rows of `text` that are clear and the line of each; the others are met in their order."""
    width = form.width
    whole = np.flatnonzero(records.fields == width)
    complaints = {
        int(record): MalformedRow(form.source, int(lines[record]), _miscounted(records.fields[record], width))
        for record in np.flatnonzero(records.fields != width)
    }
    if complaints:
        text = b"".join(records.text_of(text, record) for record in whole.tolist())
    columns = []
    texts = texts_in(text, form.delimiter, width) if whole.size else [pa.array([], pa.binary())] * width
    for position, wanted in zip(form.positions, form.schema, strict=True):
        values, faults = _values(texts[position], wanted.type)
        advice = "" if wanted.type == pa.string() else LABEL_ADVICE if position == form.label else FEATURE_ADVICE
        columns.append(values)
        for row, reason in faults.items():
            record = int(whole[row])
            complaint = MalformedRow(form.source, int(lines[record]), reason + advice, column=wanted.name)
            complaints.setdefault(record, complaint)
    for record in sorted(complaints):
        bad_rows.meet(complaints[record])
    clear = np.array([record not in complaints for record in whole.tolist()], dtype=bool)
    batch = pa.RecordBatch.from_arrays(columns, schema=form.schema).filter(pa.array(clear))
    return batch, lines[whole[clear]]


def all_numbers(texts: pa.BinaryArray) -> bool:
    """Tell whether a column holds numbers and nothing else but missing ones."""
    words = [word for word in (text.strip(b" \t") for text in texts.to_pylist()) if word not in MISSING_BYTES]
    return bool(words) and all(number_of(word) is not None for word in words)


def number_of(word: bytes) -> float | None:
    """Return the number that a word says, None where it says none."""
    if NOT_A_NUMBER.fullmatch(word):
        return math.nan
    return float(word) if NUMBER.fullmatch(word) else None


def _values(texts: pa.BinaryArray, kind: pa.DataType) -> tuple[pa.Array, dict[int, str]]:
    """Return a column converted, and the reason of each row where that cannot be; there the value is missing."""
    try:
        return pc.cast(pc.cast(texts, pa.string()), kind), {}
    except pa.ArrowInvalid:
        convert = _text_or_reason if kind == pa.string() else _number_or_reason
    values, faults = [], {}
    for row, text in enumerate(texts.to_pylist()):
        value, reason = convert(text)
        values.append(value)
        if reason is not None:
            faults[row] = reason
    return pa.array(values, kind), faults


def _number_or_reason(text: bytes) -> tuple[float | None, str | None]:
    word = text.strip(b" \t")
    if word in MISSING_BYTES:
        return None, None
    number = number_of(word)
    if number is None:
        return None, f"{shown(text)} is not a number"
    return number, None


def _text_or_reason(text: bytes) -> tuple[str | None, str | None]:
    if valid_text(text):
        return text.decode(), None
    return None, f"{shown(text)} is not UTF-8 text"


def valid_text(text: bytes) -> bool:
    """Tell whether bytes are UTF-8."""
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return True


def _miscounted(found: int, width: int) -> str:
    return f"{found} field{'s' if found > 1 else ''}, expected {width}"


def shown(text: bytes) -> str:
    """Return a field as a message shows it, cut where it is long."""
    cut = text if len(text) <= SHOWN else text[: SHOWN - 3] + b"..."
    try:
        return repr(cut.decode())
    except UnicodeDecodeError:
        return repr(cut)[1:]
