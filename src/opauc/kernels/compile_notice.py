"""Tells when kernels are being compiled, which only a first run has to wait for."""

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from numba.core.event import Event, Listener, install_listener, register

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

    >>> from opauc.kernels.compile_notice import sentence
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

    >>> from opauc.kernels.compile_notice import compile_notice
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
