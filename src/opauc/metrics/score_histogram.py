"""Histogram of the scores of each class, from the rows or from a streaming AUC."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from opauc.metrics.exact_auc import check_scores
from opauc.metrics.streaming_auc import StreamingAuc
from opauc.types import Floats

# Share of each class left out at either end: one outlier must not squeeze all other scores into one bin.
TAIL = 0.002
MAX_BINS = 40
MAX_SCORE = 1e300  # keeps the range of the bins finite
MIN_RELATIVE_RANGE = 1e-9  # of the scores' magnitude: narrower bins would have equal edges in float64


class ScoreHistogram(NamedTuple):
    """Row counts of the negative and the positive class in bins of equal width, and outside the bins.

    Attributes
    ----------
    edges : ndarray of shape (n_bins + 1,)
        Edges of the bins.
    class_counts : ndarray of shape (n_bins, 2)
        Negative and positive rows in each bin.
    outside : ndarray of shape (2, 2)
        Rows below and above the bins, of each class.

    Examples
    --------
    >>> from opauc.metrics import ScoreHistogram
    >>> ScoreHistogram.of([0, 0, 0, 1], [0.0, 1.0, 1.5, 4.0], n_bins=2).shares().tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """

    edges: Floats  # (n_bins + 1,)
    class_counts: Floats  # (n_bins, 2); fractional where an interval of a streaming AUC crosses an edge
    outside: Floats  # (2, 2): rows below and above the bins, of each class

    @classmethod
    def of(cls, labels: ArrayLike, scores: ArrayLike, n_bins: int | None = None) -> ScoreHistogram:
        """Return the histogram of rows, by default in 8 to 40 bins depending on the smaller class.

        Parameters
        ----------
        labels : array-like of shape (n_rows,)
            Labels of 0 and 1, or booleans.
        scores : array-like of shape (n_rows,)
            Scores, the higher the more positive; none is NaN.
        n_bins : int, default=None
            Number of bins; by default 8 to 40, depending on the smaller class.

        Returns
        -------
        histogram : ScoreHistogram
            The histogram.

        Examples
        --------
        >>> from opauc.metrics import ScoreHistogram
        >>> histogram = ScoreHistogram.of([0, 0, 0, 1], [0.0, 1.0, 1.5, 4.0], n_bins=2)
        >>> histogram.edges.tolist(), histogram.class_counts.tolist()
        ([0.0, 2.0, 4.0], [[3.0, 0.0], [0.0, 1.0]])
        """
        positive, score = check_scores(labels, scores)
        sides = [np.sort(score[positive == side]) for side in (False, True)]
        totals = np.array([side.size for side in sides])
        ranges = [_range_of(side, side, np.arange(1, side.size + 1)) for side in sides]
        edges = _bin_edges(ranges, _n_bins(totals) if n_bins is None else n_bins)
        # The last bin includes its upper edge, as in numpy.histogram.
        ends = np.append(edges[:-1], np.nextafter(edges[-1], np.inf))
        below = np.stack([np.searchsorted(side, ends) for side in sides], axis=1).astype(np.float64)
        return cls._of_sums(edges, below, totals)

    @classmethod
    def of_stream(cls, stream: StreamingAuc, n_bins: int | None = None) -> ScoreHistogram:
        """Return the histogram of the rows of a streaming AUC, each interval's rows spread evenly over it.

        Parameters
        ----------
        stream : StreamingAuc
            The scores of a stream.
        n_bins : int, default=None
            Number of bins; by default 8 to 40, depending on the smaller class.

        Returns
        -------
        histogram : ScoreHistogram
            The histogram.
        """
        ranges = []
        for counts in stream.class_counts.T:
            filled = np.flatnonzero(counts)
            filled = filled[np.argsort(stream.lows[filled])]
            ranges.append(_range_of(stream.lows[filled], stream.highs[filled], np.cumsum(counts[filled])))
        edges = _bin_edges(ranges, _n_bins(stream.counts) if n_bins is None else n_bins)
        ends = np.append(edges[:-1], np.nextafter(edges[-1], np.inf))
        # Infinite scores stay outside the bins, at a finite distance.
        lows, highs = (np.clip(bound, -2 * MAX_SCORE, 2 * MAX_SCORE) for bound in (stream.lows, stream.highs))
        below = np.stack([_share_below(end, lows, highs) @ stream.class_counts for end in ends])
        return cls._of_sums(edges, below, stream.counts)

    @classmethod
    def _of_sums(cls, edges: Floats, below: Floats, totals: NDArray[np.int64]) -> ScoreHistogram:
        return cls(edges, np.diff(below, axis=0), np.stack([below[0], totals - below[-1]]))

    def shares(self) -> Floats:
        """Return the share of each class in each bin, (n_bins, 2); zero for a class without rows.

        Returns
        -------
        shares : ndarray
            The share of the rows of each class in each bin.
        """
        totals = self.class_counts.sum(axis=0) + self.outside.sum(axis=0)
        shares: Floats = self.class_counts / np.maximum(totals, 1)
        return shares


def _n_bins(totals: NDArray[np.int64]) -> int:
    """Return twice the cube root of the row count of the smaller class (Rice's rule), from 8 to 40."""
    return int(np.clip(2 * np.cbrt(totals.min()), 8, MAX_BINS))


def _share_below(end: float, lows: Floats, highs: Floats) -> Floats:
    """Return the share of each interval that lies below `end`."""
    shares = (highs < end).astype(np.float64)
    np.divide(end - lows, highs - lows, out=shares, where=(lows < end) & (end <= highs))
    return shares


def _range_of(lows: Floats, highs: Floats, running: NDArray[np.int64]) -> tuple[float, float]:
    """Return the score range of a class without its tails; `running` is the cumulative row count by interval."""
    if not running.size:
        return np.inf, -np.inf
    first, last = np.searchsorted(running, [TAIL * running[-1], (1 - TAIL) * running[-1]])
    return float(lows[first]), float(highs[last])


def _bin_edges(ranges: list[tuple[float, float]], n_bins: int) -> Floats:
    """Return the edges of `n_bins` bins of equal width that cover both ranges, widened around a single score."""
    if n_bins < 1:
        raise ValueError(f"n_bins must be at least 1, got {n_bins}")
    low, high = min(low for low, _ in ranges), max(high for _, high in ranges)
    if low > high:
        raise ValueError("a histogram needs at least one row")
    low, high = float(np.clip(low, -MAX_SCORE, MAX_SCORE)), float(np.clip(high, -MAX_SCORE, MAX_SCORE))
    if high - low <= MIN_RELATIVE_RANGE * max(abs(low), abs(high)):
        room = max(abs(low), abs(high)) / 2 or 0.5
        low, high = low - room, high + room
    return np.linspace(low, high, n_bins + 1)
