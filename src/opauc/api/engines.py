"""Engines: threads, clusters, devices."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from opauc.api.observer import Observer
from opauc.core.parameters import ALL_CORES, Threads
from opauc.engines.scheduler import Scheduler
from opauc.engines.threads import ThreadScheduler
from opauc.errors import Parameter, ParameterError, unknown_name

CLUSTERS, DEVICE = ("dask", "spark"), "cuda"


def check_engine(engine: str | None, address: str | None, additive: bool) -> None:
    """Raise for an unknown engine, an address without a cluster, or a device for an additive model."""
    if engine not in (None, *CLUSTERS, DEVICE):
        raise ParameterError(Parameter("engine"), f": {unknown_name('engine', engine, (*CLUSTERS, DEVICE))}")
    if address is not None and engine not in CLUSTERS:
        raise ParameterError(
            Parameter("scheduler"), " is the address of a cluster: add ", Parameter("engine", "dask"), " or ",
            Parameter("engine", "spark"),
        )  # fmt: skip
    if additive and engine == DEVICE:
        raise ParameterError(
            Parameter("engine", DEVICE), " is for linear solvers (", Parameter("solver", "exact"),
            "); an additive model takes ", Parameter("n_jobs"), ", ", Parameter("engine", "dask"), " or ",
            Parameter("engine", "spark"),
        )  # fmt: skip


@contextmanager
def cluster(engine: str | None, address: str | None, n_jobs: int | None, observer: Observer) -> Iterator[Scheduler]:
    """Give a scheduler of shards: threads where no engine is named.

    A cluster on this machine has a worker for each core unless a number is asked for.
    """
    if engine is None:
        yield ThreadScheduler(Threads().check(n_jobs))
        return
    workers = Threads().check(ALL_CORES if n_jobs in (None, 1) else n_jobs)
    with _started(engine, address, workers) as scheduler:
        if scheduler.address is not None:
            text = f"{engine}: dashboard at {scheduler.address}"
            observer.say("engine", text, engine=engine, dashboard=scheduler.address)
        yield scheduler


@contextmanager
def _started(engine: str, address: str | None, workers: int) -> Iterator[Scheduler]:
    if engine == "dask":
        from opauc.engines.dask.scheduler import dask_cluster

        with dask_cluster(address, workers) as of_dask:
            yield of_dask
    else:
        from opauc.engines.spark.scheduler import spark_session

        with spark_session(address, workers) as of_spark:
            yield of_spark
