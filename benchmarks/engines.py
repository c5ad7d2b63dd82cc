"""More than one core: `python -m benchmarks.engines FOLDER [data files tables dask memory parts]`; 11 GB in FOLDER."""

import os
import pickle
import statistics
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from pyarrow import csv, parquet

from benchmarks.__main__ import processor
from opauc.additive.factory import AdditiveFactory
from opauc.core.labels import ClassLabels
from opauc.data import ReadOptions
from opauc.data.encode.number_reading import OrdinalReading
from opauc.data.encode.table_features import OneHotReading
from opauc.engines.files import ShardTrainer
from opauc.engines.shards import ShardReader, file_shards, plan_training
from opauc.engines.threads import ThreadScheduler
from opauc.linear.resolve import opauc_factory

# Fewer of both give an answer sooner.
TURNS, N_FILES = int(os.environ.get("TURNS", "3")), int(os.environ.get("N_FILES", "8"))
NO_CHECKPOINTS = ("--checkpoint-every", "1000000000")
# Values in a row group, which takes 32 MB; row groups in a file.
VALUES_A_GROUP, GROUPS_A_FILE = 2**23, 16


def parquet_files(folder, n_features, n_files):
    """Return files of float32 columns and a label, 0.5 GB each in row groups of 32 MB; missing ones are made."""
    paths, n_rows = [folder / f"d{n_features}-{number}.parquet" for number in range(n_files)], rows_a_group(n_features)
    schema = pa.schema([*((f"x{j}", pa.float32()) for j in range(n_features)), ("label", pa.int8())])
    for number, path in enumerate(paths):
        if path.exists():
            continue
        rng = np.random.default_rng(number)
        with parquet.ParquetWriter(path, schema, compression="snappy", use_dictionary=False) as writer:
            for _ in range(GROUPS_A_FILE):
                labels = (rng.random(n_rows) < 1 / 3).astype(np.int8)
                rows = rng.standard_normal((n_features, n_rows), dtype=np.float32)
                rows += 0.1 * labels
                table = pa.Table.from_arrays([*map(pa.array, rows), pa.array(labels)], schema=schema)
                writer.write_table(table, row_group_size=n_rows)
    return list(map(str, paths))


def rows_a_group(n_features):
    return VALUES_A_GROUP // n_features


def libsvm_files(folder, n_files, n_features=123, per_row=14):
    """Return files as wide as a9a, 0.5 GB each: 50 copies of the same 60,000 rows; missing ones are made."""
    paths = [folder / f"ones-{number}.libsvm" for number in range(n_files)]
    for number, path in enumerate(paths):
        if path.exists():
            continue
        rng, lines = np.random.default_rng(number), []
        for _ in range(60_000):
            places = np.sort(rng.choice(n_features, per_row, replace=False)) + 1
            label = "+1" if rng.random() < 0.24 else "-1"
            entries = zip(places, rng.random(per_row), strict=True)
            lines.append(f"{label} {' '.join(f'{place}:{value:.6f}' for place, value in entries)}\n")
        path.write_text("".join(lines) * 50)
    return list(map(str, paths))


def raw_files(folder, n_rows=600_000):
    """Return a raw table with missing values, categories and dates, as text and as Parquet in row groups of 50,000."""
    paths = [folder / f"raw-{n_rows}.csv", folder / f"raw-{n_rows}.parquet"]
    if all(path.exists() for path in paths):
        return [str(path) for path in paths]
    rng = np.random.default_rng(0)
    numbers = np.round(rng.standard_normal((n_rows, 12)), 3)
    groups = [rng.integers(0, levels, n_rows) for levels in (5, 30, 300)]
    days = rng.integers(0, 1500, n_rows)
    score = np.sin(2 * numbers[:, 0]) + numbers[:, 1] * numbers[:, 2] + 0.5 * numbers[:, 3] ** 2 - 0.5
    score += sum(rng.standard_normal(column.max() + 1)[column] for column in groups) + 0.5 * (days % 7 == 2)
    columns = {f"x{j}": pa.array(numbers[:, j], mask=rng.random(n_rows) < 0.05 * (j % 3)) for j in range(12)}
    columns |= {f"group{j}": np.char.add("g", column.astype(str)) for j, column in enumerate(groups)}
    columns["since"] = np.datetime64("2021-01-01") + days
    columns["bought"] = np.where(rng.random(n_rows) < 1 / (1 + np.exp(-score)), "yes", "no")
    table = pa.table(columns)
    csv.write_csv(table, paths[0])
    parquet.write_table(table, paths[1], row_group_size=50_000)
    return [str(path) for path in paths]


