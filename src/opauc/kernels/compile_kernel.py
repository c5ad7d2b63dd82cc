"""The one set of compile options that every kernel shares."""

from collections.abc import Callable
from typing import Any, TypeVar

from numba import njit

Function = TypeVar("Function", bound=Callable[..., Any])

# Sums may be reordered, which is what lets a reduction use vector registers;
# NaN and infinity keep their meaning, because divergence is detected by them.
OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy", "fastmath": {"reassoc", "nsz", "arcp", "contract"}}


def kernel(function: Function) -> Function:
    """Compile `function` on first use and keep the machine code on disk where a folder can be written."""
    try:
        compiled: Function = njit(cache=True, **OPTIONS)(function)
    except RuntimeError:  # no writable cache folder: compile anew in each process
        compiled = njit(**OPTIONS)(function)
    return compiled


def inlined(function: Function) -> Function:
    """Compile `function` into the body of each kernel that calls it."""
    compiled: Function = njit(inline="always", **OPTIONS)(function)
    return compiled
