"""The one set of compile options that every kernel shares."""

import os
from collections.abc import Callable
from typing import Any, TypeVar

from numba import config, njit
from numba.core.registry import cpu_target

from opauc.kernels.compile_notice import log_first_compilation

Function = TypeVar("Function", bound=Callable[..., Any])

# Sums may be reordered, which is what lets a reduction use vector registers;
# NaN and infinity keep their meaning, because divergence is detected by them.
OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy", "fastmath": {"reassoc", "nsz", "arcp", "contract"}}


def _uncounted() -> dict[str, Any]:
    """Return the options without counting references to arrays: atomic sums, dear next to vectors of fifty numbers.

    The option is numba's own and not documented, and one it does not know fails
    at the first call of the kernel. Where it has gone, kernels count, and are slower.
    """
    known = hasattr(cpu_target.options, "_nrt")
    return {**OPTIONS, "_nrt": False} if known else OPTIONS


def _compiled(function: Function, options: dict[str, Any]) -> Function:
    compiled: Function
    try:
        compiled = njit(cache=_has_folder(function.__code__.co_filename), **options)(function)
    except RuntimeError:  # no writable cache folder: compile anew in each process
        compiled = njit(**options)(function)
    return compiled


def _has_folder(source: str) -> bool:
    """Tell whether numba would keep machine code elsewhere than in a folder that is really called `~`.

    It makes one in the working directory for a user without a home, as there
    are in containers, and where NUMBA_CACHE_DIR begins with a tilde.
    """
    given = str(config.CACHE_DIR)  # type: ignore[attr-defined]
    if given:
        return not given.startswith("~")
    beside = os.path.join(os.path.dirname(source), "__pycache__")
    if os.access(beside if os.path.exists(beside) else os.path.dirname(source), os.W_OK):
        return True
    return os.path.isabs(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~"))


def kernel(function: Function) -> Function:
    """Compile `function` on first use and keep the machine code on disk where a folder can be written."""
    return _compiled(function, OPTIONS)


def borrowing(function: Function) -> Function:
    """Compile `function`, which makes views of arrays but no arrays, without counting references."""
    return _compiled(function, _uncounted())


def in_python(compiled: Function) -> Function:
    """Return the kernel as it is written, for an input too small to be worth loading machine code for."""
    plain: Function = getattr(compiled, "py_func", compiled)
    return plain


def inlined(function: Function) -> Function:
    """Compile `function` into the body of each kernel that calls it."""
    compiled: Function = njit(inline="always", **OPTIONS)(function)
    return compiled


log_first_compilation()