def command(paths, *more, cores=None, solver="auto"):
    """Return the seconds of a command without compiling, as it says them, on some cores only if they are given."""
    words = [sys.executable, "-m", "opauc", "train", "--solver", solver, *paths]
    words += ["-o", "/dev/shm/model.opauc", "--json", *more]
    pinned = None if cores is None else lambda: os.sched_setaffinity(0, cores)
    began = time.perf_counter()
    out = subprocess.run(words, check=True, capture_output=True, text=True, preexec_fn=pinned).stdout
    seconds = float(out.rsplit('"seconds": ', 1)[1].split(",")[0])
    return seconds, time.perf_counter() - began


def in_turns(*runs, turns=TURNS):
    """Return the median seconds of each run, taken in turns after one turn that does not count."""
    found = [[] for _ in runs]
    for turn in range(turns + 1):
        for times, run in zip(found, runs, strict=True):
            seconds = run()[0]
            if turn:
                times.append(seconds)
    return [statistics.median(times) for times in found]


def sets(folder):
    return {
        "Parquet, 50 float32 columns": parquet_files(folder, 50, N_FILES),
        "Parquet, 500 float32 columns": parquet_files(folder, 500, N_FILES),
        "LIBSVM, 123 features, 14 a row": libsvm_files(folder, 3),
        "one of these files": libsvm_files(folder, 1),
    }


def data(folder):
    sets(folder)
    raw_files(folder)
    parquet_files(folder, 2_000, 1)


def files(folder):
    header("files", "MB", "one core s", "two cores, n_jobs 1 s", "n_jobs 2 s", "over one core", "over n_jobs 1")
    for name, paths in sets(folder).items():
        size = sum(map(os.path.getsize, paths)) / 1e6
        one, both, jobs = in_turns(
            lambda: command(paths, *NO_CHECKPOINTS, cores={0}),  # noqa: B023
            lambda: command(paths, *NO_CHECKPOINTS),  # noqa: B023
            lambda: command(paths, "--n-jobs", "2"),  # noqa: B023
        )
        row(name, f"{size:,.0f}", *(f"{value:.2f}" for value in (one, both, jobs, one / jobs, both / jobs)))


def tables(folder):
    """Print what the additive model of a raw table takes, and how much of that is before the shards: its basis."""
    header(
        "table", "MB", "one core s", "two cores, n_jobs 1 s", "n_jobs 2 s", "over one core", "over n_jobs 1", "basis s"
    )
    for path in raw_files(folder):
        label = ("--label", "bought")
        one, both, jobs = in_turns(
            lambda: command([path], *label, *NO_CHECKPOINTS, cores={0}, solver="gam"),  # noqa: B023
            lambda: command([path], *label, *NO_CHECKPOINTS, "--n-jobs", "1", solver="gam"),  # noqa: B023
            lambda: command([path], *label, "--n-jobs", "2", solver="gam"),  # noqa: B023
            turns=1,
        )
        factory, reading = AdditiveFactory({"random_state": 0}), OrdinalReading(ReadOptions(label="bought"))
        basis, _ = best(lambda: plan_training(factory, [path], reading, ClassLabels()), turns=1)  # noqa: B023
        found = (one, both, jobs, one / jobs, both / jobs, basis)
        row(Path(path).suffix, f"{os.path.getsize(path) / 1e6:,.0f}", *(f"{value:.2f}" for value in found))


def dask(folder):
    from opauc import OPAUC
    from opauc.engines import fit_dask
    from opauc.engines.dask.scheduler import dask_cluster

    paths = parquet_files(folder, 500, 4)
    size = sum(map(os.path.getsize, paths)) / 1e9
    [one] = in_turns(lambda: command(paths, *NO_CHECKPOINTS, cores={0}))
    [free] = in_turns(lambda: command(paths, *NO_CHECKPOINTS))
    found = {}
    for workers in (1, 2):
        with dask_cluster(None, workers) as cluster:
            times = []
            for _ in range(TURNS + 1):
                began = time.perf_counter()
                fit_dask(OPAUC(), paths, client=cluster.client)
                times.append(time.perf_counter() - began)
            found[workers] = statistics.median(times[1:])
    print(f"{size:.2f} GB of Parquet, 500 float32 columns, s: one process on one core {one:.1f}, on two {free:.1f}; ")
    print(f"Dask with one worker {found[1]:.1f}, with two {found[2]:.1f}")
    print(f"two workers over one process on one core {one / found[2]:.2f}, on two {free / found[2]:.2f}, ")
    print(f"over one worker {found[1] / found[2]:.2f}")


