"""Which rows are learned and which are held out: of a stream by a hash of the row's number, of arrays by folds."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from opauc.metrics.exact_auc import Flags
from opauc.types import Labels

# The rounds of a hash that sends neighboring numbers far apart (splitmix64).
MIXING = ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB), (31, 1))


class Split(NamedTuple):
    """Numbers of the rows to learn from, in the order they are learned, and of those to score."""

    learned: NDArray[np.intp]
    held_out: NDArray[np.intp]


def held_out(first_row: int, n_rows: int, share: float, seed: int) -> Flags:
    """Tell which rows are held out: a function of their numbers and the seed alone, however the stream is cut.

    Examples
    --------
    >>> from opauc.metrics import held_out
    >>> held_out(0, 8, share=0.3, seed=1).nonzero()[0].tolist(), held_out(4, 4, share=0.3, seed=1).nonzero()[0].tolist()
    ([0, 5, 7], [1, 3])
    """
    numbers = np.arange(first_row, first_row + n_rows, dtype=np.uint64) + np.uint64(seed) * np.uint64(2**40)
    with np.errstate(over="ignore"):
        for shift, factor in MIXING:
            numbers = (numbers ^ (numbers >> np.uint64(shift))) * np.uint64(factor)
    chosen: Flags = numbers / 2.0**64 < share
    return chosen


def stratified_folds(labels: Labels, n_folds: int = 5, seed: int = 0) -> Iterator[Split]:
    """Yield each of `n_folds` parts of the rows as held out once, with equal shares of the classes.

    The parts are those of scikit-learn's `StratifiedKFold(n_folds, shuffle=True, random_state=seed)`.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.metrics import stratified_folds
    >>> [split.held_out.tolist() for split in stratified_folds(np.array([0, 0, 0, 0, 1, 1], np.int8), n_folds=2)]
    [[2, 3, 4], [0, 1, 5]]
    """
    counts = np.bincount(labels, minlength=2)
    if n_folds < 2 or counts.min() < n_folds:
        raise ValueError(
            f"n_folds must be at least 2 and at most the rows of the smaller class, got n_folds={n_folds} "
            f"for {counts[1]} positives and {counts[0]} negatives"
        )
    # scikit-learn deals out the class that comes first, first, by a generator of NumPy's older kind.
    generator, first = np.random.RandomState(seed), int(labels[0])
    parts = np.empty(labels.size, np.int64)
    for label, dealt in ((first, 0), (1 - first, counts[first])):
        places = np.arange(dealt, dealt + counts[label]) % n_folds
        of_class = np.repeat(np.arange(n_folds), np.bincount(places, minlength=n_folds))
        generator.shuffle(of_class)
        parts[labels == label] = of_class
    for part in range(n_folds):
        yield Split(np.flatnonzero(parts != part), np.flatnonzero(parts == part))
