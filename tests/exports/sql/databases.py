"""Rows of cases as tables of databases, and queries of these as arrays."""

import pandas as pd
import pyarrow as pa

ROW = "the row"  # the position of a row: databases keep no order


def arrow_table(rows):
    """Return rows as an Arrow table with the position of each."""
    frame = pd.DataFrame(rows)
    frame[ROW] = range(len(frame))
    return pa.Table.from_pandas(frame, preserve_index=False)


def query_duckdb(query, table, name="data"):
    """Return the rows of a query of a table in DuckDB, in the order of the table."""
    import duckdb

    with duckdb.connect() as connection:
        connection.register("given", table)
        connection.execute("create table copied as from given")
        quoted = ".".join('"' + part.replace('"', '""') + '"' for part in name.split("."))
        connection.execute(f"alter table copied rename to {quoted}")
        return in_order(connection.execute(query).df())


def query_postgres(query, table, address, name="data"):
    """Return the rows of a query of a table in PostgreSQL, in the order of the table."""
    from adbc_driver_postgresql import dbapi

    with dbapi.connect(address) as connection, connection.cursor() as cursor:
        cursor.adbc_ingest(name, table, mode="replace")
        cursor.execute(query)
        return in_order(cursor.fetch_arrow_table().to_pandas())


def in_order(frame):
    """Return the rows of a frame by their positions."""
    return frame.sort_values(ROW).reset_index(drop=True)
