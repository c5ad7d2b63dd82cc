"""Training from files: wall time against merely reading them, and peak memory, each in a process of its own.

`python -m benchmarks.from_files [gigabytes]`: one by default. Every process is held to one core.
"""

import os
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import parquet

from benchmarks.reading import categories
from benchmarks.stopwatch import race
from benchmarks.table import heading, line
from opauc.core.checkpoints import MAX_SHARE, MIN_SECONDS
from opauc.core.loop import Trainer
from opauc.data.open_stream import open_stream
from opauc.linear.resolve import opauc_factory

# What a process runs, its seconds without starting and compiling, and its peak memory in MB.
TIMED = """
import sys, time
sys.argv = sys.argv[1:]
{warm}
start = time.perf_counter()
{work}
seconds = time.perf_counter() - start
with open("/proc/self/status") as status:  # getrusage would tell the peak of the process that started this one, too
    print(seconds, next(int(row.split()[1]) / 1000 for row in status if row.startswith("VmHWM")))
"""
TRAIN = """
try:
    main()
except SystemExit as done:
    assert not done.code, done.code
"""
READ = "for batch in open_stream([sys.argv[0]]).batches(ahead=False): pass"
IMPORTS = """
from opauc.data.open_stream import open_stream
from opauc.cli import main
"""
# A model of one small file is trained first, so that nothing is compiled within the time.
WARM = (
    IMPORTS
    + """
given, sys.argv = sys.argv, ["opauc", "train", "--solver", "auto", sys.argv[1], "-o", sys.argv[2], "--quiet"]
try:
    main()
except SystemExit:
    pass
sys.argv = given
"""
)
# Merely reading, as most would write it and with what was found to be fastest here: the better one is the peer.
BATCHES = (
    """
for batch in parquet.ParquetFile(sys.argv[0]).iter_batches(batch_size=65536, use_threads=False): pass
""",
    """
file = parquet.ParquetFile(sys.argv[0], pre_buffer=False, buffer_size=2**16)
for group in range(file.num_row_groups):
    for batch in file.iter_batches(131072, [group], use_threads=False): pass
""",
)


def run(warm, work, *arguments):
    """Return seconds and megabytes of a process held to one core."""
    command = [sys.executable, "-c", TIMED.format(warm=warm, work=work), *map(str, arguments)]
    threads = {"OPENBLAS_NUM_THREADS": "1", "ARROW_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    core = max(os.sched_getaffinity(0))
    done = subprocess.run(
        command, check=True, capture_output=True, text=True, env={**os.environ, **threads},
        preexec_fn=lambda: os.sched_setaffinity(0, {core}),
    )  # fmt: skip
    seconds, megabytes = done.stdout.split()[-2:]
    return float(seconds), float(megabytes)


def best(times, *arguments):
    found = [run(*arguments) for _ in range(times)]
    return min(seconds for seconds, _ in found), max(megabytes for _, megabytes in found)


def train(data, small, model, *options):
    """Return seconds and megabytes of `opauc train`."""
    work = f"sys.argv = ['opauc', 'train', sys.argv[0], '-o', sys.argv[2], '--quiet', *{list(options)!r}]" + TRAIN
    return WARM, work, data, small, model


def repeated(path, text, size):
    """Write the text again and again until the file has the size."""
    with path.open("wb") as file:
        for _ in range(max(1, round(size / len(text)))):
            file.write(text)
    return path


def libsvm_table(folder, gigabytes):
    print("\n### `opauc train` on LIBSVM text, d = 123, 14 entries a row, one core\n")
    heading(["MB", "train / reading alone", "train s", "peak MB", "a checkpoint", "share at the default interval"])
    text = categories(np.random.default_rng(0))
    small = repeated(folder / "small.svm", text[: text.index(b"\n", 10**5) + 1], 0)
    for share in (0.25, 1.0):
        data = repeated(folder / "rows.svm", text, share * gigabytes * 1e9)
        reading, _ = best(3, WARM, READ, data, small, folder / "m.opauc")
        learning, peak = best(3, *train(data, small, folder / "m.opauc"))
        often, _ = best(1, *train(data, small, folder / "m.opauc", "--checkpoint-every", "1"))
        n_batches = data.stat().st_size / (4 * 2**20)
        each = max(0.0, often - learning) / n_batches
        share_of_time = each / max(MIN_SECONDS + each, each / MAX_SHARE)
        line([f"{data.stat().st_size / 1e6:.0f}", f"{learning / reading:.2f}", f"{learning:.1f}", f"{peak:.0f}",
              f"{each * 1e3:.1f} ms each", f"{share_of_time:.2%}"])  # fmt: skip


def parquet_table(folder, gigabytes):
    n_rows = int(gigabytes * 1e7)
    print(f"\n### Parquet, {n_rows:,} × 50 float32, one core\n")
    heading(["row groups of", "MB", "speed of exact training / merely reading the batches", "train s", "peak MB"])
    rng = np.random.default_rng(0)
    small, path = folder / "small.parquet", folder / "rows.parquet"
    for group in (100_000, 1_000_000):
        schema = pa.schema([("label", pa.int8()), *((f"x{j}", pa.float32()) for j in range(50))])
        with parquet.ParquetWriter(path, schema) as writer:
            for begin in range(0, n_rows, 1_000_000):
                size = min(1_000_000, n_rows - begin)
                label = rng.integers(0, 2, size).astype(np.int8)
                columns = [rng.normal(size=size).astype(np.float32) + 0.1 * label for _ in range(50)]
                writer.write_table(pa.table([label, *map(pa.array, columns)], schema=schema), row_group_size=group)
        parquet.write_table(parquet.ParquetFile(path).read_row_group(0).slice(0, 2000), small)
        # In turns: what the machine does meanwhile must not fall on one of them.
        work = {name: ("from pyarrow import parquet", text, path) for name, text in enumerate(BATCHES)}
        work["train"] = train(path, small, folder / "m.opauc", "--solver", "exact")
        turns = [{name: run(*arguments) for name, arguments in work.items()} for _ in range(4)]
        seconds = {name: min(turn[name][0] for turn in turns) for name in work}
        peak = max(turn["train"][1] for turn in turns)
        learning, reading = seconds["train"], min(seconds[name] for name in work if name != "train")
        line([f"{group:,}", f"{path.stat().st_size / 1e6:.0f}", f"{reading / learning:.0%}", f"{learning:.1f}",
              f"{peak:.0f}"])  # fmt: skip


def train_in_process(path, ahead):
    """Return the trainer after the rows of a file, with the reader in a thread of its own or not."""
    trainer, stream = Trainer(opauc_factory({})), open_stream([path])
    for batch in stream.batches(ahead):
        trainer.train(batch)
    return trainer


def overlap_table(folder):
    print("\n### A reader that runs ahead, two cores: one thread / two threads\n")
    heading(["file", "one thread / two threads"])
    for path in sorted(folder.glob("rows.*")):
        best = race(
            {"alone": partial(train_in_process, path, False), "ahead": partial(train_in_process, path, True)},
            turns=2,
            budget=60.0,
        )
        line([f"{path.suffix[1:]}, {path.stat().st_size / 1e6:.0f} MB", f"{best['alone'] / best['ahead']:.2f}"])


def main(gigabytes=1.0):
    with tempfile.TemporaryDirectory() as name:
        began = time.perf_counter()
        libsvm_table(Path(name), gigabytes)
        parquet_table(Path(name), gigabytes)
        overlap_table(Path(name))
        print(f"\n({time.perf_counter() - began:.0f} s)")


if __name__ == "__main__":
    main(*map(float, sys.argv[1:]))
