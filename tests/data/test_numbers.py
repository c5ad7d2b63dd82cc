"""One number grammar: the same text is the same number in every format and for every model."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import parquet

from opauc.data import BadRows, DataStream, ReadOptions, open_stream, stream_of_memory
from opauc.data.encode.number_reading import OrdinalReading
from opauc.data.options import DEFAULTS
from opauc.data.schema.numbers import MISSING_MARKERS
from opauc.errors import InputWarning, MalformedRowError

# Enough other values that the column is no constant, no code and no counter.
OTHERS = ["1", "2.5", "7", "7", "12"]
LABELS = [0, 1, 0, 1, 0, 1]
NUMBERS = {
    "$5": 5.0, "1,200.50": 1200.5, "45%": 45.0, "45 %": 45.0, "(3.5)": -3.5, "1e3": 1000.0, "+7": 7.0, "-2.5": -2.5,
    " 3 ": 3.0, "€ 12": 12.0, "1'000": 1000.0, "9:30": 9.5, "True": 1.0, ".5": 0.5, "5.": 5.0, "-$4": -4.0,
}  # fmt: skip
INFINITE = ["inf", "-inf", "Infinity"]


def write_csv(folder, values):
    path = folder / "t.csv"
    pd.DataFrame({"a": values, "y": LABELS}).to_csv(path, index=False)
    return path


def write_parquet(folder, values):
    path = folder / "t.parquet"
    parquet.write_table(pa.table({"a": values, "y": LABELS}), path)
    return path


def linear_streams(folder, values, options, bad_rows):
    """Yield the streams of one text column, as a linear model reads it."""
    for write in (write_csv, write_parquet):
        yield open_stream([write(folder, values)], options, bad_rows=bad_rows.fresh_copy())
    yield stream_of_memory(pd.DataFrame({"a": values, "y": LABELS}), options=options)


def additive_streams(folder, values):
    """Yield the streams of one text column, as an additive model reads it."""
    reading = OrdinalReading(ReadOptions(numeric=("a",)))
    for write in (write_csv, write_parquet):
        yield reading.stream([write(folder, values)], labeled=True)
    frame = pd.DataFrame({"a": values, "y": LABELS})
    yield DataStream.of_memory(frame, None, reading.options, reading.encoder())


def first_values(streams):
    return [next(iter(stream.batches())).rows[0, 0] for stream in streams]


@pytest.mark.parametrize(("text", "number"), NUMBERS.items())
def test_a_number_is_the_same_in_every_format_and_for_every_model(tmp_path, text, number):
    values = [text, *OTHERS]
    linear = first_values(linear_streams(tmp_path, values, ReadOptions(), BadRows()))
    additive = first_values(additive_streams(tmp_path, values))
    assert linear == additive == [number] * 3


@pytest.mark.parametrize("marker", [*MISSING_MARKERS, " NA ", "-nan", "NAN"])
def test_a_missing_value_is_missing_in_every_format_and_for_every_model(tmp_path, marker):
    values = [marker, *OTHERS]
    assert np.isnan(first_values(additive_streams(tmp_path, values))).all()
    means = first_values(linear_streams(tmp_path, values, ReadOptions(missing="mean"), BadRows()))
    assert means == [np.mean([float(value) for value in OTHERS])] * 3
    for stream in linear_streams(tmp_path, values, ReadOptions(), BadRows()):
        with pytest.raises(MalformedRowError, match="column a: the value is missing"):
            list(stream.batches())


@pytest.mark.parametrize("text", INFINITE)
def test_an_infinite_value_is_a_bad_row_in_every_format_and_for_every_model(tmp_path, text):
    values = [text, *OTHERS]
    for stream in (*linear_streams(tmp_path, values, ReadOptions(), BadRows()), *additive_streams(tmp_path, values)):
        with pytest.raises(MalformedRowError, match=r"column a: -?inf is not a finite number"):
            list(stream.batches())


@pytest.mark.parametrize(
    ("texts", "numbers"),
    [
        (["1.200,5", "2,25", "3", "0,5", "7,5", "10"], [1200.5, 2.25, 3, 0.5, 7.5, 10]),
        (["1 day", "12 days", "7 days", "3.5 Days", "2 days", "9 days"], [1, 12, 7, 3.5, 2, 9]),
        (["€ 3.380,34", "€ 12,00", "€ 1,50", "€ 2,50", "€ 3,50", "€ 4,50"], [3380.34, 12, 1.5, 2.5, 3.5, 4.5]),
    ],
)
def test_the_number_format_of_a_column_is_inferred_alike_everywhere(tmp_path, texts, numbers):
    for stream in (*linear_streams(tmp_path, texts, ReadOptions(), BadRows()), *additive_streams(tmp_path, texts)):
        rows = np.concatenate([chunk.rows for chunk in stream.batches()])
        np.testing.assert_array_equal(rows[:, 0], numbers)


def test_a_number_format_inferred_first_reads_all_later_rows(tmp_path):
    texts = ["0,5"] * 2000 + ["1.200"] * 2000
    labels = [0, 1] * 2000
    path = tmp_path / "t.csv"
    pd.DataFrame({"a": texts, "y": labels}).to_csv(path, index=False)
    table = pa.Table.from_batches(pa.table({"a": texts, "y": labels}).to_batches(max_chunksize=500))
    for stream in (open_stream([path]), stream_of_memory(table)):
        rows = np.concatenate([chunk.rows for chunk in stream.batches()])
        np.testing.assert_array_equal(rows[:, 0], [0.5] * 2000 + [1200.0] * 2000)


def semicolon_streams(folder, texts, options=DEFAULTS):
    """Yield the streams of a text column of a table with semicolons, for a linear and for an additive model."""
    path = folder / "semicolons.csv"
    pd.DataFrame({"a": texts, "y": [0, 1] * (len(texts) // 2)}).to_csv(path, index=False, sep=";")
    yield open_stream([path], options)
    yield OrdinalReading(replace(options, numeric=("a",))).stream([path], labeled=True)


def all_values(streams):
    return [np.concatenate([batch.rows for batch in stream.batches()])[:, 0].tolist() for stream in streams]


@pytest.mark.parametrize(
    ("texts", "numbers"),
    [
        (["0,123", "1,999", "2", "12,500", "3", "1,250"], [0.123, 1.999, 2, 12.5, 3, 1.25]),
        (["0.123", "1.999", "2", "12.500", "3", "1.250"], [0.123, 1.999, 2, 12.5, 3, 1.25]),
        (["1,234.50", "1,999", "2", "12,500", "3", "7"], [1234.5, 1999, 2, 12500, 3, 7]),
        (["1.234,50", "1.999", "2", "12.500", "3", "7"], [1234.5, 1999, 2, 12500, 3, 7]),
        (["1,234,500", "1,999", "2", "12,500", "3", "7"], [1234500, 1999, 2, 12500, 3, 7]),
        (["0,5 kg", "1,999 kg", "2 kg", "3 kg", "4 kg", "5 kg"], [0.5, 1.999, 2, 3, 4, 5]),
    ],
)
def test_one_value_that_needs_a_separator_decides_for_its_column(tmp_path, texts, numbers):
    streams = (*linear_streams(tmp_path, texts, ReadOptions(), BadRows()), *additive_streams(tmp_path, texts))
    for values in all_values((*streams, *semicolon_streams(tmp_path, texts))):
        assert values == numbers


AMBIGUOUS = ["1,999", "2", "12,500", "3", "1,250", "700"]
WITH_POINT, WITH_COMMA = [1999, 2, 12500, 3, 1250, 700], [1.999, 2, 12.5, 3, 1.25, 700]


@pytest.mark.parametrize(
    ("streams", "numbers", "shown"),
    [
        (lambda folder: linear_streams(folder, AMBIGUOUS, ReadOptions(), BadRows()), WITH_POINT, "1999"),
        (lambda folder: additive_streams(folder, AMBIGUOUS), WITH_POINT, "1999"),
        (lambda folder: semicolon_streams(folder, AMBIGUOUS), WITH_COMMA, "1.999"),
    ],
)
def test_a_decimal_separator_that_nothing_decides_is_reported(tmp_path, streams, numbers, shown):
    for stream in streams(tmp_path):
        message = rf"in column a \('1,999' is read as {shown}\); name it \(decimal='.' or decimal=','\)$"
        with pytest.warns(InputWarning, match=message):
            [values] = all_values([stream])
        assert values == numbers


@pytest.mark.parametrize(("decimal", "numbers"), [(".", WITH_POINT), (",", WITH_COMMA)])
def test_the_decimal_separator_can_be_named(tmp_path, decimal, numbers):
    options = ReadOptions(decimal=decimal)
    for values in all_values(semicolon_streams(tmp_path, AMBIGUOUS, options)):
        assert values == numbers
    streams = [*linear_streams(tmp_path, AMBIGUOUS, options, BadRows())]
    reading = OrdinalReading(replace(options, numeric=("a",)))
    streams += [reading.stream([write(tmp_path, AMBIGUOUS)], labeled=True) for write in (write_csv, write_parquet)]
    for values in all_values(streams):
        assert values == numbers


def test_decimal_commas_are_no_delimiters(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("0,5;1,25;1\n0,7;2,5;0\n")
    [batch] = open_stream([path], ReadOptions(label=-1)).batches()
    assert batch.rows.tolist() == [[0.5, 1.25], [0.7, 2.5]]


@pytest.mark.parametrize("write", [write_csv, write_parquet])
def test_a_string_among_numbers_is_a_bad_row_with_its_line_and_column(tmp_path, write):
    path = write(tmp_path, ["$1", "$2", "soon", "$4", "$5", "$6"])
    line = 4 if write is write_csv else 3
    with pytest.raises(MalformedRowError, match=f"line {line}, column a: 'soon' is not a number"):
        list(open_stream([path]).batches())
    bad = BadRows("skip")
    rows = np.concatenate([chunk.rows for chunk in open_stream([path], bad_rows=bad).batches()])
    assert rows[:, 0].tolist() == [1, 2, 4, 5, 6]
    assert bad.total == 1
