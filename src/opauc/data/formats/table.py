"""Tables of other libraries, streams of Arrow and queries of databases, in the same batches as Parquet files."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from opauc.core.batch import Position, RawBatch
from opauc.data.arrow_columns import without_views
from opauc.data.bad_rows import BadRows
from opauc.data.columns import TableColumns
from opauc.data.encode.encoder import ColumnRequest
from opauc.data.formats.format import DataFormat, Reader
from opauc.data.options import ReadOptions
from opauc.data.table_source import TableSource
from opauc.data.tables import even_batches, is_stream, rows_per_batch, table_source
from opauc.errors import InputChangedError, InputError

# Rows of each batch that the hash of a position covers: to hash every value would cost more than to train on it.
HASHED_ROWS = 64


@dataclass(frozen=True)
class TableReader:
    """Rows of a `TableSource`; rows count as lines.

    The hash of a position covers the names of the columns that are read, and the first rows of every batch.

    Parameters
    ----------
    columns : TableColumns
        The label, the features and which of them are categorical; no other columns are read.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from opauc.core.batch import BEGINNING
    >>> from opauc.data.bad_rows import BadRows
    >>> from opauc.data.columns import TableColumns
    >>> from opauc.data.formats.table import TableReader
    >>> from opauc.data.tables import table_source
    >>> source = table_source(pa.table({"a": [1, 2], "b": [3, 4], "y": [0, 1]}))
    >>> [batch] = TableReader(TableColumns(features=["b"])).batches(source, BEGINNING, BadRows())
    >>> batch.rows.to_pydict(), batch.after.offset
    ({'b': [3, 4], 'y': [0, 1]}, 2)
    """

    columns: TableColumns = field(default_factory=TableColumns)

    def batches(self, source: TableSource, position: Position, bad_rows: BadRows) -> Iterator[RawBatch]:  # noqa: ARG002
        """Yield the batches of `source` from `position` on; rows before it are read, and compared by their hash."""
        schema = source.schema
        roles, columns = self.columns.resolve(schema.names, source.name)
        names = [schema.names[at] for at in roles.used()]
        hasher, before = hashlib.sha256(repr(names).encode()), Position()
        for batch in table_batches(source, names):
            for column in batch.slice(0, HASHED_ROWS).columns:
                hasher.update(column.to_string(window=HASHED_ROWS).encode(errors="replace"))
            rows = before.offset + batch.num_rows
            after = Position(rows, rows, hasher.hexdigest())
            if before.offset >= position.offset:
                yield RawBatch(batch, None, None, before, after, columns, typed=True)
            elif rows >= position.offset and after[::2] != position[::2]:
                raise _changed(source, position)
            before = after
        if before.offset < position.offset:
            raise _changed(source, position)


def table_batches(source: TableSource, names: Sequence[str], start: int = 0) -> Iterator[pa.RecordBatch]:
    """Yield the columns of a table from a row on; batches depend on the rows and the number of columns alone."""
    batches = even_batches(map(without_views, _without_errors(source, names)), rows_per_batch(len(names)))
    first = 0
    for batch in batches:
        if first + batch.num_rows > start:
            yield batch.slice(max(0, start - first))
        first += batch.num_rows


def table_parts(data: Any) -> Iterator[Any]:
    """Yield a stream part by part, as tables of pyarrow; anything else as it is.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from opauc.data.formats.table import table_parts
    >>> table = pa.table({"age": [30, 40]})
    >>> [part.num_rows for part in table_parts(table.to_reader())], next(table_parts(table)) is table
    ([2], True)
    """
    if not is_stream(data):
        yield data
        return
    source = table_source(data)
    for batch in table_batches(source, source.schema.names):
        yield pa.Table.from_batches([batch])


def _without_errors(source: TableSource, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a source; what its library raises becomes one line."""
    try:
        yield from source.read(names)
    except (pa.ArrowException, *source.failures) as error:
        reason = str(error).strip().partition("\n")[0] or type(error).__name__
        raise InputError(f"{source.name}: {reason}") from error


def _changed(source: TableSource, position: Position) -> InputChangedError:
    return InputChangedError(f"{source.name}: the first {position.offset:,} rows are not those read before")


def _reader(_: ReadOptions, request: ColumnRequest) -> Reader:
    return TableReader(request.pinned_columns)  # type: ignore[return-value]


# Found by its sources, not by name.
TABLE = DataFormat("table", (), _reader)
