"""Render the report of a model of several classes, by the template of the page of two classes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np

from opauc.metrics.class_groups import ClassesGroup
from opauc.metrics.influence import MetricInterval
from opauc.report.charts import calibration_chart, interval_bar, learning_chart, segment_bar
from opauc.report.class_inputs import ClassReport, ClassRow, ClassTerms
from opauc.report.importances import FeatureImportance, importances_by_feature
from opauc.report.page import (
    MAX_IMPORTANCES,
    MIN_IMPORTANCE,
    POLICY,
    Figure,
    Headline,
    file_rows,
    interval_text,
    page_tables,
    penalty_figures,
    template,
    term_figures,
    weight_table,
)
from opauc.report.style import N_SHADES, style_sheet
from opauc.report.summary import UNBROKEN_PERCENT, Fact, training_note
from opauc.report.text import MINUS, aligned, chance, outward, percent, plain, share

# Classes of which charts are drawn, and which have a column in tables: those with the most rows.
MAX_DRAWN = 6
# Classes up to which the AUCs of all pairs are a table; of more classes the worst pairs are listed.
MAX_MATRIX, MAX_WORST_PAIRS = 12, 20
# Charts of main effects and of pairs of each class.
MAX_MAIN_EFFECTS, MAX_PAIRS = 4, 2
METHOD = "DeLong’s variance of all pairs of classes with a floor for small classes"


class ClassTable(NamedTuple):
    """The columns of a table, and the name, the numbers and the bar of each row."""

    note: str
    columns: Sequence[str]
    rows: Sequence[tuple[str, Sequence[str], str]]


class PairMatrix(NamedTuple):
    """The AUCs of all pairs of classes: names, and of each row its name with the number and the shade of each cell."""

    note: str
    names: Sequence[str]
    rows: Sequence[tuple[str, Sequence[tuple[str, str]]]]


def render_class_report(report: ClassReport) -> str:
    """Return the page as HTML, to be written as UTF-8.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.metrics import CalibrationBins, MetricInterval
    >>> from opauc.report import ClassReport, ClassRow, render_class_report
    >>> area, bins = MetricInterval(0.9, 0.8, 0.95, 0.04), CalibrationBins.empty()
    >>> rows = [ClassRow(name, 10, 0.5, area, bins) for name in ("ant", "bee", "cat")]
    >>> page = render_class_report(ClassReport(
    ...     title="Thirty rows", auc_ovo=area, auc_ovr=area, bounds=(0.9, 0.9), classes=rows,
    ...     pair_aucs=np.full((3, 3), 0.9), accuracy=0.5, log_loss=1.0,
    ... ))
    >>> page[:15], "<h1>Thirty rows</h1>" in page, "0.9000" in page
    ('<!doctype html>', True, True)
    """
    drawn = _drawn(report.classes)
    return template("page.html").render(
        report=report,
        policy=POLICY,
        style=style_sheet(),
        headline=Headline("Mean AUC over pairs of classes", *report.auc_ovo[:3]),
        interval_note=_interval_note(report),
        training_note=training_note(report.training_files, report.n_rows),
        in_short=_in_short(report),
        contents=_contents(report),
        files=file_rows(report.training_data),
        facts=_facts(report),
        classes={"table": _class_table(report), "matrix": _matrix(report), "worst": _worst_pairs(report)},
        figures=list(_figures(report, drawn)),
        operating_points=None,
        terms=None,
        class_terms=_terms_context(report.terms, drawn) if report.terms else None,
        weights=weight_table(report.weights, report.weight_order, None),
        groups=_group_table(report),
        tables=list(page_tables(_metric_rows(report), report.data, report.settings, report.about, report.timings)),
        footer="The AUC of a class and another one is the share of the pairs of their rows in which that of the first "
        "class has the higher score for it, ties counting half; the mean is over all ordered pairs of classes (Hand "
        "and Till’s M).",
    )


def _drawn(classes: Sequence[ClassRow]) -> list[int]:
    """Return the numbers of the classes that are drawn, in their order."""
    most = sorted(range(len(classes)), key=lambda number: -classes[number].rows)[:MAX_DRAWN]
    return sorted(most)


def _interval_note(report: ClassReport) -> str:
    low, high = report.bounds
    if low == high:
        return f"{METHOD}, from the exact ranks of all rows."
    return f"{METHOD}, widened for streaming in fixed memory: the exact mean AUC lies within {outward(low, high)}."


def _in_short(report: ClassReport) -> str:
    area = report.auc_ovo
    text = (
        f"The model ranks a random row of a class above a random row of another one {chance(area.value)} of the time "
        f"(95 % confidence interval {chance(area.low)} to {chance(area.high)}), the mean over all pairs of classes. It "
        f"gives {chance(report.accuracy)} of the rows their class"
    )
    (first, second), auc = _pairs_by_auc(report)[0]
    text += f"; least apart are {first} and {second}, with a mean AUC of {share(auc)}."
    return text.replace(" %", UNBROKEN_PERCENT)


def _facts(report: ClassReport) -> list[Fact]:
    facts = [
        Fact("Rows", plain(report.n_rows)),
        Fact("Classes", plain(len(report.classes))),
        Fact("Features", "" if report.n_features is None else plain(report.n_features)),
        Fact(
            "AUC, one against the rest", share(report.auc_ovr.value),
            f"{share(report.auc_ovr.low)} to {share(report.auc_ovr.high)}",
        ),
        Fact("Accuracy", percent(report.accuracy)),
        Fact("Log loss", f"{report.log_loss:.4f}"),
    ]  # fmt: skip
    return [fact for fact in facts if fact.value]


def _contents(report: ClassReport) -> list[tuple[str, str]]:
    parts = [
        ("classes", "Classes", True),
        ("pairs", "Pairs of classes", True),
        ("charts", "Charts", bool(list(_figures(report, [])) or report.classes[0].calibration.n_rows)),
        ("groups", f"By {report.group_column}", bool(report.groups)),
        ("terms", "Terms", bool(report.terms)),
        ("weights", "Largest weights", bool(report.weights)),
        ("details", "Data and settings", bool(report.data or report.settings or report.about or report.timings)),
        ("origin", "Provenance", bool(report.provenance or report.training_data)),
    ]
    return [(anchor, title) for anchor, title, shown in parts if shown]


def _class_table(report: ClassReport) -> ClassTable:
    """Return the rows, recall, AUC against the rest and calibration of each class."""
    start = min([0.5, *(one.auc.low for one in report.classes)])
    columns = ["Rows", "Share", "Recall", "AUC", "95 % interval"]
    columns += [title[0].upper() + title[1:] for title in report.class_metrics]
    columns += [*(["Calibration error"] if report.classes[0].calibration.n_rows else [])]
    rows = []
    for number, one in enumerate(report.classes):
        numbers = [plain(one.rows), percent(one.rows / report.n_rows), percent(one.recall), share(one.auc.value)]
        numbers.append(f"{share(one.auc.low)} to {share(one.auc.high)}")
        numbers += [f"{metric[number].value:.4f}" for metric in report.class_metrics.values()]
        if one.calibration.n_rows:
            numbers.append(share(one.calibration.expected_error()))
        rows.append((one.name, numbers, interval_bar(*one.auc[:3], start)))
    note = f"AUC: rows of the class against all others; bars: its interval, from {start:.2g} to 1. Recall: rows of the "
    return ClassTable(f"{note}class that get its label", columns, rows)


def _matrix(report: ClassReport) -> PairMatrix | None:
    """Return the AUCs of all pairs of classes, darker where they are smaller."""
    if len(report.classes) > MAX_MATRIX:
        return None
    names, aucs = [one.name for one in report.classes], report.pair_aucs
    rows = []
    for row, name in enumerate(names):
        cells = [
            ("", "") if row == column else (f"{aucs[row, column]:.3f}", f"shade-{shade_of(float(aucs[row, column]))}")
            for column in range(len(names))
        ]
        rows.append((name, cells))
    note = "AUC of the scores of the class at the left, among its rows and those of the class above; shaded below .99"
    return PairMatrix(note, names, rows)


def shade_of(auc: float) -> int:
    """Return how dark the cell of an AUC is, from 0: steps of the logarithm of how far it is from one.

    Examples
    --------
    >>> from opauc.report.class_page import shade_of
    >>> [shade_of(auc) for auc in (1.0, 0.995, 0.97, 0.9, 0.5)]
    [0, 0, 1, 3, 5]
    """
    steps = np.log2(max(1.0 - auc, 1e-12) / 0.01)
    return int(np.clip(np.floor(steps), 0, N_SHADES - 1))


def _pairs_by_auc(report: ClassReport) -> list[tuple[tuple[str, str], float]]:
    """Return the pairs of classes with the means of their AUCs in both directions, the smallest first."""
    found = []
    for one, other in combinations(range(len(report.classes)), 2):
        mean = float(report.pair_aucs[one, other] + report.pair_aucs[other, one]) / 2
        found.append(((report.classes[one].name, report.classes[other].name), mean))
    return sorted(found, key=lambda pair: pair[1])


def _worst_pairs(report: ClassReport) -> list[tuple[str, str]]:
    """Return the pairs of classes that are least apart, where there are too many classes for a table."""
    if len(report.classes) <= MAX_MATRIX:
        return []
    return [(f"{one} and {other}", share(auc)) for (one, other), auc in _pairs_by_auc(report)[:MAX_WORST_PAIRS]]


def _figures(report: ClassReport, drawn: Sequence[int]) -> Iterator[Figure]:
    for number in drawn:
        name, *_, calibration = report.classes[number]
        if calibration.n_rows:
            note = f"Expected error {share(calibration.expected_error())}; bars: 95 % limits; dashes: agreement"
            chart = calibration_chart(calibration.reliability(), f"calibration-{number}")
            yield Figure(f"Calibration: {name}", note, chart)
    points = [point for point in report.learning_curve if np.isfinite(point.auc) and point.rows > 0]
    if points:
        note = "Progressive validation: the mean AUC of rows scored before training on them; band: ± 2 standard errors"
        yield Figure("Learning curve", note, learning_chart(points))
    if report.penalty is not None and report.penalty.can_be_drawn:
        yield from penalty_figures(report.penalty)


def _group_table(report: ClassReport) -> dict[str, object] | None:
    """Return the template context of the groups of a column."""
    if not report.groups:
        return None
    start = min([0.5, *(group.auc_ovo.low for group in report.groups if group.auc_ovo is not None)])
    return {
        "title": f"By {report.group_column}",
        "note": f"AUC: the mean over pairs of the classes with rows in the group; bars: its interval, from {start:.2g} "
        "to 1",
        "columns": ["Rows", "Classes", "AUC", "95 % interval", "Against the rest", "Accuracy", "Log loss"],
        "rows": [_group_row(group, start) for group in report.groups],
    }


def _group_row(group: ClassesGroup, start: float) -> tuple[str, list[str], str]:
    numbers, bar = ["", "", ""], ""
    if group.auc_ovo is not None and group.auc_ovr is not None:
        area = group.auc_ovo
        numbers = [share(area.value), f"{share(area.low)} to {share(area.high)}", share(group.auc_ovr.value)]
        bar = interval_bar(*area[:3], start)
    numbers = [plain(group.n_rows), plain(group.n_classes), *numbers, percent(group.accuracy), f"{group.log_loss:.4f}"]
    return group.name, numbers, bar


def _metric_rows(report: ClassReport) -> dict[str, str]:
    """Return the means of the metrics and the mean AUC within groups, each with its interval."""
    rows = {f"Mean over classes of {title}": _metric_text(metric) for title, metric in report.metrics.items()}
    for weight, metric in report.within.items():
        name = "Mean AUC within groups" + ("" if weight == "equal" else f", by {weight}")
        rows[name] = interval_text(*metric[:3])
    if report.within:
        groups = next(iter(report.within.values()))
        rows["Groups with several classes"] = plain(groups.n_groups)
        rows["Groups with one class, left out"] = plain(groups.n_one_class)
    return rows


def _metric_text(metric: MetricInterval) -> str:
    return interval_text(*metric[:3])


def _terms_context(terms: Sequence[ClassTerms], drawn: Sequence[int]) -> dict[str, object]:
    """Return the template context of the terms: importances of features, and the charts of the classes drawn."""
    by_class = [{row.name: row for row in importances_by_feature(one.section.terms)} for one in terms]
    means = mean_importances(by_class)
    largest = max((row.total for row in means), default=1.0)
    columns = [aligned([by_class[k][row.name].total if row.name in by_class[k] else 0.0 for row in means], largest, 3)
               for k in drawn]  # fmt: skip
    sizes = aligned([row.total for row in means], largest, 3)
    rows = []
    for number, (row, size) in enumerate(zip(means, sizes, strict=True)):
        if float(size.replace(MINUS, "-")):
            bar = segment_bar({"own": row.own, "pairs": row.pairs, "trees": row.trees}, largest)
            rows.append((row.name, [size, *(column[number] for column in columns)], bar))
    selections = {one.section.selection for one in terms}
    parts = {
        "own": ("curve or levels", any(row.own for row in means)),
        "pairs": ("pairs, half for each feature", any(row.pairs for row in means)),
        "trees": ("trees", any(row.trees for row in means)),
    }
    return {
        "importances": rows[:MAX_IMPORTANCES],
        "n_features": len(means),
        "parts": [(css_class, text) for css_class, (text, present) in parts.items() if present],
        "names": [terms[k].name for k in drawn],
        "selection": "" if len(selections) > 1 else terms[0].section.selection,
        "classes": [
            (
                terms[k].name,
                terms[k].section.selection if len(selections) > 1 else "",
                term_figures(terms[k].section.terms, f"class-{k}-", MAX_MAIN_EFFECTS, MAX_PAIRS)[0],
            )
            for k in drawn
        ],
        "n_hidden": len(terms) - len(drawn),
    }


def mean_importances(by_class: Sequence[Mapping[str, FeatureImportance]]) -> list[FeatureImportance]:
    """Return the mean importance of each feature over the classes, the most important first.

    Examples
    --------
    >>> from opauc.report.class_page import mean_importances
    >>> from opauc.report.importances import FeatureImportance
    >>> mean_importances([{"age": FeatureImportance("age", 0.5)}, {"age": FeatureImportance("age", 0.25, 0.25)}])
    [FeatureImportance(name='age', own=0.375, pairs=0.125, trees=0.0)]
    """
    names = dict.fromkeys(name for rows in by_class for name in rows)
    means = []
    for name in names:
        rows = [of_class.get(name, FeatureImportance(name)) for of_class in by_class]
        own, pairs, trees = (float(np.mean([row[part] for row in rows])) for part in (1, 2, 3))
        means.append(FeatureImportance(name, own, pairs, trees))
    return sorted((row for row in means if row.total > MIN_IMPORTANCE), key=lambda row: -row.total)
