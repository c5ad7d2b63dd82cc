"""`SVMOR`: the linear ranking SVM with two ranks."""

from __future__ import annotations

import warnings

from sklearn.exceptions import ConvergenceWarning

from opauc.baselines.batch import BatchClassifier, as_float64, from_weights
from opauc.baselines.pairwise_hinge import PairwiseHinge
from opauc.core.fit import BatchFit
from opauc.core.parameters import from_params
from opauc.estimators.docstrings import own_docstrings
from opauc.types import Labels, Rows


@own_docstrings("opauc.baselines")
class SVMOR(BatchClassifier):
    """Linear scorer that minimizes the hinge loss over all pairs: the ordinal regression SVM with two ranks.

    The objective is |w|^2 / 2 + C times the mean, over all pairs of a positive
    and a negative row, of max(0, 1 - w.(x_pos - x_neg)). Rows are converted to
    float64, dense or sparse. The solver stores one vector of n_features for
    every cutting plane in use: tens to a few hundred.

    Source: T. Joachims, Training linear SVMs in linear time, KDD 2006, the
    ordinal regression problem, solved by cutting planes in O(n log n) each.

    Differences from the publication: each round searches the line from the best
    weights so far to the minimizer over the planes, as in Franc and Sonnenburg
    (2008), and the next plane is the tangent there. The stopping rule is the
    gap between the objective and its lower bound, not the violation of the last
    constraint.

    Needs the quadratic solver Clarabel, which comes with the extra `opauc[baselines]`.

    Parameters
    ----------
    C : float, default=1.0
        Weight of the mean loss relative to |w|^2 / 2; 1 / C is the alpha of other methods.
    tol : float, default=1e-3
        Largest relative excess of the objective over its minimum.
    max_iter : int, default=1000
        Largest number of planes, each at the cost of two products with the rows.

    Attributes
    ----------
    n_iter_ : int
        Number of planes.
    objective_ : float
        The objective reached.
    gap_ : float
        Upper bound on the relative excess of the objective over its minimum.
        `fit` warns if it is more than `tol`.
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
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import minmax_scale
    >>> from opauc.baselines import SVMOR
    >>> from opauc.metrics import exact_auc
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = SVMOR(C=100.0).fit(minmax_scale(X), y)
    >>> model.gap_ <= 1e-3
    True
    >>> round(exact_auc(y, model.decision_function(minmax_scale(X))), 2)
    0.99
    """

    _resolved = ("n_iter_", "objective_", "gap_")

    n_iter_: int
    objective_: float
    gap_: float

    def __init__(self, *, C: float = 1.0, tol: float = 1e-3, max_iter: int = 1000) -> None:
        self.C = C
        self.tol = tol
        self.max_iter = max_iter

    def _optimizer(self) -> PairwiseHinge:
        return from_params(type(self).__name__, PairwiseHinge, self.get_params(deep=False))

    def _solve(self, rows: Rows, labels: Labels) -> BatchFit:
        optimizer = self._optimizer()
        minimum = optimizer.minimize(as_float64(rows), labels)
        gap = optimizer.gap(minimum.objective, minimum.bound)
        if gap > optimizer.tol:
            warnings.warn(
                f"{type(self).__name__} stopped after {minimum.n_iter} planes with a gap of {gap:.2g}, more than "
                f"tol={self.tol}: raise max_iter or tol, or lower C",
                ConvergenceWarning,
                stacklevel=3,
            )
        return from_weights(
            minimum.weights,
            minimum.scores,
            labels,
            n_iter_=minimum.n_iter,
            objective_=minimum.objective,
            gap_=gap,
        )
