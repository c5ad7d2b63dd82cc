"""One model of the rows of several, and without the rows of others."""

from __future__ import annotations

import os
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypeAlias

from opauc.api.cube.cube import Cube
from opauc.api.cube.keys import Values
from opauc.api.cube.manifest import cube_of
from opauc.api.cube.segment_file import SEGMENT
from opauc.core.checksummed_file import kind_of
from opauc.core.model import Model, load_model
from opauc.errors import InputError, OpaucError
from opauc.types import Json
from opauc.version import __version__

Path_: TypeAlias = str | os.PathLike[str]


def merge_files(paths: Sequence[Path_], minus: Sequence[Path_] = ()) -> Model:
    """Return the model of the rows of several model files, or segments of a cube, without those of `minus`.

    Rows that were never added are refused where the files show it.

    Examples
    --------
    >>> from opauc.api.merge import merge_files
    >>> merge_files(["one.opauc"])
    Traceback (most recent call last):
        ...
    opauc.errors.InputError: merge needs two models or more
    """
    if not minus and len(paths) < 2 and kinds_of(paths) != {SEGMENT}:
        raise InputError("merge needs two models or more")
    models, others = read_models(paths), read_models(minus)
    merged = _fold(models, Model.merge)
    _warn_of_overlap([model for _, model in models])
    provenance: Json = {
        "library": __version__,
        "rows": sum(model.provenance.get("rows", 0) for _, model in models),
        "inputs": [record for _, model in models for record in model.provenance.get("inputs", ())],
    }
    for path, other in others:
        provenance = _without(provenance, other, path)
    left = _fold([("", merged), *others], Model.without)
    if not left.fit.counts.all_seen:
        raise InputError(f"{', '.join(map(str, paths))}: of one class only, or no row is left")
    return replace(left, provenance=provenance)


def kinds_of(paths: Iterable[Path_]) -> set[str]:
    """Return the kinds of the files of this library among paths."""
    return {kind_of(path) for path in paths}


def read_models(paths: Sequence[Path_]) -> list[tuple[Path_, Model]]:
    """Return the model of each model file, and one model of all segments of a cube, each with a path."""
    models, segments = list[tuple[Path_, Model]](), dict[Path, list[Path_]]()
    for path in paths:
        if kind_of(path) != SEGMENT:
            models.append((path, load_model(path)))
            continue
        folder = cube_of(path)
        if folder is None:
            raise InputError(f"{path}: is a segment outside of its cube, which has its basis")
        segments.setdefault(folder, []).append(path)
    for folder, files in segments.items():
        cube = Cube(folder)
        chosen = Counter[Values](values for file in files for values in cube.values_of_file(file))
        twice = [values for values, times in chosen.items() if times > 1]
        if twice:
            raise InputError(f"{folder}: segment {'/'.join(twice[0])} is given twice; its rows would count twice")
        models.append((folder, cube.model_of(list(chosen))))
    return models


def _fold(models: Sequence[tuple[Path_, Model]], join: Callable[[Model, Model], Model]) -> Model:
    """Join models one after the other; an error names the file of the second."""
    joined = models[0][1]
    for path, other in models[1:]:
        try:
            joined = join(joined, other)
        except OpaucError as error:
            raise InputError(f"{path}: ", *error.parts) from error
    return joined


def _without(provenance: Json, other: Model, path: Path_) -> Json:
    """Return where the rows come from without those of another model; raise where these were never added."""
    rows, inputs = provenance["rows"], list(provenance["inputs"])
    # Where every row comes from a file that is listed, a file that is not listed was never added.
    complete = rows == sum(record["rows"] for record in inputs)
    known = [record["sha256"] for record in inputs]
    for record in other.provenance.get("inputs", ()):
        if record["sha256"] in known:
            at = known.index(record["sha256"])
            del inputs[at], known[at]
        elif complete and inputs:
            raise InputError(f"{path}: cannot subtract rows that were never added: those of {record['path']}")
    return {**provenance, "rows": max(0, rows - other.provenance.get("rows", 0)), "inputs": inputs}


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
