"""What every estimator here does with a learnt scorer: scores, labels, probabilities, coefficients."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from opauc.estimators.input_checks import checked_rows
from opauc.rows import Array, Floats
from opauc.training.solution import Solution, Solved


class LinearClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A binary classifier whose `solution_` holds a linear scorer."""

    # Attributes beside those of every estimator here that fitting sets and files keep.
    _published: ClassVar[tuple[str, ...]] = ()

    classes_: Array
    n_features_in_: int
    solution_: Solution | Solved

    def decision_function(self, X: ArrayLike) -> Floats:
        """Score of each row: the higher, the more likely positive.

        Examples
        --------
        >>> from opauc import OPAUC
        >>> OPAUC(alpha=0.0).fit([[0.0], [2.0]], [0, 1]).decision_function([[0.0], [1.0], [2.0]])
        array([-0.5,  0. ,  0.5])
        """
        check_is_fitted(self)
        return self.solution_.scorer.scores(checked_rows(self, X))

    def predict(self, X: ArrayLike) -> Array:
        """Label of each row: the class whose mean score is nearer.

        Examples
        --------
        >>> from opauc import OPAUC
        >>> OPAUC().fit([[0.0], [2.0]], [False, True]).predict([[0.1], [1.9]])
        array([False,  True])
        """
        positive = self.decision_function(X) > 0
        labels: Array = self.classes_[positive.astype(int)]
        return labels

    def predict_proba(self, X: ArrayLike) -> Floats:
        """Probability of each class, from normal distributions of the scores and the observed prior.

        Examples
        --------
        >>> from opauc import OPAUC
        >>> OPAUC().fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1]).predict_proba([[1.5]])
        array([[0.5, 0.5]])
        """
        check_is_fitted(self)
        positive = self.solution_.scorer.probabilities(checked_rows(self, X))
        return np.column_stack([1.0 - positive, positive])

    @property
    def coef_(self) -> Floats:
        """Weights of the scorer, shape (1, n_features)."""
        return self.solution_.scorer.weights[None, :]

    @property
    def intercept_(self) -> Floats:
        """Intercept of the scorer, shape (1,)."""
        return np.array([self.solution_.scorer.intercept])

    def _publish(self) -> None:
        """Set the attributes that say what was chosen or found on the way."""
        for name in self._published:
            value = self.solution_.published[name]
            setattr(self, name, np.array(value) if isinstance(value, list) else value)

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
