"""Statistics of the two classes, and what they say about a linear scorer without the data."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtr

from opauc.statistics.accumulate import accumulate
from opauc.statistics.chunk_rows import NO_WEIGHTS, Labels, Rows
from opauc.statistics.exact_moments import ExactMoments
from opauc.statistics.score_summary import ScoreSummary

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class ClassMoments:
    """Exact statistics of the negative (label 0) and the positive (label 1) class.

    A value: `update`, `merge`, `forget` and the rest return a new one and
    leave this one as it was. Rows are an array (n, d) of float32 or float64,
    of any memory order, or a canonical CSR array; sums are float64.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.statistics import ClassMoments
    >>> rows = np.array([[0.0, 1.0], [1.0, 1.0], [3.0, 0.0], [5.0, 2.0]])
    >>> labels = np.array([0, 0, 1, 1], np.int8)
    >>> seen = ClassMoments.empty(2).update(rows[:3], labels[:3]).update(rows[3:], labels[3:])
    >>> seen.mean_difference().tolist()
    [3.5, 0.0]
    >>> seen.forget(rows[3:], labels[3:]).positive.count
    1.0
    """

    negative: ExactMoments
    positive: ExactMoments

    @classmethod
    def empty(cls, n_features: int) -> ClassMoments:
        """Statistics of no rows: the identity of `merge`."""
        return cls(ExactMoments.empty(n_features), ExactMoments.empty(n_features))

    @classmethod
    def of(cls, rows: Rows, labels: Labels, sample_weight: Floats | None = None, n_jobs: int = 1) -> ClassMoments:
        """Statistics of labelled rows, gathered by `n_jobs` threads."""
        weight = NO_WEIGHTS if sample_weight is None else sample_weight
        total = cls.empty(rows.shape[1])
        for sums in accumulate(rows, labels, weight, n_jobs):
            shard = (ExactMoments(float(n), m, s) for n, m, s in zip(*sums, strict=True))
            total = total.merge(cls(*shard))
        return total

    @property
    def n_features(self) -> int:
        """Number of features."""
        return self.negative.n_features

    @property
    def has_both_classes(self) -> bool:
        """Whether rows of both classes were seen."""
        return self.negative.count > 0 and self.positive.count > 0

    def update(
        self,
        rows: Rows,
        labels: Labels,
        sample_weight: Floats | None = None,
        forgetting: float = 1.0,
        n_jobs: int = 1,
    ) -> ClassMoments:
        """Statistics of the rows so far and these.

        With `forgetting` below one, each new row first multiplies the weight
        of all rows before it, of either class, by that factor.
        """
        if forgetting == 1.0:
            return self.merge(ClassMoments.of(rows, labels, sample_weight, n_jobs))
        n_rows = rows.shape[0]
        ages = forgetting ** np.arange(n_rows - 1, -1, -1.0)
        weight = ages if sample_weight is None else ages * sample_weight
        return self.decayed(forgetting**n_rows).merge(ClassMoments.of(rows, labels, weight, n_jobs))

    def merge(self, other: ClassMoments) -> ClassMoments:
        """Statistics of both sets of rows together."""
        return ClassMoments(self.negative.merge(other.negative), self.positive.merge(other.positive))

    def forget(self, rows: Rows, labels: Labels, sample_weight: Floats | None = None, n_jobs: int = 1) -> ClassMoments:
        """Statistics as if these rows had never been seen."""
        return self.without(ClassMoments.of(rows, labels, sample_weight, n_jobs))

    def without(self, other: ClassMoments) -> ClassMoments:
        """Statistics of the rows that are not in `other`: the inverse of `merge`."""
        return ClassMoments(self.negative.without(other.negative), self.positive.without(other.positive))

    def decayed(self, factor: float) -> ClassMoments:
        """Statistics with the weight of every row so far multiplied by `factor`."""
        return self._each(lambda one: one.decayed(factor))

    def restrict(self, features: ArrayLike) -> ClassMoments:
        """Statistics of the given features only, in the given order."""
        return self._each(lambda one: one.restrict(features))

    def rescale(self, scale: ArrayLike, shift: ArrayLike = 0.0) -> ClassMoments:
        """Statistics of the rows scale * row + shift, from those of the rows."""
        return self._each(lambda one: one.rescale(scale, shift))

    def mean_difference(self) -> Floats:
        """Mean of the positive rows less mean of the negative rows."""
        return self.positive.mean - self.negative.mean

    def spread(self) -> Floats:
        """Sum of the covariance matrices of the two classes."""
        total = self.negative.scatter * (1.0 / (self.negative.count or 1.0))
        total += self.positive.scatter * (1.0 / (self.positive.count or 1.0))
        return total

    def pair_loss(self, weights: Floats) -> float:
        """Mean over all pairs of rows seen of (1 - weights.(positive - negative))^2 / 2."""
        margin = 1.0 - self.mean_difference() @ weights
        return 0.5 * float(margin * margin + sum(self.score_variances(weights)))

    def score_variances(self, weights: Floats) -> tuple[float, float]:
        """Variance of the scores of the negative and of the positive rows."""
        negative, positive = (
            max(0.0, float(weights @ (one.scatter @ weights)) / one.count) if one.count else 0.0
            for one in (self.negative, self.positive)
        )
        return negative, positive

    def summary(self, weights: Floats) -> ScoreSummary:
        """Counts, means and variances of the scores that `weights` give to the rows seen."""
        means = float(weights @ self.negative.mean), float(weights @ self.positive.mean)
        return ScoreSummary((self.negative.count, self.positive.count), means, self.score_variances(weights))

    def binormal_auc(self, weights: Floats) -> float:
        """AUC of the scores if they were normally distributed in each class."""
        margin, deviation = self.mean_difference() @ weights, np.sqrt(sum(self.score_variances(weights)))
        if deviation == 0.0:
            return 0.5 * (1.0 + float(np.sign(margin)))
        return float(ndtr(margin / deviation))

    def to_arrays(self) -> dict[str, Floats]:
        """Copies of all sums under flat names, for a file or the network."""
        named = {"negative": self.negative, "positive": self.positive}
        return {f"{name}.{key}": part for name, one in named.items() for key, part in one.to_arrays().items()}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, ArrayLike]) -> ClassMoments:
        """Statistics from what `to_arrays` gave, checked."""
        negative, positive = (
            ExactMoments.from_arrays(
                {key.removeprefix(name): part for key, part in arrays.items() if key.startswith(name)}
            )
            for name in ("negative.", "positive.")
        )
        return cls(negative.merge(ExactMoments.empty(positive.n_features)), positive)

    def _each(self, change: Callable[[ExactMoments], ExactMoments]) -> ClassMoments:
        return ClassMoments(change(self.negative), change(self.positive))
