"""How well the pair chosen inside the pass ranks new rows: `python -m experiments.grid_selection [SET ...]`.

Five random 80/20 splits of every set of up to 130 features, which are scaled
to [-1, 1] as in the paper, at most 20,000 rows. "Best" is the pair, of 299,
that is best on the held-out part itself: what no one can have.
"""

import sys
from typing import NamedTuple

import numpy as np
from scipy import sparse

from experiments.datasets import available, load, scaled
from opauc import OPAUCCV
from opauc.linear.grid import GridSGD
from opauc.metrics import exact_auc
from opauc.types import Labels, Rows

SPLITS = 5
MOST_ROWS, MOST_FEATURES = 20_000, 130


class Found(NamedTuple):
    """Held-out AUCs of one split, by last iterates and by their means, and the settings chosen with the latter."""

    best_last: float
    last: float
    best_mean: float
    mean: float
    exact: float
    eta: float
    alpha: float


def one_split(rows: Rows, labels: Labels, seed: int) -> Found:
    """Return what a split says.

    >>> rng = np.random.default_rng(0)
    >>> labels = (np.arange(400) % 2).astype(np.int8)
    >>> found = one_split(rng.normal(size=(400, 3)) + labels[:, None], labels, 0)
    >>> bool(found.best_mean >= found.mean > 0.8)
    True
    """
    order = np.random.default_rng(seed).permutation(labels.size)[:MOST_ROWS]
    learned, held_out = order[: int(0.8 * order.size)], order[int(0.8 * order.size) :]
    X, y, rest, truth = rows[learned], labels[learned], rows[held_out], labels[held_out]
    figures = []
    for average in (False, True):
        grid = GridSGD(average=average)
        state = grid.step(grid.start(rows.shape[1]), X, y)
        found, chosen = grid.candidates(state), grid.selection(state)
        aucs = [exact_auc(truth, rest @ weights) for weights in found.weights[~found.diverged]]
        figures += [max(aucs), exact_auc(truth, rest @ grid.weights(state))]
    return Found(*figures, OPAUCCV().fit(X, y).score(rest, truth), chosen.eta, chosen.alpha)


def main() -> None:
    """Print a line a set."""
    print(
        "| set | last, best pair seen | last, chosen | mean, best pair seen | mean, chosen | exact | eta0_ | alpha_ |"
    )
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    for name in sys.argv[1:] or available():
        rows, labels = load(name)
        if rows.shape[1] > MOST_FEATURES:
            continue
        rows = rows if sparse.issparse(rows) else scaled(rows)
        found = np.array([one_split(rows, labels, seed) for seed in range(SPLITS)])
        aucs = " | ".join(f"{auc:.4f}" for auc in found[:, :5].mean(axis=0))
        ranges = " | ".join(f"{part.min():.2g} to {part.max():.2g}" for part in found[:, 5:].T)
        print(f"| {name} | {aucs} | {ranges} |", flush=True)


if __name__ == "__main__":
    main()
