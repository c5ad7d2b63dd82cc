"""Columns of a table as numbers, labels and words, or a clear refusal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pyarrow import types

from opauc.core.batch import RawLabels
from opauc.data.columns import about_columns, listed
from opauc.data.formats.csv.wide import WideTable
from opauc.data.kernels.rows import write_rows
from opauc.errors import InputError
from opauc.types import Array, DenseRows

Table: TypeAlias = pa.RecordBatch | WideTable

# Types whose every value float32 holds exactly.
NARROW = {pa.bool_(), pa.int8(), pa.uint8(), pa.int16(), pa.uint16(), pa.float16(), pa.float32()}


class Words(NamedTuple):
    """A column of words: the different ones, and which of them stands in each row, -1 where none does."""

    words: list[str]
    levels: NDArray[np.int32]


def column_names(table: Table) -> list[str]:
    """Return the names of all columns."""
    names: list[str] = table.names if isinstance(table, WideTable) else table.schema.names
    return names


# Types are asked of the schema: pyarrow fails to make an array at all of a type that it does not know.


def number_matrix(table: Table, names: Sequence[str], source: str) -> tuple[DenseRows, bool]:
    """Return columns of numbers as rows, missing values as nan, and True if they are certainly all finite.

    Rows are float32 where that holds every column, else float64.
    """
    if isinstance(table, WideTable):
        return _chosen(table, names), False
    kinds = [_plain_type(table.schema.field(name).type) for name in names]
    _refuse_unless_numbers(dict(zip(names, kinds, strict=True)), source)
    narrow = all(kind in NARROW for kind in kinds)
    shape = table.num_rows, len(names)
    rows: DenseRows = np.empty(shape, np.float32) if narrow else np.empty(shape)
    kind = pa.float32() if narrow else pa.float64()
    finite = write_rows([_floats(table.column(name), kind) for name in names], rows)
    return rows, finite


def label_values(table: Table, name: str, source: str) -> tuple[RawLabels, NDArray[np.bool_]]:
    """Return labels as they stand, numbers or words, and which of them are missing."""
    batch = _narrow(table)
    kind = _plain_type(batch.schema.field(name).type)
    if not (is_words(kind) or _is_number(kind)):
        raise InputError(f"{source}: the label, column {name}, holds {kind}, which is neither numbers nor words")
    column = batch.column(name)
    if is_words(kind):
        words, levels = words_of(column)
        return np.array([*words, ""])[levels], levels < 0
    missing = numbers_in(column.is_null(nan_is_null=True)).astype(np.bool_)
    if types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if types.is_decimal(kind) or column.null_count:
        column = pc.cast(column, pa.float64())
    values = numbers_in(column)
    return values.astype(np.bool_) if types.is_boolean(column.type) else values, missing


def category_words(table: Table, name: str, source: str) -> Words:
    """Return a column's values as categories, or say that they cannot be."""
    batch = _narrow(table)
    kind = batch.schema.field(name).type
    if not _can_be_words(_plain_type(kind)):
        raise InputError(f"{source}: column {name} holds {kind}, which cannot be categories")
    return words_of(batch.column(name))


def has_truths(table: Table, name: str) -> bool:
    """Tell whether a column is of truth values by its type."""
    return bool(types.is_boolean(_plain_type(_narrow(table).schema.field(name).type)))


def kept_columns(table: Table, names: Sequence[str]) -> pa.RecordBatch:
    """Return columns as they are, to be carried along."""
    return _narrow(table).select(list(names))


def words_of(column: pa.Array) -> Words:
    """Return a column's values as words; nothing and the empty word are no words.

    >>> import pyarrow as pa
    >>> from opauc.data.arrow_columns import words_of
    >>> words_of(pa.array(["red", None, "blue", "red", ""]))
    Words(words=['red', 'blue', ''], levels=array([ 0, -1,  1,  0, -1], dtype=int32))
    """
    if not types.is_dictionary(column.type):
        column = (column if types.is_string(column.type) else pc.cast(column, pa.string())).dictionary_encode()
    words = pc.cast(column.dictionary, pa.string()).to_pylist()
    levels = numbers_in(pc.fill_null(pc.cast(column.indices, pa.int32()), -1))
    if "" in words or None in words:
        known = np.append(np.where([not word for word in words], -1, np.arange(len(words))), -1)
        levels = known[levels].astype(np.int32)
    return Words(words, levels)


def numbers_in(column: pa.Array) -> Array:
    """Return the numbers of an array as they lie in memory, truth values as 0 and 1, missing floats as nan.

    pyarrow's own way to numpy imports pandas, which takes longer than all else.
    """
    if types.is_boolean(column.type):
        column = pc.cast(column, pa.uint8())
    if column.null_count:
        column = pc.fill_null(column, float("nan"))
    kind = np.dtype(column.type.to_pandas_dtype())
    if not len(column):
        return np.empty(0, kind)
    return np.frombuffer(column.buffers()[1], kind, len(column), column.offset * kind.itemsize)


def is_words(kind: pa.DataType) -> bool:
    """Tell whether a type is one of text."""
    return bool(types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind))


def _can_be_words(kind: pa.DataType) -> bool:
    """Tell whether the values of a type can be taken as categories."""
    times = types.is_date(kind) or types.is_time(kind) or types.is_timestamp(kind) or types.is_duration(kind)
    return bool(is_words(kind) or _is_number(kind) or times or types.is_null(kind))


def _is_number(kind: pa.DataType) -> bool:
    return bool(types.is_boolean(kind) or types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind))


def _narrow(table: Table) -> pa.RecordBatch:
    return table.others if isinstance(table, WideTable) else table


def _chosen(table: WideTable, names: Sequence[str]) -> DenseRows:
    """Return columns of the matrix in this order."""
    if list(names) == table.numeric:
        return table.numbers
    places = {name: place for place, name in enumerate(table.numeric)}
    return np.ascontiguousarray(table.numbers[:, [places[name] for name in names]])


def _floats(column: pa.Array, kind: pa.DataType) -> NDArray[np.floating]:
    if column.type != kind:
        if types.is_dictionary(column.type):
            column = column.dictionary_decode()
        column = pc.cast(column, kind, safe=False)
    return numbers_in(column)


def _plain_type(kind: pa.DataType) -> pa.DataType:
    return kind.value_type if types.is_dictionary(kind) else kind


def _refuse_unless_numbers(kinds: Mapping[str, pa.DataType], source: str) -> None:
    """Name all columns at once that hold no numbers, and what can be done about them."""
    words = [name for name, kind in kinds.items() if is_words(kind)]
    strange = [name for name, kind in kinds.items() if not (is_words(kind) or _is_number(kind) or types.is_null(kind))]
    said, hints = [], []
    if words:
        declared, left_out = about_columns("categorical", words), about_columns("drop", words)
        which, they = ("column {} holds", "it") if len(words) == 1 else ("columns {} hold", "them")
        said.append(
            f"{which.format(listed(words))} words; declare {they} categorical {declared} or leave {they} out {left_out}"
        )
        hints += [declared, left_out]
    for name in strange:
        left_out = about_columns("drop", [name])
        said.append(
            f"column {name} holds {kinds[name]}, which is no number; turn it into one or leave it out {left_out}"
        )
        hints.append(left_out)
    if said:
        raise InputError(f"{source}: {'; '.join(said)}", *hints)
