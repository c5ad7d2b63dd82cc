"""Scores of rows, without their columns: the weights of main effects, pairs, random effects, crossed codes and leaves.

The arguments `basis`, `effects`, `crossed`, `splits` and `tables` are those of `ScoreTables`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from opauc.additive.kernels.rows import (
    BINARY,
    CATEGORICAL,
    DEVIATION,
    FIRST,
    HIGH,
    LINEAR,
    LOW,
    MEAN,
    MISSING,
    NO_VALUE,
    NUMERIC,
    ONE,
    value_key,
    write_hats,
)
from opauc.additive.kernels.trees import next_node
from opauc.core.kernels.compile import ordered

# Of fewer rows each goes through the trees by itself.
MIN_DIVIDED_ROWS = 64


class Workspace(NamedTuple):
    """What the kernel writes into on its way; some rows are looked up together, more are divided by trees together."""

    hats: np.ndarray  # (n_inputs + 1, n_lookup_rows) int32: the left basis function in pairs, the last line for curves
    heights: np.ndarray  # (2, n_inputs + 1, n_lookup_rows): its height and that of the next one
    codes: np.ndarray  # (n_coded, n_divided_rows) uint8: the codes of values that trees split on
    found: np.ndarray  # (n_divided_rows,) int32: of one column, the cuts below each value
    sums: np.ndarray  # (n_divided_rows,)
    places: np.ndarray  # (2, n_divided_rows) uint16: the numbers of the rows in two orders
    pending: np.ndarray  # (n, 4) int32: nodes to come, with their first and end place, and in which of the orders


@ordered
def add_main_effect(rows, j, basis, weights, hats, heights, out):
    """Add to `out` what the columns of an input by itself contribute, and write its basis functions in pairs."""
    kind, first, missing = basis.kinds[j], basis.columns[j, FIRST], basis.columns[j, MISSING]
    in_pairs, of_missing = basis.pair_sizes[j] > 0, weights[missing] if missing >= 0 else 0.0
    curve, curve_heights = hats[-1], heights[0, -1]
    if kind == NUMERIC:
        low, high, mean = basis.scales[j, LOW], basis.scales[j, HIGH], basis.scales[j, MEAN]
        deviation, slope = basis.scales[j, DEVIATION], weights[basis.columns[j, LINEAR]]
        if first >= 0:
            write_hats(rows, j, basis.knots[basis.knot_ends[j] : basis.knot_ends[j + 1]], curve, curve_heights)
        if in_pairs:
            pair_knots = basis.pair_knots[basis.pair_knot_ends[j] : basis.pair_knot_ends[j + 1]]
            write_hats(rows, j, pair_knots, hats[j], heights[0, j])
        for i in range(rows.shape[0]):
            value = rows[i, j]
            if np.isnan(value):
                continue
            out[i] += (min(max(value, low), high) - mean) / deviation * slope
            if first >= 0:
                column, height = first + curve[i], curve_heights[i]
                out[i] += height * weights[column]
                if height < 1.0:
                    out[i] += (1.0 - height) * weights[column + 1]
            if in_pairs:
                heights[1, j, i] = 1.0 - heights[0, j, i]
    elif kind == BINARY:
        low, high, weight = basis.scales[j, LOW], basis.scales[j, HIGH], weights[basis.columns[j, LINEAR]]
        for i in range(rows.shape[0]):
            if np.isnan(rows[i, j]):
                continue
            share = min(1.0, max(0.0, (rows[i, j] - low) / (high - low)))
            hats[j, i], heights[0, j, i], heights[1, j, i] = 0, share, 0.0
            if share > 0.0:
                out[i] += share * weight
    elif kind == CATEGORICAL:
        begin, size = basis.level_ends[j], basis.level_ends[j + 1] - basis.level_ends[j]
        for i in range(rows.shape[0]):
            value, level = rows[i, j], basis.n_levels[j] - 1
            if np.isnan(value):
                continue
            number = np.int64(value)
            if 0 <= number < size:
                level = basis.levels[begin + number]
            out[i] += weights[first + level]
            if in_pairs:
                hats[j, i] = basis.pair_levels[basis.pair_level_ends[j] + level]
                heights[0, j, i], heights[1, j, i] = 1.0, 0.0
    for i in range(rows.shape[0]):
        if np.isnan(rows[i, j]):
            out[i] += of_missing
            hats[j, i], heights[0, j, i], heights[1, j, i] = 0, 0.0, 0.0


@ordered
def add_pair(basis, q, weights, hats, heights, out):
    """Add to `out` what the columns of a pair contribute."""
    one, two = basis.pairs[q, 0], basis.pairs[q, 1]
    width, begin = basis.pair_sizes[two], basis.cell_starts[q]
    for i in range(out.size):
        first = begin + hats[one, i] * width + hats[two, i]
        for below in range(2):
            if heights[below, one, i] == 0.0:
                continue
            for right in range(2):
                product = heights[below, one, i] * heights[right, two, i]
                if product != 0.0:
                    column = basis.cells[first + below * width + right]
                    if column >= 0:
                        out[i] += product * weights[column]


@ordered
def add_random_effects(rows, effects, weights, sums, out):
    """Add to `out` the effects of the values of each input that has random effects; `sums` is a workspace."""
    sums[: rows.shape[0]] = 0.0
    for group in range(effects.inputs.size):
        j, begin = effects.inputs[group], effects.ends[group]
        size = effects.ends[group + 1] - begin
        for i in range(rows.shape[0]):
            value, at, left = rows[i, j], begin, size
            while left > 1:
                half = left >> 1
                at += half if effects.numbers[at + half] <= value else 0
                left -= half
            sums[i] += weights[at] if effects.numbers[at] == value else 0.0
    for i in range(rows.shape[0]):
        out[i] += sums[i]


@ordered
def add_crossed_codes(rows, crossed, weights, out):
    """Add to `out` the effect of the level of each crossed code: the smaller one of its two."""
    for i in range(rows.shape[0]):
        total = 0.0
        for code in range(crossed.starts.size):
            key = np.uint64(0)
            for place, member in enumerate(range(crossed.member_ends[code], crossed.member_ends[code + 1])):
                edges = crossed.edges[crossed.edge_ends[member] : crossed.edge_ends[member + 1]]
                value = rows[i, crossed.inputs[member]]
                if edges.size == 0:
                    value = np.floor(value)
                elif not np.isnan(value):
                    value = np.float64(np.searchsorted(edges, value, side="right"))
                key += value_key(np.float64(value).view(np.uint64), crossed.mixers[place])
            one = weights[crossed.starts[code] + np.int64((key * crossed.final_mixers[0]) >> crossed.shifts[code])]
            other = weights[crossed.starts[code] + np.int64((key * crossed.final_mixers[1]) >> crossed.shifts[code])]
            total += one if abs(one) <= abs(other) else other
        out[i] += total


@ordered
def write_column_codes(values, column, tables, found, codes):
    """Write the codes of the values of one coded column, as `write_value_codes` does for all columns of each row.

    `found` is a workspace.
    """
    if tables.pooled_codes[column] > 0:
        first, pooled = tables.category_ends[column], tables.pooled_codes[column]
        size = tables.category_ends[column + 1] - first
        for i in range(values.size):
            if np.isnan(values[i]):
                codes[i] = NO_VALUE
                continue
            number = np.int64(values[i])
            codes[i] = tables.category_codes[first + number] if 0 <= number < size else pooled
        return
    cuts = tables.cuts[tables.cut_ends[column] : tables.cut_ends[column + 1]]
    for i in range(values.size):
        found[i] = 0
    # Binary searches side by side, without branches: their outcome could not be predicted.
    left = np.uint64(cuts.size)
    while left > ONE:
        half = left >> ONE
        for i in range(values.size):
            found[i] += np.int32(half) if cuts[np.uint64(found[i]) + half - ONE] < values[i] else np.int32(0)
        left -= half
    if left == ONE:
        for i in range(values.size):
            found[i] += np.int32(1) if cuts[np.uint64(found[i])] < values[i] else np.int32(0)
    for i in range(values.size):
        codes[i] = NO_VALUE if np.isnan(values[i]) else found[i] + 1


@ordered
def add_trees(codes, splits, weights, places, pending, sums):
    """Add to `sums` the weights of the leaves of each row, codes[j, i] being that of column j; tree after tree.

    All rows go through a tree together, split by split: each split divides the rows that reach it, and no row waits for
    the result of its own comparison. `places` and `pending` are those of a `Workspace`.
    """
    for t in range(splits.roots.size):
        for i in range(sums.size):
            places[0, i] = i
        pending[0, 0], pending[0, 1], pending[0, 2], pending[0, 3] = splits.roots[t], 0, sums.size, 0
        top = 1
        while top > 0:
            top -= 1
            node, first, end = pending[top, 0], np.uint64(pending[top, 1]), np.uint64(pending[top, 2])
            side = pending[top, 3]
            rows, divided = places[side], places[1 - side]
            if node < 0:
                weight = weights[~node]
                for k in range(first, end):
                    sums[np.uint64(rows[k])] += weight
                continue
            column, code = codes[splits.columns[node]], splits.codes[node]
            low, high = first, end - ONE
            for k in range(first, end):
                row = rows[k]
                divided[low], divided[high] = row, row
                above = np.uint64(column[np.uint64(row)] > code)
                low += ONE - above
                high -= above
            if low < end:
                pending[top, 0], pending[top, 1], pending[top, 2] = splits.children[node, 1], low, end
                pending[top, 3] = 1 - side
                top += 1
            if first < low:
                pending[top, 0], pending[top, 1], pending[top, 2] = splits.children[node, 0], first, low
                pending[top, 3] = 1 - side
                top += 1


@ordered
def sum_leaves(row, splits, weights):
    """Return the sum of the weights of the leaves of one coded row; four trees at a time."""
    total, t = 0.0, 0
    while t + 4 <= splits.roots.size:
        one, two, three, four = splits.roots[t], splits.roots[t + 1], splits.roots[t + 2], splits.roots[t + 3]
        while (one & two & three & four) >= 0:  # negative only if all are leaves
            one = next_node(row, splits, one)
            two = next_node(row, splits, two)
            three = next_node(row, splits, three)
            four = next_node(row, splits, four)
        total += weights[~one]
        total += weights[~two]
        total += weights[~three]
        total += weights[~four]
        t += 4
    while t < splits.roots.size:
        at = splits.roots[t]
        while at >= 0:
            at = next_node(row, splits, at)
        total += weights[~at]
        t += 1
    return total


@ordered
def write_additive(rows, tables, weights, work, out):
    """Write the scores of rows but for the trees."""
    for i in range(out.size):
        out[i] = weights.columns[0]
    for j in range(rows.shape[1]):
        add_main_effect(rows, j, tables.basis, weights.columns, work.hats, work.heights, out)
    for q in range(tables.basis.cell_starts.size):
        add_pair(tables.basis, q, weights.columns, work.hats, work.heights, out)
    if tables.effects.inputs.size:
        add_random_effects(rows, tables.effects, weights.effects, work.heights[0, -1], out)
    if tables.crossed.starts.size:
        add_crossed_codes(rows, tables.crossed, weights.crossed, out)


@ordered
def add_ensemble(rows, tables, weights, work, out):
    """Add to `out` what the trees contribute to the scores of rows."""
    sums = work.sums[: out.size]
    for column in range(work.codes.shape[0]):
        for i in range(out.size):
            sums[i] = rows[i, tables.codes.sources[column]]
        write_column_codes(sums, column, tables.codes, work.found, work.codes[column])
    if out.size < MIN_DIVIDED_ROWS:
        for i in range(out.size):
            out[i] += sum_leaves(work.codes[:, i], tables.splits, weights.leaves)
        return
    for i in range(out.size):
        sums[i] = 0.0
    add_trees(work.codes, tables.splits, weights.leaves, work.places, work.pending, sums)
    for i in range(out.size):
        out[i] += sums[i]


@ordered
def write_scores(rows, tables, weights, work, out):
    """Write the score of each row. Terms are added in the order of their columns, for one row as for many."""
    n_rows, step = rows.shape[0], work.hats.shape[1]
    for top in range(0, n_rows, step):
        write_additive(rows[top : top + step], tables, weights, work, out[top : top + step])
    if tables.splits.roots.size:
        step = work.codes.shape[1]
        for top in range(0, n_rows, step):
            add_ensemble(rows[top : top + step], tables, weights, work, out[top : top + step])
