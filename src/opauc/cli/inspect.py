"""`opauc inspect`: what is inside a model, checkpoint or statistics file."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence, Sized
from pathlib import Path
from typing import Annotated

import typer

from opauc.api.describe import (
    FitDescription,
    additive_as_json,
    describe_fit,
    edits_as_text,
    penalty_as_json,
    penalty_as_text,
    terms_as_text,
)
from opauc.cli import options as shared
from opauc.cli.console import emit, number_of, shorten, show_table
from opauc.core.checksummed_file import read_checksummed
from opauc.core.model import MODEL, Model, model_in
from opauc.report import TermsSection, WeightRow
from opauc.types import NamedArrays, Settings

# Parts of a header that are shown on separate lines.
NESTED = ("resume_position", "plan", "reading", "provenance")
# Shown items of lists and of mappings, and levels of nesting.
MAX_ITEMS, MAX_KEYS, MAX_DEPTH = 8, 40, 6
# Facts of a model that are shown first, by their names in the header; --verbose prints all.
SUMMARY = {
    "estimator": "estimator", "parameters": "parameters", "n_features": "features", "columns": "columns",
    "constraints": "constraints", "threshold": "threshold", "provenance: learning_curve": "progressive AUC",
    "provenance: library": "opauc", "size": "size",
}  # fmt: skip
# Up to so many files are listed, of more only the totals.
MAX_FILES = 3
# Letters of a path, or of a query in its place.
PATH_LETTERS = 300


def command(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="A model, checkpoint or statistics file.", show_default=False)
    ],
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Print the header and the arrays too.")] = False,
    json: shared.Json = False,
) -> int:
    """Print the content of a model, checkpoint or statistics file; nothing in it is executed.

    Of a model the facts that matter come first, then its terms or its largest weights.

    Example: opauc inspect orders.opauc
    Example: opauc inspect orders.opauc --json
    """
    content = kind, header, arrays = read_checksummed(file)
    shapes = {name: f"{array.dtype} {'×'.join(map(str, array.shape)) or '1'}" for name, array in arrays.items()}
    model = model_in(file, *content) if kind == MODEL else None
    shown = FitDescription() if model is None else describe_fit(model)
    if json:
        emit(
            "inspected", kind=kind, header=header, arrays=shapes,
            largest_weights=[
                {"name": row.name, "weight": row.weight, "effect": row.standardized_weight} for row in shown.weights
            ], order=shown.weight_order or None,
            penalty=penalty_as_json(shown.penalty),
            additive=None if shown.terms is None or model is None else additive_as_json(model),
        )  # fmt: skip
        return 0
    facts = _facts(file, kind, header, model, shown.constraints)
    if model is not None:
        known = {title: facts[name] for name, title in SUMMARY.items() if name in facts}
        show_table(str(file), {**known, **_about_rows(model)})
    if shown.penalty is not None:
        folds = number_of(shown.penalty.n_folds, "fold")
        title = f"penalties (alpha), {shown.penalty.criterion} of {folds} held out"
        show_table(title, penalty_as_text(shown.penalty))
    if shown.weights:
        show_table(f"largest weights, {shown.weight_order}", {row.name: _weight(row) for row in shown.weights})
    if shown.terms is not None:
        _show_terms(shown.terms)
    if verbose or model is None:
        show_table("header" if model is not None else str(file), facts)
        show_table("arrays", shapes if shown.terms is None else _by_part(arrays))
    return 0


def _facts(
    file: Path, kind: str, header: Settings, model: Model | None, constraints: Sequence[str]
) -> dict[str, object]:
    """Return the header as lines, with totals in place of long lists."""
    facts: dict[str, object] = {"kind": kind, "size": f"{os.path.getsize(file):,} bytes"}
    for name, value in header.items():
        nested = value.items() if name in NESTED and isinstance(value, dict) and value else ((None, value),)
        for inner, part in nested:
            facts[name if inner is None else f"{name}: {inner}"] = shown(part)
    if constraints:
        facts["constraints"] = ", ".join(constraints)
    schema = None if model is None or model.reading is None else model.reading.schema
    if schema is not None:
        kinds = Counter(column.kind for column in schema.columns)
        facts["columns"] = ", ".join(f"{what}: {count}" for what, count in kinds.items())
    provenance = {} if model is None else model.provenance
    files, curve = provenance.get("inputs", ()), provenance.get("learning_curve")
    if len(files) > MAX_FILES:
        rows, size = (sum(record[part] for record in files) for part in ("rows", "bytes"))
        facts["provenance: inputs"] = f"{len(files):,} files, {rows:,} rows, {size:,} bytes; --json lists them"
    if curve:
        facts["provenance: learning_curve"] = f"AUC {curve[-1][1]:.4f} at its end, row {curve[-1][0]:,}"
    return {name: value for name, value in facts.items() if value != ""}


def _about_rows(model: Model) -> dict[str, object]:
    """Return the classes, the number of training rows and the training files, as lines."""
    labels, provenance = model.labels, model.provenance
    positive = model.classes[-1] if labels.positive is None else labels.positive
    lines: dict[str, object] = {"classes": f"{', '.join(map(str, model.classes.tolist()))}; positive: {positive}"}
    files = provenance.get("inputs", ())
    if provenance.get("rows"):
        lines["rows"] = f"{provenance['rows']:,}"
    if 0 < len(files) <= MAX_FILES:
        named = ((shorten(one["path"], PATH_LETTERS), number_of(one["rows"], "row")) for one in files)
        lines["files"] = ", ".join(f"{path} ({rows})" for path, rows in named)
    elif files:
        lines["files"] = f"{len(files):,}; --verbose and --json tell more"
    return lines


def _show_terms(part: TermsSection) -> None:
    lines = terms_as_text(part.terms)
    show_table(f"terms, {len(lines)} of {part.n_terms}: kind, importance, range of log-odds", lines)
    aucs = {one.name: f"AUC {one.auc:.4f}{'  ← selected' if one.selected else ''}" for one in part.candidates}
    drifted = ", ".join(f"{name} (PSI {index:.2f})" for name, index in part.drift)
    drift = {"drift": drifted or "none"} if part.drift_checked else {}
    leaks = ", ".join(f"{name} (AUC {auc:.4f})" for name, auc in part.leaks)
    alone = {"may be known only after the outcome": leaks} if leaks else {}
    show_table("model selection", {"selected": part.selection, **aucs, **drift, **alone})
    if part.edits:
        show_table("edits, the oldest first; such terms stay as they are", edits_as_text(part.edits))


def shown(value: object, depth: int = MAX_DEPTH) -> str:
    """Return a value of a header, shortened where it is long or deep."""
    if isinstance(value, dict | list) and not depth:
        return "…"
    if isinstance(value, dict):
        named = ((name, shown(part, depth - 1)) for name, part in list(value.items())[:MAX_KEYS])
        return ", ".join(f"{shorten(name)} {part}" for name, part in named if part != "") + _rest(value, MAX_KEYS)
    if isinstance(value, list):
        return ", ".join(shown(part, depth - 1) for part in value[:MAX_ITEMS]) + _rest(value, MAX_ITEMS)
    return "" if value is None else f"{value:g}" if isinstance(value, float) else shorten(value)


def _by_part(arrays: NamedArrays) -> dict[str, str]:
    """Return the number of arrays of each part of a model, and of the numbers in them."""
    parts: dict[str, list[int]] = {}
    for name, array in arrays.items():
        parts.setdefault(name.partition(".")[0], []).append(array.size)
    return {
        part: f"{number_of(sum(sizes), 'number')} in {number_of(len(sizes), 'array')}" for part, sizes in parts.items()
    }


def _weight(row: WeightRow) -> str:
    weight = f"{row.weight:+.6g}"
    return weight if row.standardized_weight is None else f"effect {row.standardized_weight:+.4g}, weight {weight}"


def _rest(parts: Sized, shown_parts: int) -> str:
    return f", … ({len(parts)} in all)" if len(parts) > shown_parts else ""
