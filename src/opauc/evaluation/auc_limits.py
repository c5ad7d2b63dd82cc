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
from scipy.special import betaincinv, ndtri, owens_t

# The rows that what is known of normal scores counts for.
PRIOR_ROWS = 20.0
# Halvings after which neighbouring numbers of float64 are reached, but for those near zero.
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
