"""`UniSqu`: online Uni-Squ, the square loss of single rows with balanced classes."""

from __future__ import annotations

from opauc.baselines.solvers import uni_squ
from opauc.linear.estimator import StreamClassifier


class UniSqu(StreamClassifier):
    """Linear scorer from the square loss of single rows, both classes weighing the same, in one pass.

    A row x with label y moves the weights by

        w += step omega (y - w.x) x,    omega = rows / (2 rows of the class of x),

    from the counts so far: the loss of W. Kotlowski, K. Dembczynski and
    E. Huellermeier, "Bipartite ranking through minimization of univariate
    loss", ICML 2011, one gradient step a row as in the study of one-pass AUC
    optimization, whose setting is learning_rate="constant", average=False with
    eta0 chosen from 2^-12 ... 2^10. A row costs O(its non-zeros).

    Other than printed: no step is taken until both classes were seen, and the
    default of `learning_rate` and `average` is made for use without tuning.

    Parameters
    ----------
    eta0 : float, default=1000.0
    learning_rate : {"theorem", "constant", "invsqrt"}, default="theorem"
    average : bool, default=True
        As in `UniExp`.

    Attributes
    ----------
    classes_, coef_, intercept_, n_features_in_, feature_names_in_
        As in `OPAUC`.

    Examples
    --------
    >>> from opauc.baselines import UniSqu
    >>> model = UniSqu().partial_fit([[0.0], [1.0]], ["ham", "ham"], classes=["ham", "spam"])
    >>> model.partial_fit([[2.0], [4.0]], ["spam", "spam"]).predict([[3.5]])
    array(['spam'], dtype='<U4')
    """

    _solver = uni_squ.UniSqu

    def __init__(self, *, eta0: float = 1000.0, learning_rate: str = "theorem", average: bool = True) -> None:
        self.eta0 = eta0
        self.learning_rate = learning_rate
        self.average = average
