"""Trees grown best-first from sums over the codes of inputs.

As in tests of pairs, sums of the most frequent code of an input are not kept:
they are the total less the others. So nearly constant inputs cost few sums.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from opauc.core.kernels.compile import kernel
from opauc.core.kernels.simd import FEW, few_at, plus, put_lanes

# The terms of a row, padded with zeros to fill a SIMD register.
RESIDUAL, CURVATURE, WEIGHT = range(3)
N_TERMS = FEW
# A smaller gain of a split is a rounding error.
MIN_GAIN = 1e-9


class CodedRows(NamedTuple):
    """Rows of codes; `entries` are the indices of all but the most frequent codes, row after row, up to `ends`.

    The codes of input j have the indices from starts[j] to starts[j + 1].
    """

    codes: np.ndarray  # (n, d) uint8
    frequent: np.ndarray  # (d,) uint8
    starts: np.ndarray  # (d + 1,) int32
    entries: np.ndarray  # int32
    ends: np.ndarray  # (n + 1,) int64


class TreeLimits(NamedTuple):
    """Limits of the growth of a tree: leaves, minimum weight of a leaf; `ridge` is added to the curvature of a leaf."""

    n_leaves: int
    min_weight: float
    ridge: float


@kernel
def write_entries(codes, frequent, starts, ends, entries):
    """Write the indices of all but the most frequent codes, and where those of each row end."""
    at = 0
    for i in range(codes.shape[0]):
        for j in range(codes.shape[1]):
            if codes[i, j] != frequent[j]:
                entries[at] = starts[j] + codes[i, j]
                at += 1
        ends[i + 1] = at


@kernel
def add_leaf_sums(rows, order, terms, table, totals):
    """Add the terms of the rows in `order` that have a weight to `totals` and to the sums of their entries."""
    sums, all_terms = table.reshape(table.size), terms.reshape(terms.size)
    for i in order:
        if terms[i, WEIGHT] == 0.0:
            continue
        row_terms = few_at(all_terms, N_TERMS * i)
        for entry in rows.entries[rows.ends[i] : rows.ends[i + 1]]:
            put_lanes(sums, N_TERMS * entry, plus(few_at(sums, N_TERMS * entry), 1.0, row_terms))
        put_lanes(totals, 0, plus(few_at(totals, 0), 1.0, row_terms))


@kernel
def best_split(rows, table, total, limits):
    """Return the gain, the input and the code of the best split of a leaf; a gain of zero if no split is allowed."""
    best, best_input, best_code = 0.0, -1, 0
    whole = total[RESIDUAL] ** 2 / (total[CURVATURE] + limits.ridge)
    for j in range(rows.frequent.size):
        first, last = rows.starts[j], rows.starts[j + 1]
        rest_residual, rest_curvature, rest_weight = total[RESIDUAL], total[CURVATURE], total[WEIGHT]
        for at in range(first, last):
            rest_residual -= table[at, RESIDUAL]
            rest_curvature -= table[at, CURVATURE]
            rest_weight -= table[at, WEIGHT]
        residual, curvature, weight = 0.0, 0.0, 0.0
        for code in range(last - first - 1):
            if code == rows.frequent[j]:
                residual += rest_residual
                curvature += rest_curvature
                weight += rest_weight
            else:
                residual += table[first + code, RESIDUAL]
                curvature += table[first + code, CURVATURE]
                weight += table[first + code, WEIGHT]
            if weight < limits.min_weight or total[WEIGHT] - weight < limits.min_weight:
                continue
            other = total[RESIDUAL] - residual
            other_curvature = max(total[CURVATURE] - curvature, 0.0) + limits.ridge
            gain = residual * residual / (max(curvature, 0.0) + limits.ridge) + other * other / other_curvature - whole
            if gain > best:
                best, best_input, best_code = gain, j, code
    return best, best_input, best_code


@kernel
def part_rows(rows, order, column, code, workspace):
    """Move the rows whose code is at most `code` to the front, both sides in their order; return their number."""
    n_first, n_second = 0, 0
    codes = rows.codes[:, column]
    for i in order:  # without branches: their outcome could not be predicted
        workspace[n_second] = i
        order[n_first] = i
        second = 1 if codes[i] > code else 0
        n_second += second
        n_first += 1 - second
    for k in range(n_second):
        order[n_first + k] = workspace[k]
    return n_first


@kernel
def grow_tree(rows, order, terms, limits, tables, inputs, codes, children, totals, bounds):
    """Grow a tree on the rows in `order`, which is sorted by leaf; return the number of its leaves.

    `terms` has the residual, the curvature and the weight of every row. Splits
    are written in the order in which they are made, the root first. The rows of
    leaf k are those of `order` from bounds[k, 0] to bounds[k, 1], and totals[k]
    the sums of their terms. `tables` is a workspace for the sums of every leaf.
    """
    n_entries = rows.starts[-1]
    workspace = np.empty(order.size, order.dtype)
    gains, split_inputs, split_codes = (
        np.zeros(limits.n_leaves),
        np.zeros(limits.n_leaves, np.int64),
        np.zeros(limits.n_leaves, np.int64),
    )
    parents = np.full((limits.n_leaves, 2), -1)  # the split above each leaf, and the side of it
    bounds[0, 0], bounds[0, 1] = 0, order.size
    tables[0], totals[0] = 0.0, 0.0
    add_leaf_sums(rows, order, terms, tables[0], totals[0])
    gains[0], split_inputs[0], split_codes[0] = best_split(rows, tables[0], totals[0], limits)
    n_leaves = 1
    while n_leaves < limits.n_leaves:
        leaf = np.argmax(gains[:n_leaves])
        if gains[leaf] <= MIN_GAIN:
            break
        split, new = n_leaves - 1, n_leaves
        inputs[split], codes[split] = split_inputs[leaf], split_codes[leaf]
        children[split, 0], children[split, 1] = ~leaf, ~new
        if parents[leaf, 0] >= 0:
            children[parents[leaf, 0], parents[leaf, 1]] = split
        parents[leaf, 0], parents[leaf, 1], parents[new, 0], parents[new, 1] = split, 0, split, 1
        begin, end = bounds[leaf, 0], bounds[leaf, 1]
        middle = begin + part_rows(rows, order[begin:end], inputs[split], codes[split], workspace)
        bounds[leaf, 1], bounds[new, 0], bounds[new, 1] = middle, middle, end
        smaller, larger = (leaf, new) if middle - begin <= end - middle else (new, leaf)
        if smaller == leaf:  # the sums of the split leaf become those of the larger side
            for entry in range(n_entries):
                for term in range(N_TERMS):
                    tables[new, entry, term] = tables[leaf, entry, term]
        tables[smaller] = 0.0
        for term in range(N_TERMS):
            totals[larger, term] = totals[leaf, term]
            totals[smaller, term] = 0.0
        add_leaf_sums(rows, order[bounds[smaller, 0] : bounds[smaller, 1]], terms, tables[smaller], totals[smaller])
        for entry in range(n_entries):
            for term in range(N_TERMS):
                tables[larger, entry, term] -= tables[smaller, entry, term]
        for term in range(N_TERMS):
            totals[larger, term] -= totals[smaller, term]
        for side in (leaf, new):
            gains[side], split_inputs[side], split_codes[side] = best_split(rows, tables[side], totals[side], limits)
        n_leaves += 1
    return n_leaves


class TreeSplits(NamedTuple):
    """The splits of all trees, tree after tree; a row goes to the first child if its code is at most that of the split.

    A child is the number of a split, or ~k for leaf k; leaves are numbered
    across all trees.
    """

    inputs: np.ndarray  # (n_splits,) int32
    codes: np.ndarray  # (n_splits,) uint8
    children: np.ndarray  # (n_splits, 2) int32
    roots: np.ndarray  # (n_trees,) int32: the first split of each tree


@kernel
def write_grown_leaves(order, bounds, out):
    """Write the leaf of each row that a tree was grown on: those of leaf k are in `order` between bounds[k]."""
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


# Of rows with a smaller residual one in so many is used, with the weight of all: they hardly change a tree.
SMALL_RESIDUAL, SUBSAMPLING = 0.02, 4


@kernel
def write_terms(order, scores, labels, weight, turn, terms):
    """Write for the rows in `order` the residual and the second derivative of their weighted loss, and their weight.

    Rows with a small residual are subsampled: one in SUBSAMPLING, chosen by
    `turn`, has the weight of all, and the terms of the others are zero.
    """
    n_small = turn
    for i in order:
        probability = 1.0 / (1.0 + np.exp(-scores[i]))
        residual, row_weight = labels[i] - probability, weight[i]
        if abs(residual) < SMALL_RESIDUAL:
            n_small += 1
            row_weight = SUBSAMPLING * row_weight if n_small % SUBSAMPLING == 0 else 0.0
        terms[i, RESIDUAL] = row_weight * residual
        terms[i, CURVATURE] = row_weight * probability * (1.0 - probability)
        terms[i, WEIGHT] = row_weight
