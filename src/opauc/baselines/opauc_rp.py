"""`OPAUCrp`: OPAUC on a random projection of the rows."""

from __future__ import annotations

from opauc.baselines.projected import ProjectedClassifier
from opauc.estimators.docstrings import own_docstrings
from opauc.linear.maps import GaussianProjection


@own_docstrings("opauc.baselines")
class OPAUCrp(ProjectedClassifier):
    """OPAUC with full covariance matrices on a Gaussian projection of the rows to `n_components` dimensions.

    Rows x become x.R with R of independent normal entries of mean zero and
    variance 1 / n_components. OPAUC is trained on them, which gives weights v;
    w = R v are the weights of the features.

    Source: OPAUC^rp in W. Gao, R. Jin, S. Zhu, Z.-H. Zhou, One-pass AUC
    optimization, ICML 2013, with 1,000 dimensions and one pass of gradient
    descent. That is `solver="sgd"` here; the default solves for the minimizer.

    R is not stored: with 1.4 million features it would take 11 GB. A row of R
    is a function of the random state and the index of its feature, computed for
    the features present in each batch at about 30 ns per number. Large batches
    are therefore cheaper. A batch of n rows, at most 16,384 at a time, takes
    n + 2,048 vectors of length n_components in addition to the statistics. The
    first use of `coef_` computes all of R once.

    Parameters
    ----------
    n_components : int, default=1000
        Dimensions to project to; the number of features if that is less.
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
        Seed of the projection.

    Attributes
    ----------
    n_components_ : int
        Dimensions of the projected rows.
    moments_ : ClassMoments
        Count, mean and scatter of each class, of the projected rows.
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
    >>> from opauc.baselines import OPAUCrp
    >>> model = OPAUCrp(n_components=1, alpha=0.0, random_state=0).fit([[0.0, 0.0], [2.0, 4.0]], [0, 1])
    >>> model.decision_function([[0.0, 0.0], [2.0, 4.0]]).round(6)
    array([-0.5,  0.5])
    """

    _map_kind = GaussianProjection
