"""Models of every kind as files, and back."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TypeAlias, cast

from opauc.files import read_sealed
from opauc.rows import Arrays, Json, NamedArrays, Settings
from opauc.training.additive.additive_file import (
    ADDITIVE,
    AdditiveCheckpoint,
    AdditiveModel,
    additive_of_parts,
    additive_parts,
    save_additive,
)
from opauc.training.additive.additive_solution import AdditiveSolution
from opauc.training.learnt import Learnt
from opauc.training.model_file import Model, model_in, model_of_parts, model_parts, refusing, save_model
from opauc.training.model_header import CheckpointHeader, checked_header
from opauc.training.solution import Solution

AnyModel: TypeAlias = Model | AdditiveModel


def save_any(model: AnyModel, path: str | os.PathLike[str]) -> None:
    """Write a model with all that is known of it; the file appears whole or not at all."""
    if isinstance(model, AdditiveModel):
        save_additive(model, path)
    else:
        save_model(model, path)


def load_any(path: str | os.PathLike[str], to_learn: bool = True) -> AnyModel:
    """Return the model in a file; one that is only to score is not asked how it would go on."""
    return any_in(path, *read_sealed(path), to_learn)


def any_in(
    path: str | os.PathLike[str], kind: str, header: Settings, arrays: NamedArrays, to_learn: bool = True
) -> AnyModel:
    """Return the model that was read from a file as its kind, header and arrays."""
    if kind != ADDITIVE:
        return model_in(path, kind, header, arrays, to_learn)
    with refusing(path):
        return additive_of_parts(header, arrays)


def with_solution(model: AnyModel, solution: Learnt) -> AnyModel:
    """Return the model with something else learnt by the same estimator."""
    if isinstance(model, AdditiveModel):
        return replace(model, solution=cast(AdditiveSolution, solution))
    return replace(model, solution=cast(Solution, solution))


def parts_of(model: AnyModel) -> tuple[Json, Arrays]:
    """Return the header and the arrays from which the model can be made again."""
    return additive_parts(model) if isinstance(model, AdditiveModel) else model_parts(model)


def checkpointed_model(header: Settings, arrays: NamedArrays) -> AnyModel:
    """Return the model of the parts of a checkpoint."""
    if "columns" in header:
        return additive_of_parts(header, arrays, AdditiveCheckpoint)
    return model_of_parts(checked_header(header, CheckpointHeader), arrays)
