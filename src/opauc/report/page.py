"""The report of an evaluation as one HTML file that needs nothing else: no network, no script."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from opauc.metrics.calibration import CalibrationBins
from opauc.metrics.progressive import ProgressPoint
from opauc.metrics.ranking import Ranking
from opauc.report.charts import calibration_chart, histogram_chart, learning_chart, precision_recall_chart, roc_chart
from opauc.report.penalty_charts import PenaltyChoice, criterion_chart, criterion_key, path_chart, path_names
from opauc.report.style import style_sheet
from opauc.report.terms import TermsSection
from opauc.report.terms_section import additive_section
from opauc.report.text import (
    aligned,
    figure,
    lines,
    outward,
    pairs_table,
    percent,
    plain,
    safe,
    seconds,
    share,
    table_section,
    under,
)
from opauc.report.weights import WeightRow, largest, weight_table

METHOD = "DeLong’s variance with a floor for small classes"
# The browser itself refuses to fetch or run anything, whatever a feature is called.
POLICY = "default-src 'none'; style-src 'unsafe-inline'"


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Report:
    """Everything the page shows, in a few thousand numbers; what is absent is left out of the page.

    `weights` are those of features in any order, all or the largest: the page shows
    twenty, ordered by their effects where all have one, and says so in the words of
    `weight_order`. `data`, `settings` and `provenance` are rows of tables, `timings` are seconds.
    """

    title: str
    ranking: Ranking
    model: str = ""
    n_features: int | None = None
    calibration: CalibrationBins | None = None
    learning_curve: Sequence[ProgressPoint] = ()
    penalty: PenaltyChoice | None = None
    additive: TermsSection | None = None
    weights: Sequence[WeightRow] = ()
    weight_order: str = "by size"
    data: Mapping[str, object] = field(default_factory=dict)
    settings: Mapping[str, object] = field(default_factory=dict)
    timings: Mapping[str, float] = field(default_factory=dict)
    provenance: Mapping[str, object] = field(default_factory=dict)


def render_report(report: Report) -> str:
    """Return the page as HTML text, to be written as UTF-8.

    Examples
    --------
    >>> from opauc.metrics import Ranking
    >>> from opauc.report import Report, render_report
    >>> ranking = Ranking.of([0, 0, 0, 1, 1, 1], [0.1, 0.3, 0.6, 0.4, 0.8, 0.9])
    >>> page = render_report(Report(title="Six rows", ranking=ranking))
    >>> page[:15], "<h1>Six rows</h1>" in page, "0.8889" in page
    ('<!doctype html>', True, True)
    """
    title = safe(report.title)
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        f"<title>{title}</title>\n<style>{style_sheet()}</style>\n</head>\n<body>\n<main>\n"
        f"<header><h1>{title}</h1>{under(safe(report.model))}</header>\n"
        f"{_summary(report)}\n"
        f'<section class="charts" aria-label="Charts">\n{lines(_charts(report))}\n</section>\n'
        f"{'' if report.additive is None else additive_section(report.additive)}\n"
        f'<section class="tables" aria-label="Tables">\n{lines(_tables(report))}\n</section>\n'
        f"<footer>{_footer(report.ranking)}</footer>\n</main>\n</body>\n</html>\n"
    )


def _summary(report: Report) -> str:
    ranking = report.ranking
    n_rows = ranking.n_positives + ranking.n_negatives
    facts = {
        "Rows": plain(n_rows),
        "Positives": f"{plain(ranking.n_positives)}<small>{percent(ranking.n_positives / n_rows)}</small>",
        "Negatives": f"{plain(ranking.n_negatives)}<small>{percent(ranking.n_negatives / n_rows)}</small>",
        "Features": None if report.n_features is None else plain(report.n_features),
        "Average precision": share(ranking.average_precision),
        "Brier score": None if report.calibration is None else share(report.calibration.brier_score()),
    }
    listed = "".join(f"<div><dt>{name}</dt><dd>{value}</dd></div>" for name, value in facts.items() if value)
    found = ranking.confidence
    limits = f"{share(found.low)} to {share(found.high)}"
    return (
        '<section class="summary" aria-label="Summary"><div>'
        f'<p class="soft">AUC</p><p class="auc">{share(found.auc)}</p>'
        f'<p class="interval">95 % confidence interval <span class="whole">{limits}</span></p>'
        f'{under(_how_sure(ranking))}</div><dl class="facts">{listed}</dl></section>'
    )


def _how_sure(ranking: Ranking) -> str:
    if ranking.auc_bounds is None:
        return f"{METHOD}, from the exact ranks of all rows."
    low, high = ranking.auc_bounds
    if low == high:
        return f"{METHOD}; streamed in fixed memory, and the AUC of these rows is exact."
    return (
        f"{METHOD}, widened for streaming in fixed memory: "
        f"the exact AUC of these rows is certain to lie within {outward(low, high)}."
    )


def _charts(report: Report) -> Iterable[str]:
    ranking = report.ranking
    yield figure("ROC curve", f"Area {share(ranking.confidence.auc)}", roc_chart(ranking))
    prior = ranking.n_positives / (ranking.n_positives + ranking.n_negatives)
    average = f"Average precision {share(ranking.average_precision)}; dashes: share of positives {prior:.3g}"
    yield figure("Precision and recall", average, precision_recall_chart(ranking))
    beyond = round(float(ranking.histogram.outside.sum()))
    left_out = f" {plain(beyond)} {'row' if beyond == 1 else 'rows'} beyond the axis" if beyond else ""
    key = f'<span class="negative">negatives</span><span class="positive">positives</span>{left_out}'
    yield figure("Scores by class", f'<span class="key">{key}</span>', histogram_chart(ranking.histogram))
    if report.calibration is not None and report.calibration.n_rows:
        yield figure(
            "Calibration",
            f"Expected error {share(report.calibration.expected_error())}; bars: 95 % limits; dashes: agreement",
            calibration_chart(report.calibration.reliability()),
        )
    learning = [point for point in report.learning_curve if np.isfinite(point.auc) and point.rows > 0]
    if learning:
        yield figure("Learning curve", "Each row scored before it was learned", learning_chart(learning))
    if report.penalty is not None and report.penalty.can_be_drawn:
        yield from _penalty_charts(report.penalty)
    if ranking.operating_points:
        yield _operating_points(ranking)


def _penalty_charts(found: PenaltyChoice) -> Iterable[str]:
    if found.n_folds:
        is_loss = found.criterion == "pair_loss"
        better = "the lower the better" if is_loss else "as normal scores would have it, the higher the better"
        note = f"Mean of {found.n_folds} folds held out, {better}; band: one standard error"
        yield figure("Choice of the penalty", note + criterion_key(found), criterion_chart(found))
    if found.names:
        note = f"Weight × standard deviation of the feature, the {len(found.names)} largest; dashes: penalty chosen"
        yield figure("Terms by penalty", note, path_chart(found), path_names(found))


def _operating_points(ranking: Ranking) -> str:
    points = ranking.operating_points
    limits = [point.threshold for point in points]
    thresholds = aligned(limits, limits[0] - limits[-1] or abs(limits[0]), 5)
    head = '<th scope="col">False positive rate</th>' + "".join(
        f'<th scope="col" class="number">{name}</th>' for name in ("Recall", "Precision", "Threshold")
    )
    body = "".join(
        f'<tr><th scope="row">≤ {percent(point.max_false_positive_rate)}</th>'
        f'<td class="number">{100 * point.true_positive_rate:.1f} %</td>'
        f'<td class="number">{100 * point.precision:.1f} %</td><td class="number">{threshold}</td></tr>'
        for point, threshold in zip(points, thresholds, strict=True)
    )
    table = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    return table_section("Operating points", "Calling positive every score of at least the threshold", table)


def _tables(report: Report) -> Iterable[str]:
    if report.weights:
        yield _weights(report)
    for name, rows in (("Data", report.data), ("Settings", report.settings)):
        yield _pairs(name, {key: plain(value) for key, value in rows.items()})
    yield _pairs("Timings", {key: seconds(value) for key, value in report.timings.items()}, "pairs times")
    yield _pairs("Provenance", {key: plain(value) for key, value in report.provenance.items()})


def _weights(report: Report) -> str:
    shown = largest(report.weights)
    how = f"{len(shown)} of {plain(report.n_features or len(report.weights))}, {safe(report.weight_order)}"
    return table_section("Largest weights", how, weight_table(shown))


def _pairs(name: str, rows: Mapping[str, str], look: str = "pairs") -> str:
    return table_section(name, "", pairs_table(rows, look)) if rows else ""


def _footer(ranking: Ranking) -> str:
    pairs = plain(ranking.n_positives * ranking.n_negatives)
    return (
        f"AUC is the share of the {pairs} pairs of a positive and a negative in which the positive scores higher, "
        "ties counting half."
    )
