"""A grid of 299 step sizes and penalties in one pass, against one pass of one pair."""

import warnings

import numpy as np

from benchmarks.stopwatch import race
from benchmarks.table import describe, heading, line
from benchmarks.workloads import workload
from opauc.errors import DivergenceWarning
from opauc.linear.grid import GridSGD
from opauc.linear.sgd import SGD
from opauc.linear.sketch_grid import SketchedGridSGD
from opauc.linear.sketch_sgd import SketchedSGD


def grid_table(title, grid, one, loads):
    print(f"\n### A grid of 299 pairs, {title}: time per row\n")
    heading(["data", "rows", "grid / one pass", "299 passes / grid", "pairs left", "grid µs", "one pass µs"])
    for load, n_rows in loads:
        # In random order: pairs that diverge do so within the first rows, as they would in a shuffled file.
        order = np.random.default_rng(0).permutation(load.labels.size)[:n_rows]
        rows, labels = load.rows[order], (load.labels[order] > 0).astype(np.int8)
        width = rows.shape[1]
        best = race({
            "grid": lambda r=rows, y=labels, d=width: grid.step(grid.start(d), r, y),
            "one": lambda r=rows, y=labels, d=width: one.step(one.start(d), r, y),
        }, turns=3, budget=30.0)  # fmt: skip
        left = grid.step(grid.start(width), rows, labels).race.active[0]
        ratio = best["grid"] / best["one"]
        per_row = {name: f"{seconds / n_rows * 1e6:.2f}" for name, seconds in best.items()}
        line([
            describe(load), f"{n_rows:,}", f"{ratio:.0f}", f"{299 / ratio:.1f}", str(left), per_row["grid"],
            per_row["one"],
        ])  # fmt: skip


def main():
    warnings.simplefilter("ignore", DivergenceWarning)
    grid_table("full covariance", GridSGD(), SGD(), [
        (workload("diabetes", 768, 8), 768),
        (workload("covtype", 581_012, 54), 100_000),
        (workload("a9a", 32_561, 123, per_row=14), 32_561),
        (workload("w8a", 49_749, 300, per_row=12), 5_000),
        (workload("mnist", 60_000, 780, np.float32), 600),
    ])  # fmt: skip
    text = [
        (workload("webkb", 4_199, 7_770, per_row=80), 4_000),
        (workload("news20", 15_935, 62_061, per_row=80), 5_000),
    ]
    grid_table("rank 50", SketchedGridSGD(), SketchedSGD(), text)
