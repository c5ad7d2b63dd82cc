"""The model that `opauc train --like` begins like: it settles how rows are read."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from opauc.additive.model_file import AdditiveModel
from opauc.core.labels import ClassLabels
from opauc.data import ReadOptions
from opauc.errors import InputError
from opauc.training.model_files import load_any
from opauc.types import Json

# Options of reading that go with the model: they may be repeated, not changed.
READING = ("label", "features", "drop", "categorical", "numeric", "delimiter", "header", "decimal")


def model_like(
    path: Path, given: Collection[str], reading: ReadOptions, labels: ClassLabels, seed: int
) -> AdditiveModel:
    """Return the model in a file, refused unless it has a basis and was learned with the options that are given."""
    model = load_any(path)
    if not isinstance(model, AdditiveModel):
        raise InputError(f"{path}: holds a linear scorer, which has no basis to begin with")
    asked = {name: getattr(reading, name) for name in READING}
    asked |= {"positive": labels.positive, "classes": tuple(labels.classes.tolist()), "seed": seed}
    settled = _settled(model, asked["label"])
    others = [name for name in asked if name in given and asked[name] != settled[name]]
    if others:
        which = ", ".join(f"--{name}" for name in others) + (" is" if len(others) == 1 else " are")
        was = ", ".join(_said(name, settled[name]) for name in others)
        raise InputError(f"{which} settled by --like: rows are read as those of {path} were, {was}")
    return model


def _settled(model: AdditiveModel, label: str | int | None) -> Json:
    """Return the options that a model was learned with; as its label the one asked for, where that is no other."""
    known = model.row_reading()
    settled: Json = {name: getattr(known.options, name) for name in READING}
    if label not in (settled["label"], known.label) and (settled["label"], known.label) != (None, None):
        label = settled["label"] if known.label is None else known.label
    classes, seed = tuple(model.classes.tolist()), model.parameters.get("random_state")
    return {**settled, "label": label, "positive": known.positive, "classes": classes, "seed": seed}


def _said(name: str, value: object) -> str:
    """Return an option as it was said, or that it was not."""
    if value in (None, ()):
        return f"without --{name}"
    if isinstance(value, bool):
        return f"with --{name}" if value else f"with --no-{name}"
    return f"with --{name} " + (",".join(map(str, value)) if isinstance(value, tuple) else str(value))
