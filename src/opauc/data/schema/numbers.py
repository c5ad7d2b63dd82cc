"""Numbers that stand in a table as text, and words that stand for none."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from opauc.types import Floats

if TYPE_CHECKING:
    from pyarrow import Array as Column

# Words that stand for no number and no date, wherever one should be.
MISSING_WORDS = (
    "", "NA", "N/A", "n/a", "na", "<NA>", "#N/A", "NaN", "nan", "NaT", "null", "Null", "NULL", "(null)", "None", "none",
    "?", "-", "--", ".", "\\N",
)  # fmt: skip
# Of these, words that stand for no category either; pandas reads them so too.
NO_CATEGORY = frozenset(MISSING_WORDS) - {"?", "-", "--", ".", "na", "none", "NaT", "(null)", "Null", "\\N"}
TRUTHS = {"true": 1.0, "false": 0.0}
POINT, COMMA = ".", ","
# Thousands are set apart only where every group of digits but the first is of three. In books of account, brackets are
# around what is negative.
MONEY, DIGITS = "[$€£¥₹]", r"(?:\d+|\d{1,3}(?:,\d{3})+|\d{1,3}(?:['’\xa0\u202f]\d{3})+|(?=\.\d))(?:\.\d*)?"
SIGN = rf"(?:[+-]?(?:{MONEY} ?)?|{MONEY} ?[+-])"
NUMBER = re.compile(rf"{SIGN}{DIGITS}(?:[eE][+-]?\d+)?(?: ?(?:%|{MONEY}))?")
BRACKETS = re.compile(r"\(([^()+-]*)\)")
NO_DIGITS = re.compile(r"[^\d.eE+-]")
INFINITE = re.compile(r"[+-]?inf(?:inity)?", re.IGNORECASE)
SWAPPED = str.maketrans(",.", ".,")
# The time on a clock, or days and the time, which is read as hours.
CLOCK = re.compile(
    r"(?:([+-]?\d+) days?,? \+?)?(\d{1,2}):([0-5]\d)(?::([0-5]\d(?:\.\d+)?))?(?: ?([ap])\.?m\.?)?", re.IGNORECASE
)
# What follows a number without being one: a unit, but for its plural.
UNIT = re.compile(r"[^A-Za-zµ°]*\d[.,]? ?([A-Za-zµ°]{1,12}?)s?\.?", re.IGNORECASE)


class TextNumbers(NamedTuple):
    """The number of each text, nan where there is none, and how many of those should have been numbers."""

    numbers: Floats
    unreadable: int


def text_numbers(text: Column, spelling: str = POINT, marks: Container[str] = ()) -> TextNumbers:
    """Return the numbers of a column of text; `marks` are words that stand for a missing one.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from opauc.data.schema.numbers import text_numbers
    >>> text_numbers(pa.array(["1.5", " 2", "?", None, "1,200", "many"]))
    TextNumbers(numbers=array([   1.5,    2. ,    nan,    nan, 1200. ,    nan]), unreadable=1)
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    from opauc.data.arrow_columns import numbers_in, words_of

    if spelling == POINT:
        trimmed = pc.utf8_trim_whitespace(text)
        known = pc.if_else(pc.is_in(trimmed, pa.array(MISSING_WORDS, trimmed.type)), None, trimmed)
        try:
            return TextNumbers(numbers_in(pc.cast(known, pa.float64())).copy(), 0)
        except pa.ArrowInvalid:  # a word, or a number as people write it
            pass
    words, levels = words_of(text)
    read = np.array([*(number_of(word, spelling) for word in words), np.nan])
    lost = np.array([*(not is_missing(word) and word not in marks for word in words), False]) & np.isnan(read)
    return TextNumbers(read[levels], int(lost[levels].sum()))


def number_of(word: str, spelling: str = POINT) -> float:
    """Return the number that a word says, nan where it says none.

    How numbers are spelled is what stands before their decimals, and the unit that follows, if any.

    >>> from opauc.data.schema.numbers import number_of
    >>> number_of("$1,200.50"), number_of("1.200,5 €", ","), number_of("45%"), number_of("True"), number_of("12a")
    (1200.5, 1200.5, 45.0, 1.0, nan)
    >>> number_of("(3.5)"), number_of("1:30 pm"), number_of("7 days", ".day"), number_of("7 weeks", ".day")
    (-3.5, 13.5, 7.0, nan)
    >>> number_of("2 days 01:30:00")
    49.5
    """
    plain, decimal, unit = word.strip(), spelling[:1], spelling[1:]
    if unit and (found := UNIT.fullmatch(plain)) and found[1].lower() == unit:
        plain = plain[: found.start(1)].rstrip()
    if plain.lower() in TRUTHS:
        return TRUTHS[plain.lower()]
    if found := CLOCK.fullmatch(plain):
        return _hours(*found.groups())
    if decimal == COMMA:
        plain = plain.translate(SWAPPED)
    if (found := BRACKETS.fullmatch(plain)) and NUMBER.fullmatch(found[1]):
        return -float(NO_DIGITS.sub("", found[1]))
    if NUMBER.fullmatch(plain):
        return float(NO_DIGITS.sub("", plain))
    if decimal == COMMA:
        return number_of(word, POINT + unit)  # 0.25 can be nothing else
    return float(plain) if INFINITE.fullmatch(plain) else np.nan


def unit_of(words: Iterable[str]) -> str:
    """Return the unit that follows the number in each word that has one, nothing where they are several.

    >>> from opauc.data.schema.numbers import unit_of
    >>> unit_of(["1 day", "7 days", "?"]), unit_of(["7 days", "2 weeks"])
    ('day', '')
    """
    units = {found[1].lower() for word in words if (found := UNIT.fullmatch(word.strip()))}
    return units.pop() if len(units) == 1 else ""


def is_spelling(text: str) -> bool:
    """Tell whether text says how numbers are spelled."""
    return text[:1] in (POINT, COMMA) and (not text[1:] or unit_of([f"1 {text[1:]}"]) == text[1:])


def _hours(days: str | None, hours: str, minutes: str, seconds: str | None, half: str | None) -> float:
    """Return the time on a clock of 24 hours, or of 12 in the first or second half of the day, after so many days."""
    whole = int(hours) if half is None else int(hours) % 12 + 12 * (half.lower() == "p")
    return 24 * int(days or 0) + whole + int(minutes) / 60.0 + float(seconds or 0.0) / 3600.0


def is_missing(word: str) -> bool:
    """Tell whether a word stands for nothing where a number or a date should be."""
    return word.strip() in MISSING_WORDS


def words_at(words: list[str], levels: NDArray[np.int32]) -> list[str]:
    """Return the words that stand in some row, in their order."""
    met = np.unique(levels[levels >= 0])
    return [words[level] for level in met.tolist()]
