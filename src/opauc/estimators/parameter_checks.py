"""Checks of constructor parameters, in scikit-learn's words."""

from __future__ import annotations

from collections.abc import Collection
from numbers import Integral, Real
from typing import Any

import numpy as np


def check_number(owner: str, name: str, value: Any, low: float, high: float = np.inf, closed: str = "left") -> float:
    """Return `value` as a float if it lies in the interval, closed "left", "right", on "both" sides or "neither"."""
    left, right = closed in ("left", "both"), closed in ("right", "both")
    is_number = isinstance(value, Real) and not isinstance(value, bool | np.bool_)
    fits = (
        is_number
        and np.isfinite(value)
        and (value >= low if left else value > low)
        and (value <= high if right else value < high)
    )
    if not fits:
        interval = f"{'[' if left else '('}{low}, {high}{']' if right else ')'}"
        raise ValueError(
            f"The {name!r} parameter of {owner} must be a float in the range {interval}. Got {value!r} instead."
        )
    return float(value)


def check_option(owner: str, name: str, value: Any, options: Collection[Any]) -> None:
    """Raise unless `value` is one of the options."""
    if not (isinstance(value, str | bool | None) and value in options):
        allowed = ", ".join(repr(option) for option in options)
        raise ValueError(f"The {name!r} parameter of {owner} must be one of {{{allowed}}}. Got {value!r} instead.")


def check_n_jobs(owner: str, value: Any, available: int) -> int:
    """Return the number of threads meant: None is one, -1 all, -2 all but one."""
    if value is None:
        return 1
    is_count = isinstance(value, Integral) and not isinstance(value, bool)
    if not is_count or value == 0:
        raise ValueError(
            f"The 'n_jobs' parameter of {owner} must be None or an int other than 0. Got {value!r} instead."
        )
    return int(value) if value > 0 else max(1, available + 1 + int(value))


def check_count(owner: str, name: str, value: Any) -> int:
    """Return `value` as an int if it is a whole number above zero."""
    is_count = isinstance(value, Integral) and not isinstance(value, bool)
    if not is_count or value < 1:
        raise ValueError(
            f"The {name!r} parameter of {owner} must be an int in the range [1, inf). Got {value!r} instead."
        )
    return int(value)
