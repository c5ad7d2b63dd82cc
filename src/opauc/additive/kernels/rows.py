"""Rows of inputs to sparse rows of the columns of a basis.

The argument `basis` is a `BasisTables`.
"""

from __future__ import annotations

import numpy as np

from opauc.core.kernels.compile import borrowing, inlined, kernel

# Kinds of inputs.
LEFT_OUT, BINARY, NUMERIC, CATEGORICAL = range(4)
# Columns of `BasisTables.scales`.
LOW, HIGH, MEAN, DEVIATION = range(4)
# Columns of `BasisTables.columns`.
LINEAR, FIRST, MISSING = range(3)
# The bits of a float64 number without its sign, and those of infinity; larger ones are NaN.
ABSOLUTE_BITS, INFINITE_BITS = np.uint64(0x7FFFFFFFFFFFFFFF), np.uint64(0x7FF0000000000000)


# Rows whose values are looked up together: those of an input do not wait for each other.
LOOKUP_ROWS = 128
# Unsigned numbers, as array indices are here: at a signed index a kernel has to check whether it counts from the end.
ONE = np.uint64(1)


@borrowing
def write_hats(rows, column, knots, hats, heights):
    """Write for the value of each row in a column the hat function left of it, and the height of that one there.

    The next function has the rest to one. At the last knot and beyond, the last
    function has height one, which a missing value has of the first.
    """
    last = np.uint64(knots.size - 1)
    lowest, highest = knots[0], knots[last]
    for i in range(rows.shape[0]):
        value = rows[i, column] if rows[i, column] > lowest else lowest
        heights[i], hats[i] = value if value < highest else highest, 0
    # Binary searches side by side, without branches: their outcome could not be predicted.
    left = last
    while left > ONE:
        half = left >> ONE
        for i in range(rows.shape[0]):
            hats[i] += np.int32(half) if knots[np.uint64(hats[i]) + half] <= heights[i] else np.int32(0)
        left -= half
    for i in range(rows.shape[0]):
        hat = np.uint64(hats[i])
        height = (knots[hat + ONE] - heights[i]) / (knots[hat + ONE] - knots[hat])
        heights[i] = height if height > 0.0 else 1.0
        hats[i] += np.int32(0) if height > 0.0 else np.int32(1)


@borrowing
def write_basis_rows(rows, basis, hats, heights, lefts, ends, indices, data):
    """Write canonical sparse rows: the intercept, the main effects, the pairs; `ends` takes the end of each row.

    `hats` and `heights` are workspaces for the curves and for the pairs of each
    input in LOOKUP_ROWS rows. `lefts` is one for the inputs of a row: the
    height of the basis function in pairs left of each value, and of the next one.
    """
    n_rows, n_inputs = rows.shape
    at = np.uint64(0)
    for top in range(0, n_rows, LOOKUP_ROWS):
        block = rows[top : top + LOOKUP_ROWS]
        for j in range(n_inputs):
            if basis.kinds[j] == NUMERIC and basis.columns[j, FIRST] >= 0:
                knots = basis.knots[basis.knot_ends[j] : basis.knot_ends[j + 1]]
                write_hats(block, j, knots, hats[0, j], heights[0, j])
            if basis.kinds[j] == NUMERIC and basis.pair_sizes[j] > 0:
                knots = basis.pair_knots[basis.pair_knot_ends[j] : basis.pair_knot_ends[j + 1]]
                write_hats(block, j, knots, hats[1, j], heights[1, j])
        for i in range(block.shape[0]):
            indices[at], data[at] = 0, 1.0
            at += ONE
            for j in range(n_inputs):
                value, kind = block[i, j], basis.kinds[j]
                lefts[j, 0], lefts[j, 1] = 0.0, 0.0
                if np.isnan(value):
                    hats[1, j, i] = 0
                    if basis.columns[j, MISSING] >= 0:
                        indices[at], data[at] = basis.columns[j, MISSING], 1.0
                        at += ONE
                elif kind == NUMERIC:
                    clipped = min(max(value, basis.scales[j, LOW]), basis.scales[j, HIGH])
                    indices[at] = basis.columns[j, LINEAR]
                    data[at] = (clipped - basis.scales[j, MEAN]) / basis.scales[j, DEVIATION]
                    at += ONE
                    if basis.columns[j, FIRST] >= 0:
                        column, height = basis.columns[j, FIRST] + hats[0, j, i], heights[0, j, i]
                        indices[at], data[at] = column, height
                        at += ONE
                        if height < 1.0:
                            indices[at], data[at] = column + 1, 1.0 - height
                            at += ONE
                    if basis.pair_sizes[j] > 0:
                        lefts[j, 0], lefts[j, 1] = heights[1, j, i], 1.0 - heights[1, j, i]
                elif kind == BINARY:
                    low = basis.scales[j, LOW]
                    share = min(1.0, max(0.0, (value - low) / (basis.scales[j, HIGH] - low)))
                    hats[1, j, i], lefts[j, 0] = 0, share
                    if share != 0.0:
                        indices[at], data[at] = basis.columns[j, LINEAR], share
                        at += ONE
                elif kind == CATEGORICAL:
                    number, level = np.int64(value), basis.n_levels[j] - 1
                    if 0 <= number < basis.level_ends[j + 1] - basis.level_ends[j]:
                        level = basis.levels[basis.level_ends[j] + number]
                    indices[at], data[at] = basis.columns[j, FIRST] + level, 1.0
                    at += ONE
                    if basis.pair_sizes[j] > 0:
                        hats[1, j, i], lefts[j, 0] = basis.pair_levels[basis.pair_level_ends[j] + level], 1.0
            for q in range(basis.cell_starts.size):
                one, two = basis.pairs[q, 0], basis.pairs[q, 1]
                width = basis.pair_sizes[two]
                first = basis.cell_starts[q] + hats[1, one, i] * width + hats[1, two, i]
                for below in range(2):
                    if lefts[one, below] == 0.0:
                        continue
                    for right in range(2):
                        product = lefts[one, below] * lefts[two, right]
                        if product != 0.0 and basis.cells[first + below * width + right] >= 0:
                            indices[at], data[at] = basis.cells[first + below * width + right], product
                            at += ONE
            ends[top + i] = at


