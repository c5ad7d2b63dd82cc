"""Tells when kernels are being compiled, which only a first run has to wait for."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from numba.core import event


class CompileNotice(event.Listener):
    """Calls `begin` when the first kernel is about to be compiled, and adds up the seconds it all takes.

    Kernels taken from the cache on disk do not count.
    """

    def __init__(self, begin: Callable[[], None]) -> None:
        self.seconds = 0.0
        self._begin: Callable[[], None] | None = begin
        self._depth, self._began = 0, 0.0

    def on_start(self, event: object) -> None:  # noqa: ARG002
        """Note that a kernel is about to be compiled, perhaps for the sake of another."""
        if self._begin is not None:
            begin, self._begin = self._begin, None
            begin()
        if self._depth == 0:
            self._began = time.perf_counter()
        self._depth += 1

    def on_end(self, event: object) -> None:  # noqa: ARG002
        """Note that it is compiled."""
        self._depth -= 1
        if self._depth == 0:
            self.seconds += time.perf_counter() - self._began


@contextmanager
def compile_notice(begin: Callable[[], None]) -> Iterator[CompileNotice]:
    """Give a notice that listens while the body runs.

    >>> from opauc.kernels.compile_notice import compile_notice
    >>> with compile_notice(lambda: print("compiling")) as notice:
    ...     notice.seconds
    0.0
    """
    notice = CompileNotice(begin)
    with event.install_listener("numba:compile", notice):
        yield notice
