"""Work on the next items while the last one is being used."""

from __future__ import annotations

import queue
import threading
from collections.abc import Generator, Iterator
from contextlib import closing
from typing import TypeVar

Item = TypeVar("Item")

_END = object()
LONGEST_WAIT = 1.0


def read_ahead(items: Generator[Item, None, None], depth: int = 2) -> Iterator[Item]:
    """Yield the items of a generator that runs in a thread of its own, at most `depth` items ahead.

    What it raises is raised here, after the items before it. The thread ends
    when this iterator does, also when it is given up half way, unless it waits
    for a pipe that nobody writes to.

    Examples
    --------
    >>> from opauc.reading.read_ahead import read_ahead
    >>> list(read_ahead(letter for letter in "abc"))
    ['a', 'b', 'c']
    """
    line: queue.Queue[object] = queue.Queue(depth)
    given_up = threading.Event()

    def work() -> None:
        last: object = _END
        try:
            with closing(items):
                for item in items:
                    if not _put(line, item, given_up):
                        return
        except BaseException as error:  # handed over, whatever it is
            last = _Raised(error)
        _put(line, last, given_up)

    thread = threading.Thread(target=work, name="opauc reader", daemon=True)
    thread.start()
    try:
        while (item := line.get()) is not _END:
            if isinstance(item, _Raised):
                raise item.error
            yield item  # type: ignore[misc]
    finally:
        given_up.set()
        # A thread that waits for a pipe cannot be told; it ends with the program.
        thread.join(LONGEST_WAIT)


class _Raised:
    def __init__(self, error: BaseException) -> None:
        self.error = error


def _put(line: queue.Queue[object], item: object, given_up: threading.Event) -> bool:
    """Put an item in line, unless nobody waits for it any more."""
    while not given_up.is_set():
        try:
            line.put(item, timeout=0.1)
        except queue.Full:
            continue
        return True
    return False
