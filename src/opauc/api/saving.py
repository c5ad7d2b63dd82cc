"""Fitted estimators and statistics as files, and back."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, TypedDict

from opauc.core.checksummed_file import read_checksummed, write_checksummed
from opauc.core.json_schema import json_as
from opauc.core.model import MODEL, Model, model_in, save_model, unreadable
from opauc.core.registry import ESTIMATORS, STATISTICS
from opauc.core.transaction import reading
from opauc.errors import UnreadableFileError

if TYPE_CHECKING:  # scikit-learn takes long to import, and `opauc predict` needs none of it
    from opauc.estimators.scoring import ScoringClassifier

STATISTICS_FILE = "statistics"


class StatisticsHeader(TypedDict):
    """The header of a file of statistics."""

    statistics: str


def save(model: Any, path: str | os.PathLike[str], *, scoring_only: bool = False) -> None:
    """Write a fitted estimator, or the statistics of one, to a file that `load` and the command line read.

    The file holds the weights and, for estimators with `partial_fit`,
    everything needed to continue training: `partial_fit`, `merge` and `forget`
    work on what `load` gives. It is a safetensors file; it appears whole or
    not at all, and is checked as `load` checks it before it is written.

    With `scoring_only`, the file of a `OnePassGAM` leaves out the sums: it is
    much smaller, scores and explains rows in the same way (weights of leaves and of crossed codes are
    rounded to float32, which moves scores by less than 1e-6), and refuses `partial_fit`, `merge` and `forget`.

    Parameters
    ----------
    model : estimator or statistics
        A fitted estimator of this library, or its `moments_`.
    path : path
        File to write; one that is there is replaced.
    scoring_only : bool, default=False
        Whether to leave out what only training needs.

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
        arrays = model.to_arrays()
        with unreadable(f"{path}: not written"):
            type(model).from_arrays(arrays)
        write_checksummed(path, STATISTICS_FILE, {"statistics": type(model).__name__}, arrays)
        return
    if ESTIMATORS.get(type(model).__name__) is not type(model):
        raise TypeError(f"only estimators and statistics of opauc can be saved, got {type(model).__name__}")
    with reading(model):
        whole = model._to_model()
        save_model(whole.scoring_only() if scoring_only else whole, path)


def load(path: str | os.PathLike[str]) -> Any:
    """Return the fitted estimator or the statistics in a file; loading runs no code of the file.

    Parameters
    ----------
    path : path
        File that `save` or the command wrote.

    Returns
    -------
    model : estimator or statistics
        What was saved.

    Raises
    ------
    UnreadableFileError
        If the file is missing, damaged, or not of this library.

    Examples
    --------
    >>> import opauc
    >>> opauc.load("nothing.opauc")
    Traceback (most recent call last):
        ...
    opauc.errors.UnreadableFileError: nothing.opauc: no such file
    """
    kind, header, arrays = read_checksummed(path)
    if kind not in (MODEL, STATISTICS_FILE):
        raise UnreadableFileError(f"{path}: holds a {kind}, expected a model")
    if kind == MODEL:
        model = model_in(path, kind, header, arrays)
        with unreadable(path):
            return estimator_of(model)
    with unreadable(path):
        name = json_as(StatisticsHeader, header, "header")["statistics"]
        return STATISTICS[name].from_arrays(arrays)


def estimator_of(model: Model) -> ScoringClassifier:
    """Return the fitted estimator of a model; raise ValueError unless it is one of that estimator."""
    kind: type[ScoringClassifier] = ESTIMATORS[model.estimator]
    parameters = dict(model.parameters)
    if isinstance(parameters.get("interactions"), list):
        parameters["interactions"] = [tuple(pair) for pair in parameters["interactions"]]
    if unknown := parameters.keys() - kind._get_param_names():
        raise ValueError(f"parameters: {model.estimator} has none called {min(unknown)!r}")
    estimator = kind(**parameters)
    estimator._check_fit(model.fit)
    estimator._adopt(model)
    return estimator
