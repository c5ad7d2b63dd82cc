"""`opauc predict`: scores, probabilities or labels, one a line."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import IO, Annotated

import typer

from opauc.cli import options as shared
from opauc.cli.console import Reporter, emit, number_of
from opauc.cli.scored_stream import ScoredStream
from opauc.cli.shown_text import shown_text
from opauc.errors import InputError
from opauc.files import atomic_write
from opauc.rows import Floats
from opauc.scorers import LinearScorer
from opauc.training.class_labels import shown_label

KINDS = ("score", "probability", "label")


def command(
    model: shared.Model,
    data: shared.Data,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="File to write. Default: standard output.")
    ] = None,
    what: Annotated[
        str, typer.Option(help="What to write: score, probability (of the positive class) or label.")
    ] = "score",
    format_: shared.Format = None,
    on_bad_row: shared.OnBadRow = "error",
    max_bad_rows: shared.MaxBadRows = None,
    json: shared.Json = False,
) -> int:
    """Score rows with a model; labels in the data are ignored and need not be there."""
    if what not in KINDS:
        raise InputError(f"--what must be one of {', '.join(KINDS)}, got {what!r}")
    scored = ScoredStream(model, data, format_, shared.bad_rows(on_bad_row, max_bad_rows), labelled=False)
    if output is None:
        write(scored, what, json, sys.stdout)
    else:
        with atomic_write(output) as temporary, temporary.open("w", encoding="utf-8") as out:
            write(scored, what, False, out)
    skipped = scored.stream.bad_rows
    if skipped.total:
        Reporter(json).say(
            "skipped", f"skipped {number_of(skipped.total, 'bad row')}", rows=skipped.total, first=skipped.first
        )
    return 0


def write(scored: ScoredStream, what: str, as_json: bool, out: IO[str]) -> None:
    """Write one line a row."""
    scorer, classes = scored.model.scorer, scored.model.classes.tolist()
    for part in scored.scored():
        if as_json:
            chances = scorer.chances(part.scores).tolist()
            for i, (score, chance) in enumerate(zip(part.scores.tolist(), chances, strict=True)):
                label = classes[int(score > 0)]
                emit("row", row=part.chunk.first_row + i, score=score, probability=chance, label=label)
        else:
            names = [shown_label(label) for label in classes]
            # Data for a program is as it is, what a person sees is safe to see.
            names = [shown_text(name) for name in names] if out.isatty() else names
            out.write("".join(f"{value}\n" for value in _values(what, scorer, names, part.scores)))


def _values(what: str, scorer: LinearScorer, names: list[str], scores: Floats) -> list[object]:
    if what == "label":
        return [names[positive] for positive in (scores > 0).tolist()]
    values: list[object] = (scores if what == "score" else scorer.chances(scores)).tolist()
    return values
