"""Streams, relations, LazyFrames and datasets are fitted and scored batch by batch, and give the same model."""

from itertools import pairwise

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as pads
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from pyarrow import parquet

import opauc
from opauc import OnePassGAM
from opauc.additive.state import same_basis
from opauc.data.tables import StreamTable, even_batches, table_source
from opauc.errors import InputError
from tests.laws.test_same_table import mixed_table

LABEL = "bought"
ROWS = 3000


@pytest.fixture(scope="module")
def frame():
    return mixed_table(ROWS)


@pytest.fixture(scope="module")
def table(frame):
    return pa.Table.from_pandas(frame, preserve_index=False)


@pytest.fixture(scope="module")
def parquet_file(table, tmp_path_factory):
    path = tmp_path_factory.mktemp("rows") / "rows.parquet"
    parquet.write_table(table, path, row_group_size=700)
    return path


def relation(path):
    return duckdb.connect().sql(f"from '{path}'")


# How each kind of table is made of a Parquet file, and how many times it can be read.
KINDS = {
    "frame of pandas": lambda path: pd.read_parquet(path),
    "frame of polars": lambda path: pl.read_parquet(path),
    "table": lambda path: parquet.read_table(path),
    "relation of DuckDB": relation,
    "LazyFrame": lambda path: pl.scan_parquet(path),
    "dataset": lambda path: pads.dataset(path),
    "reader": lambda path: parquet.read_table(path).to_reader(max_chunksize=333),
    "scanner": lambda path: pads.dataset(path).scanner(),
}


def bytes_of(model, folder):
    opauc.save(model, folder / "model.opauc")
    return (folder / "model.opauc").read_bytes()


@pytest.fixture(scope="module", params=["few rows", "many rows"])
def options(request):
    """Return options with which all rows are fitted at once, and with which an initial sample is drawn."""
    return {"trees": False, "random_state": 0, **({"init_size": 500} if request.param == "many rows" else {})}


@pytest.fixture(scope="module")
def expected(parquet_file, options, tmp_path_factory):
    return bytes_of(opauc.train(parquet_file, LABEL, **options), tmp_path_factory.mktemp("expected"))


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind not in ("reader", "scanner")])
def test_what_can_be_read_again_gives_the_model_file_of_parquet_to_the_bit(
    kind, parquet_file, options, expected, tmp_path
):
    assert bytes_of(opauc.train(KINDS[kind](parquet_file), LABEL, **options), tmp_path) == expected
    if kind in ("frame of pandas", "relation of DuckDB"):
        assert bytes_of(OnePassGAM(**options).fit(KINDS[kind](parquet_file), label=LABEL), tmp_path) == expected


@pytest.mark.parametrize("kind", ["reader", "scanner"])
def test_a_stream_of_few_rows_gives_the_model_file_of_parquet_to_the_bit(kind, parquet_file, tmp_path):
    expected = bytes_of(opauc.train(parquet_file, LABEL, trees=False), tmp_path)
    assert bytes_of(opauc.train(KINDS[kind](parquet_file), LABEL, trees=False), tmp_path) == expected


def test_the_first_rows_of_a_long_stream_fix_the_basis(table):
    options = {"trees": False, "init_size": 500}
    model = OnePassGAM(**options).fit(table.to_reader(max_chunksize=100), label=LABEL)
    later = 500 + np.random.default_rng(0).permutation(ROWS - 500)
    other = table.take(np.concatenate([np.arange(500), later]))
    again = OnePassGAM(**options).fit(other.to_reader(max_chunksize=100), label=LABEL)
    assert same_basis(model.basis_, again.basis_)
    assert not same_basis(model.basis_, OnePassGAM(**options).fit(table, label=LABEL).basis_)
    assert sum(model._fitted.counts) == ROWS


