"""Tensors of torch as rows, for estimators that work on a device of it."""

from __future__ import annotations

from typing import TypeVar

from sklearn.base import BaseEstimator

from opauc.rows import Rows

Values = TypeVar("Values")


def tensor_rows(estimator: BaseEstimator, X: object, first: bool) -> Rows | None:
    """Return a tensor as rows, wherever it lies, checked as other rows are; None where X is none."""
    from opauc.engines.device_rows import checked_tensor

    rows = checked_tensor(X)
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


def host_array(values: Values) -> Values:
    """Return a tensor as an array in the memory of this machine, anything else as it is."""
    from opauc.engines.device_rows import on_host

    return on_host(values)
