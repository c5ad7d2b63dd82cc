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
from opauc.rows import Settings
from opauc.training.model_file import Model, load_model, save_model
from opauc.training.training import Training
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
    parts = [load_model(path) for path in models]
    training = parts[0].training()
    for path, other in zip(models[1:], parts[1:], strict=True):
        merge_into(training, parts[0], other, path)
    warn_of_overlap(parts)
    provenance = {
        "library": __version__,
        "rows": sum(part.provenance.get("rows", 0) for part in parts),
        "inputs": [record for part in parts for record in part.provenance.get("inputs", ())],
    }
    save_model(replace(parts[0], solution=training.solution, provenance=provenance), output)
    Reporter(json, quiet).say(
        "merged", f"{output}: {len(models)} models, {provenance['rows']:,} rows", model=str(output), **provenance
    )
    return 0


def warn_of_overlap(parts: list[Model]) -> None:
    """Say so where two models learnt the same content: its rows would count twice."""
    seen: dict[str, str] = {}
    for part in parts:
        for record in part.provenance.get("inputs", ()):
            if record["sha256"] in seen:
                warnings.warn(
                    f"{record['path']} and {seen[record['sha256']]} are the same rows; they count twice", stacklevel=2
                )
            seen[record["sha256"]] = record["path"]


def merge_into(training: Training, first: Model, other: Model, path: Path) -> None:
    """Add what another model learnt to the first; both must have read their rows alike."""
    if differing := difference(first.reading, other.reading):
        raise InputError(f"{path}: its rows were read differently: {differing}")
    if first.classes.tolist() != other.classes.tolist():
        raise InputError(
            f"{path}: cannot merge models of classes {first.classes.tolist()} and {other.classes.tolist()}"
        )
    try:
        training.merge(other.learnt())
    except ValueError as error:
        raise InputError(f"{path}: {error}") from error


def difference(one: Settings, other: Settings) -> str:
    """Return the first way in which two readings differ, or nothing."""
    pairs = [*((name, one.get(name), other.get(name)) for name in ("positive", "encoding"))]
    mine, theirs = one.get("options") or {}, other.get("options") or {}
    # Where rows came from matters to no one; what their columns mean does.
    pairs += [(name, mine.get(name), theirs.get(name)) for name in ("label", "features", "categorical", "hash_bits")]
    return next((f"{name} {a!r} and {b!r}" for name, a, b in pairs if a != b), "")
