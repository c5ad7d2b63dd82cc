"""`SVMOR`: the linear ranking support vector machine of two ranks."""

from __future__ import annotations

import warnings

from sklearn.exceptions import ConvergenceWarning

from opauc.baselines.batch_estimator import BatchClassifier, as_float64, solved
from opauc.baselines.solvers.pairwise_hinge import PairwiseHinge
from opauc.core.fit import BatchFit
from opauc.core.parameters import from_params
from opauc.types import Labels, Rows


class SVMOR(BatchClassifier):
    """Linear scorer that minimizes the hinge loss over all pairs: the ordinal regression SVM with two ranks.

    The objective is |w|^2 / 2 + C times the mean, over all pairs of a positive
    and a negative row, of max(0, 1 - w.(x_pos - x_neg)). Rows are float64,
    dense or sparse; what is kept of d features is one vector for every plane
    in use, of which there are tens to a few hundred.

    Source: T. Joachims, Training linear SVMs in linear time, KDD 2006, the
    ordinal regression problem, solved by its cutting planes with counts in
    O(n log n). Two things differ from the printed algorithm. Each round
    searches the line from the best weights so far to the solution of the
    planes, as Franc and Sonnenburg (2008) do, and the next plane touches the
    loss there. And the gap between the objective and the bound that the planes
    give is measured, not the violation of the last constraint.

    Needs the quadratic solver Clarabel: `pip install opauc[baselines]`.

    Parameters
    ----------
    C : float, default=1.0
        Weight of the mean loss against |w|^2 / 2; alpha = 1 / C in terms of the other methods.
    tol : float, default=1e-3
        Largest share by which the objective may exceed its minimum.
    max_iter : int, default=1000
        Largest number of planes, each at the price of two products with the rows.

    Attributes
    ----------
    n_iter_ : int
        Number of planes made.
    objective_ : float
        The objective reached.
    gap_ : float
        Share of it by which it exceeds its minimum, at most. Where that is
        more than `tol`, fitting warns.
    classes_, coef_, intercept_, n_features_in_, feature_names_in_
        As in `OPAUC`.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import minmax_scale
    >>> from opauc.baselines.svm_or import SVMOR
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

    def _optimiser(self) -> PairwiseHinge:
        return from_params(type(self).__name__, PairwiseHinge, self.get_params(deep=False))

    def _solve(self, rows: Rows, labels: Labels) -> BatchFit:
        optimizer = self._optimiser()
        found = optimizer.minimize(as_float64(rows), labels)
        gap = optimizer.gap(found.objective, found.bound)
        if gap > optimizer.tol:
            warnings.warn(
                f"{type(self).__name__} stopped after {found.n_iter} planes with a gap of {gap:.2g}, more than "
                f"tol={self.tol}: raise max_iter or tol, or lower C",
                ConvergenceWarning,
                stacklevel=3,
            )
        return solved(found.weights, found.scores, labels, n_iter_=found.n_iter, objective_=found.objective, gap_=gap)
