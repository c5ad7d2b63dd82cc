"""How the scores of each class are spread, from scored rows or from a streaming AUC."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from opauc.metrics.exact_auc import checked_scores
from opauc.metrics.streaming_auc import StreamingAuc
from opauc.types import Floats

# Each class is shown between these shares of its rows: one score far out must not squeeze all others into one bin.
TAIL = 0.002
MOST_BINS = 40
FARTHEST = 1e300  # so that the span of the bins is finite
NARROWEST = 1e-9  # of the size of the scores: bins of less would not differ in float64


class ScoreHistogram(NamedTuple):
    """Rows of the negative and of the positive class in bins of equal width, and those beyond the bins."""

    edges: Floats  # (n_bins + 1,)
    class_counts: Floats  # (n_bins, 2); not whole where a streamed interval lies across an edge
    beyond: Floats  # (2, 2): rows below and above the bins, of each class

    @classmethod
    def of(cls, labels: ArrayLike, scores: ArrayLike, n_bins: int | None = None) -> ScoreHistogram:
        """The histogram of these rows, by default in as many bins as the smaller class fills: 8 to 40.

        Examples
        --------
        >>> from opauc.metrics import ScoreHistogram
        >>> found = ScoreHistogram.of([0, 0, 0, 1], [0.0, 1.0, 1.5, 4.0], n_bins=2)
        >>> found.edges.tolist(), found.class_counts.tolist()
        ([0.0, 2.0, 4.0], [[3.0, 0.0], [0.0, 1.0]])
        """
        positive, score = checked_scores(labels, scores)
        sides = [np.sort(score[positive == side]) for side in (False, True)]
        totals = np.array([side.size for side in sides])
        ranges = [_range_of(side, side, np.arange(1, side.size + 1)) for side in sides]
        edges = _bin_edges(ranges, _n_bins(totals) if n_bins is None else n_bins)
        # The last bin holds its upper edge too, as NumPy's do.
        ends = np.append(edges[:-1], np.nextafter(edges[-1], np.inf))
        below = np.stack([np.searchsorted(side, ends) for side in sides], axis=1).astype(np.float64)
        return cls._of_sums(edges, below, totals)

    @classmethod
    def of_stream(cls, stream: StreamingAuc, n_bins: int | None = None) -> ScoreHistogram:
        """The histogram of all rows a streaming AUC has seen, the rows of an interval spread evenly over it."""
        ranges = []
        for counts in stream.class_counts.T:
            held = np.flatnonzero(counts)
            held = held[np.argsort(stream.lows[held])]
            ranges.append(_range_of(stream.lows[held], stream.highs[held], np.cumsum(counts[held])))
        edges = _bin_edges(ranges, _n_bins(stream.counts) if n_bins is None else n_bins)
        ends = np.append(edges[:-1], np.nextafter(edges[-1], np.inf))
        # Infinite scores stay outside the bins, at a distance that can be divided by.
        lows, highs = (np.clip(bound, -2 * FARTHEST, 2 * FARTHEST) for bound in (stream.lows, stream.highs))
        below = np.stack([_share_below(end, lows, highs) @ stream.class_counts for end in ends])
        return cls._of_sums(edges, below, stream.counts)

    @classmethod
    def _of_sums(cls, edges: Floats, below: Floats, totals: NDArray[np.int64]) -> ScoreHistogram:
        return cls(edges, np.diff(below, axis=0), np.stack([below[0], totals - below[-1]]))

    def shares(self) -> Floats:
        """Share of the rows of its class in each bin, (n_bins, 2); zero for a class without rows."""
        totals = self.class_counts.sum(axis=0) + self.beyond.sum(axis=0)
        shares: Floats = self.class_counts / np.maximum(totals, 1)
        return shares


def _n_bins(totals: NDArray[np.int64]) -> int:
    """Return twice the cube root of the rows of the smaller class (Rice's rule), within limits a chart can show."""
    return int(np.clip(2 * np.cbrt(totals.min()), 8, MOST_BINS))


def _share_below(end: float, lows: Floats, highs: Floats) -> Floats:
    """Return for each interval the share of its rows that is taken to lie below `end`."""
    shares = (highs < end).astype(np.float64)
    np.divide(end - lows, highs - lows, out=shares, where=(lows < end) & (end <= highs))
    return shares


def _range_of(lows: Floats, highs: Floats, running: NDArray[np.int64]) -> tuple[float, float]:
    """Return the scores between which a class lies but for its tails; `running` counts rows up to each interval."""
    if not running.size:
        return np.inf, -np.inf
    first, last = np.searchsorted(running, [TAIL * running[-1], (1 - TAIL) * running[-1]])
    return float(lows[first]), float(highs[last])


def _bin_edges(ranges: list[tuple[float, float]], n_bins: int) -> Floats:
    """Return the edges of `n_bins` bins of equal width that cover both ranges; a single score gets some room."""
    if n_bins < 1:
        raise ValueError(f"n_bins must be at least 1, got {n_bins}")
    low, high = min(low for low, _ in ranges), max(high for _, high in ranges)
    if low > high:
        raise ValueError("a histogram needs at least one row")
    low, high = float(np.clip(low, -FARTHEST, FARTHEST)), float(np.clip(high, -FARTHEST, FARTHEST))
    if high - low <= NARROWEST * max(abs(low), abs(high)):
        room = max(abs(low), abs(high)) / 2 or 0.5
        low, high = low - room, high + room
    return np.linspace(low, high, n_bins + 1)
