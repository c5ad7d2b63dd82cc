"""How much the AUC of a multi-class set depends on which classes are positive.

Run `python -m experiments.paper.class_partitions [SET ...]`. The paper drew
one partition into equal halves and does not say which. For every partition,
or 200 random ones where there are more, the exact minimizer (alpha = 2^-10)
learns from four fifths of the rows and is judged by the rest; on the sets
whose printed AUC we want to reach, OPAUC does so too, with the setting that was
chosen most often in the store.
"""

import sys
from collections.abc import Iterator
from itertools import combinations
from math import comb
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from experiments.paper.catalogue import Catalogue
from experiments.paper.data_folder import arrays_of, load_task
from experiments.paper.data_set import DataSet, class_halves
from experiments.paper.printed import Printed, printed_table
from opauc.linear.exact import Exact
from opauc.linear.moments.classes import ClassMoments, GroupMoments
from opauc.linear.moments.exact import ExactMoments
from opauc.linear.sgd import SGD
from opauc.metrics import exact_auc
from opauc.types import DenseRows, Floats

MOST, ALPHA = 200, 2.0**-10
# Step size and penalty of OPAUC.
CHOSEN = {"usps": (2.0**-10, 2.0**-10)}
MOST_ROWS = 60_000


class Spread(NamedTuple):
    """AUCs of the partitions, and that of the one in our tables."""

    aucs: Floats
    ours: float


def partitions(classes: NDArray[np.integer]) -> Iterator[NDArray[np.integer]]:
    """Every choice of half of the classes, or random ones of many; the two sides of a partition have one AUC.

    >>> [part.tolist() for part in partitions(np.array([1, 2, 3, 4]))]
    [[1, 2], [1, 3], [1, 4]]
    """
    size, random = classes.size // 2, np.random.default_rng(0)
    if comb(classes.size, size) > 2 * MOST:
        return (np.sort(random.choice(classes, size, replace=False)) for _ in range(MOST))
    whole = list(combinations(classes.tolist(), size))
    return (np.array(part) for part in (whole[: len(whole) // 2] if classes.size == 2 * size else whole))


def spread(rows: DenseRows, classes: NDArray[np.integer]) -> Spread:
    """The AUC of every partition: statistics of its two sides are sums of those of the classes.

    >>> rng = np.random.default_rng(0)
    >>> classes = rng.integers(0, 4, size=400)
    >>> found = spread(rng.normal(size=(400, 2)) + np.outer(classes, [1.0, 0.0]), classes)
    >>> found.aucs.size, bool(found.aucs.min() < 0.7), bool(found.aucs.max() > 0.9)
    (3, True, True)
    """
    rows, classes, cut = _shuffled(rows, classes)
    learner, names = Exact(ALPHA), np.unique(classes)
    of_class = GroupMoments(*(ExactMoments.of(rows[:cut][classes[:cut] == name]) for name in names))

    def auc(positive: NDArray[np.integer]) -> float:
        above = np.isin(names, positive)
        sides = ClassMoments(*(of_class.total(np.flatnonzero(side).tolist()) for side in (~above, above)))
        return exact_auc(np.isin(classes[cut:], positive), rows[cut:] @ learner.weights(sides))

    ours = np.unique(classes[class_halves({"y_multiclass": classes}) == 1])
    return Spread(np.array([auc(part) for part in partitions(names)]), auc(ours))


def descent_aucs(rows: DenseRows, classes: NDArray[np.integer], eta0: float, alpha: float) -> Floats:
    """The AUC of OPAUC on every partition with one setting."""
    rows, classes, cut = _shuffled(rows, classes)
    learner, aucs = SGD(alpha, eta0, "constant", average=False), []
    for part in partitions(np.unique(classes)):
        labels = np.isin(classes, part).astype(np.int8)
        weights = learner.weights(learner.step(learner.start(rows.shape[1]), rows[:cut], labels[:cut]))
        aucs.append(exact_auc(labels[cut:], rows[cut:] @ weights))
    return np.array(aucs)


def _shuffled(rows: DenseRows, classes: NDArray[np.integer]) -> tuple[DenseRows, NDArray[np.integer], int]:
    """Rows and classes in a random order, and how many of them are learned."""
    order = np.random.default_rng(0).permutation(classes.size)[:MOST_ROWS]
    return rows[order], classes[order], order.size * 4 // 5


def multi_class() -> dict[str, DataSet]:
    """The dense sets of more than two classes."""
    return {
        name: data for name, data in Catalogue().sets().items()
        if data.labelling is class_halves and data.printed_as and data.shape.n_features < 1000
    }  # fmt: skip


def main() -> None:
    """Print a line a set, and one more where OPAUC itself is learned on every partition."""
    print("| set | method | partitions | least | median | largest AUC | ours | printed | below print | within ± |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |")
    for name in sys.argv[1:] or multi_class():
        data = multi_class()[name]
        rows, classes = load_task(data).rows, arrays_of(data)["y_multiclass"][: data.shape.n_rows]
        found = spread(rows, classes)
        _tell(name, "exact", found.aucs, f"{found.ours:.4f}", printed_table("batch")[name, "batch LS-SVM"])
        if name in CHOSEN:
            aucs = descent_aucs(rows, classes, *CHOSEN[name])
            _tell(name, "OPAUC", aucs, "", printed_table("online")[name, "OPAUC"])


def _tell(name: str, method: str, aucs: Floats, ours: str, printed: Printed) -> None:
    least, middle, most = np.percentile(aucs, [0, 50, 100])
    auc, deviation = printed.auc or 0.0, printed.deviation or 0.0
    within = (np.abs(aucs - auc) <= deviation).mean()
    print(
        f"| {name} | {method} | {aucs.size} | {least:.4f} | {middle:.4f} | {most:.4f} | {ours} "
        f"| {auc:.4f} ± {deviation:.4f} | {(aucs < auc).mean():.0%} | {within:.0%} |",
        flush=True,
    )


if __name__ == "__main__":
    main()
