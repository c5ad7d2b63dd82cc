"""Rules for the values of parameters, declared at the field and reported in scikit-learn's words."""

from __future__ import annotations

import os
import sys
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field, fields
from numbers import Integral, Real
from typing import Any, Protocol, SupportsInt, TypeGuard, TypeVar

import numpy as np

from opauc.types import Settings

Params = TypeVar("Params")
# Key of a rule in the metadata of a dataclass field.
RULE = "rule"
# The value of `n_jobs` that means all cores.
ALL_CORES = -1


class Rule(Protocol):
    """The values that a parameter may have."""

    def check(self, value: object) -> Any:
        """Return the value converted to its type; raise ValueError with the expected values where it is not allowed."""


@dataclass(frozen=True)
class Number:
    """A finite number in an interval, closed "left", "right", on "both" sides or "neither"."""

    low: float
    high: float = np.inf
    closed: str = "left"

    def check(self, value: object) -> float:
        """Return the number as a float."""
        left, right = self.closed in ("left", "both"), self.closed in ("right", "both")
        is_number = isinstance(value, Real) and not isinstance(value, bool | np.bool_)
        number = float(value) if is_number and abs(value) <= sys.float_info.max else np.nan  # type: ignore[arg-type]
        above = number >= self.low if left else number > self.low
        fits = above and np.isfinite(number) and (number <= self.high if right else number < self.high)
        if not fits:
            interval = f"{'[' if left else '('}{self.low}, {self.high}{']' if right else ')'}"
            raise ValueError(f"a float in the range {interval}")
        return number


@dataclass(frozen=True)
class Count:
    """An integer of at least `low` and, unless it is None, at most `high`."""

    low: int = 1
    high: int | None = None

    def check(self, value: object) -> int:
        """Return the number as an int."""
        number = int(value) if is_whole(value) else self.low - 1
        if number < self.low or (self.high is not None and number > self.high):
            raise ValueError(f"an int in the range [{self.low}, {'inf)' if self.high is None else f'{self.high}]'}")
        return number


@dataclass(frozen=True)
class Option:
    """One of the given strings, booleans or None."""

    options: Collection[object]

    def check(self, value: object) -> Any:
        """Return the value."""
        if not (isinstance(value, str | bool | None) and value in self.options):
            raise ValueError(f"one of {{{', '.join(repr(option) for option in self.options)}}}")
        return value


@dataclass(frozen=True)
class Jobs:
    """A value of `n_jobs`: None, or an integer other than 0."""

    def check(self, value: object) -> int | None:
        """Return the value."""
        if value is None:
            return None
        number = int(value) if is_whole(value) else 0
        if number == 0:
            raise ValueError("None or an int other than 0")
        return number


@dataclass(frozen=True)
class Threads:
    """A number of threads: None is one, -1 all cores, -2 all but one.

    All cores are those that this process may use, at most OMP_NUM_THREADS where that is set: joblib and schedulers
    of clusters divide the cores among their workers by it.
    """

    def check(self, value: object) -> int:
        """Return the number of threads, at least one."""
        n_jobs = Jobs().check(value)
        if n_jobs is None:
            return 1
        return n_jobs if n_jobs > 0 else max(1, _count_cores() + 1 + n_jobs)


def _count_cores() -> int:
    """Return the number of cores that this process may use."""
    cores = len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1
    limit = os.environ.get("OMP_NUM_THREADS", "").partition(",")[0].strip()
    return min(cores, int(limit)) if limit.isdecimal() and int(limit) > 0 else cores


@dataclass(frozen=True)
class Numbers:
    """One or more finite numbers in an interval, closed as in `Number`, or None for the default grid."""

    low: float
    closed: str = "left"

    def check(self, value: Any) -> tuple[float, ...] | None:
        """Return the numbers as floats."""
        if value is None:
            return None
        try:
            numbers = tuple(Number(self.low, closed=self.closed).check(number) for number in value)
        except (TypeError, ValueError):
            numbers = ()
        if not numbers:
            begin = "[" if self.closed == "left" else "("
            raise ValueError(f"None or one or more floats in the range {begin}{self.low}, inf)")
        return numbers


@dataclass(frozen=True)
class Shares:
    """One or more numbers in (0, 1]."""

    def check(self, value: object) -> tuple[float, ...]:
        """Return the numbers as floats."""
        try:
            shares = tuple(SHARE.check(number) for number in value) if isinstance(value, Iterable) else ()
        except ValueError:
            shares = ()
        if not shares:
            raise ValueError("one or more floats in the range (0.0, 1.0]")
        return shares


@dataclass(frozen=True)
class Seed:
    """A random state; the code that uses it checks it."""

    def check(self, value: object) -> Any:
        """Return the value."""
        return value


NON_NEGATIVE, POSITIVE = Number(0.0), Number(0.0, closed="neither")
SHARE, SWITCH = Number(0.0, 1.0, closed="right"), Option((True, False))


def parameter(default: object, rule: Rule) -> Any:
    """Return a dataclass field with a default and a rule.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> from opauc.core.parameters import POSITIVE, from_params, parameter
    >>> @dataclass(frozen=True)
    ... class Step:
    ...     size: float = parameter(0.5, POSITIVE)
    >>> from_params("Walk", Step, {"size": 2})
    Step(size=2.0)
    >>> from_params("Walk", Step, {"size": -1})
    Traceback (most recent call last):
        ...
    ValueError: The 'size' parameter of Walk must be a float in the range (0.0, inf). Got -1 instead.
    """
    return field(default=default, metadata={RULE: rule})


def from_saved(owner: str, kind: type[Params], saved: Settings) -> Params:
    """Return a dataclass from all of its parameters, as a file has them; raise ValueError if one is missing."""
    missing = [part.name for part in fields(kind) if part.name not in saved]  # type: ignore[arg-type]
    if missing:
        raise ValueError(f"{owner}: lacks the setting {missing[0]}")
    return from_params(owner, kind, saved)


def from_params(owner: str, kind: type[Params], given: Settings) -> Params:
    """Return a dataclass of type `kind` with the given parameters, each checked; errors name `owner`."""
    values = {
        part.name: check_param(owner, part.name, given[part.name], part.metadata[RULE])
        for part in fields(kind)  # type: ignore[arg-type]
        if part.name in given
    }
    return kind(**values)


def check_param(owner: str, name: str, value: object, rule: Rule) -> Any:
    """Return a parameter converted to its type; raise with its name, its value and the expected values otherwise."""
    try:
        return rule.check(value)
    except ValueError as expected:
        raise ValueError(f"The {name!r} parameter of {owner} must be {expected}. Got {value!r} instead.") from None


def is_whole(value: object) -> TypeGuard[SupportsInt]:
    """Return whether a value is an integer; True and False are not."""
    return isinstance(value, Integral) and not isinstance(value, bool)
