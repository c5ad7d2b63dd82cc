"""What the rows after the initial sample bring to OnePassGAM: AUC before and after them, by the size of the sample.

    python -m experiments.later_rows [SET ...] [--split 10] [--sizes 16384,65536,131072]

Trees, knots and pairs are fixed by the initial sample. "sample" is the AUC of the fit to it, "all rows" that of the
final model, whose leaf weights, curves and surfaces come from the sums of all rows. The last column is a fit whose
initial sample has the default size. Held out is a random fifth of the rows.
"""

from __future__ import annotations

import argparse
import time
import warnings

import numpy as np

from experiments.datasets import available
from experiments.tables import named_table
from opauc import OnePassGAM
from opauc.additive.scorer import MappedScorer
from opauc.metrics import exact_auc

SETS = ("covtype", "connect-4", "rialto", "ijcnn1")
ALL_ROWS = 10**7


def measure(name: str, seed: int, init_size: int | str) -> tuple[float, float, float]:
    """Return the AUC of the fit to the initial sample, that of the final model, and CPU seconds of the whole fit."""
    table, labels = named_table(name, ALL_ROWS)
    order = np.random.default_rng(seed).permutation(labels.size)
    train, test = np.split(order, [int(0.8 * labels.size)])
    began = time.process_time()
    model = OnePassGAM(init_size=init_size, random_state=0).fit(table.rows[train], labels[train])
    spent = time.process_time() - began
    basis, fitted = model._fitted.current
    before = MappedScorer(basis, fitted.initial_weights()).scores(table.rows[test])
    return exact_auc(labels[test], before), model.score(table.rows[test], labels[test]), spent


def main() -> None:
    """Print a line per set and size."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("sets", nargs="*", default=available(SETS))
    parser.add_argument("--split", type=int, default=10)
    parser.add_argument("--sizes", default="16384,65536,131072,auto")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    print("| set | initial sample | AUC, sample | AUC, all rows | CPU s |\n| --- | --- | --- | --- | --- |", flush=True)
    for name in given.sets:
        for size in given.sizes.split(","):
            before, after, spent = measure(name, given.split, size if size == "auto" else int(size))
            print(f"| {name} | {size} | {before:.4f} | {after:.4f} | {spent:.1f} |", flush=True)


if __name__ == "__main__":
    main()
