"""Tables as they come as rows of numbers: categories numbered, dates in parts, missing values as nan."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple, TypedDict

import numpy as np
from numpy.typing import NDArray

from opauc.errors import InputError
from opauc.features.date_parts import date_numbers, parts_of_type
from opauc.files import json_as
from opauc.reading.table_columns import listed
from opauc.rows import Floats, Json

if TYPE_CHECKING:
    from pyarrow import Array as Column
    from pyarrow import DataType, RecordBatch

NUMBER, CATEGORY, DATE = "number", "category", "date"
# The number of a category that nothing is known of.
UNSEEN = -1.0
TRUTHS = {"true": 1.0, "false": 0.0}


class SavedColumn(TypedDict):
    """A column as JSON has it."""

    name: str
    kind: str
    parts: list[str]
    words: dict[str, int]


class SavedNumbers(TypedDict):
    """All columns as JSON has them."""

    columns: list[SavedColumn]
    frozen: bool


@dataclass(frozen=True, eq=False)
class TableColumn:
    """What a column of a table becomes: a number, the number of a category, or the parts of a date."""

    name: str
    kind: str
    parts: tuple[str, ...] = ()  # of a date
    words: Mapping[str, int] = field(default_factory=dict)  # the number of each category

    @classmethod
    def of_type(cls, name: str, kind: DataType, source: str) -> TableColumn:
        """Return the column for values of a type of Arrow's."""
        from pyarrow import types

        from opauc.reading.column_values import is_words

        if (parts := parts_of_type(kind)) is not None:
            return cls(name, DATE, parts)
        if is_words(kind) or types.is_dictionary(kind):
            return cls(name, CATEGORY)
        if _is_number(kind):
            return cls(name, NUMBER)
        raise InputError(f"{source}: column {name} holds {kind}, which is neither numbers, words nor dates")

    @property
    def inputs(self) -> list[str]:
        """Names of the numbers that a value becomes."""
        return [f"{self.name} {part}" for part in self.parts] or [self.name]


class NumberedRows(NamedTuple):
    """Rows of numbers, what is known of the columns by now, and words found where numbers should be, by column."""

    rows: Floats
    numbers: TableNumbers
    unreadable: dict[str, int]


@dataclass(frozen=True, eq=False)
class TableNumbers:
    """How the columns of a table become numbers. A value: what is learnt of more rows is another one.

    Categories are numbered in the order in which they are first met, until the
    vocabulary is `frozen`; from then on a new one is UNSEEN. Columns are found
    by their names.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from opauc.features.table_numbers import TableNumbers
    >>> table = pa.table({"size": [1.5, None], "colour": ["red", "blue"]})
    >>> known = TableNumbers.of(table).learn(table)
    >>> known.rows
    array([[1.5, 0. ],
           [nan, 1. ]])
    >>> known.numbers.read(pa.table({"colour": ["green", "blue"], "size": [2, 3]})).rows
    array([[ 2., -1.],
           [ 3.,  1.]])
    """

    columns: tuple[TableColumn, ...]
    frozen: bool = False

    @classmethod
    def of(cls, table: object, source: str = "memory") -> TableNumbers:
        """Return what the types of a table's columns say; nothing is known of categories yet."""
        schema = next(iter(_batches(table, None, source))).schema
        return cls(tuple(TableColumn.of_type(name, schema.field(name).type, source) for name in schema.names))

    @property
    def inputs(self) -> tuple[str, ...]:
        """Names of the columns of the numbers."""
        return tuple(name for column in self.columns for name in column.inputs)

    @property
    def categorical(self) -> NDArray[np.bool_]:
        """Which of the inputs are numbers of categories."""
        return np.array([column.kind == CATEGORY for column in self.columns for _ in column.inputs], np.bool_)

    def words(self) -> list[dict[int, str]]:
        """Return the categories of each input by their numbers, none of inputs that are no categories."""
        return [
            {number: word for word, number in column.words.items()} for column in self.columns for _ in column.inputs
        ]

    def learn(self, table: object, source: str = "memory") -> NumberedRows:
        """Return the numbers of all rows of a table; new categories get numbers unless the vocabulary is frozen."""
        return self._read(table, not self.frozen, source)

    def read(self, table: object, source: str = "memory") -> NumberedRows:
        """Return the numbers of all rows of a table; nothing new is learnt of its columns."""
        return self._read(table, False, source)

    def kept(self, numbers: Sequence[NDArray[np.int64] | None]) -> TableNumbers:
        """Return the columns knowing only the given category numbers of each input, none where None; no more come."""
        columns, at = [], 0
        for column in self.columns:
            wanted = numbers[at]
            at += len(column.inputs)
            if column.kind == CATEGORY:
                known = set() if wanted is None else set(wanted.tolist())
                column = replace(column, words={word: n for word, n in column.words.items() if n in known})
            columns.append(column)
        return TableNumbers(tuple(columns), frozen=True)

    def to_json(self) -> Json:
        """Return all there is as JSON has it."""
        columns = [
            {"name": one.name, "kind": one.kind, "parts": list(one.parts), "words": dict(one.words)}
            for one in self.columns
        ]
        return {"columns": columns, "frozen": self.frozen}

    @classmethod
    def of_json(cls, saved: object) -> TableNumbers:
        """Return what `to_json` gave, refused unless it can have."""
        found = json_as(SavedNumbers, saved, "columns")
        columns = []
        for one in found["columns"]:
            if one["kind"] not in (NUMBER, CATEGORY, DATE) or (one["kind"] == DATE) != bool(one["parts"]):
                raise ValueError(f"column {one['name']}: expected a number, a category or a date with its parts")
            numbers = list(one["words"].values())
            if len(set(numbers)) < len(numbers) or min(numbers, default=0) < 0:
                raise ValueError(f"column {one['name']}: expected categories with a number each")
            columns.append(TableColumn(one["name"], one["kind"], tuple(one["parts"]), dict(one["words"])))
        if len({column.name for column in columns}) < len(columns):
            raise ValueError("columns: expected each name once")
        return cls(tuple(columns), found["frozen"])

    def _read(self, table: object, grow: bool, source: str) -> NumberedRows:
        columns, blocks = self.columns, []
        unreadable: dict[str, int] = {}
        for batch in _batches(table, [column.name for column in self.columns], source):
            grown = tuple(_with_words(column, batch, source) if grow else column for column in columns)
            parts = [_numbers(column, batch.column(column.name), source) for column in grown]
            for column, (_, lost) in zip(grown, parts, strict=True):
                if lost:
                    unreadable[column.name] = unreadable.get(column.name, 0) + lost
            blocks.append(np.column_stack([numbers for numbers, _ in parts]))
            columns = grown
        rows = np.concatenate(blocks) if blocks else np.empty((0, len(self.inputs)))
        _refuse_infinite(rows, self.inputs, source)
        return NumberedRows(np.ascontiguousarray(rows), replace(self, columns=columns), unreadable)


