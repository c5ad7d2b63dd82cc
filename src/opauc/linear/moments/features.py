"""Count, mean and variance sums of each feature in both classes, without covariances."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from opauc.core.array_schema import ArrayRule, copy_arrays
from opauc.core.mergeable import ROUNDING, FeatureSpread, ScoreSummary, Statistic, add_rounding, or_one
from opauc.errors import IncompatibleMomentsError, StatisticsOverflowError
from opauc.types import Arrays, ClassCounts, Floats, Labels, NamedArrays, Rows

SCHEMA = {
    "counts": ArrayRule("float64", "2", low=0),
    "means": ArrayRule("float64", "2 features"),
    "scatters": ArrayRule("float64", "2 features", low=0),
    "rounding": ArrayRule("float64", "2 features", low=0, optional=True),
}


@dataclass(frozen=True, slots=True, eq=False)
class FeatureMoments(Statistic):
    """Count, mean and scatter of each feature in the negative (0) and the positive (1) class.

    The diagonal part of `ClassMoments`: two numbers per feature and class.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.linear.moments.features import FeatureMoments
    >>> shard = FeatureMoments.of(np.array([[0.0], [2.0], [7.0]]), np.array([0, 0, 1], np.int8))
    >>> both = shard.merge(FeatureMoments.of(np.array([[4.0]]), np.array([0], np.int8)))
    >>> both.means.tolist(), both.scatters.tolist(), both.mean_difference().tolist()
    ([[2.0], [7.0]], [[8.0], [0.0]], [5.0])
    """

    totals: Floats  # (2,) total weight of the rows of each class
    means: Floats  # (2, d)
    scatters: Floats  # (2, d)
    # (2, d): a bound on the rounding error in `scatters` from subtracting rows; None if none were subtracted.
    rounding: Floats | None = None

    optional_arrays: ClassVar[tuple[str, ...]] = ("rounding",)

    def __post_init__(self) -> None:
        if not (np.isfinite(self.means).all() and np.isfinite(self.scatters).all()):
            raise StatisticsOverflowError("the sums of the rows overflow float64; scale the features down")

    @classmethod
    def empty(cls, n_features: int) -> FeatureMoments:
        """Return the statistics of no rows: the identity of `merge`."""
        return cls(np.zeros(2), np.zeros((2, n_features)), np.zeros((2, n_features)))

    def empty_copy(self) -> FeatureMoments:
        """Return the statistics of no rows with as many features."""
        return FeatureMoments.empty(self.n_features)

    @classmethod
    def of(cls, rows: Rows, labels: Labels, weight: Floats | None = None) -> FeatureMoments:
        """Return the statistics of labeled rows."""
        totals, means, scatters = np.zeros(2), np.zeros((2, rows.shape[1])), np.zeros((2, rows.shape[1]))
        for k in np.unique(labels):
            members = np.flatnonzero(labels == k)
            totals[k] = members.size if weight is None else weight[members].sum()
            with np.errstate(over="ignore", invalid="ignore"):
                means[k], scatters[k] = _moments(rows[members], None if weight is None else weight[members], totals[k])
        return cls(totals, means, scatters)

    @property
    def n_features(self) -> int:
        """Number of features."""
        return int(self.means.shape[1])

    @property
    def counts(self) -> ClassCounts:
        """Total weight of the rows of each class."""
        return ClassCounts(*self.totals.tolist())

    def update(self, rows: Rows, labels: Labels, weight: Floats | None = None) -> FeatureMoments:
        """Statistics of the rows so far and these."""
        return self.merge(FeatureMoments.of(rows, labels, weight))

    def merge(self, other: FeatureMoments) -> FeatureMoments:
        """Return the statistics of both sets of rows."""
        self._check_same_width(other)
        totals = self.totals + other.totals
        share, product = other.totals / or_one(totals), self.totals * other.totals / or_one(totals)
        with np.errstate(over="ignore", invalid="ignore"):
            away = other.means - self.means
            scatters = self.scatters + (other.scatters + product[:, None] * away**2)
            means, rounding = self.means + share[:, None] * away, add_rounding(self.rounding, other.rounding)
            return FeatureMoments(totals, means, scatters, rounding)

    def subtract(self, other: FeatureMoments) -> FeatureMoments:
        """Return the statistics of the rows that are not in `other`: the inverse of `merge`."""
        self._check_same_width(other)
        left = self.totals - other.totals
        if (left < -ROUNDING * self.totals).any():
            k = int(np.argmin(left))
            raise IncompatibleMomentsError(
                f"cannot take out rows of total weight {other.totals[k]:g}: only {self.totals[k]:g} were seen"
            )
        remains = left > ROUNDING * self.totals
        left = np.where(remains, left, 0.0)
        away = (other.means - self.means) * (other.totals / or_one(left))[:, None]
        between = (self.totals * left / or_one(other.totals))[:, None] * away**2
        scatters = self.scatters - other.scatters - between
        with np.errstate(over="ignore"):  # sparse rows are summed without centering, which loses digits
            lost = ROUNDING * np.maximum(self.scatters, other.scatters) + 1e-14 * self.totals[:, None] * self.means**2
        lost = lost if (before := add_rounding(self.rounding, other.rounding)) is None else lost + before
        if (scatters < -lost)[remains].any():
            feature = int(np.argmin((scatters + lost)[remains].min(axis=0)))
            raise IncompatibleMomentsError(
                f"cannot take out rows that were never seen: feature {feature} would vary by less than nothing"
            )
        keep = remains[:, None]
        means, scatters = np.where(keep, self.means - away, 0.0), np.where(keep, np.maximum(scatters, 0.0), 0.0)
        return FeatureMoments(left, means, scatters, np.where(keep, lost, 0.0))

    def widen(self, n_features: int) -> FeatureMoments:
        """Return the statistics with more features, which are zero in all rows so far."""
        more = ((0, 0), (0, n_features - self.n_features))
        rounding = None if self.rounding is None else np.pad(self.rounding, more)
        return FeatureMoments(self.totals, np.pad(self.means, more), np.pad(self.scatters, more), rounding)

    def restrict(self, features: ArrayLike) -> FeatureMoments:
        """Return the statistics of the given features only, in the given order."""
        at = np.asarray(features)
        rounding = None if self.rounding is None else self.rounding[:, at]
        return FeatureMoments(self.totals, self.means[:, at], self.scatters[:, at], rounding)

    def mean_difference(self) -> Floats:
        """Return mean of the positive rows - mean of the negative rows."""
        difference: Floats = self.means[1] - self.means[0]
        return difference

    def summary(self, weights: Floats) -> ScoreSummary:
        """Return exact counts and mean scores, and the score variances of uncorrelated features."""
        variances = self.scatters @ weights**2 / or_one(self.totals)
        return ScoreSummary(*(tuple(part.tolist()) for part in (self.totals, self.means @ weights, variances)))

    def feature_spread(self) -> FeatureSpread:
        """Return the standard deviation of each feature within the classes, pooled over both."""
        return FeatureSpread.pooled(self.scatters.sum(axis=0), float(self.totals.sum()))

    def to_arrays(self) -> Arrays:
        """Return copies of the sums, for a file or the network; `rounding` only where rows were subtracted."""
        sums = {"counts": self.totals.copy(), "means": self.means.copy(), "scatters": self.scatters.copy()}
        return sums if self.rounding is None else {**sums, "rounding": self.rounding.copy()}

    @classmethod
    def from_arrays(cls, arrays: NamedArrays) -> FeatureMoments:
        """Return the statistics from the arrays of `to_arrays`; raise where they cannot be statistics of rows."""
        copies = copy_arrays(SCHEMA, arrays)
        totals, means, scatters = (copies[name] for name in ("counts", "means", "scatters"))
        if means[totals == 0].any() or scatters[totals == 0].any():
            raise IncompatibleMomentsError("means and scatters must be zero when counts are")
        return cls(totals, means, scatters, copies.get("rounding"))

    def _check_same_width(self, other: FeatureMoments) -> None:
        if other.n_features != self.n_features:
            raise IncompatibleMomentsError(
                f"statistics of {self.n_features} features and of {other.n_features} do not belong together"
            )


def _moments(rows: Rows, weight: Floats | None, count: float) -> tuple[Floats, Floats]:
    """Return mean and scatter of each feature of at least one row."""
    if isinstance(rows, np.ndarray):
        if weight is None:
            mean = rows.mean(axis=0, dtype=np.float64)
            return mean, ((rows - mean) ** 2).sum(axis=0)
        mean = weight @ rows / count
        return mean, weight @ (rows - mean) ** 2
    values = rows.data.astype(np.float64)
    times = values if weight is None else values * np.repeat(weight, np.diff(rows.indptr))
    sums, squares = (np.bincount(rows.indices, part, minlength=rows.shape[1]) for part in (times, times * values))
    mean = sums / count
    return mean, np.maximum(squares - sums * mean, 0.0)
