"""Arrays and tables in memory, read in the same batches as files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias, TypeGuard

import numpy as np
import pyarrow as pa
from scipy import sparse
from scipy.sparse import csr_array

from opauc.core.batch import Position, RawBatch, RawLabels
from opauc.data.arrays import Values, canonical_rows, check_exact, float_type
from opauc.data.arrow_columns import label_values
from opauc.data.bad_rows import BadRows
from opauc.data.columns import ResolvedColumns, TableColumns
from opauc.data.formats.table import table_batches
from opauc.data.frames import UNREADABLE, PandasTable, table_of_columns, to_table
from opauc.data.sources import IN_MEMORY
from opauc.data.table_source import TableSource
from opauc.data.tables import is_table_source, table_source
from opauc.errors import InputError
from opauc.types import Rows

MAX_ROWS = 65_536

# A table of pandas, polars or pyarrow, or any object with the Arrow C stream interface.
AnyTable: TypeAlias = Any
# Rows and their labels, or an Arrow batch and its columns.
Blocks: TypeAlias = Iterator[tuple[Rows | pa.RecordBatch, RawLabels | None, TableColumns | None]]


@dataclass(frozen=True, eq=False)
class MemoryReader:
    """Rows of NumPy arrays, SciPy sparse arrays, lists of dicts, and tables of pandas, polars and pyarrow.

    Labels are given as an array, or are a column of the data, by its position in
    arrays. Tables, and whatever streams as Arrow, are read a batch at a time (`opauc.data.tables`).

    Parameters
    ----------
    columns : TableColumns
        The label, the features and which of them are categorical.
    labels : array-like of shape (n,), optional
        Labels separate from the data, whose columns are then all features.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.data.bad_rows import BadRows
    >>> from opauc.core.batch import BEGINNING
    >>> from opauc.data.formats.memory import MemoryReader
    >>> [batch] = MemoryReader(labels=["a", "b"]).batches(np.eye(2), BEGINNING, BadRows())
    >>> batch.rows, batch.labels
    (array([[1., 0.],
           [0., 1.]]), array(['a', 'b'], dtype='<U1'))
    """

    columns: TableColumns = field(default_factory=TableColumns)
    labels: object = None

    def batches(self, source: object, position: Position, bad_rows: BadRows) -> Iterator[RawBatch]:  # noqa: ARG002
        """Yield the rows of `source` from `position` on; rows count as lines."""
        labels = None if self.labels is None else label_array(self.labels)
        before = position
        for block, column, columns in self._blocks(source, position.offset):
            n_rows = block.num_rows if isinstance(block, pa.RecordBatch) else block.shape[0]
            rows = before.offset + n_rows
            if labels is not None and rows > labels.size:
                raise InputError(f"{IN_MEMORY}: {labels.size} labels for {rows} rows or more")
            after = Position(rows, rows)
            given = column if labels is None else labels[before.offset : rows]
            yield RawBatch(block, given, None, before, after, columns, typed=True)
            before = after
        if labels is not None and labels.size != before.offset:
            raise InputError(f"{IN_MEMORY}: {labels.size} labels for {before.offset} rows")

    def _blocks(self, source: object, start: int) -> Blocks:
        """Yield the rows from row `start` on, with their labels where those are a column of an array."""
        if sparse.issparse(source):
            return self._sparse_blocks(sparse.csr_array(source), start)
        if is_records(source):
            source = table_of_records(source)
        elif isinstance(source, (list, tuple)):
            source = np.asarray(source)
        if isinstance(source, np.ndarray):
            return self._array_blocks(source, start)
        return self._batches(table_source(source if is_table_source(source) else to_table(source)), start)

    def _array_blocks(self, array: Values, start: int) -> Blocks:
        if array.ndim != 2:
            raise InputError(f"{IN_MEMORY}: expected an array of rows and columns, its shape is {array.shape}")
        roles, _ = self._resolve([str(position) for position in range(array.shape[1])])
        if roles.categorical:
            raise InputError(f"{IN_MEMORY}: arrays have no categorical columns; they need a table")
        check_exact(array, roles.numeric, IN_MEMORY)
        dtype, every = float_type(array.dtype, IN_MEMORY), roles.numeric == tuple(range(array.shape[1]))
        for first in range(start, array.shape[0], MAX_ROWS):
            block = array[first : first + MAX_ROWS]
            chosen = block if every else block[:, roles.numeric]
            labels = None if roles.label is None else block[:, roles.label].copy()
            yield np.ascontiguousarray(chosen, dtype=dtype), labels, None

    def _sparse_blocks(self, rows: csr_array, start: int) -> Blocks:
        if self.columns.features is not None or (self.columns.labeled and self.labels is None):
            raise InputError(
                f"{IN_MEMORY}: of sparse rows all columns are features, and the labels are an array of their own"
            )
        for first in range(start, rows.shape[0], MAX_ROWS):
            ends = rows.indptr[first : first + MAX_ROWS + 1]
            entries = slice(ends[0], ends[-1])
            block = canonical_rows(rows.data[entries], rows.indices[entries], ends - ends[0], rows.shape[1], IN_MEMORY)
            yield block, None, None

    def _batches(self, table: TableSource, start: int) -> Blocks:
        """Yield the columns to read of any table, some rows at a time."""
        roles, columns = self._resolve(table.schema.names)
        names = [table.schema.names[position] for position in roles.used()]
        for batch in table_batches(table, names, start):
            yield batch, None, columns

    def _resolve(self, names: list[str]) -> ResolvedColumns:
        columns = self.columns if self.labels is None else replace(self.columns, label=None, labeled=False)
        return columns.resolve(names, IN_MEMORY)


def is_records(source: object) -> TypeGuard[Sequence[Mapping[str, object]]]:
    """Tell whether rows are given as dicts of their columns."""
    return isinstance(source, (list, tuple)) and bool(source) and all(isinstance(row, Mapping) for row in source)


def table_names(data: AnyTable) -> list[str] | None:
    """Return the names of the columns of a table or of rows given as dicts, None of anything else.

    >>> import numpy as np
    >>> from opauc.data.formats.memory import table_names
    >>> table_names([{"a": 1}, {"b": 2}]), table_names(np.eye(2))
    (['a', 'b'], None)
    """
    if is_records(data):
        return list(dict.fromkeys(str(name) for row in data for name in row))
    if isinstance(data, PandasTable):
        return [str(name) for name in data.columns]
    if not (hasattr(data, "__arrow_c_stream__") or hasattr(data, "__arrow_c_array__")):
        return None
    schema = getattr(data, "schema", None)
    names = getattr(schema, "names", None)
    return [str(name) for name in (names() if callable(names) else names or ())] or None


def table_of_records(records: Sequence[Mapping[str, object]]) -> pa.Table:
    """Return rows given as dicts as a table; what a row lacks is missing.

    >>> from opauc.data.formats.memory import table_of_records
    >>> table_of_records([{"a": 1}, {"a": 2, "b": "x"}]).to_pydict()
    {'a': [1, 2], 'b': [None, 'x']}
    """
    names = dict.fromkeys(name for row in records for name in row)
    return table_of_columns({name: [row.get(name) for row in records] for name in names})


def label_array(labels: object) -> RawLabels:
    """Return labels as a flat array of numbers or strings; None becomes nan or the empty string."""
    given = np.asarray(labels)
    if given.ndim != 1 and given.shape != (given.shape[0], 1):
        raise InputError(f"{IN_MEMORY}: expected a flat array of labels, its shape is {given.shape}")
    if given.dtype.kind != "O":
        return given.reshape(-1)
    try:
        column = pa.array(given.reshape(-1), from_pandas=True)
        labels, missing = label_values(pa.record_batch({"y": column}), "y", IN_MEMORY)
    except UNREADABLE as error:
        raise InputError(f"{IN_MEMORY}: labels are neither all numbers nor all strings") from error
    return labels if labels.dtype.kind == "U" or not missing.any() else np.where(missing, np.nan, labels)
