"""What one input is in a pair: a few hats, or a few levels; and the codes by which pairs are tested."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from opauc.additive.basis.knots import PAIR_ENDS, OrderedValues, knots_of
from opauc.additive.basis.main_effects import MainEffect
from opauc.additive.kernels.rows import BINARY, CATEGORICAL, LEFT_OUT, NUMERIC
from opauc.types import Floats

# Quantile codes of a numeric input in the test of a pair.
N_CODES = 4
# Levels of a categorical input in pairs, the pooled one among them: usually, and where more say more.
FEW_LEVELS, MOST_LEVELS = 6, 20
MANY = -1


@dataclass(frozen=True, eq=False)
class PairBasis:
    """One input in its pairs: `size` places, by its knots or by the place of each of its levels."""

    size: int
    knots: Floats = field(default_factory=lambda: np.empty(0))
    places: NDArray[np.int32] = field(default_factory=lambda: np.empty(0, np.int32))

    @classmethod
    def of(
        cls, effect: MainEffect, values: Floats, mass: Floats, n_knots: int, n_levels: int = FEW_LEVELS
    ) -> PairBasis:
        """Return the basis of an input with that main effect, from its values in the sample."""
        if effect.kind == BINARY:
            return cls(1)
        if effect.kind == CATEGORICAL:
            places = pair_places(level_of(effect, values), effect.kept.size, n_levels)
            return cls(int(places.max()) + 1, places=places)
        if effect.kind == LEFT_OUT:
            return cls(0)
        knots = knots_of(OrderedValues.some_of(values, mass), n_knots, PAIR_ENDS)
        if knots.size < 2:
            knots = np.unique([np.nanmin(values), *knots, np.nanmax(values)])
        return cls(knots.size, knots)


def most_places(effect: MainEffect, n_levels: int = FEW_LEVELS) -> int:
    """Return how many places an input has in pairs, MANY if it has as many as there are knots."""
    if effect.kind == NUMERIC:
        return effect.knots.size if 0 < effect.knots.size < FEW_LEVELS else MANY
    return {LEFT_OUT: 0, BINARY: 1}.get(effect.kind, min(effect.kept.size + 1, n_levels))


def pair_places(levels: NDArray[np.int64], n_kept: int, n_levels: int) -> NDArray[np.int32]:
    """Return the place in pairs of each level: the most frequent have one each, the others share the last."""
    counts = np.bincount(levels[levels >= 0], minlength=n_kept + 1)[:-1]
    own = np.argsort(-counts, kind="stable")[: n_levels - 1]
    places = np.full(n_kept + 1, own.size, np.int32)
    places[np.sort(own)] = np.arange(own.size)
    return places


def level_of(effect: MainEffect, values: Floats) -> NDArray[np.int64]:
    """Return the level of each category number, the last for those not kept, -1 where missing."""
    numbers = np.where(np.isnan(values), -1.0, values).astype(np.int64)
    at = np.minimum(np.searchsorted(effect.kept, numbers), max(0, effect.kept.size - 1))
    known = effect.kept[at] == numbers
    return np.where(np.isnan(values), -1, np.where(known, at, effect.kept.size))


def coarse_codes(effect: MainEffect, values: Floats, mass: Floats, n_levels: int = FEW_LEVELS) -> NDArray[np.int8]:
    """Return a few codes of an input's values for the test of its pairs, -1 where missing.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.additive.basis.main_effects import MainEffect
    >>> from opauc.additive.basis.pairs import coarse_codes
    >>> values, mass = np.array([5.0, 1.0, 2.0, np.nan, 3.0, 9.0]), np.ones(6)
    >>> coarse_codes(MainEffect.of(values, mass, mass, False, 8), values, mass).tolist()
    [3, 0, 1, -1, 2, 3]
    """
    there = ~np.isnan(values)
    codes = np.full(values.size, -1, np.int8)
    if effect.kind == BINARY:
        codes[there] = values[there] > effect.scale[0]
    elif effect.kind == CATEGORICAL:
        levels = level_of(effect, values)
        codes[there] = pair_places(levels, effect.kept.size, n_levels)[levels[there]]
    elif effect.kind == NUMERIC:
        known = values[there]
        cuts = np.unique(OrderedValues.some_of(values, mass).quantiles(np.arange(1, N_CODES) / N_CODES))
        codes[there] = np.searchsorted(cuts[cuts > known.min()], known, side="right")
    return codes
