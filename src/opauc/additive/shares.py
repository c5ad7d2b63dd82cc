"""What each feature has to do with the weights of leaves, by the splits on the way to them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from opauc.additive.basis.basis import Basis
from opauc.additive.drift import BinCounts
from opauc.additive.kernels.rows import BINARY, CATEGORICAL, HIGH, LOW, NUMERIC
from opauc.additive.kernels.trees import TreeSplits
from opauc.types import Floats


class LeafShares(NamedTuple):
    """The inputs that some split is on, the share of each in every leaf's weight, and what no split has part in."""

    inputs: NDArray[np.int32]
    shares: Floats  # (n_leaves, n_inputs)
    roots: float  # the sum of the values of all roots: every row has it


def leaf_shares(splits: TreeSplits, weights: Floats, mass: Floats) -> LeafShares:
    """Return the weight of every leaf divided among the inputs of the splits that lead to it.

    A node has the mean weight of the leaves below it, weighted by the mass of
    their rows, or their plain mean where there are none. A split gives its input
    what a child has above the node: a weight is the value of the root and the
    sum of its shares.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.additive.kernels.trees import TreeSplits
    >>> from opauc.additive.shares import leaf_shares
    >>> children = np.array([[~0, 1], [~1, ~2]], np.int32)
    >>> splits = TreeSplits(np.array([4, 7], np.int32), np.zeros(2, np.uint8), children, np.zeros(1, np.int32))
    >>> inputs, shares, roots = leaf_shares(splits, np.array([0.0, 1.0, 5.0]), np.array([2.0, 1.0, 1.0]))
    >>> inputs.tolist(), roots
    ([4, 7], 1.5)
    >>> shares
    array([[-1.5,  0. ],
           [ 1.5, -2. ],
           [ 1.5,  2. ]])
    """
    n_splits, n_leaves = splits.inputs.size, weights.size
    mass = np.maximum(mass, 0.0)  # sums that rows were taken out of may be rounded below zero
    # Nodes are splits and then leaves from the last to the first: leaf k is ~k, as among children.
    sums = np.zeros((n_splits + n_leaves, 4))
    sums[n_splits:] = np.stack([mass * weights, mass, weights, np.ones(n_leaves)], axis=1)[::-1]
    for split in range(n_splits - 1, -1, -1):
        sums[split] = sums[splits.children[split]].sum(axis=0)
    weighted, total, plain, count = sums.T
    values = np.where(total > 0.0, weighted / np.where(total > 0.0, total, 1.0), plain / count)
    values[n_splits:] = weights[::-1]
    inputs, places = np.unique(splits.inputs, return_inverse=True)
    shares = np.zeros((values.size, inputs.size))
    for split, (below, place) in enumerate(zip(splits.children, places, strict=True)):
        shares[below] = shares[split]
        shares[below, place] += values[below] - values[split]
    return LeafShares(inputs, shares[n_splits:][::-1], float(values[splits.roots].sum()))


def code_shares(seen: BinCounts, own: Floats) -> Floats:
    """Return the share of the rows that have each of some values told apart, from the rows of each."""
    shares: Floats = own / max(float(seen.first[0] + seen.later[0]), 1e-300)
    return shares


def row_shares(basis: Basis, seen: BinCounts, finer: Floats, j: int) -> Floats | None:
    """Return the share of the rows at each value at which the effect of an input is given; None where unknown.

    A value between two knots counts as partly at each, as its hats do; `finer`
    has the rows of each finer level.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.additive.basis.basis import Basis
    >>> from opauc.additive.drift import BinCounts
    >>> from opauc.additive.shares import row_shares
    >>> rows = np.array([[0.0], [1.0], [2.0], [np.nan]])
    >>> basis = Basis.of(rows, np.ones(4), np.zeros(1, bool), n_knots=8)
    >>> row_shares(basis, BinCounts.of(basis.rows(rows)), np.empty(0), 0)
    array([0.25, 0.25, 0.25, 0.25])
    """
    tables, kind = basis.tables, basis.tables.kinds[j]
    straight, first, missing = tables.columns[j].tolist()
    sums = seen.first + seen.later
    total = max(float(sums[0]), 1e-300)
    absent = sums[missing : missing + 1] if missing >= 0 else np.empty(0)
    if kind == CATEGORICAL:
        own = finer[basis.random_effects.of_input(j)]
        found = np.concatenate([sums[first : first + tables.n_levels[j]], own])
        found[int(tables.n_levels[j]) - 1] -= own.sum()  # these share the last column
    elif kind == BINARY:
        found = np.array([total - float(absent.sum()) - sums[straight], sums[straight]])
    elif kind == NUMERIC and first >= 0:
        knots = tables.knots[tables.knot_ends[j] : tables.knot_ends[j + 1]]
        places = np.unique([*knots, tables.scales[j, LOW], tables.scales[j, HIGH]])
        found = np.zeros(places.size)
        found[np.searchsorted(places, knots)] = sums[first : first + knots.size]
    elif kind == NUMERIC:
        return None
    else:
        found = np.empty(0)
    shares: Floats = np.maximum(np.concatenate([found, absent]), 0.0) / total
    return shares
