"""`MeanDifference`: the null competitor that knows the class means only."""

from __future__ import annotations

from opauc.baselines.solvers import mean_difference
from opauc.linear.estimator import StreamClassifier


class MeanDifference(StreamClassifier):
    """Linear scorer whose weights are the difference of the class means: what covariances have to improve on.

    w = (mean of the positive rows) - (mean of the negative rows), the first
    step of every method here from zero weights, and their limit as the penalty
    grows. Memory is O(n_features), any order of rows gives the same.

    `predict_proba` takes the features for uncorrelated, since no covariances
    are kept; the order of the rows does not depend on that.

    Attributes
    ----------
    moments_ : FeatureMoments
        Counts, means and scatters of the features of both classes.
    classes_, coef_, intercept_, n_features_in_, feature_names_in_
        As in `OPAUC`.

    Examples
    --------
    >>> from opauc.baselines.mean_difference import MeanDifference
    >>> model = MeanDifference().partial_fit([[0.0, 1.0], [2.0, 3.0]], [0, 1])
    >>> model.partial_fit([[1.0, 1.0]], [0]).coef_
    array([[1.5, 2. ]])
    """

    _solver = mean_difference.MeanDifference
