"""Additive models as files, and back, without pickle."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TypedDict

from opauc.features.table_numbers import TableNumbers
from opauc.files import json_as, write_sealed
from opauc.learners.parameters import made
from opauc.rows import Array, Json, NamedArrays, Settings
from opauc.training.additive.additive_settings import AdditiveSettings
from opauc.training.additive.additive_solution import AdditiveSolution
from opauc.training.model_header import SavedLabels
from opauc.training.saved_labels import labels_in, labels_out

ADDITIVE = "additive model"
Pairs = list[list[int | str]]


class AdditiveHeader(TypedDict):
    """What a file of an additive model says of it."""

    estimator: str
    parameters: dict[str, int | str | Pairs | None]
    settings: dict[str, int | str | Pairs | None]
    n_features: int
    classes: SavedLabels
    feature_names: list[str] | None
    columns: Json | None


@dataclass(frozen=True, eq=False)
class AdditiveModel:
    """All that is known of a fitted `OnePassGAM`, without the estimator around it."""

    estimator: str
    parameters: Settings
    solution: AdditiveSolution
    classes: Array
    n_features: int
    feature_names: tuple[str, ...] | None
    columns: TableNumbers | None


def save_additive(model: AdditiveModel, path: str | os.PathLike[str]) -> None:
    """Write a model with all that is known of it; the file appears whole or not at all."""
    settings = model.solution.settings
    header: Json = {
        "estimator": model.estimator,
        "parameters": {name: _plain(value) for name, value in model.parameters.items()},
        "settings": {name: _plain(getattr(settings, name)) for name in model.parameters},
        "n_features": model.n_features,
        "classes": labels_out(model.classes),
        "feature_names": None if model.feature_names is None else list(model.feature_names),
        "columns": None if model.columns is None else model.columns.to_json(),
    }
    write_sealed(path, ADDITIVE, header, model.solution.to_arrays())


def additive_of_parts(header: Settings, arrays: NamedArrays) -> AdditiveModel:
    """Return the model that a file holds, refused unless all its parts fit together."""
    found = json_as(AdditiveHeader, header, "header")
    settings = made(found["estimator"], AdditiveSettings, found["settings"])
    solution = AdditiveSolution.from_arrays(settings, arrays)
    columns = None if found["columns"] is None else TableNumbers.of_json(found["columns"])
    width = found["n_features"] if columns is None else len(columns.inputs)
    if width != solution.n_features or (columns is not None and len(columns.columns) != found["n_features"]):
        raise ValueError(f"expected {solution.n_features} inputs, got {width}")
    if columns is not None and (columns.categorical != solution.categorical).any():
        raise ValueError("columns: expected the same inputs to be categories as on the card")
    names = found["feature_names"]
    if names is not None and len(names) != found["n_features"]:
        raise ValueError(f"expected {found['n_features']} feature names, got {len(names)}")
    classes = labels_in(found["classes"])
    return AdditiveModel(
        found["estimator"], found["parameters"], solution, classes, found["n_features"],
        None if names is None else tuple(names), columns,
    )  # fmt: skip


def _plain(value: object) -> object:
    """Return a parameter as JSON has it; a source of random numbers has left its mark in the solution."""
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    if value is None or isinstance(value, int | str):
        return value
    return int(value) if hasattr(value, "__index__") else None
