"""`opauc report`: a page about a model on labeled rows."""

from __future__ import annotations

from typing import Annotated

import typer

from opauc.api.class_report import write_class_report
from opauc.api.evaluate import evaluate_stream, write_report
from opauc.api.evaluate_classes import evaluate_classes
from opauc.api.group_columns import GroupColumns
from opauc.api.output_file import check_writable
from opauc.api.scored_stream import Purpose, ScoredStream
from opauc.cli import options as shared
from opauc.cli.console import Reporter, command_line


def command(
    model: shared.Model,
    data: shared.Data,
    output: shared.Output,
    by: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="Show the rows of each value of this column too, or of bands of it."),
    ] = None,
    format_: shared.Format = None,
    on_bad_row: shared.OnBadRow = "error",
    max_bad_rows: shared.MaxBadRows = None,
    json: shared.Json = False,
    quiet: shared.Quiet = False,
) -> int:
    """Write a report, one HTML page, on how well a model ranks labeled rows.

    Example: opauc report orders.opauc later.csv -o page.html
    """
    check_writable(output)
    bad_rows = shared.bad_rows(on_bad_row, max_bad_rows)
    columns = GroupColumns(by=by)
    scored = ScoredStream(model, data, format_, bad_rows, Purpose.REPORT, columns.names)
    reporter = Reporter(json, quiet)
    if scored.model.several_classes:
        found = evaluate_classes(scored, reporter, columns=columns, detailed=True)
        write_class_report(output, model.name, scored, found, command_line())
        line = f"{output}: mean AUC over pairs of classes {found.auc:.4f} on {found.rows:,} rows"
        reporter.say("reported", line, report=str(output), auc=found.auc)
        return 0
    evaluation = evaluate_stream(scored, reporter, columns=columns)
    write_report(output, model.name, scored, evaluation, command_line())
    auc = evaluation.ranking.confidence.auc
    reporter.say("reported", f"{output}: AUC {auc:.4f} on {evaluation.rows:,} rows", report=str(output), auc=auc)
    return 0
