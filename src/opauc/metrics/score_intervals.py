"""Score intervals with the row counts of each class: the state of streaming metrics, in fixed memory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from opauc.core.array_schema import ArrayRule, copy_arrays
from opauc.errors import IncompatibleMomentsError
from opauc.metrics.exact_auc import Counts
from opauc.metrics.interval_cuts import cut_values
from opauc.types import Arrays, Floats

# Per interval of `size`: rows sorted at a time, and intervals allowed before they are joined.
ROWS_PER_SORT, MAX_INTERVALS = 16, 3
# An interval's mass is its share of all rows plus this much of its share of the rows being merged:
# if a small recent batch differs from a large old one, later rows resemble the recent batch.
BATCH_WEIGHT = 0.25


@dataclass(frozen=True, slots=True, eq=False)
class ScoreIntervals:
    """Score intervals with their exact lowest and highest score and the row counts of each class.

    When there are more than three times `size` intervals, neighbors are joined
    until `size` are left. Intervals follow the cells of one fixed binary tree over
    all float64 numbers, so intervals of different shards are nested or disjoint
    and merging shards does not blur them. The choice of the neighbors to join
    depends on class shares, not on counts, so a rare class is resolved as well as
    a frequent one.
    """

    size: int
    lows: Floats  # (n,)
    highs: Floats  # (n,)
    class_counts: Counts  # (n, n_classes): rows of each class

    @property
    def counts(self) -> Counts:
        """Row counts of each class."""
        return self.class_counts.sum(axis=0)  # type: ignore[no-any-return]

    @property
    def n_intervals(self) -> int:
        """Number of intervals, at most three times `size`."""
        return self.lows.size

    def add(self, score: Floats, rows: Counts) -> Self:
        """Return the state of the rows so far and of scores with the row counts of each class, shape (n, n_classes).

        Parameters
        ----------
        score : ndarray of shape (n,)
            Scores; none is NaN.
        rows : ndarray of shape (n, n_classes)
            Row counts of each class at each score.

        Returns
        -------
        state : same type
            A new state; this one stays as it is.
        """
        state, score = self, score + 0.0  # turn -0.0 into 0.0
        for start in range(0, score.size, ROWS_PER_SORT * self.size):
            batch = slice(start, start + ROWS_PER_SORT * self.size)
            state = state._add_intervals(score[batch], score[batch], rows[batch])
        return state

    def merge(self, other: Self) -> Self:
        """Return the state of both sets of rows, with the smaller of the two sizes.

        Parameters
        ----------
        other : same type
            The state of other rows.

        Returns
        -------
        state : same type
            A new state; this one stays as it is.
        """
        if other.size < self.size:
            return other.merge(self)
        return self._add_intervals(other.lows, other.highs, other.class_counts)

    def to_arrays(self) -> Arrays:
        """Return copies of the intervals and their counts, for a file or the network.

        Returns
        -------
        arrays : dict of str to ndarray
            Copies: changing them does not change the state.
        """
        return {
            "size": np.array(self.size),
            "lows": self.lows.copy(),
            "highs": self.highs.copy(),
            "class_counts": self.class_counts.copy(),
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, ArrayLike], n_classes: int = 2) -> Self:
        """Return the state that `to_arrays` wrote; raise IncompatibleMomentsError if no rows can give these arrays.

        Parameters
        ----------
        arrays : mapping of str to array-like
            What `to_arrays` wrote.
        n_classes : int, default=2
            The number of classes.

        Returns
        -------
        state : same type
            The state that was written.

        Raises
        ------
        IncompatibleMomentsError
            If no rows can give these arrays.
        """
        size, lows, highs, counts = copy_arrays(interval_schema(n_classes), arrays).values()
        if lows.size > MAX_INTERVALS * int(size):
            raise IncompatibleMomentsError(f"size {size} must be at least a third of the {lows.size} intervals")
        if not (lows <= highs).all():
            raise IncompatibleMomentsError("lows must not exceed highs")
        if not counts.any(axis=1).all() or counts.sum(dtype=float) >= 2.0**62:
            raise IncompatibleMomentsError("class_counts must not add up to 2^62, and no interval may be empty")
        return cls(int(size), lows + 0.0, highs + 0.0, counts)

    def _add_intervals(self, lows: Floats, highs: Floats, class_counts: Counts) -> Self:
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
        return type(self)(self.size, lows, highs, class_counts)


def interval_schema(n_classes: int = 2) -> dict[str, ArrayRule]:
    """Return what the arrays of intervals must be."""
    return {
        "size": ArrayRule("int64", low=1),
        "lows": ArrayRule("float64", "intervals", infinite=True),
        "highs": ArrayRule("float64", "intervals", infinite=True),
        "class_counts": ArrayRule("int64", f"intervals {n_classes}", low=0),
    }


def check_size(size: int) -> int:
    """Return a number of intervals; raise ValueError unless it is at least one."""
    if size < 1:
        raise ValueError(f"size must be at least 1, got {size}")
    return int(size)


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
