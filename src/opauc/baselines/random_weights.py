"""`RandomWeights`: random weights, a reference that every method should beat."""

from __future__ import annotations

from typing import Any

from sklearn.utils import check_random_state

from opauc.baselines.batch import BatchClassifier, from_weights
from opauc.core.fit import BatchFit
from opauc.estimators.docstrings import own_docstrings
from opauc.types import Labels, RandomState, Rows


@own_docstrings("opauc.baselines", "random_state=0")
class RandomWeights(BatchClassifier):
    """Linear scorer with standard normal weights, whatever the labels.

    Labels determine the intercept, midway between the class means of the
    scores, and the probabilities. If positives score lower on average, every
    row has the prior probability.

    Parameters
    ----------
    random_state : int, RandomState instance or None, default=None
        Seed of the weights.

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
    >>> from opauc.baselines import RandomWeights
    >>> RandomWeights(random_state=0).fit([[0.0, 1.0], [1.0, 0.0]], [0, 1]).coef_.round(3)
    array([[1.764, 0.4  ]])
    """

    def __init__(self, *, random_state: RandomState = None) -> None:
        self.random_state = random_state

    def _solve(self, rows: Rows, labels: Labels) -> BatchFit:
        weights = check_random_state(self.random_state).normal(size=self.n_features_in_)
        return from_weights(weights, rows @ weights, labels)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True
        return tags
