"""Run every table: `python -m benchmarks [full] [grid] [high] [online] [batch] [reading] [tables] [files]`."""

import os
import platform
import sys
import warnings
from datetime import UTC, datetime
from pathlib import Path

from sklearn.exceptions import ConvergenceWarning

from benchmarks import (
    baselines,
    batch_baselines,
    from_files,
    full_covariance,
    grid,
    high_dimension,
    reading,
    reading_tables,
)

TABLES = {
    "full": full_covariance.main,
    "grid": grid.main,
    "high": high_dimension.main,
    "online": baselines.main,
    "batch": batch_baselines.main,
    "reading": reading.main,
    "tables": reading_tables.main,
    "files": from_files.main,
}


def main():
    warnings.simplefilter("ignore", ConvergenceWarning)
    print(f"Measured {datetime.now(UTC):%Y-%m-%d}, {processor()}, one core, Python {platform.python_version()}.")
    for name in sys.argv[1:] or TABLES:
        TABLES[name]()


def processor():
    try:
        text = Path("/proc/cpuinfo").read_text()
        model = next(row.split(":")[1].strip() for row in text.splitlines() if row.startswith("model name"))
    except (OSError, StopIteration):
        model = platform.machine()
    return f"{model} virtual machine with {os.cpu_count()} cores"


if __name__ == "__main__":
    main()
