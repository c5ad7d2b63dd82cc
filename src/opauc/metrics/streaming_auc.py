"""The AUC of a stream in fixed memory, with bounds that are certain, mergeable over shards."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from opauc.errors import IncompatibleMomentsError
from opauc.metrics.exact_auc import Counts, auc_of_counts, checked_scores
from opauc.metrics.interval_cuts import cut_values
from opauc.types import Arrays, Floats

# Rows of one call that are sorted at a time, and intervals that may stand before they are reduced: per `size`.
BATCH, ROOM = 16, 3
# Besides its share of all rows an interval counts this much of its share of each part that is merged:
# where a small new part differs from a large old one, the rows to come look like the new.
SHARE_OF_PART = 0.25


@dataclass(frozen=True, slots=True, eq=False)
class StreamingAuc:
    """Score intervals, each with its exact lowest and highest score and how many rows of each class it holds.

    The AUC with every positive put at the bottom and every negative at the top
    of its interval is a lower bound, the other way round an upper one: whatever
    the intervals are, the exact AUC of all rows seen lies between them, and an
    interval of a single score costs nothing.

    Intervals are joined when there are more than three times `size`, until `size`
    are left. They follow the cells of one fixed binary tree over all float64
    numbers, so that intervals of different shards are nested or apart and do not
    run together when shards are merged; an interval may stand inside another.
    Which are joined depends on shares of the classes, not on counts, so a rare
    class is resolved as well as a frequent one.

    Examples
    --------
    >>> from opauc.metrics import StreamingAuc
    >>> monday = StreamingAuc.empty().update([0, 0, 1], [0.1, 0.4, 0.8])
    >>> tuesday = StreamingAuc.empty().update([1], [0.4])
    >>> monday.merge(tuesday).interval()
    (0.875, 0.875)
    >>> import numpy as np
    >>> scores, rough = np.arange(1000.0), StreamingAuc.empty(size=50)
    >>> low, high = rough.update(scores % 3 > 1, scores).interval()
    >>> bool(low < 0.5005 < high), round(high - low, 3)
    (True, 0.024)
    """

    size: int
    lows: Floats  # (n,)
    highs: Floats  # (n,)
    class_counts: Counts  # (n, 2): rows of the negative and of the positive class

    @classmethod
    def empty(cls, size: int = 2048) -> StreamingAuc:
        """No rows yet; `size` intervals are left whenever they are reduced."""
        if size < 1:
            raise ValueError(f"size must be at least 1, got {size}")
        return cls(int(size), np.empty(0), np.empty(0), np.empty((0, 2), np.int64))

    @classmethod
    def of(cls, labels: ArrayLike, scores: ArrayLike, size: int = 2048) -> StreamingAuc:
        """The AUC of these rows: labels of 0 and 1 or booleans, scores of any size but NaN."""
        return cls.empty(size).update(labels, scores)

    @property
    def counts(self) -> Counts:
        """Rows seen of the negative and of the positive class."""
        return self.class_counts.sum(axis=0)  # type: ignore[no-any-return]

    @property
    def n_intervals(self) -> int:
        """Intervals kept now; never more than three times `size`."""
        return self.lows.size

    def update(self, labels: ArrayLike, scores: ArrayLike) -> StreamingAuc:
        """The AUC of the rows so far and these."""
        positive, score = checked_scores(labels, scores)
        score += 0.0  # one zero, not two
        seen = self
        for start in range(0, score.size, BATCH * self.size):
            part = slice(start, start + BATCH * self.size)
            rows = np.stack([~positive[part], positive[part]], axis=1).astype(np.int64)
            seen = seen._with(score[part], score[part], rows)
        return seen

    def merge(self, other: StreamingAuc) -> StreamingAuc:
        """The AUC of both sets of rows; of two sizes the smaller one is kept."""
        if other.size < self.size:
            return other.merge(self)
        return self._with(other.lows, other.highs, other.class_counts)

    def interval(self) -> tuple[float, float]:
        """Bounds that contain the exact AUC of all rows seen; (0, 1) while a class is unseen."""
        if not self.counts.all():
            return 0.0, 1.0
        negative, positive = self.class_counts.T
        return (
            auc_of_counts(self.lows, self.highs, positive, negative),
            auc_of_counts(self.highs, self.lows, positive, negative),
        )

    def estimate(self) -> float:
        """The middle of the interval: pairs whose order is not known count half."""
        low, high = self.interval()
        return (low + high) / 2

    def to_arrays(self) -> Arrays:
        """Copies of the intervals and their counts, for a file or the network."""
        return {
            "size": np.array(self.size),
            "lows": self.lows.copy(),
            "highs": self.highs.copy(),
            "class_counts": self.class_counts.copy(),
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, ArrayLike]) -> StreamingAuc:
        """The state from what `to_arrays` gave, refused unless rows could have led to it."""
        try:
            size, lows, highs = (np.array(arrays[key]) for key in ("size", "lows", "highs"))
            counts = np.array(arrays["class_counts"])
            lows, highs = lows.astype(np.float64), highs.astype(np.float64)
        except (KeyError, TypeError, ValueError) as error:
            raise IncompatibleMomentsError(f"expected arrays size, lows, highs and class_counts: {error}") from error
        if size.shape != () or lows.ndim != 1 or highs.shape != lows.shape or counts.shape != (lows.size, 2):
            raise IncompatibleMomentsError(
                f"expected shapes (), (n,), (n,) and (n, 2), got {size.shape}, {lows.shape}, "
                f"{highs.shape} and {counts.shape}"
            )
        if size.dtype.kind not in "iu" or counts.dtype.kind not in "iu":
            raise IncompatibleMomentsError("size and class_counts must be whole numbers")
        if size < 1 or lows.size > ROOM * int(size):
            raise IncompatibleMomentsError(
                f"size {size} must be positive and at least a third of the {lows.size} intervals"
            )
        if not (lows <= highs).all():
            raise IncompatibleMomentsError("lows must not exceed highs, and neither may be NaN")
        if (counts < 0).any() or not counts.any(axis=1).all() or counts.sum(dtype=float) >= 2.0**62:
            raise IncompatibleMomentsError(
                "class_counts must not be negative or add up to 2^62, and no interval may be empty"
            )
        return cls(int(size), lows + 0.0, highs + 0.0, counts.astype(np.int64))

    def _with(self, lows: Floats, highs: Floats, class_counts: Counts) -> StreamingAuc:
        """The state with more intervals, put in order, reduced where they are too many."""
        if not lows.size:
            return self
        more = class_counts.sum(axis=0)
        masses = np.concatenate(
            [_masses(part, part.sum(axis=0), self.counts + more) for part in (self.class_counts, class_counts)]
        )
        lows, highs = np.concatenate([self.lows, lows]), np.concatenate([self.highs, highs])
        class_counts = np.concatenate([self.class_counts, class_counts])
        starts, depths = _cells(lows, highs)
        order = np.lexsort((depths, starts))
        starts, depths = starts[order], depths[order]
        levels = np.minimum(np.minimum(depths[1:], depths[:-1]), _common_bits(starts[1:], starts[:-1]))
        # Two intervals of one cell both contain its middle: nothing is gained by keeping them apart.
        apart = (starts[1:] != starts[:-1]) | (depths[1:] != depths[:-1])
        lows, highs, class_counts, masses = _joined(
            apart, lows[order], highs[order], class_counts[order], masses[order]
        )
        if lows.size > ROOM * self.size:
            kept = _best_cuts(levels[apart], masses, lows == highs, self.size - 1)
            lows, highs, class_counts, _ = _joined(kept, lows, highs, class_counts, masses)
        return StreamingAuc(self.size, lows, highs, class_counts)


def _masses(counts: Counts, part: Counts, total: Counts) -> Floats:
    """Return for each interval its share of the rows of each class, and of its own part, added up."""
    weights = 1 / np.maximum(total, 1) + SHARE_OF_PART / np.maximum(part, 1)
    shares: Floats = counts @ weights
    return shares


def _best_cuts(levels: NDArray[np.int64], masses: Floats, exact: NDArray[np.bool_], n_cuts: int) -> NDArray[np.bool_]:
    """Return which cuts to keep: those of highest value, at most `n_cuts`."""
    values = np.empty(levels.size)
    cut_values(levels, masses, exact, values)
    n_lost = values.size - n_cuts
    kept: NDArray[np.bool_] = values > np.partition(values, n_lost - 1)[n_lost - 1]
    return kept


def _joined(
    cuts: NDArray[np.bool_], lows: Floats, highs: Floats, class_counts: Counts, masses: Floats
) -> tuple[Floats, Floats, Counts, Floats]:
    """Return the intervals with neighbors made one wherever there is no cut between them."""
    firsts = np.flatnonzero(np.append(True, cuts))
    return (
        np.minimum.reduceat(lows, firsts),
        np.maximum.reduceat(highs, firsts),
        np.add.reduceat(class_counts, firsts, axis=0),
        np.add.reduceat(masses, firsts),
    )


def _cells(lows: Floats, highs: Floats) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
    """Return the start and the depth, 0 to 64, of the smallest cell of the tree that holds each interval."""
    first, last = _ordered_bits(lows), _ordered_bits(highs)
    depths = _common_bits(first, last)
    free = (64 - depths).astype(np.uint64)
    # A shift by 64 is undefined: the cell of everything takes two.
    half = free >> np.uint64(1)
    starts = first >> half >> (free - half) << half << (free - half)
    return starts.astype(np.uint64, copy=False), depths


def _ordered_bits(values: Floats) -> NDArray[np.uint64]:
    """Return 64-bit numbers in the same order as the float64 values."""
    bits = values.view(np.int64)
    flipped: NDArray[np.uint64] = np.where(bits < 0, ~bits, bits | np.int64(-(2**63))).view(np.uint64)
    return flipped


def _common_bits(one: NDArray[np.uint64], other: NDArray[np.uint64]) -> NDArray[np.int64]:
    """Return how many leading bits two numbers share."""
    differ = one ^ other
    upper, lower = (differ >> np.uint64(32)).astype(np.float64), (differ & np.uint64(2**32 - 1)).astype(np.float64)
    used = np.where(upper > 0, np.frexp(upper)[1] + 32, np.frexp(lower)[1])
    return 64 - used.astype(np.int64)
