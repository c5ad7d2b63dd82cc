"""Work on shards by Spark."""

from __future__ import annotations

import os
import pickle
import socket
import subprocess
import sys
import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, partial

import pyarrow as pa

from opauc.core.extras import needed
from opauc.engines.scheduler import (
    SECONDS_TO_ANSWER,
    FromCluster,
    Item,
    OnProgress,
    Result,
    Sums,
    merge_in_pairs,
    out_of_memory,
    quiet,
    workers_ended,
)
from opauc.errors import EngineError

with needed("pyspark", "spark"):
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException, PythonException
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql import functions as F  # noqa: N812

# The result of a task: the number of a shard and its value.
SCHEMA = "number long, value binary"
# Neighbors merged by one task: pairs of pairs of pairs.
TOGETHER = 8
SECONDS_BETWEEN_LOOKS = 0.5
# Spark's messages of a worker that was killed or out of memory.
WORKER_ENDED = ("Python worker exited unexpectedly", "ExecutorLostFailure", "OutOfMemoryError")


@dataclass(frozen=True)
class TaskError:
    """An error as the result of a task: raised there, Spark would only repeat the task."""

    error: Exception


@dataclass(frozen=True)
class SparkScheduler:
    """A Spark session."""

    session: SparkSession

    @property
    def address(self) -> str | None:
        """Address of Spark's web page; None where that is switched off."""
        address = self.session.sparkContext.uiWebUrl
        return None if address is None else str(address)

    def map(self, work: Callable[[Item], Result], items: Sequence[Item]) -> list[Result]:
        """Return the results in the order of the items."""
        with engine_errors():
            rows = self._run_tasks(work, items).collect()
        return [unwrap(pickle.loads(row["value"])) for row in sorted(rows, key=lambda row: row["number"])]

    def map_reduce(self, gather: Callable[[Item], Sums], items: Sequence[Item], on_progress: OnProgress) -> Sums:
        """Return the results of all items, merged by tasks of Spark."""
        with self._watch(len(items), on_progress):
            merged: Sums = merge_values(self._run_tasks(gather, items), len(items))
        return merged

    def _run_tasks(self, work: Callable[[Item], object], items: Sequence[Item]) -> DataFrame:
        """Return a frame of the results, one task per item."""

        def task(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            for batch in batches:
                for number in batch.column(0).to_pylist():
                    yield value_batch(number, partial(work, items[number]))

        return self.session.range(0, len(items), 1, max(1, len(items))).mapInArrow(task, SCHEMA)

    @contextmanager
    def _watch(self, n_tasks: int, on_progress: OnProgress) -> Iterator[None]:
        """Report how many tasks of the first stage are done while the body runs."""
        over = threading.Event()
        tracker = self.session.sparkContext.statusTracker()

        def watch() -> None:
            most = 0
            while not over.wait(SECONDS_BETWEEN_LOOKS):
                stages = [tracker.getStageInfo(number) for number in tracker.getActiveStageIds()]
                done = [one.numCompletedTasks for one in stages if one is not None and one.numTasks == n_tasks]
                if max(done, default=0) > most:
                    most = max(done)
                    on_progress(most)

        watcher = threading.Thread(target=watch, name="opauc progress", daemon=True)
        if on_progress is not quiet:
            watcher.start()
        try:
            yield
        finally:
            over.set()
            if on_progress is not quiet:
                watcher.join()
        on_progress(n_tasks)


def value_batch(number: int, work: Callable[[], object]) -> pa.RecordBatch:
    """Return the result of a task, or its ValueError."""
    try:
        value = work()
    except ValueError as error:
        value = TaskError(error)
    return pa.record_batch({"number": pa.array([number], pa.int64()), "value": [pickle.dumps(value, 5)]})


def unwrap(value: FromCluster) -> FromCluster:
    """Return the result of a task; raise its error."""
    if isinstance(value, TaskError):
        raise value.error
    return value


def merge_values(values: DataFrame, n_values: int) -> FromCluster:
    """Return the values of a frame merged in pairs: by tasks while they are many, then here."""

    def together(key: tuple[pa.Scalar, ...], table: pa.Table) -> pa.Table:
        block = key[0].as_py()
        found = dict(zip(table["number"].to_pylist(), table["value"].to_pylist(), strict=True))
        numbers = range(TOGETHER * block, TOGETHER * (block + 1))
        return pa.Table.from_batches([value_batch(block, lambda: _merge_neighbors(found, numbers))])

    while n_values > TOGETHER:
        block = F.floor(F.col("number") / TOGETHER).alias("block")
        values, n_values = values.groupBy(block).applyInArrow(together, SCHEMA), -(-n_values // TOGETHER)
    with engine_errors():
        rows = {row["number"]: row["value"] for row in values.collect()}
    return _merge_neighbors(rows, range(n_values))


def _merge_neighbors(values: dict[int, bytes], numbers: range) -> FromCluster:
    """Return the merged values of these numbers, as far as there are any."""
    return merge_in_pairs([unwrap(pickle.loads(values[number])) if number in values else None for number in numbers])


def merge_partitions(values: DataFrame) -> FromCluster:
    """Return the merged values of a frame with one per partition, None where there are none.

    Spark knows their number only when they are done, so they are cached until they are merged.
    """
    cached = values.persist()
    try:
        with engine_errors():
            last = cached.agg(F.max("number")).collect()[0][0]
        return None if last is None else merge_values(cached, last + 1)
    finally:
        cached.unpersist()


@contextmanager
def engine_errors() -> Iterator[None]:
    """Turn Spark's errors of lost tasks into an error of one line."""
    try:
        yield
    except (PySparkException, Py4JError) as error:
        reason = reason_of(error)
        if MemoryError.__name__ in reason.partition(":")[0]:
            raise out_of_memory(reason) from error
        if any(message in reason for message in WORKER_ENDED):
            raise workers_ended() from error
        raise EngineError(f"Spark gave up: {reason}") from error


def reason_of(error: Exception) -> str:
    """Return the line with the reason: the last of a traceback, the first of a Java error."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    if isinstance(error, PythonException):
        return lines[-1]
    messages = (line.removeprefix(": ") for line in lines if not line.startswith("An error occurred while calling"))
    return next(messages, type(error).__name__)


with needed("pyspark", "spark"):
    from py4j.java_gateway import JavaGateway
    from pyspark import SparkConf, SparkContext
    from pyspark.java_gateway import launch_gateway
    from pyspark.sql import SparkSession

STANDALONE = "spark://"


@contextmanager
def spark_session(master: str | None, n_jobs: int) -> Iterator[SparkScheduler]:
    """Give a session: of a cluster by its address, else of `n_jobs` cores of this machine for as long as it lasts."""
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    check_master(master)
    # With the second number failed tasks are repeated on one machine too.
    settings = SparkConf().setAppName("opauc").setMaster(master or f"local[{n_jobs},4]")
    settings.set("spark.ui.showConsoleProgress", "false")
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas")
        session = _started(settings)
        try:
            session.sparkContext.setLogLevel("OFF")
            yield SparkScheduler(session)
        finally:
            session.stop()


def _started(settings: SparkConf) -> SparkSession:
    """Return a session; raise an error of one line where Spark does not start."""
    try:
        SparkContext(conf=settings, gateway=_java())
        return SparkSession.builder.getOrCreate()
    except Exception as error:  # py4j and pyspark have one of their own for each thing that may be missing
        raise EngineError(f"Spark does not start ({reason_of(error)}); it needs Java 17 or later") from error


@cache
def _java() -> JavaGateway:
    """Return the one Java process of this process; its messages are discarded."""
    return launch_gateway(popen_kwargs={"stderr": subprocess.DEVNULL})


def check_master(master: str | None) -> None:
    """Raise where no master of a cluster answers; Spark itself would try for a minute.

    >>> from opauc.engines.spark.scheduler import check_master
    >>> check_master("local[2]")
    """
    if master is None or not master.startswith(STANDALONE):
        return
    failure: Exception | None = None
    for place in master.removeprefix(STANDALONE).split(","):
        host, _, port = place.rpartition(":")
        try:
            socket.create_connection((host, int(port)), SECONDS_TO_ANSWER).close()
        except (OSError, ValueError) as error:
            failure = error
        else:
            return
    raise EngineError(f"{master}: no Spark master answers there ({failure})") from failure
