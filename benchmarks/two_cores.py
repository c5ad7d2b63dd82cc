"""Where the second core's time goes: `python -m benchmarks.two_cores FOLDER [features...]`.

The same work on one file a core: by one process alone, by two processes at once, each held to a core of its own, and
by two threads of one process. Two processes share no interpreter: what they lose, the machine takes.
"""

import multiprocessing
import os
import statistics
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from benchmarks.__main__ import processor
from benchmarks.engines import header, parquet_files, row
from opauc.core.batch import BEGINNING
from opauc.core.blas import one_blas_thread
from opauc.core.labels import ClassLabels
from opauc.data import BadRows, ReadOptions
from opauc.data.encode.table_features import OneHotReading
from opauc.data.formats.arrow import ArrowReader
from opauc.data.sources import ByteSource
from opauc.engines.files import ShardTrainer
from opauc.engines.shards import ShardReader, file_shards, plan_training
from opauc.engines.threads import ThreadScheduler
from opauc.linear.resolve import opauc_factory

TURNS = 3


def decode(path):
    for _ in ArrowReader().batches(ByteSource(path), BEGINNING, BadRows()):
        pass


def shards_of(path):
    """Return what trains on a shard of a file, and the shards."""
    plan = plan_training(opauc_factory({}), [path], OneHotReading(ReadOptions()), ClassLabels())
    trainer = ShardTrainer(ShardReader(plan.options, plan.reading.training_encoder), plan)
    return trainer, file_shards([path], plan.options, 2**27, ThreadScheduler(1))


def read_rows(path):
    trainer, shards = shards_of(path)
    reader = trainer.reader
    for shard in shards:
        for _ in reader.batches(shard, reader.stream(shard, reader.bad_rows(shard))):
            pass


def train(path):
    trainer, shards = shards_of(path)
    for shard in shards:
        trainer.train(shard)


STAGES = {"decode": decode, "and make rows": read_rows, "and sum": train}


def timed(stage, path, clock):
    """Return the seconds and the seconds of computing of one piece of work."""
    began, computed = time.perf_counter(), clock()
    STAGES[stage](path)
    return time.perf_counter() - began, clock() - computed


def busy():
    """Return the seconds that the cores have computed, whoever it was for."""
    with open("/proc/stat") as file:
        user, nice, system = map(int, file.readline().split()[1:4])
    return (user + nice + system) / os.sysconf("SC_CLK_TCK")


def serve(core, pipe):
    """Do what is asked for on one core."""
    os.sched_setaffinity(0, {core})
    with one_blas_thread():
        while (asked := pipe.recv()) is not None:
            pipe.send(timed(*asked, time.process_time))


def in_threads(stage, paths):
    with one_blas_thread(), ThreadPoolExecutor(2) as pool:
        began = time.perf_counter()
        found = list(pool.map(lambda path: timed(stage, path, time.thread_time), paths))
        return time.perf_counter() - began, sum(computed for _, computed in found) / 2


def compare(n_features, paths, servants):
    for stage in STAGES:
        times, others = {"alone": [], "processes": [], "threads": []}, []
        for turn in range(TURNS + 1):
            servants[0].send((stage, paths[0]))
            found = {"alone": servants[0].recv()}
            before = busy()
            for servant, path in zip(servants, paths, strict=True):
                servant.send((stage, path))
            both = [servant.recv() for servant in servants]
            others.append(busy() - before - sum(computed for _, computed in both))
            found["processes"] = (max(wall for wall, _ in both), statistics.mean(computed for _, computed in both))
            found["threads"] = in_threads(stage, paths)
            for name, pair in found.items() if turn else ():
                times[name].append(pair)
        walls = {name: statistics.median(wall for wall, _ in pairs) for name, pairs in times.items()}
        computed = {name: statistics.median(cpu for _, cpu in pairs) for name, pairs in times.items()}
        seconds = [*walls.values(), *computed.values(), statistics.median(others[1:])]
        times_one = [2 * walls["alone"] / walls[name] for name in ("processes", "threads")]
        row(n_features, stage, *(f"{value:.2f}" for value in (*seconds, *times_one)))


def main():
    folder, context = Path(sys.argv[1]), multiprocessing.get_context("spawn")
    print(processor())
    walls = ["alone s", "two processes s", "two threads s"]
    computing = ["computing alone s", "a process s", "a thread s", "others meanwhile s"]
    header("features", "work on a file", *walls, *computing, "processes, times one", "threads, times one")
    servants = []
    for core in (0, 1):
        here, there = context.Pipe()
        context.Process(target=serve, args=(core, there), daemon=True).start()
        servants.append(here)
    for n_features in map(int, sys.argv[2:] or (50, 500)):
        compare(n_features, parquet_files(folder, n_features, 2), servants)
    for servant in servants:
        servant.send(None)


if __name__ == "__main__":
    main()
