"""Whatever has columns is read as the same table, and anything else is refused in one line that says what to pass."""

import importlib.util

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as pads
import pytest

import opauc
from opauc import OPAUC, OnePassGAM
from opauc.data import ReadOptions, stream_of_memory
from opauc.errors import InputError

RANDOM = np.random.default_rng(0)
FRAME = pd.DataFrame({"x": RANDOM.normal(size=200), "color": RANDOM.choice(["red", "green", "blue"], 200)})
LABELS = (FRAME["x"] + (FRAME["color"] == "red") + RANDOM.normal(size=200) > 0).astype(int).to_numpy()
TABLE = FRAME.assign(y=LABELS)


def relation_of_duckdb(table):
    import duckdb

    connection = duckdb.connect()
    connection.register("rows", table)
    return connection.sql("select * from rows")


def table_of_ibis(table):
    import ibis

    return ibis.polars.connect({"rows": pl.from_arrow(table)}).table("rows")


def frame_of_dask(table):
    import dask.dataframe

    return dask.dataframe.from_pandas(table.to_pandas(), npartitions=3)


def needs(name):
    return pytest.mark.skipif(importlib.util.find_spec(name) is None, reason=f"{name} is not installed")


KINDS = [
    pytest.param(lambda table: pl.from_arrow(table).lazy(), id="LazyFrame of polars"),
    pytest.param(pads.dataset, id="dataset"),
    pytest.param(lambda table: pads.dataset(table).scanner(), id="scanner"),
    pytest.param(lambda table: pa.RecordBatchReader.from_batches(table.schema, table.to_batches(50)), id="reader"),
    pytest.param(lambda table: table.to_batches()[0], id="record batch"),
    pytest.param(pa.Table.to_pydict, id="dict of lists"),
    pytest.param(lambda table: {name: table[name].to_numpy() for name in table.column_names}, id="dict of arrays"),
    pytest.param(pa.Table.to_pylist, id="records"),
    pytest.param(relation_of_duckdb, id="relation of DuckDB", marks=needs("duckdb")),
    pytest.param(table_of_ibis, id="table of Ibis", marks=needs("ibis")),
    pytest.param(frame_of_dask, id="frame of Dask", marks=needs("dask")),
]


@pytest.fixture(scope="module")
def model():
    return OnePassGAM().fit(FRAME, LABELS)


@pytest.mark.parametrize("make", KINDS)
def test_an_additive_model_takes_every_table(model, make):
    features, table = pa.Table.from_pandas(FRAME), pa.Table.from_pandas(TABLE)
    expected = model.decision_function(FRAME)
    assert OnePassGAM().fit(make(features), LABELS).decision_function(FRAME).tolist() == expected.tolist()
    assert model.decision_function(make(features)).tolist() == expected.tolist()
    assert opauc.train(make(table), label="y").decision_function(FRAME).tolist() == expected.tolist()
    assert opauc.evaluate(model, make(table), label="y").auc == opauc.evaluate(model, TABLE, label="y").auc


@pytest.mark.parametrize("make", KINDS)
def test_a_linear_model_takes_every_table(make):
    options = ReadOptions(categorical=("color",), label="y")
    [expected] = stream_of_memory(TABLE, options=options).batches()
    batches = list(stream_of_memory(make(pa.Table.from_pandas(TABLE)), options=options).batches())
    found = np.concatenate([np.asarray(batch.rows.toarray()) for batch in batches])
    np.testing.assert_array_equal(found, expected.rows.toarray())
    assert np.concatenate([batch.labels for batch in batches]).tolist() == LABELS.tolist()
    if make is not pa.Table.to_pylist:  # rows given as dicts are for tables with strings
        numbers = make(pa.Table.from_pandas(FRAME[["x"]]))
        np.testing.assert_allclose(OPAUC().fit(numbers, LABELS).coef_, OPAUC().fit(FRAME[["x"]], LABELS).coef_)


@pytest.mark.parametrize("make", [pd.DataFrame.to_numpy, lambda frame: frame.to_numpy().tolist()])
def test_strings_in_an_array_are_refused_with_what_to_pass(model, make):
    with pytest.raises(ValueError, match=r"convert string to float.*pass columns of strings as a data frame"):
        OnePassGAM().fit(make(FRAME), LABELS)
    with pytest.raises(ValueError, match=r"was fitted to a table .* expected one with columns x, color, got"):
        model.decision_function(make(FRAME))


@pytest.mark.parametrize("data", [FRAME["x"], pl.Series([1.0]), pa.chunked_array([[1.0]]), iter([1.0]), 5])
def test_what_has_no_columns_is_refused_in_one_line(data):
    with pytest.raises(InputError, match=r"expected a table, got|expected an array, sparse rows or a table, got"):
        list(stream_of_memory(data).batches())


def test_columns_of_different_lengths_are_refused_with_these():
    with pytest.raises(InputError, match=r"different numbers of rows: \{'a': 2, 'b': 1\}"):
        OnePassGAM().fit({"a": [1.0, 2.0], "b": ["x"]}, [0, 1])
