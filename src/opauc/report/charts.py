"""The charts of the report page as inline SVG: sizes from the view box, colours from the page's style."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from opauc.evaluation.calibration import Reliability
from opauc.evaluation.exact_auc import Floats
from opauc.evaluation.progressive_auc import ProgressPoint
from opauc.evaluation.ranking import Ranking
from opauc.evaluation.score_histogram import ScoreHistogram
from opauc.report.axes import Axis
from opauc.report.text import plain, safe, share

WIDTH, HEIGHT = 400, 330
LEFT, RIGHT, TOP, BOTTOM = 72, 12, 12, 56
UNIT = Axis.linear(0.0, 1.0)


def roc_chart(ranking: Ranking) -> str:
    """The ROC curve, its area, the diagonal of chance and the operating points."""
    false, true, _ = ranking.roc
    line = _path(UNIT, UNIT, false, true)
    dots = "".join(
        _dot(
            UNIT,
            UNIT,
            point.false_positive_rate,
            point.true_positive_rate,
            f"Threshold {plain(point.threshold)}: true positive rate {share(point.true_positive_rate)}, "
            f"false positive rate {share(point.false_positive_rate)}",
        )
        for point in ranking.operating_points
    )
    marks = (
        f'<path class="area" d="{line}L{_x(UNIT, 1)} {_y(UNIT, 0)}Z"/>'
        f'<path class="guide" d="{_path(UNIT, UNIT, [0, 1], [0, 1])}"/>'
        f'<text x="{_x(UNIT, 0.66)}" y="{_y(UNIT, 0.58)}">chance</text><path class="curve" d="{line}"/>{dots}'
    )
    description = (
        f"The area under the curve is {share(ranking.confidence.auc)}; under the diagonal of chance it is 0.5."
    )
    return _chart("roc", "ROC curve", description, UNIT, UNIT, "False positive rate", "True positive rate", marks)


def precision_recall_chart(ranking: Ranking) -> str:
    """Precision against recall, and the precision of calling every row positive."""
    prior = ranking.n_positives / (ranking.n_positives + ranking.n_negatives)
    line = _path(UNIT, UNIT, ranking.precision_recall.recall, ranking.precision_recall.precision)
    marks = (
        f'<path class="area" d="{line}L{_x(UNIT, 0)} {_y(UNIT, 0)}L{_x(UNIT, 1)} {_y(UNIT, 0)}Z"/>'
        f'<path class="guide" d="{_path(UNIT, UNIT, [0, 1], [prior, prior])}"/>'
        f'<path class="curve" d="{line}"/>'
    )
    description = (
        f"Average precision is {share(ranking.average_precision)}; calling every row positive has {share(prior)}."
    )
    return _chart("precision-recall", "Precision-recall curve", description, UNIT, UNIT, "Recall", "Precision", marks)


def histogram_chart(histogram: ScoreHistogram) -> str:
    """Share of each class's rows by score: negatives dashed, positives solid."""
    shares = histogram.shares()
    across = Axis.fitting(float(histogram.edges[0]), float(histogram.edges[-1]))
    up = Axis.linear(0.0, 1.08 * max(float(shares.max()), 1e-6))
    marks = ""
    for side, name in enumerate(("negative", "positive")):
        line = _path(
            across, up, np.repeat(histogram.edges, 2), np.concatenate([[0], np.repeat(shares[:, side], 2), [0]])
        )
        marks += f'<path class="{name} bars" d="{line}"/>'
    description = "Share of the rows of each class by score; the less the two overlap, the higher the AUC."
    return _chart("scores", "Scores by class", description, across, up, "Score", "Share of the class", marks)


def calibration_chart(found: Reliability) -> str:
    """Observed share of positives against predicted probability, and the diagonal where they agree."""
    axis = _chances(np.concatenate([found.predicted, found.observed]))
    ends = [axis.low, axis.high]
    marks = f'<path class="guide" d="{_path(axis, axis, ends, ends)}"/>'
    marks += f'<path class="curve" d="{_path(axis, axis, found.predicted, found.observed)}"/>'
    for predicted, observed, low, high, count in zip(*found, strict=True):
        marks += f'<path class="reach" d="{_path(axis, axis, [predicted, predicted], [low, high])}"/>'
        marks += _dot(
            axis,
            axis,
            predicted,
            observed,
            f"{plain(int(count))} rows: predicted {share(predicted)}, observed {share(observed)}",
        )
    description = (
        f"{found.counts.size} groups of rows by predicted probability; bars are 95 % limits of the observed share."
    )
    names = ("Predicted probability", "Observed share")
    return _chart("calibration", "Calibration", description, axis, axis, *names, marks)


