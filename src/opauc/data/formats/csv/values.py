"""The values of CSV text: parsed by pyarrow, and field by field where pyarrow rejects them."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pyarrow import csv

from opauc.data.bad_rows import BadRows
from opauc.data.columns import ResolvedColumns, TableColumns
from opauc.data.formats.csv.fields import (
    MAX_EXACT,
    RecordErrors,
    decode_field,
    is_inexact,
    show_field,
    split_record,
)
from opauc.data.formats.csv.records import BYTE_ORDER_MARK, CsvRecords
from opauc.data.kernels.csv import find_fields
from opauc.data.schema.numbers import (
    BOOLEANS,
    MISSING_MARKERS,
    POINT,
    NumberFormat,
    cast_plain_numbers,
    infer_number_format,
    is_missing,
    is_plain_number,
    parse_number,
    parse_numbers,
)

# pyarrow parses chunks of this size nearly twice as fast as a block in one chunk: what it parses stays in cache.
CHUNK_BYTES = 2**19
# pyarrow takes some 7 kB for each column: more columns of numbers are read as a matrix.
MAX_NARROW = 2000
TRUE_VALUES, FALSE_VALUES = ("True", "true", "TRUE"), ("False", "false", "FALSE")
BLANKS = b" \t"
NOT_UTF8 = "some strings are not in UTF-8; they are read as Windows-1252"
LABEL_ADVICE = ", as the labels at the beginning are"


class InferredTypes(NamedTuple):
    """What the first rows tell: the type of the labels, the boolean columns, and the number formats of text columns."""

    label: pa.DataType = pa.string()
    booleans: frozenset[int] = frozenset()
    number_formats: Mapping[int, str] = {}


@dataclass(frozen=True)
class CsvLayout:
    """How the text of one source is read; inferred from its beginning and then fixed."""

    source: str
    names: list[str]  # of all columns of the text
    columns: TableColumns  # the roles of the columns that are read, by name
    positions: tuple[int, ...]  # of the columns that are read one by one
    label: int | None
    schema: pa.Schema  # the names and types of these columns
    delimiter: str
    decimal: str
    booleans: frozenset[int]  # positions of columns of numbers written as True and False
    passthrough: tuple[int, ...]  # positions of the columns that are passed through as text
    matrix: tuple[int, ...]  # positions of the columns that are read as one matrix: those of numbers, if many
    number_formats: Mapping[int, str] = field(default_factory=dict)  # of columns of numbers that pyarrow cannot parse

    @classmethod
    def of(
        cls,
        source: str,
        names: list[str],
        resolved: ResolvedColumns,
        delimiter: str = ",",
        decimal: str = POINT,
        inferred: InferredTypes | None = None,
    ) -> CsvLayout:
        """Return the layout of a text with columns of these names."""
        roles, inferred = resolved.roles, inferred or InferredTypes()
        raw = roles.numeric if resolved.by_name.raw else ()
        types = dict.fromkeys((*roles.categorical, *raw), pa.string())
        if roles.label is not None:
            types[roles.label] = inferred.label
        plain = sorted(set(roles.numeric).difference(inferred.number_formats))
        matrix = tuple(plain) if len(plain) > MAX_NARROW and not raw else ()
        used, in_matrix = roles._replace(passthrough=()).used(), frozenset(matrix)
        positions = tuple(position for position in used if position not in in_matrix)
        schema = pa.schema([(names[position], types.get(position, pa.float64())) for position in positions])
        return cls(
            source, names, resolved.by_name, positions, roles.label, schema, delimiter, decimal, inferred.booleans,
            roles.passthrough, matrix, inferred.number_formats,
        )  # fmt: skip

    @property
    def width(self) -> int:
        """Number of fields in a record."""
        return len(self.names)


def read_fast(layout: CsvLayout, text: bytes) -> pa.RecordBatch | None:
    """Return the rows of `text`, or None where some row needs a closer look."""
    types = {str(position): kind for position, kind in zip(layout.positions, layout.schema.types, strict=True)}
    types |= {str(position): pa.bool_() for position in layout.booleans}
    types |= {str(position): pa.string() for position in layout.number_formats}
    for chunk_bytes in (CHUNK_BYTES, len(text) + 2):
        try:
            table = _parse(text, layout.delimiter, layout.decimal, layout.width, types, chunk_bytes)
        except pa.ArrowInvalid as error:
            if "straddling" in str(error):  # a record is longer than a chunk
                continue
            return None
        columns = [column.combine_chunks() for column in table.columns]
        if (
            layout.label is not None
            and layout.schema.field(at := layout.positions.index(layout.label)).type == pa.string()
        ):
            columns[at] = _trim(columns[at])
        for position, number_format in layout.number_formats.items():
            at = layout.positions.index(position)
            parsed = parse_numbers(columns[at], number_format)
            if parsed.unreadable:
                return None
            columns[at] = pa.array(parsed.numbers, mask=np.isnan(parsed.numbers))
        if layout.booleans:
            columns = [pc.cast(column, kind) for column, kind in zip(columns, layout.schema.types, strict=True)]
        batch = pa.RecordBatch.from_arrays(columns, schema=layout.schema)
        return None if _has_large_labels(layout, batch) else batch
    return None


def _has_large_labels(layout: CsvLayout, batch: pa.RecordBatch) -> bool:
    """Tell whether some labels are so large that float64 may not tell them apart."""
    if layout.label is None:
        return False
    labels = batch.column(layout.positions.index(layout.label))
    return labels.type == pa.float64() and (pc.max(pc.abs(labels)).as_py() or 0.0) >= MAX_EXACT


def read_columns(text: bytes, delimiter: str, n_columns: int, positions: Iterable[int]) -> list[pa.BinaryArray]:
    """Return the fields of some columns, as bytes, of records that all have `n_columns` fields."""
    types = {str(position): pa.binary() for position in positions}
    table = _parse(text, delimiter, POINT, n_columns, types, len(text) + 2)
    return [column.combine_chunks() for column in table.columns]


def _parse(
    text: bytes, delimiter: str, decimal: str, n_columns: int, types: dict[str, pa.DataType], chunk_bytes: int
) -> pa.Table:
    # pyarrow skips a byte order mark at the start of each text, and empty lines: the latter keeps the former.
    start = b"\n" if text.startswith(BYTE_ORDER_MARK) else b""
    return csv.read_csv(
        pa.py_buffer(start + text),
        csv.ReadOptions(
            use_threads=False, block_size=chunk_bytes, column_names=[str(position) for position in range(n_columns)]
        ),
        csv.ParseOptions(delimiter=delimiter, newlines_in_values=True),
        csv.ConvertOptions(
            column_types=types,
            include_columns=list(types),
            null_values=MISSING_MARKERS,
            strings_can_be_null=False,
            true_values=TRUE_VALUES,
            false_values=FALSE_VALUES,
            decimal_point=decimal,
        ),
    )


def read_rows(
    layout: CsvLayout, text: bytes, records: CsvRecords, errors: RecordErrors, bad_rows: BadRows
) -> tuple[pa.RecordBatch, NDArray[np.int64]]:
    """Return the good rows of `text` and the records they come from; bad ones are raised or skipped in their order."""
    columns = parse_columns(layout, text, records, errors)
    good = errors.handle(bad_rows)
    batch = pa.RecordBatch.from_arrays(columns, schema=layout.schema).filter(pa.array(good))
    return batch, errors.complete[good]


def parse_columns(layout: CsvLayout, text: bytes, records: CsvRecords, errors: RecordErrors) -> list[pa.Array]:
    """Return the columns that are read one by one of all complete records, null where a value is bad."""
    columns = []
    texts = select_fields(layout, text, records, errors.complete, layout.positions)
    for position, column, fields in zip(layout.positions, layout.schema, texts, strict=True):
        values, reasons = _convert(layout, position, fields, column.type)
        if position == layout.label and column.type == pa.string():
            values = _trim(values)
        columns.append(values)
        if position == layout.label:
            reasons |= _inexact_labels(fields) if column.type == pa.float64() else {}
            advice = "" if column.type == pa.string() else LABEL_ADVICE
            for row, reason in reasons.items():
                errors.add(row, reason + advice, column.name)
            continue
        add = errors.add if column.type == pa.string() else errors.add_text
        for row, reason in reasons.items():
            add(row, reason, column.name)
        if values.null_count > len(reasons) or (column.type == pa.string() and pc.any(pc.equal(values, "")).as_py()):
            errors.add_missing(column.name)
    return columns


def select_fields(
    layout: CsvLayout, text: bytes, records: CsvRecords, chosen: NDArray[np.int64], positions: Sequence[int]
) -> list[pa.BinaryArray]:
    """Return the fields of some columns, as bytes, of the chosen records, which must all be complete."""
    if not chosen.size or not positions:  # without positions pyarrow would return all columns
        return [pa.array([], pa.binary()) for _ in positions]
    if layout.width > MAX_NARROW:
        return _select_wide_fields(layout, text + b"\n", records.edges[:-1][chosen], positions)
    first, last = int(chosen[0]), int(chosen[-1])
    if chosen.size <= last - first:
        text = b"".join(records.text_of(text, record) for record in chosen.tolist())
    else:
        text = text[records.edges[first] : records.edges[last + 1]]
    return read_columns(text, layout.delimiter, layout.width, positions)


def _select_wide_fields(
    layout: CsvLayout, text: bytes, starts: NDArray[np.int64], positions: Sequence[int]
) -> list[pa.BinaryArray]:
    """Return fields of records of very many columns, which begin at `starts`; the text ends in an end of line."""
    begins = field_begins(layout, np.frombuffer(text, np.uint8), starts)
    return [
        pa.array(
            [
                split_record(text[first : beyond - 1], layout.delimiter)[0]
                for first, beyond in begins[:, position : position + 2].tolist()
            ],
            pa.binary(),
        )
        for position in positions
    ]


def field_begins(layout: CsvLayout, text: NDArray[np.uint8], starts: NDArray[np.int64]) -> NDArray[np.integer]:
    """Return where each field of each record begins, and one byte beyond the last."""
    begins = np.empty((starts.size, layout.width + 1), np.int32 if text.size < 2**31 else np.int64)
    find_fields(text, ord(layout.delimiter), starts, begins)
    return begins


def passthrough_batch(layout: CsvLayout, texts: Sequence[pa.BinaryArray]) -> pa.RecordBatch:
    """Return the passthrough columns as strings."""
    columns = [pa.array([decode_field(text) for text in column.to_pylist()], pa.string()) for column in texts]
    return pa.RecordBatch.from_arrays(columns, names=[layout.names[position] for position in layout.passthrough])


def infer_label_type(fields: pa.BinaryArray, decimal: str) -> pa.DataType:
    """Return the type of labels: booleans, numbers that are exact in float64, or else strings."""
    trimmed = {value.strip(BLANKS) for value in pc.unique(fields).to_pylist()}
    labels = {label: text for label in trimmed if not is_missing(text := decode_field(label))}
    if labels and all(text.lower() in BOOLEANS for text in labels.values()):
        return pa.bool_()
    plain = all(is_plain_number(text, decimal) and not is_inexact(label) for label, text in labels.items())
    return pa.float64() if labels and plain else pa.string()


def are_booleans(fields: pa.BinaryArray) -> bool:
    """Tell whether a column holds True and False and nothing else."""
    values = {value.strip(BLANKS).decode("latin-1") for value in fields.to_pylist()}
    present = {value for value in values if not is_missing(value)}
    return bool(present) and present <= {*TRUE_VALUES, *FALSE_VALUES}


def infer_text_format(fields: pa.BinaryArray, decimals: Sequence[str]) -> NumberFormat | None:
    """Return the number format of a column if pyarrow cannot parse its numbers, None if it can or there are none."""
    decimal = decimals[0] if len(decimals) == 1 else POINT
    if decimal == POINT:
        with suppress(pa.ArrowInvalid):
            if cast_plain_numbers(pc.cast(fields, pa.string())) is not None:
                return None
    encoded = fields.dictionary_encode()
    strings = [decode_field(value) for value in encoded.dictionary.to_pylist()]
    if all(is_missing(string) or is_plain_number(string.strip(), decimal) for string in strings):
        return None
    counts = np.bincount(np.asarray(encoded.indices), minlength=len(strings))
    return infer_number_format(strings, counts, decimals=decimals)


def _convert(
    layout: CsvLayout, position: int, fields: pa.BinaryArray, kind: pa.DataType
) -> tuple[pa.Array, dict[int, str]]:
    """Return a column converted, null where a value is bad, and the reason of each bad row."""
    if kind == pa.string():
        return _decode(layout, fields), {}
    number_format = layout.number_formats.get(position, layout.decimal)
    if kind == pa.float64() and number_format == POINT:
        with suppress(pa.ArrowInvalid):
            return pc.cast(pc.cast(fields, pa.string()), kind), {}
    encoded = fields.dictionary_encode()
    texts = encoded.dictionary.to_pylist()
    results = [_parse_field(text, kind, number_format) for text in texts]
    rows = encoded.indices.to_pylist()
    reasons = {row: reason for row, at in enumerate(rows) if (reason := results[at][1]) is not None}
    return pa.array([results[at][0] for at in rows], kind), reasons


def _parse_field(field: bytes, kind: pa.DataType, number_format: str) -> tuple[float | bool | None, str | None]:
    """Return the value of a field, None where it is missing or bad, and what is wrong with it."""
    text = decode_field(field)
    if is_missing(text):
        return None, None
    if kind == pa.bool_():
        value = BOOLEANS.get(text.strip().lower())
        return (None, f"{show_field(field)} is neither True nor False") if value is None else (bool(value), None)
    number = parse_number(text, number_format)
    return (None, f"{show_field(field)} is not a number") if np.isnan(number) else (number, None)


def _trim(labels: pa.StringArray) -> pa.StringArray:
    """Return strings without the blanks around them: a label is the same however the file is spaced."""
    return pc.utf8_trim(labels, BLANKS.decode())


def _decode(layout: CsvLayout, fields: pa.BinaryArray) -> pa.StringArray:
    """Return a column of strings; warn where some are not valid UTF-8."""
    with suppress(pa.ArrowInvalid):
        return pc.cast(fields, pa.string())
    warnings.warn(f"{layout.source}: {NOT_UTF8}", stacklevel=2)
    encoded = fields.dictionary_encode()
    return pa.array(map(decode_field, encoded.dictionary.to_pylist()), pa.string()).take(encoded.indices)


def _inexact_labels(fields: pa.BinaryArray) -> dict[int, str]:
    """Return the reason against each label that float64 would confuse with another one."""
    return {
        row: f"{show_field(field)} is not exact in float64"
        for row, field in enumerate(fields.to_pylist())
        if is_inexact(field.strip(BLANKS))
    }