def _batches(table: object, names: list[str] | None, source: str) -> Iterator[RecordBatch]:
    """Yield a table as batches of Arrow's, some columns of it by their names."""
    import pyarrow as pa

    from opauc.reading.bad_rows import BadRows
    from opauc.reading.labelled_chunk import BEGINNING
    from opauc.reading.memory_reader import MemoryReader, table_names
    from opauc.reading.table_columns import TableColumns

    if names is not None and (lost := [name for name in names if name not in set(table_names(table) or ())]):
        raise InputError(f"{source}: no column {listed(lost)}, which the model was fitted with")
    columns = TableColumns(features=names, labelled=False)
    try:
        for part in MemoryReader(columns).parts(table, BEGINNING, BadRows()):
            yield part.rows
    except pa.ArrowException as error:
        raise InputError(f"{source}: a column holds neither all numbers nor all words: {error}") from error


def _with_words(column: TableColumn, batch: RecordBatch, source: str) -> TableColumn:
    """Return the column with the new categories of a batch numbered, in the order of the rows."""
    if column.kind != CATEGORY:
        return column
    words, levels = _words(column, batch.column(column.name), source)
    met, first = np.unique(levels[levels >= 0], return_index=True)
    known = dict(column.words)
    for level in met[np.argsort(first)].tolist():
        known.setdefault(words[level], len(known))
    return replace(column, words=known)


def _numbers(column: TableColumn, values: Column, source: str) -> tuple[Floats, int]:
    """Return the numbers of a column's values, one row each, and how many values could not be read as such."""
    import pyarrow as pa
    import pyarrow.compute as pc

    from opauc.reading.column_values import is_words, numbers_in

    plain = values.dictionary_decode() if pa.types.is_dictionary(values.type) else values
    if column.kind == DATE:
        if parts_of_type(plain.type) is None:
            raise InputError(f"{source}: column {column.name} holds {plain.type}, it was dates in the rows before")
        return date_numbers(plain, column.parts), 0
    if column.kind == CATEGORY:
        words, levels = _words(column, values, source)
        numbers = np.array([column.words.get(word, UNSEEN) for word in words] + [np.nan])
        return numbers[levels][:, None], 0
    if is_words(plain.type):
        words, levels = _words(column, values, source)
        read = np.array([_number(word) for word in words] + [np.nan])
        found = read[levels]
        return found[:, None], int((np.isnan(found) & (levels >= 0)).sum())
    if not _is_number(plain.type):
        raise InputError(f"{source}: column {column.name} holds {plain.type}, it was numbers in the rows before")
    return numbers_in(pc.cast(plain, pa.float64(), safe=False))[:, None], 0


def _words(column: TableColumn, values: Column, source: str) -> tuple[list[str], NDArray[np.int32]]:
    """Return the different words of a column, and which of them stands in each row, -1 where none does."""
    import pyarrow as pa

    from opauc.reading.column_values import words_of

    try:
        return words_of(values)
    except pa.ArrowException as error:
        raise InputError(f"{source}: column {column.name} holds {values.type}, which cannot be categories") from error


def _number(word: str) -> float:
    try:
        return TRUTHS.get(word.strip().lower(), np.nan) if word.strip()[:1] in "tTfF" else float(word)
    except ValueError:
        return np.nan


def _is_number(kind: DataType) -> bool:
    from pyarrow import types

    return bool(
        types.is_boolean(kind) or types.is_integer(kind) or types.is_floating(kind)
        or types.is_decimal(kind) or types.is_null(kind)
    )  # fmt: skip


def _refuse_infinite(rows: Floats, inputs: Sequence[str], source: str) -> None:
    """Raise, by name, if a number is not finite; missing ones are nan and stay."""
    strange = np.isinf(rows).any(axis=0)
    if strange.any():
        raise InputError(f"{source}: column {inputs[int(np.argmax(strange))]} holds an infinite value")
