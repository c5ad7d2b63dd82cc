"""`opauc evaluate`: the AUC of a model on labeled rows, how sure it is, and a page about it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from opauc.api.engines import check_engine
from opauc.api.evaluate import evaluate_on, evaluate_stream, write_report
from opauc.api.output_file import check_writable
from opauc.api.scored_stream import Purpose, ScoredStream
from opauc.cli import options as shared
from opauc.cli.console import Reporter, emit, number_of, show_table

METHOD = "DeLong's variance, with a floor for small classes"


def command(
    model: shared.Model,
    data: shared.Data,
    report: Annotated[
        Path | None, typer.Option("--report", metavar="FILE", help="Write a report to this file, one HTML page.")
    ] = None,
    label: Annotated[
        str | None, typer.Option(help="Label column, by name. Default: that of the training files.")
    ] = None,
    engine: shared.Engine = None,
    scheduler: shared.Scheduler = None,
    format_: shared.Format = None,
    drop_unlabeled: shared.DropUnlabeled = False,
    on_bad_row: shared.OnBadRow = "error",
    max_bad_rows: shared.MaxBadRows = None,
    json: shared.Json = False,
    quiet: shared.Quiet = False,
) -> int:
    """Evaluate how well a model ranks labeled rows."""
    if report is not None:
        check_writable(report)
    purpose = Purpose.EVALUATE if report is None else Purpose.REPORT
    bad_rows = shared.bad_rows(on_bad_row, max_bad_rows, drop_unlabeled)
    scored = ScoredStream(model, data, format_, bad_rows, purpose, label=label)
    reporter = Reporter(json, quiet)
    if engine is None and scheduler is None:
        evaluation = evaluate_stream(scored, reporter)
    else:
        check_engine(engine, scheduler, additive=False)
        assert engine is not None, "check_engine raises for a scheduler alone"
        evaluation = evaluate_on(engine, scheduler, scored, data, format_, reporter)
    reporter.unlabeled(bad_rows.unlabeled)
    if report is not None:
        write_report(report, model.name, scored, evaluation)
    ranking = evaluation.ranking
    low, high = ranking.auc_bounds or (ranking.confidence.auc,) * 2
    if json:
        emit(
            "evaluated", auc=ranking.confidence.auc, low=ranking.confidence.low, high=ranking.confidence.high,
            certain=[low, high], average_precision=ranking.average_precision,
            brier=evaluation.calibration.brier_score(), rows=evaluation.rows, positives=ranking.n_positives,
            negatives=ranking.n_negatives, skipped=evaluation.bad_rows,
            seconds=round(evaluation.seconds, 3), report=None if report is None else str(report),
        )  # fmt: skip
        return 0
    facts = {
        "AUC": f"{ranking.confidence.auc:.4f}",
        "95 % interval": f"{ranking.confidence.low:.4f} to {ranking.confidence.high:.4f} ({METHOD})",
        "average precision": f"{ranking.average_precision:.4f}",
        "Brier score": f"{evaluation.calibration.brier_score():.4f}",
        "rows": f"{evaluation.rows:,}, {ranking.n_positives:,} positive, {ranking.n_negatives:,} negative",
    }
    if low < high:
        facts["AUC bounds"] = f"{low:.5f} to {high:.5f} (the scores of so many rows are summarized in fixed memory)"
    if evaluation.bad_rows:
        facts["skipped"] = f"{number_of(evaluation.bad_rows, 'bad row')}; {'; '.join(scored.stream.bad_rows.first[:3])}"
    if report is not None:
        facts["report"] = str(report)
    show_table(f"{model} on {', '.join(data)}", facts)
    return 0
