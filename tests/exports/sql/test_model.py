"""Models as SQL: databases give the scores, probabilities, labels and reasons of Python."""

import os
import re
import shutil
import sys
from dataclasses import replace
from importlib import import_module

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import sqlglot
from numpy.testing import assert_allclose

import opauc
from opauc import OPAUC, OnePassGAM
from opauc.errors import ParameterError, UnsupportedOperationError
from opauc.exports.format import ExportOptions
from opauc.exports.sql import model as sql_model
from opauc.exports.sql.classes import classes_sql_text
from opauc.exports.sql.dialects import DIALECTS
from opauc.exports.sql.model import sql_text
from tests.exports import cases, class_cases
from tests.exports.sql.databases import ROW, arrow_table, query_duckdb, query_postgres

TOLERANCE = {"rtol": 0.0, "atol": 1e-9}
pytestmark = pytest.mark.filterwarnings("ignore:column")


def assert_scores(result, case, at=slice(None)):
    assert_allclose(result["score"].to_numpy(float), case.scores[at], **TOLERANCE)
    assert_allclose(result["probability"].to_numpy(float), case.probabilities[at], **TOLERANCE)
    assert result["label"].tolist() == case.model.predict(case.frame)[at].tolist()


def assert_reasons(result, case, k):
    expected = case.model.reasons(case.frame, k)
    for row in range(len(result)):
        found = [(result[f"reason_{at}"][row], result[f"contribution_{at}"][row]) for at in range(1, k + 1)]
        found = [(name, part) for name, part in found if isinstance(name, str) and part < -1e-12]
        reasons = [reason for reason in expected[row] if reason.difference < -1e-12]
        assert [name for name, _ in found] == [reason.name for reason in reasons]
        assert_allclose([part for _, part in found], [reason.difference for reason in reasons], **TOLERANCE)


def test_duckdb_gives_the_scores_probabilities_and_labels_of_python(case):
    result = query_duckdb(sql_text(case.portable, ExportOptions()), arrow_table(case.rows))
    assert_scores(result, case)
    assert [*result.columns[:-3]] == [*case.rows[0], ROW]


@pytest.mark.parametrize("name", ["mixed", "trees", "edited", "array_0"])
def test_duckdb_gives_them_of_columns_with_types(name, case_of):
    case = case_of(name)
    assert_scores(query_duckdb(sql_text(case.portable, ExportOptions(typed=True)), arrow_table(case.rows)), case)


@pytest.mark.parametrize("name", ["mixed", "edited", "text"])
def test_duckdb_gives_the_reasons_of_python(name, case_of):
    case = case_of(name)
    result = query_duckdb(sql_text(case.portable, ExportOptions(reasons=3)), arrow_table(case.rows))
    assert_scores(result, case)
    assert_reasons(result, case, 3)


def test_duckdb_gives_the_reasons_of_trees_and_combinations():
    rows, labels = cases.tree_frame(0, 4000, n_shops=30)
    case = cases.Case(OnePassGAM(random_state=0).fit(rows, labels), cases.records(rows[:40]), rows[:40])
    assert case.portable.trees is not None
    result = query_duckdb(sql_text(case.portable, ExportOptions(reasons=5, typed=True)), arrow_table(case.rows))
    assert_scores(result, case)
    assert_reasons(result, case, 5)


def test_postgresql_gives_the_scores_probabilities_and_labels_of_python(case, postgres):
    # Its text holds no character of number 0.
    at = [at for at, row in enumerate(case.rows) if not any("\0" in str(value) for value in row.values())]
    query = sql_text(case.portable, ExportOptions(dialect="postgres"))
    assert_scores(query_postgres(query, arrow_table([case.rows[row] for row in at]), postgres), case, at)


def test_postgresql_gives_the_reasons_of_python(case_of, postgres):
    case = case_of("edited")
    query = sql_text(case.portable, ExportOptions(dialect="postgres", reasons=3, typed=True))
    result = query_postgres(query, arrow_table(case.rows), postgres)
    assert_scores(result, case)
    assert_reasons(result, case, 3)


@pytest.fixture(scope="module")
def spark():
    pytest.importorskip("pyspark", reason="pyspark is not installed: opauc[spark]")
    if shutil.which("java") is None:
        pytest.skip("Spark needs Java 17, which is not on this machine")
    from pyspark.sql import SparkSession

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    settings = {"spark.ui.enabled": "false", "spark.sql.shuffle.partitions": "1", "spark.sql.session.timeZone": "UTC"}
    builder = SparkSession.builder.master("local[1]")
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    yield session
    session.stop()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ["mixed", "edited", "text", "linear_mean", "array_1"])
