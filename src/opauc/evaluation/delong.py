"""How sure an AUC is: an interval from DeLong's variance, and the paired test of two scorers.

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
from numpy.typing import ArrayLike
from scipy.special import ndtr, ndtri, stdtr

from opauc.evaluation.auc_limits import AucInterval, PlacementVariances
from opauc.evaluation.exact_auc import Counts, Flags, checked_scores, require_both_classes
from opauc.rows import Floats


class AucDifference(NamedTuple):
    """AUC of the first scorer less that of the second, on the same rows, with its two-sided test."""

    difference: float
    standard_error: float
    z: float
    p_value: float


class _Placements(NamedTuple):
    """Twice the rows of the other class won against, by each positive and each negative: whole numbers."""

    of_positives: Counts
    of_negatives: Counts

    def less(self, other: _Placements) -> _Placements:
        return _Placements(self.of_positives - other.of_positives, self.of_negatives - other.of_negatives)

    def mean(self) -> float:
        wins, pairs = int(self.of_positives.sum()), self.of_positives.size * self.of_negatives.size
        return wins / (2 * pairs)

    def variances(self) -> PlacementVariances:
        """Zero exactly where all placements of a class are the same."""
        n_positives, n_negatives = self.of_positives.size, self.of_negatives.size
        return PlacementVariances(
            _variance(self.of_positives / (2 * n_negatives)),
            _variance(self.of_negatives / (2 * n_positives)),
            n_positives,
            n_negatives,
        )


def auc_interval(labels: ArrayLike, scores: ArrayLike, level: float = 0.95) -> AucInterval:
    """Return the AUC with a confidence interval of the given level.

    It is made of DeLong's variance, held up by that of normal scores while a class has few rows, and
    covers about as often as it says from five rows of a class on where scores are near normal
    (`opauc.evaluation.auc_limits`). Where the variance is zero (AUC 0 or 1 among others) or a
    class has a single row, it is that of Clopper and Pearson for auc * m wins in
    m = min(n+, n-) independent pairs; at AUC 1 it is [((1 - level) / 2)^(1/m), 1]. The
    standard error is DeLong's, in those cases the largest an AUC can have, sqrt(auc (1 - auc) / m).

    Examples
    --------
    >>> from opauc.evaluation import auc_interval
    >>> found = auc_interval([0, 0, 0, 1, 1, 1], [0.1, 0.3, 0.6, 0.4, 0.8, 0.9])
    >>> round(found.auc, 3), round(found.low, 3), round(found.high, 3), round(found.standard_error, 3)
    (0.889, 0.359, 0.983, 0.157)
    >>> perfect = auc_interval([0, 0, 1, 1], [0.1, 0.2, 0.3, 0.4])
    >>> perfect.auc, round(perfect.low, 3), perfect.high
    (1.0, 0.158, 1.0)
    """
    if not 0 < level < 1:
        raise ValueError(f"level must lie between 0 and 1, got {level}")
    positive, score = checked_scores(labels, scores)
    require_both_classes(positive)
    placements = _placements(positive, score)
    return placements.variances().interval(placements.mean(), level)


def compare_aucs(labels: ArrayLike, first: ArrayLike, second: ArrayLike) -> AucDifference:
    """Return the difference of the AUCs of two scorers of the same rows, with the paired test of no difference.

    The test is Student's with DeLong's variance, and as many degrees of freedom as the rows
    of both classes leave it (Welch and Satterthwaite): about n+ - 1 where positives are few. Scorers
    that rank alike have p = 1. Where the variance is zero and the AUCs differ, the p-value is
    that of a sign test, 2^(1 - m) with m = min(n+, n-). With one row in a class
    the standard error is taken as one, the largest there is.

    Examples
    --------
    >>> from opauc.evaluation import compare_aucs
    >>> labels = [0, 0, 0, 0, 1, 1, 1, 1]
    >>> found = compare_aucs(labels, [1, 2, 3, 5, 4, 6, 7, 8], [1, 6, 3, 5, 4, 2, 7, 8])
    >>> found.difference, round(found.z, 3), round(found.p_value, 3)
    (0.25, 1.225, 0.277)
    """
    positive, score = checked_scores(labels, first)
    _, other = checked_scores(labels, second)
    require_both_classes(positive)
    gap = _placements(positive, score).less(_placements(positive, other))
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
    above, below = np.sort(score[positive]), np.sort(score[~positive])
    won = np.searchsorted(below, score[positive], "left") + np.searchsorted(below, score[positive], "right")
    lost = np.searchsorted(above, score[~positive], "left") + np.searchsorted(above, score[~positive], "right")
    return _Placements(won, 2 * above.size - lost)


def _variance(values: Floats) -> float:
    if values.size == 1 or np.ptp(values) == 0.0:
        return 0.0
    return float(np.var(values, ddof=1))
