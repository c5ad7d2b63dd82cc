"""Values of the inputs of a basis as a few ordered codes, by which trees split."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Self

import numpy as np
from numpy.typing import NDArray

from opauc.additive.basis.knots import OrderedValues, knots_of
from opauc.additive.kernels.rows import BINARY, CATEGORICAL, FIRST, HIGH, LOW, NUMERIC, BasisTables, write_value_codes
from opauc.types import Arrays, Floats, NamedArrays

# Codes of an input, that of missing values among them.
MOST_CODES = 64
# So many rows at a time stay in the cache.
ROWS_AT_ONCE = 256
ALL_VALUES = 0.0, 1.0
PARTS = ("cuts", "cut_ends", "level_codes")


@dataclass(frozen=True, eq=False)
class ValueCodes:
    """The cuts of each number and the code of each level: 0 where missing, and from 1 on in their order.

    Levels are in the order of their weights, so that neighbors act alike.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.additive.basis.basis import Basis
    >>> from opauc.additive.basis.bins import ValueCodes
    >>> sample = np.array([[0.0], [1.0], [4.0], [np.nan]])
    >>> basis = Basis.of(sample, np.ones(4), np.zeros(1, bool), n_knots=3)
    >>> codes = ValueCodes.of(basis.tables, np.zeros(basis.n_columns), sample, np.ones(4))
    >>> codes.cuts.tolist(), codes.of_rows(basis.tables, sample).ravel().tolist()
    ([0.5, 2.5], [1, 2, 3, 0])
    """

    cuts: Floats
    cut_ends: NDArray[np.int64]  # (n_inputs + 1,)
    level_codes: NDArray[np.uint8]  # of all levels of all categorical inputs

    @classmethod
    def of(cls, tables: BasisTables, weights: Floats, sample: Floats, mass: Floats) -> Self:
        """Return codes for the inputs of a basis whose columns have these weights, from a sample and its masses."""
        cuts: list[Floats] = []
        levels = [np.empty(0, np.uint8)]
        for j, kind in enumerate(tables.kinds.tolist()):
            values = sample[:, j]
            if kind == CATEGORICAL:
                first = int(tables.columns[j, FIRST])
                own = weights[first : first + int(tables.n_levels[j])]
                levels.append(_level_codes(own, _levels(tables, j, values), mass))
            cuts.append(_cuts(tables, j, values, mass) if kind in (BINARY, NUMERIC) else np.empty(0))
        ends = np.cumsum([0, *(own.size for own in cuts)])
        return cls(np.concatenate([np.empty(0), *cuts]), ends, np.concatenate(levels))

    def sizes(self, tables: BasisTables) -> NDArray[np.int64]:
        """Return how many codes each input has; two where it is left out: there and missing."""
        n_levels = tables.n_levels.astype(np.int64)
        starts = np.cumsum(n_levels) - n_levels
        sizes = np.diff(self.cut_ends) + 2
        for j in np.flatnonzero(tables.kinds == CATEGORICAL).tolist():
            sizes[j] = int(self.level_codes[starts[j] : starts[j] + n_levels[j]].max()) + 1
        return np.where(np.isin(tables.kinds, (BINARY, NUMERIC, CATEGORICAL)), sizes, 2)

    def of_rows(self, tables: BasisTables, rows: Floats) -> NDArray[np.uint8]:
        """Return the codes of rows of numbers."""
        out = np.empty(rows.shape, np.uint8)
        starts = (np.cumsum(tables.n_levels) - tables.n_levels).astype(np.int64)
        for start in range(0, len(rows), ROWS_AT_ONCE):
            part = slice(start, start + ROWS_AT_ONCE)
            near = np.ascontiguousarray(rows[part])
            write_value_codes(near, tables, self.cuts, self.cut_ends, self.level_codes, starts, out[part])
        return out

    def to_arrays(self) -> Arrays:
        """Return all there is, for a file or the network."""
        return {name: getattr(self, name).copy() for name in PARTS}

    @classmethod
    def from_arrays(cls, tables: BasisTables, arrays: NamedArrays) -> Self:
        """Return the codes of a basis's inputs that gave these arrays, refused unless some can have."""
        cuts, ends, levels = (np.ascontiguousarray(arrays[name]) for name in PARTS)
        n_inputs, n_levels = tables.kinds.size, int(tables.n_levels.sum())
        if cuts.dtype != np.float64 or cuts.ndim != 1 or not np.isfinite(cuts).all():
            raise ValueError("cuts: expected finite float64 numbers")
        if ends.dtype != np.int64 or ends.shape != (n_inputs + 1,) or ends[0] != 0 or ends[-1] != cuts.size:
            raise ValueError(f"cut_ends: expected where the cuts of {n_inputs} inputs end")
        if (np.diff(ends) < 0).any() or (np.diff(ends) > MOST_CODES - 2).any():
            raise ValueError(f"cut_ends: expected at most {MOST_CODES - 2} cuts of an input")
        if any((np.diff(cuts[begin:end]) <= 0).any() for begin, end in pairwise(ends.tolist())):
            raise ValueError("cuts: expected numbers of each input that rise")
        if levels.dtype != np.uint8 or levels.shape != (n_levels,) or not ((levels > 0) & (levels < MOST_CODES)).all():
            raise ValueError(
                f"level_codes: expected a code between 1 and {MOST_CODES - 1} for each of {n_levels} levels"
            )
        return cls(cuts, ends, levels)


def _cuts(tables: BasisTables, j: int, values: Floats, mass: Floats) -> Floats:
    """Return the cuts of a number: half-way between neighbors of its values, or of quantiles where they are many."""
    if tables.kinds[j] == BINARY:
        knots: Floats = tables.scales[j, [LOW, HIGH]]
    else:
        knots = knots_of(OrderedValues.some_of(values, mass), MOST_CODES - 1, ALL_VALUES, MOST_CODES - 1)
    # Half-way between neighbors in float64 may be the upper one, and a value at a cut lies below it.
    cuts = 0.5 * knots[:-1] + 0.5 * knots[1:]
    return np.where(cuts < knots[1:], cuts, knots[:-1])


def _levels(tables: BasisTables, j: int, values: Floats) -> NDArray[np.int64]:
    """Return the level of each category number, -1 where missing."""
    places = tables.levels[tables.level_ends[j] : tables.level_ends[j + 1]]
    numbers = np.where(np.isnan(values), -1.0, values).astype(np.int64)
    known = (numbers >= 0) & (numbers < places.size)
    found = np.where(known, places[np.where(known, numbers, 0)] if places.size else -1, tables.n_levels[j] - 1)
    return np.where(np.isnan(values), -1, found)


def _level_codes(weights: Floats, levels: NDArray[np.int64], mass: Floats) -> NDArray[np.uint8]:
    """Return a code for each level by the order of the weights; of many levels neighbors share one."""
    order = np.argsort(weights, kind="stable")
    codes = np.empty(weights.size, np.uint8)
    if weights.size < MOST_CODES:
        codes[order] = np.arange(1, weights.size + 1)
        return codes
    masses = np.bincount(levels[levels >= 0], mass[levels >= 0], minlength=weights.size)[order]
    reached = np.cumsum(masses) - 0.5 * masses
    places = np.floor((MOST_CODES - 1) * reached / max(float(masses.sum()), 1e-300))
    codes[order] = 1 + np.clip(places, 0, MOST_CODES - 2).astype(np.uint8)
    return codes
