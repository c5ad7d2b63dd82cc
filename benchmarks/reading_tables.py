"""Tables from files: text against pandas and polars, Parquet against merely reading its batches."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

# polars asks for its number of threads when it is imported: one core for everybody
os.environ.setdefault("POLARS_MAX_THREADS", "1")

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
from pyarrow import csv, parquet

from benchmarks.stopwatch import race
from benchmarks.table import heading, line
from opauc.core.batch import BEGINNING
from opauc.data.arrow_columns import number_matrix
from opauc.data.bad_rows import BadRows
from opauc.data.columns import TableColumns
from opauc.data.encode.onehot import OneHotEncoder
from opauc.data.formats.arrow import ArrowReader
from opauc.data.formats.csv.reader import CsvReader
from opauc.data.formats.csv.values import CHUNK_BYTES
from opauc.data.sources import BLOCK_BYTES, ByteSource
from opauc.data.tables import BATCH_ROWS
from opauc.linear.moments.accumulate import accumulate

NUMBERS = [f"x{j}" for j in range(50)]
# Peak memory of a process that reads and encodes a file.
MEMORY = """
import sys
from opauc.data.formats.arrow import ArrowReader
from opauc.data.bad_rows import BadRows
from opauc.data.sources import ByteSource
from opauc.data.formats.csv.reader import CsvReader
from opauc.core.batch import BEGINNING
from opauc.data.encode.onehot import OneHotEncoder
reader = CsvReader() if sys.argv[1].endswith("csv") else ArrowReader()
encoder = OneHotEncoder()
for part in reader.batches(ByteSource(sys.argv[1]), BEGINNING, BadRows()):
    encoder.encode(part, sys.argv[1], BadRows())
