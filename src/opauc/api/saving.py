"""Fitted estimators and statistics as files, and back."""

from __future__ import annotations

import os
from typing import Any, TypedDict

from opauc.additive.gam import OnePassGAM
from opauc.additive.model_file import ADDITIVE, AdditiveModel, additive_of_parts, save_additive
from opauc.baselines.projected import ProjectedClassifier
from opauc.core.checksummed_file import read_checksummed, write_checksummed
from opauc.core.json_schema import json_as
from opauc.core.registry import ESTIMATORS, STATISTICS
from opauc.core.transaction import reading
from opauc.errors import UnreadableFileError
from opauc.estimators.scoring import ScoringClassifier
from opauc.linear.estimator import LinearClassifier, StreamClassifier
from opauc.linear.fit import Solved
from opauc.linear.model_file import MODEL, Model, model_in, refusing, save_model

STATISTICS_FILE = "statistics"


class StatisticsHeader(TypedDict):
    """What a file of statistics says of them."""

    statistics: str


def save(model: Any, path: str | os.PathLike[str]) -> None:
    """Write a fitted estimator, or the statistics of one, to a file that `load` and the command line read.

    The file holds the weights and, for estimators with `partial_fit`,
    everything learning needs to go on: `partial_fit`, `merge` and `forget`
    work on what `load` gives. It is a safetensors file; it appears whole or
    not at all.

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
    if type(model) in STATISTICS.values():
        write_checksummed(path, STATISTICS_FILE, {"statistics": type(model).__name__}, model.to_arrays())
        return
    if ESTIMATORS.get(type(model).__name__) is not type(model):
        raise TypeError(f"only estimators and statistics of opauc can be saved, got {type(model).__name__}")
    with reading(model):
        if isinstance(model, OnePassGAM):
            save_additive(model._known(), path)
        else:
            save_model(model._known(), path)


def load(path: str | os.PathLike[str]) -> Any:
    """Return the fitted estimator or the statistics in a file; loading runs no code of the file.

    Examples
    --------
    >>> import opauc
    >>> opauc.load("nothing.opauc")
    Traceback (most recent call last):
        ...
    opauc.errors.UnreadableFileError: nothing.opauc: no such file
    """
    kind, header, arrays = read_checksummed(path)
    if kind not in (MODEL, ADDITIVE, STATISTICS_FILE):
        raise UnreadableFileError(f"{path}: holds a {kind}, expected a model")
    if kind == ADDITIVE:
        with refusing(path):
            return gam_of(additive_of_parts(header, arrays))
    if kind == MODEL:
        model = model_in(path, kind, header, arrays)
        with refusing(path):
            return estimator_of(model)
    with refusing(path):
        name = json_as(StatisticsHeader, header, "header")["statistics"]
        return STATISTICS[name].from_arrays(arrays)


def gam_of(model: AdditiveModel) -> OnePassGAM:
    """Return the fitted additive model that knows what the model does."""
    if model.estimator != OnePassGAM.__name__:
        raise ValueError(f"no additive estimator {model.estimator} is known here")
    parameters = dict(model.parameters)
    if isinstance(parameters.get("interactions"), list):
        parameters["interactions"] = [tuple(pair) for pair in parameters["interactions"]]
    estimator = OnePassGAM(**parameters)
    estimator._adopt(model)
    return estimator


def estimator_of(model: Model) -> LinearClassifier:
    """Return the fitted estimator that knows what the model does."""
    kind: type[ScoringClassifier] = ESTIMATORS[model.estimator]
    if not issubclass(kind, LinearClassifier):
        raise ValueError(f"no linear estimator {model.estimator} is known here")
    if issubclass(kind, StreamClassifier) and isinstance(model.solution, Solved):
        raise ValueError(f"{model.estimator} can go on learning, but there is nothing here to go on from")
    if issubclass(kind, ProjectedClassifier) and model.learned().map is None:
        raise ValueError(f"{model.estimator} maps its rows, but there is no map")
    estimator = kind(**model.parameters)
    estimator._adopt(model)
    return estimator
