"""Texts of numbers and dates, well and badly written, and models whose score is what a text is read as."""

from datetime import datetime

import numpy as np
import pyarrow as pa

from opauc.data.schema.dates import LAYOUTS, TIMED_PARTS, date_numbers, parse_dates
from opauc.data.schema.numbers import parse_number
from opauc.exports.portable import Column, Input, Line, PortableModel, PortableTerm, Table
from tests.exports import cases

MISSING = -1e6
NUMBER_FORMATS = (".", ",", ".day", ",kg", ".µm")
NUMBERS = (
    *cases.NUMBERS, *cases.CLOCKS, *cases.COMMAS, *cases.UNITS, "1’234’567.5", "1\u202f000", "1'2345", "12,34", "0,5",
    "$ -5", "- $5", "+£ 7", "-₹7 %", "€1.200,5", "(1,200)", "((3))", "(-3)", "()", "True", "FALSE", "tRue ", "5 kg.",
    "5kgs", "1.5 KG", "2 µm", "3,5 kg", "7 °", "a7 kg", "12 d", "\u00a07\u2003", "7\x1c", "1e5", "1e", "1e+", ".e1",
    "1.e-3", "..1", "24:00 am", "0:59:59.25 p.m", "3 days, +1:00", "3 day 1:00", "-0", "+.", "9" * 30, "1e999", "inf",
    "-Infinity", "nan", "NaN(12)", "1:5", "1:60", "0x10", "1_000", "--5", "5-", "%5", "5%%", "5 %", "½",
)  # fmt: skip
DATES = (
    *cases.DATES, *cases.SHORT, "2024-12-31 23:59:59.1234567", "2024-01-01T00:00+02", "2024-01-01 10:00 -0330",
    "2024-01-01 25:00", "0999-01-01", "1600-02-29", "1900-02-29", "2024-1-1", "12/31/2024 1:05 PM", "3-Feb-2021",
    "3 february 2021", "February 3, 2021", "Feb 3, 2021", "Friday, March 1, 2024", "fri, March 1, 2024", "31/1/1999",
    "1/31/0999", "2/30/2023", "31-12-2024", "2024/1/5", "2024/01/05 5:06:07", "12/31/99 00:00", "13/31/99",
    "12/31/2024 13:05 pm", "12/31/2024 0:05 am", "12/31/2024 12:05:59 am", "2024-03-01T10:20:30Z", "3-may-21",
    "3-May-70", "2024-12-31 23:59:60", " 2024-12-31 ", "2024-12-31T", "2024-12-31Z",
    *(datetime(2021, 5, 7, 14, 5, 9).strftime(layout) for layout in LAYOUTS[1:]),
)  # fmt: skip


def mutated(texts, seed, n):
    """Return texts, and as many more with a few characters of others inserted, replaced or removed."""
    rng = np.random.default_rng(seed)
    alphabet = sorted(set("".join(texts)))
    out = list(texts)
    for _ in range(n):
        text = list(texts[rng.integers(len(texts))])
        for _ in range(rng.integers(1, 3)):
            at = int(rng.integers(len(text) + 1))
            text[at : at + int(rng.integers(2))] = rng.choice(alphabet, int(rng.integers(2))).tolist()
        out.append("".join(text))
    # A NUL, other digits and the unusual forms of letters are no part of the grammar, and of Python's alone.
    return [text for text in out if "\0" not in text]


def reading_model(columns, inputs):
    """Return the model whose score is the sum of its inputs, a missing one as `MISSING`."""
    axes = tuple(Line(at) for at in range(len(inputs)))
    terms = tuple(
        PortableTerm(f"t{at}", (one.column,), 0.0, (Table((at,), np.array([MISSING, 1.0])),))
        for at, one in enumerate(inputs)
    )
    return PortableModel("OPAUC", columns, inputs, axes, terms, None, 0.0, 1.0, 0.0, (0, 1), 0.0)


def number_model(number_format):
    return reading_model((Column("x", "number", text_format=number_format),), (Input("x", 0),))


def date_model(layout):
    inputs = tuple(Input(part, 0, part) for part in TIMED_PARTS)
    return reading_model((Column("x", "date", TIMED_PARTS, text_format=layout),), inputs)


def number_scores(texts, number_format):
    """Return the score of each text by the reader of the package, None where it is infinite."""
    numbers = [parse_number(text, number_format) for text in texts]
    return [None if np.isinf(number) else MISSING if np.isnan(number) else number for number in numbers]


def date_scores(texts, layout):
    times = parse_dates(pa.array(texts, pa.string()), layout).times
    return np.where(np.isnan(numbers := date_numbers(times, TIMED_PARTS)), MISSING, numbers).sum(axis=1).tolist()


LAYOUT_SETS = (*LAYOUTS, "iso or %d.%m.%Y")
