"""Tables and arrays as they come, checked, as rows of numbers with missing values."""

from __future__ import annotations

import os
import warnings
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils.validation import _check_feature_names, validate_data

from opauc.data import ReadOptions
from opauc.data.encode.number_reading import OrdinalReading
from opauc.data.frames import with_text_names
from opauc.data.schema.table import OrdinalRows, TableSchema
from opauc.errors import InputError
from opauc.types import Floats

# Sparse rows are unpacked up to this size.
MOST_DENSE_BYTES = 2 * 2**30


class KnownRows(NamedTuple):
    """Rows of numbers, and what is known of the columns of the table they come from, None for an array."""

    rows: Floats
    columns: TableSchema | None


def first_rows(estimator: BaseEstimator, X: ArrayLike) -> KnownRows:
    """Return the rows of a first chunk, which fixes the number, names and kinds of the columns."""
    if not is_table(X):
        return KnownRows(_array_rows(estimator, X, reset=True), None)
    _check_feature_names(estimator, X, reset=True)
    from opauc.data.formats.memory import table_names

    table = with_text_names(X)
    found = TableSchema.of(table).learn(table)
    estimator.n_features_in_ = len(table_names(table) or ())
    return _warned(found)


def next_rows(estimator: BaseEstimator, X: ArrayLike, columns: TableSchema | None, learn: bool) -> KnownRows:
    """Return the rows of a later chunk, or of rows to be scored, which teaches nothing new of the columns."""
    if isinstance(X, str | os.PathLike):
        return KnownRows(_file_rows(estimator, os.fspath(X), columns), columns)
    if columns is None:
        return KnownRows(_array_rows(estimator, X, reset=False), None)
    if not is_table(X):
        if columns.categorical.any() or not len(columns.inputs) == len(columns.columns) == estimator.n_features_in_:
            raise ValueError(
                f"{type(estimator).__name__} was fitted to a table with columns of words or dates; "
                f"expected one with columns {', '.join(column.name for column in columns.columns)}, "
                f"got {type(X).__name__}"
            )
        return KnownRows(_array_rows(estimator, X, reset=False), columns)
    if "feature_names_in_" in vars(estimator):  # a model of the command finds its columns by their names
        _check_feature_names(estimator, X, reset=False)
    table = with_text_names(X)
    return _warned(columns.learn(table) if learn else columns.read(table))


def is_table(X: ArrayLike) -> bool:
    """Tell whether data has columns by name: a data frame of pandas, polars or pyarrow, or rows given as dicts."""
    if isinstance(X, np.ndarray):
        return False
    from opauc.data.formats.memory import table_names

    return table_names(X) is not None


def _array_rows(estimator: BaseEstimator, X: ArrayLike, reset: bool) -> Floats:
    checked = validate_data(
        estimator, X, reset=reset, accept_sparse="csr", dtype=np.float64, ensure_all_finite="allow-nan"
    )
    if isinstance(checked, np.ndarray):
        dense: Floats = checked
        return dense
    size = 8 * checked.shape[0] * checked.shape[1]
    if size > MOST_DENSE_BYTES:
        raise ValueError(
            f"{type(estimator).__name__} takes tables, and these {checked.shape[0]} sparse rows of {checked.shape[1]} "
            f"features would take {size / 2**30:.1f} GiB as one; give fewer at a time, or use OPAUC"
        )
    unpacked: Floats = checked.toarray()
    return unpacked


def _file_rows(estimator: BaseEstimator, path: str, columns: TableSchema | None) -> Floats:
    """Return the rows of a file, read as the command read those of the training."""
    reading = estimator._reading or OrdinalReading(ReadOptions(), None, columns)
    stream = reading.stream([path])
    parts = [np.asarray(chunk.rows, np.float64) for chunk in stream.chunks()]
    if not parts:
        raise InputError(f"{path}: there are no rows in it")
    return np.concatenate(parts)


def _warned(found: OrdinalRows) -> KnownRows:
    """Return the rows, with a warning of words where numbers were before."""
    for name, count in found.unreadable.items():
        warnings.warn(
            f"column {name}: {count:,} values are words where numbers were; they count as missing",
            UserWarning,
            stacklevel=6,
        )
    return KnownRows(found.rows, found.schema)
