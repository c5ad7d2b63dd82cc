"""`OAM`: online AUC maximization with two reservoirs of rows."""

from __future__ import annotations

from opauc.baselines.solvers import oam
from opauc.linear.estimator import StreamClassifier
from opauc.types import RandomState


class OAM(StreamClassifier):
    """Linear scorer from the hinge losses of pairs with a random sample of the other class, in one pass.

    A reservoir of `buffer_size` rows is kept of each class: the n-th row of a
    class enters with probability buffer_size / n, in place of a random one. A
    row x with label y then meets the buffer of the other class. With
    z = y (x - b) for a row b kept there and
    c = C / 2 max(1, rows of the other class / buffer_size), update

    - "sequential" (OAM_seq): for each b in turn w += min(c, max(0, 1 - w.z) / |z|^2) z,
    - "gradient" (OAM_gra): w += c times the sum of the z with w.z <= 1, all at once:

    P. Zhao, S. Hoi, R. Jin and T. Yang, "Online AUC maximization", ICML 2011.
    A row costs O(buffer_size^2 + its non-zeros * buffer_size) at most.

    Other than printed: nothing but the order in which sums are rounded. As
    printed the steps grow with the rows seen, so that one pass over many rows
    wants a smaller C than the grid 2^-12 ... 2^10 of the study of one-pass AUC
    optimization has: on a9a its best, 2^-12, gives a held-out AUC of .853
    (sequential; .842 printed there) and .858 (gradient; .857), and 1e-6 gives .888.

    Parameters
    ----------
    update : {"sequential", "gradient"}, default="sequential"
        How the weights move; on the average of the sets above they hardly differ.
    buffer_size : int, default=100
        Rows kept of each class; it cannot change between calls to `partial_fit`.
    C : float, default=1e-5
        Bound of a pair's step before it is scaled up.
    random_state : int, RandomState instance or None, default=None
        Seed of the reservoir sampling.

    Attributes
    ----------
    classes_, coef_, intercept_, n_features_in_, feature_names_in_
        As in `OPAUC`.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.metrics import roc_auc_score
    >>> from sklearn.preprocessing import minmax_scale
    >>> from opauc.baselines import OAM
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> X = minmax_scale(X, (-1, 1))
    >>> model = OAM(random_state=0)
    >>> for start in range(0, 400, 100):
    ...     model = model.partial_fit(X[start:start + 100], y[start:start + 100])
    >>> bool(roc_auc_score(y[400:], model.decision_function(X[400:])) > 0.98)
    True
    """

    _solver = oam.OAM

    def __init__(
        self,
        *,
        update: str = "sequential",
        buffer_size: int = 100,
        C: float = 1e-5,
        random_state: RandomState = None,
    ) -> None:
        self.update = update
        self.buffer_size = buffer_size
        self.C = C
        self.random_state = random_state
