"""`SVMPerf`: the structural SVM for multivariate measures, with the AUC as the measure."""

from __future__ import annotations

from dataclasses import replace

from opauc.baselines.pairwise_hinge import PairwiseHinge
from opauc.baselines.svm_or import SVMOR
from opauc.estimators.docstrings import own_docstrings

# The loss is a percentage: all pairs swapped is a loss of 100.
PERCENT = 100.0


@own_docstrings("opauc.baselines")
class SVMPerf(SVMOR):
    """Linear scorer of the structural SVM whose loss is the percentage of swapped pairs (ROCArea).

    The objective is |w|^2 / 2 + C xi, where the one slack xi is the largest,
    over all ways to swap pairs of a positive and a negative row, of the
    percentage of pairs swapped less 100 times the mean over all pairs of
    w.(x_pos - x_neg) where swapped. The largest swaps every pair with
    w.(x_pos - x_neg) < 1, so xi is 100 times the mean of the hinge loss over
    pairs: SVMPerf(C) and SVMOR(100 C) have the same objective and optimizer.
    Only the stopping rules differ.

    Source: T. Joachims, A support vector method for multivariate performance
    measures, ICML 2005, in the form with one slack and a margin of one. The
    publication counts swapped pairs; the program of its author uses their
    percentage, which keeps C comparable between data sets. The cutting planes
    are those of `SVMOR`.

    Needs the quadratic solver Clarabel, which comes with the extra `opauc[baselines]`.

    Parameters
    ----------
    C : float, default=0.01
        Weight of the slack relative to |w|^2 / 2.
    tol : float, default=1e-3
        Tolerance of the slack, relative to the largest loss of 100.
    max_iter : int, default=1000
        Largest number of planes, each at the cost of two products with the rows.

    Attributes
    ----------
    n_iter_ : int
        Number of planes.
    objective_ : float
        The objective reached.
    gap_ : float
        (objective - its lower bound) / (100 C): an upper bound on the largest
        violation of a constraint, relative to the largest loss. `fit` warns if
        it is more than `tol`.
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
    >>> from opauc.baselines import SVMOR, SVMPerf
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> X = minmax_scale(X)
    >>> perf, ordinal = SVMPerf(C=1.0, tol=1e-6).fit(X, y), SVMOR(C=100.0, tol=1e-6).fit(X, y)
    >>> bool(abs(perf.objective_ - ordinal.objective_) < 1e-3)
    True
    """

    def __init__(self, *, C: float = 0.01, tol: float = 1e-3, max_iter: int = 1000) -> None:
        super().__init__(C=C, tol=tol, max_iter=max_iter)

    def _optimizer(self) -> PairwiseHinge:
        optimizer = super()._optimizer()
        return replace(optimizer, C=PERCENT * optimizer.C, gap_of="loss")
