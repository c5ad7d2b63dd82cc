"""Tables in memory and streams, with their labels apart: one of their columns, or an array beside them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from opauc.core.batch import RawLabels
from opauc.data.bad_rows import DROP_UNLABELED, missing_labels
from opauc.data.columns import TableColumns
from opauc.data.formats.memory import label_array, table_names
from opauc.data.formats.table import table_parts
from opauc.data.frames import PandasTable, to_table
from opauc.data.schema.table import table_of
from opauc.data.sources import IN_MEMORY
from opauc.data.table_source import TableSource
from opauc.data.tables import is_stream
from opauc.errors import InputError
from opauc.types import Array


def split_label(
    table: Any,
    label: str | int | None,
    features: Sequence[str | int] | None = None,
    drop: Sequence[str | int] = (),
    drop_unlabeled: bool = False,
) -> tuple[Any, Array]:
    """Return the feature columns of a table, by default all but the label, and the labels.

    Rows without a label are an error, or left out.

    Examples
    --------
    >>> import pandas as pd
    >>> from opauc.data.labeled import split_label
    >>> X, y = split_label(pd.DataFrame({"age": [30, 40], "bought": ["no", "yes"]}), "bought")
    >>> list(X.columns), y.tolist()
    (['age'], ['no', 'yes'])
    """
    table = to_table(table)
    names = table_names(table)
    if names is None:
        raise InputError(f"expected paths or a table with a label column, got {type(table).__name__}")
    columns = TableColumns(label=label, features=features, drop=drop).resolve(names, "the table").by_name
    name, chosen = str(columns.label), [str(feature) for feature in columns.features or ()]
    rows: Any
    if isinstance(table, PandasTable):
        frame: Any = table
        rows, labels = frame[chosen], label_array(frame[name])
    else:
        arrow = table_of(table)
        rows, labels = arrow.select(chosen), label_array(arrow[name].to_pandas())
    missing = missing_labels(labels)
    if not missing.any():
        return rows, labels
    if not drop_unlabeled:
        raise InputError(
            f"column {name}: the label is missing in {missing.sum():,} of {missing.size:,} rows; leave such rows out (",
            DROP_UNLABELED, ")",
        )  # fmt: skip
    labeled = np.flatnonzero(~missing)
    return (rows.iloc[labeled] if isinstance(table, PandasTable) else rows.take(labeled)), labels[labeled]


def check_label_column(table: Any, label: str | int | None) -> None:
    """Raise where the label column of a data frame has objects that are neither all numbers nor all strings."""
    if label is not None and not is_stream(table) and isinstance(table, PandasTable):
        names = table_names(table) or []
        frame: Any = table
        at = TableColumns(label).roles_in(names, IN_MEMORY).label
        if at is not None and frame.iloc[:, at].dtype.kind == "O":
            label_array(frame.iloc[:, at])


class LabeledRows(NamedTuple):
    """Rows with their labels, and weights if there are any."""

    rows: Any
    labels: Any
    weight: Any


def labeled_parts(X: Any, y: Any, sample_weight: Any, label: str | int | None) -> Iterator[LabeledRows]:
    """Yield labeled rows: of a stream part by part, of anything else all at once.

    Labels are the column `label`, or given as `y`.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from opauc.data.labeled import labeled_parts
    >>> table = pa.table({"age": [30, 40], "bought": ["no", "yes"]})
    >>> [part] = labeled_parts(table.to_reader(), None, None, "bought")
    >>> part.rows.column_names, part.labels.tolist()
    (['age'], ['no', 'yes'])
    """
    streamed, first = is_stream(X), 0
    for part in table_parts(X):
        rows, labels = (part, y) if label is None else split_label(part, label)
        if not streamed:
            yield LabeledRows(rows, labels, sample_weight)
            continue
        here = slice(first, first + part.num_rows)
        if label is None:
            labels = _slice_of(y, here, "y")
        yield LabeledRows(rows, labels, None if sample_weight is None else _slice_of(sample_weight, here, "weights"))
        first = here.stop
    for name, values in (("y", y), ("sample_weight", sample_weight)) if streamed else ():
        if values is not None and len(values) != first:
            raise InputError(f"X has {first:,} rows, {name} has {len(values):,}")


def _slice_of(values: Any, here: slice, name: str) -> Array:
    part = np.asarray(values)[here]
    if len(part) < here.stop - here.start:
        raise InputError(f"X has {here.stop:,} rows or more, {name} has {len(values):,}")
    return part


class LabeledTable(TableSource):
    """A table or a stream with the labels of its rows, an array, as one more column.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from opauc.data.labeled import LabeledTable
    >>> from opauc.data.tables import table_source
    >>> table = LabeledTable(table_source(pa.table({"age": [30, 40]})), ["no", "yes"])
    >>> table.label, [batch.to_pydict() for batch in table.read(["age", "label"])]
    ('label', [{'age': [30, 40], 'label': ['no', 'yes']}])
    """

    def __init__(self, table: TableSource, labels: object) -> None:
        self._table, self._labels = table, label_array(labels)
        names = set(table.schema.names)
        self.label: str = next(name for n in range(len(names) + 1) if (name := "label" + "_" * n) not in names)

    @property
    def schema(self) -> pa.Schema:
        """Names and types of the columns, and of the labels."""
        return self._table.schema.append(pa.field(self.label, pa.array(self._labels[:1]).type))

    @property
    def repeatable(self) -> bool:
        """Whether the table can be read again."""
        return self._table.repeatable

    def count(self) -> int:
        """Return the number of rows."""
        return self._table.count()

    def hold(self, n_rows: int) -> None:
        """Read up to so many rows ahead."""
        self._table.hold(n_rows)

    def read(self, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Yield the rows, the columns of these names only; raise unless there are as many labels."""
        first, features = 0, [name for name in names if name != self.label]
        for batch in self._table.read(features):
            labels: RawLabels = self._labels[first : first + batch.num_rows]
            first += batch.num_rows
            if first <= self._labels.size:
                yield batch.append_column(self.label, pa.array(labels)).select(list(names))
        if first != self._labels.size:
            raise InputError(f"{self.name}: {self._labels.size:,} labels for {first:,} rows")
