"""Check the types of JSON from a file: nothing else of it is used."""

from __future__ import annotations

import reprlib
import sys
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from types import NoneType, UnionType
from typing import Any, NamedTuple, TypeAlias, TypeVar, Union, get_args, get_origin, get_type_hints, is_typeddict

Kind = TypeVar("Kind")
# A class, a union or a generic alias: Python has no type for all of them yet.
TypeForm: TypeAlias = Any
# How much of a wrong value is shown.
_SHORT = reprlib.Repr()
_SHORT.maxstring = _SHORT.maxother = _SHORT.maxlong = 40
LARGEST = sys.float_info.max


class Fault(NamedTuple):
    """Where a value is wrong, and why."""

    where: str
    what: str


class Plain(NamedTuple):
    """A kind of value without parts: what it is called, and whether a value is one."""

    called: str
    has: Callable[[object], bool]


PLAIN: dict[object, Plain] = {
    str: Plain("text", lambda value: isinstance(value, str)),
    bool: Plain("true or false", lambda value: isinstance(value, bool)),
    int: Plain("a whole number", lambda value: isinstance(value, int) and not isinstance(value, bool)),
    float: Plain(
        "a finite number",
        lambda value: isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= LARGEST,
    ),
    NoneType: Plain("nothing", lambda value: value is None),
    TypeForm: Plain("anything", lambda _: True),
}


def json_as(kind: type[Kind], value: object, name: str) -> Kind:
    """Return a value of a header; raise with its name unless it is of that type.

    Types are strings, numbers, booleans, None, unions of them, lists (`list[int]`
    or, for what becomes a tuple, `tuple[int, ...]`),
    `dict[str, ...]`, and typed dictionaries, which must have every required
    part and may have no part that is not declared. Numbers are finite, and
    true is no number.

    Examples
    --------
    >>> from opauc.core.json_schema import json_as
    >>> json_as(list[int], [1, 2], "counts")
    [1, 2]
    >>> json_as(list[int], [1, "2"], "counts")
    Traceback (most recent call last):
        ...
    ValueError: counts[1]: expected a whole number, got '2'
    """
    fault = _fault(kind, value)
    if fault is not None:
        raise ValueError(f"{name}{fault.where}: {fault.what}")
    return value  # type: ignore[return-value]


def _fault(kind: TypeForm, value: object) -> Fault | None:
    """Return the first thing wrong with a value, None if it is of the kind."""
    if kind in PLAIN:
        return None if PLAIN[kind].has(value) else _expected(PLAIN[kind].called, value)
    origin: object = get_origin(kind)
    inner = get_args(kind)
    if origin in (Union, UnionType):
        return _fault_with_all(inner, value)
    if origin in (list, tuple):
        # A tuple is what becomes a list once it is written.
        return _fault_in_list(inner[0], value) if isinstance(value, list | tuple) else _expected("a list", value)
    if not isinstance(value, dict):
        return _expected("names with values", value)
    if is_typeddict(kind):
        return _fault_in_parts(kind, value)
    return _first((f"[{_SHORT.repr(key)}]", inner[1], part) for key, part in value.items())


def _fault_with_all(kinds: tuple[TypeForm, ...], value: object) -> Fault | None:
    """Return what is wrong with a value that is of none of several kinds."""
    faults = [_fault(one, value) for one in kinds]
    if None in faults:
        return None
    called = [PLAIN[one].called for one in kinds if one in PLAIN]
    return _expected(" or ".join(called), value) if len(called) == len(kinds) else faults[0]


def _fault_in_list(kind: TypeForm, values: Sequence[object]) -> Fault | None:
    # Names of a million features are looked at one by one only where something is wrong.
    if kind in PLAIN and all(map(PLAIN[kind].has, values)):
        return None
    return _first((f"[{at}]", kind, value) for at, value in enumerate(values))


def _fault_in_parts(kind: TypeForm, parts: dict[str, object]) -> Fault | None:
    hints = _hints(kind)
    if unknown := [key for key in parts if key not in hints]:
        return Fault("", f"has a part {_SHORT.repr(unknown[0])}, which is not known here")
    if missing := sorted(key for key in kind.__required_keys__ if key not in parts):
        return Fault("", f"lacks {missing[0]}")
    return _first((f": {key}", hints[key], part) for key, part in parts.items())


def _first(parts: Iterable[tuple[str, TypeForm, object]]) -> Fault | None:
    """Return the first fault of parts, each with its place and its kind."""
    for place, kind, part in parts:
        if (fault := _fault(kind, part)) is not None:
            return Fault(place + fault.where, fault.what)
    return None


def _expected(expected: str, value: object) -> Fault:
    return Fault("", f"expected {expected}, got {_SHORT.repr(value)}")


@cache
def _hints(kind: TypeForm) -> dict[str, TypeForm]:
    return get_type_hints(kind)
