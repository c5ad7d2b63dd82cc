"""`opauc forget`: remove rows from a model."""

from __future__ import annotations

from typing import Annotated

import typer

from opauc.api.forget import forget_rows
from opauc.api.output_file import check_writable
from opauc.api.scored_stream import Purpose, ScoredStream
from opauc.cli import options as shared
from opauc.cli.console import Reporter, number_of
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

    Rows are subtracted from the sums of the model. Column types, categories and means
    that stand for missing values stay, and so does the basis of an additive model: the
    command says how many of the rows were in the initial sample that it was fitted to.
    A model does not record its other rows: the command warns only where a whole file
    was never trained on.

    Example: opauc forget orders.opauc customer.csv -o without.opauc
    """
    check_writable(output)
    reporter = Reporter(json, quiet)
    scored = ScoredStream(model, data, format_, shared.bad_rows("error", None), Purpose.FORGET)
    result = forget_rows(scored, data, first_row, reporter)
    save_model(result.model, output)
    text = f"{output}: {number_of(result.rows, 'row')} removed"
    if result.initial_rows:
        text += (
            f", of them {result.initial_rows:,} of the initial sample: their sums are gone, the structure "
            "(knots, pairs, trees) stays as it was fixed with them"
        )
    reporter.say("forgotten", text, model=str(output), rows=result.rows, initial_rows=result.initial_rows)
    return 0
