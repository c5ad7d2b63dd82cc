"""What one field of comma-separated text says: a number, a truth value, a word, or nothing."""

from __future__ import annotations

import math
import re

# Words that stand for a missing number; among categories only the empty word does.
MISSING_WORDS = ("", "NA", "N/A", "NaN", "nan", "null", "NULL", "None", "?", "-")
MISSING_BYTES = frozenset(word.encode() for word in MISSING_WORDS)
TRUE_WORDS, FALSE_WORDS = ("True", "true", "TRUE"), ("False", "false", "FALSE")
TRUTHS = {word.encode(): truth for words, truth in ((TRUE_WORDS, True), (FALSE_WORDS, False)) for word in words}
NUMBER = re.compile(rb"[+-]?(?:(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?|inf|infinity)", re.IGNORECASE)
# pyarrow also takes what the C standard lets a nan say of itself.
NOT_A_NUMBER = re.compile(rb"[+-]?nan(?:\(\w*\))?", re.IGNORECASE)
WHOLE_NUMBER = re.compile(rb"[+-]?0*+(\d++)")
# Up to here float64 has every whole number; beyond, labels that differ would become one.
MOST_EXACT = 2**53
SHOWN = 40
WESTERN = "cp1252"
# A comma for a point, and a point for what is neither.
COMMA_AS_POINT = bytes.maketrans(b",.", b".,")


def number_of(word: bytes, decimal: str = ".") -> float | None:
    """Return the number that a word says, None where it says none.

    >>> from opauc.data.formats.csv.fields import number_of
    >>> number_of(b"1.5"), number_of(b"1,5"), number_of(b"1,5", decimal=",")
    (1.5, None, 1.5)
    """
    if NOT_A_NUMBER.fullmatch(word):
        return math.nan
    if decimal != ".":
        word = word.translate(COMMA_AS_POINT)
    return float(word) if NUMBER.fullmatch(word) else None


def number_or_reason(text: bytes, decimal: str = ".") -> tuple[float | None, str | None]:
    """Return the number that a field says, None where it is missing, or what is wrong with it; True is 1, False 0."""
    word = text.strip(b" \t")
    if word in MISSING_BYTES:
        return None, None
    if word in TRUTHS:
        return float(TRUTHS[word]), None
    number = number_of(word, decimal)
    if number is None:
        return None, f"{shown(text)} is not a number"
    return number, None


def truth_or_reason(text: bytes) -> tuple[bool | None, str | None]:
    """Return the truth value that a field says, None where it is missing, or what is wrong with it."""
    word = text.strip(b" \t")
    if word in TRUTHS or word in MISSING_BYTES:
        return TRUTHS.get(word), None
    return None, f"{shown(text)} is neither True nor False"


def words_of(text: bytes) -> str:
    """Return the words of a field: in UTF-8, or where they cannot be, as Windows writes them in western Europe.

    >>> from opauc.data.formats.csv.fields import words_of
    >>> words_of("Genève".encode()), words_of("Genève".encode("latin-1"))
    ('Genève', 'Genève')
    """
    try:
        return text.decode()
    except UnicodeDecodeError:
        return text.decode(WESTERN, errors="replace")


def is_inexact(word: bytes) -> bool:
    """Tell whether a word is a whole number beyond those that float64 has all of.

    >>> from opauc.data.formats.csv.fields import is_inexact
    >>> is_inexact(b"9007199254740993"), is_inexact(b"-42"), is_inexact(b"1e300")
    (True, False, False)
    """
    found = WHOLE_NUMBER.fullmatch(word)
    return found is not None and (len(found[1]) > len(str(MOST_EXACT)) or int(found[1]) > MOST_EXACT)


def fields_of(record: bytes, delimiter: str) -> list[bytes]:
    """Return the fields of one record.

    >>> from opauc.data.formats.csv.fields import fields_of
    >>> fields_of(b'1,"2,3",\\r\\n', ",")
    [b'1', b'2,3', b'']
    """
    end = delimiter.encode()
    field = re.compile(rb'(?:"((?:[^"]|"")*+)")?([^%b]*+)%b' % (re.escape(end), re.escape(end)))
    found = field.finditer(record.rstrip(b"\r\n") + end)
    return [(field[1] or b"").replace(b'""', b'"') + field[2] for field in found]


def shown(text: bytes) -> str:
    """Return a field as a message shows it, cut where it is long."""
    cut = text if len(text) <= SHOWN else text[: SHOWN - 3] + b"..."
    try:
        return repr(cut.decode())
    except UnicodeDecodeError:
        return repr(cut)[1:]
