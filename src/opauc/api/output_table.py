"""Predictions as a table of the kind that the rows came in."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from typing import Any

import pyarrow as pa

from opauc.data.columns import listed
from opauc.data.formats.table import table_parts
from opauc.data.frames import PandasTable, to_table
from opauc.data.schema.table import table_of
from opauc.data.tables import is_stream
from opauc.errors import InputError, nearest_first
from opauc.types import Array


def with_predictions(
    data: Any, keep: Sequence[str], names: Sequence[str], predict: Callable[[Any], Sequence[Array]]
) -> Any:
    """Return the kept columns of a table with the columns of predictions, as a table of the same kind.

    A stream of Arrow, a dataset or a scanner gives a `RecordBatchReader`, which predicts as it is read.

    Examples
    --------
    >>> import pandas as pd
    >>> from opauc.api.output_table import with_predictions
    >>> frame = pd.DataFrame({"id": ["a", "b"], "age": [30, 40]}, index=[7, 8])
    >>> with_predictions(frame, ["id"], ["score"], lambda rows: [rows["age"].to_numpy() / 10])
      id  score
    7  a    3.0
    8  b    4.0
    """
    if not is_stream(data):
        return _joined(to_table(data), keep, names, predict)
    library = type(data).__module__.partition(".")[0].lstrip("_")
    parts = (_joined(part, keep, names, predict) for part in table_parts(data))
    if library in LIBRARIES:
        return LIBRARIES[library](pa.concat_tables(parts))
    first = next(parts, None)
    if first is None:
        raise InputError("expected rows to score, the stream has none")
    return pa.RecordBatchReader.from_batches(first.schema, _batches(first, parts))


def _joined(table: Any, keep: Sequence[str], names: Sequence[str], predict: Callable[[Any], Sequence[Array]]) -> Any:
    columns = dict(zip(names, predict(table), strict=True))
    if isinstance(table, PandasTable):
        frame: Any = table
        _check(keep, list(map(str, frame.columns)))
        return frame[list(keep)].assign(**columns)
    arrow = table_of(table)
    _check(keep, arrow.schema.names)
    joined = pa.table(arrow.select(list(keep)))
    for name, values in columns.items():
        joined = joined.append_column(name, pa.array(values))
    return _of_polars(joined) if type(table).__module__.startswith("polars") else joined


def _check(keep: Sequence[str], names: Sequence[str]) -> None:
    if absent := [name for name in keep if name not in names]:
        plural = "s" if len(absent) > 1 else ""
        raise InputError(f"no column{plural} {listed(absent)}; there are {listed(nearest_first(absent[0], names))}")


def _batches(first: pa.Table, rest: Iterator[pa.Table]) -> Iterator[pa.RecordBatch]:
    yield from first.to_batches()
    for table in rest:
        yield from table.cast(first.schema).to_batches()


def _of_polars(table: pa.Table) -> Any:
    return import_module("polars").from_arrow(table)


# How a table of pyarrow becomes one of these libraries.
LIBRARIES: dict[str, Callable[[pa.Table], Any]] = {
    "polars": lambda table: _of_polars(table).lazy(),
    "duckdb": lambda table: import_module("duckdb").from_arrow(table),
    "ibis": lambda table: import_module("ibis").memtable(table),
}
