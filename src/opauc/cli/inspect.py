"""`opauc inspect`: what is inside a model, checkpoint or statistics file."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from opauc.cli import options as shared
from opauc.cli.console import emit, show_table
from opauc.cli.evaluation import named_weights
from opauc.files import read_sealed
from opauc.rows import Json
from opauc.training.model_file import MODEL, load_model

# Parts of a header worth a line each.
NESTED = ("bookmark", "plan", "reading", "provenance")


def command(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A file of opauc.", show_default=False)],
    json: shared.Json = False,
) -> int:
    """Print what a file holds; nothing in it is executed."""
    kind, header, arrays = read_sealed(file)
    shapes = {name: f"{array.dtype} {'×'.join(map(str, array.shape)) or '1'}" for name, array in arrays.items()}
    weights = named_weights(load_model(file, to_learn=False)) if kind == MODEL else []
    if json:
        emit("inspected", kind=kind, header=header, arrays=shapes, largest_weights=weights)
        return 0
    facts: Json = {"kind": kind, "size": f"{os.path.getsize(file):,} bytes"}
    for name, value in header.items():
        nested = value.items() if name in NESTED and value else ((None, value),)
        for inner, part in nested:
            facts[name if inner is None else f"{name}: {inner}"] = shown(part)
    curve = (header.get("provenance") or {}).get("learning_curve")
    if curve:
        facts["provenance: learning_curve"] = f"AUC {curve[-1][1]:.4f} at its end, row {curve[-1][0]:,}"
    show_table(str(file), {name: value for name, value in facts.items() if value != ""})
    show_table("arrays", shapes)
    if weights:
        show_table("largest weights", {name: f"{weight:+.6g}" for name, weight in weights})
    return 0


def shown(value: object) -> str:
    """Return a value of a header, shortened where it is long."""
    if isinstance(value, dict):
        return ", ".join(f"{name} {shown(part)}" for name, part in value.items() if shown(part) != "")
    if isinstance(value, list):
        parts = [shown(part) for part in value[:8]]
        return ", ".join(parts) + (f", … ({len(value)} in all)" if len(value) > len(parts) else "")
    return "" if value is None else f"{value:g}" if isinstance(value, float) else str(value)
