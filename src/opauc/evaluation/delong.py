"""How sure an AUC is: DeLong's variance, an interval from it, and the paired test of two scorers.

DeLong, DeLong and Clarke-Pearson (1988). The placement of a positive is the share
of negatives it beats, ties counting half; that of a negative the share of
positives that beat it. Both average to the AUC, and the variance of the AUC is
var(placements of positives) / n+  +  var(placements of negatives) / n-.
Binary searches in sorted scores give all of them in O(n log n).

Where that variance says nothing (it is zero, as at AUC 0 or 1, or a class has
one row) the rows are used as min(n+, n-) disjoint pairs of a positive and a
negative instead, which are independent: conservative, and exact bounds exist.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import betaincinv, expit, logit, ndtr, ndtri

from opauc.evaluation.exact_auc import Flags, Floats, checked_scores, require_both_classes


class AucInterval(NamedTuple):
    """An AUC, its confidence limits and its standard error."""

    auc: float
    low: float
    high: float
    standard_error: float


class AucDifference(NamedTuple):
    """AUC of the first scorer less that of the second, on the same rows, with its two-sided test."""

    difference: float
    standard_error: float
    z: float
    p_value: float


class _Placements(NamedTuple):
    """Twice the rows of the other class won against, by each positive and each negative: whole numbers."""

    of_positives: NDArray[np.int64]
    of_negatives: NDArray[np.int64]

    def less(self, other: _Placements) -> _Placements:
        return _Placements(self.of_positives - other.of_positives, self.of_negatives - other.of_negatives)

    @property
    def n_pairs(self) -> int:
        """Disjoint pairs of a positive and a negative."""
        return min(self.of_positives.size, self.of_negatives.size)

    def mean(self) -> float:
        wins, pairs = int(self.of_positives.sum()), self.of_positives.size * self.of_negatives.size
        return wins / (2 * pairs)

    def variance(self) -> float:
        """Variance of the mean; zero exactly where all placements of a class are the same."""
        return _variance_of_mean(self.of_positives / (2 * self.of_negatives.size)) + _variance_of_mean(
            self.of_negatives / (2 * self.of_positives.size)
        )


def auc_interval(labels: ArrayLike, scores: ArrayLike, level: float = 0.95) -> AucInterval:
    """Return the AUC with a confidence interval of the given level by DeLong's variance.

    The interval is symmetric on the logit scale, so it stays within [0, 1]. Where
    the variance is zero (AUC 0 or 1 among others) or a class has a single row, it is that of Clopper and
    Pearson for auc * m wins in m = min(n+, n-) independent pairs; at AUC 1 it is
    [((1 - level) / 2)^(1/m), 1]. Its standard error is then the largest an AUC can
    have, sqrt(auc (1 - auc) / m).

    Examples
    --------
    >>> from opauc.evaluation import auc_interval
    >>> found = auc_interval([0, 0, 0, 1, 1, 1], [0.1, 0.3, 0.6, 0.4, 0.8, 0.9])
    >>> round(found.auc, 3), round(found.low, 3), round(found.high, 3), round(found.standard_error, 3)
    (0.889, 0.261, 0.995, 0.157)
    >>> perfect = auc_interval([0, 0, 1, 1], [0.1, 0.2, 0.3, 0.4])
    >>> perfect.auc, round(perfect.low, 3), perfect.high
    (1.0, 0.158, 1.0)
    """
    if not 0 < level < 1:
        raise ValueError(f"level must lie between 0 and 1, got {level}")
    positive, score = checked_scores(labels, scores)
    require_both_classes(positive)
    placements = _placements(positive, score)
    auc, variance = placements.mean(), placements.variance()
    if placements.n_pairs == 1 or variance == 0.0:
        return interval_of_pairs(auc, placements.n_pairs, level)
    error = float(np.sqrt(variance))
    reach = ndtri((1 + level) / 2) * error / (auc * (1 - auc))
    return AucInterval(auc, float(expit(logit(auc) - reach)), float(expit(logit(auc) + reach)), error)


def compare_aucs(labels: ArrayLike, first: ArrayLike, second: ArrayLike) -> AucDifference:
    """Return the difference of the AUCs of two scorers of the same rows, with DeLong's paired test of no difference.

    Scorers that rank alike have p = 1. Where the variance is zero and the AUCs differ, the p-value is
    that of a sign test, 2^(1 - m) with m = min(n+, n-). With one row in a class
    the standard error is taken as one, the largest there is.

    Examples
    --------
    >>> from opauc.evaluation import compare_aucs
    >>> labels = [0, 0, 0, 0, 1, 1, 1, 1]
    >>> found = compare_aucs(labels, [1, 2, 3, 5, 4, 6, 7, 8], [1, 6, 3, 5, 4, 2, 7, 8])
    >>> found.difference, round(found.z, 3), round(found.p_value, 3)
    (0.25, 1.225, 0.221)
    """
    positive, score = checked_scores(labels, first)
    _, other = checked_scores(labels, second)
    require_both_classes(positive)
    gap = _placements(positive, score).less(_placements(positive, other))
    difference, variance, pairs = gap.mean(), gap.variance(), gap.n_pairs
    if not (gap.of_positives.any() or gap.of_negatives.any()):
        return AucDifference(0.0, 0.0, 0.0, 1.0)
    if pairs > 1 and variance == 0.0:
        p_value = 2.0 ** (1 - pairs)
        return AucDifference(difference, 0.0, float(-ndtri(p_value / 2) * np.sign(difference)), p_value)
    error = 1.0 if pairs == 1 else float(np.sqrt(variance))
    z = difference / error
    return AucDifference(difference, error, z, float(2 * ndtr(-abs(z))))


def _placements(positive: Flags, score: Floats) -> _Placements:
    above, below = np.sort(score[positive]), np.sort(score[~positive])
    won = np.searchsorted(below, score[positive], "left") + np.searchsorted(below, score[positive], "right")
    lost = np.searchsorted(above, score[~positive], "left") + np.searchsorted(above, score[~positive], "right")
    return _Placements(won, 2 * above.size - lost)


def _variance_of_mean(values: Floats) -> float:
    if values.size == 1 or np.ptp(values) == 0.0:
        return 0.0
    return float(np.var(values, ddof=1) / values.size)


def interval_of_pairs(auc: float, n_pairs: int, level: float) -> AucInterval:
    """Return the interval of Clopper and Pearson for auc * n_pairs wins, whole or not."""
    wins, tail = auc * n_pairs, (1 - level) / 2
    low = float(betaincinv(wins, n_pairs - wins + 1, tail)) if auc > 0 else 0.0
    high = float(betaincinv(wins + 1, n_pairs - wins, 1 - tail)) if auc < 1 else 1.0
    return AucInterval(auc, min(low, auc), max(high, auc), float(np.sqrt(auc * (1 - auc) / n_pairs)))
