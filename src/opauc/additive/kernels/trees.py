"""Rows of codes routed through the trees of an ensemble: their leaves, and the part of each column in their scores."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from opauc.core.kernels.compile import inlined, kernel

# Rows that go through a tree together: their codes and the tree stay in the cache.
ROWS_PER_BLOCK = 64


class TreeSplits(NamedTuple):
    """The splits of all trees, tree after tree; a row goes to the first child if its code is at most that of the split.

    A child is the number of a split, or ~k for leaf k; leaves are numbered
    across all trees.
    """

    columns: np.ndarray  # (n_splits,) int32
    codes: np.ndarray  # (n_splits,) uint8
    children: np.ndarray  # (n_splits, 2) int32
    roots: np.ndarray  # (n_trees,) int32: the first split of each tree


@inlined
def next_node(row, splits, at):
    """Return the child of a node that a row goes to; a leaf stays. Without branches: their outcome is unpredictable."""
    split = at if at >= 0 else 0
    child = splits.children[split, 1 if row[splits.columns[split]] > splits.codes[split] else 0]
    return child if at >= 0 else at


@kernel
def write_leaves(codes, splits, out):
    """Write the leaf of every row, codes[i, j] being that of column j, in every tree.

    Four rows at a time: a step waits for memory, and the steps of other rows fill the time.
    """
    n_rows = codes.shape[0]
    for begin in range(0, n_rows, ROWS_PER_BLOCK):
        end = min(n_rows, begin + ROWS_PER_BLOCK)
        for t in range(splits.roots.size):
            i = begin
            while i + 4 <= end:
                one = two = three = four = splits.roots[t]
                while (one & two & three & four) >= 0:  # negative only if all are leaves
                    one = next_node(codes[i], splits, one)
                    two = next_node(codes[i + 1], splits, two)
                    three = next_node(codes[i + 2], splits, three)
                    four = next_node(codes[i + 3], splits, four)
                out[i, t], out[i + 1, t], out[i + 2, t], out[i + 3, t] = ~one, ~two, ~three, ~four
                i += 4
            while i < end:
                at = splits.roots[t]
                while at >= 0:
                    at = next_node(codes[i], splits, at)
                out[i, t] = ~at
                i += 1


@kernel
def add_leaf_weights(leaves, weights, out):
    """Add to each row of `out` the weights of its leaves."""
    for i in range(leaves.shape[0]):
        total = 0.0
        for t in range(leaves.shape[1]):
            total += weights[leaves[i, t]]
        out[i] += total


@kernel
def add_leaf_terms(leaves, residuals, curvatures, residual_sums, curvature_sums):
    """Add the residual and the curvature of each row to the sums of its leaves."""
    for i in range(leaves.shape[0]):
        residual, curvature = residuals[i], curvatures[i]
        for t in range(leaves.shape[1]):
            leaf = leaves[i, t]
            residual_sums[leaf] += residual
            curvature_sums[leaf] += curvature


@kernel
def write_node_values(splits, weights, mass, values):
    """Write into `values` the mean weight of the leaves below each split, weighted by their mass.

    `mass` has the mass of the leaves, and room for that of the splits before them: leaf k is at n_splits + k, here and
    in `values`. Where no leaf has mass, the mean of the children counts.
    """
    n_splits = splits.columns.size
    for leaf in range(weights.size):
        values[n_splits + leaf] = weights[leaf]
    for split in range(n_splits - 1, -1, -1):
        total, product, plain = 0.0, 0.0, 0.0
        for side in range(2):
            child = splits.children[split, side]
            node = child if child >= 0 else n_splits + ~child
            total += mass[node]
            product += mass[node] * values[node]
            plain += 0.5 * values[node]
        mass[split] = total
        values[split] = product / total if total > 0.0 else plain


@kernel
def add_path_shares(codes, splits, values, out):
    """Add to out[i, j] what the splits on column j add to the score of row i along its paths.

    A split gives its column the difference between the value of the child and its own: over a path they add up to the
    value of the leaf less that of the root. `values` are those of `write_node_values`.
    """
    n_rows, n_splits = codes.shape[0], splits.columns.size
    for begin in range(0, n_rows, ROWS_PER_BLOCK):
        for t in range(splits.roots.size):
            for i in range(begin, min(n_rows, begin + ROWS_PER_BLOCK)):
                row, shares = codes[i], out[i]
                at = splits.roots[t]
                value = values[at]
                while at >= 0:
                    child = next_node(row, splits, at)
                    below = values[child if child >= 0 else n_splits + ~child]
                    shares[splits.columns[at]] += below - value
                    at, value = child, below
