"""Rows of numbers as sparse rows of the columns that a basis makes of them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from opauc.core.kernels.compile import kernel

# What an input, a column of the numbers, is on the basis.
LEFT_OUT, BINARY, NUMERIC, CATEGORICAL = range(4)
# Places in a row of `scales`.
LOW, HIGH, MEAN, DEVIATION = range(4)
# Places in a row of `columns`; -1 where there is none.
STRAIGHT, FIRST, MISSING = range(3)


class BasisTables(NamedTuple):
    """All that the columns of a basis are made by; inputs are numbered, and what belongs to one lies between ends.

    `levels` has the place of each category number among the levels, `pair_levels` that of each level among the
    levels of pairs. The cells of pair q begin at `cell_starts[q]`, the second input's places fastest; a cell holds its
    column, or -1.
    """

    kinds: np.ndarray  # (d,) int8
    scales: np.ndarray  # (d, 4) float64
    columns: np.ndarray  # (d, 3) int32
    knots: np.ndarray  # float64
    knot_ends: np.ndarray  # (d + 1,) int64
    levels: np.ndarray  # int32
    level_ends: np.ndarray  # (d + 1,) int64
    n_levels: np.ndarray  # (d,) int32, the pooled one among them
    pair_knots: np.ndarray  # float64
    pair_knot_ends: np.ndarray  # (d + 1,) int64
    pair_levels: np.ndarray  # int32
    pair_level_ends: np.ndarray  # (d + 1,) int64
    pair_sizes: np.ndarray  # (d,) int32
    pairs: np.ndarray  # (p, 2) int32
    cell_starts: np.ndarray  # (p,) int64
    cells: np.ndarray  # int32


@kernel
def hat_at(knots, value):
    """Return the number of the hat left of `value` and its height there; the hat right of it has the rest to one."""
    last = knots.size - 1
    if value <= knots[0]:
        return 0, 1.0
    if value >= knots[last]:
        return last, 1.0
    # Halving without branches: where a value lies cannot be foretold.
    low, left = 0, last
    while left > 1:
        half = left >> 1
        low += half if knots[low + half] <= value else 0
        left -= half
    return low, (knots[low + 1] - value) / (knots[low + 1] - knots[low])


@kernel
def write_inputs(row, basis, at, indices, data, places, lefts, rights):
    """Write the entries of a row's main effects from `at` on; return where they end.

    For pairs, `places` takes the place of each input's value among its own hats
    or levels, `lefts` its height there and `rights` that at the next place.
    """
    for j in range(row.size):
        value, kind = row[j], basis.kinds[j]
        places[j], lefts[j], rights[j] = 0, 0.0, 0.0
        if np.isnan(value):
            if basis.columns[j, MISSING] >= 0:
                indices[at], data[at] = basis.columns[j, MISSING], 1.0
                at += 1
        elif kind == BINARY:
            low = basis.scales[j, LOW]
            share = min(1.0, max(0.0, (value - low) / (basis.scales[j, HIGH] - low)))
            lefts[j] = share
            if share != 0.0:
                indices[at], data[at] = basis.columns[j, STRAIGHT], share
                at += 1
        elif kind == NUMERIC:
            clipped = min(max(value, basis.scales[j, LOW]), basis.scales[j, HIGH])
            indices[at], data[at] = (
                basis.columns[j, STRAIGHT],
                (clipped - basis.scales[j, MEAN]) / basis.scales[j, DEVIATION],
            )
            at += 1
            if basis.columns[j, FIRST] >= 0:
                hat, height = hat_at(basis.knots[basis.knot_ends[j] : basis.knot_ends[j + 1]], value)
                indices[at], data[at] = basis.columns[j, FIRST] + hat, height
                at += 1
                if height < 1.0:
                    indices[at], data[at] = basis.columns[j, FIRST] + hat + 1, 1.0 - height
                    at += 1
            if basis.pair_sizes[j] > 0:
                hat, height = hat_at(basis.pair_knots[basis.pair_knot_ends[j] : basis.pair_knot_ends[j + 1]], value)
                places[j], lefts[j], rights[j] = hat, height, 1.0 - height
        elif kind == CATEGORICAL:
            number, level = np.int64(value), basis.n_levels[j] - 1
            if 0 <= number < basis.level_ends[j + 1] - basis.level_ends[j]:
                level = basis.levels[basis.level_ends[j] + number]
            indices[at], data[at] = basis.columns[j, FIRST] + level, 1.0
            at += 1
            if basis.pair_sizes[j] > 0:
                places[j], lefts[j] = basis.pair_levels[basis.pair_level_ends[j] + level], 1.0
    return at


@kernel
def write_basis_rows(rows, basis, more_columns, more_values, first_more, ends, indices, data):
    """Write canonical sparse rows: the intercept, the main effects, the pairs; `ends` takes the row ends.

    Behind them stand `more_values` in `more_columns`, counted from `first_more` on, as many a row, or none.
    """
    (n_rows, n_inputs), n_more = rows.shape, more_columns.shape[1]
    places, lefts, rights = np.zeros(n_inputs, np.int64), np.zeros(n_inputs), np.zeros(n_inputs)
    at = 0
    ends[0] = 0
    for i in range(n_rows):
        indices[at], data[at] = 0, 1.0
        at = write_inputs(rows[i], basis, at + 1, indices, data, places, lefts, rights)
        for q in range(basis.cell_starts.size):
            one, two = basis.pairs[q, 0], basis.pairs[q, 1]
            width = basis.pair_sizes[two]
            first = basis.cell_starts[q] + places[one] * width + places[two]
            for down in range(2):
                height = lefts[one] if down == 0 else rights[one]
                if height == 0.0:
                    continue
                for right in range(2):
                    product = height * (lefts[two] if right == 0 else rights[two])
                    if product != 0.0 and basis.cells[first + down * width + right] >= 0:
                        indices[at], data[at] = basis.cells[first + down * width + right], product
                        at += 1
        for k in range(n_more):
            indices[at + k], data[at + k] = first_more + more_columns[i, k], more_values[i, k]
        at += n_more
        ends[i + 1] = at


# The code of a missing value.
NO_VALUE = 0


@kernel
def write_value_codes(rows, basis, cuts, cut_ends, level_codes, level_starts, out):
    """Write the code of every value: zero where missing, else one and the cuts below it, or that of its level."""
    for i in range(rows.shape[0]):
        row, codes = rows[i], out[i]
        for j in range(row.size):
            value = row[j]
            if np.isnan(value):
                codes[j] = NO_VALUE
            elif basis.kinds[j] == CATEGORICAL:
                number, level = np.int64(value), basis.n_levels[j] - 1
                if 0 <= number < basis.level_ends[j + 1] - basis.level_ends[j]:
                    level = basis.levels[basis.level_ends[j] + number]
                codes[j] = level_codes[level_starts[j] + level]
            else:
                # Halving without branches: where a value lies cannot be foretold.
                first, left = cut_ends[j], cut_ends[j + 1] - cut_ends[j]
                while left > 1:
                    half = left >> 1
                    first += half if cuts[first + half - 1] < value else 0
                    left -= half
                above = 1 if left == 1 and cuts[first] < value else 0
                codes[j] = first + above - cut_ends[j] + 1


@kernel
def unpack_rows(rows, factors, out):
    """Write each sparse row times its factor into a row of `out`, which is zero where there is no entry."""
    for i in range(rows.indptr.size - 1):
        line, factor = out[i], factors[i]
        for at in range(rows.indptr[i], rows.indptr[i + 1]):
            line[rows.indices[at]] = factor * rows.data[at]
