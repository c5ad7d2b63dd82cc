"""The schema of a table: how its rows become numbers, with category codes, date parts and nan for missing values."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple, TypedDict

import numpy as np
from numpy.typing import NDArray

from opauc.core.json_schema import json_as
from opauc.data.columns import TableColumns, listed
from opauc.data.schema.column import CATEGORY, UNSEEN, ColumnSchema
from opauc.data.schema.policy import DEFAULT_POLICY, SchemaPolicy
from opauc.data.schema.record import RecordReader
from opauc.errors import InputError, nearest_first
from opauc.types import Floats, Json, Labels

if TYPE_CHECKING:
    from pyarrow import RecordBatch, Table

UNLABELED = TableColumns(labeled=False)

__all__ = ["UNSEEN", "OrdinalRows", "TableSchema", "table_of"]


class SavedSchema(TypedDict):
    """A table schema in JSON."""

    columns: list[Json]
    frozen: bool


class OrdinalRows(NamedTuple):
    """Rows as numbers, the schema with the categories of these rows, and the count of unreadable values by column."""

    rows: Floats
    schema: TableSchema
    unreadable: dict[str, int]

    def warned(self) -> OrdinalRows:
        """Return it after a warning of strings where numbers were before."""
        for name, count in self.unreadable.items():
            text = f"column {name}: {count:,} values are strings where numbers were; they count as missing"
            warnings.warn(text, UserWarning, stacklevel=6)
        return self


@dataclass(frozen=True, eq=False)
class TableSchema:
    """How the columns of a table become numbers. Immutable: adding categories gives a new schema.

    Categories get codes in the order of their first rows, or of their names where
    all rows are known, until the schema is `frozen`; from then on a new category is
    UNSEEN. Columns are matched by name.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from opauc.data.schema.table import TableSchema
    >>> table = pa.table({"size": [1.5, None], "color": ["red", "blue"]})
    >>> encoded = TableSchema.infer(table).learn(table)
    >>> encoded.rows
    array([[1.5, 1. ],
           [nan, 0. ]])
    >>> encoded.schema.read(pa.table({"color": ["green", "blue"], "size": [2, 3]})).rows
    array([[ 2., -1.],
           [ 3.,  0.]])
    """

    columns: tuple[ColumnSchema, ...]
    frozen: bool = False

    @classmethod
    def infer(
        cls,
        table: object,
        labels: Labels | None = None,
        keep_constant: bool = False,
        source: str = "memory",
        requested: TableColumns = UNLABELED,
    ) -> TableSchema:
        """Return the schema inferred from the rows of a table, as that of files is.

        With labels, whole numbers may turn out to be codes of categories. Identifiers, free text, constant
        and empty columns are dropped, and the categories have codes in the order of their names. Where more rows
        follow, `keep_constant` keeps constant and empty columns, and there are no categories yet. `requested` names
        the columns that a user drops, or declares categorical or numeric.
        """
        from opauc.data.schema.infer import (
            CONSTANT,
            EMPTY,
            TypeOverrides,
            all_dropped,
            infer_column_types,
            rows_of_one_class,
        )

        batch = _one_batch(table, source)
        classes = None if labels is None else rows_of_one_class(labels)
        resolved = requested.resolve(batch.schema.names, source).by_name
        names = [name for name in batch.schema.names if name in set(resolved.features or ())]
        overrides = TypeOverrides(
            frozenset(map(str, resolved.categorical)), frozenset(map(str, resolved.numeric)), typed=True
        )
        profiles, columns = infer_column_types(batch, names, overrides, classes, source=source), []
        for profile in profiles:
            if profile.column is not None:
                columns.append(profile.column)
            elif keep_constant and profile.kind in (CONSTANT, EMPTY):
                columns.append(ColumnSchema.of_type(profile.name, batch.schema.field(profile.name).type, source))
        if not columns:
            raise all_dropped(profiles, source)
        schema = cls(tuple(columns))
        return schema if keep_constant else schema.with_sorted_categories(batch, source)

    @cached_property
    def inputs(self) -> tuple[str, ...]:
        """Names of the encoded columns."""
        return tuple(name for column in self.columns for name in column.inputs)

    @cached_property
    def record_reader(self) -> RecordReader:
        """What turns rows given as dicts into numbers."""
        return RecordReader.of(self.columns)

    @property
    def categorical(self) -> NDArray[np.bool_]:
        """Which inputs are category codes."""
        return np.array([column.kind == CATEGORY for column in self.columns for _ in column.inputs], np.bool_)

    @property
    def declared(self) -> NDArray[np.bool_]:
        """Which inputs a user declares numeric."""
        return np.array([column.declared for column in self.columns for _ in column.inputs], np.bool_)

    def category_names(self) -> list[dict[int, str]]:
        """Return the categories of each input by their codes, none for inputs that are not categorical."""
        return [
            {code: category for category, code in column.categories.items()}
            for column in self.columns
            for _ in column.inputs
        ]

    def learn(self, table: object, source: str = "memory") -> OrdinalRows:
        """Encode all rows of a table; new categories get codes unless the schema is frozen."""
        return self._read(table, not self.frozen, source)

    def read(self, table: object, source: str = "memory") -> OrdinalRows:
        """Encode all rows of a table; the schema does not change."""
        return self._read(table, False, source)

    def read_record(self, record: Mapping[str, object]) -> Floats | None:
        """Encode one row given as a dict, in microseconds; None if `read` has to: a value is unreadable or absent.

        Examples
        --------
        >>> import pyarrow as pa
        >>> from opauc.data.schema.table import TableSchema
        >>> table = pa.table({"size": [1.5, 2.0], "color": ["red", "blue"]})
        >>> schema = TableSchema.infer(table).learn(table).schema
        >>> schema.read_record({"size": 3, "color": "blue", "shop": 7})
        array([[3., 0.]])
        >>> schema.read_record({"size": "many", "color": "blue"}) is None
        True
        """
        if not self.record_reader.has_all(record):
            return None
        try:
            numbers, unreadable = self.record_reader.read(record)
        except InputError:  # which names the row; that of `read` names the table
            return None
        return None if unreadable else numbers

    def with_sorted_categories(self, batch: RecordBatch, source: str) -> TableSchema:
        """Return the schema with the categories of a batch, coded in the order of their names."""
        columns = (column.with_sorted_categories(batch.column(column.name), source) for column in self.columns)
        return replace(self, columns=tuple(columns))

    def keep_categories(self, codes: Sequence[NDArray[np.int64] | None]) -> TableSchema:
        """Return a frozen schema with only the given category codes of each input, none where None."""
        columns, at = [], 0
        for column in self.columns:
            kept = codes[at]
            at += len(column.inputs)
            if column.kind == CATEGORY:
                chosen = set() if kept is None else set(kept.tolist())
                categories = {category: code for category, code in column.categories.items() if code in chosen}
                column = replace(column, categories=categories)
            columns.append(column)
        return TableSchema(tuple(columns), frozen=True)

    def to_json(self) -> Json:
        """Return the schema as JSON."""
        return {"columns": [column.to_json() for column in self.columns], "frozen": self.frozen}

    @classmethod
    def of_json(cls, saved: object) -> TableSchema:
        """Return the schema that `to_json` wrote, checked."""
        table = json_as(SavedSchema, saved, "columns")
        columns = tuple(ColumnSchema.of_json(one) for one in table["columns"])
        if len({column.name for column in columns}) < len(columns):
            raise ValueError("columns: expected each name once")
        return cls(columns, table["frozen"])

    def encode_batch(
        self, batch: RecordBatch, grow: bool, source: str, policy: SchemaPolicy = DEFAULT_POLICY
    ) -> OrdinalRows:
        """Encode the rows of one batch, infinite values included; `grow` gives codes to new categories."""
        columns = self.columns
        if grow and not self.frozen:
            learned = [column.learn(batch.column(column.name), source, policy) for column in columns]
            columns = tuple(column for column, _ in learned)
            encoded = {column.name: values for column, values in learned}
        else:
            encoded = {column.name: column.encode(batch.column(column.name), source) for column in columns}
        unreadable = {name: column.unreadable for name, column in encoded.items() if column.unreadable}
        rows = (
            np.column_stack([column.rows for column in encoded.values()]) if encoded else np.empty((batch.num_rows, 0))
        )
        return OrdinalRows(np.ascontiguousarray(rows), replace(self, columns=columns), unreadable)

    def _read(self, table: object, grow: bool, source: str) -> OrdinalRows:
        schema, blocks = self, []
        unreadable: dict[str, int] = {}
        for batch in _batches(table, [column.name for column in self.columns], source):
            rows, schema, counts = schema.encode_batch(batch, grow, source)
            blocks.append(rows)
            for name, count in counts.items():
                unreadable[name] = unreadable.get(name, 0) + count
        rows = np.concatenate(blocks) if blocks else np.empty((0, len(self.inputs)))
        _check_finite(rows, self.inputs, source)
        return OrdinalRows(rows, schema, unreadable)


def table_of(table: object, source: str = "memory") -> Table:
    """Return any table in memory as one of Arrow's, which can be read again and by row number."""
    import pyarrow as pa

    batches = list(_batches(table, None, source))
    if not batches:
        raise InputError(f"{source}: there are no rows in it")
    return pa.Table.from_batches(batches)


