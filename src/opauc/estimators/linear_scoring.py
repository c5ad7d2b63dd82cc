"""What every estimator here does with a learnt scorer: scores, labels, probabilities, coefficients."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from opauc.estimators.input_checks import checked_rows
from opauc.statistics.score_summary import ScoreSummary
from opauc.training.solution import Solution


class LinearScoringClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A binary classifier whose `solution_` holds a linear scorer."""

    classes_: NDArray[Any]
    n_features_in_: int
    solution_: Solution

    def decision_function(self, X: ArrayLike) -> NDArray[np.float64]:
        """Score of each row: the higher, the more likely positive.

        Examples
        --------
        >>> from opauc import OPAUC
        >>> OPAUC(alpha=0.0).fit([[0.0], [2.0]], [0, 1]).decision_function([[0.0], [1.0], [2.0]])
        array([-0.5,  0. ,  0.5])
        """
        check_is_fitted(self)
        return self.solution_.scorer.scores(checked_rows(self, X))

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Label of each row: the class whose mean score is nearer.

        Examples
        --------
        >>> from opauc import OPAUC
        >>> OPAUC().fit([[0.0], [2.0]], [False, True]).predict([[0.1], [1.9]])
        array([False,  True])
        """
        positive = self.decision_function(X) > 0
        return self.classes_[positive.astype(int)]  # type: ignore[no-any-return]

    def predict_proba(self, X: ArrayLike) -> NDArray[np.float64]:
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
    def coef_(self) -> NDArray[np.float64]:
        """Weights of the scorer, shape (1, n_features)."""
        return self.solution_.scorer.weights[None, :]

    @property
    def intercept_(self) -> NDArray[np.float64]:
        """Intercept of the scorer, shape (1,)."""
        return np.array([self.solution_.scorer.intercept])

    @property
    def moments_(self) -> Any:
        """Statistics of the two classes."""
        return self.solution_.moments

    def _counts(self) -> tuple[float, float]:
        """Rows learnt of the negative and of the positive class."""
        solution = self.solution_
        summary: ScoreSummary = solution.learner.summary(solution.state, np.zeros(self.n_features_in_))
        return summary.counts

    def _only_class(self) -> str:
        """The label of the class that was seen, where one was not."""
        label = self.classes_[-1 if self._counts()[1] > 0 else 0]
        return repr(label.item() if hasattr(label, "item") else label)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.input_tags.sparse = True
        return tags
