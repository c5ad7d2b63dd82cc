"""Tables and streams of other libraries as sources that are read batch by batch, as files are.

What can be read again, such as a data frame, a dataset, a LazyFrame or a
relation of DuckDB, is sampled before the pass, as files are. A stream that can
be read once is held ahead as far as a caller asks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from itertools import chain
from typing import Any

import pyarrow as pa

from opauc.data.frames import PandasTable, with_plain_values, with_text_names
from opauc.data.sources import IN_MEMORY
from opauc.data.table_source import TableSource
from opauc.errors import InputError

# Rows and bytes of a batch at most. The larger the batches, the less pyarrow spends on each: half as large ones took a
# tenth longer.
BATCH_ROWS, BATCH_BYTES = 131_072, 2**25


@dataclass(frozen=True, eq=False)
class RepeatableTable(TableSource):
    """A table that can be read again: its types, and functions that read columns and count rows.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from opauc.data.tables import table_source
    >>> source = table_source(pa.table({"age": [30, 40], "city": ["Bern", "Chur"]}))
    >>> source.count(), [batch.to_pydict() for batch in source.read(["age"])]
    (2, [{'age': [30, 40]}])
    """

    types: pa.Schema
    reader: Callable[[list[str]], Iterable[pa.RecordBatch]]
    counter: Callable[[], int]

    @property
    def schema(self) -> pa.Schema:
        """Names and types of the columns."""
        return self.types

    def read(self, names: Sequence[str]) -> Iterable[pa.RecordBatch]:
        """Return the rows, the columns of these names only."""
        return self.reader(list(names))

    def count(self) -> int:
        """Return the number of rows."""
        return int(self.counter())


class StreamTable(TableSource):
    """A stream of Arrow, which can be read once unless it ends within the rows that are held ahead.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from opauc.data.tables import StreamTable
    >>> table = pa.table({"age": [30, 40, 50]})
    >>> source = StreamTable(table.to_reader(max_chunksize=1))
    >>> source.hold(1)
    >>> source.repeatable, sum(batch.num_rows for batch in source.read(["age"]))
    (False, 3)
    """

    def __init__(self, reader: pa.RecordBatchReader) -> None:
        self._reader, self._begun, self._ended = reader, False, False
        self._held: list[pa.RecordBatch] = []

    @property
    def schema(self) -> pa.Schema:
        """Names and types of the columns."""
        return self._reader.schema

    @property
    def repeatable(self) -> bool:
        """Whether all rows are held."""
        return self._ended

    def hold(self, n_rows: int) -> None:
        """Read ahead until more than so many rows are held, or all."""
        if self._begun:
            return
        missing = n_rows - sum(batch.num_rows for batch in self._held)
        while missing >= 0 and not self._ended:
            batch = next(self._reader, None)
            if batch is None:
                self._ended = True
            else:
                self._held.append(batch)
                missing -= batch.num_rows

    def read(self, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Yield the rows, the columns of these names only; those held are given up unless they are all."""
        if self._begun and not self._ended:
            raise InputError(f"{self.name}: this stream can be read once, and was read before; make it again")
        held, self._begun = self._held, True
        if not self._ended:
            self._held = []
        return (batch.select(list(names)) for batch in chain(_given_up(held, not self._ended), self._reader))

    def count(self) -> int:
        """Return the number of rows, where all are held."""
        return sum(batch.num_rows for batch in self._held)


def _given_up(batches: list[pa.RecordBatch], given_up: bool) -> Iterator[pa.RecordBatch]:
    """Yield batches, and keep none of them that was yielded if they are given up."""
    while given_up and batches:
        yield batches.pop(0)
    yield from batches


def is_table_source(data: object) -> bool:
    """Tell whether data has columns by name and can be read batch by batch: a frame, a relation, a stream, ...

    >>> import numpy as np, pyarrow as pa
    >>> from opauc.data.tables import is_table_source
    >>> is_table_source(pa.table({"a": [1]})), is_table_source(np.eye(2)), is_table_source([{"a": 1}])
    (True, False, False)
    """
    if isinstance(data, TableSource) or _kind(data) in READERS:
        return True
    return isinstance(data, PandasTable) or hasattr(data, "__arrow_c_stream__") or hasattr(data, "scanner")


