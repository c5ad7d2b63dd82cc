"""Between which limits an AUC lies, from how its rows' placements vary, few rows or many.

The placement of a positive is the share of negatives it beats, that of a
negative the share of positives that beat it. With s² the variance of the
placements of a class and n its rows, the variance of the AUC is the sum over
both classes of s² / n (DeLong, DeLong and Clarke-Pearson 1988). Of few rows s²
says little, and too little where the AUC is high: the rare row that is placed
badly is not among them, and intervals made of it cover .67 to .85 instead of .95.

So two things are done. The limits are those values a of the AUC that the rows
do not contradict, |auc - a| = z sqrt(variance if a is the AUC), where the
variance changes with a as m(a) does, that of placements among two normal
distributions of equal width. And s² is raised towards m(auc) where it is
below, by a share 20 / (n + 19) of what is missing: most of it for ten rows, little for
a thousand. Normal scores of equal width are then covered .945 to .97 of the time from five
rows on; where those of the few vary twice as much, about .8 at worst (DeLong's: .67).
`experiments/interval_coverage.py` has the simulations behind it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betaincinv, ndtr, ndtri, owens_t, stdtr

from opauc.metrics.exact_auc import Counts, Flags, checked_scores, require_both_classes
from opauc.types import Floats

# The rows that what is known of normal scores counts for.
PRIOR_ROWS = 20.0
# Halvings after which neighboring numbers of float64 are reached, but for those near zero.
HALVINGS = 70


class AucInterval(NamedTuple):
    """An AUC, its confidence limits and its standard error."""

    auc: float
    low: float
    high: float
    standard_error: float


class PlacementVariances(NamedTuple):
    """Variance of the placements of the rows of each class, zero of a single row, and how many rows it has."""

    of_positives: float
    of_negatives: float
    n_positives: int
    n_negatives: int

    def of_mean(self) -> float:
        """Variance of the AUC."""
        return self.of_positives / self.n_positives + self.of_negatives / self.n_negatives

    @property
    def n_pairs(self) -> int:
        """Disjoint pairs of a positive and a negative."""
        return min(self.n_positives, self.n_negatives)

    def freedom(self) -> float:
        """Degrees of freedom of the variance of the AUC, by Welch and Satterthwaite; no class may have a single row."""
        parts = self.of_positives / self.n_positives, self.of_negatives / self.n_negatives
        return self.of_mean() ** 2 / (parts[0] ** 2 / (self.n_positives - 1) + parts[1] ** 2 / (self.n_negatives - 1))

    def interval(self, auc: float, level: float) -> AucInterval:
        """Return the limits of the AUC; of independent pairs where the variance says nothing."""
        variance = self.of_mean()
        if self.n_pairs == 1 or variance == 0.0 or not 0.0 < auc < 1.0:
            return interval_of_pairs(auc, self.n_pairs, level)
        usual = normal_variance(auc)
        factor = _raised(self.of_positives / usual, self.n_positives) / self.n_positives
        factor += _raised(self.of_negatives / usual, self.n_negatives) / self.n_negatives
        reach = float(ndtri((1 + level) / 2) ** 2 * factor)
        return AucInterval(auc, _limit(auc, 0.0, reach), _limit(auc, 1.0, reach), float(np.sqrt(variance)))


def normal_variance(auc: float) -> float:
    """Return the variance of the placements among normal scores of equal variance in both classes.

    It is the chance that one row loses to two of the other class, less its square:
    that of two normal variables of correlation 1/2, by Owen's function.
    """
    lost = min(auc, 1.0 - auc)  # the smaller of both, where nothing cancels
    return float(lost - 2.0 * owens_t(ndtri(lost), np.sqrt(1.0 / 3.0)) - lost**2)


def interval_of_pairs(auc: float, n_pairs: int, level: float) -> AucInterval:
    """Return the interval of Clopper and Pearson for auc * n_pairs wins, whole or not."""
    wins, tail = auc * n_pairs, (1 - level) / 2
    low = float(betaincinv(wins, n_pairs - wins + 1, tail)) if auc > 0 else 0.0
    high = float(betaincinv(wins + 1, n_pairs - wins, 1 - tail)) if auc < 1 else 1.0
    return AucInterval(auc, min(low, auc), max(high, auc), float(np.sqrt(auc * (1 - auc) / n_pairs)))


def _raised(ratio: float, n_rows: int) -> float:
    """Return a variance, as a ratio to the usual one, raised towards one by the share few rows leave open."""
    return ratio + PRIOR_ROWS / (n_rows - 1 + PRIOR_ROWS) * max(1.0 - ratio, 0.0)


def _limit(auc: float, end: float, reach: float) -> float:
    """Return the value farthest towards `end` that is not contradicted."""
    inside, outside = auc, end
    for _ in range(HALVINGS):
        middle = (inside + outside) / 2
        if (auc - middle) ** 2 <= reach * normal_variance(middle):
            inside = middle
        else:
            outside = middle
    return inside


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
    (`opauc.metrics.intervals`). Where the variance is zero (AUC 0 or 1 among others) or a
    class has a single row, it is that of Clopper and Pearson for auc * m wins in
    m = min(n+, n-) independent pairs; at AUC 1 it is [((1 - level) / 2)^(1/m), 1]. The
    standard error is DeLong's, in those cases the largest an AUC can have, sqrt(auc (1 - auc) / m).

    Examples
    --------
    >>> from opauc.metrics import auc_interval
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
    >>> from opauc.metrics import compare_aucs
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
