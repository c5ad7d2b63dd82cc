"""`UniExp`: online Uni-Exp, the exponential loss of single rows with balanced classes."""

from __future__ import annotations

from opauc.baselines.solvers import uni_exp
from opauc.linear.estimator import StreamClassifier


class UniExp(StreamClassifier):
    """Linear scorer from the exponential loss of single rows, both classes weighing the same, in one pass.

    A row x with label y moves the weights by

        w += step omega y exp(-y w.x) x,    omega = rows / (2 rows of the class of x),

    from the counts so far: the loss of W. Kotlowski, K. Dembczynski and
    E. Huellermeier, "Bipartite ranking through minimization of univariate
    loss", ICML 2011, one gradient step a row as in the study of one-pass AUC
    optimization, whose setting is learning_rate="constant", average=False with
    eta0 chosen from 2^-12 ... 2^10. A row costs O(its non-zeros).

    Other than printed: the exponent -y w.x is held at ten, for beyond it a
    single row decides all; no step is taken until both classes were seen; and the
    default of `learning_rate` and `average` is made for use without tuning.

    Parameters
    ----------
    eta0 : float, default=1000.0
        With learning_rate="constant" or "invsqrt": the step size, or its value
        at the first row. With "theorem": after how many rows steps begin to shrink.
    learning_rate : {"theorem", "constant", "invsqrt"}, default="theorem"
        "theorem" is 1 / (1 + sqrt(1 + t / eta0)) at row t over the largest |x|^2 so far,
        and no step goes beyond the Newton step of the row's own loss;
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
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.metrics import roc_auc_score
    >>> from sklearn.preprocessing import minmax_scale
    >>> from opauc.baselines import UniExp
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> X = minmax_scale(X, (-1, 1))
    >>> model = UniExp()
    >>> for start in range(0, 400, 100):
    ...     model = model.partial_fit(X[start:start + 100], y[start:start + 100])
    >>> bool(roc_auc_score(y[400:], model.decision_function(X[400:])) > 0.98)
    True
    """

    _solver = uni_exp.UniExp

    def __init__(self, *, eta0: float = 1000.0, learning_rate: str = "theorem", average: bool = True) -> None:
        self.eta0 = eta0
        self.learning_rate = learning_rate
        self.average = average
