"""Queries of databases as sources: DuckDB, SQLite and PostgreSQL, read in batches as Arrow."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any
from urllib.parse import quote

import pyarrow as pa

from opauc.core.extras import needed
from opauc.data.remote import shown_url
from opauc.data.table_source import TableSource
from opauc.data.tables import BATCH_ROWS, table_source
from opauc.errors import InputChangedError, InputError, Parameter, ParameterError

POSTGRESQL = ("postgresql://", "postgres://")
SQLITE, DUCKDB = "sqlite:", "duckdb:"
# How files of databases begin, and at which byte that stands.
SIGNATURES = {SQLITE: (0, b"SQLite format 3\x00"), DUCKDB: (8, b"DUCK")}
# Rows come in the order of the table: no scan begins in its middle because another one runs, none is cut into parts.
IN_ORDER = (
    "set default_transaction_read_only = on",
    "set synchronize_seqscans = off",
    "set max_parallel_workers_per_gather = 0",
)
# The metadata that the driver of PostgreSQL adds to a column whose numbers it gives as text.
TYPE_NAME, NUMERIC = b"ADBC:postgresql:typname", b"numeric"


def query_source(query: str, database: str | os.PathLike[str] | None = None) -> TableSource:
    """Return the rows of a query as a source.

    Parameters
    ----------
    query : str
        A query in the words of the database, without a semicolon.
    database : str or path, optional
        A file of DuckDB or SQLite, or "postgresql://user@host/name". By default the query is one of DuckDB, and names
        files: "from 'days/*.parquet'".

    Examples
    --------
    >>> from opauc.data.databases import query_source
    >>> source = query_source("select 1 as a, 'x' as b")
    >>> source.schema.names, source.count(), [batch.to_pydict() for batch in source.read(["b"])]
    (['a', 'b'], 1, [{'b': ['x']}])
    """
    address = "" if database is None else os.fspath(database)
    query = query.strip().rstrip(";")
    if address.startswith(POSTGRESQL):
        return QueryTable(query, shown_url(address), lambda: _postgresql(address), "select * from ({}) as q limit 0")
    if "://" in address:
        raise ParameterError(
            Parameter("database", shown_url(address)), ": expected a file of DuckDB or SQLite, or postgresql://..."
        )
    if _kind_of(address) == SQLITE:
        path = address.removeprefix(SQLITE)
        return QueryTable(query, path, lambda: _sqlite(path), "{}")
    return DuckdbQuery(query, address.removeprefix(DUCKDB))


def _kind_of(address: str) -> str:
    """Return the kind of database that a file is, by its prefix or its first bytes."""
    kind = next((prefix for prefix in (SQLITE, DUCKDB) if address.startswith(prefix)), None)
    path = address.removeprefix(kind or "")
    if not path:
        return DUCKDB
    if not os.path.isfile(path):
        raise InputError(f"{path}: no such database")
    with open(path, "rb") as file:
        begin = file.read(16)
    found = next((name for name, (at, text) in SIGNATURES.items() if begin[at:].startswith(text)), None)
    if found is None or (kind is not None and found != kind):
        raise InputError(f"{path}: is no database of {'DuckDB or SQLite' if kind is None else kind.rstrip(':')}")
    return found


class DuckdbQuery(TableSource):
    """A query of DuckDB, of one of its databases or of files."""

    def __init__(self, query: str, path: str) -> None:
        with needed("duckdb", "sql"):
            import duckdb
        self._query, self._path = query, path
        self.failures: tuple[type[Exception], ...] = (duckdb.Error,)
        try:
            self._connection = duckdb.connect(path, read_only=True) if path else duckdb.connect()
            kinds = [str(statement.type).rpartition(".")[2] for statement in self._connection.extract_statements(query)]
            if kinds != ["SELECT"]:
                raise InputError(f"{self.name}: expected one query that gives rows")
            self._table = table_source(self._connection.sql(query))
        except duckdb.Error as error:
            raise InputError(f"{self.name}: {first_line(error)}") from error

    @property
    def name(self) -> str:
        """The name of the database."""
        return self._path or "the query"

    @property
    def record(self) -> str:
        """The database and the query."""
        return f"{self.name}: {self._query}"

    @property
    def schema(self) -> pa.Schema:
        """Names and types of the columns."""
        return self._table.schema

    def count(self) -> int:
        """Return the number of rows."""
        return self._table.count()

    def read(self, names: Sequence[str]) -> Iterable[pa.RecordBatch]:
        """Return the rows, the columns of these names only."""
        return self._table.read(names)


class QueryTable(TableSource):
    """A query of a database with a driver of ADBC; each time it is read, a connection is opened and closed."""

    def __init__(
        self, query: str, name: str, connect: Callable[[], AbstractContextManager[Any]], schema_query: str
    ) -> None:
        with needed("adbc_driver_manager", "sql"):
            from adbc_driver_manager import dbapi
        self._query, self._name, self._connect, self._rows = query, name, connect, -1
        self.failures: tuple[type[Exception], ...] = (dbapi.Error, OSError)
        with self._opened(schema_query.format(query)) as reader:
            self._schema = pa.schema([_plain(field) for field in reader.schema])

    @property
    def name(self) -> str:
        """The name of the database, without a password."""
        return self._name

    @property
    def record(self) -> str:
        """The database and the query."""
        return f"{self.name}: {self._query}"

    @property
    def schema(self) -> pa.Schema:
        """Names and types of the columns."""
        return self._schema

    def count(self) -> int:
        """Return the number of rows."""
        with self._opened(f"select count(*) from ({self._query}) as q") as reader:
            self._rows = int(reader.read_all()[0][0].as_py())
        return self._rows

    def read(self, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Yield the rows, the columns of these names only; raise where there are others than were counted."""
        fields, rows = [self._schema.field(name) for name in names], 0
        with self._opened(self._query) as reader:
            for batch in reader:
                rows += batch.num_rows
                columns = [_plain_column(batch.column(field.name), field.type) for field in fields]
                yield pa.RecordBatch.from_arrays(columns, schema=pa.schema(fields))
        if self._rows not in (-1, rows):
            raise InputChangedError(f"{self.name}: the query gave {self._rows:,} rows, and now {rows:,}")

    @contextmanager
    def _opened(self, query: str) -> Iterator[Any]:
        """Give the reader of a query."""
        try:
            with self._connect() as cursor:
                cursor.execute(query)
                yield cursor.fetch_record_batch()
        except self.failures as error:
            raise InputError(f"{self.name}: {first_line(error)}") from error


