"""What every estimator does that learns from all its rows at once."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from opauc.estimators.input_checks import checked_chunk, unchanged_on_error
from opauc.estimators.linear_scoring import LinearScoringClassifier
from opauc.statistics.chunk_rows import Labels, Rows
from opauc.statistics.score_summary import ScoreSummary
from opauc.training.solution import Solution

Floats = NDArray[np.float64]


class BatchClassifier(LinearScoringClassifier):
    """A binary classifier that needs all rows at once: there is no `partial_fit`.

    A subclass says in `_solve` which solution rows and labels of both classes
    have. How many of the rows at hand are used is the caller's affair: the
    paper's limit of 8,000 rows belongs to its experiments, not in here.
    """

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Learn from labelled rows, forgetting what was learnt before.

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
        with unchanged_on_error(self):
            chunk = checked_chunk(self, X, y, None, None, first=True)
            if chunk.classes.size < 2:
                raise ValueError(
                    f"{type(self).__name__} needs rows of two classes, got one class: "
                    f"every row is of class {chunk.classes.tolist()[0]!r}"
                )
            self.classes_ = chunk.classes
            self.solution_ = self._solve(chunk.rows, chunk.labels)
        return self

    @abstractmethod
    def _solve(self, rows: Rows, labels: Labels) -> Solution:
        """Return what the rows teach, every parameter checked."""


class Taught(NamedTuple):
    """Weights found from all rows at once, and what is known of the scores of those rows."""

    weights: Floats
    summary: ScoreSummary


class AllAtOnce:
    """The learner of a solution whose state is `Taught`: nothing is left to be worked out."""

    def weights(self, state: Taught) -> Floats:
        """Return the weights."""
        return state.weights

    def summary(self, state: Taught, _weights: Floats) -> ScoreSummary:
        """Return what is known of the scores."""
        return state.summary


def as_float64(rows: Rows) -> Rows:
    """Return the rows in float64, as they are if they are already."""
    return rows.astype(np.float64, copy=False)


def solution_of(weights: Floats, scores: Floats, labels: Labels) -> Solution:
    """Return the solution with these weights, which give these scores to the rows learnt from."""
    parts = [scores[labels == k] for k in (0, 1)]
    columns: list[Any] = [tuple(float(number(part)) for part in parts) for number in (np.size, np.mean, np.var)]
    return Solution(AllAtOnce(), Taught(weights, ScoreSummary(*columns)))
