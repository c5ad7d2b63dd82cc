"""The ROC curve and the precision-recall curve, exact, with ties and without idle points."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from opauc.evaluation.exact_auc import Counts, Flags, checked_scores, require_both_classes
from opauc.rows import Floats


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
    >>> from opauc.evaluation import roc_curve
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
    >>> from opauc.evaluation import precision_recall_curve
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
