"""The one set of compile options that every kernel shares."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from numba import config, njit
from numba.core.event import Event, Listener, install_listener, register
from numba.core.registry import cpu_target

LOGGER = logging.getLogger("opauc")
KIND = "numba:compile"


class CompileNotice(Listener):
    """Calls `begin` with a message before the first compilation, and sums the seconds of all compilations.

    Kernels loaded from the cache on disk do not count, nor do kernels of other packages.
    """

    def __init__(self, begin: Callable[[str], None]) -> None:
        self.seconds = 0.0
        self._begin: Callable[[str], None] | None = begin
        self._depth, self._began = 0, 0.0

    def on_start(self, event: Event) -> None:
        """Handle the start of a compilation, which may be nested in another."""
        kernel = event.data["dispatcher"]
        if self._depth == 0:
            if not (kernel.py_func.__module__ or "").startswith("opauc."):
                return
            self._began = time.perf_counter()
        self._depth += 1
        if self._begin is not None:
            begin, self._begin = self._begin, None
            begin(compile_message(kernel.stats.cache_path))

    def on_end(self, _event: Event) -> None:
        """Handle the end of a compilation."""
        if self._depth:
            self._depth -= 1
            if self._depth == 0:
                self.seconds += time.perf_counter() - self._began


def compile_message(folder: str | None) -> str:
    """Return the message about compiling: where compiled kernels are cached, or how to cache them.

    >>> from opauc.core.kernels.compile import compile_message
    >>> compile_message("/home/ada/.cache/numba")
    'opauc is compiling its kernels for this machine, once: they are kept in /home/ada/.cache/numba'
    >>> compile_message(None)
    'opauc is compiling its kernels, as every process will: set NUMBA_CACHE_DIR to a folder it can write to'
    """
    if folder is None:
        return "opauc is compiling its kernels, as every process will: set NUMBA_CACHE_DIR to a folder it can write to"
    return f"opauc is compiling its kernels for this machine, once: they are kept in {folder}"


@contextmanager
def compile_notice(begin: Callable[[str], None]) -> Iterator[CompileNotice]:
    """Yield a `CompileNotice` that listens while the body runs.

    >>> from opauc.core.kernels.compile import compile_notice
    >>> with compile_notice(print) as notice:
    ...     notice.seconds
    0.0
    """
    notice = CompileNotice(begin)
    with install_listener(KIND, notice):
        yield notice


def log_first_compilation() -> None:
    """Log once per process, to the logger "opauc", that kernels are being compiled.

    The level is WARNING, the lowest that is shown without logging configuration:
    it explains why the first call takes seconds.
    """
    register(KIND, CompileNotice(LOGGER.warning))


Function = TypeVar("Function", bound=Callable[..., Any])

# Sums may be reordered, which is what lets a reduction use vector registers;
# NaN and infinity keep their meaning, because divergence is detected by them.
OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy", "fastmath": {"reassoc", "nsz", "arcp", "contract"}}


def _options_without_refcounts() -> dict[str, Any]:
    """Return the options without reference counting of arrays, whose atomic updates are slow for short vectors.

    The option `_nrt` is internal to numba, and an unknown option fails at the
    first call of a kernel. Where numba lacks it, kernels count references.
    """
    return {**OPTIONS, "_nrt": False} if hasattr(cpu_target.options, "_nrt") else OPTIONS


def _compile(function: Function, options: dict[str, Any]) -> Function:
    compiled: Function
    try:
        compiled = njit(cache=_has_cache_folder(function.__code__.co_filename), **options)(function)
    except RuntimeError:  # no writable cache folder: compile in each process
        compiled = njit(**options)(function)
    return compiled


def _has_cache_folder(source: str) -> bool:
    """Return whether numba would cache machine code in a folder other than one literally named `~`.

    It would create `~` in the working directory for a user without a home, as in
    containers, and where NUMBA_CACHE_DIR begins with a tilde.
    """
    cache_dir = str(config.CACHE_DIR)  # type: ignore[attr-defined]
    if cache_dir:
        return not cache_dir.startswith("~")
    pycache = os.path.join(os.path.dirname(source), "__pycache__")
    if os.access(pycache if os.path.exists(pycache) else os.path.dirname(source), os.W_OK):
        return True
    return os.path.isabs(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~"))


def kernel(function: Function) -> Function:
    """Compile `function` on first use and cache the machine code on disk where possible."""
    return _compile(function, OPTIONS)


def borrowing(function: Function) -> Function:
    """Compile `function`, which allocates no arrays, only views, without reference counting."""
    return _compile(function, _options_without_refcounts())


def ordered(function: Function) -> Function:
    """Compile `function` as `borrowing` does, with every sum in the order written: alone or among others, a row gets
    the same bits.
    """
    return _compile(function, {**_options_without_refcounts(), "fastmath": False})


def in_python(compiled: Function) -> Function:
    """Return the Python function of a kernel, for inputs too small to be worth loading machine code."""
    plain: Function = getattr(compiled, "py_func", compiled)
    return plain


def inlined(function: Function) -> Function:
    """Compile `function` into the body of each kernel that calls it."""
    compiled: Function = njit(inline="always", **OPTIONS)(function)
    return compiled


log_first_compilation()
