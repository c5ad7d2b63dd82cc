"""Statistics of groups of rows and of the two classes."""

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
from opauc.linear.moments.exact import UNDERFLOW_FLOOR, ExactMoments
from opauc.types import Arrays, ClassCounts, Floats, Labels, NamedArrays, Rows


@dataclass(frozen=True, slots=True, eq=False, init=False)
class GroupMoments(FeatureSums):
    """Exact statistics of each of several groups of rows.

    Immutable: `update`, `merge`, `forget` and the other methods return a new
    object. Rows are an array (n, d) of float32 or float64, of any memory order, or
    a canonical CSR array; sums are float64. Groups are numbered from 0.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.linear.moments.classes import GroupMoments
    >>> rows, fold = np.array([[0.0], [1.0], [5.0], [6.0]]), np.array([0, 1, 2, 2], np.int8)
    >>> moments = GroupMoments.empty(1, n_groups=3).update(rows, fold)
    >>> moments.groups[2].mean.tolist(), moments.total().subtract(moments.groups[2]).mean.tolist()
    ([5.5], [0.5])
    """

    groups: tuple[ExactMoments, ...]

    optional_arrays: ClassVar[tuple[str, ...]] = ExactMoments.optional_arrays

    def __init__(self, *groups: ExactMoments) -> None:
        for one in groups[1:]:
            groups[0].check_same_width(one)
        object.__setattr__(self, "groups", groups)

    @classmethod
    def empty(cls, n_features: int, n_groups: int = 2) -> Self:
        """Return the statistics of no rows: the identity of `merge`."""
        return cls(*[ExactMoments.empty(n_features)] * n_groups)

    def empty_copy(self) -> Self:
        """Return the statistics of no rows with as many features and groups."""
        return self.empty(self.n_features, len(self.groups))

    @property
    def n_features(self) -> int:
        """Number of features."""
        return self.groups[0].n_features

    def total(self, groups: Iterable[int] | None = None) -> ExactMoments:
        """Return the statistics of the rows of the given groups together, by default of all groups."""
        members = self.groups if groups is None else [self.groups[g] for g in groups]
        return ExactMoments.merge_all([self.groups[0].empty_copy(), *members])

    def update(
        self,
        rows: Rows,
        labels: Labels,
        weight: Floats | None = None,
        *,
        forgetting_factor: float = 1.0,
        n_jobs: int = 1,
    ) -> Self:
        """Return the statistics of the earlier rows and these; `labels` has the group of each row.

        With a `forgetting_factor` below one, each new row multiplies the weight of
        all earlier rows, of any group, by that factor.
        """
        if forgetting_factor == 1.0:
            return self.merge(self._accumulate(rows, labels, weight, n_jobs))
        # Weights are relative to the newest row of each group, so that they do not underflow; ratios stay the same.
        n_rows = rows.shape[0]
        numbers, newest = np.arange(n_rows), np.full(len(self.groups), -1)
        newest[labels] = numbers
        row_decay = forgetting_factor ** (newest[labels] - numbers).astype(float)
        row_decay[row_decay < UNDERFLOW_FLOOR] = 0.0
        fresh = self._accumulate(rows, labels, row_decay if weight is None else row_decay * weight, n_jobs)
        return type(self)(
            *(
                one.decay(forgetting_factor ** (last + 1.0))
                .merge(new)
                .decay(forgetting_factor ** (n_rows - last - 1.0))
                for one, new, last in zip(self.groups, fresh.groups, newest.tolist(), strict=True)
            )
        )

    def merge(self, other: Self) -> Self:
        """Return the statistics of both sets of rows."""
        return self._combine(ExactMoments.merge, other)

    def forget(self, rows: Rows, labels: Labels, weight: Floats | None = None, n_jobs: int = 1) -> Self:
        """Return the statistics without these rows."""
        return self.subtract(self._accumulate(rows, labels, weight, n_jobs))

    def subtract(self, other: Self) -> Self:
        """Return the statistics of the rows that are not in `other`: the inverse of `merge`."""
        return self._combine(ExactMoments.subtract, other)

    def decay(self, factor: float) -> Self:
        """Return the statistics with the weight of every row multiplied by `factor`."""
        return self._each(lambda one: one.decay(factor))

    def restrict(self, features: ArrayLike) -> Self:
        """Return the statistics of the given features only, in the given order."""
        return self._each(lambda one: one.restrict(features))

    def rescale(self, scale: ArrayLike, shift: ArrayLike = 0.0) -> Self:
        """Return the statistics of the rows scale * row + shift."""
        return self._each(lambda one: one.rescale(scale, shift))

    def widen(self, n_features: int) -> Self:
        """Return the statistics with more features, which are zero in all rows so far."""
        return self._each(lambda one: one.widen(n_features))

    def to_arrays(self) -> Arrays:
        """Return copies of all sums by name, for a file or the network."""
        named = zip(self._names(len(self.groups)), self.groups, strict=True)
        return {f"{name}.{key}": part for name, one in named for key, part in one.to_arrays().items()}

    @classmethod
    def from_arrays(cls, arrays: NamedArrays) -> Self:
        """Return the statistics from the arrays of `to_arrays`, checked."""
        names = cls._names(max(1, sum(key.endswith(".count") for key in arrays)))
        unknown = [key for key in arrays if key.partition(".")[0] not in names]
        if unknown:
            raise IncompatibleMomentsError(f"expected arrays of groups {', '.join(names)}, got {unknown[0]}")
        return cls(
            *(
                ExactMoments.from_arrays(
                    {key.removeprefix(f"{name}."): part for key, part in arrays.items() if key.startswith(f"{name}.")}
                )
                for name in names
            )
        )

    @classmethod
    def _names(cls, n_groups: int) -> tuple[str, ...]:
        """Return the names of the groups in files."""
        return tuple(str(g) for g in range(n_groups))

    def _accumulate(self, rows: Rows, labels: Labels, weight: Floats | None, n_jobs: int) -> Self:
        shards = accumulate(rows, labels, NO_WEIGHTS if weight is None else weight, len(self.groups), n_jobs)
        return type(self)(*ExactMoments.from_shards(shards))

    def _combine(self, join: Callable[[ExactMoments, ExactMoments], ExactMoments], other: Self) -> Self:
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
    >>> moments = ClassMoments.empty(2).update(rows[:3], labels[:3]).update(rows[3:], labels[3:])
    >>> moments.mean_difference().tolist()
    [3.5, 0.0]
    >>> moments.forget(rows[3:], labels[3:]).positive.count
    1.0
    """

    __slots__ = ()

    def __init__(self, negative: ExactMoments, positive: ExactMoments) -> None:
        super().__init__(negative, positive)

    @classmethod
    def of(cls, rows: Rows, labels: Labels, weight: Floats | None = None, n_jobs: int = 1) -> Self:
        """Return the statistics of labeled rows, summed by `n_jobs` threads."""
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
        """Total weight of the rows of each class."""
        return ClassCounts(self.negative.count, self.positive.count)

    def without_rounding(self) -> tuple[ExactMoments, ExactMoments]:
        """Return the statistics of the negative and the positive rows as `ExactMoments.without_rounding` does."""
        return self.negative.without_rounding(), self.positive.without_rounding()

    def mean_difference(self) -> Floats:
        """Return mean of the positive rows - mean of the negative rows."""
        negative, positive = self.without_rounding()
        return positive.mean - negative.mean

    def covariance_sum(self) -> Floats:
        """Return the sum of the covariance matrices of the two classes."""
        negative, positive = self.without_rounding()
        total = negative.scatter * (1.0 / (negative.count or 1.0))
        total += positive.scatter * (1.0 / (positive.count or 1.0))
        return total

    def pair_loss(self, weights: Floats) -> float:
        """Return the mean over all pairs of rows of (1 - weights.(positive - negative))^2 / 2."""
        margin = 1.0 - self.mean_difference() @ weights
        return 0.5 * float(margin * margin + sum(self.score_variances(weights)))

    def score_variances(self, weights: Floats) -> tuple[float, float]:
        """Return the variance of the scores of the negative and of the positive rows."""
        negative, positive = (
            max(0.0, float(weights @ (one.scatter @ weights)) / one.count) if one.count else 0.0
            for one in self.without_rounding()
        )
        return negative, positive

    def summary(self, weights: Floats) -> ScoreSummary:
        """Return counts, means and variances of the scores of the rows seen."""
        negative, positive = self.without_rounding()
        means = float(weights @ negative.mean), float(weights @ positive.mean)
        return ScoreSummary(self.counts, means, self.score_variances(weights))

    def feature_spread(self) -> FeatureSpread:
        """Return the standard deviation of each feature within the classes, pooled over both."""
        negative, positive = self.without_rounding()
        scatter: Floats = np.diagonal(negative.scatter) + np.diagonal(positive.scatter)
        return FeatureSpread.pooled(scatter, sum(self.counts))

    def binormal_auc(self, weights: Floats) -> float:
        """Return the AUC under normally distributed scores in each class."""
        margin, deviation = self.mean_difference() @ weights, np.sqrt(sum(self.score_variances(weights)))
        if deviation == 0.0:
            return 0.5 * (1.0 + float(np.sign(margin)))
        return float(ndtr(margin / deviation))

    @classmethod
    def _names(cls, n_groups: int) -> tuple[str, ...]:  # noqa: ARG003
        return "negative", "positive"
