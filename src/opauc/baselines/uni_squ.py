"""Online Uni-Squ: the square loss of single rows with balanced classes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from opauc.baselines.univariate import UnivariateSolver
from opauc.estimators.docstrings import own_docstrings
from opauc.linear.estimator import StreamClassifier


@dataclass(frozen=True)
class UniSquSolver(UnivariateSolver):
    """Solver of `UniSqu`.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.baselines.uni_squ import UniSquSolver
    >>> solver = UniSquSolver(eta0=0.1, learning_rate="constant", average=False)
    >>> state = solver.step(solver.start(1), np.array([[0.0], [2.0]]), np.array([0, 1], np.int8))
    >>> solver.weights(state).tolist()
    [0.2]
    """

    name: ClassVar[str] = "uni_squ"

    exponential: ClassVar[bool] = False


@own_docstrings("opauc.baselines")
class UniSqu(StreamClassifier):
    """Linear scorer from the square loss of single rows with classes of equal weight, in one pass.

    A row x with label y = -1 or 1 moves the weights by

        w += step omega (y - w.x) x,    omega = rows / (2 rows of the class of x),

    with the class counts so far, this row included. A row costs O(its
    non-zeros).

    Source: the loss of W. Kotlowski, K. Dembczynski and E. Huellermeier,
    "Bipartite ranking through minimization of univariate loss", ICML 2011, with
    one gradient step per row as in W. Gao, R. Jin, S. Zhu, Z.-H. Zhou, One-pass
    AUC optimization, ICML 2013.

    Differences from the publication: no step is taken until both classes have
    been seen; the defaults of `learning_rate` and `average` are for use without
    tuning. The study of one-pass AUC optimization takes
    learning_rate="constant", average=False and eta0 from 2^-12 ... 2^10.

    Parameters
    ----------
    eta0 : float, default=1000.0
        With learning_rate="constant" or "invsqrt": the step size, or its value
        at the first row. With "curvature": number of rows after which steps begin
        to shrink.
    learning_rate : {"curvature", "constant", "invsqrt"}, default="curvature"
        "curvature" is 1 / (1 + sqrt(1 + t / eta0)) at row t, divided by the
        largest |x|^2 so far, and no step goes beyond the Newton step of the
        row's own loss. It does not depend on the units of the features and
        cannot diverge. "constant" is eta0, "invsqrt" eta0 / sqrt(t).
    average : bool, default=True
        Whether to use the mean of the iterates, iterate t weighted by t^2,
        instead of the last iterate.

    Attributes
    ----------
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
    >>> from opauc.baselines import UniSqu
    >>> model = UniSqu().partial_fit([[0.0], [1.0]], ["ham", "ham"], classes=["ham", "spam"])
    >>> model.partial_fit([[2.0], [4.0]], ["spam", "spam"]).predict([[3.5]])
    array(['spam'], dtype='<U4')
    """

    _solver = UniSquSolver

    def __init__(self, *, eta0: float = 1000.0, learning_rate: str = "curvature", average: bool = True) -> None:
        self.eta0 = eta0
        self.learning_rate = learning_rate
        self.average = average
