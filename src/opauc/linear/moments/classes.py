"""Statistics of the two classes, and what they say about a linear scorer without the data."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr

from opauc.core.mergeable import FeatureSpread, FeatureSums, ScoreSummary, Statistic
from opauc.core.row_blocks import NO_WEIGHTS
from opauc.errors import IncompatibleMomentsError
from opauc.linear.moments.accumulate import accumulate
from opauc.linear.moments.exact import FAINTEST, ExactMoments
from opauc.types import Arrays, ClassCounts, Floats, Labels, NamedArrays, Rows


@dataclass(frozen=True, slots=True, eq=False, init=False)
class GroupMoments(FeatureSums):
    """Exact statistics of each of several groups of rows.

    A value: `update`, `merge`, `forget` and the rest return a new one and
    leave this one as it was. Rows are an array (n, d) of float32 or float64,
    of any memory order, or a canonical CSR array; sums are float64. The group
    of each row is its number, from 0 on.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.linear.moments.classes import GroupMoments
    >>> rows, fold = np.array([[0.0], [1.0], [5.0], [6.0]]), np.array([0, 1, 2, 2], np.int8)
    >>> seen = GroupMoments.empty(1, n_groups=3).update(rows, fold)
    >>> seen.groups[2].mean.tolist(), seen.total().subtract(seen.groups[2]).mean.tolist()
    ([5.5], [0.5])
    """

    groups: tuple[ExactMoments, ...]

    optional_arrays: ClassVar[tuple[str, ...]] = ExactMoments.optional_arrays

    def __init__(self, *groups: ExactMoments) -> None:
        for one in groups[1:]:
            groups[0].refuse_other_width(one)
        object.__setattr__(self, "groups", groups)

    @classmethod
    def empty(cls, n_features: int, n_groups: int = 2) -> Self:
        """Statistics of no rows: the identity of `merge`."""
        return cls(*[ExactMoments.empty(n_features)] * n_groups)

    def empty_copy(self) -> Self:
        """Statistics of no rows with as many features and groups."""
        return self.empty(self.n_features, len(self.groups))

    @property
    def n_features(self) -> int:
        """Number of features."""
        return self.groups[0].n_features

    def total(self, groups: Iterable[int] | None = None) -> ExactMoments:
        """Statistics of the rows of the given groups together, of all where none are named."""
        chosen = self.groups if groups is None else [self.groups[g] for g in groups]
        return ExactMoments.merged([self.groups[0].empty_copy(), *chosen])

    def update(
        self,
        rows: Rows,
        labels: Labels,
        weight: Floats | None = None,
        *,
        forgetting_factor: float = 1.0,
        n_jobs: int = 1,
    ) -> Self:
        """Statistics of the rows so far and these, each of the group its label names.

        With `forgetting` below one, each new row first multiplies the weight
        of all rows before it, of any group, by that factor.
        """
        if forgetting_factor == 1.0:
            return self.merge(self._gathered(rows, labels, weight, n_jobs))
        # Means and covariances are ratios: weights count from the newest row of each group, lest they underflow.
        n_rows = rows.shape[0]
        numbers, newest = np.arange(n_rows), np.full(len(self.groups), -1)
        newest[labels] = numbers
        fading = forgetting_factor ** (newest[labels] - numbers).astype(float)
        fading[fading < FAINTEST] = 0.0
        fresh = self._gathered(rows, labels, fading if weight is None else fading * weight, n_jobs)
        return type(self)(
            *(
                one.decayed(forgetting_factor ** (last + 1.0))
                .merge(new)
                .decayed(forgetting_factor ** (n_rows - last - 1.0))
                for one, new, last in zip(self.groups, fresh.groups, newest.tolist(), strict=True)
            )
        )

    def merge(self, other: Self) -> Self:
        """Statistics of both sets of rows together."""
        return self._paired(ExactMoments.merge, other)

    def forget(self, rows: Rows, labels: Labels, weight: Floats | None = None, n_jobs: int = 1) -> Self:
        """Statistics as if these rows had never been seen."""
        return self.subtract(self._gathered(rows, labels, weight, n_jobs))

    def subtract(self, other: Self) -> Self:
        """Statistics of the rows that are not in `other`: the inverse of `merge`."""
        return self._paired(ExactMoments.subtract, other)

    def decayed(self, factor: float) -> Self:
        """Statistics with the weight of every row so far multiplied by `factor`."""
        return self._each(lambda one: one.decayed(factor))

    def restrict(self, features: ArrayLike) -> Self:
        """Statistics of the given features only, in the given order."""
        return self._each(lambda one: one.restrict(features))

    def rescale(self, scale: ArrayLike, shift: ArrayLike = 0.0) -> Self:
        """Statistics of the rows scale * row + shift, from those of the rows."""
        return self._each(lambda one: one.rescale(scale, shift))

    def widen(self, n_features: int) -> Self:
        """Statistics of the same rows with more features, which are zero in all of them."""
        return self._each(lambda one: one.widen(n_features))

    def to_arrays(self) -> Arrays:
        """Copies of all sums under flat names, for a file or the network."""
        named = zip(self._names(len(self.groups)), self.groups, strict=True)
        return {f"{name}.{key}": part for name, one in named for key, part in one.to_arrays().items()}

    @classmethod
    def from_arrays(cls, arrays: NamedArrays) -> Self:
        """Statistics from what `to_arrays` gave, checked."""
        n_groups = sum(key.endswith(".count") for key in arrays)
        return cls(
            *(
                ExactMoments.from_arrays(
                    {key.removeprefix(f"{name}."): part for key, part in arrays.items() if key.startswith(f"{name}.")}
                )
                for name in cls._names(max(1, n_groups))
            )
        )

    @classmethod
    def _names(cls, n_groups: int) -> tuple[str, ...]:
        """Return the names of the groups in files."""
        return tuple(str(g) for g in range(n_groups))

    def _gathered(self, rows: Rows, labels: Labels, weight: Floats | None, n_jobs: int) -> Self:
        shards = accumulate(rows, labels, NO_WEIGHTS if weight is None else weight, len(self.groups), n_jobs)
        return type(self)(*ExactMoments.of_shards(shards))

    def _paired(self, join: Callable[[ExactMoments, ExactMoments], ExactMoments], other: Self) -> Self:
        if len(self.groups) != len(other.groups):
            raise IncompatibleMomentsError(
                f"statistics of {len(self.groups)} groups and of {len(other.groups)} do not belong together"
            )
        return type(self)(*map(join, self.groups, other.groups))

    def _each(self, change: Callable[[ExactMoments], ExactMoments]) -> Self:
        return type(self)(*map(change, self.groups))


class ClassMoments(GroupMoments, Statistic):
    """Exact statistics of the negative (label 0) and the positive (label 1) class: two groups of rows.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.linear.moments.classes import ClassMoments
    >>> rows = np.array([[0.0, 1.0], [1.0, 1.0], [3.0, 0.0], [5.0, 2.0]])
    >>> labels = np.array([0, 0, 1, 1], np.int8)
    >>> seen = ClassMoments.empty(2).update(rows[:3], labels[:3]).update(rows[3:], labels[3:])
    >>> seen.mean_difference().tolist()
    [3.5, 0.0]
    >>> seen.forget(rows[3:], labels[3:]).positive.count
    1.0
    """

    __slots__ = ()

    def __init__(self, negative: ExactMoments, positive: ExactMoments) -> None:
        super().__init__(negative, positive)

    @classmethod
    def of(cls, rows: Rows, labels: Labels, weight: Floats | None = None, n_jobs: int = 1) -> Self:
        """Statistics of labeled rows, gathered by `n_jobs` threads."""
        return cls.empty(rows.shape[1]).update(rows, labels, weight, n_jobs=n_jobs)

    @property
    def negative(self) -> ExactMoments:
        """Statistics of the negative rows."""
        return self.groups[0]

    @property
    def positive(self) -> ExactMoments:
        """Statistics of the positive rows."""
        return self.groups[1]

    @property
    def counts(self) -> ClassCounts:
        """Rows of each class, each counted with its weight."""
        return ClassCounts(self.negative.count, self.positive.count)

    def mean_difference(self) -> Floats:
        """Mean of the positive rows less mean of the negative rows."""
        return self.positive.mean - self.negative.mean

    def covariance_sum(self) -> Floats:
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
            max(0.0, float(weights @ (one.scatter @ weights)) / one.count) if one.count else 0.0 for one in self.groups
        )
        return negative, positive

    def summary(self, weights: Floats) -> ScoreSummary:
        """Counts, means and variances of the scores that `weights` give to the rows seen."""
        means = float(weights @ self.negative.mean), float(weights @ self.positive.mean)
        return ScoreSummary(self.counts, means, self.score_variances(weights))

    def feature_spread(self) -> FeatureSpread:
        """Standard deviation of each feature within the classes, pooled over both."""
        scatter: Floats = np.diagonal(self.negative.scatter) + np.diagonal(self.positive.scatter)
        return FeatureSpread.pooled(scatter, sum(self.counts))

    def binormal_auc(self, weights: Floats) -> float:
        """AUC of the scores if they were normally distributed in each class."""
        margin, deviation = self.mean_difference() @ weights, np.sqrt(sum(self.score_variances(weights)))
        if deviation == 0.0:
            return 0.5 * (1.0 + float(np.sign(margin)))
        return float(ndtr(margin / deviation))

    @classmethod
    def _names(cls, n_groups: int) -> tuple[str, ...]:  # noqa: ARG003
        return "negative", "positive"
