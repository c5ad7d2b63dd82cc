"""Ordinal codes of the values of inputs: the bins by which trees split."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Self

import numpy as np
from numpy.typing import NDArray

from opauc.additive.basis.knots import OrderedValues, place_knots
from opauc.additive.basis.tables import BasisTables, rises
from opauc.additive.kernels.rows import BINARY, CATEGORICAL, FIRST, HIGH, LOW, NUMERIC, write_value_codes
from opauc.core.array_schema import ArrayRule, check_arrays
from opauc.types import Arrays, Floats, NamedArrays

# Codes per input, including the code of missing values. Finer codes do not improve trees, and sums over 64 codes stay
# in the cache.
MAX_CODES = 64
# Rows that are coded at a time, so that they stay in the cache.
ROWS_PER_BLOCK = 256
ALL_VALUES = 0.0, 1.0
SCHEMA = {
    "cuts": ArrayRule("float64", "cuts"),
    "cut_ends": ArrayRule("int64", "inputs+1", ends="cuts"),
    "level_codes": ArrayRule("uint8", "levels", low=1, high=MAX_CODES - 1),
}


@dataclass(frozen=True, eq=False)
class ValueCodes:
    """The cuts of each numeric input and the code of each level: 0 if missing, then 1, 2, ... in their order.

    Levels are ordered by their weights, so that neighboring codes have similar effects.

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
    def of(cls, tables: BasisTables, weights: Floats, sample: Floats, balanced_weight: Floats) -> Self:
        """Return the codes of the inputs of a basis, from the weights of its columns and a sample."""
        cuts: list[Floats] = []
        level_codes = [np.empty(0, np.uint8)]
        for j, kind in enumerate(tables.kinds.tolist()):
            values = sample[:, j]
            if kind == CATEGORICAL:
                first = int(tables.columns[j, FIRST])
                level_weights = weights[first : first + int(tables.n_levels[j])]
                level_codes.append(_code_levels(level_weights, _levels(tables, j, values), balanced_weight))
            cuts.append(_cuts(tables, j, values, balanced_weight) if kind in (BINARY, NUMERIC) else np.empty(0))
        ends = np.cumsum([0, *(of_input.size for of_input in cuts)])
        return cls(np.concatenate([np.empty(0), *cuts]), ends, np.concatenate(level_codes))

    def sizes(self, tables: BasisTables) -> NDArray[np.int64]:
        """Return the number of codes of each input; two for an input that is left out: present and missing."""
        n_levels = tables.n_levels.astype(np.int64)
        starts = np.cumsum(n_levels) - n_levels
        sizes = np.diff(self.cut_ends) + 2
        for j in np.flatnonzero(tables.kinds == CATEGORICAL).tolist():
            sizes[j] = int(self.level_codes[starts[j] : starts[j] + n_levels[j]].max()) + 1
        return np.where(np.isin(tables.kinds, (BINARY, NUMERIC, CATEGORICAL)), sizes, 2)

    def of_rows(self, tables: BasisTables, rows: Floats) -> NDArray[np.uint8]:
        """Return the codes of the values of rows."""
        out = np.empty(rows.shape, np.uint8)
        starts = (np.cumsum(tables.n_levels) - tables.n_levels).astype(np.int64)
        for start in range(0, len(rows), ROWS_PER_BLOCK):
            part = slice(start, start + ROWS_PER_BLOCK)
            block = np.ascontiguousarray(rows[part])
            write_value_codes(block, tables, self.cuts, self.cut_ends, self.level_codes, starts, out[part])
        return out

    def to_arrays(self) -> Arrays:
        """Return copies of all arrays, for a file or the network."""
        return {
            "cuts": self.cuts.copy(),
            "cut_ends": self.cut_ends.copy(),
            "level_codes": self.level_codes.copy(),
        }

    @classmethod
    def from_arrays(cls, tables: BasisTables, arrays: NamedArrays) -> Self:
        """Return the codes of the inputs of a basis from `to_arrays`; raise ValueError if they are invalid."""
        check_arrays(SCHEMA, arrays, {"inputs": tables.kinds.size, "levels": int(tables.n_levels.sum())})
        cuts, ends, codes = (np.ascontiguousarray(arrays[name]) for name in SCHEMA)
        if (np.diff(ends) > MAX_CODES - 2).any():
            raise ValueError(f"cut_ends: expected at most {MAX_CODES - 2} cuts of an input")
        if not all(rises(cuts[begin:end]) for begin, end in pairwise(ends.tolist())):
            raise ValueError("cuts: expected ascending numbers for each input")
        return cls(cuts, ends, codes)


def _cuts(tables: BasisTables, j: int, values: Floats, balanced_weight: Floats) -> Floats:
    """Return the cuts of a numeric input: midpoints between its values, or between quantiles if it has many."""
    if tables.kinds[j] == BINARY:
        knots: Floats = tables.scales[j, [LOW, HIGH]]
    else:
        ordered = OrderedValues.subsample(values, balanced_weight)
        knots = place_knots(ordered, MAX_CODES - 1, ALL_VALUES, MAX_CODES - 1)
    # In float64 the midpoint of neighboring values may be the upper one, and a value at a cut belongs below it.
    cuts = 0.5 * knots[:-1] + 0.5 * knots[1:]
    return np.where(cuts < knots[1:], cuts, knots[:-1])


def _levels(tables: BasisTables, j: int, values: Floats) -> NDArray[np.int64]:
    """Return the level of each category number, -1 where missing."""
    level_of_number = tables.levels[tables.level_ends[j] : tables.level_ends[j + 1]]
    numbers = np.where(np.isnan(values), -1.0, values).astype(np.int64)
    listed = (numbers >= 0) & (numbers < level_of_number.size)
    levels = level_of_number[np.where(listed, numbers, 0)] if level_of_number.size else -1
    return np.where(np.isnan(values), -1, np.where(listed, levels, tables.n_levels[j] - 1))


def _code_levels(weights: Floats, levels: NDArray[np.int64], balanced_weight: Floats) -> NDArray[np.uint8]:
    """Return a code for each level in the order of their weights; if levels are many, neighbors share a code."""
    order = np.argsort(weights, kind="stable")
    codes = np.empty(weights.size, np.uint8)
    if weights.size < MAX_CODES:
        codes[order] = np.arange(1, weights.size + 1)
        return codes
    sizes = np.bincount(levels[levels >= 0], balanced_weight[levels >= 0], minlength=weights.size)[order]
    centers = np.cumsum(sizes) - 0.5 * sizes
    bins = np.floor((MAX_CODES - 1) * centers / max(float(sizes.sum()), 1e-300))
    codes[order] = 1 + np.clip(bins, 0, MAX_CODES - 2).astype(np.uint8)
    return codes
