"""Count, mean and scatter of the rows of one class."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import lapack

from opauc.core.array_schema import ArrayRule, copy_arrays
from opauc.core.mergeable import ROUNDING, FeatureSums, add_rounding, subtraction_error
from opauc.core.row_blocks import NO_WEIGHTS
from opauc.errors import IncompatibleMomentsError, StatisticsOverflowError
from opauc.linear.moments.accumulate import GroupSums, accumulate
from opauc.types import Arrays, Floats, Rows

# The weight of rows does not decay below this. Covariances are ratios and stay correct.
UNDERFLOW_FLOOR = 1e-100
# Negative eigenvalue of a correlation matrix, per feature, that rounding may cause, above all of float32 products.
MAX_NEGATIVE_EIGENVALUE = 1e-6
# Up to this many features a scatter matrix is factored to check it, which takes about a second; beyond, only its
# entries are checked.
MAX_FACTORED = 4096
SCHEMA = {
    "count": ArrayRule("float64", low=0),
    "mean": ArrayRule("float64", "features"),
    "scatter": ArrayRule("float64", "features features"),
    "rounding": ArrayRule("float64", "features", low=0, optional=True),
}


@dataclass(frozen=True, slots=True, eq=False)
class ExactMoments(FeatureSums):
    """Row count, mean and scatter of one class.

    `count` is the sum of the weights of the rows. `scatter` is the weighted sum of
    (row - mean)(row - mean)^T, not the covariance: sums merge by addition,
    averages do not. `rounding` is a bound on the rounding error in the scatter of
    each feature from subtracting rows, None if none were subtracted. The scatter
    of a feature may then be zero or less by as much: `without_rounding` gives the
    statistics in which such a feature is constant, from which weights are computed.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.linear.moments.exact import ExactMoments
    >>> shard = ExactMoments.of(np.array([[0.0, 1.0], [2.0, 3.0]]))
    >>> both = shard.merge(ExactMoments.of(np.array([[4.0, 5.0]])))
    >>> both.count, both.mean.tolist()
    (3.0, [2.0, 3.0])
    >>> np.round(both.covariance(), 3).tolist()
    [[2.667, 2.667], [2.667, 2.667]]
    """

    count: float
    mean: Floats
    scatter: Floats
    rounding: Floats | None = None

    optional_arrays: ClassVar[tuple[str, ...]] = ("rounding",)

    def __post_init__(self) -> None:
        # |scatter_ij| <= sqrt(scatter_ii scatter_jj), so checking the diagonal is enough.
        if not (np.isfinite(self.mean).all() and np.isfinite(np.diagonal(self.scatter)).all()):
            raise StatisticsOverflowError("the sums of the rows overflow float64; scale the features down")

    @classmethod
    def empty(cls, n_features: int) -> ExactMoments:
        """Return the statistics of no rows: the identity of `merge`."""
        return cls(0.0, np.zeros(n_features), np.zeros((n_features, n_features)))

    @classmethod
    def of(cls, rows: Rows, weight: Floats | None = None, n_jobs: int = 1) -> ExactMoments:
        """Return the statistics of `rows` (n, d), of weight one without `weight`."""
        groups = np.zeros(rows.shape[0], np.int8)
        (total,) = cls.from_shards(accumulate(rows, groups, NO_WEIGHTS if weight is None else weight, 1, n_jobs))
        return total

    @classmethod
    def from_shards(cls, shards: Iterable[GroupSums]) -> list[ExactMoments]:
        """Return the statistics of each group from the sums of its shards."""
        parts = ([cls(float(n), m, s) for n, m, s in zip(*sums, strict=True)] for sums in shards)
        return [cls.merge_all(group) for group in zip(*parts, strict=True)]

    @classmethod
    def merge_all(cls, parts: Iterable[ExactMoments]) -> ExactMoments:
        """Return the statistics of the rows of all parts, at least one."""
        total, *others = parts
        for other in others:
            total = total.merge(other)
        return total

    @property
    def n_features(self) -> int:
        """Number of features."""
        return self.mean.size

    def empty_copy(self) -> ExactMoments:
        """Return the statistics of no rows with as many features."""
        return ExactMoments.empty(self.n_features)

    def covariance(self) -> Floats:
        """Return the covariance matrix with divisor `count`; zero without rows."""
        scatter = self.without_rounding().scatter
        return scatter / self.count if self.count else scatter

    def without_rounding(self) -> ExactMoments:
        """Return the statistics in which features that vary by no more than the rounding error are constant.

        For reading only: rows subtracted later would lack what was set to zero.
        """
        if self.rounding is None:
            return self
        constant = np.diagonal(self.scatter) <= self.rounding
        if not constant.any():
            return self
        mean, scatter = self.mean.copy(), self.scatter.copy()
        scatter[constant, :] = 0.0
        scatter[:, constant] = 0.0
        mean[constant & (self.count * mean**2 <= self.rounding)] = 0.0
        return ExactMoments(self.count, mean, scatter, self.rounding)

    def update(self, rows: Rows, weight: Floats | None = None, n_jobs: int = 1) -> ExactMoments:
        """Return the statistics of the earlier rows and `rows`."""
        return self.merge(ExactMoments.of(rows, weight, n_jobs))

    def merge(self, other: ExactMoments) -> ExactMoments:
        """Return the statistics of both sets of rows (Chan, Golub and LeVeque)."""
        self.check_same_width(other)
        if other.count == 0:
            return self
        if self.count == 0:
            return other
        total = self.count + other.count
        away, share = other.mean - self.mean, other.count / total
        with np.errstate(over="ignore", invalid="ignore"):
            scatter = _outer(self.count * share, away)
            scatter += self.scatter
            scatter += other.scatter
            return ExactMoments(total, self.mean + share * away, scatter, add_rounding(self.rounding, other.rounding))

    def forget(self, rows: Rows, weight: Floats | None = None, n_jobs: int = 1) -> ExactMoments:
        """Return the statistics without `rows`."""
        return self.subtract(ExactMoments.of(rows, weight, n_jobs))

    def subtract(self, other: ExactMoments) -> ExactMoments:
        """Return the statistics of the rows that are not in `other`: the inverse of `merge`."""
        self.check_same_width(other)
        left = self.count - other.count
        if left < -ROUNDING * self.count:
            raise IncompatibleMomentsError(
                f"cannot take out rows of total weight {other.count:g}: only {self.count:g} were seen"
            )
        if other.count == 0:
            return self
        if left <= ROUNDING * self.count:
            return ExactMoments.empty(self.n_features)
        away = (other.mean - self.mean) * (other.count / left)
        factor = self.count * left / other.count
        scatter = _outer(-factor, away)
        scatter += self.scatter
        scatter -= other.scatter
        had, has = np.diagonal(self.scatter), np.diagonal(scatter)
        taken = np.diagonal(other.scatter)
        # The means have a relative rounding error too, which enters the scatter between the two sets of rows.
        size = np.abs(self.mean) + np.abs(other.mean)
        lost = subtraction_error(self.count) * (had + taken + factor * np.abs(away) * (np.abs(away) + size))
        lost = lost if (before := add_rounding(self.rounding, other.rounding)) is None else lost + before
        if (has < -ROUNDING * np.maximum(had, taken) - lost).any():
            feature = int(np.argmin(has + ROUNDING * had + lost))
            raise IncompatibleMomentsError(
                f"cannot take out rows that were never seen: feature {feature} would vary by less than nothing"
            )
        # What rounding leaves of a feature stays: if it were zero, rows subtracted later would lack what it held.
        return ExactMoments(left, self.mean - away, scatter, lost)

    def decay(self, factor: float) -> ExactMoments:
        """Return the statistics with the weight of every row times `factor`, but not below the underflow floor."""
        if self.count == 0 or factor == 1:
            return self
        factor = max(factor, min(1.0, UNDERFLOW_FLOOR / self.count))
        rounding = None if self.rounding is None else self.rounding * factor
        return ExactMoments(self.count * factor, self.mean, self.scatter * factor, rounding)

    def restrict(self, features: ArrayLike) -> ExactMoments:
        """Return the statistics of the given features only, in the given order."""
        at = np.asarray(features)
        rounding = None if self.rounding is None else self.rounding[at]
        return ExactMoments(self.count, self.mean[at], self.scatter[np.ix_(at, at)], rounding)

    def rescale(self, scale: ArrayLike, shift: ArrayLike = 0.0) -> ExactMoments:
        """Return the statistics of the rows scale * row + shift."""
        factor = np.broadcast_to(np.asarray(scale, float), self.mean.shape)
        with np.errstate(over="ignore", invalid="ignore"):
            return ExactMoments(
                self.count,
                self.mean * factor + np.asarray(shift, float),
                self.scatter * np.outer(factor, factor),
                None if self.rounding is None else self.rounding * factor**2,
            )

    def widen(self, n_features: int) -> ExactMoments:
        """Return the statistics with more features, which are zero in all rows so far."""
        more = n_features - self.n_features
        if not more:
            return self
        rounding = None if self.rounding is None else np.pad(self.rounding, (0, more))
        return ExactMoments(self.count, np.pad(self.mean, (0, more)), np.pad(self.scatter, (0, more)), rounding)

    def to_arrays(self) -> Arrays:
        """Return copies of the sums, for a file or the network; `rounding` only where rows were subtracted."""
        sums = {"count": np.array(self.count), "mean": self.mean.copy(), "scatter": self.scatter.copy()}
        return sums if self.rounding is None else {**sums, "rounding": self.rounding.copy()}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, ArrayLike]) -> ExactMoments:
        """Return the statistics from the arrays of `to_arrays`; raise where they cannot be statistics of rows."""
        copies = copy_arrays(SCHEMA, arrays)
        count, mean, scatter = (copies[name] for name in ("count", "mean", "scatter"))
        rounding = copies.get("rounding", np.zeros(mean.shape))
        # A true scatter of at most diagonal + inexact, and an error of at most that; squares may have underflowed.
        inexact = rounding + max(float(count), 1.0) * np.finfo(float).tiny
        deviation = np.sqrt(np.maximum(np.diagonal(scatter) + 2.0 * inexact, 0.0))
        bound = np.outer(deviation, deviation)
        impossible = (np.diagonal(scatter) < -rounding).any() or (np.abs(scatter) > bound * (1 + 1e-6) + 1e-300).any()
        if not impossible and (np.abs(scatter - scatter.T) > 1e-9 * bound).any():
            raise IncompatibleMomentsError("scatter must be symmetric")
        if impossible or _is_indefinite(scatter, deviation, inexact):
            raise IncompatibleMomentsError("scatter must be positive semi-definite")
        if count == 0 and (mean.any() or scatter.any()):
            raise IncompatibleMomentsError("mean and scatter must be zero when count is")
        return cls(float(count), mean, scatter, copies.get("rounding"))

    def check_same_width(self, other: ExactMoments) -> None:
        """Raise unless both have the same number of features."""
        if other.n_features != self.n_features:
            raise IncompatibleMomentsError(
                f"statistics of {self.n_features} features and of {other.n_features} do not belong together"
            )


def _outer(factor: float, vector: Floats) -> Floats:
    """Return factor * vector vector^T, exactly symmetric."""
    product: Floats = np.multiply.outer(vector, vector)
    product *= factor
    return product


def _is_indefinite(scatter: Floats, deviation: Floats, inexact: Floats) -> bool:
    """Return whether the scatter matrix has a negative eigenvalue, beyond rounding."""
    varying = np.flatnonzero(deviation)
    if not 0 < varying.size <= MAX_FACTORED:
        return False
    scale = 1.0 / deviation[varying]
    correlation = scatter.T[np.ix_(varying, varying)].copy(order="F")
    correlation *= scale
    correlation *= scale[:, None]
    # Errors of sqrt(inexact_i inexact_j) in the entries lower no eigenvalue by more than this.
    correlation.flat[:: varying.size + 1] += varying.size * (MAX_NEGATIVE_EIGENVALUE + inexact[varying] * scale**2)
    return bool(lapack.dpotrf(correlation, lower=True, clean=False, overwrite_a=True)[1])
