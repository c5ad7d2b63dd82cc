"""`opauc evaluate`: the AUC of a model on labeled rows, how sure it is, and a page about it."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated

import typer

from opauc.api.class_report import write_class_report
from opauc.api.engines import check_engine
from opauc.api.evaluate import evaluate_against, evaluate_on, evaluate_stream, write_report
from opauc.api.evaluate_classes import check_options_of_classes, evaluate_classes
from opauc.api.group_columns import GroupColumns
from opauc.api.output_file import check_writable
from opauc.api.scored_stream import Purpose, ScoredStream
from opauc.api.tables import data_or_query, sources_of
from opauc.cli import options as shared
from opauc.cli.console import Reporter, command_line, emit, number_of, show_table
from opauc.cli.evaluate_classes import interval_text, show_classes
from opauc.errors import Parameter, ParameterError
from opauc.metrics.groups import GroupEvaluation
from opauc.report.summary import shown_point
from opauc.types import Json

# The exit code where the AUC is lower than asked for.
TOO_LOW = 3
METHOD = "DeLong's variance, with a floor for small classes"


def command(
    model: shared.Model,
    data: shared.DataOrQuery = None,
    report: Annotated[
        Path | None, typer.Option("--report", metavar="FILE", help="Write a report to this file, one HTML page.")
    ] = None,
    label: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="Label column, by name. Default: that of the training files.")
    ] = None,
    at_least: Annotated[
        float | None,
        typer.Option(min=0, max=1, metavar="AUC", help="Exit with 3 if the interval of the AUC lies below this."),
    ] = None,
    against: Annotated[
        Path | None,
        typer.Option(metavar="MODEL", help="Another model to compare with on the same rows, by a paired test."),
    ] = None,
    metric: shared.Metric = None,
    within: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="Column of groups, such as users: the mean AUC within groups too."),
    ] = None,
    by: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="Evaluate the rows of each value of this column too, or of bands of it."),
    ] = None,
    engine: shared.Engine = None,
    scheduler: shared.Scheduler = None,
    sql: shared.Sql = None,
    database: shared.Database = None,
    format_: shared.Format = None,
    drop_unlabeled: shared.DropUnlabeled = False,
    on_bad_row: shared.OnBadRow = "error",
    max_bad_rows: shared.MaxBadRows = None,
    json: shared.Json = False,
    quiet: shared.Quiet = False,
) -> int:
    """Evaluate how well a model ranks labeled rows.

    Example: opauc evaluate orders.opauc later.csv --report page.html
    Example: opauc evaluate new.opauc later.csv --against orders.opauc --at-least 0.75
    """
    if report is not None:
        check_writable(report)
    purpose = Purpose.EVALUATE if report is None else Purpose.REPORT
    bad_rows = shared.bad_rows(on_bad_row, max_bad_rows, drop_unlabeled)
    sources = sources_of(data_or_query(data, sql, database, model))
    metrics, columns = shared.metrics(metric), GroupColumns(within, by)
    scored = ScoredStream(model, sources, format_, bad_rows, purpose, columns.names, label=label)
    reporter = Reporter(json, quiet)
    if scored.model.several_classes:
        check_options_of_classes(scored.model.classes.size, {"engine": engine, "scheduler": scheduler})
        other_stream = None
        if against is not None:
            other_stream = ScoredStream(against, sources, format_, bad_rows.fresh_copy(), Purpose.EVALUATE, label=label)
        found = evaluate_classes(scored, reporter, other_stream, metrics, columns, detailed=report is not None)
        if report is not None:
            write_class_report(report, model.name, scored, found, command_line())
        reporter.unlabeled(bad_rows.unlabeled)
        title = f"{model} on {', '.join(scored.stream.sources)}"
        too_low = show_classes(title, found, metrics, within, at_least, against, report, json)
        return TOO_LOW if too_low else 0
    if against is not None:
        if engine is not None:
            raise ParameterError(Parameter("against"), " compares on this machine; leave ", Parameter("engine"), " out")
        other = ScoredStream(against, sources, format_, bad_rows.fresh_copy(), Purpose.EVALUATE, label=label)
        evaluation = evaluate_against(scored, other, reporter, metrics, columns)
    elif engine is None and scheduler is None:
        evaluation = evaluate_stream(scored, reporter, metrics=metrics, columns=columns)
    else:
        check_engine(engine, scheduler, additive=False)
        assert engine is not None, "check_engine raises for a scheduler alone"
        for name in columns._fields:
            if getattr(columns, name) is not None:
                raise ParameterError(Parameter(name), " reads on this machine; leave ", Parameter("engine"), " out")
        evaluation = evaluate_on(engine, scheduler, scored, sources, format_, reporter, metrics)
    reporter.unlabeled(bad_rows.unlabeled)
    if report is not None:
        write_report(report, model.name, scored, evaluation, command_line())
    ranking = evaluation.ranking
    low, high = ranking.auc_bounds or (ranking.confidence.auc,) * 2
    difference = evaluation.difference
    too_low = at_least is not None and ranking.confidence.high < at_least
    if json:
        emit(
            "evaluated", auc=ranking.confidence.auc, low=ranking.confidence.low, high=ranking.confidence.high,
            certain=[low, high], average_precision=ranking.average_precision,
            brier=evaluation.calibration.brier_score(), rows=evaluation.rows, positives=ranking.n_positives,
            negatives=ranking.n_negatives, skipped=evaluation.bad_rows,
            seconds=round(evaluation.seconds, 3), report=None if report is None else str(report),
            at_least=None if at_least is None else not too_low,
            against=None if difference is None else {"model": str(against), **difference._asdict()},
            metrics={name: value._asdict() for name, value in evaluation.metrics.items()},
            differences={name: value._asdict() for name, value in evaluation.differences.items()},
            within=None if within is None else
            {"column": within} | {weight: value._asdict() for weight, value in evaluation.within.items()},
            **({} if by is None else {"by": by, "groups": [group_as_json(group) for group in evaluation.groups]}),
        )  # fmt: skip
        return TOO_LOW if too_low else 0
    facts = {
        "AUC": f"{ranking.confidence.auc:.4f}",
        "95 % interval": f"{ranking.confidence.low:.4f} to {ranking.confidence.high:.4f} ({METHOD})",
        "average precision": f"{ranking.average_precision:.4f}",
        "Brier score": f"{evaluation.calibration.brier_score():.4f}",
        "rows": f"{evaluation.rows:,}, {ranking.n_positives:,} positive, {ranking.n_negatives:,} negative",
    }
    for one in metrics:
        facts[one.title] = interval_text(evaluation.metrics[one.name])
    for weight, group in evaluation.within.items():
        facts[f"AUC within {within}{', by rows' if weight == 'rows' else ''}"] = interval_text(group)
    if evaluation.within:
        groups = evaluation.within["equal"]
        facts["groups"] = f"{groups.n_groups:,} with both classes, {groups.n_one_class:,} with one, left out"
    if low < high:
        facts["AUC bounds"] = f"{low:.5f} to {high:.5f} (the scores of so many rows are summarized in fixed memory)"
    if evaluation.bad_rows:
        facts["skipped"] = f"{number_of(evaluation.bad_rows, 'bad row')}; {'; '.join(scored.stream.bad_rows.first[:3])}"
    if difference is not None:
        gap, error, _, p_value = difference
        facts[f"AUC minus that of {against}"] = f"{gap:+.4f} ± {error:.4f}, p = {p_value:.2g} (paired test)"
    for one in metrics if evaluation.differences else []:
        gap, error, _, p_value = evaluation.differences[one.name]
        facts[f"{one.title}, minus that of {against}"] = f"{gap:+.4f} ± {error:.4f}, p = {p_value:.2g}"
    if report is not None:
        facts["report"] = str(report)
    if at_least is not None:
        verdict = "the interval lies below" if too_low else "met" if ranking.confidence.auc >= at_least else "possible"
        facts[f"AUC of at least {at_least:g}"] = verdict
    show_table(f"{model} on {', '.join(scored.stream.sources)}", facts)
    if by is not None:
        show_table(f"by {by}", {group.name: group_as_text(group) for group in evaluation.groups})
    return TOO_LOW if too_low else 0


def group_as_text(group: GroupEvaluation) -> str:
    """Return the AUC of a group, its calibration, and its rates at the threshold of the page."""
    area = group.confidence
    auc = "one class only" if area is None else f"AUC {area.auc:.4f} ({area.low:.4f} to {area.high:.4f})"
    text = f"{auc}, predicted {group.predicted:.3f}, observed {group.observed:.3f}, {number_of(group.n_rows, 'row')}"
    if not group.points:
        return text
    point = group.points[shown_point([point.max_false_positive_rate for point in group.points])]
    return (
        f"{text}; at {point.threshold:.4g} recall {point.true_positive_rate:.3f}, "
        f"false positive rate {point.false_positive_rate:.3f}"
    )


def group_as_json(group: GroupEvaluation) -> Json:
    """Return all of a group; what is not known is null."""
    area = group.confidence

    def known(value: float) -> float | None:
        return None if math.isnan(value) else value

    return {
        "name": group.name,
        "rows": group.n_rows,
        "positives": group.n_positives,
        "auc": None if area is None else area.auc,
        "low": None if area is None else area.low,
        "high": None if area is None else area.high,
        "predicted": group.predicted,
        "observed": group.observed,
        "observed_limits": list(group.observed_limits),
        "calibration_error": group.calibration.expected_error(),
        "brier": group.calibration.brier_score(),
        "points": [{name: known(value) for name, value in point._asdict().items()} for point in group.points],
    }
