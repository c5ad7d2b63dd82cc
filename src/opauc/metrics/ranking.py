"""AUC, curves and operating points of a set of scores, from the rows or from a streaming AUC."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from opauc.metrics.curves import PrecisionRecallCurve, RocCurve, downsample_curve, precision_recall_curve, roc_curve
from opauc.metrics.exact_auc import Counts, check_scores
from opauc.metrics.intervals import AucInterval, PlacementVariances, auc_interval
from opauc.metrics.score_histogram import ScoreHistogram
from opauc.metrics.streaming_auc import StreamingAuc
from opauc.types import Floats

MAX_FALSE_POSITIVE_RATES = (0.001, 0.01, 0.05, 0.1, 0.2)


class OperatingPoint(NamedTuple):
    """Rates if every score of at least `threshold` is predicted positive.

    Attributes
    ----------
    max_false_positive_rate : float
        The limit for which the threshold was chosen.
    threshold : float
        Scores of at least this are positive.
    false_positive_rate, true_positive_rate : float
        The rates at the threshold.
    precision : float
        The share of positive rows among those at or above the threshold.

    Examples
    --------
    >>> from opauc.metrics import Ranking
    >>> point = Ranking.of([0, 0, 1, 1], [0.1, 0.3, 0.6, 0.8]).operating_points[0]
    >>> point.threshold, point.true_positive_rate, point.precision
    (0.6, 1.0, 1.0)
    """

    max_false_positive_rate: float  # the limit for which the threshold was chosen
    threshold: float
    false_positive_rate: float
    true_positive_rate: float
    precision: float


@dataclass(frozen=True, slots=True, eq=False)
class Ranking:
    """The AUC with its 95 % confidence interval, ROC and precision-recall curves, and a score histogram.

    Curves are downsampled for charts. `auc_bounds` contains the exact AUC of
    these rows; it is None where `confidence.auc` is exact.

    Examples
    --------
    >>> from opauc.metrics import Ranking, StreamingAuc
    >>> labels, scores = [0, 0, 0, 1, 1, 1], [0.1, 0.3, 0.6, 0.4, 0.8, 0.9]
    >>> exact, streamed = Ranking.of(labels, scores), Ranking.of_stream(StreamingAuc.of(labels, scores))
    >>> round(exact.confidence.auc, 3), round(exact.confidence.low, 3), exact.auc_bounds
    (0.889, 0.396, None)
    >>> round(streamed.confidence.low, 3), streamed.auc_bounds == (exact.confidence.auc,) * 2
    (0.396, True)
    """

    n_negatives: int
    n_positives: int
    confidence: AucInterval
    auc_bounds: tuple[float, float] | None
    average_precision: float
    roc: RocCurve
    precision_recall: PrecisionRecallCurve
    operating_points: tuple[OperatingPoint, ...]
    histogram: ScoreHistogram

    @classmethod
    def of(cls, labels: ArrayLike, scores: ArrayLike) -> Ranking:
        """Return the exact ranking of rows: labels of 0 and 1 or booleans.

        Parameters
        ----------
        labels : array-like of shape (n_rows,)
            Labels of 0 and 1, or booleans.
        scores : array-like of shape (n_rows,)
            Scores, the higher the more positive; none is NaN.

        Returns
        -------
        ranking : Ranking
            The summary.
        """
        positive, score = check_scores(labels, scores)
        confidence = auc_interval(positive, score)
        counts = np.array([positive.size - positive.sum(), positive.sum()])
        roc, precision_recall = roc_curve(positive, score), precision_recall_curve(positive, score)
        return cls._of_curves(counts, confidence, None, roc, precision_recall, ScoreHistogram.of(positive, score))

    @classmethod
    def of_stream(cls, stream: StreamingAuc) -> Ranking:
        """Return the ranking of the rows of a streaming AUC; scores of one interval count as ties.

        Parameters
        ----------
        stream : StreamingAuc
            The scores of a stream.

        Returns
        -------
        ranking : Ranking
            The summary.
        """
        confidence = stream_interval(stream)
        roc, precision_recall = stream_curves(stream)
        return cls._of_curves(
            stream.counts, confidence, stream.interval(), roc, precision_recall, ScoreHistogram.of_stream(stream)
        )

    @classmethod
    def _of_curves(
        cls,
        counts: Counts,
        confidence: AucInterval,
        auc_bounds: tuple[float, float] | None,
        roc: RocCurve,
        precision_recall: PrecisionRecallCurve,
        histogram: ScoreHistogram,
    ) -> Ranking:
        n_negatives, n_positives = int(counts[0]), int(counts[1])
        precision, recall, thresholds = precision_recall
        corners = downsample_curve(roc.false_positive_rate, roc.true_positive_rate)
        points = downsample_curve(recall, precision)
        return cls(
            n_negatives,
            n_positives,
            confidence,
            auc_bounds,
            float(-np.dot(np.diff(recall), precision[:-1])),
            RocCurve(*(part[corners] for part in roc)),
            PrecisionRecallCurve(precision[points], recall[points], thresholds[points[:-1]]),
            _operating_points(roc, n_negatives, n_positives),
            histogram,
        )


def stream_curves(stream: StreamingAuc) -> tuple[RocCurve, PrecisionRecallCurve]:
    """Return the ROC and the precision-recall curve with a point at the low end of every interval.

    The area under the ROC curve equals the estimate of the AUC if the intervals are disjoint.
    """
    _check_both_classes(stream)
    lows, class_counts = stream.by_decreasing_score()
    false, true = np.cumsum(class_counts, axis=0).T
    roc = RocCurve(np.append(0.0, false / false[-1]), np.append(0.0, true / true[-1]), np.append(np.inf, lows))
    precision, recall = true / (true + false), true / true[-1]
    return roc, PrecisionRecallCurve(np.append(precision[::-1], 1.0), np.append(recall[::-1], 0.0), lows[::-1].copy())


def stream_interval(stream: StreamingAuc, level: float = 0.95) -> AucInterval:
    """Return the estimated AUC with its confidence interval, widened by the bounds of the streaming AUC.

    The variance treats the scores of an interval as ties; it is exact if every interval is a single score.
    """
    _check_both_classes(stream)
    n_negatives, n_positives = (int(count) for count in stream.counts)
    auc, (low, high) = stream.estimate(), stream.interval()
    negatives, positives = stream.by_decreasing_score()[1].T
    beaten = (np.cumsum(negatives[::-1])[::-1] - negatives / 2) / n_negatives
    beating = (np.cumsum(positives) - positives / 2) / n_positives
    variances = PlacementVariances(
        _variance(beaten, positives), _variance(beating, negatives), n_positives, n_negatives
    )
    interval = variances.interval(auc, level)
    return interval._replace(low=max(interval.low - (auc - low), 0.0), high=min(interval.high + (high - auc), 1.0))


def _check_both_classes(stream: StreamingAuc) -> None:
    n_negatives, n_positives = stream.counts
    if not (n_negatives and n_positives):
        raise ValueError(f"AUC needs rows of both classes, got {n_positives} positives and {n_negatives} negatives")


def _variance(values: Floats, counts: Counts) -> float:
    """Return the variance of values with their counts; exactly zero if all are equal."""
    values, counts = values[counts > 0], counts[counts > 0]
    total = int(counts.sum())
    if total == 1 or np.ptp(values) == 0.0:
        return 0.0
    mean = np.dot(counts, values) / total
    return float(np.dot(counts, (values - mean) ** 2) / (total - 1))


def _operating_points(roc: RocCurve, n_negatives: int, n_positives: int) -> tuple[OperatingPoint, ...]:
    """Return the last point of the curve within each false positive rate, if any row is predicted positive there."""
    points = []
    for limit in MAX_FALSE_POSITIVE_RATES:
        at = int(np.searchsorted(roc.false_positive_rate, limit, side="right")) - 1
        false, true, threshold = (float(part[at]) for part in roc)
        n_predicted = false * n_negatives + true * n_positives
        if n_predicted > 0:
            points.append(OperatingPoint(limit, threshold, false, true, true * n_positives / n_predicted))
    return tuple(points)
