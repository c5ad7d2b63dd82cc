"""Scores in DuckDB: `python -m benchmarks.sql_export [typed] [text] [reasons]`.

A model of 30 columns of kddcup04_bio, with trees, is written as SQL, and scores a million rows with two threads. The
table is read from `data/` of the folder in OPAUC_SHARED; where it is absent, rows are simulated. Seconds of CPU count
what other programs on the machine do not take.
"""

import os
import resource
import sys
import time
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd

from opauc import OnePassGAM
from opauc.exports.format import ExportOptions
from opauc.exports.make_portable import make_portable
from opauc.exports.sql.model import sql_text

COLUMNS, TRAINING_ROWS, ROWS, THREADS = 30, 100_000, 1_000_000, 2
TABLE = Path(os.environ.get("OPAUC_SHARED", Path(__file__).parents[2] / "shared")) / "data" / "kddcup04_bio.npz"
OPTIONS = {
    "typed": ExportOptions(typed=True),
    "text": ExportOptions(),
    "reasons": ExportOptions(typed=True, reasons=3),
}
WHAT = {
    "typed": "score, probability, label",
    "text": "the same, where numbers may be text",
    "reasons": "with three reasons",
}


def rows_and_labels():
    """Return rows of 30 columns and their labels."""
    if TABLE.exists():
        with np.load(TABLE) as archive:
            rows, labels = archive["X"][:TRAINING_ROWS, :COLUMNS].astype(float), archive["y"][:TRAINING_ROWS]
    else:
        rng = np.random.default_rng(0)
        rows = rng.normal(size=(TRAINING_ROWS, COLUMNS))
        steps = np.where((rows[:, 0] > 0) & (rows[:, 1] > 0.5) & (rows[:, 2] < 0.3), 2.0, -1.0)
        labels = steps * rows[:, 3] + np.sin(2.0 * rows[:, 4:]).sum(axis=1) + rng.normal(size=TRAINING_ROWS) > 0
    return pd.DataFrame(rows, columns=[f"f{number}" for number in range(COLUMNS)]), labels.astype(int)


def cpu_seconds():
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def main(names):
    frame, labels = rows_and_labels()
    model = OnePassGAM(random_state=0).fit(frame, labels)
    portable = make_portable(model._to_model())
    trees = "no trees" if portable.trees is None else f"{portable.trees.roots.size} trees"
    print(f"{COLUMNS} columns, {len(portable.terms)} terms, {trees}; {ROWS:,} rows, {THREADS} threads of DuckDB")
    print(f"{'query':40} {'MB of SQL':>9} {'seconds':>8} {'CPU':>6} {'largest difference':>18}")
    with duckdb.connect() as connection:
        connection.execute(f"set threads = {THREADS}")
        connection.register("frame", frame.assign(row=range(len(frame))))
        repeats = -(-ROWS // len(frame))
        connection.execute(f"create table data as select frame.* from frame, range({repeats}) limit {ROWS}")
        expected = model.decision_function(frame)
        for name in names or OPTIONS:
            query = sql_text(portable, OPTIONS[name])
            before, start = cpu_seconds(), time.perf_counter()
            connection.execute(f"create or replace table scored as {query}")
            seconds, cpu = time.perf_counter() - start, cpu_seconds() - before
            found = connection.execute("select row, score from scored").fetchnumpy()
            difference = np.abs(found["score"] - expected[found["row"]]).max()
            print(f"{WHAT[name]:40} {len(query) / 2**20:9.2f} {seconds:8.2f} {cpu:6.2f} {difference:18.1e}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
