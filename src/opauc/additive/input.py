"""Raw tables and arrays in memory, checked, as rows of numbers with missing values."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils.validation import _check_feature_names, validate_data

from opauc.additive.settings import AdditiveSettings
from opauc.data import ReadOptions
from opauc.data.arrays import check_exact
from opauc.data.columns import TableColumns
from opauc.data.encode.number_reading import OrdinalReading
from opauc.data.frames import is_table, to_table, with_text_names
from opauc.data.sample import RowNumbers
from opauc.data.schema.column import CATEGORY, NUMBER, ColumnSchema
from opauc.data.schema.table import UNLABELED, TableSchema, table_of
from opauc.data.table_source import TableSource
from opauc.errors import InputError, Parameter
from opauc.types import Floats, Labels

if TYPE_CHECKING:
    from pyarrow import Table

# Sparse rows are made dense up to this size.
MOST_DENSE_BYTES = 2 * 2**30


class InputRows(NamedTuple):
    """Rows of numbers, and the schema of the table they come from, None for an array."""

    rows: Floats
    columns: TableSchema | None


@dataclass(frozen=True, eq=False)
class InMemoryRows:
    """The rows of an array or a table in memory, checked, to be taken by number and encoded."""

    data: Floats | Table
    requested: TableColumns = UNLABELED  # those that a user drops, or declares categorical or numeric
    is_array: bool = True  # or a table made of one: its columns are not inferred

    @classmethod
    def of(cls, estimator: BaseEstimator, X: ArrayLike, settings: AdditiveSettings) -> InMemoryRows:
        """Return the rows that an estimator is fitted to; they fix the number and the names of its features."""
        X = to_table(X)
        requested = replace(UNLABELED, categorical=settings.categorical, numeric=settings.numeric, drop=settings.drop)
        if not is_table(X):
            rows = _array_rows(estimator, X, reset=True)
            return cls(rows if requested == UNLABELED else _table_of_array(rows), requested)
        from opauc.data.formats.memory import is_records

        _check_feature_names(estimator, X, reset=True)
        table = table_of(with_text_names(X))
        estimator.n_features_in_ = len(table.schema.names)
        if is_records(X):
            estimator.feature_names_in_ = np.array(table.schema.names, dtype=object)
        return cls(table, requested, is_array=False)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.data.shape[0])

    def take(self, numbers: RowNumbers) -> InMemoryRows:
        """Return the rows of these sorted numbers."""
        if numbers.size == self.n_rows:
            return self
        if isinstance(self.data, np.ndarray):
            return replace(self, data=self.data[numbers])
        batches, first = [], 0
        for batch in self.data.to_batches():
            here = numbers[slice(*np.searchsorted(numbers, [first, first + batch.num_rows]))]
            batches.append(batch.take(here - first))
            first += batch.num_rows
        return replace(self, data=type(self.data).from_batches(batches, self.data.schema))

    def _infer_schema(self, table: Table, labels: Labels, keep_constant: bool) -> TableSchema:
        if not self.is_array:
            return TableSchema.infer(table, labels, keep_constant, requested=self.requested)
        columns = self.requested.resolve(table.schema.names, "X").by_name
        kinds = {name: CATEGORY if name in columns.categorical else NUMBER for name in table.schema.names}
        used = [name for name in kinds if name in (columns.features or ())]
        return TableSchema(tuple(ColumnSchema(name, kinds[name], declared=name in columns.numeric) for name in used))

    def encode(
        self, schema: TableSchema | None, labels: Labels | None = None, keep_constant: bool = False
    ) -> InputRows:
        """Return the rows as numbers, those of a table by its schema or one inferred from the rows and their labels.

        New categories are numbered unless the schema is frozen.
        """
        if isinstance(self.data, np.ndarray):
            return InputRows(self.data, None)
        schema = schema if labels is None else self._infer_schema(self.data, labels, keep_constant)
        assert schema is not None
        rows, schema, _ = schema.learn(self.data).warned()
        return InputRows(rows, schema)


def labeled_parts(X: Any, y: Any, sample_weight: Any, label: str | int | None) -> Iterator[tuple[Any, Any, Any]]:
    """Yield rows, labels and weights: of a stream part by part, of anything else all at once."""
    from opauc.data import labeled  # pyarrow, which arrays do not wait for

    yield from labeled.labeled_parts(X, y, sample_weight, label)


def labeled_table(X: Any, y: Any, label: str | int | None) -> tuple[TableSource, str | int] | None:
    """Return a table with its label column, or a stream with labels beside it; None of anything else with labels."""
    from opauc.data.labeled import LabeledTable, check_label_column
    from opauc.data.tables import is_stream, is_table_source, table_source

    if label is not None:
        table = X if is_table_source(X) else to_table(X)
        if not is_table_source(table):
            raise InputError(Parameter("label", label), f" names a column of a table, got {type(X).__name__}")
        check_label_column(table, label)
        return table_source(table), label
    if not is_stream(X):
        return None
    joined = LabeledTable(table_source(X), y)
    return joined, joined.label


def next_rows(estimator: BaseEstimator, X: ArrayLike, columns: TableSchema | None, learn: bool) -> InputRows:
    """Return the rows of a later batch, or rows to be scored, as numbers; only the former number new categories."""
    if isinstance(X, str | os.PathLike):
        return InputRows(_file_rows(estimator, os.fspath(X), columns), columns)
    X = to_table(X)
    if columns is None:
        return InputRows(_array_rows(estimator, X, reset=False), None)
    if not learn and isinstance(X, list) and len(X) == 1 and isinstance(X[0], dict):
        record = columns.read_record(X[0])
        if record is not None:
            return InputRows(record, columns)
    is_array = not is_table(X)
    if is_array and _fitted_to_array(estimator, columns):
        table = _table_of_array(_array_rows(estimator, X, reset=False))
        rows, schema, _ = (columns.learn(table) if learn else columns.read(table)).warned()
        return InputRows(rows, schema)
    if is_array:
        if columns.categorical.any() or not len(columns.inputs) == len(columns.columns) == estimator.n_features_in_:
            raise ValueError(
                f"{type(estimator).__name__} was fitted to a table with columns of strings or dates; "
                f"expected one with columns {', '.join(column.name for column in columns.columns)}, "
                f"got {type(X).__name__}"
            )
        return InputRows(_array_rows(estimator, X, reset=False), columns)
    from opauc.data.formats.memory import is_records

    reading = estimator._reading
    from_files = reading is not None and reading.label is not None  # such a model finds its columns by their names
    if "feature_names_in_" in vars(estimator) and not from_files and not is_records(X):
        _check_feature_names(estimator, X, reset=False)
    table = with_text_names(X)
    rows, schema, _ = (columns.learn(table) if learn else columns.read(table)).warned()
    return InputRows(rows, schema)


def _array_rows(estimator: BaseEstimator, X: ArrayLike, reset: bool) -> Floats:
    if isinstance(X, np.ndarray) and X.ndim == 2:
        check_exact(X, range(X.shape[1]), "X")
    try:
        checked = validate_data(
            estimator, X, reset=reset, accept_sparse="csr", dtype=np.float64, ensure_all_finite="allow-nan"
        )
    except ValueError as error:
        if "convert string" not in str(error):
            raise
        raise ValueError(f"{error}; pass columns of strings as a data frame, such as pandas.DataFrame(X)") from error
    if isinstance(checked, np.ndarray):
        dense: Floats = checked
        return dense
    size = 8 * checked.shape[0] * checked.shape[1]
    if size > MOST_DENSE_BYTES:
        raise ValueError(
            f"{type(estimator).__name__} takes tables, and these {checked.shape[0]} sparse rows of {checked.shape[1]} "
            f"features would take {size / 2**30:.1f} GiB as one; give fewer at a time, or use OPAUC"
        )
    unpacked: Floats = checked.toarray()
    return unpacked


def _fitted_to_array(estimator: BaseEstimator, schema: TableSchema) -> bool:
    """Tell whether a schema is that of an array, whose columns have the names of their positions."""
    positions = {f"x{j}" for j in range(estimator.n_features_in_)}
    return "feature_names_in_" not in vars(estimator) and {column.name for column in schema.columns} <= positions


def _table_of_array(rows: Floats) -> Table:
    """Return the columns of an array as a table, whose categories can be numbered."""
    import pyarrow as pa

    return pa.table({f"x{j}": pa.array(column, from_pandas=True) for j, column in enumerate(rows.T)})


def _file_rows(estimator: BaseEstimator, path: str, columns: TableSchema | None) -> Floats:
    """Return the rows of a file, read as the command read those of the training."""
    reading = estimator._reading or OrdinalReading(ReadOptions(), None, columns)
    stream = reading.stream([path])
    parts = [np.asarray(batch.rows, np.float64) for batch in stream.batches()]
    if not parts:
        raise InputError(f"{path}: there are no rows in it")
    return np.concatenate(parts)
