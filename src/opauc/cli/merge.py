"""`opauc merge`: one model of the rows of several."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from opauc.api.merge import merge_files
from opauc.api.output_file import check_writable
from opauc.cli import options as shared
from opauc.cli.console import Reporter, number_of
from opauc.core.model import save_model


def command(
    models: Annotated[
        list[Path], typer.Argument(metavar="MODEL...", help="Two or more model files, or segments of a cube.")
    ],
    output: shared.Output,
    minus: Annotated[
        list[Path] | None,
        typer.Option(metavar="MODEL", help="A model or a segment whose rows to subtract; may be given several times."),
    ] = None,
    json: shared.Json = False,
    quiet: shared.Quiet = False,
) -> int:
    """Merge models trained on different rows into the model of all of them.

    Segments of a cube are such models: opauc merge cube/day=2026-11-*/country=NL -o M.
    With --minus the rows of other models are subtracted: a day is removed by its file.

    Example: opauc merge monday.opauc tuesday.opauc -o both.opauc
    """
    check_writable(output)
    merged = merge_files(models, minus or ())
    save_model(merged, output)
    rows, less = merged.provenance["rows"], f", minus {number_of(len(minus), 'model')}" if minus else ""
    Reporter(json, quiet).say(
        "merged", f"{output}: {number_of(len(models), 'model')}{less}, {rows:,} rows", model=str(output),
        **merged.provenance,
    )  # fmt: skip
    return 0
