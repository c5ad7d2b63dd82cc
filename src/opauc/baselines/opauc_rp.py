"""`OPAUCrp`: OPAUC on a random projection of the rows."""

from __future__ import annotations

from opauc.baselines.projected_estimator import ProjectedClassifier
from opauc.linear.maps import GaussianProjection


class OPAUCrp(ProjectedClassifier):
    """OPAUC with full covariance matrices on a Gaussian projection of the rows to `n_components` dimensions.

    Rows x become x.R with R of independent normal entries of mean zero and
    variance 1 / n_components; OPAUC learns v from them, and w = R v scores the
    rows themselves.

    Source: OPAUC^rp in W. Gao, R. Jin, S. Zhu, Z.-H. Zhou, One-pass AUC
    optimization, ICML 2013, with 1,000 dimensions, where one descent follows.
    That is `solver="sgd"` here; the default solves for the minimizer.

    R is not kept, for with 1.4 million features it would take 11 GB. Each of
    its rows is drawn from the random state and the feature's number whenever a
    chunk has the feature, at some 30 ns a number, so large chunks are cheaper:
    a chunk of n rows takes n + 2,048 vectors of n_components numbers beside
    the statistics, n being at most 16,384. The first use of `coef_` draws R
    once in full.

    Parameters
    ----------
    n_components : int, default=1000
        Dimensions to project to; as many as there are features, if that is less.
    solver : {"exact", "sgd"}, default="exact"
        As in `OPAUC`.
    alpha, eta0, learning_rate, average
        As in `OPAUC`.
    random_state : int, RandomState instance or None, default=None
        Seed of the projection.

    Attributes
    ----------
    n_components_ : int
        Dimensions of the projected rows.
    classes_, coef_, intercept_, moments_, n_features_in_, feature_names_in_
        As in `OPAUC`; statistics are those of the projected rows.

    Examples
    --------
    >>> from opauc.baselines.opauc_rp import OPAUCrp
    >>> model = OPAUCrp(n_components=1, alpha=0.0, random_state=0).fit([[0.0, 0.0], [2.0, 4.0]], [0, 1])
    >>> model.decision_function([[0.0, 0.0], [2.0, 4.0]]).round(6)
    array([-0.5,  0.5])
    """

    _map_kind = GaussianProjection
