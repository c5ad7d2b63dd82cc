"""How well the penalty chosen inside the pass ranks new rows: `python -m experiments.one_pass_selection [SET ...]`.

Five random 80/20 splits of every set. "Best" is the exact minimizer with the
penalty, of 40, that is best on the held-out part itself: what no one can have.
"""

import sys
from typing import NamedTuple

import numpy as np

from experiments.datasets import available, load
from opauc import OPAUC, OPAUCCV
from opauc.metrics import exact_auc
from opauc.types import Floats, Labels, Rows

SPLITS = 5
PENALTIES = 10.0 ** np.linspace(-9.0, 3.0, 40)  # in units of the mean variance of the features


class Found(NamedTuple):
    """Held-out AUCs of one split, and the penalty chosen."""

    best: float
    chosen: float
    default: float
    alpha: float


def one_split(rows: Rows, labels: Labels, seed: int) -> Found:
    """Return what a split says.

    >>> rng = np.random.default_rng(0)
    >>> labels = (np.arange(400) % 2).astype(np.int8)
    >>> found = one_split(rng.normal(size=(400, 3)) + labels[:, None], labels, 0)
    >>> bool(found.best >= found.chosen - 1e-3 > 0.8)
    True
    """
    order = np.random.default_rng(seed).permutation(labels.size)
    learned, held_out = order[: int(0.8 * labels.size)], order[int(0.8 * labels.size) :]
    X, y, rest, truth = rows[learned], labels[learned], rows[held_out], labels[held_out]
    plain, chosen = OPAUC(solver="exact", standardize=False).fit(X, y), OPAUCCV().fit(X, y)
    variances = np.diagonal(plain.moments_.covariance_sum())

    def auc(weights: Floats) -> float:
        return exact_auc(truth, rest @ weights)

    best = max(auc(weights) for weights in plain.path((variances.mean() * PENALTIES).tolist()))
    return Found(best, auc(chosen.coef_[0]), auc(plain.coef_[0]), chosen.alpha_)


def main() -> None:
    """Print a line a set."""
    titles = "OPAUCCV() | difference | plain, alpha 1e-4, less best | alpha_"
    print(f"| set | best penalty with sight of the held-out rows | {titles} |")
    print("| --- | --- | --- | --- | --- | --- |")
    for name in sys.argv[1:] or available():
        rows, labels = load(name)
        best, chosen, default, alpha = np.array([one_split(rows, labels, seed) for seed in range(SPLITS)]).T
        alphas = f"{alpha.min():.2g} to {alpha.max():.2g}"
        print(
            f"| {name} | {best.mean():.4f} | {chosen.mean():.4f} | {np.mean(chosen - best):+.4f} "
            f"| {np.mean(default - best):+.4f} | {alphas} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
