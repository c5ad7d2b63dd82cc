"""A tree ensemble as flat arrays: splits on the codes of values, and the leaf values as grown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from opauc.additive.basis.bins import SCHEMA as CODES
from opauc.additive.basis.bins import ValueCodes
from opauc.additive.kernels.trees import TreeSplits, add_leaf_weights, write_leaves
from opauc.core.array_schema import ArrayRule, check_arrays
from opauc.types import Arrays, Floats, NamedArrays

SCHEMA = CODES | {
    "columns": ArrayRule("int32", "splits", low=0, below="coded"),
    "codes": ArrayRule("uint8", "splits"),
    "children": ArrayRule("int32", "splits 2"),
    "roots": ArrayRule("int32", "trees", low=0),
    "values": ArrayRule("float64", "leaves"),
}
# Rows that are routed at a time: their leaves stay in the cache.
ROWS_PER_BLOCK = 1024


@dataclass(frozen=True, eq=False)
class TreeEnsemble:
    """Trees that split on the codes of values; the score of a row is the sum of the values of its leaves.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.additive.basis.bins import ValueCodes
    >>> from opauc.additive.basis.ensemble import TreeEnsemble
    >>> from opauc.additive.kernels.trees import TreeSplits
    >>> sample, labels = np.array([[0.0], [1.0], [4.0]]), np.array([0, 1, 1], np.int8)
    >>> codes = ValueCodes.of(sample, labels, np.ones(3), np.zeros(1, bool))
    >>> first = np.zeros(1, np.int32)
    >>> splits = TreeSplits(first, np.array([1], np.uint8), np.array([[~0, ~1]], np.int32), first)
    >>> TreeEnsemble(codes, splits, np.array([-1.0, 1.0])).scores(sample).tolist()
    [-1.0, 1.0, 1.0]
    """

    codes: ValueCodes
    splits: TreeSplits
    values: Floats  # (n_leaves,)

    @property
    def n_trees(self) -> int:
        """Number of trees."""
        return self.splits.roots.size

    @property
    def n_leaves(self) -> int:
        """Number of leaves of all trees: a tree has one more leaf than splits."""
        return self.splits.columns.size + self.n_trees

    @property
    def inputs(self) -> NDArray[np.int64]:
        """The inputs that trees split on, in ascending order."""
        return np.unique(self.codes.sources[self.splits.columns])

    def leaves(self, codes: NDArray[np.uint8]) -> NDArray[np.int32]:
        """Return the leaf of each coded row in each tree, of shape (n_rows, n_trees)."""
        out = np.empty((len(codes), self.n_trees), np.int32)
        write_leaves(codes, self.splits, out)
        return out

    def products(self, codes: NDArray[np.uint8], weights: Floats) -> Floats:
        """Return the sum of the weights of the leaves of each coded row."""
        out = np.zeros(len(codes))
        for start in range(0, len(codes), ROWS_PER_BLOCK):
            part = slice(start, start + ROWS_PER_BLOCK)
            add_leaf_weights(self.leaves(codes[part]), weights, out[part])
        return out

    def scores(self, rows: Floats) -> Floats:
        """Return the scores of rows with the leaf values as grown."""
        return self.products(self.codes.of_rows(rows), self.values)

    def to_arrays(self) -> Arrays:
        """Return copies of all arrays, for a file or the network."""
        splits = {name: part.copy() for name, part in self.splits._asdict().items()}
        return self.codes.to_arrays() | splits | {"values": self.values.copy()}

    @classmethod
    def from_arrays(cls, n_inputs: int, arrays: NamedArrays) -> Self:
        """Return the ensemble from `to_arrays`; raise ValueError if they are not trees on so many inputs."""
        sizes = check_arrays(SCHEMA, arrays, {"inputs": n_inputs})
        codes = {name: arrays[name] for name in CODES}
        splits = TreeSplits(*(np.ascontiguousarray(arrays[name]) for name in TreeSplits._fields))
        if not splits.roots.size or not _are_trees(splits) or sizes["leaves"] != sizes["splits"] + sizes["trees"]:
            raise ValueError("expected one or more trees that each end in leaves with a value")
        return cls(ValueCodes.from_arrays(n_inputs, codes), splits, np.ascontiguousarray(arrays["values"]))


def join_ensembles(parts: Sequence[TreeEnsemble], weights: Floats) -> TreeEnsemble:
    """Return the ensemble whose scores are the weighted sum of those of others, which share their codes."""
    n_splits = np.array([part.splits.columns.size for part in parts])
    first_splits = np.cumsum(n_splits) - n_splits
    n_leaves = np.array([part.n_leaves for part in parts])
    first_leaves = np.cumsum(n_leaves) - n_leaves
    children = [
        np.where(part.splits.children >= 0, part.splits.children + split, part.splits.children - leaf)
        for part, split, leaf in zip(parts, first_splits.tolist(), first_leaves.tolist(), strict=True)
    ]
    splits = TreeSplits(
        np.concatenate([part.splits.columns for part in parts]),
        np.concatenate([part.splits.codes for part in parts]),
        np.concatenate(children).astype(np.int32),
        np.concatenate([part.splits.roots + first for part, first in zip(parts, first_splits, strict=True)]).astype(
            np.int32
        ),
    )
    values = [weight * part.values for weight, part in zip(weights.tolist(), parts, strict=True)]
    return TreeEnsemble(parts[0].codes, splits, np.concatenate(values))


def _are_trees(splits: TreeSplits) -> bool:
    """Tell whether the splits from each root to the next form a tree, with leaves numbered tree after tree."""
    n_splits, n_leaves = splits.columns.size, splits.columns.size + splits.roots.size
    ends = np.append(splits.roots[1:], n_splits)
    if splits.roots[0] != 0 or (ends <= splits.roots).any():
        return False
    children = splits.children.ravel()
    parents = np.repeat(np.arange(n_splits), 2)
    inner, tree_ends = children >= 0, np.repeat(ends, 2 * (ends - splits.roots))
    # A split follows its parent in the same tree, and every split but the roots has exactly one parent.
    forward = ((children > parents) & (children < tree_ends))[inner].all()
    reached, leaves = np.sort(np.concatenate([children[inner], splits.roots])), ~children[~inner]
    order = np.argsort(leaves)
    by_tree = (np.diff(tree_ends[~inner][order]) >= 0).all()
    numbered = np.array_equal(reached, np.arange(n_splits)) and np.array_equal(leaves[order], np.arange(n_leaves))
    return bool(forward and by_tree and numbered)


class ValidationGain(NamedTuple):
    """The gain of a tree ensemble on validation rows: in standard errors, and as a share of the log loss.

    Attributes
    ----------
    errors : float
        The gain in standard errors.
    share : float
        The gain as a share of the log loss without trees.
    """

    errors: float
    share: float
