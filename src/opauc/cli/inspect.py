"""`opauc inspect`: what is inside a model, checkpoint or statistics file."""

from __future__ import annotations

import os
from collections.abc import Sized
from pathlib import Path
from typing import Annotated

import typer

from opauc.cli import options as shared
from opauc.cli.console import emit, number_of, show_table
from opauc.cli.shown_penalty import penalty_as_json, penalty_choice, penalty_in_words
from opauc.cli.shown_text import shortened
from opauc.cli.shown_weights import shown_weights
from opauc.files import read_sealed
from opauc.report.weight_table import WeightRow
from opauc.rows import Json
from opauc.training.model_file import MODEL, model_in

# Parts of a header worth a line each.
NESTED = ("bookmark", "plan", "reading", "provenance")
# Of lists and of named values, so many are shown, and of what is within them, so deep.
FEW_PARTS, MOST_PARTS, DEEPEST = 8, 40, 6


def command(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="A model, checkpoint or statistics file.", show_default=False)
    ],
    json: shared.Json = False,
) -> int:
    """Print what a file holds; nothing in it is executed."""
    content = kind, header, arrays = read_sealed(file)
    shapes = {name: f"{array.dtype} {'×'.join(map(str, array.shape)) or '1'}" for name, array in arrays.items()}
    model = model_in(file, *content) if kind == MODEL else None
    weights, penalty = (None, None) if model is None else (shown_weights(model), penalty_choice(model))
    if json:
        listed = [] if weights is None else [row._asdict() for row in weights.rows]
        emit(
            "inspected", kind=kind, header=header, arrays=shapes, largest_weights=listed,
            order=None if weights is None else weights.order, penalty=penalty_as_json(penalty),
        )  # fmt: skip
        return 0
    facts: Json = {"kind": kind, "size": f"{os.path.getsize(file):,} bytes"}
    for name, value in header.items():
        nested = value.items() if name in NESTED and isinstance(value, dict) and value else ((None, value),)
        for inner, part in nested:
            facts[name if inner is None else f"{name}: {inner}"] = shown(part)
    curve = header["provenance"].get("learning_curve") if kind == MODEL and "provenance" in header else None
    if curve:
        facts["provenance: learning_curve"] = f"AUC {curve[-1][1]:.4f} at its end, row {curve[-1][0]:,}"
    show_table(str(file), {name: value for name, value in facts.items() if value != ""})
    show_table("arrays", shapes)
    if penalty is not None:
        folds = number_of(penalty.n_folds, "fold")
        show_table(f"penalties (alpha), {penalty.criterion} of {folds} held out", penalty_in_words(penalty))
    if weights is not None and weights.rows:
        show_table(f"largest weights, {weights.order}", {row.name: _weight(row) for row in weights.rows})
    return 0


def shown(value: object, depth: int = DEEPEST) -> str:
    """Return a value of a header, shortened where it is long or deep."""
    if isinstance(value, dict | list) and not depth:
        return "…"
    if isinstance(value, dict):
        named = ((name, shown(part, depth - 1)) for name, part in list(value.items())[:MOST_PARTS])
        return ", ".join(f"{shortened(name)} {part}" for name, part in named if part != "") + _rest(value, MOST_PARTS)
    if isinstance(value, list):
        return ", ".join(shown(part, depth - 1) for part in value[:FEW_PARTS]) + _rest(value, FEW_PARTS)
    return "" if value is None else f"{value:g}" if isinstance(value, float) else shortened(value)


def _weight(row: WeightRow) -> str:
    weight = f"{row.weight:+.6g}"
    return weight if row.effect is None else f"effect {row.effect:+.4g}, weight {weight}"


def _rest(parts: Sized, shown_parts: int) -> str:
    return f", … ({len(parts)} in all)" if len(parts) > shown_parts else ""
