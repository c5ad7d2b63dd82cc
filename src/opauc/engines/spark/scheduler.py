"""Shards worked on by Spark."""

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

from opauc.engines.extras import needed
from opauc.engines.scheduler import (
    SECONDS_TO_ANSWER,
    FromCluster,
    Item,
    Result,
    Sums,
    Told,
    in_pairs,
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

# What tasks give: the number of a shard, and what it gave.
SCHEMA = "number long, value binary"
# Neighbors merged by one task: pairs of pairs of pairs.
TOGETHER = 8
SECONDS_BETWEEN_LOOKS = 0.5
# By these words Spark says that the process of a worker is gone, killed or out of memory.
WORKER_ENDED = ("Python worker exited unexpectedly", "ExecutorLostFailure", "OutOfMemoryError")


@dataclass(frozen=True)
class Refused:
    """What a task gives that will not have its rows: to raise it there would only have it tried again."""

    error: Exception


@dataclass(frozen=True)
class SparkScheduler:
    """A Spark session."""

    session: SparkSession

    @property
    def address(self) -> str | None:
        """Where Spark shows its stages; None where that is switched off."""
        found = self.session.sparkContext.uiWebUrl
        return None if found is None else str(found)

    def mapped(self, work: Callable[[Item], Result], items: Sequence[Item]) -> list[Result]:
        """Return the results in the order of the items."""
        with refusals():
            rows = self._numbered(work, items).collect()
        return [accepted(pickle.loads(row["value"])) for row in sorted(rows, key=lambda row: row["number"])]

    def reduced(self, gather: Callable[[Item], Sums], items: Sequence[Item], told: Told) -> Sums:
        """Return what all items give, merged by tasks of Spark."""
        with self._watched(len(items), told):
            found: Sums = merged(self._numbered(gather, items), len(items))
        return found

    def _numbered(self, work: Callable[[Item], object], items: Sequence[Item]) -> DataFrame:
        """Return a frame of what the work on each item gives, one task an item."""

        def task(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            for batch in batches:
                for number in batch.column(0).to_pylist():
                    yield value_batch(number, partial(work, items[number]))

        return self.session.range(0, len(items), 1, max(1, len(items))).mapInArrow(task, SCHEMA)

    @contextmanager
    def _watched(self, n_tasks: int, told: Told) -> Iterator[None]:
        """Tell how many tasks of the first stage are done, for as long as the body runs."""
        over = threading.Event()
        tracker = self.session.sparkContext.statusTracker()

        def watch() -> None:
            most = 0
            while not over.wait(SECONDS_BETWEEN_LOOKS):
                stages = [tracker.getStageInfo(number) for number in tracker.getActiveStageIds()]
                done = [one.numCompletedTasks for one in stages if one is not None and one.numTasks == n_tasks]
                if max(done, default=0) > most:
                    most = max(done)
                    told(most)

        watcher = threading.Thread(target=watch, name="opauc progress", daemon=True)
        if told is not quiet:
            watcher.start()
        try:
            yield
        finally:
            over.set()
            if told is not quiet:
                watcher.join()
        told(n_tasks)


def value_batch(number: int, work: Callable[[], object]) -> pa.RecordBatch:
    """Return what a task gives: what the work does, or that it refuses its rows."""
    try:
        value = work()
    except ValueError as error:
        value = Refused(error)
    return pa.record_batch({"number": pa.array([number], pa.int64()), "value": [pickle.dumps(value, 5)]})


def accepted(value: FromCluster) -> FromCluster:
    """Return what a task gave; raise what it refused."""
    if isinstance(value, Refused):
        raise value.error
    return value


def merged(values: DataFrame, n_values: int) -> FromCluster:
    """Return the values of a frame merged in pairs: by tasks while they are many, then here."""

    def together(key: tuple[pa.Scalar, ...], table: pa.Table) -> pa.Table:
        block = key[0].as_py()
        found = dict(zip(table["number"].to_pylist(), table["value"].to_pylist(), strict=True))
        numbers = range(TOGETHER * block, TOGETHER * (block + 1))
        return pa.Table.from_batches([value_batch(block, lambda: _neighbours(found, numbers))])

    while n_values > TOGETHER:
        block = F.floor(F.col("number") / TOGETHER).alias("block")
        values, n_values = values.groupBy(block).applyInArrow(together, SCHEMA), -(-n_values // TOGETHER)
    with refusals():
        rows = {row["number"]: row["value"] for row in values.collect()}
    return _neighbours(rows, range(n_values))


def _neighbours(values: dict[int, bytes], numbers: range) -> FromCluster:
    """Return values of these numbers merged, where there are such."""
    return in_pairs([accepted(pickle.loads(values[number])) if number in values else None for number in numbers])


def merged_partitions(values: DataFrame) -> FromCluster:
    """Return the merged values of a frame whose partitions give one each, None where there are none.

    How many there are Spark itself knows only once they are done: they are kept until they are merged.
    """
    kept = values.persist()
    try:
        with refusals():
            last = kept.agg(F.max("number")).collect()[0][0]
        return None if last is None else merged(kept, last + 1)
    finally:
        kept.unpersist()


@contextmanager
def refusals() -> Iterator[None]:
    """Turn what Spark says of tasks that were lost too often into one line."""
    try:
        yield
    except (PySparkException, Py4JError) as error:
        reason = reason_of(error)
        if MemoryError.__name__ in reason.partition(":")[0]:
            raise out_of_memory(reason) from error
        if any(words in reason for words in WORKER_ENDED):
            raise workers_ended() from error
        raise EngineError(f"Spark gave up: {reason}") from error


def reason_of(error: Exception) -> str:
    """Return the line that tells what went wrong: the last of a traceback, the first of what Java says."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    if isinstance(error, PythonException):
        return lines[-1]
    said = (line.removeprefix(": ") for line in lines if not line.startswith("An error occurred while calling"))
    return next(said, type(error).__name__)


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
    refuse_silence(master)
    # With a second number tasks that fail are tried again on one machine too.
    settings = SparkConf().setAppName("opauc").setMaster(master or f"local[{n_jobs},4]")
    settings.set("spark.ui.showConsoleProgress", "false")
    with warnings.catch_warnings():
        # Which nothing here asks of it.
        warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas")
        session = _started(settings)
        try:
            session.sparkContext.setLogLevel("OFF")
            yield SparkScheduler(session)
        finally:
            session.stop()


def _started(settings: SparkConf) -> SparkSession:
    """Return a session, refused in one line where there is none to be had."""
    try:
        SparkContext(conf=settings, gateway=_java())
        return SparkSession.builder.getOrCreate()
    except Exception as error:  # py4j and pyspark have one of their own for each thing that may be missing
        raise EngineError(f"Spark does not start ({reason_of(error)}); it needs Java 17 or later") from error


@cache
def _java() -> JavaGateway:
    """Return the one process of Java that this one may have; what it says on the way is nothing for a terminal."""
    return launch_gateway(popen_kwargs={"stderr": subprocess.DEVNULL})


def refuse_silence(master: str | None) -> None:
    """Raise where no master of a cluster answers, which Spark would try for a minute.

    >>> from opauc.engines.spark.scheduler import refuse_silence
    >>> refuse_silence("local[2]")
    """
    if master is None or not master.startswith(STANDALONE):
        return
    refused: Exception | None = None
    for place in master.removeprefix(STANDALONE).split(","):
        host, _, port = place.rpartition(":")
        try:
            socket.create_connection((host, int(port)), SECONDS_TO_ANSWER).close()
        except (OSError, ValueError) as error:
            refused = error
        else:
            return
    raise EngineError(f"{master}: no Spark master answers there ({refused})") from refused
