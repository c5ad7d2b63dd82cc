"""`BatchUniSqu`: class-balanced least squares, all rows at once."""

from __future__ import annotations

import numpy as np
from scipy import sparse
from sklearn.linear_model import Ridge

from opauc.baselines.batch import BatchClassifier, as_float64, from_weights
from opauc.core.fit import BatchFit
from opauc.core.parameters import NON_NEGATIVE, POSITIVE, check_param
from opauc.estimators.docstrings import own_docstrings
from opauc.types import Labels, Rows


@own_docstrings("opauc.baselines")
class BatchUniSqu(BatchClassifier):
    """Linear scorer that minimizes the square loss with classes of equal weight: batch Uni-Squ of the paper.

    With y = -1 or 1 and weights n / (2 n_y), so that both classes have the
    same total weight, the objective is alpha/2 |w|^2 plus the mean over the n rows of
    weight * (y - w.x - b)^2 / 2. The constant b is not penalized. The
    minimizer has the direction of that of `LSSVM(alpha=2 * alpha)`.

    Source: W. Kotlowski, K. Dembczynski, E. Hullermeier, Bipartite ranking
    through minimization of univariate loss, ICML 2011. The solver is
    scikit-learn's Ridge(alpha=alpha n). The constant b is used in the fit only:
    `intercept_` lies midway between the class means, as in every estimator here.

    Parameters
    ----------
    alpha : float, default=1e-4
        Ridge penalty; zero is allowed.
    tol : float, default=1e-10
        Relative residual at which conjugate gradients stop. Used for sparse rows
        only; dense rows have a direct solution.

    Attributes
    ----------
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
    >>> from opauc.baselines import BatchUniSqu
    >>> BatchUniSqu(alpha=0.1).fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1]).coef_.round(4)
    array([[0.7407]])
    """

    def __init__(self, *, alpha: float = 1e-4, tol: float = 1e-10) -> None:
        self.alpha = alpha
        self.tol = tol

    def _solve(self, rows: Rows, labels: Labels) -> BatchFit:
        name = type(self).__name__
        rows, alpha = as_float64(rows), check_param(name, "alpha", self.alpha, NON_NEGATIVE)
        class_weights = labels.size / (2.0 * np.bincount(labels))
        model = Ridge(
            alpha=alpha * labels.size,
            tol=check_param(name, "tol", self.tol, POSITIVE),
            # Without a penalty the normal equations may be singular; take the minimum-norm solution.
            solver="svd" if alpha == 0.0 and not sparse.issparse(rows) else "auto",
        ).fit(rows, 2.0 * labels - 1.0, sample_weight=class_weights[labels])
        return from_weights(model.coef_, rows @ model.coef_, labels)
