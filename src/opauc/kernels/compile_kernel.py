"""The one set of compile options that every kernel shares."""

from collections.abc import Callable
from typing import Any, TypeVar

from numba import njit

Function = TypeVar("Function", bound=Callable[..., Any])

# Sums may be reordered, which is what lets a reduction use vector registers;
# NaN and infinity keep their meaning, because divergence is detected by them.
OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy", "fastmath": {"reassoc", "nsz", "arcp", "contract"}}


# Without counting references to arrays: counts are atomic sums, dear next to vectors of fifty numbers.
UNCOUNTED: dict[str, Any] = {**OPTIONS, "_nrt": False}


def _compiled(function: Function, options: dict[str, Any]) -> Function:
    compiled: Function
    try:
        compiled = njit(cache=True, **options)(function)
    except RuntimeError:  # no writable cache folder: compile anew in each process
        compiled = njit(**options)(function)
    return compiled


def kernel(function: Function) -> Function:
    """Compile `function` on first use and keep the machine code on disk where a folder can be written."""
    return _compiled(function, OPTIONS)


def borrowing(function: Function) -> Function:
    """Compile `function`, which makes views of arrays but no arrays, without counting references."""
    return _compiled(function, UNCOUNTED)


def inlined(function: Function) -> Function:
    """Compile `function` into the body of each kernel that calls it."""
    compiled: Function = njit(inline="always", **OPTIONS)(function)
    return compiled
