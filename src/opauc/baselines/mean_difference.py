"""The difference of the class means: a reference that every other method should improve on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from opauc.core.solver import MergeableSolver
from opauc.estimators.docstrings import own_docstrings
from opauc.linear.estimator import StreamClassifier
from opauc.linear.moments.features import FeatureMoments
from opauc.types import Floats, Labels, Rows


@dataclass(frozen=True)
class MeanDifferenceSolver(MergeableSolver[FeatureMoments]):
    """Solver of `MeanDifference`; the state has a mean and a scatter per feature and class.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.baselines.mean_difference import MeanDifferenceSolver
    >>> solver = MeanDifferenceSolver()
    >>> state = solver.step(solver.start(1), np.array([[0.0], [2.0]]), np.array([0, 1], np.int8))
    >>> solver.weights(state).tolist()
    [2.0]
    """

    name: ClassVar[str] = "mean_difference"

    def start(self, n_features: int) -> FeatureMoments:
        """Return empty statistics."""
        return FeatureMoments.empty(n_features)

    def step(self, state: FeatureMoments, rows: Rows, labels: Labels, weight: Floats | None = None) -> FeatureMoments:
        """Return the statistics after more rows."""
        return state.update(rows, labels, weight)

    def weights(self, state: FeatureMoments) -> Floats:
        """Return the difference of the class means; zero until both classes have been seen."""
        return state.mean_difference() if state.counts.both else np.zeros(state.n_features)


@own_docstrings("opauc.baselines")
class MeanDifference(StreamClassifier):
    """Linear scorer whose weights are the difference of the class means.

    w = (mean of the positive rows) - (mean of the negative rows). This is the
    direction of the first step of the other methods from zero weights, and
    their limit as the penalty grows. Memory is O(n_features). The order of the
    rows does not matter.

    `predict_proba` assumes uncorrelated features, because covariances are not
    computed. The ranking does not depend on that assumption.

    Attributes
    ----------
    moments_ : FeatureMoments
        Counts, means and scatters of the features of both classes.
    classes_ : ndarray of shape (2,)
        The class labels, the positive class last.
    coef_ : ndarray of shape (1, n_features)
        Weights of the scorer.
    intercept_ : ndarray of shape (1,)
        Intercept of the scorer, midway between the class means of the scores.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if X had string column names.

    Examples
    --------
    >>> from opauc.baselines import MeanDifference
    >>> model = MeanDifference().partial_fit([[0.0, 1.0], [2.0, 3.0]], [0, 1])
    >>> model.partial_fit([[1.0, 1.0]], [0]).coef_
    array([[1.5, 2. ]])
    """

    _solver = MeanDifferenceSolver