def test_a_stream_is_one_batch_after_the_other_in_partial_fit(table):
    options = {"trees": False, "init_size": 500}
    model = OnePassGAM(**options).partial_fit(table.to_reader(max_chunksize=100), label=LABEL)
    expected = OnePassGAM(**options).partial_fit(table, label=LABEL)
    rows = table.drop_columns(LABEL)
    assert_allclose(model.decision_function(rows), expected.decision_function(rows), rtol=0, atol=1e-9)


@pytest.mark.parametrize("kind", ["reader", "relation of DuckDB", "LazyFrame", "dataset"])
def test_labels_beside_a_stream_are_those_of_a_column(kind, frame, tmp_path):
    features = tmp_path / "features.parquet"
    frame.drop(columns=LABEL).to_parquet(features)
    model = OnePassGAM(trees=False).fit(KINDS[kind](features), frame[LABEL])
    expected = OnePassGAM(trees=False).fit(frame, label=LABEL)
    assert_array_equal(model.decision_function(frame), expected.decision_function(frame))
    later = OnePassGAM(trees=False).partial_fit(KINDS[kind](features), frame[LABEL])
    assert later._fitted.counts == expected._fitted.counts


@pytest.mark.parametrize("kind", KINDS)
def test_predictions_come_back_in_the_kind_that_went_in(kind, parquet_file, frame):
    model = OnePassGAM(trees=False).fit(frame, label=LABEL)
    expected = model.predict_proba(frame)[:, 1]
    assert_array_equal(opauc.predict(model, KINDS[kind](parquet_file), response="probability"), expected)
    data = KINDS[kind](parquet_file)
    found = opauc.predict(model, data, response="probability", keep=["city", "row"])
    wanted = pa.RecordBatchReader if kind in ("reader", "scanner", "dataset") else type(data)
    assert isinstance(found, wanted)
    columns = table_source(found)
    read = pa.Table.from_batches(columns.read(["city", "row", "probability"]))
    assert_array_equal(read["probability"].to_numpy(), expected)
    assert read["row"].to_pylist() == frame["row"].tolist()


def test_a_frame_of_predictions_keeps_its_index_and_types(frame):
    model = OnePassGAM(trees=False).fit(frame, label=LABEL)
    part = frame.iloc[[7, 3]]
    found = opauc.predict(model, part, keep=["seen"], response="label")
    assert found.index.tolist() == [7, 3]
    assert found.dtypes["seen"] == frame.dtypes["seen"]
    assert list(found.columns) == ["seen", "label"]
    with pytest.raises(InputError, match="no column sen; there are seen"):
        opauc.predict(model, part, keep=["sen"])
    with pytest.raises(InputError, match="keep is for tables, got ndarray"):
        opauc.predict(opauc.OPAUC().fit(np.eye(2), [0, 1]), np.eye(2), keep=["a"])


@pytest.mark.parametrize("kind", ["reader", "relation of DuckDB", "LazyFrame", "dataset", "scanner"])
def test_streams_are_evaluated_batch_by_batch(kind, parquet_file, frame, monkeypatch):
    model, other = (OnePassGAM(trees=False).fit(part, label=LABEL) for part in (frame, frame[:1000]))
    expected = opauc.evaluate(model, frame, LABEL, against=other)
    monkeypatch.setattr("opauc.data.tables.BATCH_ROWS", 500)
    found = opauc.evaluate(model, KINDS[kind](parquet_file), against=other)  # the label is that of the training
    assert (found.auc, found.rows, found.difference) == (expected.auc, ROWS, expected.difference)


def test_a_linear_model_is_trained_from_a_stream(table, parquet_file):
    options = {"solver": "exact", "categorical": ["city", "note"], "drop": ["since", "seen"], "missing": "mean"}
    expected = opauc.train(parquet_file, LABEL, **options)
    found = opauc.train(table.to_reader(max_chunksize=100), LABEL, **options)
    assert_array_equal(found.coef_, expected.coef_)


