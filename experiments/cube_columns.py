"""What the fewer columns of a cube's basis cost: AUC of OnePassGAM by `max_columns`, and the size of a segment's sums.

    python -m experiments.cube_columns [TABLE ...] [--splits 10,11,12] [--columns 300,600,1500]

A random fifth of the rows is held out. Sizes are those of the lower triangle of the Gram matrix: files of segments
with few rows are smaller, and trees come on top.
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np

from experiments.datasets import raw_available, raw_frame
from opauc import OnePassGAM


def main() -> None:
    """Print a line per table, number of columns, and with trees or without."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("tables", nargs="*", default=[name for name in ("adult",) if name in raw_available()])
    parser.add_argument("--splits", default="10,11,12")
    parser.add_argument("--columns", default="300,600,1500")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    print("| table | trees | max_columns | columns | AUC | MB of a segment, at most |")
    print("| --- | --- | --- | --- | --- | --- |", flush=True)
    for name in given.tables:
        frame, labels = raw_frame(name)
        for trees in (False, True):
            for most in map(int, given.columns.split(",")):
                aucs, used = [], []
                for seed in map(int, given.splits.split(",")):
                    order = np.random.default_rng(seed).permutation(labels.size)
                    train, test = np.split(order, [int(0.8 * labels.size)])
                    model = OnePassGAM(max_columns=most, trees=trees, random_state=0)
                    model.fit(frame.iloc[train], labels[train])
                    aucs.append(model.score(frame.iloc[test], labels[test]))
                    used.append(model.basis_.n_columns)
                size = 4 * max(used) * (max(used) + 1) / 1e6
                print(f"| {name} | {trees} | {most} | {max(used)} | {np.mean(aucs):.4f} | {size:.2f} |", flush=True)


if __name__ == "__main__":
    main()
