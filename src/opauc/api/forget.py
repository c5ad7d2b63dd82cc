"""A model without some of its rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from opauc.api.observer import Observer
from opauc.api.scored_stream import ScoredStream
from opauc.core.batch import SourceRecord
from opauc.core.model import Model
from opauc.errors import InputError
from opauc.types import Json


class ForgetResult(NamedTuple):
    """The model without some rows, how many there were, and how many of them were in the initial sample.

    What rows of the initial sample contributed to the basis of an additive model stays.
    """

    model: Model
    rows: int
    initial_rows: int


def forget_rows(scored: ScoredStream, paths: Sequence[str], first_row: int | None, observer: Observer) -> ForgetResult:
    """Return the model without the rows of a stream.

    `first_row` is the number under which the first of them was processed, for sketches and folds.
    """
    labels, fit, records = scored.labels, scored.model.fit, tuple[SourceRecord, ...]()
    for batch, rows in scored.batches():
        actual = labels.encode(batch)
        numbers = None if first_row is None else first_row + batch.first_row + np.arange(actual.size)
        try:
            fit = fit.subtract(rows, actual, row_numbers=numbers, groups=batch.groups)
        except ValueError as error:
            raise InputError(f"{batch.source}, from line {batch.first_line} on: {error}") from error
        records = batch.resume_position.records
    before, n_rows = scored.model.provenance, sum(record["rows"] for record in records)
    for warning in _never_processed(scored.model, records):
        observer.warn(warning)
    provenance: Json = {name: value for name, value in before.items() if name != "learning_curve"}
    provenance["rows"] = max(0, before.get("rows", n_rows) - n_rows)
    removed = {"data": list(paths), "rows": n_rows, "sha256": [record["sha256"] for record in records]}
    provenance["forgotten"] = [*before.get("forgotten", ()), removed]
    initial_rows = fit.removed_initial_rows - scored.model.fit.removed_initial_rows
    return ForgetResult(replace(scored.model, fit=fit, provenance=provenance), n_rows, initial_rows)


def _never_processed(model: Model, records: Sequence[SourceRecord]) -> Iterator[str]:
    """Yield a warning for each file that was never trained on or was forgotten before, as far as the model knows."""
    trained = Counter(record["sha256"] for record in model.provenance.get("inputs", ()))
    forgotten = Counter(sha256 for taken in model.provenance.get("forgotten", ()) for sha256 in taken.get("sha256", ()))
    for record in records if trained else ():
        sha256 = record["sha256"]
        if sha256 not in trained:
            yield (
                f"{record['path']} is none of the files the model was trained on; "
                "if its rows were never processed, the model is wrong now"
            )
        elif forgotten[sha256] >= trained[sha256]:
            yield f"{record['path']} was forgotten before; unless it was trained on again, the model is wrong now"
        forgotten[sha256] += 1
