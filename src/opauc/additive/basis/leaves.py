"""Which leaves of some trees a row ends in: all inputs of a basis acting together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from opauc.additive.basis.bins import ValueCodes
from opauc.additive.basis.groups import GroupKind
from opauc.additive.kernels.rows import BasisTables
from opauc.additive.kernels.trees import TreeSplits, write_leaves
from opauc.types import Arrays, Floats, NamedArrays

PARTS = TreeSplits._fields


@dataclass(frozen=True, eq=False)
class Leaves:
    """Trees of splits on the codes of values, and a column of 0 and 1 for each leaf.

    A row has a one in every tree. `stay` says whether the leaves had better keep
    the values they were grown with until there are many more rows.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.additive.basis.basis import Basis
    >>> from opauc.additive.basis.leaves import Leaves
    >>> from opauc.additive.basis.bins import ValueCodes
    >>> from opauc.additive.kernels.trees import TreeSplits
    >>> sample = np.array([[0.0], [1.0], [4.0]])
    >>> basis = Basis.of(sample, np.ones(3), np.zeros(1, bool), n_knots=3)
    >>> codes = ValueCodes.of(basis.tables, np.zeros(basis.n_columns), sample, np.ones(3))
    >>> first = np.zeros(1, np.int32)
    >>> splits = TreeSplits(first, np.array([1], np.uint8), np.array([[~0, ~1]], np.int32), first)
    >>> Leaves(codes, splits).columns(basis.tables, sample).ravel().tolist()
    [0, 1, 1]
    """

    codes: ValueCodes
    splits: TreeSplits
    stay: bool = False
    kind: ClassVar = GroupKind.LEAVES
    prefix: ClassVar = "leaves."  # of the names of its arrays
    roughness: ClassVar = None

    @property
    def n_entries(self) -> int:
        """Entries of a row: one a tree."""
        return self.splits.roots.size

    @property
    def size(self) -> int:
        """Columns: a tree has a leaf more than splits."""
        return self.splits.inputs.size + self.n_entries

    def columns(self, tables: BasisTables, rows: Floats) -> NDArray[np.int32]:
        """Return the leaf of rows of numbers in each tree."""
        out = np.empty((len(rows), self.n_entries), np.int32)
        write_leaves(self.codes.of_rows(tables, rows), self.splits, out)
        return out

    def entries(self, tables: BasisTables, rows: Floats) -> tuple[NDArray[np.int32], Floats]:
        """Return the columns that rows have entries in, and these: ones."""
        columns = self.columns(tables, rows)
        return columns, np.ones(columns.shape)

    def products(self, tables: BasisTables, rows: Floats, weights: Floats) -> Floats:
        """Return the sum of the weights of each row's leaves."""
        return np.asarray(weights[self.columns(tables, rows)].sum(axis=1))

    def names(self) -> list[str]:
        """Return a name for each column."""
        ends = np.append(self.splits.roots[1:], self.splits.inputs.size)
        counts = (ends - self.splits.roots + 1).tolist()
        return [f"leaf {leaf} of tree {tree}" for tree, count in enumerate(counts) for leaf in range(count)]

    def to_arrays(self) -> Arrays:
        """Return all there is, for a file or the network."""
        splits = {name: part.copy() for name, part in self.splits._asdict().items()}
        return self.codes.to_arrays() | splits | {"stay": np.array([self.stay])}

    @classmethod
    def from_arrays(cls, tables: BasisTables, arrays: NamedArrays) -> Self:
        """Return the leaves of a basis that gave these arrays, refused unless some can have."""
        expected = {"cuts", "cut_ends", "level_codes", "stay", *PARTS}
        if set(arrays) != expected:
            raise ValueError(f"expected arrays {', '.join(sorted(expected))}, got {', '.join(sorted(arrays))}")
        splits = TreeSplits(*(np.ascontiguousarray(arrays[name]) for name in PARTS))
        n_splits, n_trees = splits.inputs.size, splits.roots.size
        shapes = (n_splits,), (n_splits,), (n_splits, 2), (n_trees,)
        for name, part, shape in zip(PARTS, splits, shapes, strict=True):
            kind = np.dtype(np.uint8 if name == "codes" else np.int32)
            if part.shape != shape or part.dtype != kind:
                raise ValueError(f"{name}: expected {kind.name} numbers of shape {shape}")
        if not n_trees or not _are_trees(splits):
            raise ValueError("expected one or more trees that each end in leaves")
        if (splits.inputs < 0).any() or (splits.inputs >= tables.kinds.size).any():
            raise ValueError(f"inputs: expected some of {tables.kinds.size}")
        stay = arrays["stay"]
        if stay.shape != (1,) or stay.dtype != np.bool_:
            raise ValueError("stay: expected true or false")
        return cls(ValueCodes.from_arrays(tables, arrays), splits, bool(stay[0]))


def _are_trees(splits: TreeSplits) -> bool:
    """Tell whether the splits from each root to the next are a tree, and leaves are numbered tree after tree."""
    n_splits, n_leaves = splits.inputs.size, splits.inputs.size + splits.roots.size
    ends = np.append(splits.roots[1:], n_splits)
    if splits.roots[0] != 0 or (ends <= splits.roots).any():
        return False
    children = splits.children.ravel()
    above = np.repeat(np.arange(n_splits), 2)
    inner, tree_ends = children >= 0, np.repeat(ends, 2 * (ends - splits.roots))
    # A split stands behind the one that leads to it, in the same tree; each but the roots has one that does.
    forward = ((children > above) & (children < tree_ends))[inner].all()
    met, leaves = np.sort(np.concatenate([children[inner], splits.roots])), ~children[~inner]
    order = np.argsort(leaves)
    by_tree = (np.diff(tree_ends[~inner][order]) >= 0).all()
    numbered = np.array_equal(met, np.arange(n_splits)) and np.array_equal(leaves[order], np.arange(n_leaves))
    return bool(forward and by_tree and numbered)


class Probe(NamedTuple):
    """What all inputs acting together gained on rows not seen: in standard errors, and as a share of the log loss."""

    errors: float
    share: float