def learning_chart(points: Sequence[ProgressPoint]) -> str:
    """AUC of each window of rows, scored before they were learnt, at the row where the window ends."""
    rows, aucs = np.array([point.rows for point in points], float), np.array([point.auc for point in points])
    across = Axis.powers(rows[0], rows[-1]) if rows[-1] > 10 * rows[0] else _rows_from_nought(rows[-1])
    room = max(0.1 * float(np.ptp(aucs)), 0.01)
    up = Axis.linear(max(0.0, float(aucs.min()) - room), min(1.0, float(aucs.max()) + room))
    marks = f'<path class="curve" d="{_path(across, up, rows, aucs)}"/>'
    marks += "".join(
        _dot(across, up, point.rows, point.auc, f"Up to row {plain(point.rows)}: AUC {share(point.auc)}")
        for point in points
    )
    description = f"From {share(float(aucs[0]))} in the first rows to {share(float(aucs[-1]))} in the last."
    return _chart("learning", "Learning curve", description, across, up, "Rows learnt", "AUC of the next rows", marks)


def weight_bar(weight: float, largest: float) -> str:
    """A bar from the middle to the right for a positive weight, to the left for a negative one."""
    reach = 50 * abs(weight) / largest if np.isfinite(weight) and 0 < largest < np.inf else 0.0
    start, side = (50.0, "positive") if weight > 0 else (50 - reach, "negative")
    return (
        '<svg class="bar" viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">'
        f'<path class="guide" d="M50 0V10"/>'
        f'<rect class="{side}" x="{start:.2f}" y="1" width="{reach:.2f}" height="8"/></svg>'
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


def _chart(
    slug: str, title: str, description: str, across: Axis, up: Axis, x_name: str, y_name: str, marks: str
) -> str:
    """Return the frame of a chart with its axes around the marks."""
    bottom, right, middle = HEIGHT - BOTTOM, WIDTH - RIGHT, LEFT + (WIDTH - LEFT - RIGHT) / 2
    columns = "".join(
        f'<path class="grid" d="M{_x(across, tick)} {TOP}V{bottom}"/>'
        f'<text x="{_x(across, tick)}" y="{bottom + 23}" text-anchor="middle">{label}</text>'
        for tick, label in zip(across.ticks, across.labels, strict=True)
    )
    lines = "".join(
        f'<path class="grid" d="M{LEFT} {_y(up, tick)}H{right}"/>'
        f'<text x="{LEFT - 8}" y="{_y(up, tick)}" dy=".35em" text-anchor="end">{label}</text>'
        for tick, label in zip(up.ticks, up.labels, strict=True)
    )
    x_name, y_name = (
        f"{name}, log scale" if axis.logarithmic else name for name, axis in ((x_name, across), (y_name, up))
    )
    centre = TOP + (bottom - TOP) / 2
    return (
        f'<svg class="chart" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-labelledby="{slug}-title {slug}-about">'
        f'<title id="{slug}-title">{safe(title)}</title><desc id="{slug}-about">{safe(description)}</desc>'
        f'{columns}{lines}<path class="axis" d="M{LEFT} {TOP}V{bottom}H{right}"/>{marks}'
        f'<text class="name" x="{middle}" y="{HEIGHT - 8}" text-anchor="middle">{safe(x_name)}</text>'
        f'<text class="name" transform="translate(12 {centre}) rotate(-90)" text-anchor="middle">{safe(y_name)}</text>'
        "</svg>"
    )


def _x(axis: Axis, value: ArrayLike) -> str:
    return f"{LEFT + (WIDTH - LEFT - RIGHT) * float(axis.at(value)):.2f}"


def _y(axis: Axis, value: ArrayLike) -> str:
    return f"{TOP + (HEIGHT - TOP - BOTTOM) * (1 - float(axis.at(value))):.2f}"


def _path(across: Axis, up: Axis, x: ArrayLike, y: ArrayLike) -> str:
    """Return the drawing commands of a line through the points."""
    lefts = LEFT + (WIDTH - LEFT - RIGHT) * across.at(x)
    tops = TOP + (HEIGHT - TOP - BOTTOM) * (1 - up.at(y))
    return "M" + "L".join(f"{left:.2f} {top:.2f}" for left, top in zip(lefts, tops, strict=True))


def _dot(across: Axis, up: Axis, x: float, y: float, says: str) -> str:
    return f'<circle class="dot" cx="{_x(across, x)}" cy="{_y(up, y)}" r="4"><title>{safe(says)}</title></circle>'
