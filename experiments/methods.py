"""Estimators and functions as methods of the runner, and their AUCs on splits."""

import warnings
from collections.abc import Callable, Iterable, Sequence

import numpy as np
from sklearn.base import BaseEstimator, clone

from experiments.splits import FAILED, Split, compare_on_splits
from opauc.metrics import FittedMethod, Method
from opauc.types import Floats, Labels, Rows


def estimator_method(name: str, model: BaseEstimator) -> FittedMethod:
    """A scikit-learn estimator as a method."""
    return FittedMethod(name, lambda rows, labels: clone(model).fit(rows, labels).decision_function)


def weights_method(name: str, fit: Callable[[Rows, Labels], Floats]) -> FittedMethod:
    """A function from rows and labels to weights as a method; scores that are not finite are of no use."""

    def fitted(rows: Rows, labels: Labels) -> Callable[[Rows], Floats]:
        weights = fit(rows, labels)
        return lambda asked: np.where(np.isfinite(scores := asked @ weights), scores, np.nan)

    return FittedMethod(name, fitted)


def aucs_on(methods: Sequence[Method], rows: Rows, labels: Labels, splits: Iterable[Split]) -> Floats:
    """AUCs of methods (rows) on splits (columns), 0.5 where steps diverge or scores are of no use.

    >>> from opauc import OPAUC
    >>> rows, labels = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([0, 1, 0, 1], np.int8)
    >>> split = Split(np.array([0, 1]), np.array([2, 3]))
    >>> aucs_on([estimator_method("OPAUC", OPAUC())], rows, labels, [split]).tolist()
    [[1.0]]
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return np.nan_to_num(compare_on_splits(methods, rows, labels, splits).aucs, nan=FAILED)