def is_stream(data: object) -> bool:
    """Tell whether data is read batch by batch: a table, but not one that is in memory already.

    >>> import pyarrow as pa
    >>> from opauc.data.tables import is_stream
    >>> table = pa.table({"a": [1]})
    >>> is_stream(table), is_stream(table.to_reader())
    (False, True)
    """
    if (kind := _kind(data)) in READERS:
        return kind not in (POLARS_FRAME, "dask")
    return is_table_source(data) and not isinstance(data, PandasTable | pa.Table | pa.RecordBatch)


def table_source(data: Any) -> TableSource:
    """Return any table as a source; raise InputError for what is none.

    Examples
    --------
    >>> import pandas as pd
    >>> from opauc.data.tables import table_source
    >>> table_source(pd.DataFrame({"age": [30, 40]})).schema.names
    ['age']
    """
    if isinstance(data, TableSource):
        return data
    if (make := READERS.get(_kind(data))) is not None:
        return make(data)
    if isinstance(data, PandasTable):
        return _of_pandas(data)
    if isinstance(data, pa.RecordBatch):
        data = pa.Table.from_batches([data])
    if isinstance(data, pa.Table):
        return RepeatableTable(data.schema, lambda names: data.select(names).to_batches(), lambda: data.num_rows)
    if hasattr(data, "scanner"):
        return _of_dataset(data)
    if not hasattr(data, "__arrow_c_stream__"):
        raise InputError(f"{IN_MEMORY}: expected an array, sparse rows or a table, got {type(data).__name__}")
    try:
        reader = pa.RecordBatchReader.from_stream(data)
    except (pa.ArrowException, TypeError) as error:
        raise InputError(f"{IN_MEMORY}: expected a table, got {type(data).__name__} of one column") from error
    return StreamTable(reader)


