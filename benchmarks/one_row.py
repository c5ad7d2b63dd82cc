"""Single rows and batches through `model.scorer()`: `python -m benchmarks.one_row`.

A `OnePassGAM` of 30 columns (24 of numbers, 6 of strings) with pairs and a tree ensemble, one of 30 numbers, each with
and without trees, and the linear model of the numbers. Microseconds of one call, of dicts as a JSON request has them
(the numbers as floats; then as text, and a date in place of one of them) and of arrays; rows per second of a batch of
100,000 on one core, given as a table where there are strings, else as an array. All times are of the processor: other
work on the machine does not count.
"""

import json
import platform
import time
from functools import partial

import numpy as np
import pandas as pd

from benchmarks.__main__ import processor
from benchmarks.table import heading, line
from opauc import OPAUC, OnePassGAM

ROWS, CALLS, TURNS, BATCH = 40_000, 500, 7, 100_000


def tables(n_rows=ROWS, seed=0):
    """Return a table of numbers and strings, one of numbers, one of text, and labels with pairs and steps in them."""
    random = np.random.default_rng(seed)
    numbers = pd.DataFrame(random.normal(size=(n_rows, 30)), columns=[f"n{j}" for j in range(30)])
    mixed = numbers.copy()
    for j in range(24, 30):
        mixed[f"n{j}"] = random.choice([f"v{i}" for i in range(12 + 10 * (j - 24))], n_rows)
    text = mixed.copy()
    for j in range(23):
        text[f"n{j}"] = np.char.mod("%.4f", numbers[f"n{j}"])
    text["n23"] = np.datetime_as_string(np.datetime64("2020-01-01") + random.integers(0, 700, n_rows))
    n = numbers.to_numpy()
    score = np.sin(2 * n[:, 0]) + n[:, 1] * n[:, 2] + n[:, 3] * n[:, 4] * n[:, 5]
    score += 2 * (n[:, 6] > 0) * (n[:, 7] > 0.5) * (n[:, 8] < 0)
    return mixed, numbers, text, random.random(n_rows) < 1 / (1 + np.exp(-score))


def microseconds(work):
    """Return the microseconds of a call: the best of several turns."""
    work()
    best = float("inf")
    for _ in range(TURNS):
        began = time.process_time()
        for _ in range(CALLS):
            work()
        best = min(best, time.process_time() - began)
    return f"{1e6 * best / CALLS:.1f}"


def rows_per_second(scorer, rows):
    """Return the rows per second of a batch: the best of several turns."""
    best = float("inf")
    for _ in range(TURNS):
        began = time.process_time()
        scorer.score_rows(rows)
        best = min(best, time.process_time() - began)
    return f"{len(rows) / best:,.0f}"


def first_record(table):
    """Return the first row as a request has it."""
    return json.loads(table[:1].to_json(orient="records"))[0]


def repeated(table):
    """Return a batch of the rows of a table, over and over."""
    return pd.concat([table] * -(-BATCH // len(table)), ignore_index=True)[:BATCH]


def main():
    print(f"{processor()}, one core, Python {platform.python_version()}.")
    mixed, numbers, text, labels = tables()
    batch = repeated(numbers).to_numpy()
    heading(["model", "leaves of trees", "µs of a dict", "µs of an array", "rows per second in a batch"])
    for name, table, trees in (
        ("numbers and strings", mixed, True), ("numbers and strings", mixed, False),
        ("text and a date", text, True),
        ("numbers", numbers, True), ("numbers", numbers, False),
    ):  # fmt: skip
        model = OnePassGAM(trees=trees, random_state=0, n_jobs=1).fit(table, labels)
        leaves = "none" if model.basis_.trees is None else f"{model.basis_.trees.n_leaves:,}"
        scorer, record, row = model.scorer(), first_record(table), numbers.to_numpy()[0]
        whole = batch if table is numbers else repeated(table)
        of_array = microseconds(partial(scorer.score, row)) if table is numbers else ""
        of_dict = microseconds(partial(scorer.score, record))
        line([f"OnePassGAM, {name}", leaves, of_dict, of_array, rows_per_second(scorer, whole)])
    scorer, record, row = OPAUC().fit(numbers, labels).scorer(), first_record(numbers), numbers.to_numpy()[0]
    of_arrays = [microseconds(partial(scorer.score, row)), rows_per_second(scorer, batch)]
    line(["OPAUC, numbers", "", microseconds(partial(scorer.score, record)), *of_arrays])


if __name__ == "__main__":
    main()
