"""`SOLAM`: stochastic online AUC maximisation by a saddle point."""

from __future__ import annotations

from opauc.estimators.parameter_checks import check_number
from opauc.estimators.stream_classifier import StreamClassifier
from opauc.learners import solam as learner


class SOLAM(StreamClassifier):
    """Linear scorer that minimises the square pair loss as a saddle point, in one pass.

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

    The defaults were chosen by held-out AUC on eight sets (a9a, w8a, ijcnn1,
    magic04, german, splice, connect-4, letter; one split each, 80 % to learn
    from), so these figures flatter them: scaled to [-1, 1], to unit variance or
    by the largest absolute value, .018, .011 and .020 less on average
    than the exact minimiser of the square pair loss.

    Parameters
    ----------
    eta0 : float, default=1.0
        Size of the first step.
    radius : float, default=1.0
        Bound of |w|.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
        The class labels; the second is the positive class.
    coef_ : ndarray of shape (1, n_features)
        Weights of the scorer.
    intercept_ : ndarray of shape (1,)
        Places score zero midway between the class means.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, where X had string column names.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.metrics import roc_auc_score
    >>> from sklearn.preprocessing import minmax_scale
    >>> from opauc.baselines import SOLAM
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> X = minmax_scale(X, (-1, 1))
    >>> model = SOLAM()
    >>> for start in range(0, 400, 100):
    ...     model = model.partial_fit(X[start:start + 100], y[start:start + 100])
    >>> bool(roc_auc_score(y[400:], model.decision_function(X[400:])) > 0.98)
    True
    """

    def __init__(self, *, eta0: float = 1.0, radius: float = 1.0) -> None:
        self.eta0 = eta0
        self.radius = radius

    def _learner(self) -> learner.SOLAM:
        owner = type(self).__name__
        eta0 = check_number(owner, "eta0", self.eta0, 0.0, closed="neither")
        radius = check_number(owner, "radius", self.radius, 0.0, closed="neither")
        return learner.SOLAM(eta0, radius)
