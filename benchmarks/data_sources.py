"""Memory and speed of data that is not in local files: `python -m benchmarks.data_sources [memory] [speed]`.

Peak memory of a process that trains on a stream, and on one 16 times as long; and the rate at which Parquet in an
object store on this machine (the S3 server of moto, a process of its own) is trained on, next to the same local file.
"""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import duckdb

ROWS, TIMES = 200_000, 16
TABLE = """
select (i * 7919) % 1000 / 10.0 as age, (i * 104729) % 100003 as amount, 'c' || ((i * 31) % 12) as city,
  ((i * 17) % 365) as day, (i * 613) % 977 / 977.0 as rate, ((i * 7919) % 1000 + (i * 48271) % 700 > 800) as y
from range({rows}) t(i)
"""
TRAIN = """
import sys, warnings
warnings.simplefilter("ignore")
import opauc
kind, path = sys.argv[1:]
options = {"label": "y", "init_size": 20_000, "trees": False, "random_state": 0}
if kind == "DuckDB, a relation":
    import duckdb
    model = opauc.train(duckdb.sql(f"from '{path}'"), **options)
elif kind == "DuckDB, fit of the estimator":
    import duckdb
    model = opauc.OnePassGAM(init_size=20_000, trees=False).fit(duckdb.sql(f"from '{path}'"), label="y")
elif kind == "Arrow, a reader":
    import pyarrow
    from pyarrow.parquet import ParquetFile
    with ParquetFile(path, pre_buffer=False, buffer_size=2**16) as file:
        batches = file.iter_batches(65_536, use_threads=False)
        model = opauc.train(pyarrow.RecordBatchReader.from_batches(file.schema_arrow, batches), **options)
elif kind == "pyarrow, a dataset":
    import pyarrow.dataset as dataset
    model = opauc.train(dataset.dataset(path), **options)
elif kind == "polars, a LazyFrame":
    import polars
    model = opauc.train(polars.scan_parquet(path), **options)
else:
    model = opauc.train(path, **options)
with open("/proc/self/status") as status:
    print(next(int(row.split()[1]) // 1024 for row in status if row.startswith("VmHWM")))
"""
KINDS = (
    "DuckDB, a relation", "DuckDB, fit of the estimator", "Arrow, a reader", "pyarrow, a dataset",
    "polars, a LazyFrame", "Parquet",
)  # fmt: skip


def write(path, rows):
    with duckdb.connect() as connection:
        connection.execute(f"copy ({TABLE.format(rows=rows)}) to '{path}' (format parquet, row_group_size 65536)")


def peak(kind, path):
    """Return the peak memory of a process that trains, which it prints last."""
    ran = subprocess.run([sys.executable, "-c", TRAIN, kind, path], capture_output=True, check=True)
    return int(ran.stdout.split()[-1])


def memory(folder):
    """Print the peak memory of training on a stream, and on one 16 times as long."""
    short, long = folder / "short.parquet", folder / "long.parquet"
    write(short, ROWS)
    write(long, ROWS * TIMES)
    print(f"| peak memory, MiB | {ROWS:,} rows | {ROWS * TIMES:,} rows | grows by |\n| --- | --- | --- | --- |")
    for kind in KINDS:
        one, other = (
            int(
                subprocess.run(
                    [sys.executable, "-c", TRAIN, kind, path], capture_output=True, check=True
                ).stdout.split()[-1]
            )
            for path in (short, long)
        )
        print(f"| {kind} | {one} | {other} | {100 * (other / one - 1):.0f} % |", flush=True)


def speed(folder):
    """Print rows per second of local Parquet and of the same file in an object store on this machine."""
    from tests.data.servers import BUCKET, CREDENTIALS, ObjectStore

    import opauc

    path, rows = folder / "long.parquet", ROWS * TIMES
    if not path.exists():
        write(path, rows)
    port = 5555
    server = subprocess.Popen(
        [sys.executable, "-m", "moto.server", "-p", str(port)],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        time.sleep(8)
        os.environ.update(CREDENTIALS, AWS_ENDPOINT_URL=f"http://127.0.0.1:{port}", AWS_REGION="us-east-1")
        ObjectStore(port).put("long.parquet", path.read_bytes())
        print(f"\n| rows/s of {rows:,} rows, {path.stat().st_size / 1e6:.0f} MB | local | S3 | share |")
        print("| --- | --- | --- | --- |")
        gam = {"init_size": 20_000, "trees": False}
        for name, options in {"OnePassGAM": gam, "OPAUC, exact": {"solver": "exact", "drop": ["city"]}}.items():
            rates = {}
            for source in [path, f"s3://{BUCKET}/long.parquet"] * 3:
                began = time.perf_counter()
                opauc.train(source, label="y", **options)
                rate = rows / (time.perf_counter() - began)
                rates[str(source)] = max(rate, rates.get(str(source), 0.0))
            local, remote = rates.values()
            print(f"| {name} | {local:,.0f} | {remote:,.0f} | {100 * remote / local:.0f} % |", flush=True)
    finally:
        server.terminate()


def main():
    wanted = sys.argv[1:] or ["memory", "speed"]
    with tempfile.TemporaryDirectory() as folder:
        for name in wanted:
            {"memory": memory, "speed": speed}[name](Path(folder))


if __name__ == "__main__":
    main()
