"""`opauc forget`: the model as if some rows had never been seen."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

import numpy as np
import typer

from opauc.cli import options as shared
from opauc.cli.console import Reporter
from opauc.cli.output_file import refuse_unwritable
from opauc.cli.scored_stream import ScoredStream
from opauc.errors import InputError
from opauc.training.model_file import Model, save_model


def command(
    model: shared.Model,
    data: shared.Data,
    output: shared.Output,
    first_row: Annotated[
        int | None,
        typer.Option(
            min=0, help="Of a sketched model: the number, from 0, under which the first of these rows was learnt."
        ),
    ] = None,
    format_: shared.Format = None,
    json: shared.Json = False,
    quiet: shared.Quiet = False,
) -> int:
    """Take rows out of a model again."""
    refuse_unwritable(output)
    scored = ScoredStream(model, data, format_, shared.bad_rows("error", None), labelled=True, to_learn=True)
    left, rows = unlearnt(scored, first_row)
    known = left.provenance
    provenance = {name: value for name, value in known.items() if name != "learning_curve"}
    provenance["rows"] = known.get("rows", rows) - rows
    provenance["forgotten"] = [*known.get("forgotten", ()), {"data": list(data), "rows": rows}]
    save_model(replace(left, provenance=provenance), output)
    Reporter(json, quiet).say("forgotten", f"{output}: {rows:,} rows forgotten", model=str(output), rows=rows)
    return 0


def unlearnt(scored: ScoredStream, first_row: int | None) -> tuple[Model, int]:
    """Return the model without the rows of a stream, and how many there were."""
    labels, training, rows = scored.labels, scored.model.training(), 0
    for chunk, wide in scored.chunks():
        actual = labels.encoded(chunk)
        numbers = None if first_row is None else first_row + chunk.first_row + np.arange(actual.size)
        try:
            training.forget(wide, actual, row_numbers=numbers)
        except ValueError as error:
            raise InputError(f"{chunk.source}, from line {chunk.first_line} on: {error}") from error
        rows += actual.size
    return replace(scored.model, solution=training.solution), rows