def test_a_model_is_updated_from_a_stream(table, tmp_path):
    parquet.write_table(table.slice(0, 2000), tmp_path / "first.parquet")
    opauc.train(tmp_path / "first.parquet", LABEL, trees=False, init_size=500, output=tmp_path / "m.opauc")
    model = opauc.update(tmp_path / "m.opauc", table.slice(2000).to_reader())
    assert sum(model._fitted.counts) == ROWS


def test_a_stream_that_was_read_is_refused_in_one_line(table):
    reader = table.to_reader(max_chunksize=100)
    OnePassGAM(trees=False, init_size=500).fit(reader, label=LABEL)
    source = StreamTable(table.to_reader(max_chunksize=100))
    list(source.read(["row"]))
    with pytest.raises(InputError, match=r"this stream can be read once, and was read before; make it again$"):
        source.read(["row"])


def test_labels_are_given_in_one_way(table):
    features, labels = table.drop_columns(LABEL), table[LABEL].to_pylist()
    with pytest.raises(InputError, match=r"^label='bought' names a column of the table; leave y out$"):
        OnePassGAM().fit(table, labels, label=LABEL)
    with pytest.raises(ValueError, match="requires y to be passed, but the target y is None; or name a column"):
        OnePassGAM().fit(table)
    with pytest.raises(InputError, match=r"^label='y' names a column of a table, got ndarray$"):
        OnePassGAM().fit(np.eye(2), label="y")
    with pytest.raises(InputError, match=r"^weights are for labels given as y; label='bought' has none$"):
        OnePassGAM().fit(table, label=LABEL, sample_weight=np.ones(ROWS))
    with pytest.raises(InputError, match="no column bougth; there are bought"):
        OnePassGAM().fit(table.to_reader(), label="bougth")
    with pytest.raises(InputError, match="data in memory: 2,999 labels for 3,000 rows"):
        OnePassGAM(trees=False).fit(features.to_reader(), labels[1:])
    with pytest.raises(InputError, match="X has 3,000 rows, y has 3,001"):
        OnePassGAM(trees=False).partial_fit(features.to_reader(), [*labels, "no"])


def test_a_failing_stream_leaves_the_model_as_it_was(table):
    def batches():
        yield from table.to_batches(max_chunksize=1000)
        raise pa.ArrowInvalid("the connection was lost\nmore")

    model = OnePassGAM(trees=False, init_size=500).partial_fit(table, label=LABEL)
    rows = table.drop_columns(LABEL)
    before = model.decision_function(rows)
    for fit in (model.fit, model.partial_fit):
        with pytest.raises(InputError, match=r"^data in memory: (Invalid: )?the connection was lost$"):
            fit(pa.RecordBatchReader.from_batches(table.schema, batches()), label=LABEL)
        assert_array_equal(model.decision_function(rows), before)


def test_a_type_that_cannot_be_read_is_named(table):
    nested = table.append_column("tags", pa.array([[1, 2]] * ROWS))
    with pytest.raises(InputError, match=r"column tags holds list<.*>, which cannot be categories"):
        OnePassGAM(trees=False, categorical=["tags"]).fit(nested.to_reader(), label=LABEL)
    with pytest.raises(InputError, match=r"the label, column tags, holds list<.*>, which is neither"):
        OnePassGAM(trees=False).fit(nested.to_reader(), label="tags")


def test_batches_do_not_depend_on_how_rows_come():
    random = np.random.default_rng(0)
    values = pa.array(random.normal(size=1000))
    for _ in range(20):
        cuts = np.sort(random.integers(0, 1000, random.integers(0, 30)))
        edges = [0, *cuts.tolist(), 1000]
        parts = [pa.record_batch({"a": values[a:b]}) for a, b in pairwise(edges)]
        size = int(random.integers(1, 1200))
        found = list(even_batches(parts, size))
        assert {part.num_rows for part in found[:-1]} <= {size}
        assert pa.chunked_array([part["a"] for part in found]).combine_chunks().equals(values)