def test_spark_gives_the_scores_probabilities_and_labels_of_python(name, case_of, spark):
    case = case_of(name)
    spark.createDataFrame(arrow_table(case.rows)).createOrReplaceTempView("data")
    reasons = 2 if name == "edited" else 0
    query = sql_text(case.portable, ExportOptions(dialect="spark", reasons=reasons))
    result = spark.sql(query).toPandas().sort_values(ROW).reset_index(drop=True)
    assert_scores(result, case)
    if reasons:
        assert_reasons(result, case, reasons)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("make", [class_cases.mixed, lambda: class_cases.arrays()[0]], ids=["additive", "linear"])
def test_spark_gives_the_scores_probabilities_and_labels_of_several_classes(make, spark):
    case = make()
    spark.createDataFrame(arrow_table(case.rows)).createOrReplaceTempView("data")
    query = classes_sql_text(case.portable, ExportOptions(dialect="spark", typed=True))
    result = spark.sql(query).toPandas().sort_values(ROW).reset_index(drop=True)
    names = case.portable.labels
    assert_allclose(result[[f"score_{name}" for name in names]].to_numpy(float), case.scores, **TOLERANCE)
    assert_allclose(result[[f"probability_{name}" for name in names]].to_numpy(float), case.probabilities, **TOLERANCE)
    assert result["label"].tolist() == case.labels


@pytest.mark.parametrize("name", ["mixed", "edited", "linear_mean", "array_0"])
@pytest.mark.parametrize("dialect", DIALECTS)
def test_queries_are_sql_of_their_dialect(name, dialect, case_of):
    portable = case_of(name).portable
    tables = {"table": 'shop."daily orders"'}
    query = sql_text(portable, ExportOptions(dialect=dialect, typed=True, reasons=2 * portable.is_centered, **tables))
    (parsed,) = sqlglot.parse(query, dialect=dialect)
    selected = [column.alias_or_name.lower() for column in parsed.selects if not column.is_star]
    assert selected[:3] == (["score", "probability", "label"] if dialect != "tsql" else [])
    names = {table.name for table in parsed.find_all(sqlglot.exp.Table)}
    assert any(name.lower() == "daily orders" for name in names)
    literals = {one.this for one in parsed.find_all(sqlglot.exp.Literal) if one.is_string}
    literals |= {one.this for one in parsed.find_all(sqlglot.exp.National)}
    if name == "mixed":
        kept = {one for one in cases.HOSTILE[2:] if "\0" not in one and ("$" not in one or dialect != "spark")}
        assert kept <= literals


HOSTILE_NAMES = (
    'orders"; drop table data; --',
    "it's",
    "select",
    "größe 😀",
    "a]b`c",
    "two words",
    "-- x",
    "a{0}b{c}",
    "100%",
)


@pytest.mark.parametrize("name", HOSTILE_NAMES)
def test_names_of_columns_and_tables_are_only_names(name):
    rows, labels = pd.DataFrame({name: [0.0, 1.0, 2.0, 4.0], "b": [1.0, 0.0, 3.0, 1.0]}), [0, 0, 1, 1]
    model = OPAUC().fit(rows, labels)
    case = cases.Case(model, cases.records(rows), rows)
    quoted = '"' + name.replace('"', '""') + '"'
    query = sql_text(case.portable, ExportOptions(table=quoted))
    assert_scores(query_duckdb(query, arrow_table(case.rows), name), case)
    for dialect in DIALECTS:
        parsed = sqlglot.parse(sql_text(case.portable, ExportOptions(dialect=dialect, table=quoted)), dialect=dialect)
        assert len(parsed) == 1
        names = {table.name for table in parsed[0].find_all(sqlglot.exp.Table)}
        assert (name.upper() if dialect == "snowflake" and name == "select" else name) in names


@pytest.mark.parametrize("n_rows", [0, 1])
def test_few_rows_are_scored(n_rows, case_of):
    case = case_of("mixed")
    table = arrow_table(case.rows).slice(0, n_rows)
    result = query_duckdb(sql_text(case.portable, ExportOptions(reasons=1)), table)
    assert_allclose(result["score"].to_numpy(float), case.scores[:n_rows], **TOLERANCE)


@pytest.mark.parametrize("column", ["score", "Label", "opauc_1", "OPAUC__2", "t", "r", "k", "j1"])
def test_columns_of_any_name_stay(column):
    rows, labels = pd.DataFrame({column: [0.0, 1.0, 2.0, 4.0]}), [0, 0, 1, 1]
    case = cases.Case(OPAUC().fit(rows, labels), cases.records(rows), rows)
    result = query_duckdb(sql_text(case.portable, ExportOptions()), arrow_table(case.rows))
    assert result[column].tolist() == rows[column].tolist()
    score = "score_" if column == "score" else "score"
    assert_allclose(result[score], case.scores, **TOLERANCE)


