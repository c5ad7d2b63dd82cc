"""`SVMPerf`: the support vector machine for multivariate measures, with the area under the ROC curve as the measure."""

from __future__ import annotations

from dataclasses import replace

from opauc.baselines.solvers.pairwise_hinge import PairwiseHinge
from opauc.baselines.svm_or import SVMOR

# The loss is a percentage: all pairs swapped is a loss of 100.
PERCENT = 100.0


class SVMPerf(SVMOR):
    """Linear scorer of the structural SVM whose loss is the percentage of swapped pairs (ROCArea).

    The objective is |w|^2 / 2 + C xi, where the one slack xi is the largest,
    over all ways to swap pairs of a positive and a negative row, of the
    percentage of pairs swapped less 100 times the mean over all pairs of
    w.(x_pos - x_neg) where swapped. The largest swaps every pair with
    w.(x_pos - x_neg) < 1, so xi is 100 times the mean of the hinge loss over
    pairs: SVMPerf(C) minimizes what SVMOR(100 C) does, and one optimizer
    serves both. What differs is when to stop.

    Source: T. Joachims, A support vector method for multivariate performance
    measures, ICML 2005, in the form with one slack and a margin of one. The
    paper counts swapped pairs; their percentage is what its author's program
    uses, and keeps C comparable between data sets. The planes are found as in
    `SVMOR`.

    Needs the quadratic solver Clarabel: `pip install opauc[baselines]`.

    Parameters
    ----------
    C : float, default=0.01
        Weight of the slack against |w|^2 / 2.
    tol : float, default=1e-3
        Tolerance of the slack, as a share of the largest loss: 1e-3 allows
        xi to be a tenth of a per cent too small.
    max_iter : int, default=1000
        Largest number of planes, each at the price of two products with the rows.

    Attributes
    ----------
    n_iter_ : int
        Number of planes made.
    objective_ : float
        The objective reached.
    gap_ : float
        (objective - its lower bound) / (100 C): the share of the largest loss
        by which some constraint is still violated, at most. Where that is
        more than `tol`, fitting warns.
    classes_, coef_, intercept_, n_features_in_, feature_names_in_
        As in `OPAUC`.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import minmax_scale
    >>> from opauc.baselines.svm_or import SVMOR
    >>> from opauc.baselines.svm_perf import SVMPerf
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> X = minmax_scale(X)
    >>> one, other = SVMPerf(C=1.0, tol=1e-6).fit(X, y), SVMOR(C=100.0, tol=1e-6).fit(X, y)
    >>> bool(abs(one.objective_ - other.objective_) < 1e-3)
    True
    """

    def __init__(self, *, C: float = 0.01, tol: float = 1e-3, max_iter: int = 1000) -> None:
        super().__init__(C=C, tol=tol, max_iter=max_iter)

    def _optimiser(self) -> PairwiseHinge:
        of_the_mean = super()._optimiser()
        return replace(of_the_mean, C=PERCENT * of_the_mean.C, gap_of="loss")
