"""`opauc report`: a page about a model on labeled rows."""

from __future__ import annotations

from opauc.cli import options as shared
from opauc.cli.console import Reporter
from opauc.cli.evaluation import evaluate, write_report
from opauc.cli.output_file import refuse_unwritable
from opauc.cli.scored_stream import Purpose, ScoredStream


def command(
    model: shared.Model,
    data: shared.Data,
    output: shared.Output,
    format_: shared.Format = None,
    on_bad_row: shared.OnBadRow = "error",
    max_bad_rows: shared.MaxBadRows = None,
    json: shared.Json = False,
    quiet: shared.Quiet = False,
) -> int:
    """Write a report, one HTML page, on how well a model ranks labeled rows."""
    refuse_unwritable(output)
    scored = ScoredStream(model, data, format_, shared.bad_rows(on_bad_row, max_bad_rows), Purpose.REPORT)
    reporter = Reporter(json, quiet)
    found = evaluate(scored, reporter)
    write_report(output, model.name, scored, found)
    auc = found.ranking.confidence.auc
    reporter.say("reported", f"{output}: AUC {auc:.4f} on {found.rows:,} rows", report=str(output), auc=auc)
    return 0
