"""Queries of DuckDB, SQLite and PostgreSQL give the model of the same rows in a file; mistakes are one line."""

import io
import sqlite3
from contextlib import closing

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from pyarrow import parquet

import opauc
from opauc.data.databases import query_source
from opauc.errors import InputChangedError, InputError
from tests.cli.commands import StopHereError, one_line, stop_after
from tests.cli.conftest import opauc as command  # noqa: F401
from tests.data import postgresql
from tests.laws.test_same_table import mixed_table

LABEL, QUERY = "bought", "select * from sales order by row"
OPTIONS = {"trees": False, "random_state": 0, "init_size": 500}


@pytest.fixture(scope="module")
def rows():
    frame = mixed_table(2000)
    return pa.Table.from_pandas(frame.assign(shop=frame["shop"].astype("int64")), preserve_index=False)


@pytest.fixture(scope="module")
def folder(tmp_path_factory, rows):
    folder = tmp_path_factory.mktemp("databases")
    parquet.write_table(rows, folder / "sales.parquet", row_group_size=700)
    with duckdb.connect(folder / "sales.duckdb") as connection:
        connection.execute(f"create table sales as from '{folder}/sales.parquet'")
    with closing(sqlite3.connect(folder / "sales.sqlite")) as connection:
        rows.to_pandas().to_sql("sales", connection, index=False)
        connection.commit()
    return folder


@pytest.fixture(scope="module")
def postgres(rows):
    if postgresql.programs() is None:
        pytest.skip("PostgreSQL is not installed: apt-get install postgresql")
    from adbc_driver_postgresql import dbapi

    with postgresql.cluster() as address:
        with dbapi.connect(address) as connection, connection.cursor() as cursor:
            cursor.adbc_ingest("sales", rows)
            cursor.execute("create table prices as select row, (income * 100)::numeric(20, 2) as price from sales")
            connection.commit()
        yield address


def bytes_of(model, folder):
    opauc.save(model, folder / "model.opauc")
    return (folder / "model.opauc").read_bytes()


@pytest.fixture(scope="module")
def expected(folder):
    return opauc.train(folder / "sales.parquet", LABEL, **OPTIONS)


def test_a_query_of_duckdb_gives_the_model_file_of_parquet_to_the_bit(folder, expected, tmp_path):
    wanted = bytes_of(expected, tmp_path)
    model = opauc.train(sql=QUERY, database=folder / "sales.duckdb", label=LABEL, **OPTIONS)
    assert bytes_of(model, tmp_path) == wanted
    model = opauc.train(sql=f"from '{folder}/*.parquet';", label=LABEL, **OPTIONS)
    assert bytes_of(model, tmp_path) == wanted


def test_a_query_of_postgresql_gives_the_model_file_of_parquet_to_the_bit(postgres, expected, tmp_path):
    model = opauc.train(sql=QUERY, database=postgres, label=LABEL, **OPTIONS)
    assert bytes_of(model, tmp_path) == bytes_of(expected, tmp_path)


def test_a_query_of_sqlite_gives_the_same_model(folder, rows, tmp_path):
    # SQLite has neither booleans nor dates: whole numbers and strings stand for them, here as in the file.
    query = "select row, age, income, city, paid, shop, rooms, note, bought from sales order by row"
    names = ["row", "age", "income", "city", "paid", "shop", "rooms", "note", LABEL]
    same = rows.select(names)
    same = same.set_column(4, "paid", same["paid"].cast(pa.int64()))
    expected = opauc.train(same, LABEL, **OPTIONS)
    for database in (folder / "sales.sqlite", f"sqlite:{folder}/sales.sqlite"):
        assert bytes_of(opauc.train(sql=query, database=database, label=LABEL, **OPTIONS), tmp_path) == bytes_of(
            expected, tmp_path
        )


def test_decimal_numbers_of_postgresql_are_numbers(postgres, rows):
    query = "select p.price, s.* from sales s join prices p using (row) order by row"
    source = query_source(query, postgres)
    assert source.schema.field("price").type == pa.float64()
    price = pa.concat_arrays([batch["price"] for batch in source.read(["price"])]).to_numpy()
    assert_allclose(price, np.round(rows["income"].to_numpy() * 100, 2), rtol=1e-12)


def test_a_query_is_scored_and_evaluated(folder, expected, rows):
    database = folder / "sales.duckdb"
    scores = opauc.predict(expected, sql=QUERY, database=database)
    assert_array_equal(scores, expected.decision_function(rows.drop_columns(LABEL)))
    found = opauc.evaluate(expected, sql=QUERY, database=database)
    assert found.auc == opauc.evaluate(expected, folder / "sales.parquet").auc


def test_the_command_trains_on_queries_and_scores_them(command, folder, postgres, tmp_path, monkeypatch):  # noqa: F811
    monkeypatch.chdir(tmp_path)
    address = f"{folder}/sales.duckdb"
    query = ("--sql", QUERY, "--database", address)
    assert command("train", *query, "--label", LABEL, "--no-trees", "-q").code == 0
    assert QUERY in " ".join(command("inspect", "model.opauc").out.split())
    scored = command("predict", "model.opauc", *query, "--keep", "row").out.splitlines()
    assert (scored[0], len(scored)) == ("row,score", 2001)
    there = ("--sql", QUERY, "--database", postgres)
    assert '"rows": 2000' in command("evaluate", "model.opauc", *there, "--json").out
    assert command("update", "model.opauc", *there, "-o", "n.opauc", "-q").code == 0
    assert b"secret" not in (tmp_path / "n.opauc").read_bytes()
    for arguments, message in (
        (["--sql", QUERY], "Table with name sales does not exist!"),
        (["--database", address], "--database is for a query; add --sql"),
        (["x.csv", "--sql", QUERY], "--sql is in place of other data; leave one of the two out"),
        ([], "name the data: files, patterns or folders; or a query (--sql)"),
    ):
        assert message in one_line(command("train", *arguments, "--label", LABEL))


