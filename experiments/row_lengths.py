"""What the length of rows does to progressive selection: `python -m experiments.row_lengths`.

Random 80/20 splits; held-out AUC of the default for many sparse features, of
the same where every candidate takes rows as they come (as earlier versions
did), and of rows scaled to length one beforehand.
"""

from collections.abc import Iterator

import numpy as np
from scipy import sparse
from scipy.sparse import csr_array

from experiments.datasets import available, load
from experiments.high_dimension import task
from opauc.linear.progressive_selection import ProgressiveSelection
from opauc.metrics import exact_auc
from opauc.types import Floats, Labels

SPLITS = 5
UNITS = (1.0, 10.0, 100.0)
LEARNER = ProgressiveSelection()


def tasks() -> Iterator[tuple[str, csr_array, Labels]]:
    """Sets with rows of many lengths, by name."""
    for name in available(("news20",)):
        yield name, *load(name)
    for name in available(("sector_part", "webkb", "reuters21578", "news20_binary_rebuilt", "nsmc")):
        rows, labels = task(name)
        yield name, csr_array(sparse.diags_array(np.sqrt(np.diff(rows.indptr))) @ rows), labels
    for name in available(("a9a",)):
        rows, labels = load(name)
        for unit in UNITS:
            number = unit * (np.random.default_rng(0).normal(size=labels.size) + 0.7 * labels)
            yield f"{name} and a number times {unit:g}", csr_array(sparse.hstack([rows, number[:, None]])), labels


def lengths(rows: csr_array) -> Floats:
    """Lengths of rows, one where there is none.

    >>> lengths(csr_array(np.array([[3.0, 4.0], [0.0, 0.0]]))).tolist()
    [5.0, 1.0]
    """
    sizes = np.sqrt(rows.multiply(rows).sum(axis=1))
    return np.where(sizes > 0.0, sizes, 1.0)


def aucs(rows: csr_array, labels: Labels, seed: int) -> list[float]:
    """AUCs of the default, of all candidates with rows as they come, and of rows scaled beforehand."""
    learned, held_out = np.split(np.random.RandomState(seed).permutation(labels.size), [labels.size * 4 // 5])
    at_length_one, found = csr_array(sparse.diags_array(1.0 / lengths(rows)) @ rows), []
    for given, unit in ((rows, 1.0), (rows, 0.0), (at_length_one, 1.0)):
        start = LEARNER.start(rows.shape[1])._replace(unit=np.full(1, unit))
        state = LEARNER.step(start, given[learned], labels[learned])
        scored = at_length_one if LEARNER.scores_unit_rows(state) else given
        found.append(float(exact_auc(labels[held_out], scored[held_out] @ LEARNER.weights(state))))
    return found


def main() -> None:
    """Print a line a set."""
    print("| rows | shortest, median and longest | default | all as they come | scaled beforehand |")
    print("| --- | --- | --- | --- | --- |")
    for name, rows, labels in tasks():
        splits = SPLITS if labels.size < 100_000 else 2
        found = np.mean([aucs(rows, labels, seed) for seed in range(1, splits + 1)], axis=0)
        sizes = ", ".join(f"{size:.3g}" for size in np.quantile(lengths(rows), (0.0, 0.5, 1.0)))
        print(f"| {name} | {sizes} | {' | '.join(f'{auc:.4f}' for auc in found)} |", flush=True)


if __name__ == "__main__":
    main()
