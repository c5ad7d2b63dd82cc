"""A row given as a dict becomes the numbers that a table of this one row becomes."""

import math
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from opauc.data.schema.column import CATEGORY, DATE, NUMBER, ColumnSchema
from opauc.data.schema.dates import LAYOUTS, PARTS, TIMED_PARTS
from opauc.data.schema.numbers import MISSING_MARKERS
from opauc.data.schema.table import TableSchema
from opauc.errors import InputError

CATEGORIES = {"red": 0, "NA?": 1, "7": 2, "true": 3, "1.5": 4, "-": 5, "10000000000": 6}
COLUMNS = {
    "number": ColumnSchema("c", NUMBER),
    "comma": ColumnSchema("c", NUMBER, text_format=","),
    "unit": ColumnSchema("c", NUMBER, missing_markers=("unknown",), text_format=".day"),
    "category": ColumnSchema("c", CATEGORY, categories=CATEGORIES),
    "date": ColumnSchema("c", DATE, PARTS, text_format="iso"),
    "time": ColumnSchema("c", DATE, TIMED_PARTS, text_format="iso or %d.%m.%Y"),
    "american": ColumnSchema("c", DATE, PARTS, text_format="%m/%d/%Y"),
    "typed": ColumnSchema("c", DATE, TIMED_PARTS),
}
columns = pytest.mark.parametrize("column", COLUMNS.values(), ids=list(COLUMNS))

UNUSUAL = "unknown", "inf", "many", "٣", " 7 ", "1e5", "1,5", "1.200,5", "0x1p3"
CLOCK, ZONE = r"[ T][0-2][0-9]:[0-6][0-9](:[0-6][0-9](\.[0-9]{1,8})?)?", r"(Z|\+02:00)?"
TEXT = st.one_of(
    st.sampled_from([*MISSING_MARKERS, *CATEGORIES, *UNUSUAL]),
    st.text(max_size=6).filter(lambda text: text.isascii() or text.encode(errors="ignore").decode() == text),
    st.floats().map(str),
    st.integers(-(10**17), 10**17).map(str),
    st.floats(-1e6, 1e6).map(lambda number: f"{number:,.2f}"),
    st.integers(0, 400).map(lambda number: f"{number} days"),
    st.datetimes().map(str),
    st.datetimes().map(lambda moment: moment.isoformat()),
    st.dates().map(str),
    st.dates(date(1000, 1, 1)).map(lambda day: f"{day:%d.%m.%Y}"),
    st.dates(date(1000, 1, 1)).map(lambda day: f" {day:%m/%d/%Y}"),
    st.from_regex(rf"[0-9]{{4}}-[01][0-9]-[0-3][0-9]({CLOCK})?{ZONE}", fullmatch=True),
)  # fmt: skip
VALUES = st.one_of(
    TEXT, st.none(), st.booleans(), st.floats(), st.integers(-(2**63), 2**63 - 1), st.integers(-(10**30), 10**30),
    st.datetimes(datetime(1700, 1, 1), datetime(2200, 1, 1)), st.dates(), st.times(),
    st.timedeltas(timedelta(-100), timedelta(100)), st.decimals(allow_nan=False, allow_infinity=False, places=2),
    st.just(datetime(2024, 2, 29, tzinfo=UTC)),
)  # fmt: skip


def table_numbers(column, value):
    """Return the numbers of a table of one cell and whether it is unreadable; None where it is refused."""
    try:
        rows, _, unreadable = TableSchema((column,), frozen=True).read([{"c": value}])
    except (InputError, pa.ArrowException, OverflowError):
        return None
    return rows, bool(unreadable)


@columns
@given(value=VALUES)
@example(value=0.0)
@example(value=-0.0)
@example(value=1e10)
@example(value="1e+10")
@example(value="10000000000.0")
@example(value=2**53 + 1)
@example(value=True)
@example(value=math.nan)
@example(value=math.inf)
@example(value="2023-02-29")
@example(value="0000-01-01")
@example(value="2024-01-31T10:20:30.1234567Z")
@example(value=date(2400, 1, 1))
@example(value=np.float32(0.1))
@example(value=np.int64(7))
@example(value=np.datetime64("2024-01-31T10:20"))
@example(value=time(13, 30))
@example(value=Decimal("7"))
def test_a_value_becomes_what_it_becomes_in_a_table(column, value):
    expected = table_numbers(column, value)
    reader = TableSchema((column,), frozen=True).record_reader
    if expected is None:
        with pytest.raises(InputError):
            reader.read({"c": value})
        return
    numbers, unreadable = reader.read({"c": value})
    assert_array_equal(numbers, expected[0])
    assert bool(unreadable) == expected[1]


@columns
def test_every_layout_is_read(column):
    moment = datetime(2024, 2, 29, 13, 5, 7)
    for layout in LAYOUTS[1:]:
        value = moment.strftime(layout)
        numbers, unreadable = TableSchema((column,)).record_reader.read({"c": value})
        expected, was_unreadable = table_numbers(column, value)
        assert_array_equal(numbers, expected)
        assert bool(unreadable) == was_unreadable


READER = TableSchema((COLUMNS["time"], ColumnSchema("size", NUMBER), ColumnSchema("color", CATEGORY))).record_reader


def test_absent_columns_and_none_are_missing_and_others_are_ignored():
    for record in ({"size": 2}, {"size": 2, "color": None, "c": None}, {"size": 2, "shop": [1]}):
        numbers, unreadable = READER.read(record)
        assert_array_equal(numbers, [[np.nan] * 4 + [2.0, np.nan]])
        assert unreadable == ()


def test_names_are_compared_as_words():
    reader = TableSchema((ColumnSchema("0", NUMBER), ColumnSchema("1", NUMBER))).record_reader
    assert_array_equal(reader.read({0: 3.0, 1: 4.0}).numbers, [[3.0, 4.0]])
    assert_array_equal(reader.read({1: 4.0, "x": 5}).numbers, [[np.nan, 4.0]])
    with pytest.raises(InputError, match="no column of the model"):
        reader.read({2: 3.0})


@pytest.mark.parametrize(
    ("record", "message"),
    [
        ({"Size": 2}, "the row has no column of the model; expected size, c, color"),
        ({}, "the row has no column of the model; expected c, size, color"),
        ({"size": math.inf}, "column size holds an infinite value"),
        ({"size": "1e999"}, "column size holds an infinite value"),
        ({"size": [1]}, "column size: cannot read a list"),
        ({"color": {"a": 1}}, "column color: cannot read a dict"),
        ({"color": 10**30}, "column color: cannot read a int"),
        ({"c": 7}, "row: column c holds int64, it was dates in the rows before"),
        ({"size": object()}, "column size: cannot read a object"),
    ],
)
def test_what_cannot_be_in_a_column_is_refused(record, message):
    with pytest.raises(InputError) as error:
        READER.read(record)
    assert str(error.value) == message
