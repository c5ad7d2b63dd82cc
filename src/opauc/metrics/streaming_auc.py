"""The AUC of a stream in fixed memory, with exact bounds, mergeable over shards."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from opauc.metrics.exact_auc import Counts, auc_of_counts, check_scores
from opauc.metrics.score_intervals import ScoreIntervals, check_size
from opauc.types import Floats


@dataclass(frozen=True, slots=True, eq=False)
class StreamingAuc(ScoreIntervals):
    """Score intervals with their exact lowest and highest score and the row counts of both classes.

    Placing every positive at the bottom and every negative at the top of its
    interval gives a lower bound of the AUC; the reverse gives an upper bound. The
    exact AUC of all rows always lies between the two, and an interval of a single
    score adds no uncertainty. `PartialAuc`, `AveragePrecision` and the other metrics
    of a ranking have bounds from the same state: see their methods `bounds` and `stream_interval`.

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
        return cls(check_size(size), np.empty(0), np.empty(0), np.empty((0, 2), np.int64))

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
        return self.add(score, np.stack([~positive, positive], axis=1).astype(np.int64))

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

    def by_decreasing_score(self) -> tuple[Floats, Counts]:
        """Return the low ends and the class counts of the intervals by decreasing midpoint.

        Returns
        -------
        lows : ndarray of shape (n,)
            The low end of each interval.
        class_counts : ndarray of shape (n, 2)
            The rows of the negative and of the positive class.
        """
        largest = np.finfo(float).max
        lows, highs = (np.clip(bound, -largest, largest) for bound in (self.lows, self.highs))
        order = np.argsort(-(lows / 2 + highs / 2), kind="stable")
        # A nested interval may start above the one around it; thresholds must still decrease.
        return np.minimum.accumulate(self.lows[order]), self.class_counts[order]
