"""Variances, intervals and paired tests of metrics from the influence of each row.

The influence of a row is the derivative of a metric with respect to the weight of that row. Influences add up to zero,
and the sum of their squares estimates the variance of the metric over samples of independent rows; for the AUC it is
DeLong's variance. Rows that are not independent are summed by their clusters first (Obuchowski 1997, for the AUC). Of
two scorers of the same rows the influences are subtracted row by row, so the test is paired.

With few informative rows the estimate is unreliable, and too small near the ends of the scale: as for the AUC
(`opauc.metrics.intervals`), each part of the variance is raised towards a share of the largest that it can have.
`experiments/metric_coverage.py` measures coverage.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.special import ndtr, ndtri, stdtr, stdtrit

from opauc.metrics.exact_auc import Counts
from opauc.metrics.intervals import (
    INTERVAL_POLICY,
    AucDifference,
    AucInterval,
    IntervalPolicy,
    interval_of_pairs,
    wilson_limits,
)
from opauc.types import Floats

# Influences are shares of one: what is below this is rounding.
ROUNDING = 1e-12
# Parts of a ranking say less of their variance than the whole: the prior is larger and counts more than for the AUC.
# Of (.4, 2), (.4, 4) and (.5, 4) the first that covers .93 of partial AUCs of 20 positives with exponential scores;
# experiments/metric_coverage.py, 2026-11.
METRIC_POLICY = IntervalPolicy(prior_variance=0.5, prior_errors=4.0, student=True)


class MetricInterval(NamedTuple):
    """The value of a metric, its confidence limits and its standard error.

    Attributes
    ----------
    value : float
        The value of the metric.
    low, high : float
        Its confidence limits, at the level asked for: by default 95 %.
    standard_error : float
        Its standard error.

    Examples
    --------
    >>> from opauc.metrics import AveragePrecision
    >>> interval = AveragePrecision().interval([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
    >>> round(interval.value, 3), bool(interval.low < interval.value < interval.high)
    (0.833, True)
    """

    value: float
    low: float
    high: float
    standard_error: float


class Part(NamedTuple):
    """Influences of the rows of one class."""

    values: Floats  # (m,)
    counts: Floats  # (m,): number of rows with this influence
    largest: float = 0.0  # the largest variance that this class can add to the metric
    n_informative: float = 0.0  # number of rows from which that variance is estimated

    def variance(self) -> float:
        """Return what the rows add to the variance: within the class with its degrees of freedom, and its mean."""
        n_rows = float(self.counts.sum())
        if not n_rows:
            return 0.0
        mean = float(np.dot(self.counts, self.values)) / n_rows
        within = float(np.dot(self.counts, (self.values - mean) ** 2)) * n_rows / (n_rows - 1) if n_rows > 1 else 0.0
        return within + n_rows * mean**2

    def excess(self, share: float, policy: IntervalPolicy) -> float:
        """Return by how much the variance is raised towards the prior."""
        return excess_variance(self.variance(), self.largest, self.n_informative, share, policy)


class Scale(NamedTuple):
    """How the value of a metric depends on its share of the largest possible value.

    Attributes
    ----------
    at_zero : float
        The value at a share of zero.
    factor : float
        What a share of one adds to it.
    """

    at_zero: float = 0.0
    factor: float = 1.0

    def value(self, share: float) -> float:
        """Return the value of a share."""
        return self.at_zero + self.factor * share

    def share(self, value: float) -> float:
        """Return the share of a value."""
        return min(max((value - self.at_zero) / self.factor, 0.0), 1.0)


SHARES = Scale()


@dataclass(frozen=True, slots=True, eq=False)
class Influence:
    """A metric as a share between 0 and 1, the influences of the rows on that share, by class, and its scale.

    `n_trials` is the number of independent trials that the metric stands for at least: the interval is that of so many
    where the variance is zero. `skewed` says that small shares are estimated with a bias upwards and a long upper tail,
    so that the lower limit is at most the one on the scale of square roots. `fixed_share` of the variance stays the
    same towards the ends of the scale, where the rest vanishes as that of a proportion does. Streams say by `value`
    where the metric lies between its bounds.
    """

    value: float
    parts: Sequence[Part]
    n_trials: float
    scale: Scale = SHARES
    skewed: bool = False
    fixed_share: float = 0.0
    policy: IntervalPolicy = METRIC_POLICY

    def variance(self) -> float:
        """Return the variance of the share over samples of independent rows."""
        return sum(part.variance() for part in self.parts)

    def interval(self, level: float = 0.95, clusters: Sequence[Counts] | None = None) -> MetricInterval:
        """Return the confidence limits; `clusters` are numbers from 0, one for each influence of each part."""
        check_level(level)
        share, variance, n_trials = self.scale.share(self.value), self.variance(), self.n_trials
        excess = sum(part.excess(share, self.policy) for part in self.parts)
        freedom = n_trials - 1.0 if self.policy.student else np.inf
        if clusters is not None:
            sums = _sums_by_cluster([part.values for part in self.parts], clusters)
            n_trials = min(n_trials, sums.size)
            if sums.size > 1:
                variance = _clustered_variance(sums)
                freedom = min(freedom, sums.size - 1.0)
        quantile = _quantile(level, freedom)
        limits = share_interval(share, variance, excess, n_trials, level, quantile, self.fixed_share)
        lowest = limits.low
        if self.skewed and share > ROUNDING:
            root = np.sqrt(share)
            lowest = min(lowest, max(root - quantile * np.sqrt(variance + excess) / (2.0 * root), 0.0) ** 2)
        low, high = sorted((self.scale.value(lowest), self.scale.value(limits.high)))
        error = self.scale.factor * limits.standard_error
        return MetricInterval(self.value, min(low, self.value), max(high, self.value), error)

    def compare(self, other: Influence, clusters: Sequence[Counts] | None = None) -> AucDifference:
        """Return the difference to another scorer of the same rows, which are in the same order, with its test."""
        factor, difference = self.scale.factor, self.value - other.value
        gaps = [
            Part(mine.values - theirs.values, mine.counts) for mine, theirs in zip(self.parts, other.parts, strict=True)
        ]
        sizes, n_trials = np.array([gap.counts.sum() for gap in gaps]), min(self.n_trials, other.n_trials)
        if abs(difference) <= ROUNDING and all((np.abs(gap.values) <= ROUNDING).all() for gap in gaps):
            return AucDifference(0.0, 0.0, 0.0, 1.0)
        variances = np.array([gap.variance() for gap in gaps])
        variance, freedom = float(variances.sum()), 0.0
        if clusters is not None:
            sums = _sums_by_cluster([gap.values for gap in gaps], clusters)
            n_trials, variance = min(n_trials, sums.size), _clustered_variance(sums)
            freedom = max(n_trials - 1.0, 1.0)
        elif variance > 0.0:
            freedom = variance**2 / float(np.sum(variances**2 / np.maximum(sizes - 1.0, 1.0)))
        if n_trials <= 1.0:
            z = difference / factor
            return AucDifference(difference, factor, z, float(2.0 * ndtr(-abs(z))))
        if variance <= ROUNDING**2:
            p_value = 2.0 ** (1.0 - n_trials)
            return AucDifference(difference, 0.0, float(-ndtri(p_value / 2.0) * np.sign(difference)), p_value)
        error = factor * float(np.sqrt(variance))
        z = difference / error
        return AucDifference(difference, error, z, float(2.0 * stdtr(freedom, -abs(z))))


def _quantile(level: float, freedom: float) -> float:
    """Return the two-sided quantile of Student's t, with at least one degree of freedom; normal for infinitely many."""
    upper = (1.0 + level) / 2.0
    return float(ndtri(upper) if np.isinf(freedom) else stdtrit(max(freedom, 1.0), upper))


def share_interval(
    share: float,
    variance: float,
    excess: float,
    n_trials: float,
    level: float,
    quantile: float | None = None,
    fixed_share: float = 0.0,
) -> AucInterval:
    """Return Wilson's limits of a share of this variance, raised by the excess; those of trials where it is zero."""
    if n_trials <= 1.0 or variance <= ROUNDING**2 or not ROUNDING < share < 1.0 - ROUNDING:
        return interval_of_pairs(share, max(n_trials, 1.0), level)
    fixed = fixed_share * variance
    n_rows = share * (1.0 - share) / (variance - fixed + excess)
    low, high = wilson_limits(share, n_rows, level, quantile, fixed)
    return AucInterval(share, float(low), float(high), float(np.sqrt(variance)))


def excess_variance(
    variance: float, largest: float, n_informative: float, share: float, policy: IntervalPolicy = INTERVAL_POLICY
) -> float:
    """Return by how much a variance is raised towards a share of the largest, where few rows are badly placed."""
    weight = policy.prior_errors / (policy.prior_errors + n_informative * min(share, 1.0 - share))
    return weight * max(policy.prior_variance * largest - variance, 0.0)


def check_level(level: float) -> None:
    """Raise ValueError unless a confidence level lies between 0 and 1."""
    if not 0 < level < 1:
        raise ValueError(f"level must lie between 0 and 1, got {level}")


def _sums_by_cluster(values: Sequence[Floats], clusters: Sequence[Counts]) -> Floats:
    """Return the sum of the influences of each cluster."""
    numbers = np.concatenate(list(clusters))
    sums = np.bincount(numbers, np.concatenate(list(values)), minlength=int(numbers.max(initial=-1)) + 1)
    return sums.astype(np.float64, copy=False)


def _clustered_variance(sums: Floats) -> float:
    """Return the variance over samples of clusters."""
    n_clusters = max(sums.size, 2)
    return float(np.sum((sums - sums.mean()) ** 2)) * n_clusters / (n_clusters - 1)
