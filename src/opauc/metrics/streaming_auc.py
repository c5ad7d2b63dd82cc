"""The AUC of a stream in fixed memory, with exact bounds, mergeable over shards."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from opauc.core.array_schema import ArrayRule, copy_arrays
from opauc.errors import IncompatibleMomentsError
from opauc.metrics.exact_auc import Counts, auc_of_counts, check_scores
from opauc.metrics.interval_cuts import cut_values
from opauc.types import Arrays, Floats

# Per interval of `size`: rows sorted at a time, and intervals allowed before they are joined.
ROWS_PER_SORT, MAX_INTERVALS = 16, 3
# An interval's mass is its share of all rows plus this much of its share of the rows being merged:
# if a small recent batch differs from a large old one, later rows resemble the recent batch.
BATCH_WEIGHT = 0.25
AUC_SCHEMA = {
    "size": ArrayRule("int64", low=1),
    "lows": ArrayRule("float64", "intervals", infinite=True),
    "highs": ArrayRule("float64", "intervals", infinite=True),
    "class_counts": ArrayRule("int64", "intervals 2", low=0),
}


@dataclass(frozen=True, slots=True, eq=False)
class StreamingAuc:
    """Score intervals with their exact lowest and highest score and the row counts of each class.

    Placing every positive at the bottom and every negative at the top of its
    interval gives a lower bound of the AUC; the reverse gives an upper bound. The
    exact AUC of all rows always lies between the two, and an interval of a single
    score adds no uncertainty.

    When there are more than three times `size` intervals, neighbors are joined
    until `size` are left. Intervals follow the cells of one fixed binary tree over
    all float64 numbers, so intervals of different shards are nested or disjoint
    and merging shards does not blur them. The choice of the neighbors to join
    depends on class shares, not on counts, so a rare class is resolved as well as
    a frequent one.

    Examples
    --------
    >>> from opauc.metrics import StreamingAuc
    >>> monday = StreamingAuc.empty().update([0, 0, 1], [0.1, 0.4, 0.8])
    >>> tuesday = StreamingAuc.empty().update([1], [0.4])
    >>> monday.merge(tuesday).interval()
    (0.875, 0.875)
    >>> import numpy as np
    >>> scores = np.arange(1000.0)
    >>> low, high = StreamingAuc.of(scores % 3 > 1, scores, size=50).interval()
    >>> bool(low < 0.5005 < high), round(high - low, 3)
    (True, 0.024)
    """

    size: int
    lows: Floats  # (n,)
    highs: Floats  # (n,)
    class_counts: Counts  # (n, 2): rows of the negative and of the positive class

    @classmethod
    def empty(cls, size: int = 2048) -> StreamingAuc:
        """Return the state of no rows; joining neighbors leaves `size` intervals.

        Parameters
        ----------
        size : int, default=2048
            Number of intervals of scores: the more, the closer the bounds.

        Returns
        -------
        auc : StreamingAuc
            The state of no rows.
        """
        if size < 1:
            raise ValueError(f"size must be at least 1, got {size}")
        return cls(int(size), np.empty(0), np.empty(0), np.empty((0, 2), np.int64))

    @classmethod
    def of(cls, labels: ArrayLike, scores: ArrayLike, size: int = 2048) -> StreamingAuc:
        """Return the state of rows: labels of 0 and 1 or booleans, scores that are not NaN.

        Parameters
        ----------
        labels : array-like of shape (n_rows,)
            Labels of 0 and 1, or booleans.
        scores : array-like of shape (n_rows,)
            Scores, the higher the more positive; none is NaN.
        size : int, default=2048
            Number of intervals of scores.

        Returns
        -------
        auc : StreamingAuc
            The state of these rows.
        """
        return cls.empty(size).update(labels, scores)

    @property
    def counts(self) -> Counts:
        """Row counts of the negative and of the positive class."""
        return self.class_counts.sum(axis=0)  # type: ignore[no-any-return]

    @property
    def n_intervals(self) -> int:
        """Number of intervals, at most three times `size`."""
        return self.lows.size

    def update(self, labels: ArrayLike, scores: ArrayLike) -> StreamingAuc:
        """Return the state of the rows so far and these.

        Parameters
        ----------
        labels : array-like of shape (n_rows,)
            Labels of 0 and 1, or booleans.
        scores : array-like of shape (n_rows,)
            Scores, the higher the more positive; none is NaN.

        Returns
        -------
        auc : StreamingAuc
            A new state; this one stays as it is.
        """
        positive, score = check_scores(labels, scores)
        score += 0.0  # turn -0.0 into 0.0
        state = self
        for start in range(0, score.size, ROWS_PER_SORT * self.size):
            batch = slice(start, start + ROWS_PER_SORT * self.size)
            rows = np.stack([~positive[batch], positive[batch]], axis=1).astype(np.int64)
            state = state._add_intervals(score[batch], score[batch], rows)
        return state

    def merge(self, other: StreamingAuc) -> StreamingAuc:
        """Return the state of both sets of rows, with the smaller of the two sizes.

        Parameters
        ----------
        other : StreamingAuc
            The state of other rows.

        Returns
        -------
        auc : StreamingAuc
            The state of all rows.
        """
        if other.size < self.size:
            return other.merge(self)
        return self._add_intervals(other.lows, other.highs, other.class_counts)

    def empty_copy(self) -> StreamingAuc:
        """Return the state of no rows with the same size.

        Returns
        -------
        auc : StreamingAuc
            The state of no rows.
        """
        return self.empty(self.size)

    def interval(self) -> tuple[float, float]:
        """Return bounds that contain the exact AUC of all rows; (0, 1) while a class has no rows.

        Returns
        -------
        bounds : tuple of float
            The lower and the upper bound.
        """
        if not self.counts.all():
            return 0.0, 1.0
        negative, positive = self.class_counts.T
        return (
            auc_of_counts(self.lows, self.highs, positive, negative),
            auc_of_counts(self.highs, self.lows, positive, negative),
        )

    def estimate(self) -> float:
        """Return the middle of the interval: pairs of unknown order count half.

        Returns
        -------
        auc : float
            The estimated AUC.
        """
        low, high = self.interval()
        return (low + high) / 2

    def to_arrays(self) -> Arrays:
        """Return copies of the intervals and their counts, for a file or the network.

        Returns
        -------
        arrays : dict of str to ndarray
            The state by names.
        """
        return {
            "size": np.array(self.size),
            "lows": self.lows.copy(),
            "highs": self.highs.copy(),
            "class_counts": self.class_counts.copy(),
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, ArrayLike]) -> StreamingAuc:
        """Return the state that `to_arrays` wrote; raise IncompatibleMomentsError if no rows can give these arrays.

        Parameters
        ----------
        arrays : mapping of str to array-like
            What `to_arrays` returned.

        Returns
        -------
        auc : StreamingAuc
            The state that was written.
        """
        size, lows, highs, counts = copy_arrays(AUC_SCHEMA, arrays).values()
        if lows.size > MAX_INTERVALS * int(size):
            raise IncompatibleMomentsError(f"size {size} must be at least a third of the {lows.size} intervals")
        if not (lows <= highs).all():
            raise IncompatibleMomentsError("lows must not exceed highs")
        if not counts.any(axis=1).all() or counts.sum(dtype=float) >= 2.0**62:
            raise IncompatibleMomentsError("class_counts must not add up to 2^62, and no interval may be empty")
        return cls(int(size), lows + 0.0, highs + 0.0, counts)

    def _add_intervals(self, lows: Floats, highs: Floats, class_counts: Counts) -> StreamingAuc:
        """Return the state with more intervals, sorted, and joined where they are too many."""
        if not lows.size:
            return self
        total = self.counts + class_counts.sum(axis=0)
        masses = np.concatenate(
            [_masses(counts, counts.sum(axis=0), total) for counts in (self.class_counts, class_counts)]
        )
        lows, highs = np.concatenate([self.lows, lows]), np.concatenate([self.highs, highs])
        class_counts = np.concatenate([self.class_counts, class_counts])
        starts, depths = _cells(lows, highs)
        order = np.lexsort((depths, starts))
        starts, depths = starts[order], depths[order]
        levels = np.minimum(np.minimum(depths[1:], depths[:-1]), _common_bits(starts[1:], starts[:-1]))
        # Two intervals of one cell both contain its middle: keeping them separate gains nothing.
        distinct = (starts[1:] != starts[:-1]) | (depths[1:] != depths[:-1])
        lows, highs, class_counts, masses = _join(
            distinct, lows[order], highs[order], class_counts[order], masses[order]
        )
        if lows.size > MAX_INTERVALS * self.size:
            kept = _best_cuts(levels[distinct], masses, lows == highs, self.size - 1)
            lows, highs, class_counts, _ = _join(kept, lows, highs, class_counts, masses)
        return StreamingAuc(self.size, lows, highs, class_counts)


def _masses(counts: Counts, batch: Counts, total: Counts) -> Floats:
    """Return each interval's share of the rows of each class and of its batch, added up."""
    weights = 1 / np.maximum(total, 1) + BATCH_WEIGHT / np.maximum(batch, 1)
    shares: Floats = counts @ weights
    return shares


