"""Rows of inputs to sparse rows of the columns of a basis.

The argument `basis` is a `BasisTables`.
"""

from __future__ import annotations

import numpy as np

from opauc.core.kernels.compile import kernel

# Kinds of inputs.
LEFT_OUT, BINARY, NUMERIC, CATEGORICAL = range(4)
# Columns of `BasisTables.scales`.
LOW, HIGH, MEAN, DEVIATION = range(4)
# Columns of `BasisTables.columns`.
LINEAR, FIRST, MISSING = range(3)
# The bits of a float64 number without its sign, and those of infinity; larger ones are NaN.
ABSOLUTE_BITS, INFINITE_BITS = np.uint64(0x7FFFFFFFFFFFFFFF), np.uint64(0x7FF0000000000000)


@kernel
def hat_at(knots, value):
    """Return the hat function whose knot is left of `value`, and its height there; the next one has the rest to one."""
    last = knots.size - 1
    if value <= knots[0]:
        return 0, 1.0
    if value >= knots[last]:
        return last, 1.0
    # Binary search without branches: their outcome could not be predicted.
    low, left = 0, last
    while left > 1:
        half = left >> 1
        low += half if knots[low + half] <= value else 0
        left -= half
    return low, (knots[low + 1] - value) / (knots[low + 1] - knots[low])


@kernel
def write_inputs(row, basis, at, indices, data, positions, lefts, rights):
    """Write the entries of a row's main effects from `at` on; return where they end.

    For pairs, `positions` takes the basis function left of each value, `lefts`
    its height there and `rights` the height of the next function.
    """
    for j in range(row.size):
        value, kind = row[j], basis.kinds[j]
        positions[j], lefts[j], rights[j] = 0, 0.0, 0.0
        if np.isnan(value):
            if basis.columns[j, MISSING] >= 0:
                indices[at], data[at] = basis.columns[j, MISSING], 1.0
                at += 1
        elif kind == BINARY:
            low = basis.scales[j, LOW]
            share = min(1.0, max(0.0, (value - low) / (basis.scales[j, HIGH] - low)))
            lefts[j] = share
            if share != 0.0:
                indices[at], data[at] = basis.columns[j, LINEAR], share
                at += 1
        elif kind == NUMERIC:
            clipped = min(max(value, basis.scales[j, LOW]), basis.scales[j, HIGH])
            indices[at], data[at] = (
                basis.columns[j, LINEAR],
                (clipped - basis.scales[j, MEAN]) / basis.scales[j, DEVIATION],
            )
            at += 1
            if basis.columns[j, FIRST] >= 0:
                knot, height = hat_at(basis.knots[basis.knot_ends[j] : basis.knot_ends[j + 1]], value)
                indices[at], data[at] = basis.columns[j, FIRST] + knot, height
                at += 1
                if height < 1.0:
                    indices[at], data[at] = basis.columns[j, FIRST] + knot + 1, 1.0 - height
                    at += 1
            if basis.pair_sizes[j] > 0:
                knot, height = hat_at(basis.pair_knots[basis.pair_knot_ends[j] : basis.pair_knot_ends[j + 1]], value)
                positions[j], lefts[j], rights[j] = knot, height, 1.0 - height
        elif kind == CATEGORICAL:
            number, level = np.int64(value), basis.n_levels[j] - 1
            if 0 <= number < basis.level_ends[j + 1] - basis.level_ends[j]:
                level = basis.levels[basis.level_ends[j] + number]
            indices[at], data[at] = basis.columns[j, FIRST] + level, 1.0
            at += 1
            if basis.pair_sizes[j] > 0:
                positions[j], lefts[j] = basis.pair_levels[basis.pair_level_ends[j] + level], 1.0
    return at


@kernel
def write_basis_rows(rows, basis, ends, indices, data):
    """Write canonical sparse rows: the intercept, the main effects, the pairs; `ends` takes the row ends."""
    n_rows, n_inputs = rows.shape
    positions, lefts, rights = np.zeros(n_inputs, np.int64), np.zeros(n_inputs), np.zeros(n_inputs)
    at = 0
    ends[0] = 0
    for i in range(n_rows):
        indices[at], data[at] = 0, 1.0
        at = write_inputs(rows[i], basis, at + 1, indices, data, positions, lefts, rights)
        for q in range(basis.cell_starts.size):
            one, two = basis.pairs[q, 0], basis.pairs[q, 1]
            width = basis.pair_sizes[two]
            first = basis.cell_starts[q] + positions[one] * width + positions[two]
            for below in range(2):
                height = lefts[one] if below == 0 else rights[one]
                if height == 0.0:
                    continue
                for right in range(2):
                    product = height * (lefts[two] if right == 0 else rights[two])
                    if product != 0.0 and basis.cells[first + below * width + right] >= 0:
                        indices[at], data[at] = basis.cells[first + below * width + right], product
                        at += 1
        ends[i + 1] = at


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


@kernel
def write_row_keys(bits, odd, keys):
    """Write a hash of each row: the sum of the mixed bits of its values, each times an odd number of its column.

    `bits` are those of float64 numbers. All NaN are alike, and so are zero and minus zero.
    """
    for i in range(bits.shape[0]):
        key = np.uint64(0)
        for j in range(bits.shape[1]):
            value = bits[i, j]
            if value & ABSOLUTE_BITS == 0:
                value = np.uint64(0)
            elif value & ABSOLUTE_BITS > INFINITE_BITS:
                value = np.uint64(1)
            mixed = (value ^ (value >> np.uint64(32))) * odd[j]
            key += (mixed ^ (mixed >> np.uint64(29))) * odd[j]
        keys[i] = key
