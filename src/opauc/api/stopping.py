"""Signals to stop, heeded between chunks."""

from __future__ import annotations

import signal
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TypeVar

Item = TypeVar("Item")


class Stop:
    """Whether a signal asked to stop; the first lets the chunk at hand be learned, the second stops at once."""

    def __init__(self) -> None:
        self.asked = False
        self._waiting = False

    def until_asked(self, items: Iterable[Item]) -> Iterator[Item]:
        """Yield the items until a signal asks to stop, which also ends the wait for the next one."""
        source = iter(items)
        try:
            while True:
                self._waiting = True  # before the look: a signal that comes after it raises
                item = None if self.asked else next(source, None)
                self._waiting = False
                if item is None:
                    return
                yield item
        except _Asked:
            return
        finally:
            self._waiting = False

    def note(self, *_: object) -> None:
        """Take note of a signal."""
        if self.asked:
            raise KeyboardInterrupt
        self.asked = True
        if self._waiting:
            raise _Asked


class _Asked(Exception):
    """Ends a wait that a writer who sends nothing would let last for ever."""


@contextmanager
def stopping() -> Iterator[Stop]:
    """Give what tells whether Ctrl-C was pressed or the system asks the process to end."""
    stop = Stop()
    before = {number: signal.signal(number, stop.note) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
