"""scikit-learn's `LogisticRegression`, as most people would use it."""

from __future__ import annotations

import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, StandardScaler

from opauc.metrics.runner import FittedMethod, Scoring
from opauc.types import Labels, Rows

# All rows are in memory at once, and a scaled copy of them.
MOST_BYTES = 2**30


def fitted(rows: Rows, labels: Labels) -> Scoring:
    """Return what scores rows after fitting with default settings; features are scaled, sparse ones without centering.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.api.competitors_logistic import fitted
    >>> scores = fitted(np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([0, 0, 1, 1], np.int8))
    >>> bool(scores(np.array([[9.0]])) > scores(np.array([[1.5]])))
    True
    """
    scaler = StandardScaler() if isinstance(rows, np.ndarray) else MaxAbsScaler()
    model = make_pipeline(scaler, LogisticRegression(max_iter=1000))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # what it has reached by then ranks well
        model.fit(rows, labels)
    scoring: Scoring = model.decision_function
    return scoring


METHOD = FittedMethod("logistic_regression", fitted, MOST_BYTES)
