"""Rows of comma-separated text: read by pyarrow, and looked at one by one where it refuses them."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pyarrow import csv

from opauc.data.bad_rows import BadRows
from opauc.data.columns import FoundColumns, TableColumns
from opauc.data.formats.csv.faults import RecordFaults
from opauc.data.formats.csv.fields import (
    FALSE_WORDS,
    MISSING_BYTES,
    MISSING_WORDS,
    MOST_EXACT,
    TRUE_WORDS,
    TRUTHS,
    fields_of,
    is_inexact,
    number_of,
    number_or_reason,
    shown,
    truth_or_reason,
    words_of,
)
from opauc.data.formats.csv.records import BYTE_ORDER_MARK, CsvRecords
from opauc.data.kernels.csv import find_fields

# pyarrow parses pieces of this size nearly twice as fast as a block in one piece: what it parses stays in cache.
PIECE_BYTES = 2**19
# pyarrow takes some 7 kB for each column: more of them are read as a matrix.
MOST_NARROW = 2000
NOT_UTF8 = "some words are not in UTF-8; they are read as Windows-1252"
LABEL_ADVICE = ", as the labels at the beginning are"


class Spelling(NamedTuple):
    """What stands between two fields, and before the decimals of a number."""

    delimiter: str = ","
    decimal: str = "."


class Inferred(NamedTuple):
    """What the first rows tell: the type of the labels, and which columns of numbers say True and False."""

    label: pa.DataType = pa.string()
    truths: frozenset[int] = frozenset()


@dataclass(frozen=True)
class CsvForm:
    """How the text of one source is to be read; inferred from its beginning and fixed from then on."""

    source: str
    names: list[str]  # of all columns of the text
    columns: TableColumns  # what those that are read are, by their names
    positions: tuple[int, ...]  # of the columns that are read one by one
    label: int | None
    schema: pa.Schema  # their names and types
    spelling: Spelling
    truths: frozenset[int]  # positions of columns of numbers that say True and False
    kept: tuple[int, ...]  # positions of the columns that are carried along as text
    matrix: tuple[int, ...]  # positions of columns that are read as one matrix: those of numbers, if many

    @classmethod
    def of(cls, source: str, spelling: Spelling, names: list[str], found: FoundColumns, inferred: Inferred) -> CsvForm:
        """Return the form of a text with columns of these names."""
        roles = found.roles
        raw = roles.numeric if found.by_name.raw else ()
        kinds = dict.fromkeys((*roles.categorical, *raw), pa.string())
        if roles.label is not None:
            kinds[roles.label] = inferred.label
        matrix = tuple(sorted(roles.numeric)) if len(roles.numeric) > MOST_NARROW and not raw else ()
        used = roles._replace(kept=(), numeric=() if matrix else roles.numeric).used()
        schema = pa.schema([(names[position], kinds.get(position, pa.float64())) for position in used])
        return cls(
            source, names, found.by_name, used, roles.label, schema, spelling, inferred.truths, roles.kept, matrix
        )

    @property
    def delimiter(self) -> str:
        """What stands between two fields."""
        return self.spelling.delimiter

    @property
    def width(self) -> int:
        """Number of fields in a record."""
        return len(self.names)


def quick_rows(form: CsvForm, text: bytes) -> pa.RecordBatch | None:
    """Return the rows of `text`, or None where pyarrow refuses some."""
    kinds = zip(form.positions, form.schema.types, strict=True)
    types = {str(position): pa.bool_() if position in form.truths else kind for position, kind in kinds}
    for piece_bytes in (PIECE_BYTES, len(text) + 2):
        try:
            table = _parsed(text, form.spelling, form.width, types, piece_bytes)
        except pa.ArrowInvalid as error:
            if "straddling" in str(error):  # a record is longer than a piece
                continue
            return None
        columns = [column.combine_chunks() for column in table.columns]
        if form.label is not None and form.schema.field(at := form.positions.index(form.label)).type == pa.string():
            columns[at] = _trimmed(columns[at])
        if form.truths:
            columns = [pc.cast(column, kind) for column, kind in zip(columns, form.schema.types, strict=True)]
        batch = pa.RecordBatch.from_arrays(columns, schema=form.schema)
        return None if _has_large_labels(form, batch) else batch
    return None


def _has_large_labels(form: CsvForm, batch: pa.RecordBatch) -> bool:
    """Tell whether some labels are so large that their text has to be looked at."""
    if form.label is None:
        return False
    labels = batch.column(form.positions.index(form.label))
    return labels.type == pa.float64() and (pc.max(pc.abs(labels)).as_py() or 0.0) >= MOST_EXACT


def texts_in(text: bytes, delimiter: str, n_columns: int, wanted: Iterable[int]) -> list[pa.BinaryArray]:
    """Return the fields of the wanted columns, as bytes, of records that all have `n_columns` of them."""
    types = {str(position): pa.binary() for position in wanted}
    parsed = _parsed(text, Spelling(delimiter), n_columns, types, len(text) + 2)
    return [column.combine_chunks() for column in parsed.columns]


def _parsed(
    text: bytes, spelling: Spelling, n_columns: int, types: dict[str, pa.DataType], piece_bytes: int
) -> pa.Table:
    # An empty line is passed over; without it pyarrow would pass over a byte order mark in the midst of the text.
    start = b"\n" if text.startswith(BYTE_ORDER_MARK) else b""
    return csv.read_csv(
        pa.py_buffer(start + text),
        csv.ReadOptions(
            use_threads=False, block_size=piece_bytes, column_names=[str(position) for position in range(n_columns)]
        ),
        csv.ParseOptions(delimiter=spelling.delimiter, newlines_in_values=True),
        csv.ConvertOptions(
            column_types=types,
            include_columns=list(types),
            null_values=MISSING_WORDS,
            strings_can_be_null=False,
            true_values=TRUE_WORDS,
            false_values=FALSE_WORDS,
            decimal_point=spelling.decimal,
        ),
    )


def careful_rows(
    form: CsvForm, text: bytes, records: CsvRecords, faults: RecordFaults, bad_rows: BadRows
) -> tuple[pa.RecordBatch, NDArray[np.int64]]:
    """Return the rows of `text` that are clear and which records they are; the others are met in their order."""
    columns = careful_columns(form, text, records, faults)
    clear = faults.clear(bad_rows)
    batch = pa.RecordBatch.from_arrays(columns, schema=form.schema).filter(pa.array(clear))
    return batch, faults.whole[clear]


def careful_columns(form: CsvForm, text: bytes, records: CsvRecords, faults: RecordFaults) -> list[pa.Array]:
    """Return the columns that are read one by one of all whole records, missing where something is wrong."""
    columns = []
    texts = texts_of(form, text, records, faults.whole, form.positions)
    for position, wanted, found in zip(form.positions, form.schema, texts, strict=True):
        values, reasons = _values(form, found, wanted.type)
        if position == form.label and wanted.type == pa.string():
            values = _trimmed(values)
        columns.append(values)
        if position == form.label:
            reasons |= _inexact_labels(found) if wanted.type == pa.float64() else {}
            advice = "" if wanted.type == pa.string() else LABEL_ADVICE
            for row, reason in reasons.items():
                faults.add(row, reason + advice, wanted.name)
            continue
        complain = faults.add if wanted.type == pa.string() else faults.add_word
        for row, reason in reasons.items():
            complain(row, reason, wanted.name)
        if values.null_count > len(reasons) or (wanted.type == pa.string() and pc.any(pc.equal(values, "")).as_py()):
            faults.note_missing(wanted.name)
    return columns


def texts_of(
    form: CsvForm, text: bytes, records: CsvRecords, chosen: NDArray[np.int64], positions: Sequence[int]
) -> list[pa.BinaryArray]:
    """Return the fields of some columns, as bytes, of the chosen records, which all have as many fields."""
    if not chosen.size or not positions:  # of no positions pyarrow would make all columns
        return [pa.array([], pa.binary()) for _ in positions]
    if form.width > MOST_NARROW:
        return _wide_texts(form, text + b"\n", records.edges[:-1][chosen], positions)
    first, last = int(chosen[0]), int(chosen[-1])
    if chosen.size <= last - first:
        text = b"".join(records.text_of(text, record) for record in chosen.tolist())
    else:
        text = text[records.edges[first] : records.edges[last + 1]]
    return texts_in(text, form.delimiter, form.width, positions)


def _wide_texts(
    form: CsvForm, text: bytes, starts: NDArray[np.int64], positions: Sequence[int]
) -> list[pa.BinaryArray]:
    """Return fields of records of very many columns, which begin at `starts`; the text ends in an end of line."""
    begins = field_begins(form, np.frombuffer(text, np.uint8), starts)
    return [
        pa.array(
            [
                fields_of(text[first : beyond - 1], form.delimiter)[0]
                for first, beyond in begins[:, position : position + 2].tolist()
            ],
            pa.binary(),
        )
        for position in positions
    ]


def field_begins(form: CsvForm, text: NDArray[np.uint8], starts: NDArray[np.int64]) -> NDArray[np.integer]:
    """Return where each field of each record begins, and one byte beyond the last."""
    begins = np.empty((starts.size, form.width + 1), np.int32 if text.size < 2**31 else np.int64)
    find_fields(text, ord(form.delimiter), starts, begins)
    return begins


def kept_texts(form: CsvForm, texts: Sequence[pa.BinaryArray]) -> pa.RecordBatch:
    """Return the columns to be carried along as words."""
    columns = [pa.array([words_of(text) for text in column.to_pylist()], pa.string()) for column in texts]
    return pa.RecordBatch.from_arrays(columns, names=[form.names[position] for position in form.kept])


def label_type(texts: pa.BinaryArray, decimal: str) -> pa.DataType:
    """Return the type of labels: truth values, numbers that float64 tells apart, or else words."""
    words = {
        word for word in (text.strip(b" \t") for text in pc.unique(texts).to_pylist()) if word not in MISSING_BYTES
    }
    if words and words <= TRUTHS.keys():
        return pa.bool_()
    numbers = words and all(number_of(word, decimal) is not None and not is_inexact(word) for word in words)
    return pa.float64() if numbers else pa.string()


def _values(form: CsvForm, texts: pa.BinaryArray, kind: pa.DataType) -> tuple[pa.Array, dict[int, str]]:
    """Return a column converted, and the reason of each row where that cannot be; there the value is missing."""
    if kind == pa.string():
        return _words(form, texts), {}
    decimal = form.spelling.decimal
    if kind == pa.float64() and decimal == ".":
        with suppress(pa.ArrowInvalid):
            return pc.cast(pc.cast(texts, pa.string()), kind), {}
    values, faults = [], {}
    for row, text in enumerate(texts.to_pylist()):
        value, reason = truth_or_reason(text) if kind == pa.bool_() else number_or_reason(text, decimal)
        values.append(value)
        if reason is not None:
            faults[row] = reason
    return pa.array(values, kind), faults


def _trimmed(labels: pa.StringArray) -> pa.StringArray:
    """Return words without the spaces around them: a label is the same however the file is spaced."""
    return pc.utf8_trim(labels, " \t")


def _words(form: CsvForm, texts: pa.BinaryArray) -> pa.StringArray:
    """Return a column of words; that some are not in UTF-8 is said."""
    with suppress(pa.ArrowInvalid):
        return pc.cast(texts, pa.string())
    warnings.warn(f"{form.source}: {NOT_UTF8}", stacklevel=2)
    coded = texts.dictionary_encode()
    return pa.array(map(words_of, coded.dictionary.to_pylist()), pa.string()).take(coded.indices)


def _inexact_labels(texts: pa.BinaryArray) -> dict[int, str]:
    """Return the reason against each label that float64 would take for another one."""
    return {
        row: f"{shown(text)} is not exact in float64"
        for row, text in enumerate(texts.to_pylist())
        if is_inexact(text.strip(b" \t"))
    }
