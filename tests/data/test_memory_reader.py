import itertools

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset
import pytest
from scipy import sparse

from opauc.core.batch import BEGINNING
from opauc.data.bad_rows import BadRows
from opauc.data.columns import TableColumns
from opauc.data.encode.onehot import OneHotEncoder
from opauc.data.formats import memory as memory_reader
from opauc.data.formats.memory import MemoryReader
from opauc.errors import InputError

N = 250
RANDOM = np.random.default_rng(0)
TABLE = pa.table({
    "a": RANDOM.normal(size=N),
    "w": RANDOM.choice(["u", "v", "w"], N),
    "y": RANDOM.choice(["yes", "no"], N),
    "n": pa.array(RANDOM.integers(0, 9, N), mask=np.arange(N) % 7 == 0),
})  # fmt: skip
TABLES = {
    "pyarrow table": lambda: TABLE,
    "record batch": lambda: TABLE.combine_chunks().to_batches()[0],
    "reader": lambda: pa.RecordBatchReader.from_batches(TABLE.schema, TABLE.to_batches(100)),
    "dataset": lambda: pyarrow.dataset.dataset(TABLE),
    "pandas": lambda: TABLE.to_pandas().set_index(np.arange(N) + 7),
    "pandas categorical": lambda: TABLE.to_pandas().astype({"w": "category"}),
    "polars": lambda: pl.from_arrow(TABLE),
    "polars categorical": lambda: pl.from_arrow(TABLE).with_columns(pl.col("w").cast(pl.Categorical)),
}
COLUMNS = TableColumns(features=["a", "n"], categorical=["w"])


@pytest.fixture(autouse=True)
def _small_parts(monkeypatch):
    monkeypatch.setattr(memory_reader, "MAX_ROWS", 64)
    monkeypatch.setattr("opauc.data.tables.BATCH_ROWS", 64)


def parts_of(source, reader=None, place=BEGINNING):
    return list((reader or MemoryReader()).batches(source, place, BadRows()))


def encoded(parts, columns):
    encoder = OneHotEncoder(columns, missing="zero")
    return [encoder.encode(part, "memory", BadRows()) for part in parts], encoder


@pytest.mark.parametrize("kind", TABLES)
def test_every_kind_of_table_gives_the_same_rows(kind):
    parts = parts_of(TABLES[kind](), MemoryReader(COLUMNS))
    assert max(part.rows.num_rows for part in parts) <= 64
    assert parts[-1].after.offset == N
    found, encoder = encoded(parts, COLUMNS)
    names = encoder.feature_names()
    rows = np.concatenate([np.pad(r.toarray(), ((0, 0), (0, len(names) - r.shape[1]))) for r, *_ in found])
    frame = TABLE.to_pandas()
    np.testing.assert_array_equal(rows[:, :2], frame[["a", "n"]].fillna(0))
    assert sorted(names[2:]) == ["w=u", "w=v", "w=w"]
    for j in (2, 3, 4):
        np.testing.assert_array_equal(rows[:, j], frame["w"] == names[j].removeprefix("w="))
    np.testing.assert_array_equal(np.concatenate([labels for _, labels, *_ in found]), frame["y"])


@pytest.mark.parametrize("kind", TABLES)
def test_reading_goes_on_from_every_part_with_the_parts_that_followed(kind):
    parts = parts_of(TABLES[kind](), MemoryReader(COLUMNS))
    assert all(left.after == right.before for left, right in itertools.pairwise(parts))
    for number, part in enumerate(parts):
        rest = parts_of(TABLES[kind](), MemoryReader(COLUMNS), part.after)
        assert [(p.before, p.after) for p in rest] == [(p.before, p.after) for p in parts[number + 1 :]]
        assert all(p.rows.equals(q.rows) for p, q in zip(rest, parts[number + 1 :], strict=True))


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64, np.bool_])
def test_arrays_come_in_blocks_of_rows_with_labels_beside_them(order, dtype):
    array = np.array(RANDOM.integers(0, 2, (N, 3)), dtype=dtype, order=order)
    labels = np.arange(N)
    parts = parts_of(array, MemoryReader(labels=labels))
    assert [part.rows.shape[0] for part in parts] == [64, 64, 64, 58]
    assert all(part.rows.flags.c_contiguous and part.rows.dtype.kind == "f" for part in parts)
    np.testing.assert_array_equal(np.concatenate([part.rows for part in parts]), array)
    np.testing.assert_array_equal(np.concatenate([part.labels for part in parts]), labels)
    [*_, last] = parts_of(array, MemoryReader(labels=labels), parts[2].after)
    assert last.labels.tolist() == list(range(192, 250))


