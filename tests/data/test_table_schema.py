"""The schema of raw tables: columns of every type become numbers."""

import datetime

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from numpy.testing import assert_array_equal

from opauc.data.schema.table import UNSEEN, TableSchema
from opauc.errors import InputError

FRAME = pd.DataFrame(
    {
        "age": [31, 45, 27],
        "paid": [True, False, True],
        "city": ["Bern", None, "Chur"],
        "size": pd.Categorical([2, 3, 2]),
        "when": pd.to_datetime(["2024-02-29 12:00", None, "2024-03-01 00:00"]),
        "empty": [np.nan] * 3,
    }
)


def test_every_kind_of_column_becomes_numbers():
    assert [column.name for column in TableSchema.infer(FRAME).columns] == ["age", "paid", "city", "size", "when"]
    known = TableSchema.infer(FRAME, keep_constant=True).learn(FRAME)
    assert known.schema.inputs == (
        "age", "paid", "city", "size", "when day", "when month", "when weekday", "when hour", "empty",
    )  # fmt: skip
    day = datetime.date(2024, 2, 29).toordinal() - datetime.date(1970, 1, 1).toordinal()
    expected = [
        [31, 1, 0, 0, day + 0.5, 2, 3, 12, np.nan],
        [45, 0, np.nan, 1, *[np.nan] * 4, np.nan],
        [27, 1, 1, 0, day + 1, 3, 4, 0, np.nan],
    ]
    assert_array_equal(known.rows, np.array(expected))
    assert_array_equal(known.schema.categorical, [False, False, True, True, *[False] * 5])


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_durations_and_times_of_the_day_are_hours_in_any_unit(unit):
    half_past = datetime.time(1, 30)
    times = pa.array([half_past, None], pa.time32(unit) if unit in ("s", "ms") else pa.time64(unit))
    durations = pa.array([datetime.timedelta(hours=49.5), None], pa.duration(unit))
    table = pa.table({"at": times, "took": durations})
    assert_array_equal(TableSchema.infer(table).learn(table).rows, [[1.5, 49.5], [np.nan, np.nan]])
    frame = pd.DataFrame({"at": [half_past, None], "took": pd.to_timedelta([49.5, None], unit="h").as_unit(unit)})
    text = pa.table({"at": ["01:30:00", None], "took": ["2 days 01:30:00", None]})
    for other in (frame, text):
        assert_array_equal(TableSchema.infer(table).learn(other).rows, [[1.5, 49.5], [np.nan, np.nan]])


@pytest.mark.parametrize("kind", [pl.from_pandas, pa.Table.from_pandas, lambda frame: frame])
def test_pandas_polars_and_pyarrow_give_the_same(kind):
    some = FRAME[["age", "paid", "city", "when"]]
    known = TableSchema.infer(kind(some)).learn(kind(some))
    assert_array_equal(known.rows, TableSchema.infer(some).learn(some).rows)


def test_columns_are_found_by_name_and_those_that_are_not_there_are_named():
    known = TableSchema.infer(FRAME).learn(FRAME).schema
    turned = FRAME[FRAME.columns[::-1]].assign(more=1)
    assert_array_equal(known.read(turned).rows, known.read(FRAME).rows)
    with pytest.raises(InputError, match="no column age, city"):
        known.read(FRAME.drop(columns=["age", "city"]))


def test_new_categories_get_numbers_until_the_vocabulary_is_frozen():
    known = TableSchema.infer(FRAME).learn(FRAME).schema
    more = FRAME.assign(city=["Genf", "Chur", "Bern"])
    assert_array_equal(known.read(more).rows[:, 2], [UNSEEN, 1, 0])
    grown = known.learn(more)
    assert_array_equal(grown.rows[:, 2], [2, 1, 0])
    kept = grown.schema.keep_categories([None, None, np.array([0, 2]), np.array([1]), None, None, None, None, None])
    assert_array_equal(kept.learn(more).rows[:, 2], [2, UNSEEN, 0])
    assert_array_equal(kept.learn(more).rows[:, 3], [UNSEEN, 1, UNSEEN])


def test_a_column_that_changes_its_type_is_read_as_what_it_was_and_what_cannot_be_is_counted():
    known = TableSchema.infer(FRAME).learn(FRAME).schema
    text = FRAME.assign(age=["31", "many", None], paid=["true", "False", "x"], size=[2.0, 3.0, 4.0])
    found = known.read(text)
    assert_array_equal(found.rows[:, :2], [[31, 1], [np.nan, 0], [np.nan, np.nan]])
    assert found.unreadable == {"age": 1, "paid": 1}
    assert_array_equal(found.rows[:, 3], [0, 1, UNSEEN])
    with pytest.raises(InputError, match="column when holds int64, it was dates"):
        known.read(FRAME.assign(when=[1, 2, 3]))
    with pytest.raises(InputError, match="column age holds"):
        known.read(FRAME.assign(age=pd.to_datetime(["2024-01-01"] * 3)))


def test_what_cannot_be_numbers_is_refused_by_name():
    with pytest.raises(InputError, match=r"every column is dropped: lists \(holds list<item: int64>, which is neither"):
        TableSchema.infer(pa.table({"lists": [[1], [2]]}))
    with pytest.raises(InputError, match="neither all numbers nor all strings"):
        TableSchema.infer(pd.DataFrame({"turns": [1j, 2j]}))
    infinite = pa.table({"x": [1.0, np.inf]})
    with pytest.raises(InputError, match="column x holds an infinite value"):
        TableSchema.infer(infinite).learn(infinite)


def test_json_gives_the_columns_again_and_strange_ones_are_refused():
    known = TableSchema.infer(FRAME).learn(FRAME).schema
    saved = known.to_json()
    assert_array_equal(TableSchema.of_json(saved).read(FRAME).rows, known.read(FRAME).rows)
    for strange in (
        {"columns": [{"name": "a", "kind": "color", "parts": [], "words": {}}], "frozen": True},
        {"columns": [{"name": "a", "kind": "category", "parts": [], "words": {"x": 0, "y": 0}}], "frozen": True},
        {"columns": [{"name": "a", "kind": "number", "parts": [], "words": {}}] * 2, "frozen": True},
        {"columns": "none", "frozen": True},
    ):
        with pytest.raises(ValueError, match="column"):
            TableSchema.of_json(strange)
