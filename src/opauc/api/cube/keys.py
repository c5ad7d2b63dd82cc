"""The keys of segments: their values as text, as names of folders and files, and the patterns that select them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date, datetime, time
from fnmatch import fnmatchcase
from pathlib import PurePath
from typing import TypeAlias
from urllib.parse import quote, unquote

from opauc.api.cube.policy import CUBE_POLICY, CubePolicy
from opauc.core.group_keys import is_missing
from opauc.errors import InputError, nearest_first

# What is read as it is in names of files.
PLAIN = " .,;+-_@()!#$&'^{}~:"
Values: TypeAlias = tuple[str, ...]
# A pattern, several, or a function of the value.
Choice: TypeAlias = str | int | float | date | Sequence[object] | Callable[[str], bool]


def key_text(value: object) -> str | None:
    """Return the value of a key as text, None where it is missing; a time at midnight is its day.

    Examples
    --------
    >>> from datetime import datetime
    >>> from opauc.api.cube.keys import key_text
    >>> key_text(datetime(2026, 11, 1)), key_text(7.0), key_text("NL"), key_text("")
    ('2026-11-01', '7', 'NL', None)
    """
    if is_missing(value) or value == "":
        return None
    if isinstance(value, datetime) and value.time() == time():
        return value.date().isoformat()
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


def part_name(key: str, value: str) -> str:
    """Return a key and its value as the name of a folder or a file.

    Examples
    --------
    >>> from opauc.api.cube.keys import part_name
    >>> part_name("day", "2026-11-01"), part_name("shop", "a/b*")
    ('day=2026-11-01', 'shop=a%2Fb%2A')
    """
    return f"{quote(key, safe=PLAIN)}={quote(value, safe=PLAIN)}"


def path_of(keys: Sequence[str], values: Values) -> PurePath:
    """Return the file of a segment, relative to its cube: a folder per key but for the last.

    Examples
    --------
    >>> from opauc.api.cube.keys import path_of
    >>> str(path_of(("day", "country"), ("2026-11-01", "NL")))
    'day=2026-11-01/country=NL'
    """
    return PurePath(*(part_name(key, value) for key, value in zip(keys, values, strict=True)))


def values_in(keys: Sequence[str], path: PurePath) -> Values | None:
    """Return the values of the keys that a path stands for, None where it is the file of no segment.

    Examples
    --------
    >>> from pathlib import PurePath
    >>> from opauc.api.cube.keys import values_in
    >>> values_in(("day",), PurePath("day=2026-11-01")), values_in(("day",), PurePath("country=NL"))
    (('2026-11-01',), None)
    """
    parts = [part.partition("=") for part in path.parts]
    if [unquote(key) for key, _, _ in parts] != list(keys) or not all(equals for _, equals, _ in parts):
        return None
    return tuple(unquote(value) for _, _, value in parts)


def check_value(key: str, value: str, policy: CubePolicy = CUBE_POLICY) -> None:
    """Raise where a value cannot be the name of a file."""
    if len(part_name(key, value).encode()) > policy.max_name_bytes:
        raise InputError(f"column {key}: {value[:40]!r}... is too long to name a segment")


def natural_order(value: str) -> tuple[tuple[int, float, str], ...]:
    """Return what values are sorted by: text as such, numbers in it by their size.

    Examples
    --------
    >>> from opauc.api.cube.keys import natural_order
    >>> sorted(["week 10", "week 9", "2026-11-02", "2026-2-01"], key=natural_order)
    ['2026-2-01', '2026-11-02', 'week 9', 'week 10']
    """
    pieces = re.findall(r"\d+|\D+", value)
    return tuple((0, float(piece), "") if piece.isdecimal() else (1, 0.0, piece) for piece in pieces)


def choose(keys: Sequence[str], choices: Mapping[str, Choice]) -> Callable[[Values], bool]:
    """Return whether a segment is chosen: by a pattern (* and ?), several of them, or a function for some keys.

    Examples
    --------
    >>> from opauc.api.cube.keys import choose
    >>> chosen = choose(("day", "country"), {"day": "2026-11-*", "country": ["NL", "BE"]})
    >>> chosen(("2026-11-02", "NL")), chosen(("2026-11-02", "FR")), chosen(("2026-10-02", "NL"))
    (True, False, False)
    """
    for name in choices:
        if name not in keys:
            raise InputError(f"the cube has no key {name!r}; expected one of {', '.join(nearest_first(name, keys))}")
    tests = [(keys.index(name), _test(choice)) for name, choice in choices.items()]
    return lambda values: all(test(values[at]) for at, test in tests)


def _test(choice: Choice) -> Callable[[str], bool]:
    if callable(choice):
        return choice
    several = isinstance(choice, Iterable) and not isinstance(choice, str)
    patterns = [key_text(one) or "" for one in choice] if several else [key_text(choice) or ""]  # type: ignore[union-attr]
    exact = frozenset(pattern for pattern in patterns if not re.search(r"[*?\[]", pattern))
    wild = [pattern for pattern in patterns if pattern not in exact]
    return lambda value: value in exact or any(fnmatchcase(value, pattern) for pattern in wild)
