"""`opauc forget`: the model as if some rows had never been seen."""

from __future__ import annotations

from typing import Annotated

import typer

from opauc.api.forget import forget_rows
from opauc.api.output_file import check_writable
from opauc.api.scored_stream import Purpose, ScoredStream
from opauc.cli import options as shared
from opauc.cli.console import Reporter
from opauc.core.model import save_model


def command(
    model: shared.Model,
    data: shared.Data,
    output: shared.Output,
    first_row: Annotated[
        int | None,
        typer.Option(
            min=0,
            help="For a sketched model, or one that chose its penalty by folds: the number, from 0, under which the "
            "first of these rows was processed.",
        ),
    ] = None,
    format_: shared.Format = None,
    json: shared.Json = False,
    quiet: shared.Quiet = False,
) -> int:
    """Remove rows from a model without training it again.

    A model does not record its rows: the command warns only where a whole file was
    never trained on.
    """
    check_writable(output)
    reporter = Reporter(json, quiet)
    scored = ScoredStream(model, data, format_, shared.bad_rows("error", None), Purpose.FORGET)
    left, rows = forget_rows(scored, data, first_row, reporter)
    save_model(left, output)
    reporter.say("forgotten", f"{output}: {rows:,} rows forgotten", model=str(output), rows=rows)
    return 0
