"""Additive models as files, and back, without pickle."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, SupportsIndex, TypedDict

from opauc.additive.scorer import MappedScorer
from opauc.additive.settings import AdditiveSettings
from opauc.additive.state import AdditiveSolution
from opauc.core.checksummed_file import write_checksummed
from opauc.core.json_schema import json_as
from opauc.core.parameters import from_params
from opauc.core.saved_labels import SavedLabels, labels_in, labels_out
from opauc.data.encode.number_reading import OrdinalReading
from opauc.data.schema.table import TableSchema
from opauc.linear.model_header import Provenance, Reading
from opauc.types import Array, Arrays, Json, NamedArrays, Settings

if TYPE_CHECKING:
    from opauc.additive.training import AdditiveTraining

ADDITIVE = "additive model"
Pairs = list[list[int | str]]


class SavedAdditive(TypedDict):
    """What a file of an additive model always says of it."""

    estimator: str
    parameters: dict[str, int | str | Pairs | None]
    settings: dict[str, int | str | Pairs | None]
    n_features: int
    classes: SavedLabels
    feature_names: list[str] | None
    columns: Json | None


class AdditiveHeader(SavedAdditive, total=False):
    """What it may say beside it."""

    reading: Reading
    provenance: Provenance


class AdditiveCheckpoint(AdditiveHeader):
    """What a checkpoint says beside it."""

    plan: Json
    resume_position: Json
    positive: str | int | float | None
    next_look: int
    pace: list[list[int]]


@dataclass(frozen=True, eq=False)
class AdditiveModel:
    """All that is known of a fitted `OnePassGAM`, without the estimator around it.

    `columns` is None for one that learned arrays. `reading` says how the rows it
    learned from were read and `provenance` where they came from; both are empty
    for a model fitted to data in memory.
    """

    estimator: str
    parameters: Settings
    solution: AdditiveSolution
    classes: Array
    n_features: int
    feature_names: tuple[str, ...] | None = None
    columns: TableSchema | None = None
    reading: Settings = field(default_factory=dict)
    provenance: Settings = field(default_factory=dict)

    @property
    def scorer(self) -> MappedScorer:
        """What scores rows."""
        return self.solution.scorer

    @property
    def inputs(self) -> tuple[str, ...]:
        """Names of the numbers that a row becomes."""
        if self.columns is not None:
            return self.columns.inputs
        return self.feature_names or tuple(f"x{j}" for j in range(self.n_features))

    def learned(self) -> AdditiveSolution:
        """Return the solution, which can go on learning."""
        return self.solution

    def training(self) -> AdditiveTraining:
        """Return the loop in which the model goes on learning."""
        from opauc.additive.training import AdditiveTraining, GamRecipe

        return AdditiveTraining(GamRecipe(self.parameters), self.solution)

    def row_reading(self) -> OrdinalReading:
        """Return how rows are to be read for it."""
        return OrdinalReading.of_json(self.reading, self.columns)


def save_additive(model: AdditiveModel, path: str | os.PathLike[str]) -> None:
    """Write a model with all that is known of it; the file appears whole or not at all."""
    header, arrays = additive_parts(model)
    header |= {"reading": dict(model.reading), "provenance": dict(model.provenance)}
    write_checksummed(path, ADDITIVE, {name: value for name, value in header.items() if value != {}}, arrays)


def additive_parts(model: AdditiveModel) -> tuple[Json, Arrays]:
    """Return the header and the arrays from which `additive_of_parts` makes the model again."""
    settings = model.solution.settings
    header: Json = {
        "estimator": model.estimator,
        "parameters": {name: _plain(value) for name, value in model.parameters.items()},
        "settings": {name: _plain(getattr(settings, name)) for name in AdditiveSettings.__dataclass_fields__},
        "n_features": model.n_features,
        "classes": labels_out(model.classes),
        "feature_names": None if model.feature_names is None else list(model.feature_names),
        "columns": None if model.columns is None else model.columns.to_json(),
    }
    return header, model.solution.to_arrays()


def additive_of_parts(
    header: Settings, arrays: NamedArrays, kind: type[AdditiveHeader] = AdditiveHeader
) -> AdditiveModel:
    """Return the model that a file holds, refused unless all its parts fit together."""
    found = json_as(kind, header, "header")
    settings = from_params(found["estimator"], AdditiveSettings, found["settings"])
    solution = AdditiveSolution.from_arrays(settings, arrays)
    columns = None if found["columns"] is None else TableSchema.of_json(found["columns"])
    width = found["n_features"] if columns is None else len(columns.inputs)
    if width != solution.n_features or (columns is not None and len(columns.columns) > found["n_features"]):
        raise ValueError(f"expected {solution.n_features} inputs, got {width}")
    if columns is not None and (columns.categorical != solution.categorical).any():
        raise ValueError("columns: expected the same inputs to be categories as on the basis")
    names, reading = found["feature_names"], dict(found.get("reading", {}))
    if names is not None and len(names) != found["n_features"]:
        raise ValueError(f"expected {found['n_features']} feature names, got {len(names)}")
    OrdinalReading.of_json(reading, columns)
    return AdditiveModel(
        found["estimator"], found["parameters"], solution, labels_in(found["classes"]), found["n_features"],
        None if names is None else tuple(names), columns, reading, dict(found.get("provenance", {})),
    )  # fmt: skip


def _plain(value: object) -> object:
    """Return a parameter as JSON has it; a source of random numbers has left its mark in the solution."""
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    if value is None or isinstance(value, int | str):
        return value
    return int(value) if isinstance(value, SupportsIndex) else None
