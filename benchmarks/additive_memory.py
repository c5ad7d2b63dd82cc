"""Memory and time of `opauc train TABLE` against the number of rows.

`python -m benchmarks.additive_memory [rows...]`: by default 1,000,000 and 4,000,000 rows of a Parquet file with 20
columns, of which one has missing values and one 50 categories, each trained on in a process of its own; prints its
peak memory, its CPU time, compiling left out, and its wall time.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import parquet
from scipy.special import expit

ROWS = (1_000_000, 4_000_000)
GROUP_ROWS = 100_000
N_NUMBERS = 19


def write_table(path: Path, n_rows: int, seed: int = 0) -> None:
    """Write rows with an interaction, a curve, missing values and 50 categories, a row group at a time."""
    random, writer = np.random.default_rng(seed), None
    effects = random.normal(size=50)
    for start in range(0, n_rows, GROUP_ROWS):
        size = min(GROUP_ROWS, n_rows - start)
        numbers = random.normal(size=(size, N_NUMBERS))
        codes = random.integers(50, size=size)
        score = np.sin(2 * numbers[:, 0]) + numbers[:, 1] * numbers[:, 2] + effects[codes] - 1
        numbers[random.random(size) < 0.1, 3] = np.nan
        table = pa.table(
            {
                **{f"x{j}": pa.array(numbers[:, j], from_pandas=True) for j in range(N_NUMBERS)},
                "code": np.char.mod("c%d", codes),
                "label": (random.random(size) < expit(score)).astype(np.int8),
            }
        )
        writer = writer or parquet.ParquetWriter(path, table.schema)
        writer.write_table(table)
    if writer is not None:
        writer.close()


def trained(path: Path, model: Path) -> tuple[float, float, float]:
    """Train in a child; return its peak memory in MB, its seconds of CPU time and its seconds."""
    began = time.perf_counter()
    child = subprocess.Popen([sys.executable, "-m", "opauc", "train", str(path), "-o", str(model), "--quiet"])
    _, status, used = os.wait4(child.pid, 0)
    if status:
        raise RuntimeError(f"training failed with status {status}")
    return used.ru_maxrss / 1024, used.ru_utime + used.ru_stime, time.perf_counter() - began


def main() -> None:
    """Print a line for each number of rows."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.parquet"
        write_table(path, 30_000)
        trained(path, Path(folder) / "model")  # compiles
        for n_rows in map(int, sys.argv[1:]) if sys.argv[1:] else ROWS:
            write_table(path, n_rows)
            memory, cpu, seconds = trained(path, Path(folder) / "model")
            of_row = f"{1e6 * cpu / n_rows:.2f} µs per row"
            print(f"{n_rows:>10,} rows: {memory:6.0f} MB, {cpu:6.1f} s of CPU time ({of_row}), {seconds:6.1f} s")


if __name__ == "__main__":
    main()