@pytest.mark.parametrize(
    ("name", "column", "value"),
    [
        ("mixed", "amount", float("inf")), ("mixed", "amount", float("-inf")), ("text", "comma", "inf"),
        ("linear_error", "amount", None), ("linear_error", "amount", "seven"), ("linear_error", "size", ""),
        ("linear_zero", "amount", "seven"),
    ],
)  # fmt: skip
def test_a_row_that_python_refuses_has_no_score(name, column, value, case_of):
    case = case_of(name)
    rows = [dict(row) for row in case.rows[:3]]
    rows[1][column] = value
    is_centered = case.portable.is_centered
    result = query_duckdb(sql_text(case.portable, ExportOptions(reasons=int(is_centered))), arrow_table(rows))
    for output in ("score", "probability", "label", *(("reason_1", "contribution_1") if is_centered else ())):
        assert result[output].isna()[1]
    assert_allclose(result["score"].to_numpy(float)[[0, 2]], case.scores[[0, 2]], **TOLERANCE)


def test_not_a_number_is_missing(case_of):
    case = case_of("edited")
    rows = pd.DataFrame(case.rows).astype(float)
    rows[ROW] = range(len(rows))
    table = pa.Table.from_pandas(rows, preserve_index=False, safe=False)
    filled = table.set_column(1, "x1", pa.array(rows["x1"].to_numpy(), from_pandas=False))
    assert filled["x1"].null_count == 0
    assert_scores(query_duckdb(sql_text(case.portable, ExportOptions()), filled), case)


@pytest.mark.parametrize("labels", [[False, True], [0, 1], [-2.0, 2.0], ["it's", "ü"]])
def test_labels_are_those_of_the_model(labels):
    rows = pd.DataFrame({"a": [0.0, 1.0, 2.0, 4.0]})
    case = cases.Case(OPAUC().fit(rows, np.repeat(labels, 2)), cases.records(rows), rows)
    assert_scores(query_duckdb(sql_text(case.portable, ExportOptions()), arrow_table(case.rows)), case)


def test_one_line_names_what_a_dialect_cannot_read(case_of):
    portable = case_of("text").portable
    for dialect in ("bigquery", "snowflake", "tsql"):
        with pytest.raises(UnsupportedOperationError, match=r"column 'comma': its numbers were text in training \(,\)"):
            sql_text(portable, ExportOptions(dialect=dialect))
        assert sqlglot.parse_one(sql_text(portable, ExportOptions(dialect=dialect, typed=True)), dialect=dialect)


def test_one_line_names_a_dialect_that_is_none(case_of):
    with pytest.raises(ParameterError, match=r"^dialect: unknown dialect 'postgre'; expected one of postgres, "):
        sql_text(case_of("array_0").portable, ExportOptions(dialect="postgre"))


@pytest.mark.parametrize("table", ["", ".", "a.", "a..b", '""', "a\0b"])
def test_one_line_names_a_table_that_is_none(table, case_of):
    with pytest.raises(ParameterError, match="is no name of a table"):
        sql_text(case_of("array_0").portable, ExportOptions(table=table))


def test_reasons_that_cannot_be_given_are_one_line(case_of, monkeypatch):
    portable = case_of("array_3").portable
    assert not portable.is_centered
    with pytest.raises(UnsupportedOperationError, match=r"^reasons: the model does not keep the means"):
        sql_text(portable, ExportOptions(reasons=1))
    monkeypatch.setattr(sql_model, "MOST_SHARES", 10)
    with pytest.raises(
        UnsupportedOperationError, match=r"^reasons: reasons of its trees are [0-9,]+ conditions in SQL"
    ):
        sql_text(case_of("trees").portable, ExportOptions(reasons=1))


def test_the_package_that_quotes_names_is_named_where_it_is_absent(case_of, monkeypatch):
    monkeypatch.setitem(sys.modules, "sqlglot", None)
    with pytest.raises(opauc.errors.MissingEngineError, match=r"sqlglot is not installed; .*opauc\[sql\]"):
        sql_text(case_of("array_0").portable, ExportOptions())


def test_deep_trees_are_written_leaf_by_leaf(case_of, monkeypatch):
    monkeypatch.setattr(import_module("opauc.exports.sql.trees"), "MOST_DEEP", 3)
    case = case_of("trees")
    query = sql_text(case.portable, ExportOptions(typed=True))
    assert re.search(r"WHEN [^()]* AND [^()]* AND [^()]* THEN", query)
    assert_scores(query_duckdb(query, arrow_table(case.rows)), case)


def test_a_file_is_a_query_of_its_table(tmp_path, case_of):
    case = case_of("edited")
    opauc.export(case.model, tmp_path / "score.sql", dialect="postgres", table="shop.orders")
    text = (tmp_path / "score.sql").read_text(encoding="utf-8")
    assert text.startswith("-- PostgreSQL, written by opauc ")
    assert '"shop"."orders"' in text
    assert text == sql_text(replace(case.portable), ExportOptions(dialect="postgres", table="shop.orders"))
