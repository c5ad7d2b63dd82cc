"""`opauc merge`: one model of the rows of several."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from opauc.api.merge import merge_files
from opauc.api.output_file import check_writable
from opauc.cli import options as shared
from opauc.cli.console import Reporter
from opauc.core.model import save_model


def command(
    models: Annotated[list[Path], typer.Argument(metavar="MODEL...", help="Two or more model files.")],
    output: shared.Output,
    json: shared.Json = False,
    quiet: shared.Quiet = False,
) -> int:
    """Merge models trained on different rows into the model of all of them."""
    check_writable(output)
    merged = merge_files(models)
    save_model(merged, output)
    rows = merged.provenance["rows"]
    Reporter(json, quiet).say(
        "merged", f"{output}: {len(models)} models, {rows:,} rows", model=str(output), **merged.provenance
    )
    return 0
