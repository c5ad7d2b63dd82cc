"""The charts of the scores and of the penalty, as SVG."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from opauc.metrics.calibration import Reliability
from opauc.metrics.progressive import ProgressPoint
from opauc.metrics.ranking import Ranking
from opauc.metrics.score_histogram import ScoreHistogram
from opauc.report.inputs import PenaltyChoice
from opauc.report.svg import TOP, Axis, Frame
from opauc.report.text import plain, safe, share
from opauc.types import Floats

UNIT = Axis.linear(0.0, 1.0)

CRITERIA = {
    "pair_loss": "Pair loss of held-out folds",
    "log_loss": "Log loss of held-out folds",
    "auc": "AUC of held-out folds",
}
# Zero weights have a pair loss of 0.5: larger losses are cut off.
MAX_LOSS = 0.55
# Height of a line of text, and the margin at the ends of an axis as a share of its length.
LINE, MARGIN = 17.0, 0.06
# Smallest margin: ticks closer than a thousandth would need too many digits.
MIN_MARGIN = 0.002
# The band of the learning curve may extend this far beyond the curve, as a multiple of the range of the curve.
MAX_BAND = 1.5
# Space for the line numbers left of the path chart, as a share of the axis.
NUMBER_SPACE = 0.1
# Length of the leader from a number to its line.
LEADER = 14.0


def roc_chart(ranking: Ranking) -> str:
    """Draw the ROC curve, the diagonal of random scores and the operating points."""
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
        f'<text x="{frame.x(0.66)}" y="{frame.y(0.58)}">random</text><path class="curve" d="{line}"/>{dots}'
    )
    description = f"The area under the curve is {share(ranking.confidence.auc)}; random scores have 0.5."
    return frame.chart("roc", "ROC curve", description, marks)


def precision_recall_chart(ranking: Ranking) -> str:
    """Draw precision against recall, and the precision of predicting every row positive."""
    frame = Frame(UNIT, UNIT, "Recall", "Precision")
    prior = ranking.n_positives / (ranking.n_positives + ranking.n_negatives)
    line = frame.path(ranking.precision_recall.recall, ranking.precision_recall.precision)
    marks = (
        f'<path class="area" d="{line}L{frame.x(0)} {frame.y(0)}L{frame.x(1)} {frame.y(0)}Z"/>'
        f'<path class="guide" d="{frame.path([0, 1], [prior, prior])}"/>'
        f'<path class="curve" d="{line}"/>'
    )
    description = (
        f"Average precision is {share(ranking.average_precision)}; predicting every row positive has {share(prior)}."
    )
    return frame.chart("precision-recall", "Precision-recall curve", description, marks)


def histogram_chart(histogram: ScoreHistogram) -> str:
    """Draw the share of each class by score: negatives dashed, positives solid."""
    shares, edges = histogram.shares(), np.repeat(histogram.edges, 2)
    across = Axis.fitting(float(histogram.edges[0]), float(histogram.edges[-1]))
    up = Axis.linear(0.0, 1.08 * max(float(shares.max()), 1e-6))
    frame = Frame(across, up, "Score", "Share of the class")
    marks = ""
    for side, name in enumerate(("negative", "positive")):
        line = frame.path(edges, np.concatenate([[0], np.repeat(shares[:, side], 2), [0]]))
        marks += f'<path class="{name} bars" d="{line}"/>'
    description = "Share of the rows of each class by score; the smaller the overlap, the higher the AUC."
    return frame.chart("scores", "Scores by class", description, marks)


def calibration_chart(curve: Reliability, slug: str = "calibration") -> str:
    """Draw the observed share of positives against the predicted probability, and the diagonal of agreement."""
    axis = _probability_axis(np.concatenate([curve.predicted, curve.observed]))
    frame, ends = Frame(axis, axis, "Predicted probability", "Observed share"), [axis.low, axis.high]
    marks = f'<path class="guide" d="{frame.path(ends, ends)}"/>'
    marks += f'<path class="curve" d="{frame.path(curve.predicted, curve.observed)}"/>'
    for predicted, observed, low, high, count in zip(*curve, strict=True):
        marks += f'<path class="error-bar" d="{frame.path([predicted, predicted], [low, high])}"/>'
        tooltip = f"{plain(int(count))} rows: predicted {share(predicted)}, observed {share(observed)}"
        marks += frame.dot(predicted, observed, tooltip)
    description = (
        f"{curve.counts.size} groups of rows by predicted probability; bars are 95 % limits of the observed share."
    )
    return frame.chart(slug, "Calibration", description, marks)


class ProgressLine(NamedTuple):
    """The mean AUC of the windows up to each row of training, and the limits of its band."""

    rows: Floats
    auc: Floats
    low: Floats
    high: Floats


def cumulative_progress(points: Sequence[ProgressPoint]) -> ProgressLine:
    """Return the progressive AUC of all rows so far: the mean over the windows, weighted by their rows.

    The band has the exact bounds of the windows and two standard errors of the mean. Those come from how much
    successive windows differ, with a variance inversely proportional to their rows.

    Parameters
    ----------
    points : sequence of ProgressPoint
        The AUC of successive windows.

    Returns
    -------
    progress : ProgressLine
        A position of each array is a window.

    Examples
    --------
    >>> from opauc.metrics import ProgressPoint
    >>> from opauc.report.charts import cumulative_progress
    >>> windows = [ProgressPoint(100, 0.7, 0.7, 0.7), ProgressPoint(400, 0.9, 0.9, 0.9)]
    >>> progress = cumulative_progress(windows)
    >>> progress.rows.tolist(), progress.auc.round(2).tolist()
    ([100.0, 400.0], [0.7, 0.85])
    """
    rows, aucs, lows, highs = np.array(points, float).T
    weights = np.maximum(np.diff(rows, prepend=0.0), 1.0)
    totals = np.cumsum(weights)
    mean, low, high = (np.cumsum(weights * part) / totals for part in (aucs, lows, highs))
    steps = np.diff(aucs) ** 2 / (1.0 / weights[1:] + 1.0 / weights[:-1])
    error = np.sqrt((float(steps.mean()) if steps.size else 0.0) / totals)
    return ProgressLine(rows, mean, np.maximum(low - 2.0 * error, 0.0), np.minimum(high + 2.0 * error, 1.0))


def learning_chart(points: Sequence[ProgressPoint]) -> str:
    """Draw the progressive AUC of all rows so far with its band, at the row where each window ends."""
    progress = cumulative_progress(points)
    rows, aucs = progress.rows, progress.auc
    across = Axis.powers(rows[0], rows[-1]) if rows[-1] > 10 * rows[0] else _row_axis(rows[-1])
    # The band of the first windows may be wide: it is cut where the curve would become flat.
    least, most = float(aucs.min()), float(aucs.max())
    extent = max(MAX_BAND * (most - least), float((progress.high - progress.low).min()), 0.01)
    low, high = max(float(progress.low.min()), least - extent), min(float(progress.high.max()), most + extent)
    room = max(MARGIN * (high - low), MIN_MARGIN)
    frame = Frame(across, Axis.linear(max(0.0, low - room), min(1.0, high + room)), "Training rows", "AUC so far")
    band = frame.path(np.r_[rows, rows[::-1]], np.r_[progress.high, progress.low[::-1]])
    marks = f'<path class="area band" d="{band}Z"/><path class="curve" d="{frame.path(rows, aucs)}"/>'
    last = f"AUC {share(float(aucs[-1]))} ({share(float(progress.low[-1]))} to {share(float(progress.high[-1]))})"
    marks += frame.dot(rows[-1], aucs[-1], f"Up to row {plain(round(rows[-1]))}: {last}")
    description = f"From {share(float(aucs[0]))} after the first window to {last} after the last."
    return frame.chart("learning", "Learning curve", description, marks)


def criterion_chart(choice: PenaltyChoice) -> str:
    """Draw the mean criterion of each penalty over the folds with its standard error, and mark two penalties."""
    order = np.argsort(choice.positions)
    at, means, errors = choice.positions[order], choice.means[order], choice.errors[order]
    low, high = means - errors, means + errors
    if choice.criterion != "auc":
        high = np.minimum(high, max(MAX_LOSS, 1.1 * float(choice.means[choice.chosen])))
    room = max(MARGIN * float(high.max() - low.min()), MIN_MARGIN)
    up = Axis.linear(float(low.min()) - room, float(high.max()) + room)
    frame = Frame(Axis.powers(float(at[0]), float(at[-1])), up, "Penalty alpha", CRITERIA[choice.criterion])
    band = frame.path(np.concatenate([at, at[::-1]]), np.concatenate([high, low[::-1]]))
    marks = f'<path class="area" d="{band}Z"/><path class="curve" d="{frame.path(at, means)}"/>'
    marks += "".join(
        frame.dot(where, mean, f"alpha {plain(float(alpha))}: {plain(float(mean))} ± {plain(float(error))}")
        for alpha, where, mean, error in zip(choice.alphas[order], at, means, errors, strict=True)
    )
    marks += _mark(frame, choice, choice.chosen, "chosen")
    if choice.one_standard_error != choice.chosen:
        marks += _mark(frame, choice, choice.one_standard_error, "one-se")
    chosen = _alpha(choice, choice.chosen)
    description = f"Mean of {choice.n_folds} folds, band of one standard error; the chosen penalty is {chosen}."
    return frame.chart("criterion", "Criterion by penalty", description, marks)


def criterion_legend(choice: PenaltyChoice) -> str:
    """Return the legend of the filled dots."""
    marks = {"chosen": ("chosen", choice.chosen)}
    if choice.one_standard_error != choice.chosen:
        marks["one-se"] = ("largest within one standard error", choice.one_standard_error)
    parts = (
        f'<span class="{css_class}">{label}: {_alpha(choice, at)}</span>' for css_class, (label, at) in marks.items()
    )
    return f'<span class="key dots">{"".join(parts)}</span>'


def path_chart(choice: PenaltyChoice) -> str:
    """Draw the standardized weights of the largest features by penalty, one numbered line per feature."""
    order = np.argsort(choice.positions)
    at, weights = choice.positions[order], choice.standardized_weights[order]
    across = Axis.powers(float(at[0] * (at[0] / at[-1]) ** NUMBER_SPACE), float(at[-1]))
    low, high = min(0.0, float(weights.min())), max(0.0, float(weights.max()))
    room = MARGIN * (high - low or 1.0)
    frame = Frame(across, Axis.linear(low - room, high + room), "Penalty alpha", "Weight × SD")
    chosen = choice.positions[choice.chosen]
    marks = f'<path class="guide" d="{frame.path([chosen, chosen], [frame.up.low, frame.up.high])}"/>'
    marks += f'<path class="axis" d="{frame.path([across.low, across.high], [0.0, 0.0])}"/>'
    lines = zip(choice.names, weights.T, weights[order.tolist().index(choice.chosen)], strict=True)
    for name, line, weight in lines:
        css_class = _sign_class(weight)
        marks += f'<path class="{css_class}" d="{frame.path(at, line)}"><title>{safe(name)}</title></path>'
    tops = spread_apart(
        [float(frame.y(value)) for value in weights[0]], LINE, TOP + LINE / 2, float(frame.y(frame.up.low))
    )
    first = float(frame.x(at[0]))
    for number, (top, value) in enumerate(zip(tops, weights[0], strict=True), start=1):
        marks += f'<path class="leader" d="M{first - LEADER:.2f} {top:.2f}L{first:.2f} {frame.y(value)}"/>'
        marks += f'<text x="{first - LEADER - 3:.2f}" y="{top:.2f}" dy=".35em" text-anchor="end">{number}</text>'
    description = f"The {len(choice.names)} largest weights by penalty; dashes: the chosen penalty."
    return frame.chart("path", "Regularization path", description, marks)


def path_names(choice: PenaltyChoice) -> list[tuple[str, str]]:
    """Return the CSS class and the name of each numbered line."""
    weights = choice.standardized_weights[choice.chosen]
    return [(_sign_class(weight), name) for name, weight in zip(choice.names, weights, strict=True)]


def _sign_class(weight: float) -> str:
    return "rise" if weight > 0.0 else "fall"


def _alpha(choice: PenaltyChoice, number: int) -> str:
    return plain(float(f"{choice.alphas[number]:.3g}"))


def _mark(frame: Frame, choice: PenaltyChoice, number: int, css_class: str) -> str:
    """Return a vertical line at a penalty, and its filled dot."""
    at, mean = float(choice.positions[number]), float(choice.means[number])
    return (
        f'<path class="guide" d="{frame.path([at, at], [frame.up.low, frame.up.high])}"/>'
        f'<circle class="{css_class}" cx="{frame.x(at)}" cy="{frame.y(mean)}" r="5"/>'
    )


def spread_apart(targets: Sequence[float], distance: float, low: float, high: float) -> list[float]:
    """Return the positions closest to the targets that are `distance` apart and, if possible, within the ends.

    Isotonic regression: the k-th position minus k distances must not decrease.

    >>> from opauc.report.charts import spread_apart
    >>> spread_apart([10.0, 11.0, 50.0], 5.0, 0.0, 100.0)
    [8.0, 13.0, 50.0]
    """
    order = np.argsort(targets, kind="stable")
    steps = distance * np.arange(order.size)
    runs: list[list[float]] = []
    for value in np.array(targets, float)[order] - steps:
        runs.append([float(value)])
        while len(runs) > 1 and np.mean(runs[-2]) > np.mean(runs[-1]):
            runs[-2:] = [runs[-2] + runs[-1]]
    level = np.concatenate([np.full(len(run), np.mean(run)) for run in runs])
    out = np.empty(order.size)
    out[order] = np.clip(level, low, max(low, high - steps[-1])) + steps
    return [float(position) for position in out]


def weight_bar(weight: float, largest: float) -> str:
    """Draw a bar from the middle to the right for a positive weight, to the left for a negative one."""
    reach = 50 * abs(weight) / largest if np.isfinite(weight) and 0 < largest < np.inf else 0.0
    start, side = (50.0, "positive") if weight > 0 else (50 - reach, "negative")
    return (
        '<svg class="bar" viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">'
        f'<path class="guide" d="M50 0V10"/>'
        f'<rect class="{side}" x="{start:.2f}" y="1" width="{reach:.2f}" height="8"/></svg>'
    )


def segment_bar(sizes: Mapping[str, float], largest: float) -> str:
    """Draw nonnegative sizes one after the other from the left, by their CSS class."""
    start, segments = 0.0, ""
    for css_class, size in sizes.items():
        reach = 100 * size / largest if np.isfinite(size) and 0 < largest < np.inf else 0.0
        if reach > 0.0:
            segments += f'<rect class="{css_class}" x="{start:.2f}" y="1" width="{reach:.2f}" height="8"/>'
        start += reach
    return f'<svg class="bar" viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">{segments}</svg>'


def interval_bar(middle: float, low: float, high: float, start: float) -> str:
    """Draw an interval with its middle on an axis from `start` to one."""

    def at(value: float) -> float:
        return 100.0 * min(max((value - start) / max(1.0 - start, 1e-9), 0.0), 1.0)

    return (
        '<svg class="bar" viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">'
        f'<path class="guide" d="M0 5H100"/>'
        f'<rect class="negative" x="{at(low):.2f}" y="3" width="{max(at(high) - at(low), 0.5):.2f}" height="4"/>'
        f'<rect class="positive" x="{max(at(middle) - 0.75, 0.0):.2f}" y="0" width="1.5" height="10"/></svg>'
    )


def _probability_axis(values: Floats) -> Axis:
    """Return an axis for probabilities: logarithmic if most are much smaller than the largest."""
    high = min(1.0, 1.05 * max(float(values.max()), 1e-6))
    least = max(0.7 * float(values[values > 0].min(initial=high)), 1e-6 * high)
    if np.median(values) < 0.05 * high and least < 0.05 * high:
        return Axis.powers(least, high)
    return Axis.linear(0.0, high)


def _row_axis(last: float) -> Axis:
    axis = Axis.linear(0.0, max(last, 1.0), 4)
    return Axis(axis.low, axis.high, axis.ticks, tuple(plain(round(tick)) for tick in axis.ticks))