with open("/proc/self/status") as status:
    print(next(int(row.split()[1]) // 1024 for row in status if row.startswith("VmHWM")))
"""


def numbers(n_rows, decimals=None):
    rng = np.random.default_rng(0)
    columns = {name: rng.normal(size=n_rows).astype(np.float32) for name in NUMBERS}
    table = pd.DataFrame({"label": rng.integers(0, 2, n_rows).astype(np.int8), **columns})
    return table if decimals is None else table.astype(dict.fromkeys(NUMBERS, float)).round(decimals)


def mixed(n_rows):
    rng = np.random.default_rng(0)
    return pd.DataFrame({
        "label": rng.choice(["yes", "no"], n_rows),
        **{f"x{j}": rng.normal(size=n_rows).round(4) for j in range(8)},
        "color": rng.choice(["red", "green", "blue"], n_rows),
        "said": rng.choice(["a, b", 'he said "c"', "d"], n_rows),
    })  # fmt: skip


def encode_all(reader, path, encoder):
    for part in reader.batches(ByteSource(str(path)), BEGINNING, BadRows()):
        encoder.encode(part, str(path), BadRows())


def parsers_table():
    print("\n### Which parser of text: one block of 4 MiB, one core, MB/s\n")
    heading(["text", "pyarrow in pieces of 512 KiB", "pyarrow in one piece", "polars", "pandas"])
    tables = {
        "50 numbers of 9 digits": numbers(8000),
        "50 numbers of 3 decimals": numbers(14000, 3),
        "mixed": mixed(70_000),
    }
    for name, table in tables.items():
        text = table.to_csv(index=False, header=False).encode()[:BLOCK_BYTES]
        text = text[: text.rindex(b"\n") + 1]
        words = set(table.select_dtypes(exclude="number"))
        kinds = {column: pa.string() if column in words else pa.float64() for column in table}
        schema = {column: pl.String if kind == pa.string() else pl.Float64 for column, kind in kinds.items()}
        best = race({
            "pieces": lambda text=text, kinds=kinds: arrow_csv(text, kinds, CHUNK_BYTES),
            "one": lambda text=text, kinds=kinds: arrow_csv(text, kinds, len(text) + 1),
            "polars": lambda text=text, schema=schema: pl.read_csv(text, has_header=False, schema=schema),
            "pandas": lambda text=text: pd.read_csv(pa.BufferReader(text), header=None),
        })  # fmt: skip
        line([name, *(f"{len(text) / 1e6 / best[peer]:.0f}" for peer in ("pieces", "one", "polars", "pandas"))])


def arrow_csv(text, kinds, piece_bytes):
    options = csv.ReadOptions(use_threads=False, block_size=piece_bytes, column_names=list(kinds))
    csv.read_csv(pa.py_buffer(text), options, convert_options=csv.ConvertOptions(column_types=kinds))


def text_table(folder):
    print("\n### Reading and encoding text, against reading it whole\n")
    heading(["text", "MB/s", "speed / pandas.read_csv", "speed / polars.read_csv, one thread"])
    words = TableColumns(categorical=["color", "said"])
    for name, table, columns in (("50 numbers", numbers(60_000), TableColumns()), ("mixed", mixed(400_000), words)):
        path = folder / "table.csv"
        table.to_csv(path, index=False)
        best = race({
            "opauc": lambda path=path, columns=columns: encode_all(CsvReader(columns), path, OneHotEncoder(columns)),
            "pandas": lambda path=path: pd.read_csv(path),
            "polars": lambda path=path: pl.read_csv(path),
        }, turns=4)  # fmt: skip
        ratios = [f"{best[peer] / best['opauc']:.2f}" for peer in ("pandas", "polars")]
        line([name, f"{path.stat().st_size / 1e6 / best['opauc']:.0f}", *ratios])


def parquet_table(folder):
    print("\n### Parquet, 50 columns of float32: speed as a share of merely reading the batches\n")
    heading(["rows in a row group", "reader", "and encoding", "and exact moments", "pyarrow alone, million rows/s"])
    table = pa.Table.from_pandas(numbers(1_000_000), preserve_index=False)
    path = folder / "table.parquet"
    for group in (100_000, 1_000_000):
        parquet.write_table(table, path, row_group_size=group)
        best = race({
            "alone": lambda: drain(parquet.ParquetFile(path).iter_batches(BATCH_ROWS, use_threads=False)),
            "reader": lambda: drain(ArrowReader().batches(ByteSource(str(path)), BEGINNING, BadRows())),
            "encode": lambda: encode_all(ArrowReader(), path, OneHotEncoder()),
            "learn": lambda: learn_all(path),
        }, turns=6)  # fmt: skip
        shares = [f"{best['alone'] / best[step]:.0%}" for step in ("reader", "encode", "learn")]
        line([f"{group:,}", *shares, f"{1 / best['alone']:.1f}"])


def drain(items):
    for _ in items:
        pass


def learn_all(path):
    encoder = OneHotEncoder()
    for part in ArrowReader().batches(ByteSource(str(path)), BEGINNING, BadRows()):
        rows, labels, *_ = encoder.encode(part, str(path), BadRows())
        accumulate(rows, labels)


def turning_table():
    print(f"\n### {BATCH_ROWS:,} rows of 50 columns of float32 from columns to rows\n")
    heading(["way", "ms"])
    batch = pa.RecordBatch.from_pandas(numbers(BATCH_ROWS)[NUMBERS], preserve_index=False)
    columns = [column.to_numpy() for column in batch.columns]
    best = race({
        "opauc": lambda: number_matrix(batch, NUMBERS, ""),
        "np.column_stack": lambda: np.column_stack(columns),
        "RecordBatch.to_tensor": lambda: batch.to_tensor(row_major=True),
    }, turns=20)  # fmt: skip
    for name, seconds in best.items():
        line([name, f"{seconds * 1e3:.2f}"])


def memory_table(folder):
    print("\n### Peak memory of reading and encoding, MiB\n")
    heading(["file", "MB", "MiB"])
    for n_rows in (250_000, 2_000_000):
        table = pa.Table.from_pandas(numbers(n_rows), preserve_index=False)
        parquet.write_table(table, folder / "large.parquet", row_group_size=n_rows)
        csv.write_csv(table.slice(0, n_rows // 4), folder / "large.csv")
        for path in (folder / "large.parquet", folder / "large.csv"):
            done = subprocess.run([sys.executable, "-c", MEMORY, path], capture_output=True, text=True, check=True)
            line([path.suffix[1:], f"{path.stat().st_size / 1e6:.0f}", done.stdout.strip()])


def main():
    pa.set_cpu_count(1)
    parsers_table()
    turning_table()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        text_table(folder)
        parquet_table(folder)
        memory_table(folder)


if __name__ == "__main__":
    main()
