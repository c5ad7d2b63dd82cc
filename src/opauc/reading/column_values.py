"""Columns of a table as numbers, labels and words, or a clear refusal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pyarrow import types

from opauc.errors import InputError
from opauc.kernels.rows.columns_to_rows import write_rows

# Types whose every value float32 holds exactly.
NARROW = {pa.bool_(), pa.int8(), pa.uint8(), pa.int16(), pa.uint16(), pa.float16(), pa.float32()}


class Words(NamedTuple):
    """A column of words: the different ones, and which of them stands in each row, -1 where none does."""

    words: list[str]
    codes: NDArray[np.int32]


def number_matrix(columns: Sequence[pa.Array], names: Sequence[str], source: str) -> tuple[NDArray[np.floating], bool]:
    """Return columns of numbers as rows, missing values as nan, and True if they are certainly all finite.

    Rows are float32 where that holds every column, else float64.
    """
    kinds = [_plain_type(column.type) for column in columns]
    for kind, name in zip(kinds, names, strict=True):
        _refuse_unless_number(kind, name, source)
    narrow = all(kind in NARROW for kind in kinds)
    kind, dtype = (pa.float32(), np.float32) if narrow else (pa.float64(), np.float64)
    rows: NDArray[np.floating] = np.empty((len(columns[0]) if columns else 0, len(columns)), dtype)
    finite = write_rows([_floats(column, kind) for column in columns], rows)
    return rows, finite


def label_values(column: pa.Array, name: str, source: str) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """Return labels as they stand, numbers or words, and which of them are missing."""
    kind = _plain_type(column.type)
    if is_words(kind):
        words, codes = words_of(column)
        return np.array([*words, ""])[codes], codes < 0
    if not (types.is_boolean(kind) or types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind)):
        raise InputError(f"{source}: the label, column {name}, holds {kind}, which is neither numbers nor words")
    missing = column.is_null(nan_is_null=True).to_numpy(zero_copy_only=False)
    if types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if types.is_decimal(kind) or (column.null_count and types.is_boolean(kind)):
        column = pc.cast(column, pa.float64())
    return column.to_numpy(zero_copy_only=False), missing


def words_of(column: pa.Array) -> Words:
    """Return a column's values as words; nothing and the empty word are no words.

    >>> import pyarrow as pa
    >>> from opauc.reading.column_values import words_of
    >>> words_of(pa.array(["red", None, "blue", "red", ""]))
    Words(words=['red', 'blue', ''], codes=array([ 0, -1,  1,  0, -1], dtype=int32))
    """
    if not types.is_dictionary(column.type):
        column = (column if types.is_string(column.type) else pc.cast(column, pa.string())).dictionary_encode()
    words = pc.cast(column.dictionary, pa.string()).to_pylist()
    codes = pc.fill_null(pc.cast(column.indices, pa.int32()), -1).to_numpy(zero_copy_only=False)
    if "" in words or None in words:
        codes = np.append(np.where([not word for word in words], -1, np.arange(len(words))), -1)[codes].astype(np.int32)
    return Words(words, codes)


def is_words(kind: pa.DataType) -> bool:
    """Tell whether a type is one of text."""
    return bool(types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind))


def can_be_words(kind: pa.DataType) -> bool:
    """Tell whether the values of a type can be taken as categories."""
    kind = _plain_type(kind)
    return is_words(kind) or bool(types.is_primitive(kind) or types.is_null(kind) or types.is_decimal(kind))


def _floats(column: pa.Array, kind: pa.DataType) -> NDArray[np.floating]:
    if column.type != kind:
        if types.is_dictionary(column.type):
            column = column.dictionary_decode()
        column = pc.cast(column, kind, safe=False)
    values: NDArray[np.floating] = np.ascontiguousarray(column.to_numpy(zero_copy_only=False))
    return values


def _plain_type(kind: pa.DataType) -> pa.DataType:
    return kind.value_type if types.is_dictionary(kind) else kind


def _refuse_unless_number(kind: pa.DataType, name: str, source: str) -> None:
    if is_words(kind):
        raise InputError(
            f"{source}: column {name} holds words; declare it categorical (--categorical {name}) "
            "or leave it out (--features)"
        )
    numbers = (types.is_boolean, types.is_integer, types.is_floating, types.is_decimal, types.is_null)
    if not any(test(kind) for test in numbers):
        raise InputError(
            f"{source}: column {name} holds {kind}, which is no number; turn it into one or leave it out (--features)"
        )
