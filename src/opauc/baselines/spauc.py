"""`SPAUC`: stochastic proximal AUC maximization."""

from __future__ import annotations

from opauc.baselines.solvers import spauc
from opauc.linear.estimator import StreamClassifier


class SPAUC(StreamClassifier):
    """Linear scorer that minimizes the square pair loss from class means alone, in one pass.

    With p the share of positive rows, c the mean of the class of x, q the
    share of the other class and d the difference of the class means, all from
    the rows so far, this one included, a row x moves the weights by

        w <- (w - step (q w.(x - c) (x - c) - p (1 - p) (1 - w.d) d)) / (1 + step alpha):

    Y. Lei and Y. Ying, "Stochastic proximal AUC maximization", JMLR 2021. The
    expected step is the gradient of the square pair loss times p (1 - p). A
    row costs O(its non-zeros).

    Other than printed: the default of `learning_rate` and `average` is made
    for use without tuning; the one proximal step on offer is that of a ridge.

    Parameters
    ----------
    alpha : float, default=0.0
        Ridge penalty against p (1 - p) times the pair loss.
    eta0 : float, default=1e4
        With learning_rate="constant" or "invsqrt": the step size, or its value
        at the first row. With "theorem": after how many rows steps begin to shrink.
    learning_rate : {"theorem", "constant", "invsqrt"}, default="theorem"
        "theorem" is 1 / (1 + sqrt(1 + t / eta0)) at row t over the largest curvature so far;
        "constant" is eta0, "invsqrt" eta0 / sqrt(t).
    average : bool, default=True
        Whether to give the mean of the iterates, iterate t weighted by t^2,
        rather than the last one.

    Attributes
    ----------
    classes_, coef_, intercept_, n_features_in_, feature_names_in_
        As in `OPAUC`.

    Examples
    --------
    >>> from opauc.baselines import SPAUC
    >>> model = SPAUC().partial_fit([[0.0], [1.0]], ["ham", "ham"], classes=["ham", "spam"])
    >>> model.partial_fit([[2.0], [4.0]], ["spam", "spam"]).predict([[3.5]])
    array(['spam'], dtype='<U4')
    """

    _solver = spauc.SPAUC

    def __init__(
        self,
        *,
        alpha: float = 0.0,
        eta0: float = 1e4,
        learning_rate: str = "theorem",
        average: bool = True,
    ) -> None:
        self.alpha = alpha
        self.eta0 = eta0
        self.learning_rate = learning_rate
        self.average = average
