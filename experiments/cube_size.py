"""How large the files of a cube are, and how long its slices take: 365 days × 20 regions, a table of 20 columns.

The rows of some blocks serve many segments, so that the cube is written fast; the sums, and what is read, are as
large as those of as many different rows.

    python -m experiments.cube_size [--rows 300] [--days 365] [--regions 20] [--trees] [--written 365]

With fewer days written, the manifest lists files of the other days that are not there, and only what reads totals or
the first day is timed.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd

import opauc
from opauc.additive.input import next_rows
from opauc.api.cube.manifest import Entry, read_manifest
from opauc.api.cube.policy import CUBE_POLICY
from opauc.api.cube.writer import CubeWriter

N_NUMBERS, N_CATEGORIES, N_BLOCKS = 13, 7, 20


def simulate(n_rows: int, seed: int) -> pd.DataFrame:
    """Return a table of 13 numbers and 7 categories, curves, pairs and an interaction of three columns."""
    random = np.random.default_rng(seed)
    numbers = random.normal(size=(n_rows, N_NUMBERS))
    numbers[:, :3] = np.exp(numbers[:, :3])
    sizes = (3, 5, 8, 12, 20, 40, 60)
    categories = np.column_stack([random.integers(0, size, n_rows) for size in sizes])
    score = np.sin(2 * numbers[:, 3]) + numbers[:, 4] * numbers[:, 5] + 0.5 * numbers[:, 6] - 0.4 * categories[:, 0]
    score += np.sign(numbers[:, 7] * numbers[:, 8] * numbers[:, 9]) - 1.5
    table = pd.DataFrame(numbers, columns=[f"x{j}" for j in range(N_NUMBERS)])
    for j in range(N_CATEGORIES):
        table[f"c{j}"] = np.char.add("level ", categories[:, j].astype(str))
    table["y"] = (random.random(n_rows) < 1 / (1 + np.exp(-score))).astype(int)
    return table


def timed(what: str, work, n_times: int = 1):
    """Print how long work takes, in seconds of the wall and of the processor."""
    wall, cpu = time.perf_counter(), time.process_time()
    for _ in range(n_times):
        result = work()
    wall, cpu = (time.perf_counter() - wall) / n_times, (time.process_time() - cpu) / n_times
    print(f"{what:<62} {wall:8.2f} s {cpu:8.2f} s CPU", flush=True)
    return result


def build(folder: Path, n_rows: int, days: list[str], regions: list[str], trees: bool) -> opauc.Cube:
    """Write the cube."""
    sample = simulate(30_000, 0)
    model = opauc.OnePassGAM(init_size=20_000, trees=trees, max_columns=CUBE_POLICY.max_columns, random_state=0)
    model.fit(sample.drop(columns="y"), sample["y"])
    empty = model.empty_copy()
    fit = empty._fitted
    print(
        f"basis: {empty.basis_.n_columns} columns, {empty.basis_.crossed.size} levels of crossed codes, "
        f"{0 if empty.basis_.trees is None else empty.basis_.trees.n_leaves} leaves"
    )
    blocks = []
    for seed in range(1, N_BLOCKS + 1):
        table = simulate(n_rows, seed)
        rows, _ = next_rows(empty, table.drop(columns="y"), empty._columns, learn=False)
        labels = table["y"].to_numpy(np.int8)
        blocks.append((fit.update(rows, labels), rows, labels))
    folder.mkdir()
    writer = CubeWriter(folder, ("day", "region"))
    number = 0
    for day in days:
        for region in regions:
            block, rows, labels = blocks[number % N_BLOCKS]
            writer.add((day, region), block, rows, labels, number * n_rows + np.arange(n_rows))
            number += 1
    timed("write the totals and the manifest", lambda: writer.finish(empty._to_model()))
    return opauc.Cube(folder)


def list_days(folder: Path, days: list[str], regions: list[str]) -> None:
    """List segments of more days in the manifest, which have no files."""
    manifest = read_manifest(folder)
    more = {(day, region): Entry(300, 200.0, 100.0, "") for day in days for region in regions}
    replace(manifest, segments={**manifest.segments, **more}).write(folder)


def main() -> None:
    """Write a cube and read slices of it."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=300)
    parser.add_argument("--days", type=int, default=365)
    parser.add_argument("--regions", type=int, default=20)
    parser.add_argument("--trees", action="store_true")
    parser.add_argument("--written", type=int, default=None, help="days whose files are written")
    options = parser.parse_args()
    days = [str(day)[:10] for day in np.datetime64("2026-01-01") + np.arange(options.days)]
    regions = [f"region {number:02d}" for number in range(options.regions)]
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary) / "cube"
        written = days[: options.written]
        timed("write all of it", lambda: build(folder, options.rows, written, regions, options.trees))
        list_days(folder, days[len(written) :], regions)
        sizes = [path.stat().st_size for path in folder.glob("day=*/*")]
        totals = [path.stat().st_size for path in (folder / "_totals").glob("*")]
        print(
            f"{len(sizes):,} segments of {options.rows} rows: {np.mean(sizes) / 1e3:.0f} kB each, at most "
            f"{max(sizes) / 1e3:.0f}; {len(totals):,} totals of {np.mean(totals) / 1e3:.0f} kB; basis "
            f"{(folder / 'basis.opauc').stat().st_size / 1e3:.0f} kB; {(sum(sizes) + sum(totals)) / 1e9:.2f} GB in all"
        )
        timed("open the cube", lambda: opauc.Cube(folder))

        def model(**chosen):
            return lambda: opauc.Cube(folder).model(**chosen).selection_

        month = "2026-01-*"
        for what, chosen in {
            "one region, a month (31 segments)": {"day": month, "region": regions[3]},
            "one region, a year (365 segments)": {"region": regions[3]},
            "all regions, a month (620 segments)": {"day": month},
            "7 regions, a month (217 segments)": {"day": month, "region": regions[:7]},
            "7 regions, a quarter (630 segments)": {"day": lambda day: day < "2026-04-01", "region": regions[:7]},
            "everything (7,300 segments)": {},
        }.items():
            if len(written) == len(days) or not chosen:
                timed(f"model of a slice: {what}", model(**chosen))
        timed("leave one region out, 20 models of 7,300 segments", lambda: opauc.Cube(folder).leave_one_out("region"))
        first = {"day": days[0]}
        timed("leave one region out of a day, 20 segments", lambda: opauc.Cube(folder).leave_one_out("region", first))
        timed("drift of 20 regions", lambda: opauc.Cube(folder).drift("region"))
        if len(written) == len(days):
            timed("windows by day, 7 candidates, 12 days", lambda: opauc.Cube(folder).windows("day"))


if __name__ == "__main__":
    main()
