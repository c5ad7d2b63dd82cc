"""Whether the ridge should act on standardized features: `python -m experiments.standardized_ridge [SET ...]`.

Five random 80/20 splits of each set, of covtype and kddcup04_bio a random
100,000 rows. The figures are held-out AUCs of the exact minimizer for a fixed
penalty, less that of the penalty, of 25 on standardized features, that is best
on the held-out part itself; once on features as they come, once scaled to [-1, 1].
"""

import sys

import numpy as np

from experiments.datasets import available, load, scaled
from opauc.linear.exact import Exact
from opauc.linear.moments.classes import ClassMoments
from opauc.metrics import exact_auc
from opauc.types import DenseRows, Floats, Labels

SPLITS, MOST_ROWS = 5, 100_000
ALPHAS = (1e-4, 1e-2)
PENALTIES = tuple((10.0 ** np.linspace(-6.0, 2.0, 25)).tolist())


def one_split(rows: DenseRows, labels: Labels, seed: int) -> Floats:
    """Return the best AUC, then those of each of ALPHAS plain, and standardized.

    >>> labels = (np.arange(400) % 2).astype(np.int8)
    >>> rows = np.random.default_rng(0).normal(size=(400, 3)) + labels[:, None]
    >>> one_split(rows, labels, 0).shape
    (5,)
    """
    learned, held_out = np.split(np.random.default_rng(seed).permutation(labels.size), [int(0.8 * labels.size)])
    moments, rest, truth = ClassMoments.of(rows[learned], labels[learned]), rows[held_out], labels[held_out]
    plain, standard = (Exact(standardize=standardize) for standardize in (False, True))
    paths = standard.path(moments, PENALTIES), plain.path(moments, ALPHAS), standard.path(moments, ALPHAS)
    best, *others = ([exact_auc(truth, rest @ weights) for weights in path] for path in paths)
    return np.array([max(best), *others[0], *others[1]])


def main() -> None:
    """Print a line a set."""
    titles = [f"{form}, {alpha:g}" for form in ("plain", "standardized") for alpha in ALPHAS]
    print("| set | best | " + " | ".join(f"{view}: {title}" for view in ("raw", "scaled") for title in titles) + " |")
    print("| --- " * (2 + 2 * len(titles)) + "|")
    for name in sys.argv[1:] or available():
        rows, labels = load(name)
        part = np.sort(np.random.default_rng(9).permutation(labels.size)[:MOST_ROWS])
        dense, truth = rows[part] if isinstance(rows, np.ndarray) else rows[part].toarray(), labels[part]
        cells = []
        for view in (dense, scaled(dense)):
            best, *found = np.mean([one_split(view, truth, seed) for seed in range(SPLITS)], axis=0)
            cells += [f"{auc - best:+.4f}" for auc in found]
        print(f"| {name} | {best:.4f} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
