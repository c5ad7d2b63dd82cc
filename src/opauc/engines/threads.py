"""Work on shards by threads of this process."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass

from opauc.core.blas import one_blas_thread
from opauc.engines.scheduler import Item, OnProgress, Result, Sums


@dataclass(frozen=True)
class ThreadScheduler:
    """Threads of this process; readers and kernels release the interpreter lock.

    Examples
    --------
    >>> from opauc.engines.threads import ThreadScheduler
    >>> ThreadScheduler(2).map(len, ["a", "bcd"])
    [1, 3]
    """

    n_jobs: int
    address: str | None = None

    def map(self, work: Callable[[Item], Result], items: Sequence[Item]) -> list[Result]:
        """Return the results in the order of the items."""
        with ThreadPoolExecutor(self.n_jobs) as pool:
            return list(pool.map(work, items))

    def map_reduce(self, gather: Callable[[Item], Sums], items: Sequence[Item], on_progress: OnProgress) -> Sums:
        """Return the merged results; in memory is at most one result per thread and per level of pairs."""
        with one_blas_thread(), ThreadPoolExecutor(self.n_jobs) as pool:
            return _Tree(len(items), on_progress).run(gather, items, pool, self.n_jobs)


class _Tree:
    """Values at (level, number) of the tree of pairs, merged as soon as both of a pair are there."""

    def __init__(self, n_items: int, on_progress: OnProgress) -> None:
        self._widths = [n_items]
        while self._widths[-1] > 1:
            self._widths.append(-(-self._widths[-1] // 2))
        self._on_progress = on_progress

    def run(self, gather: Callable[[Item], Sums], items: Sequence[Item], pool: ThreadPoolExecutor, n_jobs: int) -> Sums:
        """Gather the items in order, a few at a time, and return the value at the root."""
        waiting: dict[tuple[int, int], Sums] = {}
        running: dict[Future[Sums], tuple[int, int]] = {}
        left, done = iter(enumerate(items)), 0
        try:
            while True:
                while len(running) < n_jobs and (following := next(left, None)) is not None:
                    running[pool.submit(gather, following[1])] = (0, following[0])
                finished, _ = wait(running, return_when=FIRST_COMPLETED)
                for future in finished:
                    level, number = running.pop(future)
                    value = future.result()
                    if level == 0:
                        done += 1
                        self._on_progress(done)
                    level, number = self._raise_alone(level, number)
                    if level == len(self._widths) - 1:
                        return value
                    other = waiting.pop((level, number ^ 1), None)
                    if other is None:
                        waiting[level, number] = value
                    else:
                        first, second = (value, other) if number % 2 == 0 else (other, value)
                        running[pool.submit(first.merge, second)] = (level + 1, number // 2)
        finally:
            for future in running:
                future.cancel()

    def _raise_alone(self, level: int, number: int) -> tuple[int, int]:
        """Return the level and number to which a value without a neighbor moves up."""
        while level < len(self._widths) - 1 and number == self._widths[level] - 1 and number % 2 == 0:
            level, number = level + 1, number // 2
        return level, number
