"""Confidence intervals and paired tests of the AUC that also hold with few rows of a class.

The placement of a positive is the share of negatives it outscores; that of a
negative is the share of positives that outscore it. With s² the variance of the
placements of a class and n its row count, the variance of the AUC is the sum of
s² / n over both classes (DeLong, DeLong and Clarke-Pearson 1988). With few rows
s² is unreliable, and too small at a high AUC: the rare row with a bad placement
is missing from the sample.

So a small s² is raised towards a share of a (1 - a), the largest variance that
placements of mean a can have: by how much depends on the number of badly placed
rows, n (1 - a), not on n. The limits are Wilson's, of the AUC as a proportion of
as many independent pairs as have that variance. `experiments/interval_coverage.py`
measures coverage for eleven kinds of scores; `IntervalPolicy` has the two numbers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betaincinv, ndtr, ndtri, stdtr

from opauc.metrics.exact_auc import Counts, Flags, check_both_classes, check_scores
from opauc.types import Floats


@dataclass(frozen=True)
class IntervalPolicy:
    """How far intervals trust the variance of few rows.

    Both numbers are the smallest that cover .90 and more in every cell of
    `experiments/interval_coverage.py`, 2026-11; scores are normal in few tables.

    Attributes
    ----------
    prior_variance : float
        Prior variance of placements, as a share of the largest possible: .33 at AUC 1/2, and at AUC .99 .1 for normal
        scores of equal variance, .5 for exponential ones.
    prior_errors : float
        Weight of the prior, in badly placed rows: those that n rows have at this AUC.
    student : bool
        Whether limits are from Student's t, with a degree of freedom for each independent trial but one.
    """

    prior_variance: float = 0.4
    prior_errors: float = 2.0
    student: bool = False


INTERVAL_POLICY = IntervalPolicy()


class AucInterval(NamedTuple):
    """An AUC, its confidence limits and its standard error.

    Attributes
    ----------
    auc : float
        The AUC.
    low, high : float
        The confidence limits, at the level asked for: by default 95 %.
    standard_error : float
        The standard error of the AUC.

    Examples
    --------
    >>> from opauc.metrics import auc_interval
    >>> interval = auc_interval([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
    >>> interval.auc, bool(interval.low < interval.auc < interval.high)
    (0.75, True)
    """

    auc: float
    low: float
    high: float
    standard_error: float


class PlacementVariances(NamedTuple):
    """Placement variance and row count of each class; the variance of a single row is zero."""

    of_positives: float
    of_negatives: float
    n_positives: int
    n_negatives: int

    def of_mean(self) -> float:
        """Return the variance of the AUC."""
        return self.of_positives / self.n_positives + self.of_negatives / self.n_negatives

    @property
    def n_pairs(self) -> int:
        """Number of disjoint pairs of a positive and a negative."""
        return min(self.n_positives, self.n_negatives)

    def freedom(self) -> float:
        """Return the Welch-Satterthwaite degrees of freedom of the variance; each class needs two rows."""
        parts = self.of_positives / self.n_positives, self.of_negatives / self.n_negatives
        return self.of_mean() ** 2 / (parts[0] ** 2 / (self.n_positives - 1) + parts[1] ** 2 / (self.n_negatives - 1))

    def interval(self, auc: float, level: float, policy: IntervalPolicy = INTERVAL_POLICY) -> AucInterval:
        """Return the limits of the AUC, from independent pairs where the variance is not informative."""
        if self.n_pairs == 1 or self.of_mean() == 0.0 or not 0.0 < auc < 1.0:
            return interval_of_pairs(auc, self.n_pairs, level)
        variance = _raise_to_prior(self.of_positives, self.n_positives, auc, policy) / self.n_positives
        variance += _raise_to_prior(self.of_negatives, self.n_negatives, auc, policy) / self.n_negatives
        low, high = wilson_limits(auc, auc * (1.0 - auc) / variance, level)
        return AucInterval(auc, float(low), float(high), float(np.sqrt(self.of_mean())))


def wilson_limits(
    shares: ArrayLike,
    counts: ArrayLike,
    level: float = 0.95,
    quantile: float | None = None,
    fixed_variance: float = 0.0,
) -> tuple[Floats, Floats]:
    """Return the limits of Wilson's score intervals of proportions; counts need not be integers.

    `quantile` replaces the normal quantile of the level, for example by that of Student's t. To the variance of a
    proportion p, p (1 - p) / count, `fixed_variance` is added, which does not depend on p.

    Examples
    --------
    >>> from opauc.metrics.intervals import wilson_limits
    >>> [round(float(limit), 4) for limit in wilson_limits(0.9, 10)]
    [0.5958, 0.9821]
    """
    quantile = ndtri((1 + level) / 2) if quantile is None else quantile
    share, excess = np.asarray(shares), quantile**2 / np.asarray(counts)
    middle = (share + excess / 2) / (1 + excess)
    fixed = quantile**2 * fixed_variance * (1 + excess)
    reach = np.sqrt(excess * (share * (1 - share) + excess / 4) + fixed) / (1 + excess)
    # At shares 0 and 1 one limit is the share itself; rounding must not cross it.
    return np.minimum(np.maximum(middle - reach, 0.0), share), np.maximum(np.minimum(middle + reach, 1.0), share)


def interval_of_pairs(auc: float, n_pairs: float, level: float) -> AucInterval:
    """Return the Clopper-Pearson interval for auc * n_pairs successes; neither need be an integer."""
    successes, tail = auc * n_pairs, (1 - level) / 2
    low = float(betaincinv(successes, n_pairs - successes + 1, tail)) if auc > 0 else 0.0
    high = float(betaincinv(successes + 1, n_pairs - successes, 1 - tail)) if auc < 1 else 1.0
    return AucInterval(auc, min(low, auc), max(high, auc), float(np.sqrt(auc * (1 - auc) / n_pairs)))


def _raise_to_prior(variance: float, n_rows: int, auc: float, policy: IntervalPolicy) -> float:
    """Return the placement variance of a class, raised towards the prior where few rows are badly placed."""
    weight = policy.prior_errors / (policy.prior_errors + n_rows * min(auc, 1.0 - auc))
    return variance + weight * max(policy.prior_variance * auc * (1.0 - auc) - variance, 0.0)


class AucDifference(NamedTuple):
    """AUC of the first scorer minus that of the second, on the same rows, with a two-sided test.

    Attributes
    ----------
    difference : float
        The AUC of the first scorer less that of the second.
    standard_error : float
        Its standard error.
    z : float
        The difference in standard errors.
    p_value : float
        The two-sided p-value of no difference.

    Examples
    --------
    >>> from opauc.metrics import compare_aucs
    >>> compare_aucs([0, 0, 1, 1], [1, 2, 3, 4], [1, 2, 3, 4])
    AucDifference(difference=0.0, standard_error=0.0, z=0.0, p_value=1.0)
    """

    difference: float
    standard_error: float
    z: float
    p_value: float


class _Placements(NamedTuple):
    """Twice the placement count of each row: two per win against a row of the other class, one per tie."""

    of_positives: Counts
    of_negatives: Counts

    def subtract(self, other: _Placements) -> _Placements:
        return _Placements(self.of_positives - other.of_positives, self.of_negatives - other.of_negatives)

    def mean(self) -> float:
        wins, pairs = int(self.of_positives.sum()), self.of_positives.size * self.of_negatives.size
        return wins / (2 * pairs)

    def variances(self) -> PlacementVariances:
        """Return the variances: exactly zero if all placements of a class are equal."""
        n_positives, n_negatives = self.of_positives.size, self.of_negatives.size
        return PlacementVariances(
            _variance(self.of_positives / (2 * n_negatives)),
            _variance(self.of_negatives / (2 * n_positives)),
            n_positives,
            n_negatives,
        )


def auc_interval(labels: ArrayLike, scores: ArrayLike, level: float = 0.95) -> AucInterval:
    """Return the AUC with a confidence interval of the given level.

    The interval uses DeLong's variance, raised while few rows of a class are badly placed (see
    `opauc.metrics.intervals`). At level .95 it covers the AUC in .90 to .99 of simulated samples from five
    positives on, with eleven kinds of scores (`experiments/interval_coverage.py`).
    If the variance is zero (as for an AUC of 0 or 1) or a
    class has a single row, it is the Clopper-Pearson interval of auc * m successes in
    m = min(n+, n-) independent pairs; for an AUC of 1 that is [((1 - level) / 2)^(1/m), 1]. The
    standard error is DeLong's; in those cases it is the largest possible, sqrt(auc (1 - auc) / m).

    Parameters
    ----------
    labels : array-like of shape (n_rows,)
        Labels of 0 and 1, or booleans.
    scores : array-like of shape (n_rows,)
        Scores, the higher the more positive; none is NaN.
    level : float, default=0.95
        The confidence level.

    Returns
    -------
    interval : AucInterval
        The AUC, its limits and its standard error.

    Examples
    --------
    >>> from opauc.metrics import auc_interval
    >>> interval = auc_interval([0, 0, 0, 1, 1, 1], [0.1, 0.3, 0.6, 0.4, 0.8, 0.9])
    >>> [round(value, 3) for value in interval]
    [0.889, 0.396, 0.99, 0.157]
    >>> perfect = auc_interval([0, 0, 1, 1], [0.1, 0.2, 0.3, 0.4])
    >>> perfect.auc, round(perfect.low, 3), perfect.high
    (1.0, 0.158, 1.0)
    """
    if not 0 < level < 1:
        raise ValueError(f"level must lie between 0 and 1, got {level}")
    positive, score = check_scores(labels, scores)
    check_both_classes(positive)
    placements = _placements(positive, score)
    return placements.variances().interval(placements.mean(), level)


def compare_aucs(labels: ArrayLike, first: ArrayLike, second: ArrayLike) -> AucDifference:
    """Return the difference of the AUCs of two scorers of the same rows, with the paired test of no difference.

    It is Student's t-test with DeLong's variance and Welch-Satterthwaite degrees of freedom: about
    n+ - 1 with few positives. Scorers with the same ranking have p = 1. If the variance is zero and
    the AUCs differ, the p-value is that of a sign test, 2^(1 - m) with m = min(n+, n-). With one row
    in a class the standard error is set to one, its largest possible value.

    Parameters
    ----------
    labels : array-like of shape (n_rows,)
        Labels of 0 and 1, or booleans.
    first, second : array-like of shape (n_rows,)
        The scores of the two scorers.

    Returns
    -------
    difference : AucDifference
        The difference, its standard error and its p-value.

    Examples
    --------
    >>> from opauc.metrics import compare_aucs
    >>> labels = [0, 0, 0, 0, 1, 1, 1, 1]
    >>> test = compare_aucs(labels, [1, 2, 3, 5, 4, 6, 7, 8], [1, 6, 3, 5, 4, 2, 7, 8])
    >>> test.difference, round(test.z, 3), round(test.p_value, 3)
    (0.25, 1.225, 0.277)
    """
    positive, score = check_scores(labels, first)
    _, other = check_scores(labels, second)
    check_both_classes(positive)
    gap = _placements(positive, score).subtract(_placements(positive, other))
    if not (gap.of_positives.any() or gap.of_negatives.any()):
        return AucDifference(0.0, 0.0, 0.0, 1.0)
    difference, variances = gap.mean(), gap.variances()
    pairs, variance = variances.n_pairs, variances.of_mean()
    if pairs == 1:
        return AucDifference(difference, 1.0, difference, float(2 * ndtr(-abs(difference))))
    if variance == 0.0:
        p_value = 2.0 ** (1 - pairs)
        return AucDifference(difference, 0.0, float(-ndtri(p_value / 2) * np.sign(difference)), p_value)
    z = difference / float(np.sqrt(variance))
    return AucDifference(difference, float(np.sqrt(variance)), z, float(2 * stdtr(variances.freedom(), -abs(z))))


def _placements(positive: Flags, score: Floats) -> _Placements:
    positives, negatives = np.sort(score[positive]), np.sort(score[~positive])
    won = np.searchsorted(negatives, score[positive], "left") + np.searchsorted(negatives, score[positive], "right")
    lost = np.searchsorted(positives, score[~positive], "left") + np.searchsorted(positives, score[~positive], "right")
    return _Placements(won, 2 * positives.size - lost)


def _variance(values: Floats) -> float:
    if values.size == 1 or np.ptp(values) == 0.0:
        return 0.0
    return float(np.var(values, ddof=1))
