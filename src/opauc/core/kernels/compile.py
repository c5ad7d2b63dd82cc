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
    """Calls `begin` with a sentence when a first kernel is about to be compiled, and adds up the seconds it all takes.

    Kernels taken from the cache on disk do not count, nor does what is compiled for others.
    """

    def __init__(self, begin: Callable[[str], None]) -> None:
        self.seconds = 0.0
        self._begin: Callable[[str], None] | None = begin
        self._depth, self._began = 0, 0.0

    def on_start(self, event: Event) -> None:
        """Note that a kernel is about to be compiled, perhaps for the sake of another."""
        kernel = event.data["dispatcher"]
        if self._depth == 0:
            if not (kernel.py_func.__module__ or "").startswith("opauc."):
                return
            self._began = time.perf_counter()
        self._depth += 1
        if self._begin is not None:
            begin, self._begin = self._begin, None
            begin(sentence(kernel.stats.cache_path))

    def on_end(self, event: Event) -> None:  # noqa: ARG002
        """Note that it is compiled."""
        if self._depth:
            self._depth -= 1
            if self._depth == 0:
                self.seconds += time.perf_counter() - self._began


def sentence(folder: str | None) -> str:
    """Return what there is to say when kernels are compiled: where they are kept, or how to keep them.

    >>> from opauc.core.kernels.compile import sentence
    >>> sentence("/home/ada/.cache/numba")
    'opauc is compiling its kernels for this machine, once: they are kept in /home/ada/.cache/numba'
    >>> sentence(None)
    'opauc is compiling its kernels, as every process will: set NUMBA_CACHE_DIR to a folder it can write to'
    """
    if folder is None:
        return "opauc is compiling its kernels, as every process will: set NUMBA_CACHE_DIR to a folder it can write to"
    return f"opauc is compiling its kernels for this machine, once: they are kept in {folder}"


@contextmanager
def compile_notice(begin: Callable[[str], None]) -> Iterator[CompileNotice]:
    """Give a notice that listens while the body runs.

    >>> from opauc.core.kernels.compile import compile_notice
    >>> with compile_notice(print) as notice:
    ...     notice.seconds
    0.0
    """
    notice = CompileNotice(begin)
    with install_listener(KIND, notice):
        yield notice


def log_first_compilation() -> None:
    """Let the logger "opauc" say once a process that kernels are being compiled.

    As a warning, the least that is seen where no logging was set up: a wait of
    seconds that comes once must explain itself.
    """
    register(KIND, CompileNotice(LOGGER.warning))


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
