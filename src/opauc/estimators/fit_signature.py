"""A `fit` whose signature tells the truth about sample weights."""

from __future__ import annotations

from collections.abc import Callable
from types import MethodType
from typing import Any


class FitBySolver:
    """Offer `fit(X, y, sample_weight)` or `fit(X, y)`, as the estimator's solver allows.

    Meta-estimators look at the signature to learn whether weights are meant:
    scikit-learn takes a weight k for k copies of a row, in whatever order the
    rows come. A solver that learns in the order of the rows cannot keep that.
    """

    def __init__(self, weighted: Callable[..., Any]) -> None:
        self.weighted = weighted
        self.__doc__ = weighted.__doc__

        def fit(self: Any, X: Any, y: Any) -> Any:
            return weighted(self, X, y)

        fit.__doc__ = weighted.__doc__
        self.plain = fit

    def __get__(self, estimator: Any, owner: type | None = None) -> Callable[..., Any]:
        if estimator is None:
            return self.weighted
        return MethodType(self.weighted if estimator._takes_weights() else self.plain, estimator)
