"""Columns of Arrow tables as numbers, labels and categories."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pyarrow import types

from opauc.core.batch import MAX_COUNT, RawLabels
from opauc.data.bad_rows import RowErrors, missing_labels
from opauc.data.columns import about_columns, check_integers, listed
from opauc.data.formats.csv.wide import WideTable
from opauc.data.kernels.rows import write_rows
from opauc.data.schema.numbers import (
    MAX_SHOWN,
    POINT,
    NumberFormat,
    infer_number_format,
    is_missing,
    merges_integers,
    parse_numbers,
    warn_of_ambiguous_numbers,
)
from opauc.data.schema.policy import DEFAULT_POLICY, SchemaPolicy
from opauc.errors import InputError, Part
from opauc.types import Array, DenseRows

Table: TypeAlias = pa.RecordBatch | WideTable

# Types whose every value is exact in float32.
NARROW = {pa.bool_(), pa.int8(), pa.uint8(), pa.int16(), pa.uint16(), pa.float16(), pa.float32()}


# As pandas writes integers beside missing values, and as Arrow and R write large ones.
WHOLE_NUMBER = re.compile(r"-?[0-9]+\.0+|-?[0-9](?:\.[0-9]+)?e\+[0-9]+")


class EncodedStrings(NamedTuple):
    """The distinct strings of a column, and the index of each row's, -1 where it is missing."""

    strings: list[str]
    codes: NDArray[np.int32]


def column_names(table: Table) -> list[str]:
    """Return the names of all columns."""
    names: list[str] = table.names if isinstance(table, WideTable) else table.schema.names
    return names


# Types are taken from the schema: pyarrow cannot even make an array of an unknown extension type.


def number_matrix(table: Table, names: Sequence[str], source: str) -> tuple[DenseRows, bool]:
    """Return columns of numbers as rows, missing values as nan, and True if they are certainly all finite.

    Rows are float32 where that holds every column, else float64.
    """
    if isinstance(table, WideTable):
        return _chosen(table, names), False
    kinds = [_plain_type(table.schema.field(name).type) for name in names]
    _check_numeric(dict(zip(names, kinds, strict=True)), source)
    check_integers([name for name in names if are_merged(table.column(name))], source)
    narrow = all(kind in NARROW for kind in kinds)
    shape = table.num_rows, len(names)
    rows: DenseRows = np.empty(shape, np.float32) if narrow else np.empty(shape)
    kind = pa.float32() if narrow else pa.float64()
    finite = write_rows([_floats(table.column(name), kind) for name in names], rows)
    return rows, finite


def parse_text_columns(
    table: Table,
    names: Sequence[str],
    number_formats: dict[str, str],
    decimals: Sequence[str],
    errors: RowErrors,
    source: str,
) -> Table:
    """Return a table with text columns of numbers parsed; new number formats are inferred and added to the dict.

    Text columns without a number format are left as they are. A value that is
    neither a number nor missing is an error of its row.
    """
    if isinstance(table, WideTable):
        return table
    new_formats = dict[str, NumberFormat]()
    for name in names:
        at = table.schema.get_field_index(name)
        if not is_text(table.schema.field(at).type):
            continue
        column = table.column(at)
        if name not in number_formats:
            strings, codes = encode_strings(column)
            counts = np.bincount(codes[codes >= 0], minlength=len(strings))
            inferred = infer_number_format(strings, counts, decimals=decimals)
            if inferred is None and not all(map(is_missing, strings)):
                continue
            if inferred is not None:
                number_formats[name], new_formats[name] = inferred.name, inferred
        parsed = parse_numbers(column, number_formats.get(name, POINT))
        for row in np.flatnonzero(parsed.is_unreadable).tolist():
            errors.add_row(row, f"{column[row].as_py()[:MAX_SHOWN]!r} is not a number", name)
        table = table.set_column(at, name, pa.array(parsed.numbers))
    warn_of_ambiguous_numbers(new_formats, source)
    return table


