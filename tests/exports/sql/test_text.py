"""Numbers and dates in text: databases read what training reads."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from numpy.testing import assert_allclose

from opauc.data.schema.dates import LAYOUTS, parse_dates
from opauc.data.schema.numbers import MISSING_MARKERS, parse_numbers
from opauc.exports.portable import Column
from opauc.exports.sql.dates import micros_of_text
from opauc.exports.sql.dialects import DIALECTS
from opauc.exports.sql.query import SOURCE, Query
from opauc.exports.sql.text import TextReader, number_of_text
from tests.exports.sql.databases import arrow_table, query_duckdb, query_postgres

PIECES = (
    "1", "12", "123", "0", "4567", ",", ".", "'", "’", " ", "-", "+", "$", "€", "%", "(", ")", "e", "E", "3", ":", "30",
    "am", "p.m.", "day", "days", "Day.", "inf", "nan", "true", "FALSE", "\t", "\u00a0", "x", "?", "NA", "1:30",
    "2 days",
)  # fmt: skip


@pytest.mark.parametrize("number_format", [".", ",", ".day", ",day"])
@pytest.mark.parametrize("place", ["duckdb", "postgres"])
def test_numbers_in_text_are_those_of_training(number_format, place, request):
    rng = np.random.default_rng(0)
    texts = ["".join(rng.choice(PIECES, rng.integers(1, 7))) for _ in range(4000)]
    texts += [
        f"{part} {unit}" for part in ("7", "-1.5", "1.000,5", "1,200") for unit in ("day", "days", "DAYS.", "dayss")
    ]
    column = Column("text", "number", missing=MISSING_MARKERS, text_format=number_format)
    query = Query(DIALECTS[place])
    raw = f"{SOURCE}.{query.dialect.identifier('text')}"
    number = number_of_text(query, query.dialect.text_functions, column, raw)
    table = arrow_table([{"text": text} for text in texts])
    text = query.text("data", {"number": number.value, "readable": number.is_readable})
    if place == "duckdb":
        result = query_duckdb(text, table)
    else:
        result = query_postgres(text, table, request.getfixturevalue("postgres"))
    expected = parse_numbers(pa.array(texts), number_format)
    readable = result["readable"].to_numpy(bool)
    wrong = [text for text, one, other in zip(texts, readable, ~expected.is_unreadable, strict=True) if one != other]
    assert not wrong
    assert_allclose(result["number"].to_numpy(float), expected.numbers, rtol=1e-15)
    assert 0.03 < np.isfinite(expected.numbers).mean() < 0.9


@pytest.mark.parametrize("layout", LAYOUTS)
def test_dates_in_text_are_those_of_training(layout):
    rng = np.random.default_rng(0)
    moments = pd.Timestamp("1960-01-01") + pd.to_timedelta(rng.integers(0, 3 * 10**9, 500), unit="s")
    written = "%Y-%m-%d %H:%M:%S" if layout == "iso" else layout
    texts = [moment.strftime(written) for moment in moments]
    texts += [text.replace("0", "", 1) for text in texts[:50]] + [text.replace("1", "3") for text in texts]
    texts += [
        f" {texts[0]} ",
        texts[0] + "Z",
        texts[0] + " +02:00",
        texts[0] + ".25",
        "soon",
        "NULL",
        "",
        texts[0] + "x",
    ]
    column = Column("text", "date", ("day",), missing=MISSING_MARKERS, text_format=layout)
    query = Query(DIALECTS["duckdb"])
    functions = query.dialect.text_functions
    trimmed = TextReader(query, functions).trimmed(f'{SOURCE}."text"')
    text = query.text("data", {"micros": micros_of_text(query, functions, column, trimmed)})
    result = query_duckdb(text, arrow_table([{"text": text} for text in texts]))
    times = parse_dates(pa.array(texts), layout).times
    expected = times.cast(pa.timestamp("us")).cast(pa.int64()).to_pandas().to_numpy(float)
    wrong = [
        (text, one, other)
        for text, one, other in zip(texts, result["micros"].to_numpy(float), expected, strict=True)
        if not (one == other or (np.isnan(one) and np.isnan(other)))
    ]
    assert not wrong
