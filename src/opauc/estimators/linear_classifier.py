"""What every estimator here does with a learnt scorer: scores, labels, probabilities, coefficients."""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted, column_or_1d

from opauc.estimators.input_checks import checked_rows
from opauc.estimators.model_lock import changing, reading
from opauc.estimators.target_labels import encoded_labels
from opauc.evaluation.exact_auc import exact_auc
from opauc.features.table_features import TableFeatures
from opauc.rows import Array, Floats
from opauc.scorers import LinearScorer
from opauc.training.model_file import Model
from opauc.training.solution import Solution, Solved


class Scored(NamedTuple):
    """Scores, what gave them and the classes it tells apart: all three of the same rows learnt."""

    scorer: LinearScorer
    scores: Floats
    classes: Array


class LinearClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A binary classifier whose `solution_` holds a linear scorer."""

    # Attributes beside those of every estimator here that fitting sets and files keep.
    _published: ClassVar[tuple[str, ...]] = ()
    # Parameters that say where learning takes place, which is no part of a model.
    _unsaved: ClassVar[tuple[str, ...]] = ()

    classes_: Array
    n_features_in_: int
    solution_: Solution | Solved
    # The torch device on which statistics are gathered, of those that can be.
    device: str | None = None
    # How the command read the rows the model was trained on; None for a model fitted to arrays.
    table_features_: TableFeatures | None = None

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
        positive = scorer.chances(scores)
        return np.column_stack([1.0 - positive, positive])

    def score(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """AUC of labelled rows: the share of pairs of a positive and a negative that are ranked rightly.

        Not the accuracy, which other classifiers of scikit-learn return: it
        depends on a threshold, and ranking is what is learnt here. For the
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
        labels, _ = encoded_labels(column_or_1d(y), classes)
        return exact_auc(labels, scores, sample_weight)

    @property
    def coef_(self) -> Floats:
        """Weights of the scorer, shape (1, n_features)."""
        return self._scorer().weights[None, :]

    @property
    def intercept_(self) -> Floats:
        """Intercept of the scorer, shape (1,)."""
        return np.array([self._scorer().intercept])

    def _scorer(self) -> LinearScorer:
        """What scores rows, as of the last chunk that is wholly learnt."""
        with reading(self):
            return self.solution_.scorer

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
            {} if self.table_features_ is None else self.table_features_.to_json(),
        )

    def _adopt(self, model: Model) -> None:
        """Know what a model does, and nothing else."""
        with changing(self):
            self.classes_, self.n_features_in_ = model.classes, model.n_features
            self.solution_ = model.solution
            self._publish()
            for name in ("feature_names_in_", "table_features_"):
                self.__dict__.pop(name, None)
            if model.feature_names is not None:
                self.feature_names_in_ = np.array(model.feature_names, dtype=object)
            if model.reading:
                self.table_features_ = TableFeatures.of_json(model.reading)

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
