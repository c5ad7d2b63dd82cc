"""What one input becomes by itself: nothing, a step, a curve, or a level for each of its categories."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from opauc.additive.basis.knots import OrderedValues, knots_of
from opauc.additive.kernels.rows import BINARY, CATEGORICAL, LEFT_OUT, NUMERIC
from opauc.types import Floats

# The straight column of a curve is clipped at these quantiles.
CLIPPED = (0.002, 0.998)
# Levels with fewer rows are pooled.
LEAST_ROWS = 5
# Fewer knots than this bend nothing: the straight column says it all.
FEWEST_KNOTS = 3
# Rows that tell of nearly all inputs with more than two values that they have.
A_FEW = 64


@dataclass(frozen=True, eq=False)
class MainEffect:
    """The columns of one input.

    A binary one is clipped to between its two values, `scale` has them. A
    numeric one has a straight column, clipped and standardized by `scale` (low,
    high, mean, deviation), and a hat a knot. A categorical one has a column for
    each kept category number, in rising order, and one for all others. A
    missing value sets none of them but an indicator.
    """

    kind: int
    scale: tuple[float, float, float, float] = (0.0, 1.0, 0.0, 1.0)
    knots: Floats = field(default_factory=lambda: np.empty(0))
    kept: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))
    missing: bool = False

    @classmethod
    def of(
        cls,
        values: Floats,
        mass: Floats,
        weight: Floats,
        categorical: bool,
        n_knots: int,
        levels: NDArray[np.int64] | None = None,
    ) -> MainEffect:
        """Return the effect that suits an input's values in the sample, nan where missing.

        A categorical one keeps the `levels` given, or all that have enough rows, but one at least if it recurs.

        Examples
        --------
        >>> import numpy as np
        >>> from opauc.additive.basis.main_effects import MainEffect
        >>> effect = MainEffect.of(np.array([2.0, 7.0, 2.0, np.nan]), np.ones(4), np.ones(4), False, 8)
        >>> effect.kind, effect.scale[:2], effect.missing
        (1, (2.0, 7.0), True)
        """
        there = ~np.isnan(values)
        missing = not bool(there.all())
        known = values[there]
        if categorical:
            return cls._levels(known, weight[there], missing, levels)
        if np.unique(known[:A_FEW]).size < FEWEST_KNOTS:  # else there is no need to know all of them
            distinct = np.unique(known)
            if distinct.size < 2:
                return cls(LEFT_OUT, missing=missing and distinct.size > 0)
            if distinct.size == 2:
                return cls(BINARY, (float(distinct[0]), float(distinct[1]), 0.0, 1.0), missing=missing)
        order = np.argsort(known)
        ordered, own_weight = known[order], weight[there][order]
        scale = _scale(OrderedValues(ordered, own_weight))
        curved = n_knots >= FEWEST_KNOTS
        knots = knots_of(OrderedValues(ordered, mass[there][order]), n_knots) if curved else np.empty(0)
        return cls(NUMERIC, scale, knots if knots.size >= FEWEST_KNOTS else np.empty(0), missing=missing)

    @classmethod
    def _levels(cls, numbers: Floats, weight: Floats, missing: bool, levels: NDArray[np.int64] | None) -> MainEffect:
        found, counts = _level_counts(numbers, weight)
        if found.size < 2:
            return cls(LEFT_OUT, missing=missing and found.size > 0)
        kept = found[counts >= LEAST_ROWS] if levels is None else levels
        if not kept.size and counts.max() > 1:  # the most frequent: all others then have a column to share
            kept = found[[np.argmax(counts)]]
        return cls(CATEGORICAL, kept=kept, missing=missing) if kept.size else cls(LEFT_OUT, missing=missing)

    @property
    def n_columns(self) -> int:
        """How many columns it makes."""
        own = {LEFT_OUT: 0, BINARY: 1, NUMERIC: 1 + self.knots.size, CATEGORICAL: self.kept.size + 1}
        return own[self.kind] + self.missing


def _scale(ordered: OrderedValues) -> tuple[float, float, float, float]:
    """Return the quantiles at which a straight column is clipped, and the mean and deviation it then has."""
    values, weight = ordered
    low, high = ordered.quantiles(np.array(CLIPPED)).tolist()
    if low >= high:
        low, high = float(values[0]), float(values[-1])
    clipped = np.clip(values, low, high)
    mean = float(weight @ clipped / weight.sum())
    return low, high, mean, float(np.sqrt(weight @ (clipped - mean) ** 2 / weight.sum())) or 1.0


def main_effects(
    sample: Floats,
    mass: Floats,
    weight: Floats,
    categorical: NDArray[np.bool_],
    n_knots: int,
    most_levels: int | None = None,
) -> tuple[MainEffect, ...]:
    """Return the effect of every input; rows have a mass that balances the classes, and a weight.

    All categorical inputs together keep at most `most_levels` levels, if that is given: those of the most rows.
    """
    levels = _most_frequent(sample, weight, categorical, most_levels)
    return tuple(
        MainEffect.of(values, mass, weight, bool(words), n_knots, levels.get(j))
        for j, (values, words) in enumerate(zip(sample.T, categorical, strict=True))
    )


def _most_frequent(
    sample: Floats, weight: Floats, categorical: NDArray[np.bool_], most_levels: int | None
) -> dict[int, NDArray[np.int64]]:
    """Return the levels that each categorical input keeps: of all those with enough rows, the most frequent."""
    found = {}
    for j in np.flatnonzero(categorical).tolist():
        there = ~np.isnan(sample[:, j])
        numbers, counts = _level_counts(sample[there, j], weight[there])
        found[j] = numbers[counts >= LEAST_ROWS], counts[counts >= LEAST_ROWS]
    inputs = np.repeat([*found], [counts.size for _, counts in found.values()])
    levels, counts = (np.concatenate(parts) for parts in zip((inputs[:0], inputs[:0]), *found.values(), strict=True))
    kept = np.sort(np.argsort(-counts, kind="stable")[:most_levels])
    return {j: levels[kept[inputs[kept] == j]] for j in found}


def _level_counts(numbers: Floats, weight: Floats) -> tuple[NDArray[np.int64], Floats]:
    """Return the category numbers there are, in rising order, and the weight of the rows of each."""
    places = numbers.astype(np.int64)
    found = np.flatnonzero(np.bincount(places))
    return found, np.asarray(np.bincount(places, weight)[found], np.float64)
