"""What every estimator here does with a learned scorer: scores, labels, probabilities, the AUC."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import column_or_1d

from opauc.estimators.input_checks import encode_labels
from opauc.metrics.exact_auc import exact_auc
from opauc.types import Array, Floats


class ProbabilityScorer(Protocol):
    """What turns scores into probabilities."""

    def probabilities(self, scores: Floats) -> Floats:
        """Return the probability of the positive class for rows of these scores."""


class Scored(NamedTuple):
    """Scores, what gave them and the classes it tells apart: all three of the same rows learned."""

    scorer: ProbabilityScorer
    scores: Floats
    classes: Array


class ScoringClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A binary classifier that scores rows, and is judged by how it ranks them."""

    classes_: Array
    n_features_in_: int

    def decision_function(self, X: ArrayLike) -> Floats:
        """Score of each row: the higher, the more likely positive.

        A model that the command trained takes what the command took: a data
        frame of pandas, polars or pyarrow with the columns by their names, rows
        given as dicts, or the path of a file. Categories not met in training
        count as none, with a warning. So do `predict` and `predict_proba`.

        Examples
        --------
        >>> from opauc import OPAUC
        >>> OPAUC(alpha=0.0).fit([[0.0], [2.0]], [0, 1]).decision_function([[0.0], [1.0], [2.0]])
        array([-0.5,  0. ,  0.5])
        """
        return self._scored(X).scores

    def predict(self, X: ArrayLike) -> Array:
        """Label of each row: the class whose mean score is nearer.

        Examples
        --------
        >>> from opauc import OPAUC
        >>> OPAUC().fit([[0.0], [2.0]], [False, True]).predict([[0.1], [1.9]])
        array([False,  True])
        """
        _, scores, classes = self._scored(X)
        labels: Array = classes[(scores > 0).astype(int)]
        return labels

    def predict_proba(self, X: ArrayLike) -> Floats:
        """Probability of each class, from normal distributions of the scores and the observed prior.

        Examples
        --------
        >>> from opauc import OPAUC
        >>> OPAUC().fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1]).predict_proba([[1.5]])
        array([[0.5, 0.5]])
        """
        scorer, scores, _ = self._scored(X)
        positive = scorer.probabilities(scores)
        return np.column_stack([1.0 - positive, positive])

    def score(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """AUC of labeled rows: the share of pairs of a positive and a negative that are ranked rightly.

        Not the accuracy, which other classifiers of scikit-learn return: it
        depends on a threshold, and ranking is what is learned here. For the
        accuracy, pass `scoring="accuracy"` to what takes a `scoring`.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,)
            Their labels; both classes must be there.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows: a pair counts with the product of its two.

        Returns
        -------
        auc : float
            Between 0 and 1; ties count half.

        Examples
        --------
        >>> from opauc import OPAUC
        >>> OPAUC().fit([[0.0], [2.0]], [0, 1]).score([[0.0], [1.0], [2.0], [3.0]], [0, 1, 0, 1])
        0.75
        """
        _, scores, classes = self._scored(X)
        labels, _ = encode_labels(column_or_1d(y), classes)
        return exact_auc(labels, scores, sample_weight)

    @abstractmethod
    def _scored(self, X: ArrayLike) -> Scored:
        """Check rows and score them; other threads may learn meanwhile."""

    def _feature_names(self) -> tuple[str, ...] | None:
        """The names of the features, None where they have none."""
        names = self.__dict__.get("feature_names_in_")
        return None if names is None else tuple(map(str, names))

    def __sklearn_is_fitted__(self) -> bool:
        return "solution_" in self.__dict__

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.input_tags.sparse = True
        return tags
