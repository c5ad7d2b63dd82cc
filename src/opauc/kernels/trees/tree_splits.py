"""Trees of splits on the codes of inputs: which leaf a row ends in."""

from typing import NamedTuple

import numpy as np

from opauc.kernels.compile_kernel import kernel


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
