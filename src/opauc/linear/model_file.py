"""Models as files, and back, without pickle; no estimator is needed for either."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from typing import TypeVar

import numpy as np

from opauc.core.checksummed_file import read_checksummed, write_checksummed
from opauc.core.parameters import from_params
from opauc.core.registry import MAPS, SOLVERS
from opauc.core.saved_labels import labels_in, labels_out
from opauc.core.solver import AnySolver
from opauc.data import ReadOptions
from opauc.data.encode.table_features import OneHotReading
from opauc.errors import OpaucError, UnreadableFileError, UnsupportedOperationError
from opauc.linear.choice import SameLearner
from opauc.linear.fit import Solution, Solved
from opauc.linear.model_header import ModelHeader, checked_header
from opauc.linear.scorer import LinearScorer
from opauc.linear.training import Training
from opauc.types import Array, Arrays, Json, NamedArrays, Settings

Kind = TypeVar("Kind")
MODEL = "model"


@dataclass(frozen=True, eq=False)
class Model:
    """All that is known of a fitted estimator, without the estimator around it.

    `reading` says how the rows it learned from were read and `provenance` where
    they came from; both are empty for a model fitted to arrays.
    """

    estimator: str
    parameters: Settings
    solution: Solution | Solved
    classes: Array
    n_features: int
    feature_names: tuple[str, ...] | None = None
    reading: Settings = field(default_factory=dict)
    provenance: Settings = field(default_factory=dict)

    @property
    def scorer(self) -> LinearScorer:
        """What scores rows."""
        return self.solution.scorer

    def training(self) -> Training:
        """Return the loop in which the model goes on learning."""
        solution = self.learned()
        return Training(SameLearner(solution.learner, solution.published), solution)

    def row_reading(self) -> OneHotReading:
        """Return how rows are to be read for it."""
        return OneHotReading.of_json(self.reading) if self.reading else OneHotReading(ReadOptions())

    def learned(self) -> Solution:
        """Return the solution of a model that can go on learning."""
        if isinstance(self.solution, Solved):
            raise UnsupportedOperationError(f"{self.estimator} learns from all its rows at once and cannot go on")
        return self.solution


def save_model(model: Model, path: str | os.PathLike[str]) -> None:
    """Write a model with all that is known of it; the file appears whole or not at all."""
    header, arrays = model_parts(model)
    arrays |= {"scorer.weights": model.scorer.weights, "scorer.numbers": model.scorer.numbers()}
    header |= {"reading": dict(model.reading), "provenance": dict(model.provenance)}
    write_checksummed(path, MODEL, header, arrays)


def load_model(path: str | os.PathLike[str], to_learn: bool = True) -> Model:
    """Return a model with all that is known of it; one that is only to score is not asked how it would go on."""
    return model_in(path, *read_checksummed(path), to_learn)


def model_in(
    path: str | os.PathLike[str], kind: str, header: Settings, arrays: NamedArrays, to_learn: bool = True
) -> Model:
    """Return the model that was read from a file as its kind, header and arrays."""
    if kind != MODEL:
        raise UnreadableFileError(f"{path}: holds a {kind}, expected a model")
    with refusing(path):
        checked = checked_header(header)
        model = model_of_parts(checked if to_learn else {**checked, "learner": None}, arrays)
        if "scorer.weights" not in arrays:
            raise ValueError("expected the weights of a scorer")
        return model


def model_parts(model: Model) -> tuple[Json, Arrays]:
    """Return the header and the arrays from which `model_of_parts` makes the model again."""
    header: Json = {
        "estimator": model.estimator,
        "parameters": {name: _plain(value) for name, value in model.parameters.items()},
        "fitted": dict(model.solution.published),
        "n_features": model.n_features,
        "classes": labels_out(model.classes),
        "feature_names": None if model.feature_names is None else list(model.feature_names),
        "learner": None,
    }
    if isinstance(model.solution, Solved):
        return header, {}
    learner, mapped = model.solution.learner, model.solution.map
    header |= {
        "learner": learner.name,
        "settings": {name: _plain(value) for name, value in learner.settings().items()},
    }
    arrays = {f"state.{name}": array for name, array in learner.to_arrays(model.solution.state).items()}
    if mapped is not None:
        header["map"] = type(mapped).__name__
        arrays |= {f"map.{name}": array for name, array in mapped.to_arrays().items()}
    return header, arrays


def model_of_parts(header: ModelHeader, arrays: NamedArrays) -> Model:
    """Return the model that `model_parts` took apart, from a header that was checked."""
    n_features, names, reading = header["n_features"], header["feature_names"], header.get("reading", {})
    if names is not None and reading and OneHotReading.of_json(reading).feature_names() not in (None, names):
        raise ValueError("the names of its features are not those of the columns that its rows were read from")
    return Model(
        header["estimator"],
        dict(header["parameters"]),
        _solution(header, arrays, n_features),
        labels_in(header["classes"]),
        n_features,
        None if names is None else tuple(names),
        dict(reading),
        dict(header.get("provenance", {})),
    )


def _solution(header: ModelHeader, arrays: NamedArrays, n_features: int) -> Solution | Solved:
    scorer = _scorer(arrays, n_features) if "scorer.weights" in arrays else None
    published = dict(header["fitted"])
    if header["learner"] is None:
        if scorer is None:
            raise ValueError("expected the weights of a scorer")
        return Solved(scorer, published)
    learner = _learner(header["learner"], header["settings"])
    mapped = None
    if "map" in header:
        mapped = MAPS[header["map"]].from_arrays(_under("map.", arrays))
        if mapped.n_inputs != n_features:
            raise ValueError(f"expected a map of {n_features} features, got one of {mapped.n_inputs}")
    width = n_features if mapped is None else mapped.n_features
    # What the weights are worth is not worked out again: serving needs no statistics.
    state = learner.from_arrays(width, _under("state.", arrays))
    return Solution(learner, state, n_features, mapped, published, scorer)


def _scorer(arrays: NamedArrays, n_features: int) -> LinearScorer:
    weights = arrays["scorer.weights"]
    if weights.shape != (n_features,) or weights.dtype != np.float64:
        raise ValueError(f"expected {n_features} weights, got shape {weights.shape}")
    return LinearScorer.of_arrays(weights, arrays["scorer.numbers"])


def _learner(name: str, settings: Settings) -> AnySolver:
    """Return the learner of that name, every setting checked."""
    kind = SOLVERS[name]
    missing = [part.name for part in fields(kind) if part.name not in settings]
    if missing:
        raise ValueError(f"{name}: lacks the setting {missing[0]}")
    return from_params(name, kind, settings)


def _under(begin: str, arrays: NamedArrays) -> Arrays:
    return {name.removeprefix(begin): array for name, array in arrays.items() if name.startswith(begin)}


@contextmanager
def refusing(path: str | os.PathLike[str]) -> Iterator[None]:
    """Turn whatever the body makes of a strange file into one clear error that names the file."""
    try:
        yield
    except UnreadableFileError:
        raise
    except KeyError as error:
        raise UnreadableFileError(f"{path}: cannot be used: it lacks {error}") from error
    except (OpaucError, TypeError, ValueError, ArithmeticError, AttributeError, IndexError, MemoryError) as error:
        raise UnreadableFileError(f"{path}: cannot be used: {error}") from error


def _plain(value: object) -> object:
    """Return a parameter as JSON has it; a source of random numbers has left its mark in the state."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, list | tuple | np.ndarray):
        return [_plain(part) for part in value]
    return value.item() if isinstance(value, np.generic) else None
