"""`AdaOAM`: OPAUC's gradient with the step sizes of AdaGrad."""

from __future__ import annotations

from opauc.baselines.solvers import ada_oam
from opauc.linear.estimator import StreamClassifier


class AdaOAM(StreamClassifier):
    """Linear scorer that minimizes the square pair loss with a step size for each feature, in one pass.

    The gradient g of a row is that of OPAUC, alpha w + (w.z - y) z + S w with
    z = x - mean and S = covariance of the other class, and

        w_j -= eta0 g_j / (epsilon + sqrt(sum of g_j^2 so far, this one included)):

    Y. Ding, P. Zhao, S. Hoi and Y.-S. Ong, "An adaptive gradient method for
    online AUC maximization", AAAI 2015. Two full covariance matrices are kept
    and a row costs O(n_features^2), sparse or not.

    Other than printed: the covariance is that of the rows, as everywhere here
    (the recursion of the paper on OPAUC lacks a term); there is no projection
    onto a ball; `average` is an addition.

    Parameters
    ----------
    alpha : float, default=1e-4
        Ridge penalty.
    eta0 : float, default=0.03
        Step size, in units of the weights.
    epsilon : float, default=1e-8
        Added to the root of the summed squares.
    average : bool, default=False
        Whether to give the mean of the iterates rather than the last one.

    Attributes
    ----------
    classes_, coef_, intercept_, n_features_in_, feature_names_in_
        As in `OPAUC`.

    Examples
    --------
    >>> from opauc.baselines import AdaOAM
    >>> model = AdaOAM().partial_fit([[0.0], [1.0]], ["ham", "ham"], classes=["ham", "spam"])
    >>> model.partial_fit([[2.0], [4.0]], ["spam", "spam"]).predict([[3.5]])
    array(['spam'], dtype='<U4')
    """

    _solver = ada_oam.AdaOAM

    def __init__(
        self, *, alpha: float = 1e-4, eta0: float = 0.03, epsilon: float = 1e-8, average: bool = False
    ) -> None:
        self.alpha = alpha
        self.eta0 = eta0
        self.epsilon = epsilon
        self.average = average
