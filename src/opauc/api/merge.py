"""One model of the rows of several."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from dataclasses import replace

from opauc.core.model import Model, load_model
from opauc.errors import InputError, OpaucError
from opauc.types import Json
from opauc.version import __version__


def merge_files(paths: Sequence[str | os.PathLike[str]]) -> Model:
    """Return the model of the rows of several model files.

    Examples
    --------
    >>> from opauc.api.merge import merge_files
    >>> merge_files(["one.opauc"])
    Traceback (most recent call last):
        ...
    opauc.errors.InputError: merge needs two models or more
    """
    if len(paths) < 2:
        raise InputError("merge needs two models or more")
    models = [load_model(path) for path in paths]
    merged = models[0]
    for path, other in zip(paths[1:], models[1:], strict=True):
        try:
            merged = merged.merge(other)
        except OpaucError as error:
            raise InputError(f"{path}: ", *error.parts) from error
    _warn_of_overlap(models)
    provenance: Json = {
        "library": __version__,
        "rows": sum(model.provenance.get("rows", 0) for model in models),
        "inputs": [record for model in models for record in model.provenance.get("inputs", ())],
    }
    return replace(merged, provenance=provenance)


def _warn_of_overlap(models: Sequence[Model]) -> None:
    """Warn where two models were trained on the same content: its rows would count twice."""
    seen: dict[str, str] = {}
    for model in models:
        for record in model.provenance.get("inputs", ()):
            if record["sha256"] in seen:
                warnings.warn(
                    f"{record['path']} and {seen[record['sha256']]} are the same rows; they count twice", stacklevel=2
                )
            seen[record["sha256"]] = record["path"]