def test_the_label_of_an_array_may_be_one_of_its_columns():
    array = RANDOM.normal(size=(N, 3))
    parts = parts_of(array, MemoryReader(TableColumns(label=1)))
    np.testing.assert_array_equal(np.concatenate([part.rows for part in parts]), array[:, [0, 2]])
    np.testing.assert_array_equal(np.concatenate([part.labels for part in parts]), array[:, 1])


@pytest.mark.parametrize("kind", ["csr", "csc", "coo"])
@pytest.mark.parametrize("make", [sparse.random_array, sparse.random])
def test_sparse_rows_of_any_kind_come_canonical(kind, make):
    shape = ((N, 30),) if make is sparse.random_array else (N, 30)
    rows = make(*shape, density=0.1, format=kind, rng=0)
    parts = parts_of(rows, MemoryReader(labels=np.zeros(N)))
    assert (sparse.vstack([part.rows for part in parts]) != sparse.csr_array(rows)).nnz == 0
    assert all(isinstance(part.rows, sparse.csr_array) and part.rows.has_canonical_format for part in parts)


def test_unsorted_sparse_rows_are_put_in_order_and_the_callers_are_left_alone():
    rows = sparse.csr_array((np.array([1.0, 2.0, 3.0]), np.array([2, 0, 2]), np.array([0, 3])), shape=(1, 3))
    [part] = parts_of(rows, MemoryReader(labels=[0]))
    assert part.rows.toarray().tolist() == [[2, 0, 4]]
    assert rows.indices.tolist() == [2, 0, 2]
    rows.indices[0] = 7
    with pytest.raises(InputError, match="column indices must lie between 0 and 2, got 0 to 7"):
        parts_of(rows, MemoryReader(labels=[0]))


@pytest.mark.parametrize(
    ("labels", "wanted"),
    [
        ([0, 1], [0, 1]), (np.array([[1], [0]]), [1, 0]), (pd.Series(["a", "b"]), ["a", "b"]),
        (pl.Series(["a", "b"]), ["a", "b"]), (np.array(["a", None], dtype=object), ["a", ""]),
        (np.array([True, False]), [True, False]), (pd.Series(["a", "b"], dtype="category"), ["a", "b"]),
    ],
)  # fmt: skip
def test_labels_of_any_kind_become_an_array_of_numbers_or_strings(labels, wanted):
    [part] = parts_of(np.eye(2), MemoryReader(labels=labels))
    assert part.labels.tolist() == wanted
    assert part.labels.dtype.kind in "biufU"


def test_labels_beside_a_table_leave_all_its_columns_as_features():
    table = pa.table({"y": [1.0, 2.0], "b": [3.0, 4.0]})
    [part] = parts_of(table, MemoryReader(labels=[0, 1]))
    assert part.rows.schema.names == ["y", "b"]
    assert part.labels.tolist() == [0, 1]


@pytest.mark.parametrize(
    ("source", "reader", "reason"),
    [
        (np.eye(3), MemoryReader(labels=[0, 1]), "2 labels for 3 rows or more"),
        (np.eye(3), MemoryReader(labels=[0] * 4), "4 labels for 3 rows"),
        (np.zeros(3), MemoryReader(labels=[0] * 3), "expected an array of rows and columns, its shape is (3,)"),
        (np.array([["a"]]), MemoryReader(labels=[0]), "expected numbers, got an array of <U1"),
        (
            np.eye(2),
            MemoryReader(),
            "no column is called label, target, class or y; name the label (label=...), one of",
        ),
        (np.eye(2), MemoryReader(TableColumns(categorical=[0]), [0, 1]), "arrays have no categorical columns"),
        (sparse.eye_array(2), MemoryReader(), "of sparse rows all columns are features, and the labels are an array"),
        (np.eye(2), MemoryReader(labels=np.eye(2)), "expected a flat array of labels, its shape is (2, 2)"),
        (np.eye(2), MemoryReader(labels=np.array([1, "a"], dtype=object)), "labels are neither all numbers nor all"),
        ("file.csv", MemoryReader(), "expected an array, sparse rows or a table, got str"),
    ],
)
def test_what_cannot_be_read_is_refused_with_the_reason(source, reader, reason):
    with pytest.raises(InputError) as error:
        parts_of(source, reader)
    assert str(error.value).startswith(f"data in memory: {reason}")
