"""`BatchUniSqu`: class-balanced least squares, all rows at once."""

from __future__ import annotations

import numpy as np
from scipy import sparse
from sklearn.linear_model import Ridge

from opauc.baselines.batch_estimator import BatchClassifier, as_float64, solved
from opauc.core.parameters import NON_NEGATIVE, POSITIVE, check_param
from opauc.linear.fit import Solved
from opauc.types import Labels, Rows


class BatchUniSqu(BatchClassifier):
    """Linear scorer that minimizes the square loss with classes of equal weight: the paper's batch Uni-Squ.

    With y = -1 or 1 and weights n / (2 n_y), so that both classes weigh the
    same, the objective is alpha/2 |w|^2 plus the mean over the n rows of
    weight * (y - w.x - b)^2 / 2. The constant b is not penalized. Its
    minimizer points where that of `LSSVM(alpha=2 * alpha)` does.

    Source: W. Kotlowski, K. Dembczynski, E. Hullermeier, Bipartite ranking
    through minimization of univariate loss, ICML 2011. It is solved by
    scikit-learn's Ridge(alpha=alpha n). The constant b serves the fit only:
    `intercept_` lies midway between the class means, as it does in every
    estimator here.

    Parameters
    ----------
    alpha : float, default=1e-4
        Ridge penalty; zero is allowed.
    tol : float, default=1e-10
        Relative size of the residual at which conjugate gradients stop; for
        sparse rows only, dense ones are solved directly.

    Attributes
    ----------
    classes_, coef_, intercept_, n_features_in_, feature_names_in_
        As in `OPAUC`.

    Examples
    --------
    >>> from opauc.baselines.batch_uni_squ import BatchUniSqu
    >>> BatchUniSqu(alpha=0.1).fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1]).coef_.round(4)
    array([[0.7407]])
    """

    def __init__(self, *, alpha: float = 1e-4, tol: float = 1e-10) -> None:
        self.alpha = alpha
        self.tol = tol

    def _solve(self, rows: Rows, labels: Labels) -> Solved:
        owner = type(self).__name__
        rows, alpha = as_float64(rows), check_param(owner, "alpha", self.alpha, NON_NEGATIVE)
        shares = labels.size / (2.0 * np.bincount(labels))
        model = Ridge(
            alpha=alpha * labels.size,
            tol=check_param(owner, "tol", self.tol, POSITIVE),
            # Without a penalty the normal equations may be singular; the shortest solution is then meant.
            solver="svd" if alpha == 0.0 and not sparse.issparse(rows) else "auto",
        ).fit(rows, 2.0 * labels - 1.0, sample_weight=shares[labels])
        return solved(model.coef_, rows @ model.coef_, labels)
