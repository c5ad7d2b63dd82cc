"""Statistics of the rows of several classes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple, Self

import numpy as np

from opauc.core.labels import MAX_CLASSES
from opauc.core.mergeable import FeatureSpread, LabeledSums
from opauc.errors import IncompatibleMomentsError
from opauc.linear.moments.classes import GroupMoments
from opauc.linear.moments.exact import ExactMoments
from opauc.types import Floats, MulticlassCounts, NamedArrays


class PairSums(NamedTuple):
    """What the pair loss of one class depends on, as means over the other classes.

    With S the covariances, divided by the rows, and d the difference of the means
    of this class and another one: `matrix` is the mean of S_this + S_other + d d^T,
    `difference` that of d. The mean pair loss of weights w is then
    (1 - 2 w.difference + w.matrix w) / 2.
    """

    label: int
    matrix: Floats
    difference: Floats

    def loss(self, weights: Floats) -> Floats:
        """Return the mean pair loss of weights, one per row."""
        curved = np.einsum("ij,ij->i", weights @ self.matrix, weights)
        loss: Floats = 0.5 * (1.0 - 2.0 * (weights @ self.difference) + curved)
        return loss


class MulticlassMoments(GroupMoments, LabeledSums):
    """Exact statistics of the rows of each of several classes.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.linear.moments.multiclass import MulticlassMoments
    >>> rows, labels = np.array([[0.0], [1.0], [5.0], [7.0]]), np.array([0, 1, 2, 2], np.int8)
    >>> moments = MulticlassMoments.empty(1, 3).update(rows, labels)
    >>> moments.counts
    MulticlassCounts(1.0, 1.0, 2.0)
    >>> [pairs.difference.tolist() for pairs in moments.pair_sums(np.ones(1))]
    [[-3.5], [-2.0], [5.5]]
    """

    __slots__ = ()

    @classmethod
    def empty(cls, n_features: int, n_groups: int = 3) -> Self:
        """Return the statistics of no rows: the identity of `merge`."""
        return cls(*[ExactMoments.empty(n_features)] * n_groups)

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return len(self.groups)

    @property
    def counts(self) -> MulticlassCounts:
        """Total weight of the rows of each class."""
        return MulticlassCounts(one.count for one in self.groups)

    def seen(self) -> list[int]:
        """Return the classes that have rows."""
        return [k for k, one in enumerate(self.groups) if one.count > 0.0]

    def without_rounding(self) -> list[ExactMoments]:
        """Return the statistics of each class as `ExactMoments.without_rounding` does."""
        return [one.without_rounding() for one in self.groups]

    def pair_sums(self, scale: Floats) -> Iterator[PairSums]:
        """Yield the sums of the pair loss of each class with rows, of features divided by their scale."""
        groups, seen = self.without_rounding(), self.seen()
        means = np.stack([groups[k].mean for k in seen]) / scale
        share = 1.0 / max(1, len(seen) - 1)
        units = np.multiply.outer(scale, scale)
        total = np.zeros(units.shape)
        for k in seen:
            total += groups[k].scatter * (share / groups[k].count)
        total /= units
        for row, k in enumerate(seen):
            gaps = means[row] - np.delete(means, row, axis=0)
            matrix = groups[k].scatter * ((1.0 - share) / groups[k].count)
            matrix /= units
            matrix += total
            matrix += share * (gaps.T @ gaps)
            yield PairSums(k, matrix, share * gaps.sum(axis=0))

    def feature_spread(self) -> FeatureSpread:
        """Return the standard deviation of each feature within the classes, pooled over all of them."""
        scatter: Floats = np.sum([np.diagonal(one.scatter) for one in self.without_rounding()], axis=0)
        return FeatureSpread.pooled(scatter, sum(self.counts))

    @classmethod
    def from_arrays(cls, arrays: NamedArrays) -> Self:
        """Return the statistics from the arrays of `to_arrays`, checked."""
        n_classes = sum(key.endswith(".count") for key in arrays)
        if not 2 <= n_classes <= MAX_CLASSES:
            raise IncompatibleMomentsError(f"expected statistics of 2 to {MAX_CLASSES} classes, got {n_classes}")
        return super().from_arrays(arrays)
