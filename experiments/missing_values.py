"""AUC of OnePassGAM and LightGBM where a fifth of the values of one feature are missing: of the one that ranks best.

python -m experiments.missing_values [SET ...] [--splits 3]
"""

from __future__ import annotations

import argparse

import numpy as np

from experiments.datasets import available
from experiments.tables import Table, Trial, named_table, trials_of
from opauc.metrics import exact_auc
from opauc.types import Labels

SETS = ("magic04", "letter", "german", "diabetes")
SHARE = 0.2
METHODS = ["gam", "lightgbm"]


def with_missing(table: Table, labels: Labels) -> Table:
    """Return the table without a fifth of the values of the feature that ranks the rows best by itself."""
    alone = [abs(exact_auc(labels, column) - 0.5) for column in table.rows.T]
    rows = table.rows.copy()
    rows[np.random.default_rng(0).random(labels.size) < SHARE, int(np.argmax(alone))] = np.nan
    return Table(rows, table.categorical)


def found(name: str, n_splits: int) -> list[dict[str, Trial]]:
    """Return what both reached on each split of a set."""
    table, labels = named_table(name)
    return list(trials_of(with_missing(table, labels), labels, METHODS, range(n_splits)))


def main() -> None:
    """Print a line a set."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("sets", nargs="*", default=available(SETS))
    parser.add_argument("--splits", type=int, default=3)
    given = parser.parse_args()
    for name in given.sets:
        splits = found(name, given.splits)
        gam, trees = (np.mean([split[method].auc for split in splits]) for method in METHODS)
        print(f"{name}: OnePassGAM {gam:.4f}, LightGBM {trees:.4f}, {gam - trees:+.4f}", flush=True)


if __name__ == "__main__":
    main()
