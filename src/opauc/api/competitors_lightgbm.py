"""LightGBM with its default settings, on one core as the others are."""

from __future__ import annotations

import numpy as np
from lightgbm import LGBMClassifier

from opauc.errors import UnsupportedOperationError
from opauc.metrics.exact_auc import Flags
from opauc.metrics.runner import FittedMethod, Scoring
from opauc.types import Floats, Labels, Rows

# All rows are in memory at once, and LightGBM's own form of them.
MOST_BYTES = 2**30


def lightgbm(categorical: Flags | None) -> FittedMethod:
    """Return boosted trees that know which columns are categories; a missing value is one.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.api.competitors_lightgbm import lightgbm
    >>> method = lightgbm(np.array([True]))
    >>> method.learn(np.array([[0.0], [1.0], [2.0]] * 100), np.array([1, 0, 1] * 100, np.int8))
    >>> method.finish()
    >>> method.scores(np.array([[0.0], [1.0]])) > 0
    array([ True, False])
    """

    def fitted(rows: Rows, labels: Labels) -> Scoring:
        if not isinstance(rows, np.ndarray):
            raise UnsupportedOperationError("takes tables, these rows are sparse")
        levels = [] if categorical is None else np.flatnonzero(categorical).tolist()
        model = LGBMClassifier(n_jobs=1, random_state=0, verbose=-1)
        model.fit(_known(rows, categorical), labels, categorical_feature=levels)

        def scores(rows: Rows) -> Floats:
            return np.asarray(model.booster_.predict(_known(rows, categorical), raw_score=True), np.float64)

        return scores

    return FittedMethod("lightgbm", fitted, MOST_BYTES)


def _known(rows: Rows, categorical: Flags | None) -> Floats:
    """Return rows in which a category that is not known is missing: LightGBM takes no numbers below zero."""
    numbers = np.array(rows, np.float64)
    if categorical is not None:
        numbers[(numbers < 0) & categorical] = np.nan
    return numbers


METHOD = lightgbm
