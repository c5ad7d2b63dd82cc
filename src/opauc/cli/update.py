"""`opauc update`: train a model further on new data."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from opauc.api.cube.training import update_cube
from opauc.api.scored_stream import report_unreadable
from opauc.api.tables import data_or_query, paths_only, sources_of
from opauc.api.update import run_update
from opauc.cli import options as shared
from opauc.cli.console import INTERRUPTED, Reporter
from opauc.cli.train_report import report_cube, report_training
from opauc.errors import Parameter, ParameterError


def command(
    model: shared.Model,
    data: shared.DataOrQuery = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="File to write. Default: MODEL.", show_default=False),
    ] = None,
    checkpoint_every: shared.CheckpointEvery = None,
    resume: shared.Resume = False,
    sql: shared.Sql = None,
    database: shared.Database = None,
    format_: shared.Format = None,
    on_bad_row: shared.OnBadRow = "error",
    max_bad_rows: shared.MaxBadRows = None,
    drop_unlabeled: shared.DropUnlabeled = False,
    json: shared.Json = False,
    quiet: shared.Quiet = False,
) -> int:
    """Train a model further on new rows, which are read as those before.

    The model file is replaced when all rows have been processed. The basis of an
    additive model stays: it was fitted to rows of the first training. Where MODEL
    is a cube, the rows are added to its segments.

    Example: opauc update orders.opauc today.csv
    """
    target, reporter = output or model, Reporter(json, quiet)
    bad_rows = shared.bad_rows(on_bad_row, max_bad_rows, drop_unlabeled)
    sources = sources_of(data_or_query(data, sql, database, model))
    if model.is_dir():
        for name, given in (("output", output), ("checkpoint_every", checkpoint_every), ("resume", resume or None)):
            if given is not None:
                raise ParameterError(f"{model}: is a cube, which is changed in place; leave ", Parameter(name), " out")
        added = update_cube(model, paths_only(sources), format_, bad_rows, reporter)
        reporter.unlabeled(bad_rows.unlabeled)
        report_cube(added, reporter)
        return 0
    result = run_update(model, sources, target, bad_rows, reporter, format_, checkpoint_every, resume)
    if result.model is None:
        reporter.say(
            "interrupted", f"interrupted after row {result.rows:,}; continue with --resume", rows=result.rows,
            checkpoint=f"{target}.checkpoint",
        )  # fmt: skip
        return INTERRUPTED
    report_unreadable(result.unreadable, reporter)
    reporter.unlabeled(bad_rows.unlabeled)
    report_training(result, target, reporter)
    return 0
