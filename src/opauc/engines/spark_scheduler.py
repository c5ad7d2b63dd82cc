"""Shards worked on by Spark."""

from __future__ import annotations

import os
import pickle
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial

import pyarrow as pa

from opauc.engines.installed import needed
from opauc.engines.scheduler import FromCluster, Item, Result, Sums, Told, in_pairs, quiet
from opauc.errors import EngineError

with needed("pyspark", "spark"):
    from pyspark.errors import PySparkException
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql import functions as F  # noqa: N812

# What tasks give: the number of a shard, and what it gave.
SCHEMA = "number long, value binary"
# Neighbours merged by one task: pairs of pairs of pairs.
TOGETHER = 8
SECONDS_BETWEEN_LOOKS = 0.5


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
def spark_session(master: str | None, n_jobs: int) -> Iterator[SparkScheduler]:
    """Give a session: of a cluster by its address, else of `n_jobs` cores of this machine for as long as it lasts."""
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    # With a second number tasks that fail are tried again on one machine too.
    builder = SparkSession.builder.appName("opauc").master(master or f"local[{n_jobs},4]")
    try:
        session = builder.config("spark.ui.showConsoleProgress", "false").getOrCreate()
    except Exception as error:  # py4j and pyspark have one of their own for each thing that may be missing
        raise EngineError(f"Spark does not start ({_first_line(str(error))}); it needs Java 17 or later") from error
    try:
        session.sparkContext.setLogLevel("OFF")
        yield SparkScheduler(session)
    finally:
        session.stop()


@contextmanager
def refusals() -> Iterator[None]:
    """Turn what Spark says of tasks that were lost too often into one line."""
    try:
        yield
    except PySparkException as error:
        raise EngineError(f"Spark gave up: {_first_line(str(error))}") from error


def _first_line(text: str) -> str:
    return next((line.strip() for line in text.splitlines() if line.strip()), "")
