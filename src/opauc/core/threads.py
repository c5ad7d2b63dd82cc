"""Threads of this process that share the work on blocks of rows, with results that do not depend on their number."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from threading import Event
from typing import TypeVar

from opauc.core.blas import one_blas_thread
from opauc.core.parameters import Threads

Item = TypeVar("Item")
Result = TypeVar("Result")

# None, which is one thread, outside of `use_threads` and in the threads that do the work: they start no others.
_n_jobs: ContextVar[int | None] = ContextVar("n_jobs", default=None)
# In a thread of `work_beside`, what is set once its result is not needed.
_is_dropped: ContextVar[Event | None] = ContextVar("is_dropped", default=None)


@contextmanager
def use_threads(n_jobs: int | None) -> Iterator[None]:
    """Let `work_in_order` use so many threads while the body runs: -1 is all cores, None one.

    Examples
    --------
    >>> from opauc.core.threads import use_threads, work_in_order
    >>> lengths = []
    >>> with use_threads(2):
    ...     work_in_order(len, ["a", "bcd", ""], lengths.append)
    >>> lengths
    [1, 3, 0]
    """
    token = _n_jobs.set(n_jobs)
    try:
        yield
    finally:
        _n_jobs.reset(token)


def count_threads() -> int:
    """Return how many threads may be used here: one outside of `use_threads`."""
    return Threads().check(_n_jobs.get())


def work_in_order(work: Callable[[Item], Result], items: Sequence[Item], take: Callable[[Result], object]) -> None:
    """Call `take` with the result of the work on each item, in the order of the items, in this thread.

    In memory are at most one result per thread and the one that is taken. After
    an error, Ctrl-C included, work that has begun is completed and dropped.
    """
    n_threads = min(count_threads(), len(items)) if len(items) > 1 else 1
    if n_threads == 1:
        for item in items:
            take(work(item))
        return
    with one_blas_thread(), ThreadPoolExecutor(n_threads) as pool:
        running: deque[Future[Result]] = deque()
        try:
            for item in items:
                running.append(pool.submit(work, item))
                if len(running) > n_threads:
                    take(running.popleft().result())
            while running:
                take(running.popleft().result())
        finally:
            for future in running:
                future.cancel()


@contextmanager
def work_beside(work: Callable[[], Result]) -> Iterator[Callable[[], Result]]:
    """Let another thread work while the body runs; the body gets a function that waits for the result.

    With one thread, that function does the work. The other thread starts no further ones. After an error in the body,
    Ctrl-C included, the work ends at the next `raise_if_dropped`, and is waited for.

    Examples
    --------
    >>> from opauc.core.threads import use_threads, work_beside
    >>> with use_threads(2), work_beside(lambda: sum(range(5))) as result:
    ...     product = 3 * 4
    ...     print(product + result())
    22
    """
    if count_threads() == 1:
        yield work
        return
    dropped = Event()

    def run() -> Result:
        _is_dropped.set(dropped)
        return work()

    with one_blas_thread(), ThreadPoolExecutor(1) as pool:
        future = pool.submit(run)
        try:
            yield future.result
        finally:
            dropped.set()


def raise_if_dropped() -> None:
    """Raise CancelledError in a thread of `work_beside` whose result is not needed."""
    dropped = _is_dropped.get()
    if dropped is not None and dropped.is_set():
        raise CancelledError
