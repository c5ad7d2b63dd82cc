"""What every statistic can do."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike

from opauc.types import Arrays, ClassCounts, Floats, Labels, NamedArrays, Rows


class ScoreSummary(NamedTuple):
    """Row count, mean score and score variance of the negative (0) and the positive (1) class."""

    counts: tuple[float, float]
    means: tuple[float, float]
    variances: tuple[float, float]


class FeatureSpread(NamedTuple):
    """Standard deviation of each feature within the classes, pooled over both, and what else is to be said of it.

    A weight times the deviation of its feature is by how much the score moves
    where the feature moves as it does among the rows: that can be compared
    between features of any units.
    """

    deviations: Floats
    note: str = ""

    @classmethod
    def pooled(cls, scatter: Floats, count: float, note: str = "") -> FeatureSpread:
        """Return the spread from the sum over all rows of the squared distances to the means of their classes.

        Examples
        --------
        >>> import numpy as np
        >>> from opauc.core.mergeable import FeatureSpread
        >>> FeatureSpread.pooled(np.array([8.0, 0.0]), 2.0).deviations.tolist()
        [2.0, 0.0]
        """
        return cls(np.sqrt(np.maximum(scatter, 0.0) / (count or 1.0)), note)


# Taking rows out leaves rounding of the order of this share of what was there.
ROUNDING = 1e-9


class Mergeable(ABC):
    """Sums over rows: a value that adds up, and from which rows can be taken out again.

    `merge` is associative and commutative to rounding, `empty_copy` is its
    identity and `without` its inverse. Memory does not grow with the rows.
    """

    __slots__ = ()

    # Last parts of the names of arrays that a file may lack.
    optional_arrays: ClassVar[tuple[str, ...]] = ()

    @property
    @abstractmethod
    def n_features(self) -> int:
        """Number of features."""

    @classmethod
    @abstractmethod
    def empty(cls, n_features: int) -> Self:
        """Return the statistic of no rows."""

    @abstractmethod
    def empty_copy(self) -> Self:
        """Return the statistic of no rows that merges with this one."""

    @abstractmethod
    def merge(self, other: Self) -> Self:
        """Return the statistic of both sets of rows together."""

    @abstractmethod
    def subtract(self, other: Self) -> Self:
        """Return the statistic of the rows that are not in `other`."""

    @abstractmethod
    def widen(self, n_features: int) -> Self:
        """Return the statistic of the same rows with more features, which are zero in all of them."""

    @abstractmethod
    def restrict(self, features: ArrayLike) -> Self:
        """Return the statistic of the given features only, in the given order."""

    def reindex(self, places: ArrayLike, n_features: int) -> Self:
        """Return the statistic of the same rows with each feature at its place among more, zero in all rows."""
        order, at = np.full(n_features, -1), np.asarray(places)
        order[at] = np.arange(at.size)
        order[order < 0] = np.arange(at.size, n_features)
        return self.widen(n_features).restrict(order)

    @abstractmethod
    def to_arrays(self) -> Arrays:
        """Return copies of all sums under flat names, for a file or the network."""

    @classmethod
    @abstractmethod
    def from_arrays(cls, arrays: NamedArrays) -> Self:
        """Return the statistic that gave these arrays, refused unless it can be one of rows."""


class Statistic(Mergeable):
    """Sums over the rows of two classes."""

    __slots__ = ()

    @property
    @abstractmethod
    def counts(self) -> ClassCounts:
        """Rows of each class."""

    def numbered_from(self, first_row: int) -> Self:  # noqa: ARG002
        """Return the statistic of no rows whose first will have this number, where numbers play a part."""
        return self

    @abstractmethod
    def update(self, rows: Rows, labels: Labels, weight: Floats | None = None) -> Self:
        """Return the statistic of the rows so far and these."""

    @abstractmethod
    def mean_difference(self) -> Floats:
        """Return the mean of the positive rows less the mean of the negative rows."""

    @abstractmethod
    def summary(self, weights: Floats) -> ScoreSummary:
        """Return counts, means and variances of the scores that `weights` give to the rows seen."""

    @abstractmethod
    def feature_spread(self) -> FeatureSpread | None:
        """Return how much each feature varies within the classes; None where nothing is known of it."""


def or_one(counts: Floats) -> Floats:
    """Return counts as divisors: one where there is nothing to divide."""
    return np.where(counts > 0.0, counts, 1.0)
