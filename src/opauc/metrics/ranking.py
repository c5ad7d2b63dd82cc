"""What the report page says about how well the scores rank, from scored rows or from a streaming AUC."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from opauc.metrics.curves import PrecisionRecallCurve, RocCurve, needed_points, precision_recall_curve, roc_curve
from opauc.metrics.exact_auc import Counts, checked_scores
from opauc.metrics.intervals import AucInterval, PlacementVariances, auc_interval
from opauc.metrics.score_histogram import ScoreHistogram
from opauc.metrics.streaming_auc import StreamingAuc
from opauc.types import Floats

FALSE_ALARMS = (0.001, 0.01, 0.05, 0.1, 0.2)


class OperatingPoint(NamedTuple):
    """What calling positive every score of at least `threshold` does, with `allowed` false positives at most."""

    allowed: float
    threshold: float
    false_positive_rate: float
    true_positive_rate: float
    precision: float


@dataclass(frozen=True, slots=True, eq=False)
class Ranking:
    """The AUC, how sure it is, and the curves behind it, in a few hundred numbers.

    `certain` holds bounds of the exact AUC of the rows seen where only intervals
    of scores were kept, and is absent where the AUC is exact. `confidence` says at 95 % how far
    the AUC of other rows of the same kind may be from it.

    Examples
    --------
    >>> from opauc.metrics import Ranking, StreamingAuc
    >>> labels, scores = [0, 0, 0, 1, 1, 1], [0.1, 0.3, 0.6, 0.4, 0.8, 0.9]
    >>> exact, streamed = Ranking.of(labels, scores), Ranking.of_stream(StreamingAuc.of(labels, scores))
    >>> round(exact.confidence.auc, 3), round(exact.confidence.low, 3), exact.certain
    (0.889, 0.359, None)
    >>> round(streamed.confidence.low, 3), streamed.certain == (exact.confidence.auc,) * 2
    (0.359, True)
    """

    n_negatives: int
    n_positives: int
    confidence: AucInterval
    certain: tuple[float, float] | None
    average_precision: float
    roc: RocCurve
    precision_recall: PrecisionRecallCurve
    operating_points: tuple[OperatingPoint, ...]
    histogram: ScoreHistogram

    @classmethod
    def of(cls, labels: ArrayLike, scores: ArrayLike) -> Ranking:
        """The ranking of these rows: labels of 0 and 1 or booleans; exact."""
        positive, score = checked_scores(labels, scores)
        confidence = auc_interval(positive, score)
        counts = np.array([positive.size - positive.sum(), positive.sum()])
        roc, precision_recall = roc_curve(positive, score), precision_recall_curve(positive, score)
        return cls._of_curves(counts, confidence, None, roc, precision_recall, ScoreHistogram.of(positive, score))

    @classmethod
    def of_stream(cls, stream: StreamingAuc) -> Ranking:
        """The ranking of all rows a streaming AUC has seen, the scores of one interval taken as tied."""
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
        certain: tuple[float, float] | None,
        roc: RocCurve,
        precision_recall: PrecisionRecallCurve,
        histogram: ScoreHistogram,
    ) -> Ranking:
        n_negatives, n_positives = int(counts[0]), int(counts[1])
        precision, recall, thresholds = precision_recall
        corners = needed_points(roc.false_positive_rate, roc.true_positive_rate)
        points = needed_points(recall, precision)
        return cls(
            n_negatives,
            n_positives,
            confidence,
            certain,
            float(-np.dot(np.diff(recall), precision[:-1])),
            RocCurve(*(part[corners] for part in roc)),
            PrecisionRecallCurve(precision[points], recall[points], thresholds[points[:-1]]),
            _operating_points(roc, n_negatives, n_positives),
            histogram,
        )


def stream_curves(stream: StreamingAuc) -> tuple[RocCurve, PrecisionRecallCurve]:
    """Return the ROC and the precision-recall curve with a point at the low end of every interval.

    The area under the ROC curve is the estimate of the AUC where no interval lies within another.
    """
    _require_both(stream)
    lows, class_counts = _falling(stream)
    false, true = np.cumsum(class_counts, axis=0).T
    roc = RocCurve(np.append(0.0, false / false[-1]), np.append(0.0, true / true[-1]), np.append(np.inf, lows))
    precision, recall = true / (true + false), true / true[-1]
    return roc, PrecisionRecallCurve(np.append(precision[::-1], 1.0), np.append(recall[::-1], 0.0), lows[::-1].copy())


def stream_interval(stream: StreamingAuc, level: float = 0.95) -> AucInterval:
    """Return the estimate of the AUC with its interval, widened by what the streaming AUC does not know.

    The variance is that of scores tied within each interval; where every interval is a single score it is exact.
    """
    _require_both(stream)
    n_negatives, n_positives = (int(count) for count in stream.counts)
    auc, (low, high) = stream.estimate(), stream.interval()
    negatives, positives = _falling(stream)[1].T
    beaten = (np.cumsum(negatives[::-1])[::-1] - negatives / 2) / n_negatives
    beating = (np.cumsum(positives) - positives / 2) / n_positives
    variances = PlacementVariances(
        _variance(beaten, positives), _variance(beating, negatives), n_positives, n_negatives
    )
    found = variances.interval(auc, level)
    return found._replace(low=max(found.low - (auc - low), 0.0), high=min(found.high + (high - auc), 1.0))


def _require_both(stream: StreamingAuc) -> None:
    n_negatives, n_positives = stream.counts
    if not (n_negatives and n_positives):
        raise ValueError(f"AUC needs rows of both classes, got {n_positives} positives and {n_negatives} negatives")


def _falling(stream: StreamingAuc) -> tuple[Floats, Counts]:
    """Return the low ends and the class counts of the intervals in falling order of their middles."""
    farthest = np.finfo(float).max
    lows, highs = (np.clip(bound, -farthest, farthest) for bound in (stream.lows, stream.highs))
    order = np.argsort(-(lows / 2 + highs / 2), kind="stable")
    # An interval within another may begin above it; thresholds fall all the same.
    return np.minimum.accumulate(stream.lows[order]), stream.class_counts[order]


def _variance(values: Floats, counts: Counts) -> float:
    """Return the variance of values met as often as counted; zero exactly where all are the same."""
    values, counts = values[counts > 0], counts[counts > 0]
    total = int(counts.sum())
    if total == 1 or np.ptp(values) == 0.0:
        return 0.0
    mean = np.dot(counts, values) / total
    return float(np.dot(counts, (values - mean) ** 2) / (total - 1))


def _operating_points(roc: RocCurve, n_negatives: int, n_positives: int) -> tuple[OperatingPoint, ...]:
    """Return the last point of the curve within each allowed false positive rate, unless nothing is positive there."""
    points = []
    for allowed in FALSE_ALARMS:
        at = int(np.searchsorted(roc.false_positive_rate, allowed, side="right")) - 1
        false, true, threshold = (float(part[at]) for part in roc)
        called = false * n_negatives + true * n_positives
        if called > 0:
            points.append(OperatingPoint(allowed, threshold, false, true, true * n_positives / called))
    return tuple(points)
