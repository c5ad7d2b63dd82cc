"""`opauc forget`: the model as if some rows had never been seen."""

from __future__ import annotations

from typing import Annotated

import numpy as np
import typer

from opauc.cli import options as shared
from opauc.cli.console import Reporter
from opauc.cli.scored_stream import ScoredStream
from opauc.cli.train import refuse_unwritable
from opauc.errors import InputError
from opauc.training.model_file import SavedModel, save_model


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
    scored = ScoredStream(model, data, format_, shared.bad_rows("error", None), labelled=True)
    labels, kept, rows = scored.labels, scored.model, 0
    for part in scored.scored():
        codes = labels.codes(part.chunk)
        numbers = None if first_row is None else first_row + part.chunk.first_row + np.arange(codes.size)
        try:
            kept._forget(part.rows, codes, None, numbers)
        except ValueError as error:
            raise InputError(f"{part.chunk.source}, from line {part.chunk.first_line} on: {error}") from error
        rows += codes.size
    provenance = dict(scored.saved.provenance)
    provenance["rows"] = provenance.get("rows", rows) - rows
    provenance["forgotten"] = [*provenance.get("forgotten", ()), {"data": list(data), "rows": rows}]
    provenance.pop("learning_curve", None)
    save_model(SavedModel(kept, scored.saved.reading, provenance), output)
    Reporter(json, quiet).say("forgotten", f"{output}: {rows:,} rows forgotten", model=str(output), rows=rows)
    return 0
