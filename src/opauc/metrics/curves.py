"""The ROC curve and the precision-recall curve, exact, with ties and without idle points."""

from __future__ import annotations

from heapq import heapify, heappop, heappush
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from opauc.metrics.exact_auc import Counts, Flags, checked_scores, require_both_classes
from opauc.types import Floats


class RocCurve(NamedTuple):
    """Corners of the ROC curve from (0, 0) to (1, 1); row i calls positive what scores at least thresholds[i]."""

    false_positive_rate: Floats
    true_positive_rate: Floats
    thresholds: Floats


class PrecisionRecallCurve(NamedTuple):
    """Points from recall one down to recall zero.

    The last point, precision 1 at recall 0, has no threshold, so `thresholds` is shorter by one.
    """

    precision: Floats
    recall: Floats
    thresholds: Floats


def roc_curve(labels: ArrayLike, scores: ArrayLike) -> RocCurve:
    """Return the ROC curve without the points in the middle of equal steps, which lie on a straight line.

    The first threshold is infinite: nothing is called positive there.

    Examples
    --------
    >>> from opauc.metrics import roc_curve
    >>> curve = roc_curve([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
    >>> curve.false_positive_rate.tolist(), curve.true_positive_rate.tolist()
    ([0.0, 0.0, 0.5, 0.5, 1.0], [0.0, 0.5, 0.5, 1.0, 1.0])
    >>> curve.thresholds.tolist()
    [inf, 0.8, 0.4, 0.35, 0.1]
    """
    false, true, thresholds = _called_positive(*_both_classes(labels, scores))
    # Equal steps in a row make a straight line: a corner is where the next step differs.
    kept = _ends_and((np.diff(false, 2) != 0) | (np.diff(true, 2) != 0), false.size)
    return RocCurve(
        np.append(0.0, false[kept] / false[-1]),
        np.append(0.0, true[kept] / true[-1]),
        np.append(np.inf, thresholds[kept]),
    )


def precision_recall_curve(labels: ArrayLike, scores: ArrayLike) -> PrecisionRecallCurve:
    """Return precision and recall at every threshold that matters, in rising order of the threshold.

    A threshold matters unless the true positives are the same at the one below
    and the one above: between them precision only changes along a line of constant recall.

    Examples
    --------
    >>> from opauc.metrics import precision_recall_curve
    >>> curve = precision_recall_curve([0, 1, 0, 1], [0.1, 0.35, 0.4, 0.8])
    >>> [round(value, 3) for value in curve.precision.tolist()], curve.recall.tolist()
    ([0.5, 0.667, 0.5, 1.0, 1.0], [1.0, 1.0, 0.5, 0.5, 0.0])
    >>> curve.thresholds.tolist()
    [0.1, 0.35, 0.4, 0.8]
    """
    false, true, thresholds = _called_positive(*_both_classes(labels, scores))
    gained = np.diff(true) != 0
    kept = _ends_and(gained[:-1] | gained[1:], true.size)
    false, true, thresholds = false[kept], true[kept], thresholds[kept]
    precision, recall = true / (true + false), true / true[-1]
    return PrecisionRecallCurve(np.append(precision[::-1], 1.0), np.append(recall[::-1], 0.0), thresholds[::-1].copy())


def _both_classes(labels: ArrayLike, scores: ArrayLike) -> tuple[Flags, Floats]:
    positive, score = checked_scores(labels, scores)
    require_both_classes(positive)
    return positive, score


def _ends_and(inner: Flags, size: int) -> Flags:
    """Return flags for `size` points: the first, the last and the flagged ones between them."""
    kept = np.ones(size, np.bool_)
    kept[1 : size - 1] = inner
    return kept


def _called_positive(positive: Flags, score: Floats) -> tuple[Counts, Counts, Floats]:
    """Return the negatives and the positives that score at least each distinct score, and those scores, falling."""
    order = np.argsort(-score, kind="stable")
    ranked = score[order]
    lasts = np.flatnonzero(np.append(ranked[1:] != ranked[:-1], True))
    true = np.cumsum(positive[order], dtype=np.int64)[lasts]
    return 1 + lasts - true, true, ranked[lasts]


# In the unit square; on a chart 400 pixels wide a fifth of a pixel.
UNSEEN = 0.0005
MOST_POINTS = 500


def needed_points(x: Floats, y: Floats, most: int = MOST_POINTS, unseen: float = UNSEEN) -> NDArray[np.intp]:
    """Return which points, rising, to keep of a curve: every other is within `unseen` of the line through those.

    The point farthest from its chord is added again and again (Douglas and
    Peucker's rule), so that where `most` points are too few the worst gap is the smallest such a choice leaves.
    """
    kept = {0, x.size - 1}
    chords = [_farthest(x, y, 0, x.size - 1)]
    heapify(chords)
    while chords and len(kept) < most and -chords[0][0] > unseen:
        _, first, middle, last = heappop(chords)
        kept.add(middle)
        for start, end in ((first, middle), (middle, last)):
            if end - start > 1:
                heappush(chords, _farthest(x, y, start, end))
    return np.array(sorted(kept))


def _farthest(x: Floats, y: Floats, first: int, last: int) -> tuple[float, int, int, int]:
    """Return minus the largest distance from the chord, and the first point of the chord, the farthest and the last."""
    across, up = x[last] - x[first], y[last] - y[first]
    right, above = x[first : last + 1] - x[first], y[first : last + 1] - y[first]
    length = float(np.hypot(across, up))
    distances = np.abs(across * above - up * right) / length if length > 0 else np.hypot(right, above)
    middle = int(distances.argmax())
    return -float(distances[middle]), first, first + middle, last
