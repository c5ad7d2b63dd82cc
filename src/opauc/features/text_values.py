"""Numbers that stand in a table as text, and words that stand for none."""

from __future__ import annotations

import re
from collections.abc import Container
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from opauc.rows import Floats

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
# Thousands are set apart only where every group of digits but the first is of three.
NUMBER = re.compile(r"[+-]?[$€£]?(?:\d+|\d{1,3}(?:,\d{3})+|(?=\.\d))(?:\.\d*)?(?:[eE][+-]?\d+)?%?")
INFINITE = re.compile(r"[+-]?inf(?:inity)?", re.IGNORECASE)
SWAPPED = str.maketrans(",.", ".,")


class TextNumbers(NamedTuple):
    """The number of each text, nan where there is none, and how many of those should have been numbers."""

    numbers: Floats
    unreadable: int


def text_numbers(text: Column, decimal: str = POINT, marks: Container[str] = ()) -> TextNumbers:
    """Return the numbers of a column of text; `marks` are words that stand for a missing one.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from opauc.features.text_values import text_numbers
    >>> text_numbers(pa.array(["1.5", " 2", "?", None, "1,200", "many"]))
    TextNumbers(numbers=array([   1.5,    2. ,    nan,    nan, 1200. ,    nan]), unreadable=1)
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    from opauc.reading.column_values import numbers_in, words_of

    if decimal == POINT:
        trimmed = pc.utf8_trim_whitespace(text)
        known = pc.if_else(pc.is_in(trimmed, pa.array(MISSING_WORDS, trimmed.type)), None, trimmed)
        try:
            return TextNumbers(numbers_in(pc.cast(known, pa.float64())).copy(), 0)
        except pa.ArrowInvalid:  # a word, or a number as people write it
            pass
    words, levels = words_of(text)
    read = np.array([*(number_of(word, decimal) for word in words), np.nan])
    lost = np.array([*(not is_missing(word) and word not in marks for word in words), False]) & np.isnan(read)
    return TextNumbers(read[levels], int(lost[levels].sum()))


def number_of(word: str, decimal: str = POINT) -> float:
    """Return the number that a word says, nan where it says none.

    >>> from opauc.features.text_values import number_of
    >>> number_of("$1,200.50"), number_of("1.200,5", ","), number_of("45%"), number_of("True"), number_of("12a")
    (1200.5, 1200.5, 45.0, 1.0, nan)
    """
    plain = word.strip()
    if plain.lower() in TRUTHS:
        return TRUTHS[plain.lower()]
    if decimal == COMMA:
        plain = plain.translate(SWAPPED)
    if NUMBER.fullmatch(plain):
        return float(plain.translate({ord(sign): None for sign in ",$€£%"}))
    if decimal == COMMA:
        return number_of(word)  # 0.25 can be nothing else
    return float(plain) if INFINITE.fullmatch(plain) else np.nan


def is_missing(word: str) -> bool:
    """Tell whether a word stands for nothing where a number or a date should be."""
    return word.strip() in MISSING_WORDS


def words_at(words: list[str], levels: NDArray[np.int32]) -> list[str]:
    """Return the words that stand in some row, in their order."""
    met = np.unique(levels[levels >= 0])
    return [words[level] for level in met.tolist()]
