"""Tables as they come, for a model that knows what features their columns become."""

from __future__ import annotations

import warnings

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator

from opauc.core.row_blocks import widen_rows
from opauc.data.encode.categories import describe_unknown_categories
from opauc.data.encode.table_features import OneHotReading
from opauc.types import Rows


def known_rows(estimator: BaseEstimator, X: ArrayLike) -> Rows | None:
    """Return the features of raw rows, None where they are features already; unknown categories are a warning."""
    tables: OneHotReading | None = estimator._reading_features
    if tables is None or not tables.takes(X):
        return None
    found = tables.read(X)
    for sentence in describe_unknown_categories(found.unknown):
        warnings.warn(sentence, UserWarning, stacklevel=5)
    return widen_rows(found.rows, estimator.n_features_in_)


def learned_rows(estimator: BaseEstimator, X: ArrayLike) -> Rows | None:
    """Return the features of raw rows, new categories among them, which the model knows from now on."""
    tables: OneHotReading | None = estimator._reading_features
    if tables is None or not tables.takes(X):
        return None
    found = tables.learn(X)
    width = max(found.rows.shape[1], estimator.n_features_in_)
    publish_features(estimator, found.features, width)
    return widen_rows(found.rows, width)


def publish_features(estimator: BaseEstimator, tables: OneHotReading, n_features: int) -> None:
    """Set the attributes that say what a model knows of the columns and features of its rows."""
    estimator._reading_features, estimator.n_features_in_ = tables, n_features
    names = tables.feature_names()
    if names is not None:
        estimator.feature_names_in_ = np.array(names, dtype=object)
