"""Models of every kind as files, and back."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from itertools import zip_longest
from typing import Protocol, TypeAlias, cast

import numpy as np

from opauc.additive.model_file import (
    ADDITIVE,
    AdditiveCheckpoint,
    AdditiveModel,
    additive_of_parts,
    additive_parts,
    save_additive,
)
from opauc.additive.state import AdditiveSolution
from opauc.additive.training import GAM, GamRecipe
from opauc.core.batch import ResumePosition
from opauc.core.checksummed_file import read_checksummed
from opauc.core.fit import Learned, RowTraining
from opauc.data.encode.table_features import OneHotReading
from opauc.data.schema.table import TableSchema
from opauc.errors import IncompatibleMomentsError
from opauc.linear.fit import Solution
from opauc.linear.model_file import Model, model_in, model_of_parts, model_parts, refusing, save_model
from opauc.linear.model_header import CheckpointHeader, checked_header
from opauc.linear.resolve import recipe_of
from opauc.types import Array, Arrays, Json, NamedArrays, Settings

AnyModel: TypeAlias = Model | AdditiveModel


def save_any(model: AnyModel, path: str | os.PathLike[str]) -> None:
    """Write a model with all that is known of it; the file appears whole or not at all."""
    if isinstance(model, AdditiveModel):
        save_additive(model, path)
    else:
        save_model(model, path)


def load_any(path: str | os.PathLike[str], to_learn: bool = True) -> AnyModel:
    """Return the model in a file; one that is only to score is not asked how it would go on."""
    return any_in(path, *read_checksummed(path), to_learn)


def any_in(
    path: str | os.PathLike[str], kind: str, header: Settings, arrays: NamedArrays, to_learn: bool = True
) -> AnyModel:
    """Return the model that was read from a file as its kind, header and arrays."""
    if kind != ADDITIVE:
        return model_in(path, kind, header, arrays, to_learn)
    with refusing(path):
        return additive_of_parts(header, arrays)


def with_solution(model: AnyModel, solution: Learned) -> AnyModel:
    """Return the model with something else learned by the same estimator."""
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


def merged_any(first: AnyModel, other: AnyModel) -> AnyModel:
    """Return the model of the rows of both, which must be of one kind."""
    if isinstance(first, AdditiveModel) and isinstance(other, AdditiveModel):
        return merged_additive(first, other)
    if isinstance(first, AdditiveModel) or isinstance(other, AdditiveModel):
        raise IncompatibleMomentsError("cannot merge an additive model and a linear scorer")
    return merged_models(first, other)


def merged_additive(first: AdditiveModel, other: AdditiveModel) -> AdditiveModel:
    """Return the additive model of the rows of both, which must have begun with the same basis."""
    _refuse_other_classes(first.classes.tolist(), other.classes.tolist())
    if first.reading.get("positive") != other.reading.get("positive"):
        raise IncompatibleMomentsError("the models were trained with different positive labels")
    if first.inputs != other.inputs or not same_columns(first.columns, other.columns):
        raise IncompatibleMomentsError("models of different bases do not merge; begin each shard with the same basis")
    return replace(first, solution=first.solution.merged(other.solution))


def same_columns(one: TableSchema | None, other: TableSchema | None) -> bool:
    """Tell whether two models number their categories alike."""
    mine, theirs = (None if columns is None else columns.to_json()["columns"] for columns in (one, other))
    return bool(mine == theirs)


def _refuse_other_classes(mine: list[object], theirs: list[object]) -> None:
    if mine != theirs:
        raise IncompatibleMomentsError(f"cannot merge models of classes {mine} and {theirs}")


def merged_models(first: Model, other: Model) -> Model:
    """Return the model of the rows of both, with the features of both; it has the provenance of the first.

    Models of the command match their features by the names of the columns and
    their categories, or by their numbers where rows have no names. Others must
    have the same features.
    """
    _refuse_other_classes(first.classes.tolist(), other.classes.tolist())
    training = first.training()
    if not (first.reading and other.reading):
        refuse_other_names(first.feature_names, other.feature_names)
        training.merge(other.learned())
        return replace(first, solution=training.solution)
    joint, places = OneHotReading.of_json(first.reading).merged(OneHotReading.of_json(other.reading), other.n_features)
    same = first.n_features == other.n_features and np.array_equal(places, np.arange(places.size))
    training.merge(other.learned(), None if same else places)
    names = joint.feature_names()
    return replace(
        first,
        solution=training.solution,
        n_features=training.solution.n_features,
        feature_names=None if first.feature_names is None or names is None else tuple(names),
        reading=joint.to_json(),
    )


def refuse_other_names(mine: Sequence[str] | None, theirs: Sequence[str] | None) -> None:
    """Raise unless the features have the same names, with the first that differ.

    >>> from opauc.training.model_files import refuse_other_names
    >>> refuse_other_names(["a", "b"], ["a", "c"])
    Traceback (most recent call last):
        ...
    opauc.errors.IncompatibleMomentsError: cannot merge models of features with different names: b and c
    """
    if mine != theirs:
        pairs = zip_longest(mine or (), theirs or (), fillvalue="none")
        one, other = next((one, other) for one, other in pairs if one != other)
        raise IncompatibleMomentsError(f"cannot merge models of features with different names: {one} and {other}")


class StreamRecipe(Protocol):
    """How an estimator learns, by its name and parameters."""

    @property
    def owner(self) -> str:
        """Name of the estimator."""

    @property
    def parameters(self) -> Settings:
        """Its parameters, those that are not as usual at least."""

    def training(self, solution: Learned | None) -> RowTraining:
        """Return the loop in which a solution goes on learning, or a first one begins."""

    def model(self, solution: Learned, classes: Array) -> AnyModel:
        """Return the model of what has been learned."""

    def refuse_other(self, solution: Learned, resume_position: ResumePosition) -> None:
        """Raise where what was learned, up to that resume_position, cannot have been learned so."""


def stream_recipe_of(estimator: str, parameters: Settings) -> StreamRecipe:
    """Return how an estimator that learns from files does so.

    Examples
    --------
    >>> from opauc.training.model_files import stream_recipe_of
    >>> stream_recipe_of("OnePassGAM", {"n_knots": 12}).owner
    'OnePassGAM'
    """
    return GamRecipe(parameters) if estimator == GAM else recipe_of(estimator, parameters)
