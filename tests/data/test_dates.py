"""Dates as text are read back as Python writes them, in one layout or in several, and never in a wrong one."""

from datetime import datetime, timedelta

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from opauc.data.schema.column import DATE, ColumnSchema
from opauc.data.schema.dates import ISO, LAYOUTS, are_layouts, infer_date_layout, parse_dates

DAYS = [datetime(1970, 1, 1) + timedelta(days=day, hours=day % 24, minutes=day % 60) for day in range(0, 20_000, 397)]


def written(layout, times):
    return [time.isoformat(" ") if layout == ISO else time.strftime(layout) for time in times]


def as_written(layout, times):
    """Return the times less what the layout does not say."""
    return times if layout == ISO else [datetime.strptime(time.strftime(layout), layout) for time in times]


@pytest.mark.parametrize("layout", LAYOUTS)
def test_what_is_written_in_a_layout_is_found_to_be_and_read_so(layout):
    text = pa.array([*written(layout, DAYS), "NULL", None])
    found = infer_date_layout(text)
    assert parse_dates(text, found).times.to_pylist() == [*as_written(layout, DAYS), None, None]
    assert parse_dates(text, layout) == (parse_dates(text, found).times, 0)


@given(st.data())
def test_of_several_layouts_in_one_column_every_value_is_read_in_its_own(data):
    layouts = data.draw(st.lists(st.sampled_from([ISO, "%d.%m.%Y", "%m/%d/%Y", "%d %b %Y"]), min_size=2, max_size=3))
    which = [layouts[at % len(layouts)] for at in range(len(DAYS))]
    text = pa.array([word for layout, day in zip(which, DAYS, strict=True) for word in written(layout, [day])])
    expected = [time for layout, day in zip(which, DAYS, strict=True) for time in as_written(layout, [day])]
    found = infer_date_layout(text)
    assert set(found.split(" or ")) == set(layouts)
    assert parse_dates(text, found).times.to_pylist() == expected


def test_days_before_months_and_months_before_days_are_not_mixed():
    american = [time.strftime("%m/%d/%Y") for time in DAYS]
    european = [time.strftime("%d/%m/%Y") for time in DAYS]
    assert infer_date_layout(pa.array(american)) == "%m/%d/%Y"
    assert infer_date_layout(pa.array(european)) == "%d/%m/%Y"
    assert infer_date_layout(pa.array(american + european)) is None


@pytest.mark.parametrize("zone", ["Z", "+02:00", " -0530", "+01"])
def test_the_hour_is_that_of_the_clock_whatever_the_zone(zone):
    text = pa.array([f"2024-03-01T18:30:00.123456789{zone}"])
    assert parse_dates(text, ISO).times.to_pylist() == [datetime(2024, 3, 1, 18, 30, 0, 123456)]


@pytest.mark.parametrize(
    "words",
    [
        ["red", "blue"],
        ["A-1", "B-2"],
        ["2024-13-45", "2023-99-01"],
        ["10:30", "11:45"],
        ["1/2", "3/4"],
        ["2024-01-011", "2023-01-022"],
        ["NULL", "?"],
        [],
    ],
)
def test_what_is_no_date_is_not_taken_for_one(words):
    assert infer_date_layout(pa.array(words, pa.string())) is None


def test_a_few_strays_are_missing_and_counted_many_make_it_no_date():
    days = written(ISO, DAYS) * 3
    text = pa.array([*days, "soon", "later"])
    assert infer_date_layout(text) == ISO
    assert parse_dates(text, ISO).unreadable == 2
    assert infer_date_layout(pa.array([*days, *["soon"] * len(days)])) is None


def test_a_column_of_several_layouts_is_saved_and_read_alike():
    text = pa.array(["31.12.2024", "2023-01-05", "1.2.2022"] * 10)
    column = ColumnSchema("when", DATE, ("day",), text_format=infer_date_layout(text))
    again = ColumnSchema.of_json(column.to_json())
    np.testing.assert_array_equal(again.encode(text, "").rows, column.encode(text, "").rows)
    assert again.encode(text, "").rows[1, 0] == (datetime(2023, 1, 5) - datetime(1970, 1, 1)).days
    for wrong in ("iso or", "iso or %H", "iso,%d.%m.%Y"):
        assert not are_layouts(wrong)
        with pytest.raises(ValueError, match="expected a number format or a date layout"):
            ColumnSchema.of_json({**column.to_json(), "text_format": wrong})
