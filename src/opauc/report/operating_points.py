"""The table of thresholds: each as a score and as a probability, with its rates and counts per 1,000 rows."""

from __future__ import annotations

from collections.abc import Sequence

from opauc.report.inputs import DecisionPoint, Report
from opauc.report.summary import UNBROKEN_PERCENT
from opauc.report.text import NONE, aligned, count_of_thousand, percent, share


def operating_points(report: Report) -> list[tuple[str, list[str]]]:
    """Return the name and the numbers of each threshold: those of limited false positive rates, and the model's own."""
    ranking = report.ranking
    n_negatives, n_positives = ranking.n_negatives, ranking.n_positives
    known: Sequence[float | None] = report.threshold_probabilities or [None] * len(ranking.operating_points)
    points = [
        DecisionPoint(
            f"False positive rate ≤ {percent(point.max_false_positive_rate)}".replace(" %", UNBROKEN_PERCENT),
            point.threshold, probability,
            point.false_positive_rate * n_negatives, point.true_positive_rate * n_positives,
        )
        for point, probability in zip(ranking.operating_points, known, strict=True)
    ]  # fmt: skip
    if report.decision is not None:
        points.append(report.decision)
    thresholds = [point.threshold for point in points]
    scale = max(thresholds) - min(thresholds) or abs(thresholds[0]) if points else 1.0
    rows = []
    for point, threshold in zip(points, aligned(thresholds, scale, 5), strict=True):
        above = point.negatives_above + point.positives_above
        probability = NONE if point.probability is None else share(point.probability)
        precision = f"{100.0 * point.positives_above / above:.1f} %" if above else NONE
        recall = f"{100.0 * point.positives_above / n_positives:.1f} %"
        counts = map(count_of_thousand, point.per_thousand(n_negatives, n_positives))
        rows.append((point.name, [threshold, probability, recall, precision, *counts]))
    return rows
