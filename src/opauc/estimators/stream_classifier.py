"""What every estimator does that learns its rows one after the other, in one pass."""

from __future__ import annotations

from typing import ClassVar, Self

from numpy.typing import ArrayLike

from opauc.estimators.input_checks import Chunk, announced_classes, checked_chunk
from opauc.estimators.linear_classifier import LinearClassifier
from opauc.estimators.model_lock import changing, reading
from opauc.learners.learner import AnyLearner
from opauc.rows import Array
from opauc.statistics.statistic import Statistic
from opauc.training.recipe import LearnerRecipe, Recipe
from opauc.training.solution import Solution
from opauc.training.training import Training
from opauc.training.transaction import Transaction


class StreamClassifier(LinearClassifier):
    """A binary classifier around a learner of the `learners` folder, whose settings are its parameters."""

    _kind: ClassVar[type[AnyLearner]]
    _all_rows: ClassVar[str] = "every row"

    solution_: Solution

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Learn from labelled rows, in one pass over them, forgetting what was learnt before.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows, float32 or float64; anything else is converted to float64.
        y : array-like of shape (n_samples,)
            Two kinds of label; the greater one is the positive class.
        sample_weight : array-like of shape (n_samples,), default=None
            Weight of each row: a factor on its part in the statistics and on
            the step it leads to. Rows of weight zero are left out.

        Returns
        -------
        self : object
            The fitted estimator.

        Examples
        --------
        >>> from opauc import OPAUC
        >>> OPAUC(alpha=0.0).fit([[0.0], [1.0], [2.0], [4.0]], ["no", "no", "yes", "yes"]).predict([[3.5]])
        array(['yes'], dtype='<U3')
        """
        return self._fit(X, y, sample_weight)

    def partial_fit(
        self, X: ArrayLike, y: ArrayLike, classes: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Learn from one more chunk of labelled rows.

        Any cut of the rows into chunks gives what `fit` gives. A chunk may
        hold one class only if `classes` names both on the first call. If this
        raises, or is interrupted, the model is as it was before. Threads may
        share a model: a second caller waits until the first chunk is learnt.

        Parameters
        ----------
        X, y, sample_weight
            As in `fit`; X may be a table as the command takes it, without the
            labels, if the command began the model. New categories become new
            features.
        classes : array-like of shape (2,), default=None
            Both class labels; needed on the first call unless y holds both.

        Returns
        -------
        self : object
            The fitted estimator.

        Examples
        --------
        >>> from opauc import OPAUC
        >>> model = OPAUC().partial_fit([[0.0], [1.0]], [-1, -1], classes=[-1, 1])
        >>> model.partial_fit([[2.0]], [1]).classes_
        array([-1,  1])
        """
        return self._partial_fit(X, y, classes, sample_weight)

    @property
    def moments_(self) -> Statistic:
        """Statistics of the two classes, where the learner keeps them."""
        with reading(self):
            solution = self.solution_
            if solution.learner.has_statistics:
                return solution.moments
        name = solution.learner.name
        raise AttributeError(f"{type(self).__name__} has no moments_: {name} keeps no class statistics")

    def _fit(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None, groups: ArrayLike | None = None
    ) -> Self:
        """Do as `fit`, with the groups of the rows where the learner keeps those together."""
        with changing(self) as transaction:
            chunk = checked_chunk(self, X, y, sample_weight, None, first=True).with_groups(groups)
            self._learn(chunk, None, transaction)
            if not self.solution_.counts.both:
                raise ValueError(
                    f"{type(self).__name__} needs rows of two classes, got one class: "
                    f"{self._all_rows} is of class {self._only_class()}"
                )
        return self

    def _partial_fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        classes: ArrayLike | None,
        sample_weight: ArrayLike | None,
        groups: ArrayLike | None = None,
    ) -> Self:
        """Do as `partial_fit`, with the groups of the rows where the learner keeps those together."""
        with changing(self) as transaction:
            first = not self.__sklearn_is_fitted__()
            known = announced_classes(None if first else self.classes_, classes)
            chunk = checked_chunk(self, X, y, sample_weight, known, first).with_groups(groups)
            self._learn(chunk, None if first else self.solution_, transaction)
            if chunk.classes.size < 2:
                raise ValueError(
                    "classes must be passed on the first call to partial_fit when y holds one class only, "
                    f"here {self._only_class()}"
                )
        return self

    def _recipe(self) -> Recipe:
        """Return how to learn; asking it checks every parameter."""
        return LearnerRecipe(type(self).__name__, self._kind, self.get_params(deep=False))

    def _learn(self, chunk: Chunk, solution: Solution | None, transaction: Transaction) -> None:
        training = Training(self._recipe(), solution)
        training.learn(chunk.rows, chunk.labels, chunk.sample_weight, transaction, chunk.groups)
        self.classes_, self.solution_ = chunk.classes, training.solution
        self._publish()

    def _only_class(self) -> str:
        """The label of the class that was seen, where one was not."""
        labels: Array = self.classes_[[-1 if self.solution_.counts.positive > 0 else 0]]
        return repr(labels.tolist()[0])
