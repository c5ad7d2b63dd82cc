"""Long work: who observes its progress, what stops it, and how long it takes."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import NamedTuple, Protocol, TypeVar

from opauc.core.kernels.compile import compile_notice

Item = TypeVar("Item")


class Progress(NamedTuple):
    """Progress of the work: rows, bytes of the files and their total (None where unknown), and the running AUC.

    Attributes
    ----------
    rows : int
        Rows processed so far.
    bytes_read : int
        Bytes read so far.
    total_bytes : int or None
        Bytes of all files, where known.
    auc : float or None
        The progressive AUC so far, where there is one.

    Examples
    --------
    >>> from opauc.api.observer import Progress
    >>> Progress(rows=1000, bytes_read=5000, total_bytes=20000).rows
    1000
    """

    rows: int
    bytes_read: int
    total_bytes: int | None
    auc: float | None = None


class Show(Protocol):
    """Shows how far the work is."""

    def __call__(self, rows: int, bytes_read: int, auc: float | None = None) -> None:
        """Show so many rows, bytes of the files and the running AUC."""


class Observer(Protocol):
    """Receives the reports of the functions of this package."""

    def say(self, event: str, text: str, listed: Iterable[str] = (), **facts: object) -> None:
        """Report one fact: a text with lines below it for people, an event with facts for programs."""

    def warn(self, text: str) -> None:
        """Report a warning."""

    def skipped(self, rows: int, first: Sequence[str]) -> None:
        """Report how many rows could not be used, and the first of them."""

    def compiling(self, sentence: str) -> None:
        """Report that kernels are being compiled."""

    def progress(self, title: str, total_bytes: int | None) -> AbstractContextManager[Show]:
        """Give a function that shows how far the work is."""


class CallbackObserver:
    """Passes progress to a callback and warnings to Python's `warnings`; says nothing else.

    Examples
    --------
    >>> from opauc.api.observer import CallbackObserver
    >>> seen = []
    >>> with CallbackObserver(seen.append).progress("training", 100) as show:
    ...     show(5, 50, 0.75)
    >>> seen
    [Progress(rows=5, bytes_read=50, total_bytes=100, auc=0.75)]
    """

    def __init__(self, on_progress: Callable[[Progress], None] | None = None) -> None:
        self._on_progress = on_progress

    def say(self, event: str, text: str, listed: Iterable[str] = (), **facts: object) -> None:
        """Say nothing."""

    def warn(self, text: str) -> None:
        """Warn."""
        import warnings

        warnings.warn(text, UserWarning, stacklevel=3)

    def skipped(self, rows: int, first: Sequence[str]) -> None:
        """Warn of rows that could not be used."""
        if rows:
            self.warn(f"skipped {rows:,} bad rows, the first: {first[0] if first else ''}")

    def compiling(self, sentence: str) -> None:
        """Say nothing: the logger `opauc` does."""

    @contextmanager
    def progress(self, title: str, total_bytes: int | None) -> Iterator[Show]:  # noqa: ARG002
        """Give a function that calls the callback."""

        def show(rows: int, bytes_read: int, auc: float | None = None) -> None:
            if self._on_progress is not None:
                self._on_progress(Progress(rows, bytes_read, total_bytes, auc))

        yield show


class Stop:
    """Whether a signal asked to stop; after the first signal the current batch is finished, a second stops at once."""

    def __init__(self) -> None:
        self.asked: bool = False
        self._waiting = False

    def until_asked(self, items: Iterable[Item]) -> Iterator[Item]:
        """Yield the items until a signal asks to stop, which also ends the wait for the next item."""
        source = iter(items)
        try:
            while True:
                self._waiting = True  # set before `asked` is read: a later signal raises
                item = None if self.asked else next(source, None)
                self._waiting = False
                if item is None:
                    return
                yield item
        except _StopRequestedError:
            return
        finally:
            self._waiting = False

    def handle(self, *_: object) -> None:
        """Handle a signal."""
        if self.asked:
            raise KeyboardInterrupt
        self.asked = True
        if self._waiting:
            raise _StopRequestedError


class _StopRequestedError(Exception):
    """Ends the wait for a source that sends nothing."""


@contextmanager
def stopping() -> Iterator[Stop]:
    """Give a `Stop` that handles SIGINT and SIGTERM within the body, in the main thread: others get no signals."""
    stop = Stop()
    if threading.current_thread() is not threading.main_thread():
        yield stop
        return
    before = {number: signal.signal(number, stop.handle) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def stopwatch(compiling: Callable[[str], None]) -> Iterator[Callable[[], float]]:
    """Give a function that returns the seconds so far, without those of compiling; `compiling` reports these."""
    began = time.perf_counter()
    with compile_notice(compiling) as notice:
        yield lambda: max(0.0, time.perf_counter() - began - notice.seconds)
