"""Shared base of the estimators that need all rows at once."""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from opauc.core.fit import BatchFit
from opauc.core.transaction import changing
from opauc.linear.estimator import LinearClassifier
from opauc.linear.fit import LinearFit
from opauc.linear.input import check_batch
from opauc.linear.scorer import LinearScorer
from opauc.types import Array, Floats, Labels, Rows


class BatchClassifier(LinearClassifier):
    """A binary classifier that needs all rows at once: there is no `partial_fit`.

    A subclass implements `_solve`. The paper's limit of 8,000 training rows
    belongs to the experiments; estimators use every row of `fit`.
    """

    _families: ClassVar[tuple[str, ...]] = ("batch",)

    classes_: Array

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Fit to labeled rows, replacing any earlier fit.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Training rows. Sparse rows stay sparse.
        y : array-like of shape (n_samples,)
            Labels of two classes; the greater label is the positive class.

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
        with changing(self):
            batch = check_batch(self, X, y, None, None, first=True)
            if batch.classes.size < 2:
                raise ValueError(
                    f"{type(self).__name__} needs rows of two classes, got one class: "
                    f"every row is of class {batch.classes.tolist()[0]!r}"
                )
            self.classes_ = batch.classes
            self._fitted = self._solve(batch.rows, batch.labels)
            self._set_resolved()
        return self

    @abstractmethod
    def _solve(self, rows: Rows, labels: Labels) -> LinearFit | BatchFit:
        """Check the parameters and return the fitted state for rows and labels of both classes."""


def as_float64(rows: Rows) -> Rows:
    """Return the rows in float64, without a copy if they already are."""
    return rows.astype(np.float64, copy=False)


def from_weights(weights: Floats, scores: Floats, labels: Labels, **fitted_attributes: object) -> BatchFit:
    """Return the fitted state with these weights; `scores` are those of the training rows."""
    weights.flags.writeable = False
    return BatchFit(LinearScorer.of_scores(weights, scores, labels), fitted_attributes)