# The code of a missing value.
NO_VALUE = 0


@kernel
def write_value_codes(rows, tables, out):
    """Write the code of every value: 0 if missing, else 1 + the number of cuts below it, or that of its category."""
    for i in range(rows.shape[0]):
        row, codes = rows[i], out[i]
        for j in range(codes.size):
            value = row[tables.sources[j]]
            if np.isnan(value):
                codes[j] = NO_VALUE
            elif tables.pooled_codes[j] > 0:
                number, first = np.int64(value), tables.category_ends[j]
                listed = 0 <= number < tables.category_ends[j + 1] - first
                codes[j] = tables.category_codes[first + number] if listed else tables.pooled_codes[j]
            else:
                # Binary search without branches: their outcome could not be predicted.
                first, left = tables.cut_ends[j], tables.cut_ends[j + 1] - tables.cut_ends[j]
                while left > 1:
                    half = left >> 1
                    first += half if tables.cuts[first + half - 1] < value else 0
                    left -= half
                above = 1 if left == 1 and tables.cuts[first] < value else 0
                codes[j] = first + above - tables.cut_ends[j] + 1


@kernel
def densify_rows(rows, factors, out):
    """Write each sparse row, times its factor, into a row of `out`, which must be zero."""
    for i in range(rows.indptr.size - 1):
        line, factor = out[i], factors[i]
        for at in range(rows.indptr[i], rows.indptr[i + 1]):
            line[rows.indices[at]] = factor * rows.data[at]


@inlined
def value_key(bits, odd):
    """Return a hash of the bits of a float64 number, times an odd number; see `write_row_keys`."""
    if bits & ABSOLUTE_BITS == 0:
        bits = np.uint64(0)
    elif bits & ABSOLUTE_BITS > INFINITE_BITS:
        bits = np.uint64(1)
    mixed = (bits ^ (bits >> np.uint64(32))) * odd
    return (mixed ^ (mixed >> np.uint64(29))) * odd


@kernel
def write_row_keys(bits, odd, keys):
    """Write a hash of each row: the sum of the mixed bits of its values, each times an odd number of its column.

    `bits` are those of float64 numbers. All NaN are alike, and so are zero and minus zero.
    """
    for i in range(bits.shape[0]):
        key = np.uint64(0)
        for j in range(bits.shape[1]):
            key += value_key(bits[i, j], odd[j])
        keys[i] = key
