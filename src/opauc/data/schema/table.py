"""Tables as they come as rows of numbers: categories numbered, dates in parts, missing values as nan."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple, TypedDict

import numpy as np
from numpy.typing import NDArray

from opauc.core.json_schema import json_as
from opauc.data.columns import listed
from opauc.data.schema.column import CATEGORY, UNSEEN, ColumnSchema
from opauc.errors import InputError
from opauc.types import Floats, Json, Labels

if TYPE_CHECKING:
    from pyarrow import RecordBatch, Table

__all__ = ["UNSEEN", "NumberedRows", "TableSchema", "table_of"]


class SavedNumbers(TypedDict):
    """All columns as JSON has them."""

    columns: list[Json]
    frozen: bool


class NumberedRows(NamedTuple):
    """Rows of numbers, what is known of the columns by now, and words found where numbers should be, by column."""

    rows: Floats
    numbers: TableSchema
    unreadable: dict[str, int]


@dataclass(frozen=True, eq=False)
class TableSchema:
    """How the columns of a table become numbers. A value: what is learned of more rows is another one.

    Categories are numbered in the order in which they are first met, until the
    vocabulary is `frozen`; from then on a new one is UNSEEN. Columns are found
    by their names.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from opauc.data.schema.table import TableSchema
    >>> table = pa.table({"size": [1.5, None], "color": ["red", "blue"]})
    >>> known = TableSchema.infer(table).learn(table)
    >>> known.rows
    array([[1.5, 0. ],
           [nan, 1. ]])
    >>> known.numbers.read(pa.table({"color": ["green", "blue"], "size": [2, 3]})).rows
    array([[ 2., -1.],
           [ 3.,  1.]])
    """

    columns: tuple[ColumnSchema, ...]
    frozen: bool = False

    @classmethod
    def infer(
        cls, table: object, labels: Labels | None = None, keep_constant: bool = False, source: str = "memory"
    ) -> TableSchema:
        """Return the column types inferred from the rows of a table, as those of files are; no category is known yet.

        With labels, 0 or 1, whole numbers may turn out to be codes of categories.
        Identifiers, free text, constant and empty columns are left out; where
        more rows follow, `keep_constant` keeps the last two.
        """
        from opauc.data.schema.infer import CONSTANT, EMPTY, infer_column_types

        batch = _one_batch(table, source)
        classes = None if labels is None else np.asarray(labels == labels[:1])
        profiles, columns = infer_column_types(batch, batch.schema.names, positive=classes), []
        for profile in profiles:
            if profile.column is not None:
                columns.append(profile.column)
            elif keep_constant and profile.kind in (CONSTANT, EMPTY):
                columns.append(ColumnSchema.of_type(profile.name, batch.schema.field(profile.name).type, source))
        if not columns:
            reasons = ", ".join(f"{profile.name} ({profile.kind})" for profile in profiles)
            raise InputError(f"{source}: no column is left to learn from beside {reasons}")
        return cls(tuple(columns))

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
        """Return the numbers of all rows of a table; nothing new is learned of its columns."""
        return self._read(table, False, source)

    def kept(self, numbers: Sequence[NDArray[np.int64] | None]) -> TableSchema:
        """Return the columns knowing only the given category numbers of each input, none where None; no more come."""
        columns, at = [], 0
        for column in self.columns:
            wanted = numbers[at]
            at += len(column.inputs)
            if column.kind == CATEGORY:
                known = set() if wanted is None else set(wanted.tolist())
                column = replace(column, words={word: n for word, n in column.words.items() if n in known})
            columns.append(column)
        return TableSchema(tuple(columns), frozen=True)

    def to_json(self) -> Json:
        """Return all there is as JSON has it."""
        return {"columns": [column.to_json() for column in self.columns], "frozen": self.frozen}

    @classmethod
    def of_json(cls, saved: object) -> TableSchema:
        """Return what `to_json` gave, refused unless it can have."""
        found = json_as(SavedNumbers, saved, "columns")
        columns = tuple(ColumnSchema.of_json(one) for one in found["columns"])
        if len({column.name for column in columns}) < len(columns):
            raise ValueError("columns: expected each name once")
        return cls(columns, found["frozen"])

    def of_batch(self, batch: RecordBatch, grow: bool, source: str) -> NumberedRows:
        """Return the numbers of the rows of one batch, which may be infinite; categories get numbers if it may grow."""
        columns = self.columns
        if grow and not self.frozen:
            columns = tuple(column.with_words(batch.column(column.name), source) for column in columns)
        parts = [column.numbers(batch.column(column.name), source) for column in columns]
        lost = zip(columns, parts, strict=True)
        unreadable = {column.name: part.unreadable for column, part in lost if part.unreadable}
        rows = np.column_stack([part.rows for part in parts]) if parts else np.empty((batch.num_rows, 0))
        return NumberedRows(np.ascontiguousarray(rows), replace(self, columns=columns), unreadable)

    def _read(self, table: object, grow: bool, source: str) -> NumberedRows:
        numbers, blocks = self, []
        unreadable: dict[str, int] = {}
        for batch in _batches(table, [column.name for column in self.columns], source):
            rows, numbers, lost = numbers.of_batch(batch, grow, source)
            blocks.append(rows)
            for name, count in lost.items():
                unreadable[name] = unreadable.get(name, 0) + count
        rows = np.concatenate(blocks) if blocks else np.empty((0, len(self.inputs)))
        _refuse_infinite(rows, self.inputs, source)
        return NumberedRows(rows, numbers, unreadable)


def table_of(table: object, source: str = "memory") -> Table:
    """Return any table in memory as one of Arrow's, which can be read again and by row number."""
    import pyarrow as pa

    found = pa.Table.from_batches(list(_batches(table, None, source)))
    # Rows of Arrow's string views, which polars gives, cannot be taken by number.
    views = [field.name for field in found.schema if pa.types.is_string_view(field.type)]
    plain = pa.schema([field.with_type(pa.large_string()) if field.name in views else field for field in found.schema])
    return found.cast(plain) if views else found


def _one_batch(table: object, source: str) -> RecordBatch:
    import pyarrow as pa

    found = table if isinstance(table, pa.Table) else table_of(table, source)
    [batch] = found.combine_chunks().to_batches() or [pa.RecordBatch.from_pylist([], schema=found.schema)]
    return batch


def _batches(table: object, names: list[str] | None, source: str) -> Iterator[RecordBatch]:
    """Yield a table as batches of Arrow's, some columns of it by their names."""
    import pyarrow as pa

    from opauc.core.batch import BEGINNING
    from opauc.data.bad_rows import BadRows
    from opauc.data.columns import TableColumns
    from opauc.data.formats.memory import MemoryReader, table_names

    if names is not None and (lost := [name for name in names if name not in set(table_names(table) or ())]):
        raise InputError(f"{source}: no column {listed(lost)}, which the model was fitted with")
    columns = TableColumns(features=names, labeled=False)
    try:
        for part in MemoryReader(columns).parts(table, BEGINNING, BadRows()):
            yield part.rows
    except pa.ArrowException as error:
        raise InputError(f"{source}: a column holds neither all numbers nor all words: {error}") from error


def _refuse_infinite(rows: Floats, inputs: Sequence[str], source: str) -> None:
    """Raise, by name, if a number is not finite; missing ones are nan and stay."""
    strange = np.isinf(rows).any(axis=0)
    if strange.any():
        raise InputError(f"{source}: column {inputs[int(np.argmax(strange))]} holds an infinite value")
