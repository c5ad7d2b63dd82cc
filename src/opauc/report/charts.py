"""The charts of the report page, one function each."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from opauc.metrics.calibration import Reliability
from opauc.metrics.progressive import ProgressPoint
from opauc.metrics.ranking import Ranking
from opauc.metrics.score_histogram import ScoreHistogram
from opauc.report.svg import Axis, Frame
from opauc.report.text import plain, share
from opauc.types import Floats

UNIT = Axis.linear(0.0, 1.0)


def roc_chart(ranking: Ranking) -> str:
    """The ROC curve, its area, the diagonal of chance and the operating points."""
    frame = Frame(UNIT, UNIT, "False positive rate", "True positive rate")
    line = frame.path(ranking.roc.false_positive_rate, ranking.roc.true_positive_rate)
    dots = "".join(
        frame.dot(
            point.false_positive_rate,
            point.true_positive_rate,
            f"Threshold {plain(point.threshold)}: true positive rate {share(point.true_positive_rate)}, "
            f"false positive rate {share(point.false_positive_rate)}",
        )
        for point in ranking.operating_points
    )
    marks = (
        f'<path class="area" d="{line}L{frame.x(1)} {frame.y(0)}Z"/>'
        f'<path class="guide" d="{frame.path([0, 1], [0, 1])}"/>'
        f'<text x="{frame.x(0.66)}" y="{frame.y(0.58)}">chance</text><path class="curve" d="{line}"/>{dots}'
    )
    description = (
        f"The area under the curve is {share(ranking.confidence.auc)}; under the diagonal of chance it is 0.5."
    )
    return frame.chart("roc", "ROC curve", description, marks)


def precision_recall_chart(ranking: Ranking) -> str:
    """Precision against recall, and the precision of calling every row positive."""
    frame = Frame(UNIT, UNIT, "Recall", "Precision")
    prior = ranking.n_positives / (ranking.n_positives + ranking.n_negatives)
    line = frame.path(ranking.precision_recall.recall, ranking.precision_recall.precision)
    marks = (
        f'<path class="area" d="{line}L{frame.x(0)} {frame.y(0)}L{frame.x(1)} {frame.y(0)}Z"/>'
        f'<path class="guide" d="{frame.path([0, 1], [prior, prior])}"/>'
        f'<path class="curve" d="{line}"/>'
    )
    description = (
        f"Average precision is {share(ranking.average_precision)}; calling every row positive has {share(prior)}."
    )
    return frame.chart("precision-recall", "Precision-recall curve", description, marks)


def histogram_chart(histogram: ScoreHistogram) -> str:
    """Share of each class's rows by score: negatives dashed, positives solid."""
    shares, edges = histogram.shares(), np.repeat(histogram.edges, 2)
    across = Axis.fitting(float(histogram.edges[0]), float(histogram.edges[-1]))
    up = Axis.linear(0.0, 1.08 * max(float(shares.max()), 1e-6))
    frame = Frame(across, up, "Score", "Share of the class")
    marks = ""
    for side, name in enumerate(("negative", "positive")):
        line = frame.path(edges, np.concatenate([[0], np.repeat(shares[:, side], 2), [0]]))
        marks += f'<path class="{name} bars" d="{line}"/>'
    description = "Share of the rows of each class by score; the less the two overlap, the higher the AUC."
    return frame.chart("scores", "Scores by class", description, marks)


def calibration_chart(found: Reliability) -> str:
    """Observed share of positives against predicted probability, and the diagonal where they agree."""
    axis = _chances(np.concatenate([found.predicted, found.observed]))
    frame, ends = Frame(axis, axis, "Predicted probability", "Observed share"), [axis.low, axis.high]
    marks = f'<path class="guide" d="{frame.path(ends, ends)}"/>'
    marks += f'<path class="curve" d="{frame.path(found.predicted, found.observed)}"/>'
    for predicted, observed, low, high, count in zip(*found, strict=True):
        marks += f'<path class="reach" d="{frame.path([predicted, predicted], [low, high])}"/>'
        says = f"{plain(int(count))} rows: predicted {share(predicted)}, observed {share(observed)}"
        marks += frame.dot(predicted, observed, says)
    description = (
        f"{found.counts.size} groups of rows by predicted probability; bars are 95 % limits of the observed share."
    )
    return frame.chart("calibration", "Calibration", description, marks)


def learning_chart(points: Sequence[ProgressPoint]) -> str:
    """AUC of each window of rows, scored before they were learned, at the row where the window ends."""
    rows, aucs = np.array([point.rows for point in points], float), np.array([point.auc for point in points])
    across = Axis.powers(rows[0], rows[-1]) if rows[-1] > 10 * rows[0] else _rows_from_nought(rows[-1])
    room = max(0.1 * float(np.ptp(aucs)), 0.01)
    up = Axis.linear(max(0.0, float(aucs.min()) - room), min(1.0, float(aucs.max()) + room))
    frame = Frame(across, up, "Rows learned", "AUC of the next rows")
    marks = f'<path class="curve" d="{frame.path(rows, aucs)}"/>'
    marks += "".join(
        frame.dot(point.rows, point.auc, f"Up to row {plain(point.rows)}: AUC {share(point.auc)}") for point in points
    )
    description = f"From {share(float(aucs[0]))} in the first rows to {share(float(aucs[-1]))} in the last."
    return frame.chart("learning", "Learning curve", description, marks)


def weight_bar(weight: float, largest: float) -> str:
    """A bar from the middle to the right for a positive weight, to the left for a negative one."""
    reach = 50 * abs(weight) / largest if np.isfinite(weight) and 0 < largest < np.inf else 0.0
    start, side = (50.0, "positive") if weight > 0 else (50 - reach, "negative")
    return (
        '<svg class="bar" viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">'
        f'<path class="guide" d="M50 0V10"/>'
        f'<rect class="{side}" x="{start:.2f}" y="1" width="{reach:.2f}" height="8"/></svg>'
    )


def size_bar(size: float, largest: float) -> str:
    """A bar from the left for a size that is never negative."""
    reach = 100 * size / largest if np.isfinite(size) and 0 < largest < np.inf else 0.0
    return (
        '<svg class="bar" viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">'
        f'<rect class="negative" x="0" y="1" width="{reach:.2f}" height="8"/></svg>'
    )


def _chances(values: Floats) -> Axis:
    """An axis for probabilities: logarithmic where most are a small part of the largest, as with rare positives."""
    high = min(1.0, 1.05 * max(float(values.max()), 1e-6))
    least = max(0.7 * float(values[values > 0].min(initial=high)), 1e-6 * high)
    if np.median(values) < 0.05 * high and least < 0.05 * high:
        return Axis.powers(least, high)
    return Axis.linear(0.0, high)


def _rows_from_nought(last: float) -> Axis:
    axis = Axis.linear(0.0, max(last, 1.0), 4)
    return Axis(axis.low, axis.high, axis.ticks, tuple(plain(round(tick)) for tick in axis.ticks))
