"""Input of linear estimators: arrays, sparse rows, tensors, and the tables of a model that the command trained."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data

from opauc.core.model import RowReading
from opauc.core.registry import TENSOR_INPUT
from opauc.core.row_blocks import widen_rows
from opauc.data.arrays import check_exact
from opauc.data.encode.table_features import OneHotReading
from opauc.estimators.input_checks import CheckedBatch, canonical, check_labels, check_not_exchanged
from opauc.types import Array, Rows

REAL = (np.float64, np.float32)


def check_batch(
    estimator: BaseEstimator,
    X: ArrayLike,
    y: ArrayLike,
    sample_weight: ArrayLike | None,
    classes: Array | None,
    first: bool,
) -> CheckedBatch:
    """Check a labeled batch; the first one fixes the number and names of the features.

    A model that the command trained takes tables like those of the command, new categories included.
    """
    if first:
        for name in ("_reading", "_threshold"):
            estimator.__dict__.pop(name, None)
    X = _in_memory(X)
    rows = _table_rows(estimator, X, learn=True)
    if rows is None and estimator.device is not None:
        rows = _tensor_rows(estimator, X, first)
        y, sample_weight = _on_host(y), _on_host(sample_weight)
    return _check(estimator, rows, (X, y), sample_weight, classes, first)


def check_known_batch(
    estimator: BaseEstimator, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None
) -> CheckedBatch:
    """Check a labeled batch of rows that were processed before: nothing new is learned of their columns."""
    X = _in_memory(X)
    rows = _table_rows(estimator, X, learn=False)
    return _check(estimator, rows, (X, y), sample_weight, estimator.classes_, first=False)


def check_rows(estimator: BaseEstimator, X: ArrayLike) -> Rows:
    """Check rows to be scored against the features of the model; those of tables become features first."""
    X = _in_memory(X)
    rows = _table_rows(estimator, X, learn=False)
    if rows is not None:
        return rows
    if estimator.device is not None:
        X = _on_host(X)
    return canonical(validate_data(estimator, X, reset=False, accept_sparse="csr", dtype=REAL))


def set_reading(estimator: BaseEstimator, reading: RowReading, n_features: int) -> None:
    """Set the attributes that say what the model knows of the columns and features of its rows."""
    estimator._reading, estimator.n_features_in_ = reading, n_features
    names = reading.feature_names()
    if names is not None:
        estimator.feature_names_in_ = np.array(names, dtype=object)


def _check(
    estimator: BaseEstimator,
    rows: Rows | None,
    given: tuple[ArrayLike, ArrayLike],
    sample_weight: ArrayLike | None,
    classes: Array | None,
    first: bool,
) -> CheckedBatch:
    """Check what was given, or only its labels where the rows are features already."""
    X, y = given
    if rows is None:
        check_not_exchanged(X, y)
        try:
            X, y = validate_data(estimator, X, y, reset=first, accept_sparse="csr", dtype=REAL)
        except ValueError as error:
            if what := _unsupported_values(X):
                name, (line, *_) = type(estimator).__name__, str(error).splitlines()
                advice = f"{name} takes finite numbers; OnePassGAM also takes {what}"
                raise ValueError(f"{line.rstrip('.')}. {advice}.") from error
            raise
        rows = canonical(X)
    return check_labels(rows, y, sample_weight, classes, estimator._several_classes)


def _unsupported_values(X: Any) -> str:
    """Return what rows contain that only additive models take: missing values or strings; nothing by default."""
    values = X.data if sparse.issparse(X) else np.asarray(X)
    if values.dtype.kind in "OUS":
        return "strings"
    return "missing values" if values.dtype.kind == "f" and np.isnan(values).any() else ""


def _in_memory(X: Any) -> Any:
    """Return whatever has columns as a table, anything else unchanged; integers must be exact in float64."""
    if isinstance(X, np.ndarray) and X.ndim == 2:
        check_exact(X, range(X.shape[1]), "X")
    if isinstance(X, np.ndarray | list | str) or sparse.issparse(X):
        return X
    from opauc.data.frames import to_table  # pyarrow, which arrays do not wait for

    return to_table(X)


def _table_rows(estimator: BaseEstimator, X: ArrayLike, learn: bool) -> Rows | None:
    """Return the features of a table or file, None where X is none; unknown categories are new or a warning."""
    reading: OneHotReading | None = estimator._reading
    if reading is None or not reading.takes(X):
        return None
    if learn:
        found = reading.learn(X)
        width = max(found.rows.shape[1], estimator.n_features_in_)
        set_reading(estimator, found.features, width)
        return widen_rows(found.rows, width)
    found = reading.read(X)
    for sentence in reading.describe_unknown(found.unknown):
        warnings.warn(sentence, UserWarning, stacklevel=5)
    return widen_rows(found.rows, estimator.n_features_in_)


def _tensor_rows(estimator: BaseEstimator, X: object, first: bool) -> Rows | None:
    """Return a torch tensor as rows, wherever it is, checked as other rows are; None where X is none."""
    rows: Rows | None = TENSOR_INPUT["rows"](X)
    if rows is None:
        return None
    if first:
        estimator.n_features_in_ = rows.shape[1]
        estimator.__dict__.pop("feature_names_in_", None)
    elif rows.shape[1] != estimator.n_features_in_:
        raise ValueError(
            f"X has {rows.shape[1]} features, but {type(estimator).__name__} is expecting "
            f"{estimator.n_features_in_} features as input."
        )
    return rows


def _on_host(values: Any) -> Any:
    """Return a tensor as an array in the memory of this machine, anything else as it is."""
    return TENSOR_INPUT["host"](values)
