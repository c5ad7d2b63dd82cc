"""`opauc merge`: one model of the rows of several."""

from __future__ import annotations

import warnings
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from opauc.cli import options as shared
from opauc.cli.console import Reporter
from opauc.cli.output_file import refuse_unwritable
from opauc.errors import InputError
from opauc.training.model_files import AnyModel, load_any, merged_any, save_any
from opauc.version import __version__


def command(
    models: Annotated[list[Path], typer.Argument(metavar="MODEL...", help="Two or more model files.")],
    output: shared.Output,
    json: shared.Json = False,
    quiet: shared.Quiet = False,
) -> int:
    """Merge models trained on different rows into the model of all of them."""
    if len(models) < 2:
        raise InputError("merge needs two models or more")
    refuse_unwritable(output)
    parts = [load_any(path) for path in models]
    merged = parts[0]
    for path, other in zip(models[1:], parts[1:], strict=True):
        try:
            merged = merged_any(merged, other)
        except ValueError as error:
            raise InputError(f"{path}: {error}") from error
    warn_of_overlap(parts)
    provenance = {
        "library": __version__,
        "rows": sum(part.provenance.get("rows", 0) for part in parts),
        "inputs": [record for part in parts for record in part.provenance.get("inputs", ())],
    }
    save_any(replace(merged, provenance=provenance), output)
    Reporter(json, quiet).say(
        "merged", f"{output}: {len(models)} models, {provenance['rows']:,} rows", model=str(output), **provenance
    )
    return 0


def warn_of_overlap(parts: list[AnyModel]) -> None:
    """Say so where two models learned the same content: its rows would count twice."""
    seen: dict[str, str] = {}
    for part in parts:
        for record in part.provenance.get("inputs", ()):
            if record["sha256"] in seen:
                warnings.warn(
                    f"{record['path']} and {seen[record['sha256']]} are the same rows; they count twice", stacklevel=2
                )
            seen[record["sha256"]] = record["path"]
