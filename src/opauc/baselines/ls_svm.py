"""`LSSVM`: the least squares support vector machine over pairs."""

from __future__ import annotations

from opauc.estimators.batch_classifier import BatchClassifier
from opauc.estimators.parameter_checks import check_number
from opauc.learners.exact import Exact
from opauc.statistics.chunk_rows import Labels, Rows
from opauc.training.settings import FULL_COVARIANCE_BYTES
from opauc.training.solution import Solution


class LSSVM(BatchClassifier):
    """Linear scorer that minimises the square loss over all pairs exactly: the paper's batch LS-SVM.

    The objective is alpha/2 |w|^2 plus the mean, over all pairs of a positive
    and a negative row, of (1 - w.(x_pos - x_neg))^2 / 2. With d the difference
    of the class means and S the sum of their covariances, the minimiser is
    w = (alpha I + S + d d^T)^-1 d.

    Source: W. Gao, R. Jin, S. Zhu, Z.-H. Zhou, One-pass AUC optimization, ICML
    2013, where a batch solver finds it. The closed form is the same minimiser:
    this is `OPAUC(solver="exact")` under the name that the paper's tables have.

    Parameters
    ----------
    alpha : float, default=1e-4
        Ridge penalty, the paper's lambda; zero is allowed.

    Attributes
    ----------
    classes_, coef_, intercept_, moments_, n_features_in_, feature_names_in_
        As in `OPAUC`.

    Examples
    --------
    >>> from opauc.baselines.ls_svm import LSSVM
    >>> LSSVM(alpha=0.5).fit([[0.0], [2.0]], [0, 1]).coef_.round(4)
    array([[0.4444]])
    """

    def __init__(self, *, alpha: float = 1e-4) -> None:
        self.alpha = alpha

    def _solve(self, rows: Rows, labels: Labels) -> Solution:
        learner = Exact(alpha=check_number(type(self).__name__, "alpha", self.alpha, 0.0))
        size = 16 * self.n_features_in_**2
        if size > FULL_COVARIANCE_BYTES:
            raise ValueError(
                f"LSSVM keeps two covariance matrices: of {self.n_features_in_} features they take "
                f"{size / 2**30:.1f} GiB, more than {FULL_COVARIANCE_BYTES / 2**30:g} GiB"
            )
        return Solution(learner, learner.step(learner.start(self.n_features_in_), rows, labels))
