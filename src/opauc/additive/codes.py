"""Numeric inputs that act as codes: whole numbers that recur and each have an effect, as a shop's number does."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from opauc.additive.basis.main_effects import MainEffect
from opauc.additive.basis.random_effects import LARGEST_WHOLE
from opauc.additive.initial_sample import SampleRows
from opauc.additive.kernels.rows import CATEGORICAL, NUMERIC
from opauc.additive.policy import CODE_POLICY, CodePolicy
from opauc.types import Floats


class RowsByValue(NamedTuple):
    """The rows that have a value of an input, and the group of each: rows of one value share a group."""

    rows: NDArray[np.int64]
    groups: NDArray[np.int64]

    @classmethod
    def of(cls, values: Floats, used: NDArray[np.bool_]) -> RowsByValue:
        """Return the used rows, grouped by their values, which are whole numbers."""
        numbers = values[used]
        low, high = numbers.min(initial=np.inf), numbers.max(initial=-np.inf)
        is_dense = high - low < numbers.size
        groups = (numbers - low).astype(np.int64) if is_dense else np.unique(numbers, return_inverse=True)[1]
        return cls(np.flatnonzero(used), groups)

    @property
    def n_values(self) -> int:
        """Number of distinct values."""
        return int(np.count_nonzero(np.bincount(self.groups)))

    def agreement(self, residuals: Floats, variances: Floats) -> float:
        """Return the sum over pairs of rows of one value of the product of their residuals, as a z-score."""
        own_residuals, own_variances = residuals[self.rows], variances[self.rows]
        residual_sums = np.bincount(self.groups, own_residuals)
        variance_sums = np.bincount(self.groups, own_variances)
        products = float(residual_sums @ residual_sums - own_residuals @ own_residuals)
        deviation = np.sqrt(2.0 * max(float(variance_sums @ variance_sums - own_variances @ own_variances), 0.0))
        return products / max(float(deviation), 1e-300)

    def remove_effects(self, residuals: Floats, curvatures: Floats) -> Floats:
        """Return the residuals without a random effect of each value, whose variance is estimated from them."""
        own_residuals, own_curvatures = residuals[self.rows], curvatures[self.rows]
        residual_sums = np.bincount(self.groups, own_residuals)
        curvature_sums = np.bincount(self.groups, own_curvatures)
        products = float(residual_sums @ residual_sums - own_residuals @ own_residuals)
        variance = products / max(float(curvature_sums @ curvature_sums - own_curvatures @ own_curvatures), 1e-300)
        remaining = residuals.copy()
        if variance > 0.0:
            effects = residual_sums / (curvature_sums + 1.0 / variance)
            remaining[self.rows] -= own_curvatures * effects[self.groups]
        return remaining


def find_coded_inputs(
    effects: Sequence[MainEffect],
    sample: SampleRows,
    scores: Floats,
    policy: CodePolicy = CODE_POLICY,
    numeric: Collection[int | str] = (),
) -> list[int]:
    """Return the numeric inputs whose values act as codes, given scores that include their curves.

    Inputs in `numeric` are none: the user declares them numeric.

    If values had no effects beyond the curve, the product of the residuals of
    two rows of one value would be zero on average: the sum of these products is
    compared with its standard deviation. Inputs are selected forward: the one of the
    largest z-score first, then the one of the largest z-score given the first. All
    of them must exceed `policy.min_z` given the categories without a column.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.additive.basis.main_effects import main_effects
    >>> from opauc.additive.codes import find_coded_inputs
    >>> from opauc.additive.initial_sample import SampleRows
    >>> rng, ones = np.random.default_rng(0), np.ones(4000)
    >>> rows = rng.integers(0, 200, (4000, 2)).astype(float)
    >>> labels = (rng.normal(size=200)[rows[:, 1].astype(int)] > rng.normal(size=4000)).astype(np.int8)
    >>> effects = main_effects(rows, ones, ones, np.zeros(2, bool), n_knots=8)
    >>> find_coded_inputs(effects, SampleRows(rows, labels, ones, ones), np.zeros(4000))
    [1]
    """
    probabilities = expit(scores)
    residuals = sample.weight * (sample.labels - probabilities)
    curvatures = sample.weight * probabilities * (1.0 - probabilities)
    variances = sample.weight * curvatures
    candidates = {
        j: values
        for j, values in _find_candidates(effects, sample, policy).items()
        if j not in numeric and values.agreement(residuals, variances) > policy.min_z
    }
    if candidates:
        for pooled in _pooled_categories(effects, sample):
            residuals = pooled.remove_effects(residuals, curvatures)
    selected: list[int] = []
    while candidates:
        z_scores = {j: values.agreement(residuals, variances) for j, values in candidates.items()}
        best = max(candidates, key=lambda j: z_scores[j])
        if z_scores[best] <= policy.min_z:
            break
        selected.append(best)
        residuals = candidates.pop(best).remove_effects(residuals, curvatures)
    return sorted(selected)


def _find_candidates(effects: Sequence[MainEffect], sample: SampleRows, policy: CodePolicy) -> dict[int, RowsByValue]:
    """Return the numeric inputs of whole numbers that have more values than knots."""
    candidates = {}
    for j, effect in enumerate(effects):
        values = sample.numbers[:, j]
        if effect.kind == NUMERIC and _are_whole(values[: policy.n_first_values]) and _are_whole(values):
            by_value = RowsByValue.of(values, ~np.isnan(values))
            if by_value.n_values > effect.knots.size:
                candidates[j] = by_value
    return candidates


def _pooled_categories(effects: Sequence[MainEffect], sample: SampleRows) -> list[RowsByValue]:
    """Return the rows of each categorical input whose categories have a number and no column."""
    pooled = []
    for j, effect in enumerate(effects):
        if effect.kind == CATEGORICAL:
            values = sample.numbers[:, j]
            pooled.append(RowsByValue.of(values, (values >= 0) & ~np.isin(values, effect.kept)))
    return pooled


def _are_whole(values: Floats) -> bool:
    """Tell whether all numbers that are not missing are whole."""
    return bool((np.isnan(values) | ((values == np.floor(values)) & (np.abs(values) <= LARGEST_WHOLE))).all())