def _best_cuts(levels: NDArray[np.int64], masses: Floats, exact: NDArray[np.bool_], n_cuts: int) -> NDArray[np.bool_]:
    """Return which cuts to keep: those with the highest values, at most `n_cuts`."""
    values = np.empty(levels.size)
    cut_values(levels, masses, exact, values)
    n_dropped = values.size - n_cuts
    kept: NDArray[np.bool_] = values > np.partition(values, n_dropped - 1)[n_dropped - 1]
    return kept


def _join(
    cuts: NDArray[np.bool_], lows: Floats, highs: Floats, class_counts: Counts, masses: Floats
) -> tuple[Floats, Floats, Counts, Floats]:
    """Return the intervals with neighbors joined wherever there is no cut between them."""
    firsts = np.flatnonzero(np.append(True, cuts))
    return (
        np.minimum.reduceat(lows, firsts),
        np.maximum.reduceat(highs, firsts),
        np.add.reduceat(class_counts, firsts, axis=0),
        np.add.reduceat(masses, firsts),
    )


def _cells(lows: Floats, highs: Floats) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
    """Return the start and the depth, 0 to 64, of the smallest tree cell that contains each interval."""
    first, last = _ordered_bits(lows), _ordered_bits(highs)
    depths = _common_bits(first, last)
    free = (64 - depths).astype(np.uint64)
    # A shift by 64 is undefined: shift twice by half.
    half = free >> np.uint64(1)
    starts = first >> half >> (free - half) << half << (free - half)
    return starts.astype(np.uint64, copy=False), depths


def _ordered_bits(values: Floats) -> NDArray[np.uint64]:
    """Return 64-bit integers in the same order as the float64 values."""
    bits = values.view(np.int64)
    flipped: NDArray[np.uint64] = np.where(bits < 0, ~bits, bits | np.int64(-(2**63))).view(np.uint64)
    return flipped


def _common_bits(one: NDArray[np.uint64], other: NDArray[np.uint64]) -> NDArray[np.int64]:
    """Return how many leading bits two numbers share."""
    differ = one ^ other
    upper, lower = (differ >> np.uint64(32)).astype(np.float64), (differ & np.uint64(2**32 - 1)).astype(np.float64)
    used = np.where(upper > 0, np.frexp(upper)[1] + 32, np.frexp(lower)[1])
    return 64 - used.astype(np.int64)