def memory(folder):
    """Print the largest resident size of two workers for more and more rows."""
    from opauc import OPAUC
    from opauc.engines import fit_dask
    from opauc.engines.dask.scheduler import dask_cluster

    for n_files in (1, 2, 4, 8):
        paths = parquet_files(folder, 500, n_files)
        with dask_cluster(None, 2) as cluster:
            fit_dask(OPAUC(), paths, client=cluster.client)
            peaks = cluster.client.run(peak)
        n_rows = n_files * GROUPS_A_FILE * rows_a_group(500)
        print(f"{n_rows:,} rows: a worker at most {max(peaks.values()) / 2**20:,.0f} MiB", flush=True)


def peak():
    import resource

    return 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


class Cost(NamedTuple):
    """What a partition costs: to train on its rows, to send what it gives, to merge two, and to solve at the end."""

    n_features: int
    rate: float  # rows a second and core
    row_bytes: float
    sent: int
    merging: float
    solving: float


def cost_of(folder, n_features):
    paths = parquet_files(folder, n_features, 1)
    plan = plan_training(opauc_factory({}), paths, OneHotReading(ReadOptions()), ClassLabels())
    trainer = ShardTrainer(ShardReader(plan.options, plan.reading.training_encoder), plan)
    [shard, *_] = file_shards(paths, plan.options, 2**28, ThreadScheduler(1))
    training, trained = best(lambda: trainer.train(shard))
    merging, _ = best(lambda: trained.merge(trained))
    solving, _ = best(lambda: replace(trained.model.fit).scorer)
    row_bytes = os.path.getsize(paths[0]) / (rows_a_group(n_features) * GROUPS_A_FILE)
    return Cost(n_features, trained.rows / training, row_bytes, len(pickle.dumps(trained, 5)), merging, solving)


def best(work, turns=5):
    """Return the median seconds of some turns after one that does not count, and what the work gave."""
    found = []
    for _ in range(turns + 1):
        began = time.perf_counter()
        given = work()
        found.append(time.perf_counter() - began)
    return statistics.median(found[1:]), given


def parts(folder):
    """Print what a partition costs, and what a million million rows would by that, in partitions of 1 GB."""
    costs = [cost_of(folder, n_features) for n_features in (50, 500, 2_000)]
    header("features", "rows a second and core", "bytes a row", "MB a partition sends", "ms to merge two", "s to solve")
    for one in costs:
        row(f"{one.n_features:,}", f"{one.rate:,.0f}", f"{one.row_bytes:,.0f}", f"{one.sent / 1e6:.2f}",
            f"{1e3 * one.merging:.2f}", f"{one.solving:.3f}")  # fmt: skip
    print("\n10^12 rows:\n")
    header("features", "TB to read", "core hours to train", "partitions of 1 GB", "GB sent", "core hours to merge",
           "cores for an hour", "GB/s they read")  # fmt: skip
    for one in costs:
        size, seconds = 1e12 * one.row_bytes, 1e12 / one.rate
        n_parts = size / 1e9
        merging = n_parts * one.merging
        row(f"{one.n_features:,}", f"{size / 1e12:,.0f}", f"{seconds / 3600:,.0f}", f"{n_parts:,.0f}",
            f"{n_parts * one.sent / 1e9:,.0f}", f"{merging / 3600:,.1f}", f"{(seconds + merging) / 3600:,.0f}",
            f"{size / 3600 / 1e9:,.0f}")  # fmt: skip


def row(*cells):
    print(f"| {' | '.join(map(str, cells))} |", flush=True)


def header(*names):
    row(*names)
    row(*["---"] * len(names))


def main():
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    known = {"data": data, "files": files, "tables": tables, "dask": dask, "memory": memory, "parts": parts}
    print(processor())
    for name in sys.argv[2:] or known:
        known[name](folder)


if __name__ == "__main__":
    main()
