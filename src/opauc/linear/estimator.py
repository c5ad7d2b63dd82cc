"""What every estimator here does whose scorer is linear in the rows."""

from __future__ import annotations

from typing import ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from opauc.core.mergeable import Statistic
from opauc.core.solver import AnySolver
from opauc.core.transaction import Transaction, changing, reading
from opauc.data.encode.table_features import OneHotReading
from opauc.estimators.input_checks import Chunk, check_batch, check_classes, checked_rows
from opauc.estimators.scoring import Scored, ScoringClassifier
from opauc.linear.choice import LearnerRecipe, Recipe
from opauc.linear.fit import Solution, Solved
from opauc.linear.model_file import Model
from opauc.linear.scorer import LinearScorer
from opauc.linear.training import Training
from opauc.types import Array, Floats


class LinearClassifier(ScoringClassifier):
    """A binary classifier whose `solution_` holds a linear scorer."""

    # Attributes beside those of every estimator here that fitting sets and files keep.
    _published: ClassVar[tuple[str, ...]] = ()
    # Parameters that say where learning takes place, which is no part of a model.
    _unsaved: ClassVar[tuple[str, ...]] = ()

    solution_: Solution | Solved
    # The torch device on which statistics are gathered, of those that can be.
    device: str | None = None
    # How the command read the rows the model was trained on; None for a model fitted to arrays.
    _reading_features: OneHotReading | None = None

    @property
    def coef_(self) -> Floats:
        """Weights of the scorer, shape (1, n_features)."""
        return self._scorer().weights[None, :]

    @property
    def intercept_(self) -> Floats:
        """Intercept of the scorer, shape (1,)."""
        return np.array([self._scorer().intercept])

    def _scorer(self) -> LinearScorer:
        """What scores rows, as of the last chunk that is wholly learned."""
        with reading(self):
            return self.solution_.scorer

    def _raw_columns(self) -> None:
        """Nothing: rows are features."""

    def _scored(self, X: ArrayLike) -> Scored:
        """Check rows and score them; other threads may learn meanwhile."""
        with reading(self):
            check_is_fitted(self)
            rows, scorer, classes = checked_rows(self, X), self.solution_.scorer, self.classes_
        return Scored(scorer, scorer.scores(rows), classes)

    def _publish(self) -> None:
        """Set the attributes that say what was chosen or found on the way."""
        for name in self._published:
            value = self.solution_.published[name]
            setattr(self, name, np.array(value) if isinstance(value, list) else value)

    def _known(self) -> Model:
        """All that the fitted estimator knows."""
        check_is_fitted(self)
        return Model(
            type(self).__name__,
            {name: value for name, value in self.get_params(deep=False).items() if name not in self._unsaved},
            self.solution_,
            self.classes_,
            self.n_features_in_,
            self._feature_names(),
            {} if self._reading_features is None else self._reading_features.to_json(),
        )

    def _adopt(self, model: Model) -> None:
        """Know what a model does, and nothing else."""
        with changing(self):
            self.classes_, self.n_features_in_ = model.classes, model.n_features
            self.solution_ = model.solution
            self._publish()
            for name in ("feature_names_in_", "_reading_features"):
                self.__dict__.pop(name, None)
            if model.feature_names is not None:
                self.feature_names_in_ = np.array(model.feature_names, dtype=object)
            if model.reading:
                self._reading_features = OneHotReading.of_json(model.reading)


class StreamClassifier(LinearClassifier):
    """A binary classifier around a learner of the `learners` folder, whose settings are its parameters."""

    _kind: ClassVar[type[AnySolver]]
    _all_rows: ClassVar[str] = "every row"

    solution_: Solution

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Learn from labeled rows, in one pass over them, forgetting what was learned before.

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
        """Learn from one more chunk of labeled rows.

        Any cut of the rows into chunks gives what `fit` gives. A chunk may
        hold one class only if `classes` names both on the first call. If this
        raises, or is interrupted, the model is as it was before. Threads may
        share a model: a second caller waits until the first chunk is learned.

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
            chunk = check_batch(self, X, y, sample_weight, None, first=True).with_groups(groups)
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
            known = check_classes(None if first else self.classes_, classes)
            chunk = check_batch(self, X, y, sample_weight, known, first).with_groups(groups)
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
