"""Which numbers are codes: values that recur and act each in its own way, as the number of a person or a shop does."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from opauc.additive.basis.main_effects import MainEffect
from opauc.additive.basis.random_effects import LARGEST_WHOLE
from opauc.additive.initial_sample import SampleRows
from opauc.additive.kernels.rows import CATEGORICAL, NUMERIC
from opauc.types import Floats

# Residuals of rows that share a value must agree by so many standard errors more than chance has them agree.
FEWEST_ERRORS = 5.0
# Values that tell of nearly all inputs whether they are whole numbers.
A_FEW = 64


class RowsByValue(NamedTuple):
    """Rows that have a value of an input, and a number for each value, the same for the same."""

    rows: NDArray[np.int64]
    places: NDArray[np.int64]

    @classmethod
    def of(cls, values: Floats, there: NDArray[np.bool_]) -> RowsByValue:
        """Return those of whole numbers that are there."""
        known = values[there]
        low, high = known.min(initial=np.inf), known.max(initial=-np.inf)
        near = high - low < known.size
        places = (known - low).astype(np.int64) if near else np.unique(known, return_inverse=True)[1]
        return cls(np.flatnonzero(there), places)

    @property
    def n_values(self) -> int:
        """How many values there are."""
        return int(np.count_nonzero(np.bincount(self.places)))

    def errors(self, residuals: Floats, variances: Floats) -> float:
        """Return the sum of the products of two residuals of one value, in its standard errors if all were chance."""
        own, spread = residuals[self.rows], variances[self.rows]
        total, totals = np.bincount(self.places, own), np.bincount(self.places, spread)
        deviation = np.sqrt(2.0 * max(float(totals @ totals - spread @ spread), 0.0))
        return float(total @ total - own @ own) / max(float(deviation), 1e-300)

    def explained(self, residuals: Floats, curvatures: Floats) -> Floats:
        """Return the residuals less what an effect of each value explains, as large as such products have them."""
        own, spread = residuals[self.rows], curvatures[self.rows]
        total, totals = np.bincount(self.places, own), np.bincount(self.places, spread)
        variance = float(total @ total - own @ own) / max(float(totals @ totals - spread @ spread), 1e-300)
        less = residuals.copy()
        if variance > 0.0:
            less[self.rows] -= spread * (total / (totals + 1.0 / variance))[self.places]
        return less


def coded_numbers(effects: Sequence[MainEffect], some: SampleRows, scores: Floats) -> list[int]:
    """Return the numeric inputs of whole numbers whose values say more than their curves, which the scores have.

    Were nothing left to be said, the product of the residuals of two rows of
    one value would be zero on average: their sum is held against its deviation.
    The input that says most is the first, the next is the one that says most
    beside it, and all have to say it beside the levels that categories pool.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.additive.basis.main_effects import main_effects
    >>> from opauc.additive.codes import coded_numbers
    >>> from opauc.additive.initial_sample import SampleRows
    >>> rng, ones = np.random.default_rng(0), np.ones(4000)
    >>> rows = rng.integers(0, 200, (4000, 2)).astype(float)
    >>> labels = (rng.normal(size=200)[rows[:, 1].astype(int)] > rng.normal(size=4000)).astype(np.int8)
    >>> effects = main_effects(rows, ones, ones, np.zeros(2, bool), n_knots=8)
    >>> coded_numbers(effects, SampleRows(rows, labels, ones, ones), np.zeros(4000))
    [1]
    """
    chance = expit(scores)
    residuals, curvatures = some.weight * (some.labels - chance), some.weight * chance * (1.0 - chance)
    variances, left, found = some.weight * curvatures, _candidates(effects, some), list[int]()
    errors = {j: coded.errors(residuals, variances) for j, coded in left.items()}
    left = {j: left[j] for j in left if errors[j] > FEWEST_ERRORS}
    if left:
        for pooled in _pooled(effects, some):
            residuals = pooled.explained(residuals, curvatures)
    while left:
        errors = {j: coded.errors(residuals, variances) for j, coded in left.items()}
        best = max(left, key=lambda j: errors[j])
        if errors[best] <= FEWEST_ERRORS:
            break
        found.append(best)
        residuals = left.pop(best).explained(residuals, curvatures)
    return sorted(found)


def _candidates(effects: Sequence[MainEffect], some: SampleRows) -> dict[int, RowsByValue]:
    """Return the numeric inputs of whole numbers, but for those each of whose values has a hat of its own."""
    found = {}
    for j, effect in enumerate(effects):
        values = some.numbers[:, j]
        if effect.kind == NUMERIC and _whole(values[:A_FEW]) and _whole(values):
            coded = RowsByValue.of(values, ~np.isnan(values))
            if coded.n_values > effect.knots.size:
                found[j] = coded
    return found


def _pooled(effects: Sequence[MainEffect], some: SampleRows) -> list[RowsByValue]:
    """Return the rows of each categorical input whose levels have no column of their own."""
    found = []
    for j, effect in enumerate(effects):
        if effect.kind == CATEGORICAL:
            values = some.numbers[:, j]
            found.append(RowsByValue.of(values, ~np.isnan(values) & ~np.isin(values, effect.kept)))
    return found


def _whole(values: Floats) -> bool:
    """Tell whether all numbers that are there are whole."""
    return bool((np.isnan(values) | ((values == np.floor(values)) & (np.abs(values) <= LARGEST_WHOLE))).all())