def rows_per_batch(n_columns: int) -> int:
    """Return how many rows of so many columns make a batch, at eight bytes a value, whatever the source.

    >>> from opauc.data.tables import rows_per_batch
    >>> rows_per_batch(10), rows_per_batch(1000)
    (131072, 4194)
    """
    return min(BATCH_ROWS, max(1, BATCH_BYTES // (8 * max(1, n_columns))))


def even_batches(batches: Iterable[pa.RecordBatch], n_rows: int) -> Iterator[pa.RecordBatch]:
    """Yield the same rows in batches of `n_rows`, the last one shorter: sums then do not depend on how rows came.

    >>> import pyarrow as pa
    >>> from opauc.data.tables import even_batches
    >>> parts = [pa.record_batch({"a": list(range(n))}) for n in (2, 0, 5, 1)]
    >>> [batch.num_rows for batch in even_batches(parts, 3)]
    [3, 3, 2]
    """
    waiting, n_waiting = list[pa.RecordBatch](), 0
    for batch in batches:
        while batch.num_rows:
            piece = batch.slice(0, n_rows - n_waiting)
            waiting, n_waiting, batch = [*waiting, piece], n_waiting + piece.num_rows, batch.slice(piece.num_rows)
            if n_waiting == n_rows:
                yield from _joined(waiting)
                waiting, n_waiting = [], 0
    yield from _joined(waiting)


def _joined(batches: list[pa.RecordBatch]) -> list[pa.RecordBatch]:
    """Return the rows of several batches as one; text of more than 2 GiB stays in several."""
    if len(batches) < 2:
        return batches
    joined: list[pa.RecordBatch] = pa.Table.from_batches(batches).combine_chunks().to_batches()
    return joined


def _kind(data: object) -> str:
    """Return the library of some data and its class, of Ibis and Dask the library alone."""
    library, name = type(data).__module__.partition(".")[0].lstrip("_"), type(data).__name__
    return library if library in ("ibis", "dask") else f"{library}.{name}"


def _of_pandas(frame: PandasTable) -> TableSource:
    table, schema = with_plain_values(with_text_names(frame))  # type: ignore[arg-type]

    def read(names: list[str]) -> Iterator[pa.RecordBatch]:
        for first in range(0, len(table), BATCH_ROWS):
            block = table.iloc[first : first + BATCH_ROWS]
            # Text columns may have several chunks, which a table can have but not a record batch.
            part = pa.Table.from_pandas(block, schema, preserve_index=False).select(names)
            yield from part.combine_chunks().to_batches()

    return RepeatableTable(schema, read, lambda: len(table))


def _of_dataset(dataset: Any) -> TableSource:
    """Return a dataset of pyarrow: a thread less and little read ahead, so that memory stays small."""

    def read(names: list[str]) -> Iterable[pa.RecordBatch]:
        scanner = dataset.scanner(
            columns=names, batch_size=BATCH_ROWS // 2, batch_readahead=2, fragment_readahead=1, use_threads=False
        )
        batches: Iterable[pa.RecordBatch] = scanner.to_batches()
        return batches

    return RepeatableTable(dataset.schema, read, dataset.count_rows)


def _of_polars(frame: Any) -> TableSource:
    def read(names: list[str]) -> Iterable[pa.RecordBatch]:
        yield from pa.RecordBatchReader.from_stream(frame.select(names))

    return RepeatableTable(_schema_of(frame.head(0)), read, lambda: frame.height)


def _of_lazy_frame(lazy: Any) -> TableSource:
    """Return a LazyFrame of polars, which its streaming engine collects part by part, in order."""
    polars = import_module("polars")

    def read(names: list[str]) -> Iterator[pa.RecordBatch]:
        parts = lazy.select(names).collect_batches(chunk_size=BATCH_ROWS // 2, maintain_order=True, engine="streaming")
        for part in parts:
            yield from pa.RecordBatchReader.from_stream(part)

    def count() -> int:
        return int(lazy.select(polars.len()).collect(engine="streaming").item())

    return RepeatableTable(_schema_of(lazy.head(0).collect()), read, count)


def _of_duckdb(relation: Any) -> TableSource:
    """Return a relation of DuckDB, whose query is run again each time it is read."""

    def read(names: list[str]) -> Any:
        quoted = ", ".join('"' + name.replace('"', '""') + '"' for name in names)
        return _duckdb_reader(relation.project(quoted))

    return RepeatableTable(
        _duckdb_reader(relation.limit(0)).schema, read, lambda: relation.aggregate("count(*)").fetchall()[0][0]
    )


def _duckdb_reader(relation: Any) -> Any:
    """Return the rows of a relation as a stream: DuckDB 2 has another name for it."""
    read: Any = getattr(relation, "to_arrow_reader", None) or relation.fetch_record_batch
    return read(BATCH_ROWS // 2)


def _of_ibis(table: Any) -> TableSource:
    def read(names: list[str]) -> Iterable[pa.RecordBatch]:
        batches: Iterable[pa.RecordBatch] = table.select(names).to_pyarrow_batches(chunk_size=BATCH_ROWS // 2)
        return batches

    return RepeatableTable(table.schema().to_pyarrow(), read, lambda: table.count().to_pyarrow().as_py())


def _schema_of(table: Any) -> pa.Schema:
    return pa.RecordBatchReader.from_stream(table).schema


# Tables that are read in a way of their own: in order, in parts, and again.
POLARS_FRAME = "polars.DataFrame"
READERS: dict[str, Callable[[Any], TableSource]] = {
    POLARS_FRAME: _of_polars,
    "polars.LazyFrame": _of_lazy_frame,
    "pyarrow.Scanner": lambda scanner: StreamTable(scanner.to_reader()),
    "duckdb.DuckDBPyRelation": _of_duckdb,
    "ibis": _of_ibis,
    "dask": lambda frame: table_source(frame.compute()),
}
