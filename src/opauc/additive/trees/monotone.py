"""Leaf values of a tree ensemble that make its score rise or fall in some inputs, whatever the other inputs are."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from opauc.additive.basis.bins import MAX_CODES
from opauc.additive.basis.ensemble import TreeEnsemble
from opauc.additive.kernels.leaf_order import add_leaf_order, write_pooled_values
from opauc.types import Floats


def monotone_leaf_values(
    ensemble: TreeEnsemble, values: Floats, mass: Floats, directions: Sequence[tuple[int, int]]
) -> Floats:
    """Return leaf values near the given ones, with which each tree rises (1) or falls (-1) in some numeric inputs.

    Two leaves are compared if a row can be moved from one to the other by raising the input alone. A tree is monotone
    if and only if the values of all such leaves are in order, and a sum of monotone trees is monotone. `mass` weights
    the leaves; missing values are not compared.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.additive.basis.bins import ValueCodes
    >>> from opauc.additive.basis.ensemble import TreeEnsemble
    >>> from opauc.additive.kernels.trees import TreeSplits
    >>> from opauc.additive.trees.monotone import monotone_leaf_values
    >>> sample, labels = np.array([[0.0], [1.0], [4.0]]), np.array([0, 1, 1], np.int8)
    >>> codes = ValueCodes.of(sample, labels, np.ones(3), np.zeros(1, bool))
    >>> first = np.zeros(1, np.int32)
    >>> splits = TreeSplits(first, np.array([1], np.uint8), np.array([[~0, ~1]], np.int32), first)
    >>> trees = TreeEnsemble(codes, splits, np.array([2.0, 1.0]))
    >>> monotone_leaf_values(trees, trees.values, np.ones(2), [(0, 1)]).tolist()
    [1.5, 1.5]
    """
    after, splits = values.copy(), ensemble.splits
    signs, sources = dict(directions), ensemble.codes.sources.tolist()
    columns = {column: signs[j] for column, j in enumerate(sources) if j in signs}
    used = np.isin(splits.columns, list(columns))
    ends = np.append(splits.roots[1:], splits.columns.size)
    for tree, (first, end) in enumerate(zip(splits.roots.tolist(), ends.tolist(), strict=True)):
        if used[first:end].any():
            part = slice(first + tree, end + tree + 1)
            precedes = leaf_order(ensemble, slice(first, end), tree, columns)
            after[part] = isotonic(precedes, values[part], mass[part])
    return after


def leaf_order(ensemble: TreeEnsemble, tree: slice, number: int, columns: dict[int, int]) -> NDArray[np.bool_]:
    """Return which leaves of a tree must not have a larger value than which others."""
    splits, n_coded = ensemble.splits, ensemble.codes.n_coded
    n_splits = tree.stop - tree.start
    low = np.zeros((2 * n_splits + 1, n_coded), np.int16)  # of the splits, then of the leaves
    high = np.full(low.shape, MAX_CODES - 1, np.int16)
    children = splits.children[tree]
    places = np.where(children >= 0, children - tree.start, n_splits + ~children - (tree.start + number))
    cuts = zip(splits.columns[tree].tolist(), splits.codes[tree].tolist(), places.tolist(), strict=True)
    for split, (column, cut, (left, right)) in enumerate(cuts):
        for side in (left, right):
            low[side], high[side] = low[split], high[split]
        high[left, column], low[right, column] = min(high[left, column], cut), max(low[right, column], cut + 1)
    low, high = low[n_splits:].copy(), high[n_splits:].copy()
    precedes = np.zeros((n_splits + 1,) * 2, np.bool_)
    for column, sign in columns.items():
        present = low.copy()
        present[:, column] = np.maximum(low[:, column], 1)
        rising = np.zeros_like(precedes)
        add_leaf_order(present, high, column, rising)
        precedes |= rising if sign > 0 else rising.T
    return precedes


def isotonic(precedes: NDArray[np.bool_], values: Floats, weights: Floats) -> Floats:
    """Return values near the given ones that do not fall from a leaf to one that it precedes."""
    n_leaves = values.size
    if not (precedes & (values[:, None] > values)).any():
        return values
    pooled, work = values.copy(), (np.empty(n_leaves, np.int64), np.empty(n_leaves), np.empty(n_leaves))
    write_pooled_values(precedes, _topological_order(precedes), weights, *work, pooled)
    while (precedes & (pooled[:, None] > pooled)).any():  # by rounding, or because leaves precede each other in a ring
        pooled = np.maximum(pooled, np.where(precedes, pooled[:, None], -np.inf).max(axis=0))
    return pooled


def _topological_order(precedes: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return the leaves in an order in which each comes after those that precede it; rings in any order."""
    waiting, order = precedes.sum(axis=0), list[int]()
    left = np.ones(waiting.size, np.bool_)
    while left.any():
        ready = np.flatnonzero(left & (waiting == 0))
        ready = ready if ready.size else np.flatnonzero(left)
        left[ready] = False
        order += ready.tolist()
        waiting = waiting - precedes[ready].sum(axis=0)
    return np.array(order)
