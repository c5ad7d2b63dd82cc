"""`OPAUCf`: OPAUC on a random subset of the features."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from opauc.baselines.projected import ProjectedClassifier
from opauc.estimators.docstrings import own_docstrings
from opauc.linear.maps import FeatureSubset


@own_docstrings("opauc.baselines")
class OPAUCf(ProjectedClassifier):
    """OPAUC with full covariance matrices on a random subset of `n_components` features.

    The objective is that of `OPAUC` with w zero outside the subset. All subsets
    of that size are equally likely.

    Source: OPAUC^f in W. Gao, R. Jin, S. Zhu, Z.-H. Zhou, One-pass AUC
    optimization, ICML 2013, with 1,000 features and one pass of gradient
    descent. That is `solver="sgd"` here; the default solves for the minimizer.

    Parameters
    ----------
    n_components : int, default=1000
        Size of the subset; all features if there are fewer.
    solver : {"exact", "sgd"}, default="exact"
        "exact" solves for the minimizer, "sgd" takes one gradient step per row.
    alpha : float, default=1e-4
        Ridge penalty.
    eta0 : float, default=1e4
        Step size of solver "sgd"; as in `OPAUC`.
    learning_rate : {"curvature", "constant", "invsqrt"}, default="curvature"
        Step size schedule of solver "sgd"; as in `OPAUC`.
    average : bool, default=True
        Whether solver "sgd" uses the mean of the iterates instead of the last iterate.
    random_state : int, RandomState instance or None, default=None
        Seed of the subset.

    Attributes
    ----------
    features_ : ndarray of shape (n_components_,)
        Indices of the features in the subset, increasing.
    n_components_ : int
        Number of features in the subset.
    moments_ : ClassMoments
        Count, mean and scatter of each class, of the features in the subset.
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
    >>> from opauc.baselines import OPAUCf
    >>> model = OPAUCf(n_components=1, alpha=0.0, random_state=0).fit([[0.0, 0.0], [2.0, 4.0]], [0, 1])
    >>> model.features_, model.coef_
    (array([1]), array([[0.  , 0.25]]))
    """

    _map_kind = FeatureSubset

    @property
    def features_(self) -> NDArray[np.int64]:
        """Indices of the features in the subset, increasing."""
        features: NDArray[np.int64] = self.map_.to_arrays()["features"]
        return features
