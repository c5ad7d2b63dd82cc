"""Rows of comma-separated text: read by pyarrow, and looked at one by one where it refuses them."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
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
WHOLE_NUMBER = re.compile(rb"[+-]?0*+(\d++)")
# Up to here float64 has every whole number; beyond, labels that differ would become one.
MOST_EXACT = 2**53
SHOWN = 40
# pyarrow takes some 7 kB for each column: more of them are read as a matrix.
MOST_NARROW = 2000
FEATURE_ADVICE = "; a column of words must be declared categorical"
LABEL_ADVICE = ", as the labels at the beginning are"


@dataclass(frozen=True)
class CsvForm:
    """How the text of one source is to be read; inferred from its beginning and fixed from then on."""

    source: str
    delimiter: str
    names: list[str]  # of all columns of the text
    positions: tuple[int, ...]  # of the columns that are read one by one
    label: int | None
    schema: pa.Schema  # their names and types
    matrix: tuple[int, ...] = ()  # positions of columns that are read as one matrix: those of numbers, if many

    @classmethod
    def of(cls, source: str, delimiter: str, names: list[str], roles: ColumnRoles, label_is_number: bool) -> CsvForm:
        """Return the form of a text with columns of these names."""
        words = {*roles.categorical, *([] if label_is_number or roles.label is None else [roles.label])}
        matrix = tuple(sorted(roles.numeric)) if len(roles.numeric) > MOST_NARROW else ()
        positions = roles._replace(numeric=()).used() if matrix else roles.used()
        kinds = [(names[position], pa.string() if position in words else pa.float64()) for position in positions]
        return cls(source, delimiter, names, positions, roles.label, pa.schema(kinds), matrix)

    @property
    def width(self) -> int:
        """Number of fields in a record."""
        return len(self.names)


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
        batch = pa.RecordBatch.from_arrays(columns, schema=form.schema)
        return None if _has_large_labels(form, batch) else batch
    return None


def _has_large_labels(form: CsvForm, batch: pa.RecordBatch) -> bool:
    """Tell whether some labels are so large that their text has to be looked at."""
    if form.label is None:
        return False
    labels = batch.column(form.positions.index(form.label))
    return labels.type == pa.float64() and (pc.max(pc.abs(labels)).as_py() or 0.0) >= MOST_EXACT


def fields_of(record: bytes, delimiter: str) -> list[bytes]:
    """Return the fields of one record.

    >>> from opauc.reading.csv_values import fields_of
    >>> fields_of(b'1,"2,3",\\r\\n', ",")
    [b'1', b'2,3', b'']
    """
    end = delimiter.encode()
    field = re.compile(rb'(?:"((?:[^"]|"")*+)")?([^%b]*+)%b' % (re.escape(end), re.escape(end)))
    found = field.finditer(record.rstrip(b"\r\n") + end)
    return [(field[1] or b"").replace(b'""', b'"') + field[2] for field in found]


def texts_in(text: bytes, delimiter: str, n_columns: int, wanted: Iterable[int]) -> list[pa.BinaryArray]:
    """Return the fields of the wanted columns, as bytes, of records that all have `n_columns` of them."""
    types = {str(position): pa.binary() for position in wanted}
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
    faults = RecordFaults(form, records, lines)
    columns = careful_columns(form, text, records, faults)
    clear = faults.clear(bad_rows)
    batch = pa.RecordBatch.from_arrays(columns, schema=form.schema).filter(pa.array(clear))
    return batch, lines[faults.whole[clear]]


class RecordFaults:
    """The first complaint about each record of some text; `whole` are those with as many fields as there should be."""

    def __init__(self, form: CsvForm, records: CsvRecords, lines: NDArray[np.int64]) -> None:
        self._source, self._lines = form.source, lines
        self.whole = np.flatnonzero(records.fields == form.width)
        self._complaints = {
            int(record): MalformedRow(form.source, int(lines[record]), _miscounted(records.fields[record], form.width))
            for record in np.flatnonzero(records.fields != form.width)
        }

    def add(self, row: int, reason: str, column: str) -> None:
        """Complain about one of the whole records."""
        record = int(self.whole[row])
        complaint = MalformedRow(self._source, int(self._lines[record]), reason, column=column)
        self._complaints.setdefault(record, complaint)

    def clear(self, bad_rows: BadRows) -> NDArray[np.bool_]:
        """Meet the bad records in their order; tell which of the whole ones are left."""
        for record in sorted(self._complaints):
            bad_rows.meet(self._complaints[record])
        return np.array([record not in self._complaints for record in self.whole.tolist()], dtype=bool)


def careful_columns(form: CsvForm, text: bytes, records: CsvRecords, faults: RecordFaults) -> list[pa.Array]:
    """Return the columns that are read one by one of all whole records, missing where something is wrong."""
    if not faults.whole.size:
        return [pa.array([], kind) for kind in form.schema.types]
    if faults.whole.size < records.size:
        text = b"".join(records.text_of(text, record) for record in faults.whole.tolist())
    columns = []
    texts = texts_in(text, form.delimiter, form.width, form.positions)
    for position, wanted, found in zip(form.positions, form.schema, texts, strict=True):
        values, reasons = _values(found, wanted.type)
        if position == form.label and wanted.type != pa.string():
            reasons |= _inexact_labels(found)
        advice = "" if wanted.type == pa.string() else LABEL_ADVICE if position == form.label else FEATURE_ADVICE
        columns.append(values)
        for row, reason in reasons.items():
            faults.add(row, reason + advice, wanted.name)
    return columns


def all_numbers(texts: pa.BinaryArray) -> bool:
    """Tell whether a column holds numbers that float64 tells apart, and nothing else but missing ones."""
    words = [word for word in (text.strip(b" \t") for text in texts.to_pylist()) if word not in MISSING_BYTES]
    return bool(words) and all(number_of(word) is not None and not is_inexact(word) for word in words)


def is_inexact(word: bytes) -> bool:
    """Tell whether a word is a whole number beyond those that float64 has all of.

    >>> from opauc.reading.csv_values import is_inexact
    >>> is_inexact(b"9007199254740993"), is_inexact(b"-42"), is_inexact(b"1e300")
    (True, False, False)
    """
    found = WHOLE_NUMBER.fullmatch(word)
    return found is not None and (len(found[1]) > len(str(MOST_EXACT)) or int(found[1]) > MOST_EXACT)


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
        convert = _text_or_reason if kind == pa.string() else number_or_reason
    values, faults = [], {}
    for row, text in enumerate(texts.to_pylist()):
        value, reason = convert(text)
        values.append(value)
        if reason is not None:
            faults[row] = reason
    return pa.array(values, kind), faults


def _inexact_labels(texts: pa.BinaryArray) -> dict[int, str]:
    """Return the reason against each label that float64 would take for another one."""
    return {
        row: f"{shown(text)} is not exact in float64"
        for row, text in enumerate(texts.to_pylist())
        if is_inexact(text.strip(b" \t"))
    }


def number_or_reason(text: bytes) -> tuple[float | None, str | None]:
    """Return the number that a field says, None where it is missing, or what is wrong with it."""
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
