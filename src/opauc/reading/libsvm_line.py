"""One line of LIBSVM text read with care: what is right in it, however rare, or what is wrong with it."""

from __future__ import annotations

import re
import sys
from array import array
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

# Possessive: a million digits with a letter behind them are looked at once.
NUMBER = re.compile(rb"[+-]?(?:[0-9]++(?:\.[0-9]*+)?|\.[0-9]++)(?:[eE][+-]?[0-9]++)?")
WHOLE_NUMBER = re.compile(rb"[+-]?[0-9]++")
QUERY = re.compile(rb"qid:[+-]?[0-9]++")
WORD = re.compile(rb"\S++")
LONGEST_INDEX, LONGEST_SHOWN = 18, 40
LARGEST_FLOAT = sys.float_info.max


class UnclearLine(ValueError):
    """A line that says nothing clear, with the reason as its message."""


@dataclass(frozen=True)
class LibsvmRules:
    """What a line may contain: indices from `least` to below `beyond`, and values up to `largest` in magnitude."""

    least: int
    beyond: int
    largest: float
    key_of: Callable[[str], int] | None = None  # of a named feature; None where features have no names
    least_is: str = "indices start at 1"


class LibsvmLine(NamedTuple):
    """A label, and the column and value of each entry; columns count from 0, and a named feature has its key."""

    label: float
    columns: array[int]
    values: array[float]


def read_line(text: bytes, rules: LibsvmRules) -> LibsvmLine | None:
    """Return what a line says, None if it is blank or a comment.

    Examples
    --------
    >>> from opauc.reading.libsvm_line import LibsvmRules, read_line
    >>> rules = LibsvmRules(least=1, beyond=124, largest=1e300)
    >>> read_line(b"-1 3:.5 +11:1e-3  # a comment", rules)
    LibsvmLine(label=-1.0, columns=array('q', [2, 10]), values=array('d', [0.5, 0.001]))
    >>> read_line(b"-1 9:1 3:1", rules)
    Traceback (most recent call last):
        ...
    opauc.reading.libsvm_line.UnclearLine: feature index 3 follows 9; libsvm indices must increase
    """
    words = (found.group() for found in WORD.finditer(text.partition(b"#")[0]))
    first = next(words, None)
    if first is None:
        return None
    line = LibsvmLine(_number(first, "label", LARGEST_FLOAT), array("q"), array("d"))
    previous = rules.least - 1
    for position, word in enumerate(words):
        if position == 0 and word.startswith(b"qid:"):
            if not QUERY.fullmatch(word):
                raise UnclearLine(f"{shown(word)} stands for a query number; qid: and a whole number were expected")
        elif rules.key_of and (word[:1].isalpha() or word[:1] == b"_" or word[0] > 127):
            name, _, value = word.rpartition(b":")
            line.columns.append(rules.key_of(_name(name, word)))
            line.values.append(_number(value, f"value of feature {shown(name)}", rules.largest))
        else:
            name, colon, value = word.partition(b":")
            if not colon:
                raise UnclearLine(f"{shown(word)} stands for a feature; index:value was expected")
            previous = _index(name, previous, rules)
            line.columns.append(previous - rules.least)
            line.values.append(_number(value, f"value of feature {previous}", rules.largest))
    return line


def _index(word: bytes, previous: int, rules: LibsvmRules) -> int:
    """Return a feature index, which has to come after `previous`."""
    if not WHOLE_NUMBER.fullmatch(word):
        hint = "" if rules.key_of else "; names need feature hashing"
        raise UnclearLine(f"feature index is {shown(word)}, a whole number was expected{hint}")
    digits = word.lstrip(b"+-0") or b"0"
    index = int(digits[: LONGEST_INDEX + 1]) * (-1 if word.startswith(b"-") else 1)
    if index == 0 and rules.least == 1:
        raise UnclearLine(f"feature index is 0, but {rules.least_is}; pass zero_based=True if they start at 0")
    if not rules.least <= index < rules.beyond:
        raise UnclearLine(f"feature index is {shown(word)}, expected from {rules.least} to {rules.beyond - 1}")
    if index <= previous:
        raise UnclearLine(f"feature index {index} follows {previous}; libsvm indices must increase")
    return index


def _name(name: bytes, word: bytes) -> str:
    """Return the name of a feature."""
    try:
        decoded = name.decode()
    except UnicodeDecodeError:
        decoded = ""
    if not decoded or "\0" in decoded:
        raise UnclearLine(f"{shown(word)} stands for a feature; name:value in UTF-8 was expected")
    return decoded


def _number(word: bytes, what: str, largest: float) -> float:
    """Return a number; messages say `what` it is."""
    if not NUMBER.fullmatch(word):
        raise UnclearLine(f"{what} is {shown(word)}, one finite number was expected")
    number = float(word)
    if abs(number) > largest:
        raise UnclearLine(f"{what} is {shown(word)}, at most {largest:.4g} was expected")
    return number


def shown(word: bytes) -> str:
    """Return text as messages quote it: in one line, not too long, with what is not text as numbers.

    >>> from opauc.reading.libsvm_line import shown
    >>> shown(b"caf\\xc3\\xa9"), shown(b"\\xff1"), shown(b"9" * 50)
    ("'café'", "'\\\\xff1'", "'9999999999999999999999999999999999999999'...")
    """
    text: str | bytes
    try:
        text = word.decode()
    except UnicodeDecodeError:
        text = word
    return repr(text[:LONGEST_SHOWN]).removeprefix("b") + "..." * (len(text) > LONGEST_SHOWN)
