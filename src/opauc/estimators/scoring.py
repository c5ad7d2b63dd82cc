"""What every estimator here does with a fit: scores, labels, probabilities, the AUC, and its model file."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted, column_or_1d

from opauc.core.fit import Fit, only_two_classes
from opauc.core.model import Model, RowReading
from opauc.core.scorer import Scorer
from opauc.core.threshold import Threshold
from opauc.core.transaction import changing, reading
from opauc.errors import InputError, OpaucError, ParameterError
from opauc.estimators.input_checks import encode_labels, is_in_memory
from opauc.estimators.notebook import FittedSummary, message_html, summary_html
from opauc.estimators.row_scorer import RowAccess, RowScorer
from opauc.metrics.exact_auc import exact_auc
from opauc.metrics.multiclass_auc import MulticlassAuc
from opauc.metrics.thresholds import ThresholdRule, choose_threshold
from opauc.types import Array, Floats

# The type of what notebooks show.
HTML = "text/html"


class Scored(NamedTuple):
    """Scores, the scorer that gave them and the classes: all three of the same rows processed."""

    scorer: Scorer
    scores: Floats
    classes: Array


class ScoringClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A classifier whose `score` is the AUC: of two classes, or of more where it declares it."""

    # Whether it takes more than two classes.
    _several_classes: ClassVar[bool] = False
    # Attributes that fitting sets: parameters as they were resolved.
    _resolved: ClassVar[tuple[str, ...]] = ()
    # Families of fits that the estimator can have.
    _families: ClassVar[tuple[str, ...]] = ()
    # Parameters that say where the work is done, which is no part of a model.
    _unsaved: ClassVar[tuple[str, ...]] = ()

    classes_: Array
    n_features_in_: int
    feature_names_in_: Array
    _fitted: Fit
    # How the rows of a table, or of the files of the command, are read; None for a model fitted to arrays.
    _reading: RowReading | None = None
    # None stands for zero.
    _threshold: Threshold | None = None

    def decision_function(self, X: ArrayLike) -> Floats:
        """Score of each row: the higher, the more likely positive.

        With more than two classes a score for each class: the higher, the more likely it is.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows of numbers; of a model that the command trained also data frames, lists of dicts and paths of
            files.

        Returns
        -------
        scores : ndarray of shape (n_samples,) or (n_samples, n_classes)
            One score per row; the higher, the more likely the row is positive. With more than two classes a column
            for each class, in the order of `classes_`.

        Examples
        --------
        >>> from opauc import OPAUC
        >>> model = OPAUC().fit([[-1.0], [-0.5], [0.5], [1.0]] * 5, [0, 0, 1, 1] * 5)
        >>> model.decision_function([[-0.7], [0.7]]) > 0
        array([False,  True])
        """
        return self._scored_in_parts(X).scores

    def predict(self, X: ArrayLike) -> Array:
        """Label of each row: the positive class where the score is above the threshold.

        The threshold is zero unless `use_threshold` set another one. With more than two classes the label is
        that with the greatest score.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows as for `decision_function`.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            Labels of `classes_`.

        Examples
        --------
        >>> from opauc import OPAUC
        >>> model = OPAUC().fit([[-1.0], [-0.5], [0.5], [1.0]] * 5, [False, False, True, True] * 5)
        >>> model.predict([[-0.7], [0.7]])
        array([False,  True])
        """
        threshold, (_, scores, classes) = self.threshold_, self._scored_in_parts(X)
        cut = 0.0 if threshold is None else threshold.score
        labels: Array = classes[(scores > cut).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)]
        return labels

    def predict_proba(self, X: ArrayLike) -> Floats:
        """Probability of each class, one column per class of `classes_`.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows as for `decision_function`.

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_classes)
            Probabilities, the columns in the order of `classes_`.

        Examples
        --------
        >>> from opauc import OPAUC
        >>> model = OPAUC().fit([[-1.0], [-0.5], [0.5], [1.0]] * 5, [0, 0, 1, 1] * 5)
        >>> model.predict_proba([[0.0]]).round(2)
        array([[0.5, 0.5]])
        """
        scorer, scores, _ = self._scored_in_parts(X)
        probabilities = scorer.probabilities(scores)
        return np.column_stack([1.0 - probabilities, probabilities]) if scores.ndim == 1 else probabilities

    def threshold_for(
        self,
        X: ArrayLike | None = None,
        y: ArrayLike | None = None,
        *,
        cost_fp: float | None = None,
        cost_fn: float | None = None,
        at_fpr: float | None = None,
        at_precision: float | None = None,
        at_recall: float | None = None,
    ) -> Threshold:
        """Choose a threshold of the score on rows that the model was not trained on.

        The model does not change: `use_threshold` makes `predict` use the threshold.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows that the model was not trained on: scores of training rows are too good.
        y : array-like of shape (n_samples,)
            Their labels, of both classes.
        cost_fp, cost_fn : float, optional
            What a negative row above the threshold and a positive row below it cost: the threshold has the lowest cost.
        at_fpr : float, optional
            The false positive rate is at most this.
        at_precision : float, optional
            The precision is at least this.
        at_recall : float, optional
            The recall is at least this.

        Returns
        -------
        threshold : Threshold
            Its score, and its false positive rate, recall and precision on these rows with 95 % intervals.

        Raises
        ------
        ParameterError
            If no rows are given, not exactly one rule is given, or no threshold has the precision asked for.
        UnsupportedOperationError
            If there are more than two classes.

        Examples
        --------
        >>> from opauc import OPAUC
        >>> model = OPAUC().fit([[-1.0], [-0.5], [0.5], [1.0]] * 5, [0, 0, 1, 1] * 5)
        >>> threshold = model.threshold_for([[-1.0], [-0.2], [0.2], [1.0]], [0, 1, 0, 1], at_recall=1.0)
        >>> threshold.false_positive_rate.value, threshold.recall.value
        (0.5, 1.0)
        >>> model.use_threshold(threshold).predict([[-0.2], [-0.7]])
        array([1, 0])
        """
        rule = ThresholdRule(cost_fp, cost_fn, at_fpr, at_precision, at_recall)
        if X is None or y is None:
            raise ParameterError(
                f"a threshold is chosen on rows that the model was not trained on: threshold_for(X, y, {rule})"
            )
        self._check_threshold()
        _, scores, classes = self._scored(X)
        labels, _ = encode_labels(column_or_1d(y), classes)
        return choose_threshold(labels, scores, rule)

    def use_threshold(self, threshold: Threshold | None) -> Self:
        """Make `predict` use a threshold, which `save` stores with the model.

        It stays when the model is trained further; `fit` begins with zero again.

        Parameters
        ----------
        threshold : Threshold or None
            What `threshold_for` returned; None stands for zero.

        Returns
        -------
        self : object
            The model itself.

        Raises
        ------
        UnsupportedOperationError
            If there are more than two classes.

        Examples
        --------
        >>> from opauc import OPAUC
        >>> model = OPAUC().fit([[-1.0], [-0.5], [0.5], [1.0]] * 5, [0, 0, 1, 1] * 5)
        >>> model.use_threshold(model.threshold_for([[-0.6], [-0.7]], [1, 0], at_fpr=0.0)).predict([[-0.6]])
        array([1])
        """
        if threshold is not None and not isinstance(threshold, Threshold):
            raise ParameterError(
                "threshold: expected what threshold_for returns, or None, got ", f"{type(threshold).__name__}"
            )
        check_is_fitted(self)
        if threshold is not None:
            self._check_threshold()
        with changing(self):
            self._threshold = threshold
        return self

    def scorer(self) -> RowScorer:
        """Return an immutable scorer of single rows for services: in microseconds, from any number of threads.

        It is the model as it is now: training the model further does not change it.

        Returns
        -------
        scorer : RowScorer
            `score`, `probability`, `label` and `explain` take one row, a dict or an array of one dimension;
            `score_rows` takes many. Scores are those of `decision_function` to the bit.

        Examples
        --------
        >>> from opauc import OPAUC
        >>> scorer = OPAUC().fit([[-1.0], [-0.5], [0.5], [1.0]] * 5, ["no", "no", "yes", "yes"] * 5).scorer()
        >>> scorer.label([0.7])
        'yes'
        """
        with reading(self):
            check_is_fitted(self)
            if self.classes_.size > 2:
                raise only_two_classes("scorer", self.classes_.size, "class_scorer is that of several")
            return RowScorer(self._fitted.scorer, self._row_access(), tuple(self.classes_.tolist()), self._threshold)

    @property
    def threshold_(self) -> Threshold | None:
        """The threshold that `predict` uses; None stands for zero."""
        return self._threshold

    def score(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """AUC of labeled rows: the share of pairs of a positive and a negative row in the right order.

        With more than two classes the mean AUC over ordered pairs of classes (Hand and Till's M): that of the scores
        of the first class, for its rows and those of the second.

        Not the accuracy, which other classifiers of scikit-learn return: it
        depends on a threshold, and these models learn to rank. For the
        accuracy, pass `scoring="accuracy"` to what takes a `scoring`.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,)
            Their labels, of every class.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows: a pair counts with the product of its two.

        Returns
        -------
        auc : float
            Between 0 and 1; ties count half.

        Examples
        --------
        >>> from opauc import OPAUC
        >>> model = OPAUC().fit([[-1.0], [-0.5], [0.5], [1.0]] * 5, [0, 0, 1, 1] * 5)
        >>> model.score([[-1.0], [-0.5], [0.5], [1.0]], [0, 1, 0, 1])
        0.75
        """
        _, scores, classes = self._scored_in_parts(X)
        labels, _ = encode_labels(column_or_1d(y), classes)
        if scores.ndim == 1:
            return exact_auc(labels, scores, sample_weight)
        n_rows = np.bincount(labels, minlength=classes.size)
        if not n_rows.all():
            raise ValueError(f"the AUC needs rows of every class, got none of class {classes[n_rows.argmin()]!s}")
        return MulticlassAuc()(labels, scores, sample_weight)

    def _check_threshold(self) -> None:
        """Raise unless there are two classes."""
        check_is_fitted(self)
        if self.classes_.size > 2:
            raise only_two_classes("a threshold", self.classes_.size, "predict returns the class of the greatest score")

    def _repr_html_inner(self) -> str:
        """Return the diagram of scikit-learn and, of a fitted model, its largest parts."""
        diagram: str = super()._repr_html_inner()
        return diagram + self._summary_html()

    def _repr_mimebundle_(self, **options: Any) -> dict[str, str]:
        """Return what notebooks show: text, and the diagram with the largest parts."""
        bundle: dict[str, str] = super()._repr_mimebundle_(**options)
        if HTML in bundle:
            bundle[HTML] += self._summary_html()
        return bundle

    def _summary_html(self) -> str:
        """Return the largest parts of a fitted model as HTML, or why there are none; nothing of one without rows."""
        if not self.__sklearn_is_fitted__():
            return ""
        try:
            with reading(self):
                summary = self._summary()
        except (OpaucError, NotFittedError) as error:
            return message_html(error)
        return "" if summary is None else summary_html(summary)

    def _summary(self) -> FittedSummary | None:
        """Return the largest parts of the fitted model; None where it has none."""
        return None

    def _scored_in_parts(self, X: Any) -> Scored:
        """Score rows; those of a stream batch by batch, in constant memory but for the scores."""
        if is_in_memory(X):
            return self._scored(X)
        from opauc.data.formats.table import table_parts  # pyarrow, which arrays do not wait for

        parts = [self._scored(part) for part in table_parts(X)]
        if len(parts) == 1:
            return parts[0]
        if not parts:
            raise InputError("expected rows to score, the stream has none")
        return parts[-1]._replace(scores=np.concatenate([part.scores for part in parts]))

    @abstractmethod
    def _row_access(self) -> RowAccess:
        """Return how rows of the model as it is now are read, and their scores explained."""

    @abstractmethod
    def _scored(self, X: ArrayLike) -> Scored:
        """Check rows and score them; other threads may train the model meanwhile."""

    def _copied(self) -> Self:
        """Return an estimator with the same fit, which is a value."""
        with reading(self):
            check_is_fitted(self)
            copied = type(self)(**self.get_params(deep=False))
            copied.__dict__.update(self.__dict__)
            return copied

    def _scorer(self) -> Scorer:
        """The scorer after the last complete batch."""
        with reading(self):
            return self._fitted.scorer

    def _to_model(self) -> Model:
        """All of the fitted estimator without scikit-learn."""
        check_is_fitted(self)
        parameters = self.get_params(deep=False)
        return Model(
            type(self).__name__,
            {name: value for name, value in parameters.items() if name not in self._unsaved},
            self._fitted,
            self.classes_,
            self.n_features_in_,
            self._feature_names(),
            self._reading,
            threshold=self._threshold,
        )

    def _adopt(self, model: Model) -> None:
        """Take over a model and nothing else."""
        with changing(self):
            self.classes_, self.n_features_in_, self._fitted = model.classes, model.n_features, model.fit
            for name in ("feature_names_in_", "_reading", "_threshold"):
                self.__dict__.pop(name, None)
            if model.feature_names is not None:
                self.feature_names_in_ = np.array(model.feature_names, dtype=object)
            if model.reading is not None:
                self._reading = model.reading
            if model.threshold is not None:
                self._threshold = model.threshold
            self._set_resolved()

    def _check_fit(self, fit: Fit) -> None:
        """Raise ValueError unless a fit from a file is one of this estimator."""
        if fit.family not in self._families:
            raise ValueError(f"{type(self).__name__} has no {fit.family} fit")

    def _set_resolved(self) -> None:
        """Set the attributes of resolved parameters and chosen settings."""
        for name in self._resolved:
            value = self._fitted.fitted_attributes[name]
            setattr(self, name, np.array(value) if isinstance(value, list) else value)

    def _only_class(self) -> str:
        """The label of the only class of two so far."""
        labels: Array = self.classes_[[-1 if self._fitted.counts[1] > 0 else 0]]
        return repr(labels.tolist()[0])

    def _feature_names(self) -> tuple[str, ...] | None:
        """The names of the features, None where they have none."""
        names = self.__dict__.get("feature_names_in_")
        return None if names is None else tuple(map(str, names))

    def __sklearn_is_fitted__(self) -> bool:
        return "_fitted" in self.__dict__

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = self._several_classes
        tags.input_tags.sparse = True
        return tags
