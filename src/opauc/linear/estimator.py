"""What estimators of linear scorers share: scoring, training in one pass, merging and forgetting."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar, Self, cast

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from opauc.core.loop import Trainer
from opauc.core.mergeable import LabeledSums
from opauc.core.model import Model
from opauc.core.parameters import NON_NEGATIVE, check_param
from opauc.core.partial_auc import ObjectiveSelection
from opauc.core.solver import AnySolver
from opauc.core.transaction import Transaction, changing, reading
from opauc.data.encode.table_features import OneHotReading
from opauc.estimators.algebra import SumsAlgebra
from opauc.estimators.input_checks import CheckedBatch, check_classes
from opauc.estimators.notebook import MAX_ROWS, FittedSummary, ShownPart, sign_of
from opauc.estimators.scoring import Scored, ScoringClassifier
from opauc.linear.fit import LinearFit
from opauc.linear.input import check_batch, check_known_batch, check_rows, set_reading
from opauc.linear.multiclass.scorer import MulticlassScorer
from opauc.linear.partial_auc import PartialAuc
from opauc.linear.resolve import LinearFactory, solver_factory, takes_several
from opauc.linear.row_access import LinearRows
from opauc.linear.scorer import LinearScorer
from opauc.types import Array, Floats


class LinearClassifier(ScoringClassifier):
    """A classifier whose scorer is linear in the rows."""

    # The torch device on which sums are gathered, for estimators that can.
    device: str | None = None
    # Nothing: rows are features.
    _columns: ClassVar[None] = None
    _reading: OneHotReading | None = None

    @property
    def coef_(self) -> Floats:
        """Weights of the scorer, shape (1, n_features), or (n_classes, n_features) of more than two classes."""
        return np.atleast_2d(self._scorer().weights)

    @property
    def intercept_(self) -> Floats:
        """Intercept of the scorer, shape (1,), or (n_classes,) of more than two classes."""
        scorer = self._scorer()
        return np.array([scorer.intercept]) if isinstance(scorer, LinearScorer) else scorer.intercepts.copy()

    def _scorer(self) -> LinearScorer | MulticlassScorer:
        """The scorer as of the last batch that is wholly processed."""
        scorer = super()._scorer()
        assert isinstance(scorer, LinearScorer | MulticlassScorer), "fits of this family have no other"
        return scorer

    def _summary(self) -> FittedSummary | None:
        """Return the largest weights, in units of their features' deviations where these are known."""
        weights, spread = self._scorer().weights, self._fitted.feature_spread
        several = weights.ndim == 2
        largest_of = np.ptp(weights, axis=0) if several else np.abs(weights)
        effects = largest_of if spread is None else largest_of * spread.deviations
        if not effects.any():
            return None  # rows of one class so far
        names, largest = self._feature_names(), np.argsort(-effects, kind="stable")[:MAX_ROWS].tolist()
        parts = [
            ShownPart(f"x{j}" if names is None else names[j], float(effects[j]), "" if several else sign_of(weights[j]))
            for j in largest
            if effects[j]
        ]
        measure = "range of weights over the classes" if several else "|weight|"
        measure = measure if spread is None else f"{measure} × deviation"
        return FittedSummary(parts, int(np.count_nonzero(largest_of)), "feature", measure, self._known_auc())

    def _known_auc(self) -> str:
        """Return the AUC that training has measured, empty where it has measured none."""
        return ""

    def _row_access(self) -> LinearRows:
        return LinearRows.of(self._copied(), self._scorer())

    def _scored(self, X: ArrayLike) -> Scored:
        """Check rows and score them; other threads may train meanwhile."""
        with reading(self):
            check_is_fitted(self)
            rows, scorer, classes = check_rows(self, X), self._fitted.scorer, self.classes_
        return Scored(scorer, scorer.scores(rows), classes)


