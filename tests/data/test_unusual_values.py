"""Values that other programs write, and few expect: read, or refused in one line."""

import datetime

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import feather, parquet

import opauc
from opauc.data.schema.dates import TIMED_PARTS, date_numbers
from opauc.errors import InputError

RANDOM = np.random.default_rng(0)
N_ROWS = 120
X = RANDOM.normal(size=N_ROWS)
LABELS = (X + RANDOM.normal(size=N_ROWS) > 0).astype(int)
COLORS = [("red", "green", "blue")[row % 3] for row in range(N_ROWS)]


def test_times_in_nanoseconds_are_dates_to_the_microsecond():
    start = pd.Timestamp("2024-02-29 18:30:00.123456789")
    times = pd.Series([start + pd.Timedelta(days=day, nanoseconds=day) for day in range(N_ROWS)])
    rows = date_numbers(pa.array(times), TIMED_PARTS)
    expected = [
        (time.value / 86_400e9, time.month, time.weekday(), (time - time.normalize()) / pd.Timedelta(hours=1))
        for time in times
    ]
    # Days since 1970 are exact to 4e-12, hours to 24 times as much: a third of a microsecond.
    np.testing.assert_allclose(rows, expected, rtol=0, atol=1e-10)
    model = opauc.train(pd.DataFrame({"t": times, "x": X, "y": LABELS}), label="y")
    assert "t day" in model._reading.columns.inputs


@pytest.mark.parametrize("kind", ["date32[day]", "date64[ms]", "timestamp[s]", "timestamp[ms]", "timestamp[us]"])
def test_dates_of_every_type_are_the_same_numbers(kind):
    days = [datetime.date(1969, 12, 31), datetime.date(2024, 2, 29), None]
    column = pa.array(days, pa.date32()).cast(pa.type_for_alias(kind))
    np.testing.assert_array_equal(date_numbers(column, TIMED_PARTS[:3]), [[-1, 12, 2], [19782, 2, 3], [np.nan] * 3])


@pytest.mark.parametrize("name", ["frame", "t.parquet", "t.arrow"])
def test_an_unknown_time_zone_is_named(tmp_path, name):
    times = pa.array(np.arange(N_ROWS) * 10**9).cast(pa.timestamp("ns", "Mars/Phobos"))
    table = pa.table({"t": times, "x": X, "y": LABELS})
    if name != "frame":
        (parquet.write_table if name == "t.parquet" else feather.write_feather)(table, tmp_path / name)
    with pytest.raises(InputError, match="column t: time zone Mars/Phobos is not known"):
        opauc.train(table if name == "frame" else tmp_path / name, label="y")


@pytest.mark.parametrize("solver", ["gam", "exact"])
@pytest.mark.parametrize("dtype", [pl.String, pl.Categorical, pl.Enum(["blue", "green", "red"])])
def test_strings_of_polars_are_those_of_pandas(tmp_path, dtype, solver):
    frame = pd.DataFrame({"color": COLORS, "x": X, "y": LABELS})
    expected = opauc.train(frame, label="y", solver=solver, **LINEAR[solver]).decision_function(frame[["color", "x"]])
    table = pl.DataFrame({"color": COLORS, "x": X, "y": LABELS}).with_columns(pl.col("color").cast(dtype))
    table.write_ipc(tmp_path / "t.arrow")
    table.write_parquet(tmp_path / "t.parquet")
    for data in (table, tmp_path / "t.arrow", tmp_path / "t.parquet"):
        model = opauc.train(data, label="y", solver=solver, **LINEAR[solver])
        for rows in (table.drop("y"), frame[["color", "x"]]):
            np.testing.assert_allclose(model.decision_function(rows), expected)


LINEAR = {"gam": {}, "exact": {"categorical": ("color",)}}


def test_labels_of_polars_are_categories_too(tmp_path):
    labels = ["yes" if label else "no" for label in LABELS]
    table = pl.DataFrame({"x": X, "y": labels}).with_columns(pl.col("y").cast(pl.Categorical))
    table.write_ipc(tmp_path / "t.arrow")
    for data in (table, tmp_path / "t.arrow"):
        assert opauc.train(data, label="y").classes_.tolist() == ["no", "yes"]


def test_integers_beyond_64_bits_are_categories():
    accounts = [10**30 + row % 4 for row in range(N_ROWS)]
    labels = np.array([row % 2 for row in range(N_ROWS)])
    model = opauc.OnePassGAM().fit(pd.DataFrame({"account": accounts}), labels)
    scores = model.decision_function(pd.DataFrame({"account": accounts}))
    assert scores[labels == 1].min() > scores[labels == 0].max()


def test_lone_surrogates_are_strings_like_others():
    strings = pd.Series(["a\ud800", "a\ud801"] * 60, dtype=object)
    labels = np.array([row % 2 for row in range(N_ROWS)])
    model = opauc.OnePassGAM().fit(pd.DataFrame({"s": strings}), labels)
    scores = model.decision_function(pd.DataFrame({"s": strings}))
    assert scores[labels == 1].min() > scores[labels == 0].max()


@pytest.mark.parametrize("value", [10**30, "a\ud800"])
def test_labels_and_records_that_arrow_has_no_type_for_are_refused_in_one_line(value):
    with pytest.raises(InputError, match="labels are neither all numbers nor all strings"):
        opauc.train(pd.DataFrame({"x": X, "y": pd.Series([value, 1] * 60, dtype=object)}), label="y")
    with pytest.raises(InputError, match="column b holds neither all numbers nor all strings"):
        opauc.OnePassGAM().fit([{"b": value}] * N_ROWS, LABELS)


@pytest.mark.parametrize("make", [pd.DataFrame, pa.table, pl.DataFrame])
def test_a_table_without_rows_is_refused_in_one_line(make):
    columns = {"x": np.empty(0), "y": np.empty(0)}
    with pytest.raises(InputError, match="there are no rows to train on"):
        opauc.train(make(columns), label="y")
    with pytest.raises(InputError, match="there are no rows in it"):
        opauc.OnePassGAM().fit(make({"x": np.empty(0)}), [])


@pytest.mark.parametrize("header", ["a,b\n", "a,b"])
@pytest.mark.parametrize("label", [0, "a"])
@pytest.mark.parametrize("solver", ["gam", "exact"])
def test_a_text_with_a_header_only_is_refused_in_one_line(tmp_path, header, label, solver):
    path = tmp_path / "t.csv"
    path.write_text(header)
    with pytest.raises(InputError, match="there are no rows"):
        opauc.train(path, label=label, solver=solver)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_libsvm_rows_without_any_feature_are_refused_in_one_line(tmp_path, n_jobs):
    path = tmp_path / "t.svm"
    path.write_text("1\n0\n" * 10)
    with pytest.raises(InputError, match="training needs rows with features, got 20 rows without any"):
        opauc.train(path, n_jobs=n_jobs)


@pytest.mark.parametrize("solver", ["gam", "exact"])
def test_lists_declared_categorical_are_refused_by_name(tmp_path, solver):
    parquet.write_table(pa.table({"l": [[1], [2]] * 60, "x": X, "y": LABELS}), tmp_path / "t.parquet")
    with pytest.raises(InputError, match=r"column l holds list<element: int64>, which cannot be categories"):
        opauc.train(tmp_path / "t.parquet", label="y", categorical=("l",), solver=solver)
