"""The area under the part of the ROC curve where few negatives are predicted positive, or most positives are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from opauc.errors import Parameter, ParameterError
from opauc.metrics.influence import Scale
from opauc.metrics.ranking_metric import RankingMetric, TableInfluence, check_class_weights
from opauc.metrics.score_table import ScoreTable
from opauc.types import Floats


@dataclass(frozen=True, slots=True)
class PartialAuc(RankingMetric):
    """Partial AUC: the area under the ROC curve at false positive rates of at most `max_fpr`.

    With `min_tpr` it is the two-way partial AUC: the part of that area above the true positive rate `min_tpr`. With
    `standardize` the area is mapped to a scale of the AUC, on which chance is 1/2 and the best 1 (McClish 1989); else
    it is the area, at most max_fpr (1 - min_tpr). Between two scores of the data the curve is a straight line.

    Parameters
    ----------
    max_fpr : float, default=0.01
        Largest false positive rate, above 0 and at most 1. It must allow at least one negative.
    min_tpr : float, default=0.0
        Smallest true positive rate, at least 0 and less than 1.
    standardize : bool, default=True
        Whether chance is 1/2 and the best 1.

    Raises
    ------
    ParameterError
        If a rate is out of range, or `max_fpr` allows no negative of the rows.

    Examples
    --------
    >>> from opauc.metrics import PartialAuc
    >>> labels, scores = [0, 0, 0, 0, 1, 1, 1, 1], [0.1, 0.2, 0.3, 0.7, 0.4, 0.6, 0.8, 0.9]
    >>> PartialAuc(max_fpr=0.5)(labels, scores)
    0.8333333333333334
    >>> PartialAuc(max_fpr=0.5, standardize=False)(labels, scores)
    0.375
    >>> PartialAuc(max_fpr=0.5, min_tpr=0.5, standardize=False)(labels, scores)
    0.125
    """

    max_fpr: float = 0.01
    min_tpr: float = 0.0
    standardize: bool = True

    def __post_init__(self) -> None:
        if not 0.0 < self.max_fpr <= 1.0:
            raise ParameterError(Parameter("max_fpr"), f" must be above 0 and at most 1, got {self.max_fpr}")
        if not 0.0 <= self.min_tpr < 1.0:
            raise ParameterError(Parameter("min_tpr"), f" must be at least 0 and less than 1, got {self.min_tpr}")

    @property
    def name(self) -> str:
        """The name, such as "pauc@0.01", or "pauc@0.01:0.5" with a smallest true positive rate."""
        return f"pauc@{self.max_fpr:g}" + (f":{self.min_tpr:g}" if self.min_tpr else "")

    @property
    def title(self) -> str:
        """The name in tables."""
        region = f"FPR ≤ {self.max_fpr:g}" + (f", TPR ≥ {self.min_tpr:g}" if self.min_tpr else "")
        return f"partial AUC, {region}"

    def of_table(self, table: ScoreTable) -> float:
        """Return the area, standardized unless that is switched off.

        Parameters
        ----------
        table : ScoreTable
            The rows of each class at each distinct score.

        Returns
        -------
        value : float
            The value of the metric.

        Raises
        ------
        ParameterError
            If `max_fpr` allows none of the negatives.
        ValueError
            If a class has no rows.
        """
        region = self._region(table)
        area = float(np.sum(region.areas))
        return self.scale.value(area / self._largest_area)

    @property
    def scale(self) -> Scale:
        """How the value depends on the share of the largest area."""
        if not self.standardize:
            return Scale(0.0, self._largest_area)
        chance = max(self.max_fpr - self.min_tpr, 0.0) ** 2 / 2
        spread = 2 * (self._largest_area - chance)
        return Scale(0.5 - chance / spread, self._largest_area / spread)

    def influence_of(self, table: ScoreTable) -> TableInfluence:
        """Return the influence of the rows on the share of the largest area.

        A negative at a false positive rate t < max_fpr lowers the area by the positives between its score and the
        threshold, ROC(max_fpr) - ROC(t); one below the threshold has no influence. A positive adds the width of the
        false positive rates at which it is above the threshold.

        Parameters
        ----------
        table : ScoreTable
            The rows of each class at each distinct score.

        Returns
        -------
        influence : TableInfluence
            The influence of a row of each class at each score.
        """
        region, largest = self._region(table), self._largest_area
        share = float(np.sum(region.areas)) / largest
        # Per negative: the mean height of its entry above the region's floor, less the height that leaves at the end.
        of_negatives = region.gain_per_width / largest
        of_negatives = of_negatives - np.dot(region.widths, of_negatives)
        # The mean over the false positive rates of the region of whether a positive outscores the negative there.
        first = region.first_rate(self.min_tpr)
        of_positives = (_ramp(region, self.max_fpr) - _ramp(region, first)) / largest
        of_positives = of_positives - np.dot(region.heights, of_positives)
        end = max(region.end_height - self.min_tpr, 0.0) / (1.0 - self.min_tpr)
        # Negatives below the threshold are all alike, and so are the positives that make up `min_tpr`.
        n_informative, n_positives = table.n_negatives * self.max_fpr, table.n_positives * (1.0 - self.min_tpr)
        return TableInfluence(
            of_negatives / table.n_negatives,
            of_positives / table.n_positives,
            n_trials=min(n_positives, n_informative),
            largest_of_negatives=(end - share) * (end - self.max_fpr * (end - share)) / n_informative,
            n_informative_negatives=n_informative,
            largest_of_positives=share * (1.0 - share) / n_positives,
            n_informative_positives=n_positives,
            # The threshold of few negatives is a maximum over them, and a corner's area is quadratic in its reach.
            skewed=self.max_fpr < 1.0 or self.min_tpr > 0.0,
        )

    @property
    def _largest_area(self) -> float:
        return self.max_fpr * (1.0 - self.min_tpr)

    def _region(self, table: ScoreTable) -> _Region:
        check_class_weights(table, self.name)
        if table.n_negatives * self.max_fpr < 1.0 - 1e-9:
            raise ParameterError(
                Parameter("max_fpr", self.max_fpr), f" allows none of the {table.n_negatives:,.0f} negatives: "
                f"it needs at least {int(np.ceil(1 / self.max_fpr - 1e-9)):,}",
            )  # fmt: skip
        return _Region.of(table, self.max_fpr, self.min_tpr)


class _Region(NamedTuple):
    """The pieces of the ROC curve: one for each entry of the table, from its upper left to its lower right corner."""

    left: Floats  # false positive rate at the begin of each piece
    bottom: Floats  # true positive rate there
    widths: Floats  # share of the negatives in each entry
    heights: Floats  # share of the positives
    areas: Floats  # area of each piece inside the region
    gain_per_width: Floats  # derivative of the whole area with respect to the width of each piece
    end_height: float  # true positive rate at the largest false positive rate

    @classmethod
    def of(cls, table: ScoreTable, max_fpr: float, min_tpr: float) -> _Region:
        false, true = table.corners()
        rates, heights = false / false[-1], true / true[-1]
        left, widths, bottom, rises = rates[:-1], np.diff(rates), heights[:-1], np.diff(heights)
        inside = np.clip(max_fpr - left, 0.0, widths)
        part = np.divide(inside, widths, out=np.zeros(widths.size), where=widths > 0)
        low, high = (np.maximum(height - min_tpr, 0.0) for height in (bottom, bottom + rises * part))
        # The mean height above the floor times `part`: a straight line cut off at the floor.
        rise = rises > 0
        steep = np.divide(high**2 - low**2, 2 * rises, out=np.zeros(rises.size), where=rise)
        risen = np.where(rise, steep, low * part)
        whole = np.where(bottom >= min_tpr, (low + high) / 2 * part, risen)
        end_height = float(np.interp(max_fpr, rates, heights)) if max_fpr < 1.0 else 1.0
        gain = whole - np.where(part >= 1.0, max(end_height - min_tpr, 0.0), part * high)
        return cls(left, bottom, widths, rises, whole * widths, np.where(widths > 0, gain, 0.0), end_height)

    def first_rate(self, min_tpr: float) -> float:
        """Return the false positive rate at which the curve reaches a true positive rate."""
        if min_tpr <= 0.0:
            return 0.0
        at = min(int(np.searchsorted(self.bottom + self.heights, min_tpr - 1e-15)), self.left.size - 1)
        part = (min_tpr - self.bottom[at]) / self.heights[at] if self.heights[at] > 0 else 0.0
        return float(self.left[at] + part * self.widths[at])


def _ramp(region: _Region, rate: float) -> Floats:
    """Return the area left of `rate` under the curve of a single positive at each entry: a ramp from zero to one."""
    beyond = np.maximum(rate - region.left, 0.0)
    on_ramp = np.divide(beyond**2, 2 * region.widths, out=beyond.copy(), where=region.widths > 0)
    areas: Floats = np.where(beyond < region.widths, on_ramp, beyond - region.widths / 2)
    return areas