class StreamClassifier(LinearClassifier):
    """A classifier that trains on its rows one after the other, in one pass.

    A subclass names its solver in `_solver`; its parameters are the solver's settings.
    """

    _families: ClassVar[tuple[str, ...]] = ("linear",)
    _solver: ClassVar[type[AnySolver]]
    _all_rows: ClassVar[str] = "every row"

    classes_: Array
    _fitted: LinearFit

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit to labeled rows in one pass over them, replacing any earlier fit.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows, float32 or float64; anything else is converted to float64.
        y : array-like of shape (n_samples,)
            Labels of two classes; the greater label is the positive class.
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
        >>> OPAUC().fit([[0.0], [1.0], [2.0], [4.0]], ["no", "no", "yes", "yes"]).predict([[3.5]])
        array(['yes'], dtype='<U3')
        """
        return self._fit(X, y, sample_weight)

    def partial_fit(
        self, X: ArrayLike, y: ArrayLike, classes: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Train on one more batch of labeled rows.

        Any cut of the rows into batches gives what `fit` gives. A batch may
        hold one class only if `classes` names both on the first call. If this
        raises, or is interrupted, the model is as it was before. Threads may
        share a model: a second caller waits until the first batch is processed.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows as in `fit`.
        y : array-like of shape (n_samples,)
            Their labels.
        classes : array-like of shape (2,), default=None
            Both class labels; needed on the first call unless y holds both.
        sample_weight : array-like of shape (n_samples,), default=None
            Weight of each row.

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
    def moments_(self) -> LabeledSums:
        """Statistics of the classes, where the learner keeps them."""
        with reading(self):
            fit = self._fitted
            if fit.solver.has_statistics:
                return fit.moments
        name = fit.solver.name
        raise AttributeError(f"{type(self).__name__} has no moments_: {name} keeps no class statistics")

    def _fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None,
        groups: ArrayLike | None = None,
        groups_together: bool = False,
    ) -> Self:
        """Do as `fit`, with the groups of the rows where the learner has a use for them."""
        with changing(self) as transaction:
            batch = check_batch(self, X, y, sample_weight, None, first=True).with_groups(groups)
            self._train(batch.sorted_by_group() if groups_together else batch, None, transaction)
            self._check_all_classes()
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
            known = check_classes(None if first else self.classes_, classes, self._several_classes)
            batch = check_batch(self, X, y, sample_weight, known, first).with_groups(groups)
            self._train(batch, None if first else self._fitted, transaction)
            if batch.classes.size < 2:
                raise ValueError(
                    "classes must be passed on the first call to partial_fit when y holds one class only, "
                    f"here {self._only_class()}"
                )
        return self

    def _factory(self) -> LinearFactory:
        """Return how the parameters become a fit; every parameter is checked when it does."""
        return solver_factory(type(self).__name__, self._solver, self.get_params(deep=False))

    def _check_all_classes(self) -> None:
        """Raise unless there are rows of every class."""
        counts = self._fitted.counts
        if counts.all_seen:
            return
        name = type(self).__name__
        if len(counts) > 2:
            label = self.classes_[int(np.argmin(counts))]
            raise ValueError(f"{name} needs rows of every class, got none of positive weight of class {label!s}")
        raise ValueError(
            f"{name} needs rows of two classes, got one class: {self._all_rows} is of class {self._only_class()}"
        )

    def _factory_of_classes(self) -> LinearFactory:
        """Return how the parameters become a fit of the classes so far."""
        return self._factory().for_classes(max(2, self.classes_.size))

    def _train(self, batch: CheckedBatch, fit: LinearFit | None, transaction: Transaction) -> None:
        trainer = Trainer(self._factory().for_classes(max(2, batch.classes.size)), fit=fit)
        trainer.train_rows(batch.rows, batch.labels, batch.sample_weight, batch.groups, transaction)
        self.classes_, self._fitted = batch.classes, cast(LinearFit, trainer.fit)
        self._set_resolved()


class SumsClassifier(StreamClassifier, SumsAlgebra):
    """A classifier whose solver may keep nothing but sums; where it keeps more, these methods say so."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = takes_several(self._factory())
        return tags

    def merge(self, other: SumsClassifier) -> Self:
        """Add the training rows of another model, as if this model had been trained on them too.

        Parameters
        ----------
        other : object
            A fitted estimator of the same kind, with solver "exact", the same classes and the same features.
            Models of the command match their columns and categories by name.

        Returns
        -------
        self : object
            The estimator.

        Raises
        ------
        IncompatibleMomentsError
            If the models differ in classes, features or solver.
        UnsupportedOperationError
            If the solver keeps no sums that add.

        Examples
        --------
        >>> from opauc import OPAUC
        >>> one = OPAUC().partial_fit([[0.0], [2.0]], [0, 1])
        >>> other = OPAUC().partial_fit([[1.0], [5.0]], [0, 1])
        >>> one.merge(other).moments_.counts
        ClassCounts(negative=2.0, positive=2.0)
        """
        with changing(self, other):
            check_is_fitted(self)
            check_is_fitted(other)
            mine = replace(
                self._to_model(), fit=self._factory_of_classes().under(self._fitted, self._fitted.n_features)
            )
            merged = mine.merge(other._to_model())
            self._fitted = cast(LinearFit, merged.fit)
            if merged.reading is not None:
                set_reading(self, merged.reading, merged.fit.n_features)
        return self

    def subtract(self, other: SumsClassifier) -> Self:
        """Remove the training rows of another model, as if this model had never been trained on them.

        The inverse of `merge`: a day is removed by its model, not by its rows. Rows that were never added are
        refused where the sums show it: more rows of a class than there are, or features that would vary by less than
        nothing.

        Parameters
        ----------
        other : object
            A fitted estimator of the same kind, with solver "exact", the same classes and the same features.

        Returns
        -------
        self : object
            The estimator.

        Raises
        ------
        IncompatibleMomentsError
            If the models differ, or rows were never added and the sums show it.
        UnsupportedOperationError
            If the solver keeps no sums that subtract.

        Examples
        --------
        >>> from opauc import OPAUC
        >>> one = OPAUC().partial_fit([[0.0], [2.0]], [0, 1])
        >>> other = OPAUC().partial_fit([[1.0], [5.0]], [0, 1])
        >>> one.merge(other).subtract(other).moments_.counts
        ClassCounts(negative=1.0, positive=1.0)
        """
        with changing(self, other):
            check_is_fitted(self)
            check_is_fitted(other)
            mine = replace(
                self._to_model(), fit=self._factory_of_classes().under(self._fitted, self._fitted.n_features)
            )
            self._fitted = cast(LinearFit, mine.without(other._to_model()).fit)
        return self

    def forget(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        row_numbers: ArrayLike | None = None,
    ) -> Self:
        """Remove rows from the sums: the model becomes that of the other rows, up to rounding.

        The model keeps sums, which do not show which rows they are made of.
        Removing rows that it was not trained on damages it silently, unless the
        result is impossible: more rows of a class than there were, or a negative
        variance. Keep account of the rows yourself.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows as they were trained on.
        y : array-like of shape (n_samples,)
            Their labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Their weights.
        row_numbers : array-like of int of shape (n_samples,), default=None
            With a sketch (a `rank`) or with folds: the number, from 0, under
            which this model was trained on each row: its random signs or its
            fold depend on it.

        Returns
        -------
        self : object
            The estimator.

        Raises
        ------
        IncompatibleMomentsError
            If no rows could have led to what would be left.
        UnsupportedOperationError
            If the solver keeps no sums that subtract.

        Examples
        --------
        >>> from opauc import OPAUC
        >>> model = OPAUC().fit([[0.0], [2.0], [9.0]], [0, 1, 1])
        >>> model.forget([[9.0]], [1]).moments_.positive.mean
        array([2.])
        """
        return self._forget(X, y, sample_weight, row_numbers)

    def empty_copy(self) -> Self:
        """Model that has no rows and merges with this one, whatever its first rows fixed.

        With loss="logistic" models can be merged only where they have the same
        expansion point: train the others from empty copies of the first.

        Returns
        -------
        copy : object
            A new estimator with the same parameters, classes and features.

        Examples
        --------
        >>> from opauc import OPAUC
        >>> X, y = [[0.0], [1.0], [2.0], [4.0]], [0, 0, 1, 1]
        >>> one = OPAUC(loss="logistic").fit(X, y)
        >>> other = one.empty_copy().partial_fit([[3.0], [-1.0]], [1, 0])
        >>> one.merge(other).moments_.counts
        ClassCounts(negative=3.0, positive=3.0)
        """
        with reading(self):
            check_is_fitted(self)
            model = self._to_model()
            copy = type(self)(**self.get_params(deep=False))
            copy._adopt(replace(model, fit=self._fitted.empty_copy()))
        return copy

    @property
    def objective_selection_(self) -> ObjectiveSelection:
        """The candidates for a partial AUC, what each reached on rows held out, and the one taken."""
        with reading(self):
            check_is_fitted(self)
            solver = self._fitted.solver
            if isinstance(solver, PartialAuc):
                return solver.objective_selection(self._fitted.state)
        raise AttributeError("objective_selection_ needs objective='pauc'")

    def path(self, alphas: Sequence[float]) -> Floats:
        """Return weights for many values of alpha, at the price of little more than one.

        Parameters
        ----------
        alphas : sequence of float
            Ridge penalties, in any order.

        Returns
        -------
        coefs : ndarray of shape (n_alphas, n_features) or (n_alphas, n_classes, n_features)
            Row i is what `coef_` would be with alpha=alphas[i]. With more than two classes, row (i, k) minimizes
            the pair loss of class k; `coef_` has it times a factor that makes the classes comparable.

        Examples
        --------
        >>> from opauc import OPAUC
        >>> OPAUC(standardize=False).partial_fit([[0.0], [2.0]], [0, 1]).path([0.0, 0.5]).round(4)
        array([[0.5   ],
               [0.4444]])
        """
        penalties = [check_param(type(self).__name__, "alphas", alpha, NON_NEGATIVE) for alpha in alphas]
        with reading(self):
            check_is_fitted(self)
            return self._fitted.path(penalties)

    def _forget(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None,
        row_numbers: ArrayLike | None,
        groups: ArrayLike | None = None,
    ) -> Self:
        """Do as `forget`, with the groups of the rows where the learner kept those together."""
        with changing(self):
            check_is_fitted(self)
            batch = check_known_batch(self, X, y, sample_weight).with_groups(groups)
            fit = self._factory_of_classes().under(self._fitted, self._fitted.n_features)
            self._fitted = fit.subtract(batch.rows, batch.labels, batch.sample_weight, row_numbers, batch.groups)
        return self

    def _shard_factory(self) -> LinearFactory:
        """Return the factory that shards of rows are trained by, of two classes unless there are more."""
        return self._factory()

    def _encode_shard(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None, classes: Array, first: bool
    ) -> CheckedBatch:
        """Check rows of a shard."""
        return check_batch(self, X, y, sample_weight, classes, first)

    def _begin_shards(self, rows: Any, classes: Array) -> Self:  # noqa: ARG002
        """Return an estimator of these parameters that has processed no row."""
        return type(self)(**self.get_params(deep=False))

    def _adopt_shards(self, model: Model) -> None:
        """Take over the model of all shards, under the parameters of this estimator."""
        fit = self._factory().for_classes(model.classes.size).under(model.fit, model.fit.n_features)
        self._adopt(replace(model, parameters=self.get_params(deep=False), fit=fit))
