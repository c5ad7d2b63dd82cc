"""`opauc forget`: the model as if some rows had never been seen."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Annotated

import numpy as np
import typer

from opauc.cli import options as shared
from opauc.cli.console import Reporter
from opauc.cli.output_file import refuse_unwritable
from opauc.cli.scored_stream import Purpose, ScoredStream
from opauc.core.batch import SourceRecord
from opauc.errors import InputError
from opauc.training.model_files import AnyModel, save_any, with_solution


def command(
    model: shared.Model,
    data: shared.Data,
    output: shared.Output,
    first_row: Annotated[
        int | None,
        typer.Option(
            min=0,
            help="For a sketched model, or one that chose its penalty by folds: the number, from 0, under which the "
            "first of these rows was learned.",
        ),
    ] = None,
    format_: shared.Format = None,
    json: shared.Json = False,
    quiet: shared.Quiet = False,
) -> int:
    """Remove rows from a model, as if it had never seen them.

    Sums do not show which rows they are made of: only where whole files are
    taken out can the command tell that they were never learned, and warns.
    """
    refuse_unwritable(output)
    scored = ScoredStream(model, data, format_, shared.bad_rows("error", None), Purpose.FORGET)
    left, records = unlearned(scored, first_row)
    known, rows = left.provenance, sum(record["rows"] for record in records)
    reporter = Reporter(json, quiet)
    for stranger in strangers(left, records):
        reporter.warn(stranger)
    provenance = {name: value for name, value in known.items() if name != "learning_curve"}
    provenance["rows"] = max(0, known.get("rows", rows) - rows)
    taken = {"data": list(data), "rows": rows, "sha256": [record["sha256"] for record in records]}
    provenance["forgotten"] = [*known.get("forgotten", ()), taken]
    save_any(replace(left, provenance=provenance), output)
    reporter.say("forgotten", f"{output}: {rows:,} rows forgotten", model=str(output), rows=rows)
    return 0


def strangers(model: AnyModel, records: Sequence[SourceRecord]) -> Iterator[str]:
    """Yield what is wrong with files that were never learned or were forgotten before, as far as the model knows."""
    learned = Counter(record["sha256"] for record in model.provenance.get("inputs", ()))
    forgotten = Counter(sha256 for taken in model.provenance.get("forgotten", ()) for sha256 in taken.get("sha256", ()))
    for record in records if learned else ():
        sha256 = record["sha256"]
        if sha256 not in learned:
            yield (
                f"{record['path']} is none of the files the model was learned from; "
                "if its rows were never learned, the model is wrong now"
            )
        elif forgotten[sha256] >= learned[sha256]:
            yield f"{record['path']} was forgotten before; unless it was learned again, the model is wrong now"
        forgotten[sha256] += 1


def unlearned(scored: ScoredStream, first_row: int | None) -> tuple[AnyModel, tuple[SourceRecord, ...]]:
    """Return the model without the rows of a stream, and what there was of them."""
    labels, training, records = scored.labels, scored.model.training(), tuple[SourceRecord, ...]()
    for chunk, wide in scored.chunks():
        actual = labels.encoded(chunk)
        numbers = None if first_row is None else first_row + chunk.first_row + np.arange(actual.size)
        try:
            training.forget(wide, actual, row_numbers=numbers, groups=chunk.groups)
        except ValueError as error:
            raise InputError(f"{chunk.source}, from line {chunk.first_line} on: {error}") from error
        records = chunk.resume_position.records
    return with_solution(scored.model, training.solution), records
