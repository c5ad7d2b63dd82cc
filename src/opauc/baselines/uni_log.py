"""`UniLog`: class-balanced logistic regression, all rows at once."""

from __future__ import annotations

import numpy as np
from sklearn.linear_model import LogisticRegression

from opauc.baselines.batch import BatchClassifier, as_float64, from_weights
from opauc.core.fit import BatchFit
from opauc.core.parameters import NON_NEGATIVE, POSITIVE, Count, check_param
from opauc.estimators.docstrings import own_docstrings
from opauc.types import Labels, Rows


@own_docstrings("opauc.baselines")
class UniLog(BatchClassifier):
    """Linear scorer that minimizes the logistic loss with classes of equal weight: batch Uni-Log of the paper.

    With y = -1 or 1 and weights n / (2 n_y), so that both classes have the
    same total weight, the objective is alpha/2 |w|^2 plus the mean over the n rows of
    weight * log(1 + exp(-y (w.x + b))). The constant b is not penalized.

    Source: W. Kotlowski, K. Dembczynski, E. Hullermeier, Bipartite ranking
    through minimization of univariate loss, ICML 2011. The solver is
    scikit-learn's LogisticRegression(class_weight="balanced",
    C=1 / (alpha n)). The constant b is used in the fit only: `intercept_` lies
    midway between the class means, as in every estimator here.

    Parameters
    ----------
    alpha : float, default=1e-4
        Ridge penalty; zero is allowed.
    tol : float, default=1e-6
        Largest entry of the gradient at which the solver stops.
    max_iter : int, default=1000
        Largest number of iterations; scikit-learn warns if the solver has not converged.

    Attributes
    ----------
    n_iter_ : int
        Number of iterations.
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
    >>> from opauc.baselines import UniLog
    >>> UniLog(alpha=0.1).fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1]).predict([[1.4], [1.6]])
    array([0, 1])
    """

    _resolved = ("n_iter_",)

    n_iter_: int

    def __init__(self, *, alpha: float = 1e-4, tol: float = 1e-6, max_iter: int = 1000) -> None:
        self.alpha = alpha
        self.tol = tol
        self.max_iter = max_iter

    def _solve(self, rows: Rows, labels: Labels) -> BatchFit:
        name = type(self).__name__
        alpha = check_param(name, "alpha", self.alpha, NON_NEGATIVE)
        rows = as_float64(rows)
        model = LogisticRegression(
            C=1.0 / (alpha * labels.size) if alpha else np.inf,
            tol=check_param(name, "tol", self.tol, POSITIVE),
            max_iter=check_param(name, "max_iter", self.max_iter, Count()),
            class_weight="balanced",
        ).fit(rows, labels)
        weights = model.coef_[0].copy()
        return from_weights(weights, rows @ weights, labels, n_iter_=int(model.n_iter_[0]))
