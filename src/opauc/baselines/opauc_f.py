"""`OPAUCf`: OPAUC on features drawn at random."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from opauc.baselines.projected_estimator import ProjectedClassifier
from opauc.linear.maps import FeatureSubset


class OPAUCf(ProjectedClassifier):
    """OPAUC with full covariance matrices on `n_components` features drawn at random.

    The objective is that of `OPAUC` with w zero outside the features drawn,
    all subsets of them being equally likely.

    Source: OPAUC^f in W. Gao, R. Jin, S. Zhu, Z.-H. Zhou, One-pass AUC
    optimization, ICML 2013, where 1,000 features are drawn and one descent
    follows. That is `solver="sgd"` here; the default solves for the minimizer.

    Parameters
    ----------
    n_components : int, default=1000
        Number of features to draw; all are taken if there are no more.
    solver : {"exact", "sgd"}, default="exact"
        As in `OPAUC`.
    alpha, eta0, learning_rate, average
        As in `OPAUC`.
    random_state : int, RandomState instance or None, default=None
        Seed of the choice of features.

    Attributes
    ----------
    features_ : ndarray of shape (n_components_,)
        Numbers of the features drawn, rising.
    n_components_ : int
        How many there are.
    classes_, coef_, intercept_, moments_, n_features_in_, feature_names_in_
        As in `OPAUC`; statistics are those of the features drawn.

    Examples
    --------
    >>> from opauc.baselines.opauc_f import OPAUCf
    >>> model = OPAUCf(n_components=1, alpha=0.0, random_state=0).fit([[0.0, 0.0], [2.0, 4.0]], [0, 1])
    >>> model.features_, model.coef_
    (array([1]), array([[0.  , 0.25]]))
    """

    _map_kind = FeatureSubset

    @property
    def features_(self) -> NDArray[np.int64]:
        """Numbers of the features drawn."""
        features: NDArray[np.int64] = self.map_.to_arrays()["features"]
        return features
