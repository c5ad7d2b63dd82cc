"""Exact ROC and precision-recall curves with ties, and their downsampling for charts."""

from __future__ import annotations

from heapq import heapify, heappop, heappush
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from opauc.metrics.exact_auc import Counts, Flags, check_both_classes, check_scores
from opauc.types import Floats


class RocCurve(NamedTuple):
    """Corners of the ROC curve from (0, 0) to (1, 1); at point i, scores of at least thresholds[i] are positive.

    Attributes
    ----------
    false_positive_rate, true_positive_rate : ndarray
        The rates at each point.
    thresholds : ndarray
        Scores of at least this are positive.

    Examples
    --------
    >>> from opauc.metrics import roc_curve
    >>> roc_curve([0, 1], [0.2, 0.7]).true_positive_rate.tolist()
    [0.0, 1.0, 1.0]
    """

    false_positive_rate: Floats
    true_positive_rate: Floats
    thresholds: Floats


class PrecisionRecallCurve(NamedTuple):
    """Points from recall one down to recall zero.

    The last point, precision 1 at recall 0, has no threshold, so `thresholds` is shorter by one.

    Attributes
    ----------
    precision, recall : ndarray
        Precision and recall at each point.
    thresholds : ndarray
        Scores of at least this are positive; shorter by one.

    Examples
    --------
    >>> from opauc.metrics import precision_recall_curve
    >>> precision_recall_curve([0, 1], [0.2, 0.7]).recall.tolist()
    [1.0, 1.0, 0.0]
    """

    precision: Floats
    recall: Floats
    thresholds: Floats


def roc_curve(labels: ArrayLike, scores: ArrayLike) -> RocCurve:
    """Return the ROC curve without points on a straight line between their neighbors.

    The first threshold is infinite: no row is predicted positive there.

    Parameters
    ----------
    labels : array-like of shape (n_rows,)
        Labels of 0 and 1, or booleans.
    scores : array-like of shape (n_rows,)
        Scores, the higher the more positive; none is NaN.

    Returns
    -------
    curve : RocCurve
        The corners of the curve.

    Examples
    --------
    >>> from opauc.metrics import roc_curve
    >>> curve = roc_curve([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
    >>> curve.false_positive_rate.tolist(), curve.true_positive_rate.tolist()
    ([0.0, 0.0, 0.5, 0.5, 1.0], [0.0, 0.5, 0.5, 1.0, 1.0])
    >>> curve.thresholds.tolist()
    [inf, 0.8, 0.4, 0.35, 0.1]
    """
    false, true, thresholds = _cumulative_counts(*_both_classes(labels, scores))
    # Successive equal steps make a straight line: a corner is where the next step differs.
    kept = _keep_ends((np.diff(false, 2) != 0) | (np.diff(true, 2) != 0), false.size)
    return RocCurve(
        np.append(0.0, false[kept] / false[-1]),
        np.append(0.0, true[kept] / true[-1]),
        np.append(np.inf, thresholds[kept]),
    )


def precision_recall_curve(labels: ArrayLike, scores: ArrayLike) -> PrecisionRecallCurve:
    """Return precision and recall at increasing thresholds.

    A threshold is left out where its two neighbors have the same true positives:
    between them only precision changes, along a line of constant recall.

    Parameters
    ----------
    labels : array-like of shape (n_rows,)
        Labels of 0 and 1, or booleans.
    scores : array-like of shape (n_rows,)
        Scores, the higher the more positive; none is NaN.

    Returns
    -------
    curve : PrecisionRecallCurve
        Precision and recall.

    Examples
    --------
    >>> from opauc.metrics import precision_recall_curve
    >>> curve = precision_recall_curve([0, 1, 0, 1], [0.1, 0.35, 0.4, 0.8])
    >>> [round(value, 3) for value in curve.precision.tolist()], curve.recall.tolist()
    ([0.5, 0.667, 0.5, 1.0, 1.0], [1.0, 1.0, 0.5, 0.5, 0.0])
    >>> curve.thresholds.tolist()
    [0.1, 0.35, 0.4, 0.8]
    """
    false, true, thresholds = _cumulative_counts(*_both_classes(labels, scores))
    changes = np.diff(true) != 0
    kept = _keep_ends(changes[:-1] | changes[1:], true.size)
    false, true, thresholds = false[kept], true[kept], thresholds[kept]
    precision, recall = true / (true + false), true / true[-1]
    return PrecisionRecallCurve(np.append(precision[::-1], 1.0), np.append(recall[::-1], 0.0), thresholds[::-1].copy())


def _both_classes(labels: ArrayLike, scores: ArrayLike) -> tuple[Flags, Floats]:
    positive, score = check_scores(labels, scores)
    check_both_classes(positive)
    return positive, score


def _keep_ends(inner: Flags, size: int) -> Flags:
    """Return flags for `size` points: the first, the last and the flagged ones between them."""
    kept = np.ones(size, np.bool_)
    kept[1 : size - 1] = inner
    return kept


def _cumulative_counts(positive: Flags, score: Floats) -> tuple[Counts, Counts, Floats]:
    """Return the false and true positives at each distinct score as threshold, and those scores, decreasing."""
    order = np.argsort(-score, kind="stable")
    ranked = score[order]
    lasts = np.flatnonzero(np.append(ranked[1:] != ranked[:-1], True))
    true = np.cumsum(positive[order], dtype=np.int64)[lasts]
    return 1 + lasts - true, true, ranked[lasts]


# In units of the axes, which run from 0 to 1: a fifth of a pixel on a chart 400 pixels wide.
TOLERANCE = 0.0005
MAX_POINTS = 500


def downsample_curve(
    x: Floats, y: Floats, max_points: int = MAX_POINTS, tolerance: float = TOLERANCE
) -> NDArray[np.intp]:
    """Return the sorted indices of the points to keep, so that all others are within `tolerance` of the line.

    The Douglas-Peucker rule: repeatedly add the point farthest from its chord,
    until all are within the tolerance or `max_points` are kept.
    """
    kept = {0, x.size - 1}
    chords = [_farthest(x, y, 0, x.size - 1)]
    heapify(chords)
    while chords and len(kept) < max_points and -chords[0][0] > tolerance:
        _, first, middle, last = heappop(chords)
        kept.add(middle)
        for start, end in ((first, middle), (middle, last)):
            if end - start > 1:
                heappush(chords, _farthest(x, y, start, end))
    return np.array(sorted(kept))


def _farthest(x: Floats, y: Floats, first: int, last: int) -> tuple[float, int, int, int]:
    """Return minus the largest distance from a chord, and the indices of its first, farthest and last point."""
    across, up = x[last] - x[first], y[last] - y[first]
    right, above = x[first : last + 1] - x[first], y[first : last + 1] - y[first]
    length = float(np.hypot(across, up))
    distances = np.abs(across * above - up * right) / length if length > 0 else np.hypot(right, above)
    middle = int(distances.argmax())
    return -float(distances[middle]), first, first + middle, last