def label_values(table: Table, name: str, source: str) -> tuple[RawLabels, NDArray[np.bool_]]:
    """Return labels as numbers or strings, and which of them are missing, whatever is in their place."""
    batch = _narrow(table)
    kind = _plain_type(batch.schema.field(name).type)
    if not (is_text(kind) or _is_number(kind)):
        raise InputError(f"{source}: the label, column {name}, holds {kind}, which is neither numbers nor strings")
    column = batch.column(name)
    if is_text(kind):
        strings, codes = encode_strings(column)
        labels = np.array([*strings, ""])
        return labels[codes], missing_labels(labels)[codes]
    missing = numbers_in(column.is_null(nan_is_null=True)).astype(np.bool_)
    if types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if types.is_decimal(kind) or types.is_boolean(kind):
        column = pc.cast(column, pa.float64() if types.is_decimal(kind) else pa.uint8())
    # A cast to float64 would not keep integers beyond 2**53 apart.
    values = numbers_in(column, np.nan if types.is_floating(column.type) else 0)
    return values.astype(np.bool_) if types.is_boolean(kind) else values, missing


def encode_categories(table: Table, name: str, source: str) -> EncodedStrings:
    """Return a column as categories; raise where its type cannot be."""
    batch = _narrow(table)
    check_categories(batch, name, source)
    return encode_category_strings(batch.column(name))


def check_categories(batch: pa.RecordBatch, name: str, source: str) -> None:
    """Raise where the type of a column cannot be categories."""
    kind = batch.schema.field(name).type
    if not _can_be_categories(_plain_type(kind)):
        raise InputError(f"{source}: column {name} holds {kind}, which cannot be categories")


def is_boolean_column(table: Table, name: str) -> bool:
    """Tell whether a column has the type boolean."""
    return bool(types.is_boolean(_plain_type(_narrow(table).schema.field(name).type)))


def without_views(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Return a batch with Arrow's string views, which polars writes and few functions take, as strings."""
    for at, kind in enumerate(batch.schema.types):
        if not types.is_string_view(_plain_type(kind)):
            continue
        column = batch.column(at)
        if types.is_dictionary(kind):
            column = pa.DictionaryArray.from_arrays(column.indices, pc.cast(column.dictionary, pa.large_string()))
        else:
            column = pc.cast(column, pa.large_string())
        batch = batch.set_column(at, batch.schema.names[at], column)
    return batch


def select_columns(table: Table, names: Sequence[str]) -> pa.RecordBatch:
    """Return the named columns unchanged."""
    return _narrow(table).select(list(names))


def encode_strings(column: pa.Array) -> EncodedStrings:
    """Return a column as strings and codes; null and the empty string are missing.

    >>> import pyarrow as pa
    >>> from opauc.data.arrow_columns import encode_strings
    >>> encode_strings(pa.array(["red", None, "blue", "red", ""]))
    EncodedStrings(strings=['red', 'blue', ''], codes=array([ 0, -1,  1,  0, -1], dtype=int32))
    """
    if not types.is_dictionary(column.type):
        column = (column if types.is_string(column.type) else pc.cast(column, pa.string())).dictionary_encode()
    strings = pc.cast(column.dictionary, pa.string()).to_pylist()
    codes = numbers_in(pc.cast(column.indices, pa.int32()), -1)
    if "" in strings or None in strings:
        recoded = np.append(np.where([not string for string in strings], -1, np.arange(len(strings))), -1)
        codes = recoded[codes].astype(np.int32)
    return EncodedStrings(strings, codes)


def encode_category_strings(column: pa.Array) -> EncodedStrings:
    """Return a column as strings and codes; a whole number is one category, however it is written.

    >>> import pyarrow as pa
    >>> from opauc.data.arrow_columns import encode_category_strings
    >>> encode_category_strings(pa.array(["1000000", "1000000.0", "1e+06", "1.5"]))
    EncodedStrings(strings=['1000000', '1.5'], codes=array([0, 0, 0, 1], dtype=int32))
    """
    strings, codes = encode_strings(column)
    whole = [whole_number(string) for string in strings]
    if whole == strings:
        return EncodedStrings(strings, codes)
    places: dict[str, int] = {}
    recoded = np.array([*(places.setdefault(string, len(places)) for string in whole), -1], np.int32)
    return EncodedStrings(list(places), np.where(codes < 0, -1, recoded[codes]).astype(np.int32))


def whole_number(string: str) -> str:
    """Return a whole number without decimals and exponent, any other string as it is."""
    if not (string and WHOLE_NUMBER.fullmatch(string)):
        return string
    number = float(string)
    return str(int(number)) if number.is_integer() and abs(number) <= MAX_COUNT else string


# Where pandas is installed, pyarrow imports it in `array`, in `scalar` and in its own conversion to NumPy, which takes
# a quarter of a second of CPU. Columns of files are therefore read without these (`tests/cli/test_start.py`).
def numbers_in(column: pa.Array, missing: float = np.nan) -> Array:
    """Return the numbers of an Arrow array, booleans as 0 and 1; without a copy unless some are missing."""
    if types.is_boolean(column.type):
        column = pc.cast(column, pa.uint8())
    kind = np.dtype(column.type.to_pandas_dtype())
    if not len(column):
        return np.empty(0, kind)
    if column.null_count == len(column):
        return np.full(len(column), missing, kind)
    numbers = np.frombuffer(column.buffers()[1], kind, len(column), column.offset * kind.itemsize)
    return np.where(numbers_in(column.is_valid()), numbers, kind.type(missing)) if column.null_count else numbers


def strings_array(strings: Sequence[str]) -> pa.Array:
    """Return strings as an Arrow array.

    >>> from opauc.data.arrow_columns import strings_array
    >>> strings_array(["ß", "", "c"]).to_pylist()
    ['ß', '', 'c']
    """
    encoded = [string.encode() for string in strings]
    ends = np.cumsum([0, *map(len, encoded)], dtype=np.int32)
    return pa.StringArray.from_buffers(len(encoded), pa.py_buffer(ends), pa.py_buffer(b"".join(encoded)))


def are_merged(column: pa.Array, policy: SchemaPolicy = DEFAULT_POLICY) -> bool:
    """Tell whether distinct integers of a column become equal in float64 (see `merges_integers`).

    >>> import pyarrow as pa
    >>> from opauc.data.arrow_columns import are_merged
    >>> are_merged(pa.array([2**53, 2**53 + 1])), are_merged(pa.array([7, None]))
    (True, False)
    """
    if not types.is_integer(column.type) or column.type.bit_width < 64 or column.null_count == len(column):
        return False
    limits = pc.min_max(column).as_py()
    if max(-limits["min"], limits["max"]) <= MAX_COUNT:
        return False
    return merges_integers(pc.cast(pc.unique(column.drop_null()), pa.string()).to_pylist(), policy)


def is_text(kind: pa.DataType) -> bool:
    """Tell whether a type holds strings."""
    return bool(types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind))