def test_training_on_a_query_resumes_to_the_same_model(command, folder, tmp_path, monkeypatch):  # noqa: F811
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("opauc.data.tables.BATCH_ROWS", 300)
    words = ("train", "--sql", QUERY, "--database", f"{folder}/sales.duckdb", "--label", LABEL, "--no-trees")
    words = (*words, "--init-size", 500, "--checkpoint-every", 300, "-q")
    assert command(*words, "-o", "whole.opauc").code == 0
    with monkeypatch.context() as patch:
        stop_after(patch, 4)
        with pytest.raises(StopHereError):
            command(*words, "-o", "model.opauc")
    assert command(*words, "-o", "model.opauc", "--resume").code == 0
    assert (tmp_path / "model.opauc").read_bytes() == (tmp_path / "whole.opauc").read_bytes()
    with monkeypatch.context() as patch:
        stop_after(patch, 4)
        with pytest.raises(StopHereError):
            command(*words, "-o", "model.opauc")
    with duckdb.connect(tmp_path / "other.duckdb") as connection:
        connection.execute(f"create table sales as select * replace (row + 1 as row) from '{folder}/sales.parquet'")
    checkpoint = (tmp_path / "model.opauc.checkpoint").read_bytes()
    monkeypatch.setattr("opauc.data.databases.DuckdbQuery.name", f"{folder}/sales.duckdb")
    (tmp_path / "model.opauc.checkpoint").write_bytes(checkpoint)
    other = [word if word != f"{folder}/sales.duckdb" else "other.duckdb" for word in words]
    message = one_line(command(*other, "-o", "model.opauc", "--resume"))
    assert "rows are not those read before" in message


def test_mistakes_are_one_line(folder, postgres, tmp_path):
    text = tmp_path / "text.db"
    text.write_text("a,b\n")
    sales, port = f"{folder}/sales.sqlite", "postgresql://me:secret@127.0.0.1:1/shop"
    for query, database, message in (
        ("select 1", "none.duckdb", r"^none.duckdb: no such database$"),
        ("select 1", text, r"text.db: is no database of DuckDB or SQLite$"),
        ("select 1", f"duckdb:{sales}", r"sales.sqlite: is no database of duckdb$"),
        ("select 1", "mysql://me:secret@host/shop", r"^database='mysql://host/shop': expected a file of DuckDB or "),
        ("selec 1", None, r"^the query: Parser Error: syntax error at or near \"selec\""),
        ("set threads = 1", None, r"^the query: expected one query that gives rows$"),
        ("select 1; select 2", None, r"^the query: expected one query that gives rows$"),
        ("select * from nowhere", sales, r"sales.sqlite: .*no such table: nowhere"),
        ("select * from nowhere", postgres, r"^postgresql:///postgres: .*relation \"nowhere\" does not exist"),
        ("select 1", port, r"^postgresql://127.0.0.1:1/shop: .*Connection refused"),
    ):
        with pytest.raises(InputError, match=message) as caught:
            query_source(query, database)
        assert "\n" not in str(caught.value)
        assert "secret" not in str(caught.value)
    with pytest.raises(InputError, match=r"sales.duckdb: no column bougth; there are bought"):
        opauc.train(sql=QUERY, database=folder / "sales.duckdb", label="bougth")
    with pytest.raises(InputError, match=r"sales.duckdb: no column is called label, target, class or y"):
        opauc.train(sql="select age, city from sales", database=folder / "sales.duckdb")
    with pytest.raises(InputError, match="is for a query"):
        opauc.train(database="x.duckdb")


def test_a_query_that_breaks_off_leaves_no_model(postgres, tmp_path):
    broken = "select age, city, bought, 1 / (row - 1500) as x from sales order by row"
    with pytest.raises(InputError, match=r"postgres: .*division by zero"):
        opauc.train(sql=broken, database=postgres, label=LABEL, output=tmp_path / "m.opauc", **OPTIONS)
    assert list(tmp_path.iterdir()) == []


def test_rows_that_come_during_training_are_noticed(tmp_path):
    path = tmp_path / "growing.sqlite"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("create table t as select 1 as a")
        connection.commit()
        source = query_source("select * from t", path)
        assert source.count() == 1
        connection.execute("insert into t values (2)")
        connection.commit()
        with pytest.raises(InputChangedError, match=r"growing.sqlite: the query gave 1 rows, and now 2$"):
            list(source.read(["a"]))


def test_json_lines_come_through_a_pipe(command, rows, tmp_path, monkeypatch):  # noqa: F811
    monkeypatch.chdir(tmp_path)
    text = rows.select(["age", "city", LABEL]).to_pandas().to_json(orient="records", lines=True)
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BufferedReader(io.BytesIO(text.encode()))))
    ran = command("train", "-", "--format", "jsonl", "--label", LABEL, "--no-trees", "--json")
    assert ran.code == 0
    assert '"rows": 2000' in ran.out
