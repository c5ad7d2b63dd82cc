"""Which numbers are codes: values that recur and act each in its own way, as the number of a person or a shop does."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from opauc.features.card.finer_levels import MOST
from opauc.features.card.main_effects import MainEffect
from opauc.kernels.rows.card_rows import NUMERIC
from opauc.rows import Floats
from opauc.training.additive.sample_rows import SampleRows

# Residuals of rows that share a value must agree by so many standard errors more than chance has them agree.
FEWEST_ERRORS = 5.0
# Values that tell of nearly all inputs whether they are whole numbers.
A_FEW = 64


def coded_numbers(effects: Sequence[MainEffect], some: SampleRows, scores: Floats) -> list[int]:
    """Return the numeric inputs of whole numbers whose values say more than their curves, which the scores have.

    Were nothing left to be said, the product of the residuals of two rows of
    one value would be zero on average: their sum is held against its deviation.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.features.card.main_effects import main_effects
    >>> from opauc.training.additive.coded_numbers import coded_numbers
    >>> from opauc.training.additive.sample_rows import SampleRows
    >>> rng, ones = np.random.default_rng(0), np.ones(4000)
    >>> rows = rng.integers(0, 200, (4000, 2)).astype(float)
    >>> labels = (rng.normal(size=200)[rows[:, 1].astype(int)] > rng.normal(size=4000)).astype(np.int8)
    >>> effects = main_effects(rows, ones, ones, np.zeros(2, bool), n_knots=8)
    >>> coded_numbers(effects, SampleRows(rows, labels, ones, ones), np.zeros(4000))
    [1]
    """
    chance = expit(scores)
    residuals, variances = some.weight * (some.labels - chance), some.weight**2 * chance * (1.0 - chance)
    found = []
    for j, effect in enumerate(effects):
        values = some.numbers[:, j]
        if effect.kind == NUMERIC and _whole(values[:A_FEW]) and _whole(values):
            there = ~np.isnan(values)
            places = _places(values[there])
            n_values = np.count_nonzero(np.bincount(places))
            agree = _agreement(places, residuals[there], variances[there])
            # Where each value has a hat of its own, the curve says it all.
            if n_values > effect.knots.size and agree > FEWEST_ERRORS:
                found.append(j)
    return found


def _whole(values: Floats) -> bool:
    """Tell whether all numbers that are there are whole."""
    return bool((np.isnan(values) | ((values == np.floor(values)) & (np.abs(values) <= MOST))).all())


def _places(values: Floats) -> NDArray[np.int64]:
    """Return a number for each whole value, the same for the same."""
    low, high = values.min(initial=np.inf), values.max(initial=-np.inf)
    if high - low < values.size:
        return np.asarray((values - low).astype(np.int64))
    places: NDArray[np.int64] = np.unique(values, return_inverse=True)[1]
    return places


def _agreement(places: NDArray[np.int64], residuals: Floats, variances: Floats) -> float:
    """Return the sum of the products of two residuals of one place, in its standard errors."""
    own, spread = np.bincount(places, residuals), np.bincount(places, variances)
    deviation = np.sqrt(2.0 * max(float(spread @ spread - variances @ variances), 0.0))
    return float(own @ own - residuals @ residuals) / max(float(deviation), 1e-300)
