"""Render a report as one self-contained HTML file: no network, no script.

`page.html` is the template. It escapes everything except charts and legends, which escape their own text.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import NamedTuple

import numpy as np
from jinja2 import Environment, PackageLoader, StrictUndefined, Template
from markupsafe import Markup

from opauc.metrics.ranking import Ranking
from opauc.report.charts import (
    calibration_chart,
    criterion_chart,
    criterion_legend,
    histogram_chart,
    interval_bar,
    learning_chart,
    path_chart,
    path_names,
    precision_recall_chart,
    roc_chart,
    segment_bar,
    weight_bar,
)
from opauc.report.importances import importances_by_feature
from opauc.report.inputs import (
    CURVE,
    LEVELS,
    PAIR,
    EditRow,
    FileRow,
    PenaltyChoice,
    Report,
    ShownTerm,
    TermsSection,
    WeightRow,
)
from opauc.report.operating_points import operating_points
from opauc.report.pair_chart import is_beyond_error, largest_value, pair_chart, pair_legend
from opauc.report.style import style_sheet
from opauc.report.summary import in_short, interval_note, page_contents, page_facts, shown_point, training_note
from opauc.report.term_charts import (
    curve_chart,
    level_chart,
    n_levels,
    shown_levels,
    waterfall_chart,
)
from opauc.report.text import (
    MINUS,
    aligned,
    breakable,
    percent,
    plain,
    safe,
    seconds,
    share,
    signed,
    three_digits,
)

# The browser must not fetch or run anything, whatever a name in the data contains.
POLICY = "default-src 'none'; style-src 'unsafe-inline'"
MAX_WEIGHTS = 20
# Training files that are listed.
MAX_FILES = 200
# Terms in the importance table, and charts of main effects and of pairs.
MAX_IMPORTANCES, MAX_MAIN_EFFECTS, MAX_PAIRS = 18, 8, 4
# What edits do, as the page says it.
ACTIONS = {"edit": "set", "remove": "removed"}
# Terms that the model selection left out have no importance and are not drawn.
MIN_IMPORTANCE = 1e-9


def render_report(report: Report) -> str:
    """Return the page as HTML, to be written as UTF-8.

    Examples
    --------
    >>> from opauc.metrics import Ranking
    >>> from opauc.report import Report, render_report
    >>> ranking = Ranking.of([0, 0, 0, 1, 1, 1], [0.1, 0.3, 0.6, 0.4, 0.8, 0.9])
    >>> page = render_report(Report(title="Six rows", ranking=ranking))
    >>> page[:15], "<h1>Six rows</h1>" in page, "0.8889" in page
    ('<!doctype html>', True, True)
    """
    ranking, section = report.ranking, report.additive
    return template("page.html").render(
        report=report,
        policy=POLICY,
        style=style_sheet(),
        headline=Headline("AUC", *ranking.confidence[:3]),
        interval_note=interval_note(ranking),
        training_note=training_note(report.training_files, ranking.n_positives + ranking.n_negatives),
        in_short=in_short(report),
        contents=page_contents(report),
        files=file_rows(report.training_data),
        facts=page_facts(report),
        figures=list(_figures(report)),
        operating_points=operating_points(report),
        terms=None if section is None else _terms_context(section),
        weights=weight_table(report.weights, report.weight_order, report.n_features),
        groups=_group_table(report),
        tables=list(page_tables(_metric_rows(report), report.data, report.settings, report.about, report.timings)),
        classes=None,
        class_terms=None,
        footer=f"AUC is the share of the {plain(ranking.n_positives * ranking.n_negatives)} pairs of a positive and a "
        "negative in which the positive scores higher, ties counting half.",
    )


@cache
def template(name: str) -> Template:
    """Return a template of this folder, which escapes what it is given."""
    environment = Environment(
        loader=PackageLoader("opauc", "report"),
        autoescape=True,
        finalize=lambda value: value if isinstance(value, Markup) else Markup(safe(value)),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "percent": percent,
        "plain": plain,
        "share": share,
        "breakable": lambda name: Markup(breakable(name)),
    }
    return environment.get_template(name)


class Headline(NamedTuple):
    """The number on top of the page, with its interval."""

    name: str
    value: float
    low: float
    high: float


class Figure(NamedTuple):
    """A chart with its heading and note; `chart` and `legend` are markup, `names` are a class and a name each."""

    title: str
    note: str
    chart: str
    legend: str = ""
    names: Iterable[tuple[str, str]] = ()


def file_rows(files: Sequence[FileRow]) -> list[tuple[str, str, str, str]]:
    """Return the names, rows, bytes and hashes of the first training files."""
    return [(one.path, plain(one.rows), plain(one.bytes), one.sha256) for one in files[:MAX_FILES]]


def _figures(report: Report) -> Iterator[Figure]:
    ranking, calibration = report.ranking, report.calibration
    yield Figure("ROC curve", f"Area {share(ranking.confidence.auc)}", roc_chart(ranking))
    prior = ranking.n_positives / (ranking.n_positives + ranking.n_negatives)
    note = f"Average precision {share(ranking.average_precision)}; dashes: share of positives {prior:.3g}"
    yield Figure("Precision and recall", note, precision_recall_chart(ranking))
    yield Figure("Scores by class", "", histogram_chart(ranking.histogram), _histogram_legend(ranking))
    if calibration is not None and calibration.n_rows:
        note = f"Expected error {share(calibration.expected_error())}; bars: 95 % limits; dashes: agreement"
        yield Figure("Calibration", note, calibration_chart(calibration.reliability()))
    points = [point for point in report.learning_curve if np.isfinite(point.auc) and point.rows > 0]
    if points:
        note = "Progressive validation: the mean AUC of rows scored before training on them; band: ± 2 standard errors"
        yield Figure("Learning curve", note, learning_chart(points))
    if report.penalty is not None and report.penalty.can_be_drawn:
        yield from penalty_figures(report.penalty)


def _histogram_legend(ranking: Ranking) -> str:
    outside = round(float(ranking.histogram.outside.sum()))
    note = f" {plain(outside)} {'row' if outside == 1 else 'rows'} beyond the axis" if outside else ""
    keys = '<span class="negative">negatives</span><span class="positive">positives</span>'
    return f'<span class="key">{keys}{note}</span>'


def penalty_figures(choice: PenaltyChoice) -> Iterator[Figure]:
    """Yield the charts of the choice of a penalty."""
    if choice.n_folds:
        is_loss = choice.criterion != "auc"
        better = "lower is better" if is_loss else "estimated from normal scores, higher is better"
        note = f"Mean of {choice.n_folds} held-out folds, {better}; band: one standard error"
        yield Figure("Penalty selection", note, criterion_chart(choice), criterion_legend(choice))
    if choice.names:
        note = f"Weight × standard deviation of the {len(choice.names)} largest features; dashes: chosen penalty"
        yield Figure("Regularization path", note, path_chart(choice), names=path_names(choice))


def largest_weights(rows: Iterable[WeightRow]) -> list[WeightRow]:
    """Return the largest rows by decreasing size; NaN goes last.

    Examples
    --------
    >>> from opauc.report import WeightRow
    >>> from opauc.report.page import largest_weights
    >>> [row.name for row in largest_weights([WeightRow("meters", 5.0, 0.1), WeightRow("years", -0.2, -3.0)])]
    ['years', 'meters']
    """
    return sorted(rows, key=lambda row: (math.isnan(row.size), -abs(row.size)))[:MAX_WEIGHTS]


def weight_table(weights: Sequence[WeightRow], order: str, n_features: int | None) -> dict[str, object] | None:
    """Return the template context of the largest weights: column names, and name, numbers and bar of each row."""
    if not weights:
        return None
    rows = largest_weights(weights)
    sizes = [row.size for row in rows]
    largest = max((abs(size) for size in sizes if np.isfinite(size)), default=0.0)
    columns = {"Weight": aligned(sizes, largest, 4)}
    if all(row.standardized_weight is not None for row in rows):
        # Raw weights of features in different units have no common scale.
        columns = {
            "Weight × SD": columns["Weight"],
            "Weight": [f"{row.weight:.4g}".replace("-", MINUS) for row in rows],
        }
    numbers = zip(*columns.values(), strict=True)
    return {
        "note": f"{len(rows)} of {plain(n_features or len(weights))}, {order}",
        "columns": list(columns),
        "rows": [(row.name, line, weight_bar(row.size, largest)) for row, line in zip(rows, numbers, strict=True)],
    }


def _group_table(report: Report) -> dict[str, object] | None:
    """Return the template context of the groups of a column: column names, and name, numbers and bar of each row."""
    groups = report.groups
    if not groups:
        return None
    lows = [group.confidence.low for group in groups if group.confidence is not None]
    start = min([0.5, *lows])
    limits = [point.max_false_positive_rate for point in groups[0].points]
    shown = shown_point(limits)
    columns = ["Rows", "AUC", "95 % interval", "Predicted", "Observed", "Calibration error"]
    note = f"Bars: the interval of the AUC, from {start:.2g} to 1"
    if limits:
        point = groups[0].points[shown]
        columns += ["Recall", "False positive rate", "Precision"]
        note += (
            f"; rates at one threshold for all, {point.threshold:.4g}".replace("-", MINUS)
            + f", where at most {percent(limits[shown])} of all "
        )
        note += "negatives are above it"
    rows = []
    for group in groups:
        area, bar = group.confidence, ""
        numbers = [plain(group.n_rows), "", ""]
        if area is not None:
            bar = interval_bar(area.auc, area.low, area.high, start)
            numbers[1:] = [share(area.auc), f"{share(area.low)} to {share(area.high)}"]
        numbers += [
            three_digits(group.predicted),
            three_digits(group.observed),
            share(group.calibration.expected_error()),
        ]
        if limits:
            point = group.points[shown]
            rates = point.true_positive_rate, point.false_positive_rate, point.precision
            numbers += ["" if math.isnan(rate) else f"{100.0 * rate:.1f} %" for rate in rates]
        rows.append((group.name, numbers, bar))
    return {"title": f"By {report.group_column}", "note": note, "columns": columns, "rows": rows}


def page_tables(
    metrics: Mapping[str, str],
    data: Mapping[str, object],
    settings: Mapping[str, object],
    about: Mapping[str, object],
    timings: Mapping[str, float],
) -> Iterator[tuple[str, str, Mapping[str, str]]]:
    """Yield the title, the CSS class and the rows of the tables of names and values."""
    yield "Metrics", "pairs", metrics
    for title, rows in (("Data", data), ("Settings", settings), ("About this page", about)):
        yield title, "pairs", {key: plain(value) for key, value in rows.items()}
    yield "Timings", "pairs times", {key: seconds(value) for key, value in timings.items()}


def _metric_rows(report: Report) -> dict[str, str]:
    """Return the metrics and the mean AUC within groups, each with its interval."""
    rows = {title: interval_text(*metric[:3]) for title, metric in report.metrics.items()}
    for weight, metric in report.within.items():
        name = "Mean AUC within groups" + ("" if weight == "equal" else f", by {weight}")
        rows[name] = interval_text(*metric[:3])
    if report.within:
        groups = next(iter(report.within.values()))
        rows["Groups with both classes"] = plain(groups.n_groups)
        rows["Groups with one class, left out"] = plain(groups.n_one_class)
    return rows


def interval_text(value: float, low: float, high: float) -> str:
    """Return a value with its interval."""
    return f"{value:.4f}, 95 % interval {low:.4f} to {high:.4f}"


def _terms_context(section: TermsSection) -> dict[str, object]:
    """Return the template context of the part about an additive model."""
    importances = [row for row in importances_by_feature(section.terms) if row.total > MIN_IMPORTANCE]
    largest = max((row.total for row in importances), default=1.0)
    sizes = aligned([row.total for row in importances], largest, 3)
    # Features of which nothing would be seen but zeros are left out.
    shown = [
        (row.name, size, segment_bar({"own": row.own, "pairs": row.pairs, "trees": row.trees}, largest))
        for row, size in zip(importances, sizes, strict=True)
        if float(size.replace(MINUS, "-"))
    ]
    figures, n_unclear = term_figures(section.terms, "", MAX_MAIN_EFFECTS, MAX_PAIRS)
    parts = {
        "own": ("curve or levels", any(row.own for row in importances)),
        "pairs": ("pairs, half for each feature", any(row.pairs for row in importances)),
        "trees": ("trees", any(row.trees for row in importances)),
    }
    return {
        "section": section,
        "importances": shown[:MAX_IMPORTANCES],
        "n_features": len(importances),
        "parts": [(css_class, text) for css_class, (text, present) in parts.items() if present],
        "n_unclear": n_unclear,
        "explained": [
            Figure(row.title, row.note, waterfall_chart(f"row-{number}", row))
            for number, row in enumerate(section.explained_rows)
        ],
        "figures": figures,
        "drift": [(name, f"{index:.2f}") for name, index in section.drift[:MAX_IMPORTANCES]],
        "edits": [
            (edit.term, ACTIONS.get(edit.action, edit.action), edit_range(edit), edit.why, who_and_when(edit))
            for edit in section.edits
        ],
    }


def term_figures(
    terms: Sequence[ShownTerm], prefix: str, most_effects: int, most_pairs: int
) -> tuple[list[Figure], int]:
    """Return the charts of the most important terms, and how many pairs show no sign of an interaction.

    `prefix` begins the names of the charts on the page.
    """
    drawn = [term for term in terms if term.importance > MIN_IMPORTANCE]
    effects = [term for term in drawn if term.kind in (CURVE, LEVELS)][:most_effects]
    all_pairs = [term for term in drawn if term.kind == PAIR]
    clear_pairs = sorted(filter(is_beyond_error, all_pairs), key=lambda term: term.is_weak)
    pairs, n_unclear = clear_pairs[:most_pairs], len(all_pairs) - len(clear_pairs)
    scale = largest_value(pairs)
    figures = [
        *(_main_effect(f"{prefix}term-{number}", term) for number, term in enumerate(effects)),
        *(_pair(f"{prefix}pair-{number}", term, scale) for number, term in enumerate(pairs)),
    ]
    return figures, n_unclear


def who_and_when(edit: EditRow) -> str:
    """Return who made an edit, if that is known, and when, to the minute.

    Examples
    --------
    >>> from opauc.report import EditRow
    >>> from opauc.report.page import who_and_when
    >>> who_and_when(EditRow("age", "edit", "ann", "2026-11-18T12:00:00+00:00", "", None, None))
    'ann, 2026-11-18 12:00'
    """
    time = edit.when[:16].replace("T", " ")
    return f"{edit.who}, {time}" if edit.who else time


def edit_range(edit: EditRow) -> str:
    """Return the range of the values of a term before an edit and after it.

    Examples
    --------
    >>> from opauc.report import EditRow
    >>> from opauc.report.page import edit_range
    >>> edit_range(EditRow("age", "edit", "ann", "2026-11-18T12:00:00+00:00", "", (-0.5, 1.0), (0.0, 1.0)))
    '−0.5 to +1, then 0 to +1'
    """
    ranges = [f"{signed(ends[0])} to {signed(ends[1])}" for ends in (edit.before, edit.after) if ends is not None]
    return ", then ".join(ranges)


def _main_effect(slug: str, term: ShownTerm) -> Figure:
    importance, has_rows = f"Importance {term.importance:.3f}", term.row_shares is not None
    if term.kind == CURVE:
        rows = "; gray: distribution of the rows" if has_rows else ""
        return Figure(term.name, f"{importance}{rows}", curve_chart(slug, term))
    rows = "; at the right: share of the rows" if has_rows else ""
    n_hidden = n_levels(term) - len(shown_levels(term))
    hidden = f", {plain(n_hidden)} more {'level' if n_hidden == 1 else 'levels'} not shown" if n_hidden else ""
    return Figure(term.name, f"{importance}{rows}{hidden}", level_chart(slug, term))


def _pair(slug: str, term: ShownTerm, largest: float) -> Figure:
    error = 2.0 * float(np.median(term.standard_errors))
    weak = "Weak evidence of an interaction: it may be due to chance, or to another pair. " if term.is_weak else ""
    note = (
        f"{weak}Importance {term.importance:.3f}; interaction without the main effects, "
        f"±\u00a0{error:.2g} in the median cell; "
        "faded: within two standard errors of zero"
    )
    return Figure(term.name, note, pair_chart(slug, term, largest), pair_legend(largest))
