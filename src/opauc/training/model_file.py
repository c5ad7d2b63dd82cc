"""Fitted estimators as files, and back, without pickle."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from opauc.errors import OpaucError, UnreadableFile
from opauc.estimators.linear_scoring import LinearScoringClassifier
from opauc.files import read_sealed, write_sealed
from opauc.learners import find_learners
from opauc.learners.state_arrays import Arrays, restored, state_arrays
from opauc.scorers import LinearScorer
from opauc.statistics import ClassMoments, ExactMoments
from opauc.statistics.class_sketch import ClassSketch
from opauc.training.solution import Solution

MODEL, STATISTICS = "model", "statistics"
# Statistics that can be files of their own, to be merged somewhere else.
KINDS = {kind.__name__: kind for kind in (ClassMoments, ClassSketch, ExactMoments)}
# What may stand for a class label: numbers, truth values and text.
LABEL_KINDS = "iufbU"


@dataclass(frozen=True, eq=False)
class SavedModel:
    """A fitted estimator, how the rows it learnt from were read, and where they came from.

    `reading` and `provenance` are empty for a model fitted to arrays.
    """

    model: Any
    reading: Mapping[str, Any] = field(default_factory=dict)
    provenance: Mapping[str, Any] = field(default_factory=dict)


def save(model: Any, path: str | os.PathLike[str]) -> None:
    """Write a fitted estimator, or the statistics of one, to a file that `load` and the command line read.

    The file holds the weights and everything learning needs to go on:
    `partial_fit`, `merge` and `forget` work on what `load` gives. It is a
    safetensors file; it appears whole or not at all.

    Examples
    --------
    >>> import tempfile
    >>> import opauc
    >>> model = opauc.OPAUC().fit([[0.0], [1.0], [2.0], [4.0]], ["no", "no", "yes", "yes"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     opauc.save(model, f"{folder}/model.opauc")
    ...     opauc.load(f"{folder}/model.opauc").predict([[3.5]])
    array(['yes'], dtype='<U3')
    """
    if type(model) in KINDS.values():
        write_sealed(path, STATISTICS, {"statistics": type(model).__name__}, model.to_arrays())
    else:
        save_model(SavedModel(model), path)


def load(path: str | os.PathLike[str]) -> Any:
    """Return the fitted estimator or the statistics in a file; loading runs no code of the file.

    Examples
    --------
    >>> import opauc
    >>> opauc.load("nothing.opauc")
    Traceback (most recent call last):
        ...
    opauc.errors.UnreadableFile: nothing.opauc: no such file
    """
    kind, header, arrays = read_sealed(path)
    if kind != STATISTICS:
        return load_model(path).model
    with refusing(path):
        return KINDS[header["statistics"]].from_arrays(arrays)


def save_model(saved: SavedModel, path: str | os.PathLike[str]) -> None:
    """Write a model with all that is known of it."""
    check_is_fitted(saved.model)
    header, arrays = model_parts(saved.model)
    scorer = saved.model.solution_.scorer
    arrays["scorer.weights"] = scorer.weights
    arrays["scorer.numbers"] = np.array([scorer.intercept, scorer.slope, scorer.offset])
    header |= {"reading": dict(saved.reading), "provenance": dict(saved.provenance)}
    write_sealed(path, MODEL, header, arrays)


def load_model(path: str | os.PathLike[str]) -> SavedModel:
    """Return a model with all that is known of it."""
    kind, header, arrays = read_sealed(path)
    if kind != MODEL:
        raise UnreadableFile(f"{path}: holds a {kind}, expected a model")
    with refusing(path):
        weights = arrays.pop("scorer.weights")
        intercept, slope, offset = (float(number) for number in arrays.pop("scorer.numbers"))
        model = model_of_parts(header, arrays)
        if weights.shape != (model.n_features_in_,) or weights.dtype != np.float64:
            raise ValueError(f"expected {model.n_features_in_} weights, got shape {weights.shape}")
        weights.flags.writeable = False
        # What the weights are worth is not worked out again: serving needs no statistics.
        vars(model.solution_)["scorer"] = LinearScorer(weights, intercept, slope, offset)
        return SavedModel(model, dict(header["reading"]), dict(header["provenance"]))


def model_parts(model: Any) -> tuple[dict[str, Any], Arrays]:
    """Return the header and the arrays from which `model_of_parts` makes the model again."""
    learner, state = model.solution_.learner, model.solution_.state
    names = getattr(model, "feature_names_in_", None)
    header = {
        "estimator": type(model).__name__,
        "parameters": {name: _plain(value) for name, value in model.get_params(deep=False).items()},
        "learner": _learner_name(learner),
        "settings": {part.name: _plain(getattr(learner, part.name)) for part in fields(learner)},
        "fitted": {name: getattr(model, name) for name in ("solver_", "rank_") if hasattr(model, name)},
        "n_features": int(model.n_features_in_),
        "classes": _labels_out(model.classes_),
        "feature_names": None if names is None else [str(name) for name in names],
    }
    return header, {f"state.{name}": array for name, array in state_arrays(state).items()}


def model_of_parts(header: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Any:
    """Return the estimator that `model_parts` took apart, checked."""
    model = _estimator_class(header["estimator"])(**header["parameters"])
    learner = _learner(header["learner"], header["settings"])
    n_features = header["n_features"]
    if not isinstance(n_features, int) or not 0 < n_features < 2**31:
        raise ValueError(f"expected a number of features, got {n_features!r}")
    state = {name.removeprefix("state."): array for name, array in arrays.items() if name.startswith("state.")}
    model.solution_ = Solution(learner, restored(learner, n_features, state))
    model.n_features_in_ = n_features
    model.classes_ = _labels_in(header["classes"])
    for name, value in header["fitted"].items():
        setattr(model, name, value)
    if header["feature_names"] is not None:
        if len(header["feature_names"]) != n_features:
            raise ValueError(f"expected {n_features} feature names, got {len(header['feature_names'])}")
        model.feature_names_in_ = np.array(header["feature_names"], dtype=object)
    return model


@contextmanager
def refusing(path: str | os.PathLike[str]) -> Iterator[None]:
    """Turn whatever the body makes of a strange file into one clear error that names the file."""
    try:
        yield
    except UnreadableFile:
        raise
    except KeyError as error:
        raise UnreadableFile(f"{path}: cannot be used: it lacks {error}") from error
    except (OpaucError, TypeError, ValueError, AttributeError, MemoryError) as error:
        raise UnreadableFile(f"{path}: cannot be used: {error}") from error


def _plain(value: Any) -> Any:
    """Return a parameter as JSON has it; a source of random numbers has left its mark in the state."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    return value.item() if isinstance(value, np.generic) else None


def _learner_name(learner: Any) -> str:
    for name, kind in find_learners().items():
        if kind is type(learner):
            return name
    raise TypeError(f"cannot save what {type(learner).__name__} learnt: only learners of opauc.learners have files")


def _learner(name: str, settings: Mapping[str, Any]) -> Any:
    """Return the learner of that name; each setting must be of the kind of its default."""
    kind = find_learners()[name]
    for part in fields(kind):
        value, usual = settings[part.name], part.default
        is_number = isinstance(usual, float) and isinstance(value, int | float) and not isinstance(value, bool)
        if not (is_number or type(value) is type(usual) or part.name == "random_state"):
            raise ValueError(f"{name}: setting {part.name} cannot be {value!r}")
    return kind(**settings)


def _estimator_class(name: str) -> type:
    waiting: list[type] = [LinearScoringClassifier]
    while waiting:
        kind = waiting.pop()
        if kind.__name__ == name:
            return kind
        waiting += kind.__subclasses__()
    raise ValueError(f"no estimator {name} is known here")


def _labels_out(classes: NDArray[Any]) -> dict[str, Any]:
    values = classes.tolist()
    if classes.dtype.kind not in LABEL_KINDS and not all(isinstance(value, str) for value in values):
        raise ValueError(f"class labels must be numbers or text to be saved, got {values}")
    return {"type": classes.dtype.str if classes.dtype.kind in LABEL_KINDS else "object", "values": values}


def _labels_in(saved: Mapping[str, Any]) -> NDArray[Any]:
    kind, values = saved["type"], saved["values"]
    if kind != "object" and np.dtype(kind).kind not in LABEL_KINDS:
        raise ValueError(f"class labels cannot be of type {kind!r}")
    if len(values) != 2 or not all(isinstance(value, str | int | float) for value in values):
        raise ValueError(f"expected two class labels, got {values!r}")
    return np.array(values, dtype=kind)
