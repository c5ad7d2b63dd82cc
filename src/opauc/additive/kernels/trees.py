"""A tree grown leaf by leaf, each time by the split that gains most, from sums over the codes of inputs.

As in tests of pairs, the usual code of an input is left out of the sums: what
it holds is the rest of all. So rows of zeros, but for a few, cost few sums.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from opauc.core.kernels.compile import kernel
from opauc.core.kernels.simd import FEW, few_at, plus, put_lanes

# The terms of a row; one more of them is always zero, so that all fit a register.
RESIDUAL, CURVATURE, WEIGHT = range(3)
N_TERMS = FEW
# A split that gains less than this is what rounding leaves of none.
LEAST_GAIN = 1e-9


class CodedRows(NamedTuple):
    """Rows of codes; `entries` are the places of those that are not usual, row after row, up to `ends`.

    The codes of input j have the places from starts[j] to starts[j + 1].
    """

    codes: np.ndarray  # (n, d) uint8
    usual: np.ndarray  # (d,) uint8
    starts: np.ndarray  # (d + 1,) int32
    entries: np.ndarray  # int32
    ends: np.ndarray  # (n + 1,) int64


class TreeLimits(NamedTuple):
    """How far a tree grows: to so many leaves, each of such a weight; `ridge` is added to the curvature of a leaf."""

    n_leaves: int
    least_weight: float
    ridge: float


@kernel
def write_entries(codes, usual, starts, ends, entries):
    """Write the places of codes that are not usual, and where those of each row end."""
    at = 0
    for i in range(codes.shape[0]):
        for j in range(codes.shape[1]):
            if codes[i, j] != usual[j]:
                entries[at] = starts[j] + codes[i, j]
                at += 1
        ends[i + 1] = at


@kernel
def add_leaf_sums(rows, order, terms, table, totals):
    """Add the terms of the rows in `order`, but for those of no weight, to `totals` and the places of unusual codes."""
    sums, all_terms = table.reshape(table.size), terms.reshape(terms.size)
    for i in order:
        if terms[i, WEIGHT] == 0.0:
            continue
        own = few_at(all_terms, N_TERMS * i)
        for place in rows.entries[rows.ends[i] : rows.ends[i + 1]]:
            put_lanes(sums, N_TERMS * place, plus(few_at(sums, N_TERMS * place), 1.0, own))
        put_lanes(totals, 0, plus(few_at(totals, 0), 1.0, own))


@kernel
def best_split(rows, table, total, limits):
    """Return the gain, the input and the code of the split of a leaf that gains most; no gain if none may be made."""
    best, best_input, best_code = 0.0, -1, 0
    whole = total[RESIDUAL] ** 2 / (total[CURVATURE] + limits.ridge)
    for j in range(rows.usual.size):
        first, last = rows.starts[j], rows.starts[j + 1]
        rest_pull, rest_curvature, rest_weight = total[RESIDUAL], total[CURVATURE], total[WEIGHT]
        for place in range(first, last):
            rest_pull -= table[place, RESIDUAL]
            rest_curvature -= table[place, CURVATURE]
            rest_weight -= table[place, WEIGHT]
        pull, curvature, weight = 0.0, 0.0, 0.0
        for code in range(last - first - 1):
            if code == rows.usual[j]:
                pull += rest_pull
                curvature += rest_curvature
                weight += rest_weight
            else:
                pull += table[first + code, RESIDUAL]
                curvature += table[first + code, CURVATURE]
                weight += table[first + code, WEIGHT]
            if weight < limits.least_weight or total[WEIGHT] - weight < limits.least_weight:
                continue
            other = total[RESIDUAL] - pull
            beside = max(total[CURVATURE] - curvature, 0.0) + limits.ridge
            gain = pull * pull / (max(curvature, 0.0) + limits.ridge) + other * other / beside - whole
            if gain > best:
                best, best_input, best_code = gain, j, code
    return best, best_input, best_code


@kernel
def part_rows(rows, order, column, code, room):
    """Put the rows whose code is at most `code` first, each side in its order; return how many they are."""
    n_first, n_second = 0, 0
    codes = rows.codes[:, column]
    for i in order:  # without branches: on which side a row is cannot be foretold
        room[n_second] = i
        order[n_first] = i
        second = 1 if codes[i] > code else 0
        n_second += second
        n_first += 1 - second
    for k in range(n_second):
        order[n_first + k] = room[k]
    return n_first


@kernel
def grow_tree(rows, order, terms, limits, tables, inputs, codes, children, totals, bounds):
    """Grow a tree on the rows in `order`, which is put leaf by leaf; return the number of its leaves.

    `terms` has the pull, the curvature and the weight of every row. The splits
    are written from the front, numbered from zero, the root first. The rows of
    leaf k are those of `order` from bounds[k, 0] to bounds[k, 1], and totals[k]
    the sums of their terms. `tables` is room for the sums of every leaf.
    """
    n_places = rows.starts[-1]
    room = np.empty(order.size, order.dtype)
    gains, split_inputs, split_codes = (
        np.zeros(limits.n_leaves),
        np.zeros(limits.n_leaves, np.int64),
        np.zeros(limits.n_leaves, np.int64),
    )
    above = np.full((limits.n_leaves, 2), -1)  # the split over each leaf, and on which side of it the leaf is
    bounds[0, 0], bounds[0, 1] = 0, order.size
    tables[0], totals[0] = 0.0, 0.0
    add_leaf_sums(rows, order, terms, tables[0], totals[0])
    gains[0], split_inputs[0], split_codes[0] = best_split(rows, tables[0], totals[0], limits)
    n_leaves = 1
    while n_leaves < limits.n_leaves:
        leaf = np.argmax(gains[:n_leaves])
        if gains[leaf] <= LEAST_GAIN:
            break
        split, fresh = n_leaves - 1, n_leaves
        inputs[split], codes[split] = split_inputs[leaf], split_codes[leaf]
        children[split, 0], children[split, 1] = ~leaf, ~fresh
        if above[leaf, 0] >= 0:
            children[above[leaf, 0], above[leaf, 1]] = split
        above[leaf, 0], above[leaf, 1], above[fresh, 0], above[fresh, 1] = split, 0, split, 1
        begin, end = bounds[leaf, 0], bounds[leaf, 1]
        middle = begin + part_rows(rows, order[begin:end], inputs[split], codes[split], room)
        bounds[leaf, 1], bounds[fresh, 0], bounds[fresh, 1] = middle, middle, end
        few, many = (leaf, fresh) if middle - begin <= end - middle else (fresh, leaf)
        if few == leaf:  # the sums of the leaf before stand where those of the many are to be
            for place in range(n_places):
                for term in range(N_TERMS):
                    tables[fresh, place, term] = tables[leaf, place, term]
        tables[few] = 0.0
        for term in range(N_TERMS):
            totals[many, term] = totals[leaf, term]
            totals[few, term] = 0.0
        add_leaf_sums(rows, order[bounds[few, 0] : bounds[few, 1]], terms, tables[few], totals[few])
        for place in range(n_places):
            for term in range(N_TERMS):
                tables[many, place, term] -= tables[few, place, term]
        for term in range(N_TERMS):
            totals[many, term] -= totals[few, term]
        for side in (leaf, fresh):
            gains[side], split_inputs[side], split_codes[side] = best_split(rows, tables[side], totals[side], limits)
        n_leaves += 1
    return n_leaves


class TreeSplits(NamedTuple):
    """Splits of one tree after the other; a row goes to the first child if its code is at most the split's.

    A child is the number of a split, or ~k for leaf k; leaves are numbered
    through all trees.
    """

    inputs: np.ndarray  # (n_splits,) int32
    codes: np.ndarray  # (n_splits,) uint8
    children: np.ndarray  # (n_splits, 2) int32
    roots: np.ndarray  # (n_trees,) int32: the first split of each tree


@kernel
def write_grown_leaves(order, bounds, out):
    """Write the leaf of the rows that a tree was grown on: those of leaf k are in `order` between bounds[k]."""
    for k in range(len(bounds)):
        for i in order[bounds[k, 0] : bounds[k, 1]]:
            out[i] = k


@kernel
def write_leaves(codes, splits, out):
    """Write the leaf of every row, codes[i, j] being the code of input j, in every tree."""
    for i in range(codes.shape[0]):
        row = codes[i]
        for t in range(splits.roots.size):
            at = splits.roots[t]
            while at >= 0:
                right = 1 if row[splits.inputs[at]] > splits.codes[at] else 0
                at = splits.children[at, right]
            out[i, t] = ~at


# Rows that pull less than this are nearly explained: one in so many stands for all of them.
LITTLE, ONE_IN = 0.02, 4


@kernel
def write_terms(some, scores, labels, weight, turn, terms):
    """Write for some rows the negative gradient and the second derivative of their weighted loss, and their weight.

    Of those that pull little, one in a few has the weight of all, which one by
    `turn`, and the terms of the others are zero.
    """
    met = turn
    for i in some:
        chance = 1.0 / (1.0 + np.exp(-scores[i]))
        pull, own_weight = labels[i] - chance, weight[i]
        if abs(pull) < LITTLE:
            met += 1
            own_weight = ONE_IN * own_weight if met % ONE_IN == 0 else 0.0
        terms[i, RESIDUAL] = own_weight * pull
        terms[i, CURVATURE] = own_weight * chance * (1.0 - chance)
        terms[i, WEIGHT] = own_weight
