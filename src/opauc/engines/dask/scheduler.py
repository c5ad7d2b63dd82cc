"""Work on shards by a Dask cluster."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from opauc.core.extras import needed
from opauc.engines.scheduler import (
    SECONDS_TO_ANSWER,
    FromCluster,
    Item,
    OnProgress,
    Result,
    Sums,
    out_of_memory,
    quiet,
    workers_ended,
)
from opauc.errors import EngineError
from opauc.types import Json

with needed("dask", "dask"):
    import dask
    from dask.delayed import Delayed, delayed
    from distributed import Client, LocalCluster, as_completed, default_client
    from distributed.scheduler import KilledWorker

# Dask has its workers give all memory back that is free for a moment (MALLOC_TRIM_THRESHOLD_), and looks every 10 ms at
# what they do: a quarter of the time of sums. Arrow gives memory back too. BLAS has one thread in each, as Dask has it.
FOR_SUMS: Json = {
    "distributed.nanny.pre-spawn-environ": {
        "OMP_NUM_THREADS": 1,
        "MKL_NUM_THREADS": 1,
        "OPENBLAS_NUM_THREADS": 1,
        "MIMALLOC_PURGE_DELAY": -1,
    },
    "distributed.worker.profile.interval": "1s",
}


@dataclass(frozen=True)
class DaskScheduler:
    """A cluster of workers, through a client of it."""

    client: Client

    @property
    def address(self) -> str | None:
        """Where the dashboard is."""
        return str(self.client.dashboard_link)

    def map(self, work: Callable[[Item], Result], items: Sequence[Item]) -> list[Result]:
        """Return the results in the order of the items."""
        with engine_errors():
            return list(self.client.gather(self.client.map(work, items, pure=False)))

    def map_reduce(self, gather: Callable[[Item], Sums], items: Sequence[Item], on_progress: OnProgress) -> Sums:
        """Return the results of all items, merged in pairs by the workers."""
        task = delayed(gather, pure=False)
        merged: Sums = self.merge([task(item) for item in items], on_progress)
        return merged

    def merge(self, values: Sequence[Delayed], on_progress: OnProgress = quiet) -> FromCluster:
        """Return the merged value of tasks; only values still to be merged are in memory.

        One graph, so that Dask merges what it has before it begins more.
        """
        merge, done = delayed(_merge, pure=False), delayed(_done, pure=False)
        ticks, level = [done(value) for value in values], list(values)
        while len(level) > 1:
            pairs = zip(level[::2], level[1::2], strict=False)
            level = [merge(one, other) for one, other in pairs] + (level[-1:] if len(level) % 2 else [])
        with engine_errors():
            root, *finished = self.client.compute([level[0], *ticks])
            for count, _ in enumerate(as_completed(finished), 1):
                on_progress(count)
            return root.result()


def _merge(one: Sums, other: Sums) -> Sums:
    return one.merge(other)


def _done(_value: object) -> bool:
    return True


def scheduler_of(client: Client | None) -> DaskScheduler:
    """Return the scheduler of a client, of the current one where none is given."""
    if client is not None:
        return DaskScheduler(client)
    try:
        return DaskScheduler(default_client())
    except ValueError as error:
        raise EngineError("there is no Dask client; make one first: distributed.Client()") from error


@contextmanager
def dask_cluster(address: str | None, n_jobs: int) -> Iterator[DaskScheduler]:
    """Give a cluster: the one at an address, else one of `n_jobs` processes on this machine for as long as it lasts."""
    if address is not None:
        try:
            client = Client(address, timeout=SECONDS_TO_ANSWER)
        except (OSError, ValueError) as error:
            raise EngineError(f"{address}: no Dask scheduler answers there ({error})") from error
        with client:
            yield DaskScheduler(client)
        return
    with dask.config.set(FOR_SUMS):
        # Our own error reports bad rows and lost workers; workers that end slowly need no report.
        started = LocalCluster(
            n_workers=n_jobs, threads_per_worker=1, dashboard_address=":0", silence_logs=logging.CRITICAL
        )
    with started as cluster, Client(cluster) as client:
        yield DaskScheduler(client)


@contextmanager
def engine_errors() -> Iterator[None]:
    """Turn the loss of workers into an error of one line; errors of tasks pass unchanged."""
    try:
        yield
    except KilledWorker as error:
        raise workers_ended(error.last_worker.address) from error
    except MemoryError as error:
        raise out_of_memory(error) from error
