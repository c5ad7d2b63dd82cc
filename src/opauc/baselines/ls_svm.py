"""`LSSVM`: the least squares support vector machine over pairs."""

from __future__ import annotations

from typing import ClassVar

from opauc.baselines.batch import BatchClassifier
from opauc.core.mergeable import LabeledSums
from opauc.estimators.docstrings import own_docstrings
from opauc.linear.exact import Exact
from opauc.linear.fit import LinearFit
from opauc.linear.resolve import solver_factory
from opauc.types import Labels, Rows


@own_docstrings("opauc.baselines")
class LSSVM(BatchClassifier):
    """Linear scorer that minimizes the square loss over all pairs exactly: batch LS-SVM of the paper.

    The objective is alpha/2 |w|^2 plus the mean, over all pairs of a positive
    and a negative row, of (1 - w.(x_pos - x_neg))^2 / 2. With d the difference
    of the class means and S the sum of their covariances, the minimizer is
    w = (alpha I + S + d d^T)^-1 d.

    Source: W. Gao, R. Jin, S. Zhu, Z.-H. Zhou, One-pass AUC optimization, ICML
    2013, with an iterative batch solver. The closed form is the same minimizer:
    this is `OPAUC(solver="exact", standardize=False)` under the name in the
    tables of the paper.

    Parameters
    ----------
    alpha : float, default=1e-4
        Ridge penalty, the paper's lambda; zero is allowed.

    Attributes
    ----------
    moments_ : ClassMoments
        Count, mean and scatter of each class.
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
    >>> from opauc.baselines import LSSVM
    >>> LSSVM(alpha=0.5).fit([[0.0], [2.0]], [0, 1]).coef_.round(4)
    array([[0.4444]])
    """

    _families: ClassVar[tuple[str, ...]] = ("linear",)

    _fitted: LinearFit

    def __init__(self, *, alpha: float = 1e-4) -> None:
        self.alpha = alpha

    @property
    def moments_(self) -> LabeledSums:
        """Count, mean and scatter of each class."""
        return self._fitted.moments

    def _solve(self, rows: Rows, labels: Labels) -> LinearFit:
        factory = solver_factory(type(self).__name__, Exact, self.get_params(deep=False))
        return factory.prepare(None, rows).update(rows, labels)
