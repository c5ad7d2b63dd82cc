"""Additive models as sums of their rows: merge, subtract, forget."""

from __future__ import annotations

from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from opauc.additive.estimator.fitted import FittedGAM
from opauc.additive.input import next_rows
from opauc.additive.state import ForgetReport
from opauc.core.fit import only_scores
from opauc.core.model import check_same_classes, different_kinds
from opauc.core.transaction import changing, reading
from opauc.errors import IncompatibleMomentsError


class GAMAlgebra(FittedGAM):
    """The rows of additive models with one basis add and subtract."""

    def empty_copy(self) -> Self:
        """Return a model with the same basis and no rows: shards that begin with it can be merged.

        Returns
        -------
        model : OnePassGAM
            A model to `partial_fit` and `merge`.

        Examples
        --------
        >>> from opauc import OnePassGAM
        >>> rows, labels = [[0.0], [1.0], [2.0], [4.0]] * 30, [0, 0, 1, 1] * 30
        >>> model = OnePassGAM().fit(rows, labels)
        >>> shards = [model.empty_copy().partial_fit(rows[i::2], labels[i::2]) for i in range(2)]
        >>> shards[0].merge(shards[1]).score(rows, labels)
        1.0
        """
        with reading(self):
            check_is_fitted(self)
            return self._with_fit(self._fitted.empty_copy())

    def merge(self, other: Self) -> Self:
        """Add the rows of another model with the same basis, as if they had been processed here.

        Parameters
        ----------
        other : OnePassGAM
            A fitted model that began with the same basis (`empty_copy`), or that has no basis yet.

        Returns
        -------
        self : OnePassGAM
            The model of the rows of both.

        Raises
        ------
        IncompatibleMomentsError
            If the models differ in classes, columns or basis.
        UnsupportedOperationError
            If a model was saved for scoring only.

        Examples
        --------
        >>> from opauc import OnePassGAM
        >>> rows, labels = [[0.0], [1.0], [2.0], [4.0]] * 30, [0, 0, 1, 1] * 30
        >>> model = OnePassGAM().fit(rows, labels)
        >>> model.merge(model.empty_copy().partial_fit(rows, labels)).score(rows, labels)
        1.0
        """
        with changing(self, other):
            self._check_same_kind(other)
            self._fitted = self._fitted.merge(other._fitted)
        return self

    def subtract(self, other: Self) -> Self:
        """Remove the rows of another model with the same basis, as if they had never been processed here.

        The inverse of `merge`: a day is removed by its model, not by its rows. Rows that were never added are refused
        where the sums show it: a class, a category, a leaf or a range of scores would have fewer than no rows, or
        columns would vary by less than nothing.

        Parameters
        ----------
        other : OnePassGAM
            A fitted model that began with the same basis (`empty_copy`), or that has no basis yet.

        Returns
        -------
        self : OnePassGAM
            The model of the rows that are not in `other`.

        Raises
        ------
        IncompatibleMomentsError
            If the models differ, or rows were never added and the sums show it.
        UnsupportedOperationError
            If a model was saved for scoring only.

        Examples
        --------
        >>> from opauc import OnePassGAM
        >>> rows, labels = [[0.0], [1.0], [2.0], [4.0]] * 30, [0, 0, 1, 1] * 30
        >>> model = OnePassGAM().fit(rows, labels)
        >>> day = model.empty_copy().partial_fit(rows, labels)
        >>> model.merge(day).subtract(day).score(rows, labels)
        1.0
        """
        with changing(self, other):
            self._check_same_kind(other)
            self._fitted = self._fitted.without(other._fitted)
        return self

    def _check_same_kind(self, other: object) -> None:
        """Raise unless another model is of the same classes and columns, and both can be trained."""
        if not isinstance(other, FittedGAM):
            raise different_kinds(type(self).__name__, type(other).__name__)
        check_is_fitted(self)
        check_is_fitted(other)
        if not (self._fitted.can_train and other._fitted.can_train):
            raise only_scores()
        check_same_classes(self.classes_, other.classes_)
        mine, theirs = (None if one._columns is None else one._columns.to_json()["columns"] for one in (self, other))
        if self._input_names() != other._input_names() or mine != theirs:
            raise IncompatibleMomentsError("cannot merge models of features with different names or categories")

    def forget(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
    ) -> Self:
        """Remove rows from the model.

        While the model still has its initial sample (after `fit` on few rows,
        or `partial_fit` on fewer than `init_size`), the rows are taken out of
        that, and the next prediction uses a basis fitted to the other rows.
        Later, rows are subtracted from the sums and from the counts that select
        the model, so that weights are those of the other rows with the same
        basis. The basis stays: what rows of the initial sample contributed to
        knots, pairs, trees, candidate models and the expansion point is not
        removed. `forget_report_` counts the rows, and those of them. Column types
        and categories stay in any case.

        Parameters
        ----------
        X : table, array-like or sparse matrix of shape (n_samples, n_features)
            Rows as they were trained on.
        y : array-like of shape (n_samples,)
            Their labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Their weights.
        groups : array-like of shape (n_samples,), default=None
            Their groups, where they were trained on with groups.

        Returns
        -------
        self : OnePassGAM
            The model without the rows.

        Raises
        ------
        IncompatibleMomentsError
            If no rows could have led to what would be left.
        UnsupportedOperationError
            If the model was saved for scoring only.

        Examples
        --------
        >>> from opauc import OnePassGAM
        >>> rows, labels = [[0.0], [1.0], [2.0], [4.0]] * 30, [0, 0, 1, 1] * 30
        >>> model = OnePassGAM(init_size=60).partial_fit(rows, labels)
        >>> model.forget(rows[-4:], labels[-4:]).score(rows, labels)
        1.0
        >>> model.forget_report_
        ForgetReport(rows=4, initial_rows=4)
        """
        with changing(self):
            check_is_fitted(self)
            rows, _ = next_rows(self, X, self._columns, learn=False)
            batch = self._check(rows, y, self.classes_, sample_weight).with_groups(groups)
            kept = slice(None) if batch.sample_weight is None else np.flatnonzero(batch.sample_weight)
            weight = None if batch.sample_weight is None else batch.sample_weight[kept]
            keys = None if batch.groups is None else batch.groups[kept]
            self._fitted = self._fitted.subtract(batch.rows[kept], batch.labels[kept], weight, groups=keys)
        return self

    @property
    def forget_report_(self) -> ForgetReport:
        """How many rows `forget` has removed, and how many of them the basis was fitted to, which stays."""
        with reading(self):
            check_is_fitted(self)
            return self._fitted.removed