def _one_batch(table: object, source: str) -> RecordBatch:
    import pyarrow as pa

    found = table if isinstance(table, pa.Table) else table_of(table, source)
    [batch] = found.combine_chunks().to_batches() or [pa.RecordBatch.from_pylist([], schema=found.schema)]
    return batch


def _batches(table: object, names: list[str] | None, source: str) -> Iterator[RecordBatch]:
    """Yield a table, or its named columns, as Arrow record batches."""
    import pyarrow as pa

    from opauc.core.batch import BEGINNING
    from opauc.data.bad_rows import BadRows
    from opauc.data.formats.memory import MemoryReader, table_names

    present = dict.fromkeys(table_names(table) or ())
    if names is not None and (absent := [name for name in names if name not in present]):
        there = listed(nearest_first(absent[0], present))
        raise InputError(f"{source}: no column {listed(absent)}, which the model was fitted with; there are {there}")
    columns = TableColumns(features=names, labeled=False)
    try:
        for part in MemoryReader(columns).batches(table, BEGINNING, BadRows()):
            yield part.rows
    except pa.ArrowException as error:
        raise InputError(f"{source}: a column holds neither all numbers nor all strings: {error}") from error


def _check_finite(rows: Floats, inputs: Sequence[str], source: str) -> None:
    """Raise if a number is infinite; missing ones are nan and allowed."""
    infinite = np.isinf(rows).any(axis=0)
    if infinite.any():
        raise InputError(f"{source}: column {inputs[int(np.argmax(infinite))]} holds an infinite value")