def _can_be_categories(kind: pa.DataType) -> bool:
    """Tell whether values of a type can be categories."""
    times = types.is_date(kind) or types.is_time(kind) or types.is_timestamp(kind) or types.is_duration(kind)
    return bool(is_text(kind) or _is_number(kind) or times or types.is_null(kind))


def _is_number(kind: pa.DataType) -> bool:
    return bool(types.is_boolean(kind) or types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind))


def _narrow(table: Table) -> pa.RecordBatch:
    return table.others if isinstance(table, WideTable) else table


def _chosen(table: WideTable, names: Sequence[str]) -> DenseRows:
    """Return columns in this order: most are those of the matrix."""
    if list(names) == table.numeric:
        return table.numbers
    positions = {name: position for position, name in enumerate(table.numeric)}
    rows = np.empty((table.num_rows, len(names)))
    for at, name in enumerate(names):
        if name in positions:
            rows[:, at] = table.numbers[:, positions[name]]
        elif table.others is not None:
            rows[:, at] = _floats(table.others.column(name), pa.float64())
    return rows


def _floats(column: pa.Array, kind: pa.DataType) -> NDArray[np.floating]:
    if column.type != kind:
        if types.is_dictionary(column.type):
            column = column.dictionary_decode()
        column = pc.cast(column, kind, safe=False)
    return numbers_in(column)


def _plain_type(kind: pa.DataType) -> pa.DataType:
    return kind.value_type if types.is_dictionary(kind) else kind


def _check_numeric(kinds: Mapping[str, pa.DataType], source: str) -> None:
    """Raise an error that names all columns without numbers, and what a user can do about them."""
    text = [name for name, kind in kinds.items() if is_text(kind)]
    others = [name for name, kind in kinds.items() if not (is_text(kind) or _is_number(kind) or types.is_null(kind))]
    parts: list[Part] = [f"{source}: "]
    if text:
        declare, drop = about_columns("categorical", text), about_columns("drop", text)
        which, they = ("column {} holds", "it") if len(text) == 1 else ("columns {} hold", "them")
        parts += [
            f"{which.format(listed(text))} strings; declare {they} categorical (", declare, f") or leave {they} out (",
            drop, ")",
        ]  # fmt: skip
    for name in others:
        drop = about_columns("drop", [name])
        what = f"column {name} holds {kinds[name]}, which is no number; turn it into one or leave it out ("
        parts += ["; " if len(parts) > 1 else "", what, drop, ")"]
    if len(parts) > 1:
        raise InputError(*parts)
