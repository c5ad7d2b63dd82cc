"""`SOLAM`: stochastic online AUC maximization by a saddle point."""

from __future__ import annotations

from opauc.baselines.solvers import solam
from opauc.linear.estimator import StreamClassifier


class SOLAM(StreamClassifier):
    """Linear scorer that minimizes the square pair loss as a saddle point, in one pass.

    With p the share of positive rows so far, a positive row x has

        G(w, a, b; alpha) = (1 - p) ((w.x - a)^2 - 2 (1 + alpha) w.x) - p (1 - p) alpha^2,

    a negative one p ((w.x - b)^2 + 2 (1 + alpha) w.x) - p (1 - p) alpha^2. Each
    row is one step down in w, a, b and up in alpha, of size eta0 / sqrt(t),
    then back to |w| <= radius, |a|, |b| <= radius k, |alpha| <= 2 radius k, k
    being the largest |x|; the weights are the mean of the iterates weighted by
    their steps: Y. Ying, L. Wen and S. Lyu, "Stochastic online AUC
    maximization", NIPS 2016. A row costs O(its non-zeros).

    Other than printed: k is the largest |x| so far, as a stream does not tell
    the largest to come. Step and radius have the units of the features: scale
    them to about one, and expect to tune both.

    Parameters
    ----------
    eta0 : float, default=1.0
        Size of the first step.
    radius : float, default=1.0
        Bound of |w|.

    Attributes
    ----------
    classes_, coef_, intercept_, n_features_in_, feature_names_in_
        As in `OPAUC`.

    Examples
    --------
    >>> from opauc.baselines import SOLAM
    >>> model = SOLAM().partial_fit([[0.0], [1.0]], ["ham", "ham"], classes=["ham", "spam"])
    >>> model.partial_fit([[2.0], [4.0]], ["spam", "spam"]).predict([[3.5]])
    array(['spam'], dtype='<U4')
    """

    _solver = solam.SOLAM

    def __init__(self, *, eta0: float = 1.0, radius: float = 1.0) -> None:
        self.eta0 = eta0
        self.radius = radius
