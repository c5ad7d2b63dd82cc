"""Numbers as people write them: with money, thousands, brackets, units, and on clocks."""

import datetime

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from opauc.data.schema.column import ColumnSchema
from opauc.data.schema.infer import CATEGORY, NUMBER, infer_column_type
from opauc.data.schema.numbers import parse_number

AMOUNTS = st.integers(-(10**11), 10**11).map(lambda cents: cents / 100)


def european(text):
    return text.replace(",", "_").replace(".", ",").replace("_", ".")


@given(amount=AMOUNTS)
def test_an_amount_is_the_same_number_however_it_is_written(amount):
    text = f"{amount:,.2f}"
    unsigned, sign = text.removeprefix("-"), "-" * text.startswith("-")
    ways = [text, text.replace(",", ""), f"{sign}${unsigned}", f"$ {text}", f"{text} €", f"{text}%", f" {text} % "]
    ways += [text.replace(",", mark) for mark in ("'", "’", "\xa0", "\u202f")]
    ways += [f"({unsigned})", f"(£{unsigned})"] if sign else []
    assert {parse_number(way) for way in ways} == {amount}
    assert {parse_number(european(way), ",") for way in ways} == {amount}
    assert {parse_number(f"{way} kg", ".kg") for way in ways[:2]} == {amount}


@pytest.mark.parametrize(
    "word",
    ["--5", "((5))", "(-5)", "()", "(5", "$", "%", "$ $5", "5 $ %", "1,23", "1'23", "0,123", "012,345", "0'123",
     "12a", "5 kg", "1:60", "1:2", "123:00", "1:30:60", "pm", "1e", "e5", "(True)", "(1:30)", "5 €€"],
)  # fmt: skip
def test_what_is_no_number_is_none(word):
    assert np.isnan(parse_number(word))


@given(seconds=st.integers(0, 24 * 3600 - 1))
def test_clocks_of_twelve_and_of_twenty_four_hours_say_the_same(seconds):
    time = (datetime.datetime(2024, 1, 1) + datetime.timedelta(seconds=seconds)).time()
    ways = ["%H:%M:%S", "%I:%M:%S %p", "%I:%M:%S%p"]
    for way in ways:
        assert parse_number(time.strftime(way).lower()) == pytest.approx(seconds / 3600, abs=1e-12)


@given(duration=st.timedeltas(datetime.timedelta(days=-3000), datetime.timedelta(days=3000)))
def test_durations_as_pandas_and_python_write_them_are_hours(duration):
    for text in (str(pd.Timedelta(duration)), str(duration)):
        assert parse_number(text) == pytest.approx(duration / datetime.timedelta(hours=1), abs=1e-9)


def column_of(words):
    found = infer_column_type("x", pa.array(words))
    return found.kind, found.column


@pytest.mark.parametrize(
    ("words", "numbers"),
    [
        (["1 day", "12 days", None, "7 days", "?", "3.5 Days"], [1, 12, np.nan, 7, np.nan, 3.5]),
        (["1248 CC", "796 CC", "1498 CC"], [1248, 796, 1498]),
        (["1.200,5 kg", "2,25 kg", "3 kg"], [1200.5, 2.25, 3]),
        (["3.4k", "12k", "0.5k"], [3.4, 12, 0.5]),
        (["09:30", "17:45", "00:00"], [9.5, 17.75, 0]),
        (["€ 3.380,34", "€ 12,00", "€ 1.000.000,50"], [3380.34, 12, 1000000.5]),
        (["(12.50)", "3.25", "$4"], [-12.5, 3.25, 4]),
    ],
)
def test_columns_of_such_numbers_are_numbers_and_a_file_knows_how(words, numbers):
    kind, column = column_of(words)
    assert kind == NUMBER
    again = ColumnSchema.of_json(column.to_json())
    for known in (column, again):
        found = known.encode(pa.array(words), "rows")
        np.testing.assert_array_equal(found.rows[:, 0], numbers)
        assert found.unreadable == 0
    assert again.encode(pa.array(["9 parsecs"]), "rows").unreadable == 1


@pytest.mark.parametrize(
    "words",
    [["< 1 year", "2 years", "10+ years", "3 years"], ["7 days", "2 weeks", "3 days"], ["1st", "2nd", "3rd", "4th"],
     ["[0-10)", "[10-20)", "[20-30)"], ["9am", "3pm", "11am"], ["A11", "A12", "A13"]],
)  # fmt: skip
def test_words_that_are_no_numbers_of_one_unit_stay_categories(words):
    assert column_of(words * 3)[0] == CATEGORY


@pytest.mark.parametrize("wrong", ["day", ";", ".days", ".1", ". day", ",?", ".Day"])
def test_a_file_with_an_unknown_number_format_raises(wrong):
    column = column_of(["1 day", "2 days", "3 days"])[1]
    with pytest.raises(ValueError, match="expected a number format or a date layout"):
        ColumnSchema.of_json({**column.to_json(), "text_format": wrong})
