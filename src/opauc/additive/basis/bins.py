"""Ordinal codes of the values of inputs: the bins by which trees split."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from opauc.additive.basis.knots import QUANTILE_ROWS, OrderedValues, balance_classes, place_knots
from opauc.additive.basis.tables import rises
from opauc.additive.kernels.rows import write_value_codes
from opauc.additive.policy import TREE_POLICY, TreePolicy
from opauc.core.array_schema import ArrayRule, check_arrays
from opauc.types import Arrays, Floats, Labels, NamedArrays

# Codes per input: 0 is for missing values.
MAX_CODES = 256
# Rows that are coded at a time, so that they stay in the cache.
ROWS_PER_BLOCK = 256
ALL_VALUES = 0.0, 1.0
SCHEMA = {
    "cuts": ArrayRule("float64", "cuts"),
    "cut_ends": ArrayRule("int64", "coded+1", ends="cuts"),
    "category_codes": ArrayRule("uint8", "categories"),
    "category_ends": ArrayRule("int64", "coded+1", ends="categories"),
    "pooled_codes": ArrayRule("uint8", "coded"),
    "sources": ArrayRule("int64", "coded", low=0, below="inputs"),
}


class CodeTables(NamedTuple):
    """The arrays of `ValueCodes` as the kernel takes them."""

    cuts: np.ndarray
    cut_ends: np.ndarray
    category_codes: np.ndarray
    category_ends: np.ndarray
    pooled_codes: np.ndarray
    sources: np.ndarray


@dataclass(frozen=True, eq=False)
class ValueCodes:
    """The cuts of each numeric input and the code of each category: 0 if missing, then 1, 2, ... in their order.

    Categories are ordered by the share of positive rows, so that neighboring codes have similar effects. Rare
    categories and those that turn up later have the code in `pooled_codes`; it is 0 for numeric inputs. An input may be
    coded more than once, in the order of other rows each time: `sources` has the input of each coded column.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.additive.basis.bins import ValueCodes
    >>> sample, labels = np.array([[0.0], [1.0], [4.0], [np.nan]]), np.array([0, 1, 1, 0], np.int8)
    >>> codes = ValueCodes.of(sample, labels, np.ones(4), np.zeros(1, bool))
    >>> codes.cuts.tolist(), codes.of_rows(sample).ravel().tolist()
    ([0.5, 2.5], [1, 2, 3, 0])
    """

    cuts: Floats
    cut_ends: NDArray[np.int64]  # (n_coded + 1,)
    category_codes: NDArray[np.uint8]  # by category number, of all categorical inputs
    category_ends: NDArray[np.int64]  # (n_coded + 1,)
    pooled_codes: NDArray[np.uint8]  # (n_coded,)
    sources: NDArray[np.int64]  # (n_coded,)

    @classmethod
    def of(
        cls,
        sample: Floats,
        labels: Labels,
        weight: Floats,
        categorical: NDArray[np.bool_],
        policy: TreePolicy = TREE_POLICY,
    ) -> Self:
        """Return the codes of the inputs of a sample."""
        mass, nothing = balance_classes(labels, weight), np.empty(0, np.uint8)
        cuts, category_codes = [np.empty(0)] * categorical.size, [nothing] * categorical.size
        pooled = np.zeros(categorical.size, np.uint8)
        every = slice(None, None, max(1, len(sample) // QUANTILE_ROWS))
        some = np.ascontiguousarray(sample[every].T)
        is_missing = np.asarray(np.isnan(some).any(axis=1))
        for j, is_categorical in enumerate(categorical.tolist()):
            if is_categorical:
                category_codes[j], pooled[j] = _code_categories(sample[:, j], labels, weight, policy)
            else:
                cuts[j] = _place_cuts(sample[:, j], mass) if is_missing[j] else _place_cuts(some[j], mass[every])
        return cls._of_parts(cuts, category_codes, pooled, np.arange(categorical.size))

    @classmethod
    def _of_parts(
        cls,
        cuts: Sequence[Floats],
        category_codes: Sequence[NDArray[np.uint8]],
        pooled: NDArray[np.uint8],
        sources: NDArray[np.int64],
    ) -> Self:
        return cls(
            np.concatenate([np.empty(0), *cuts]),
            np.cumsum([0, *(part.size for part in cuts)]),
            np.concatenate([np.empty(0, np.uint8), *category_codes]),
            np.cumsum([0, *(part.size for part in category_codes)]),
            pooled,
            sources,
        )

    @property
    def n_coded(self) -> int:
        """Number of coded columns."""
        return self.sources.size

    @property
    def n_codes(self) -> NDArray[np.int64]:
        """Number of codes that values of each coded column can have."""
        of_categories = [int(self._codes_of(c).max(initial=0)) for c in range(self.n_coded)]
        highest = np.maximum(self.pooled_codes, np.array(of_categories, np.int64))
        return 1 + np.where(self.pooled_codes > 0, highest, np.diff(self.cut_ends) + 1)

    def take(self, columns: NDArray[np.int64]) -> Self:
        """Return some of the coded columns."""
        cuts = [self.cuts[self.cut_ends[c] : self.cut_ends[c + 1]] for c in columns.tolist()]
        codes = [self._codes_of(c) for c in columns.tolist()]
        return self._of_parts(cuts, codes, self.pooled_codes[columns], self.sources[columns])

    def join(self, other: Self) -> Self:
        """Return the coded columns of both."""
        return type(self)(
            np.concatenate([self.cuts, other.cuts]),
            np.concatenate([self.cut_ends, self.cut_ends[-1] + other.cut_ends[1:]]),
            np.concatenate([self.category_codes, other.category_codes]),
            np.concatenate([self.category_ends, self.category_ends[-1] + other.category_ends[1:]]),
            np.concatenate([self.pooled_codes, other.pooled_codes]),
            np.concatenate([self.sources, other.sources]),
        )

    def numbers_of(self, j: int) -> NDArray[np.int64]:
        """Return the category numbers of an input that have their own code."""
        numbers = np.empty(0, np.int64)
        for column in np.flatnonzero(self.sources == j).tolist():
            numbers = np.union1d(numbers, np.flatnonzero(self._codes_of(column) != self.pooled_codes[column]))
        return numbers

    def _codes_of(self, column: int) -> NDArray[np.uint8]:
        return self.category_codes[self.category_ends[column] : self.category_ends[column + 1]]

    @property
    def tables(self) -> CodeTables:
        """The arrays as kernels take them."""
        return CodeTables(*(getattr(self, name) for name in CodeTables._fields))

    def of_rows(self, rows: Floats) -> NDArray[np.uint8]:
        """Return the codes of the values of rows, of shape (n_rows, n_coded)."""
        out = np.empty((len(rows), self.n_coded), np.uint8)
        tables = self.tables
        for start in range(0, len(rows), ROWS_PER_BLOCK):
            part = slice(start, start + ROWS_PER_BLOCK)
            write_value_codes(np.ascontiguousarray(rows[part]), tables, out[part])
        return out

    def decode(self, codes: NDArray[np.uint8], n_inputs: int) -> Floats:
        """Return rows with values that have these codes: the middle between two cuts, or one of the categories.

        Of an input that is coded more than once, the first coded column counts.
        """
        rows = np.full((len(codes), n_inputs), np.nan)
        for j in np.unique(self.sources, return_index=True)[1].tolist():
            middles = _middles(self.cuts[self.cut_ends[j] : self.cut_ends[j + 1]])
            if self.pooled_codes[j]:
                middles = np.full(MAX_CODES, -1.0)
                own = self._codes_of(j)
                middles[own.astype(np.int64) - 1] = np.arange(own.size)
            known = codes[:, j] > 0
            rows[known, self.sources[j]] = middles[np.minimum(codes[known, j].astype(np.int64), middles.size) - 1]
        return rows

    def to_arrays(self) -> Arrays:
        """Return copies of all arrays, for a file or the network."""
        return {name: getattr(self, name).copy() for name in SCHEMA}

    @classmethod
    def from_arrays(cls, n_inputs: int, arrays: NamedArrays) -> Self:
        """Return the codes of so many inputs from `to_arrays`; raise ValueError if they are invalid."""
        check_arrays(SCHEMA, arrays, {"inputs": n_inputs})
        codes = cls(*(np.ascontiguousarray(arrays[name]) for name in SCHEMA))
        if (np.diff(codes.cut_ends) > MAX_CODES - 2).any():
            raise ValueError(f"cut_ends: expected at most {MAX_CODES - 2} cuts of a column")
        if not all(rises(codes.cuts[begin:end]) for begin, end in pairwise(codes.cut_ends.tolist())):
            raise ValueError("cuts: expected ascending numbers for each input")
        return codes


def _middles(cuts: Floats) -> Floats:
    """Return a value between each two cuts, and one at either end."""
    if not cuts.size:
        return np.zeros(1)
    between = 0.5 * cuts[:-1] + 0.5 * cuts[1:]
    between = np.where(between > cuts[:-1], between, cuts[1:])  # a value at a cut belongs below it
    beyond = max(cuts[-1] + 0.5 * (cuts[-1] - cuts[0]), np.nextafter(cuts[-1], np.inf))
    return np.concatenate([cuts[:1], between, [beyond]])


def _place_cuts(values: Floats, mass: Floats) -> Floats:
    """Return the cuts of a numeric input: midpoints between its values, or between quantiles if it has many."""
    if np.isnan(values).all():
        return np.empty(0)
    knots = place_knots(OrderedValues.subsample(values, mass), MAX_CODES - 1, ALL_VALUES, MAX_CODES - 1)
    # In float64 the midpoint of neighboring values may be the upper one, and a value at a cut belongs below it.
    cuts = 0.5 * knots[:-1] + 0.5 * knots[1:]
    return np.where(cuts < knots[1:], cuts, knots[:-1])


def _code_categories(
    values: Floats, labels: Labels, weight: Floats, policy: TreePolicy
) -> tuple[NDArray[np.uint8], int]:
    """Return the code of each category number, and the code of all other categories.

    Categories are ordered by their share of positive rows, shrunk to that of all rows; those of few rows are pooled.
    Where categories are many, neighbors share a code.
    """
    listed = values >= 0.0  # False for missing values
    numbers, of_class = values[listed].astype(np.int64), labels[listed]
    size = int(numbers.max(initial=-1)) + 1
    rows = np.bincount(numbers, weight[listed], minlength=size)
    positive = np.bincount(numbers, weight[listed] * of_class, minlength=size)
    rate = float(weight @ labels) / max(float(weight.sum()), 1e-300)
    frequent = np.flatnonzero(rows >= policy.min_category_rows)
    shares = (positive[frequent] + policy.category_prior * rate) / (rows[frequent] + policy.category_prior)
    order = frequent[np.argsort(shares, kind="stable")]
    n_codes = min(order.size, MAX_CODES - 2)
    # Position of the middle of each category among all rows.
    middles = np.cumsum(rows[order]) - 0.5 * rows[order]
    bins = np.arange(order.size)
    if order.size > n_codes:
        bins = np.floor(n_codes * middles / max(float(rows[order].sum()), 1e-300)).astype(np.int64)
    # Others go where a category with the share of all rows would: after those below it.
    below = bins[np.sort(shares) <= rate]
    pooled = 1 + (int(below.max()) + 1 if below.size else 0)
    codes = np.full(size, pooled, np.uint8)
    codes[order] = 1 + bins + (1 + bins >= pooled)
    return codes, pooled
