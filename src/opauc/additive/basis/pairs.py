"""One input in its pairs: a few hat functions or levels; and the codes by which pairs are tested."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from opauc.additive.basis.knots import OrderedValues, place_knots
from opauc.additive.basis.main_effects import MainEffect
from opauc.additive.kernels.rows import BINARY, CATEGORICAL, LEFT_OUT, NUMERIC
from opauc.additive.policy import BASIS_POLICY, BasisPolicy
from opauc.types import Floats

# The size in pairs of an input that can have any number of knots.
ANY_SIZE = -1


@dataclass(frozen=True, eq=False)
class PairBasis:
    """The `size` basis functions of one input in its pairs: one per knot, or the function of each of its levels."""

    size: int
    knots: Floats = field(default_factory=lambda: np.empty(0))
    positions: NDArray[np.int32] = field(default_factory=lambda: np.empty(0, np.int32))

    @classmethod
    def of(
        cls,
        effect: MainEffect,
        values: Floats,
        balanced_weight: Floats,
        n_knots: int,
        n_levels: int = BASIS_POLICY.pair_levels,
        policy: BasisPolicy = BASIS_POLICY,
    ) -> PairBasis:
        """Return the basis of an input with this main effect, from its values in the sample."""
        if effect.kind == BINARY:
            return cls(1)
        if effect.kind == CATEGORICAL:
            positions = pool_levels(level_of(effect, values), effect.kept.size, n_levels)
            return cls(int(positions.max()) + 1, positions=positions)
        if effect.kind == LEFT_OUT:
            return cls(0)
        ordered = OrderedValues.subsample(values, balanced_weight)
        knots = place_knots(ordered, n_knots, policy.pair_ends, policy.max_quantile_knots)
        if knots.size < 2:
            knots = np.unique([np.nanmin(values), *knots, np.nanmax(values)])
        return cls(knots.size, knots)


def max_pair_size(
    effect: MainEffect, n_levels: int = BASIS_POLICY.pair_levels, policy: BasisPolicy = BASIS_POLICY
) -> int:
    """Return the number of functions of an input in pairs, ANY_SIZE if it has as many as there are knots."""
    if effect.kind == NUMERIC:
        return effect.knots.size if 0 < effect.knots.size < policy.pair_levels else ANY_SIZE
    return {LEFT_OUT: 0, BINARY: 1}.get(effect.kind, min(effect.kept.size + 1, n_levels))


def pool_levels(levels: NDArray[np.int64], n_kept: int, n_levels: int) -> NDArray[np.int32]:
    """Return the position in pairs of each level: the most frequent have their own, the others share the last.

    Of equally frequent levels those that come first in the sample have their own.
    """
    counts = np.bincount(levels[levels >= 0], minlength=n_kept + 1)[:-1]
    first = np.full(n_kept + 2, levels.size)
    np.minimum.at(first, levels, np.arange(levels.size))
    frequent = np.lexsort((first[:n_kept], -counts))[: n_levels - 1]
    positions = np.full(n_kept + 1, frequent.size, np.int32)
    positions[np.sort(frequent)] = np.arange(frequent.size)
    return positions


def level_of(effect: MainEffect, values: Floats) -> NDArray[np.int64]:
    """Return the level of each category number: the last one if it is not kept, -1 if it is missing."""
    numbers = np.where(np.isnan(values), -1.0, values).astype(np.int64)
    at = np.minimum(np.searchsorted(effect.kept, numbers), max(0, effect.kept.size - 1))
    is_kept = effect.kept[at] == numbers
    return np.where(np.isnan(values), -1, np.where(is_kept, at, effect.kept.size))


def coarse_codes(
    effect: MainEffect,
    values: Floats,
    balanced_weight: Floats,
    n_levels: int = BASIS_POLICY.pair_levels,
    policy: BasisPolicy = BASIS_POLICY,
) -> NDArray[np.int8]:
    """Return a coarse code of each value for the test of pairs, -1 where missing.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.additive.basis.main_effects import MainEffect
    >>> from opauc.additive.basis.pairs import coarse_codes
    >>> values, weight = np.array([5.0, 1.0, 2.0, np.nan, 3.0, 9.0]), np.ones(6)
    >>> coarse_codes(MainEffect.of(values, weight, weight, False, 8), values, weight).tolist()
    [3, 0, 1, -1, 2, 3]
    """
    is_present = ~np.isnan(values)
    codes = np.full(values.size, -1, np.int8)
    if effect.kind == BINARY:
        codes[is_present] = values[is_present] > effect.scale[0]
    elif effect.kind == CATEGORICAL:
        levels = level_of(effect, values)
        codes[is_present] = pool_levels(levels, effect.kept.size, n_levels)[levels[is_present]]
    elif effect.kind == NUMERIC:
        present = values[is_present]
        quantile_levels = np.arange(1, policy.pair_test_codes) / policy.pair_test_codes
        cuts = np.unique(OrderedValues.subsample(values, balanced_weight).quantiles(quantile_levels))
        codes[is_present] = np.searchsorted(cuts[cuts > present.min()], present, side="right")
    return codes