@contextmanager
def _postgresql(address: str) -> Iterator[Any]:
    """Give a cursor of PostgreSQL whose queries change nothing and give rows in order."""
    with needed("adbc_driver_postgresql", "sql"):
        from adbc_driver_postgresql import dbapi
    with dbapi.connect(address, autocommit=True) as connection, connection.cursor() as cursor:
        for setting in IN_ORDER:
            cursor.execute(setting)
        yield cursor


@contextmanager
def _sqlite(path: str) -> Iterator[Any]:
    """Give a cursor of SQLite, which takes the types of columns from the first rows."""
    with needed("adbc_driver_sqlite", "sql"):
        from adbc_driver_sqlite import dbapi
    with dbapi.connect(f"file:{quote(path)}?mode=ro") as connection, connection.cursor() as cursor:
        cursor.adbc_statement.set_options(**{"adbc.sqlite.query.batch_rows": str(BATCH_ROWS)})
        yield cursor


def first_line(error: BaseException) -> str:
    """Return what an error says in one line: its first paragraph, and the line of the query it points at."""
    return " ".join(str(error).strip().partition("\n\n")[0].split()) or type(error).__name__


def _plain(field: pa.Field) -> pa.Field:
    """Return a column without metadata and of a plain type: decimal numbers that come as text are numbers."""
    kind = field.type
    if isinstance(kind, pa.BaseExtensionType):
        numeric = (field.metadata or {}).get(TYPE_NAME) == NUMERIC
        kind = pa.float64() if numeric else kind.storage_type
    return pa.field(field.name, kind)


def _plain_column(column: pa.Array, kind: pa.DataType) -> pa.Array:
    column = column.storage if isinstance(column, pa.ExtensionArray) else column
    return column if column.type == kind else column.cast(kind)
