"""How candidate scorers rank rows that they were not trained on, as counts that merge: their partial AUC."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from opauc.core.array_schema import ArrayRule, check_arrays
from opauc.core.mergeable import Mergeable
from opauc.errors import IncompatibleMomentsError, StatisticsOverflowError
from opauc.types import Arrays, Floats, Labels, NamedArrays, Rows

# Edges of the bins: upper quantiles of the negative scores, ever closer towards the top, and quantiles of the positive.
NEGATIVE_EDGES, POSITIVE_EDGES = 128, 64
N_EDGES = NEGATIVE_EDGES + POSITIVE_EDGES
ROWS_PER_BLOCK = 8192
EDGE_SHIFT = 1e-9  # share of an edge by which it lies above the score it was taken from

SCHEMA = {
    "weights": ArrayRule("float64", "candidates folds features"),
    "offsets": ArrayRule("float64", "candidates folds"),
    "edges": ArrayRule("float64", f"candidates {N_EDGES}"),
    "counts": ArrayRule("float64", f"candidates folds 2 {N_EDGES}+1", low=0),
}


@dataclass(frozen=True, slots=True, eq=False)
class HeldOutScores(Mergeable):
    """Counts of the scores of rows in bins, by candidate, fold and class.

    A candidate has a scorer for each fold, trained on first rows of the other
    folds: whatever row it scores, it was not trained on it.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.linear.moments.held_out_scores import HeldOutScores
    >>> rows, numbers = np.arange(8.0)[:, None], np.array([0, 0, 0, 1, 0, 1, 1, 1], np.int8)
    >>> scores = HeldOutScores.of(np.ones((1, 1, 1)), np.zeros((1, 1)), rows, numbers).update(rows, numbers)
    >>> round(float(scores.partial_aucs(1.0)[0]), 4)
    0.9375
    """

    weights: Floats  # (candidates, folds, d)
    offsets: Floats  # (candidates, folds), added to the scores
    edges: Floats  # (candidates, N_EDGES), rising
    counts: Floats  # (candidates, folds, 2, N_EDGES + 1)

    optional_arrays: ClassVar[tuple[str, ...]] = ()

    @classmethod
    def empty(cls, n_features: int, n_folds: int, n_candidates: int) -> HeldOutScores:
        """Return the counts of no rows for candidates that are not known yet."""
        return cls._of(np.zeros((n_candidates, n_folds, n_features)), np.zeros((n_candidates, n_folds)),
                       np.zeros((n_candidates, N_EDGES)))  # fmt: skip

    @classmethod
    def of(cls, weights: Floats, offsets: Floats, rows: Rows, numbers: Labels) -> HeldOutScores:
        """Return the counts of no rows, with the bins that suit these rows, whose numbers are 2 * fold + label."""
        begun = cls._of(weights, offsets, np.zeros((len(weights), N_EDGES)))
        if not numbers.size:
            return begun
        scores, is_positive = begun._scores(rows, numbers // 2), numbers % 2 == 1
        # From half of the negatives down to half a row.
        tails = np.geomspace(0.5, 0.5 / max(1, int((~is_positive).sum())), NEGATIVE_EDGES)
        shares = np.linspace(0.0, 1.0, POSITIVE_EDGES)
        parts = [
            np.quantile(scores[members], at, axis=0) if members.any() else np.zeros((at.size, len(weights)))
            for members, at in ((~is_positive, 1.0 - tails), (is_positive, shares))
        ]
        edges = np.sort(np.concatenate(parts), axis=0).T
        # A score that is an edge must not change its bin with the rounding of another block of rows.
        return replace(begun, edges=np.ascontiguousarray(edges + EDGE_SHIFT * np.abs(edges)))

    @classmethod
    def _of(cls, weights: Floats, offsets: Floats, edges: Floats) -> HeldOutScores:
        return cls(weights, offsets, edges, np.zeros((*offsets.shape, 2, N_EDGES + 1)))

    def empty_copy(self) -> HeldOutScores:
        """Return the counts of no rows for the same candidates."""
        return self._of(self.weights, self.offsets, self.edges)

    def update(self, rows: Rows, numbers: Labels, weight: Floats | None = None) -> HeldOutScores:
        """Return the counts with rows added, whose numbers are 2 * fold + label."""
        counts = self.counts.copy()
        for start in range(0, numbers.size if len(counts) else 0, ROWS_PER_BLOCK):
            part = slice(start, start + ROWS_PER_BLOCK)
            scores, number = self._scores(rows[part], numbers[part] // 2), numbers[part].astype(np.int64)
            for candidate, edges in enumerate(self.edges):
                bins = np.searchsorted(edges, scores[:, candidate], side="right") + number * (N_EDGES + 1)
                size = counts[candidate].size
                found = np.bincount(bins, None if weight is None else weight[part], minlength=size)
                counts[candidate] += found.reshape(counts[candidate].shape)
        return replace(self, counts=counts)

    def merge(self, other: HeldOutScores) -> HeldOutScores:
        """Return the counts of both sets of rows."""
        self._check_same_candidates(other)
        return replace(self, counts=self.counts + other.counts)

    def subtract(self, other: HeldOutScores) -> HeldOutScores:
        """Return the counts of the rows that are not in `other`."""
        self._check_same_candidates(other)
        return replace(self, counts=np.maximum(0.0, self.counts - other.counts))

    def restrict(self, features: NDArray[np.int64]) -> HeldOutScores:
        """Return the counts with the weights of the given features only."""
        return replace(self, weights=np.ascontiguousarray(self.weights[:, :, features]))

    def widen(self, n_features: int) -> HeldOutScores:
        """Return the counts with more features, which have no weight."""
        more = (0, n_features - self.weights.shape[2])
        return replace(self, weights=np.pad(self.weights, ((0, 0), (0, 0), more)))

    def partial_aucs(self, max_fpr: float, without: int | None = None) -> Floats:
        """Return the partial AUC of each candidate up to a false-positive rate, McClish-standardized.

        Rows of the fold `without` are left out. Without rows of both classes it is 0.5.
        """
        folds = [k for k in range(self.counts.shape[1]) if k != without]
        by_class = self.counts[:, folds].sum(axis=1)
        return np.array([_partial_auc(negative, positive, max_fpr) for negative, positive in by_class])

    def to_arrays(self) -> Arrays:
        """Return copies of the scorers, bins and counts, by name."""
        return {name: getattr(self, name).copy() for name in SCHEMA}

    @classmethod
    def from_arrays(cls, arrays: NamedArrays) -> HeldOutScores:
        """Return the counts from the arrays of `to_arrays`, checked."""
        check_arrays(SCHEMA, arrays)
        if (np.diff(arrays["edges"], axis=1) < 0.0).any():
            raise IncompatibleMomentsError("edges: expected numbers that do not fall")
        return cls(*(np.array(arrays[name]) for name in SCHEMA))

    def _scores(self, rows: Rows, folds: Labels) -> Floats:
        """Return the score of each row by each candidate's scorer of its fold."""
        n_candidates, n_folds, n_features = self.weights.shape
        with np.errstate(over="ignore", invalid="ignore"):
            every = rows @ self.weights.reshape(-1, n_features).T + self.offsets.ravel()
        if not np.isfinite(every).all():
            raise StatisticsOverflowError("the scores of the rows overflow float64; scale the features down")
        scores: Floats = every.reshape(-1, n_candidates, n_folds)[np.arange(folds.size), :, folds]
        return scores

    def _check_same_candidates(self, other: HeldOutScores) -> None:
        """Raise unless both have the same scorers and bins."""
        pairs = ((self.weights, other.weights), (self.offsets, other.offsets), (self.edges, other.edges))
        if not all(np.array_equal(mine, its) for mine, its in pairs):
            raise IncompatibleMomentsError("held-out scores of different candidates cannot be merged")


def _partial_auc(negative: Floats, positive: Floats, max_fpr: float) -> float:
    """Return the standardized area under the ROC curve of binned scores up to a false-positive rate."""
    if not (negative.sum() > 0.0 and positive.sum() > 0.0):
        return 0.5
    false = np.concatenate([[0.0], np.cumsum(negative[::-1]) / negative.sum()])
    true = np.concatenate([[0.0], np.cumsum(positive[::-1]) / positive.sum()])
    inside = false < max_fpr
    ends = np.interp(max_fpr, false, true)
    area = float(np.trapezoid(np.append(true[inside], ends), np.append(false[inside], max_fpr)))
    chance = 0.5 * max_fpr**2
    return 0.5 * (1.0 + (area - chance) / (max_fpr - chance))
