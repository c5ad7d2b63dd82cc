"""The indicator columns of the leaves of a tree ensemble."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from opauc.additive.basis.bins import SCHEMA as CODES
from opauc.additive.basis.bins import ValueCodes
from opauc.additive.basis.tables import BasisTables
from opauc.additive.kernels.trees import TreeSplits, write_leaves
from opauc.core.array_schema import ArrayRule, check_arrays
from opauc.types import Arrays, Floats, NamedArrays

SCHEMA = CODES | {
    "inputs": ArrayRule("int32", "splits", low=0, below="inputs"),
    "codes": ArrayRule("uint8", "splits"),
    "children": ArrayRule("int32", "splits 2"),
    "roots": ArrayRule("int32", "trees", low=0),
    "frozen": ArrayRule("bool", "1"),
}


@dataclass(frozen=True, eq=False)
class LeafIndicators:
    """Trees that split on the codes of values, and one indicator column per leaf: a row has a one in every tree.

    `frozen` says whether the leaves keep the values they were grown with until there are many more rows.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.additive.basis.basis import Basis
    >>> from opauc.additive.basis.leaf_indicators import LeafIndicators
    >>> from opauc.additive.basis.bins import ValueCodes
    >>> from opauc.additive.kernels.trees import TreeSplits
    >>> sample = np.array([[0.0], [1.0], [4.0]])
    >>> basis = Basis.of(sample, np.ones(3), np.zeros(1, bool), n_knots=3)
    >>> codes = ValueCodes.of(basis.tables, np.zeros(basis.n_columns), sample, np.ones(3))
    >>> first = np.zeros(1, np.int32)
    >>> splits = TreeSplits(first, np.array([1], np.uint8), np.array([[~0, ~1]], np.int32), first)
    >>> LeafIndicators(codes, splits).columns(basis.tables, sample).ravel().tolist()
    [0, 1, 1]
    """

    codes: ValueCodes
    splits: TreeSplits
    frozen: bool = False

    @property
    def n_entries(self) -> int:
        """Entries per row: one per tree."""
        return self.splits.roots.size

    @property
    def size(self) -> int:
        """Number of columns: a tree has one more leaf than splits."""
        return self.splits.inputs.size + self.n_entries

    def columns(self, tables: BasisTables, rows: Floats) -> NDArray[np.int32]:
        """Return the leaf of each row in each tree, of shape (n_rows, n_trees)."""
        out = np.empty((len(rows), self.n_entries), np.int32)
        write_leaves(self.codes.of_rows(tables, rows), self.splits, out)
        return out

    def products(self, tables: BasisTables, rows: Floats, weights: Floats) -> Floats:
        """Return the sum of the weights of each row's leaves."""
        return np.asarray(weights[self.columns(tables, rows)].sum(axis=1))

    def names(self) -> list[str]:
        """Return a name for each column."""
        ends = np.append(self.splits.roots[1:], self.splits.inputs.size)
        counts = (ends - self.splits.roots + 1).tolist()
        return [f"leaf {leaf} of tree {tree}" for tree, count in enumerate(counts) for leaf in range(count)]

    def to_arrays(self) -> Arrays:
        """Return copies of all arrays, for a file or the network."""
        splits = {name: part.copy() for name, part in self.splits._asdict().items()}
        return self.codes.to_arrays() | splits | {"frozen": np.array([self.frozen])}

    @classmethod
    def from_arrays(cls, tables: BasisTables, arrays: NamedArrays) -> Self:
        """Return the leaves from `to_arrays`; raise ValueError if they are not trees on the inputs of the basis."""
        check_arrays(SCHEMA, arrays, {"inputs": tables.kinds.size})
        codes = {name: arrays[name] for name in CODES}
        splits = TreeSplits(*(np.ascontiguousarray(arrays[name]) for name in TreeSplits._fields))
        if not splits.roots.size or not _are_trees(splits):
            raise ValueError("expected one or more trees that each end in leaves")
        return cls(ValueCodes.from_arrays(tables, codes), splits, bool(arrays["frozen"][0]))


def _are_trees(splits: TreeSplits) -> bool:
    """Tell whether the splits from each root to the next form a tree, with leaves numbered tree after tree."""
    n_splits, n_leaves = splits.inputs.size, splits.inputs.size + splits.roots.size
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
    """The gain of a tree ensemble on validation rows: in standard errors, and as a share of the log loss."""

    errors: float
    share: float
