"""What every estimator does that learns from all its rows at once."""

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
from opauc.types import Floats, Labels, Rows


class BatchClassifier(LinearClassifier):
    """A binary classifier that needs all rows at once: there is no `partial_fit`.

    A subclass says in `_solve` which solution rows and labels of both classes
    have. How many of the rows at hand are used is the caller's affair: the
    paper's limit of 8,000 rows belongs to its experiments, not in here.
    """

    _families: ClassVar[tuple[str, ...]] = ("batch",)

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Learn from labeled rows, forgetting what was learned before.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows; sparse ones stay sparse.
        y : array-like of shape (n_samples,)
            Two kinds of label; the greater one is the positive class.

        Returns
        -------
        self : object
            The fitted estimator.

        Examples
        --------
        >>> from opauc.baselines.ls_svm import LSSVM
        >>> LSSVM().fit([[0.0], [1.0], [2.0], [4.0]], ["no", "no", "yes", "yes"]).predict([[3.5]])
        array(['yes'], dtype='<U3')
        """
        with changing(self):
            chunk = check_batch(self, X, y, None, None, first=True)
            if chunk.classes.size < 2:
                raise ValueError(
                    f"{type(self).__name__} needs rows of two classes, got one class: "
                    f"every row is of class {chunk.classes.tolist()[0]!r}"
                )
            self.classes_ = chunk.classes
            self._fitted = self._solve(chunk.rows, chunk.labels)
            self._set_resolved()
        return self

    @abstractmethod
    def _solve(self, rows: Rows, labels: Labels) -> LinearFit | BatchFit:
        """Return what the rows teach, every parameter checked."""


def as_float64(rows: Rows) -> Rows:
    """Return the rows in float64, as they are if they are already."""
    return rows.astype(np.float64, copy=False)


def solved(weights: Floats, scores: Floats, labels: Labels, **published: object) -> BatchFit:
    """Return the solution with these weights, which give these scores to the rows learned from."""
    weights.flags.writeable = False
    return BatchFit(LinearScorer.of_scores(weights, scores, labels), published)
