"""What every estimator does that learns its rows one after the other, in one pass."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, Self

from numpy.typing import ArrayLike

from opauc.estimators.input_checks import announced_classes, checked_chunk, unchanged_on_error
from opauc.estimators.linear_scoring import LinearScoringClassifier
from opauc.training.solution import Solution


class StreamClassifier(LinearScoringClassifier):
    """A binary classifier around any learner of the `learners` folder.

    A subclass says in `_learner` which learner its parameters ask for. There
    are no sample weights: they would have to mean copies of a row in any
    order, and here the order of rows matters.
    """

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Learn from labelled rows, in one pass over them, forgetting what was learnt before.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows, float32 or float64; anything else is converted to float64.
        y : array-like of shape (n_samples,)
            Two kinds of label; the greater one is the positive class.

        Returns
        -------
        self : object
            The fitted estimator.

        Examples
        --------
        >>> from opauc.baselines import UniSqu
        >>> UniSqu().fit([[0.0], [1.0], [2.0], [4.0]], ["no", "no", "yes", "yes"]).predict([[3.5]])
        array(['yes'], dtype='<U3')
        """
        with unchanged_on_error(self):
            self._learn(X, y, None, first=True)
            if min(self._counts()) == 0:
                raise ValueError(
                    f"{type(self).__name__} needs rows of two classes, got one class: "
                    f"every row is of class {self._only_class()}"
                )
        return self

    def partial_fit(self, X: ArrayLike, y: ArrayLike, classes: ArrayLike | None = None) -> Self:
        """Learn from one more chunk of labelled rows.

        Any cut of the rows into chunks gives what `fit` gives. A chunk may
        hold one class only if `classes` names both on the first call.

        Parameters
        ----------
        X, y
            As in `fit`.
        classes : array-like of shape (2,), default=None
            Both class labels; needed on the first call unless y holds both.

        Returns
        -------
        self : object
            The fitted estimator.

        Examples
        --------
        >>> from opauc.baselines import UniSqu
        >>> model = UniSqu().partial_fit([[0.0], [1.0]], [-1, -1], classes=[-1, 1])
        >>> model.partial_fit([[2.0]], [1]).classes_
        array([-1,  1])
        """
        with unchanged_on_error(self):
            first = not hasattr(self, "solution_")
            known = announced_classes(self, classes) if not first or classes is not None else None
            self._learn(X, y, known, first)
            if self.classes_.size < 2:
                raise ValueError(
                    "classes must be passed on the first call to partial_fit when y holds one class only, "
                    f"here {self._only_class()}"
                )
        return self

    @abstractmethod
    def _learner(self) -> Any:
        """Return the learner that the parameters ask for, each of them checked."""

    def _learn(self, X: ArrayLike, y: ArrayLike, classes: Any, first: bool) -> None:
        chunk = checked_chunk(self, X, y, None, classes, first)
        learner = self._learner()
        state = learner.start(self.n_features_in_) if first else self.solution_.state
        state = learner.step(state, chunk.rows, chunk.labels)
        self.classes_ = chunk.classes
        self.solution_ = Solution(learner, state)
