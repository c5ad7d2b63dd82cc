"""Tree ensembles in few bytes, for files that only score: the shape of a tree in bits, leaf weights in float32."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from opauc.additive.basis.bins import MAX_CODES, ValueCodes
from opauc.additive.basis.bins import SCHEMA as CODES
from opauc.additive.basis.ensemble import TreeEnsemble
from opauc.additive.kernels.trees import TreeSplits
from opauc.additive.terms.tree_terms import TreeTerms
from opauc.core.array_schema import ArrayRule, add_prefix, check_arrays, with_prefix
from opauc.errors import UnsupportedOperationError
from opauc.types import Arrays, Floats, NamedArrays

CODED = "coded."
SCHEMA = add_prefix(CODED, CODES) | {
    "bits": ArrayRule("uint8", "bytes"),
    "columns": ArrayRule("uint16", "splits", below="coded"),
    "codes": ArrayRule("uint8", "splits"),
    "weights": ArrayRule("float32", "leaves"),
    "counts": ArrayRule("uint16", "leaves"),
    "main": ArrayRule("float64", "entries"),
}
BITS_PER_BYTE, MAX_COLUMNS = 8, 2**16


class PreorderTrees(NamedTuple):
    """An ensemble whose nodes are numbered in preorder: a split, all below its first child, all below its second.

    `bits` has one entry per node, true for splits: it determines which nodes are children of which.
    """

    ensemble: TreeEnsemble
    leaf_order: NDArray[np.int64]  # the former number of each leaf
    bits: NDArray[np.bool_]  # (n_splits + n_leaves,)


def small_terms(terms: TreeTerms, weights: Floats) -> TreeTerms:
    """Return the terms of an ensemble with leaf weights, both in preorder and rounded as in a file."""
    ensemble, leaf_order, _ = in_preorder(terms.ensemble)
    rounded = weights[leaf_order].astype(np.float32).astype(np.float64)
    named = TreeEnsemble(ensemble.codes, ensemble.splits, rounded)
    return TreeTerms.of_counts(named, rounded, terms.counts[leaf_order], terms.main)


def to_small_arrays(terms: TreeTerms) -> Arrays:
    """Return the arrays of `small_terms` for a file: some nine bytes per leaf."""
    ensemble = terms.ensemble
    if ensemble.codes.n_coded > MAX_COLUMNS:
        raise UnsupportedOperationError(f"trees on more than {MAX_COLUMNS} columns cannot be saved for scoring only")
    used = np.arange(terms.main.shape[1]) < ensemble.codes.n_codes[:, None]
    return add_prefix(CODED, ensemble.codes.to_arrays()) | {
        "bits": np.packbits(in_preorder(ensemble).bits),
        "columns": ensemble.splits.columns.astype(np.uint16),
        "codes": ensemble.splits.codes.copy(),
        "weights": ensemble.values.astype(np.float32),
        "counts": terms.counts.copy(),
        "main": terms.main[used],
    }


def from_small_arrays(n_inputs: int, arrays: NamedArrays) -> TreeTerms:
    """Return the terms of trees on so many inputs from `to_small_arrays`; raise ValueError if they are invalid."""
    codes = ValueCodes.from_arrays(n_inputs, with_prefix(CODED, arrays))
    entries = {"inputs": n_inputs, "coded": codes.n_coded, "entries": int(codes.n_codes.sum())}
    sizes = check_arrays(SCHEMA, arrays, entries)
    n_nodes = sizes["splits"] + sizes["leaves"]
    if sizes["bytes"] != -(-n_nodes // BITS_PER_BYTE):
        raise ValueError(f"bits: expected those of {n_nodes} nodes")
    bits = np.unpackbits(arrays["bits"], count=n_nodes).astype(bool)
    splits = splits_of(bits, arrays["columns"].astype(np.int32), np.ascontiguousarray(arrays["codes"]))
    weights = arrays["weights"].astype(np.float64)
    main = np.zeros((codes.n_coded, MAX_CODES))
    main[np.arange(MAX_CODES) < codes.n_codes[:, None]] = arrays["main"]
    return TreeTerms.of_counts(TreeEnsemble(codes, splits, weights), weights, arrays["counts"], main)


def in_preorder(ensemble: TreeEnsemble) -> PreorderTrees:
    """Return the same trees with splits and leaves in preorder.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.additive.basis.bins import ValueCodes
    >>> from opauc.additive.basis.ensemble import TreeEnsemble
    >>> from opauc.additive.trees.small_trees import in_preorder
    >>> from opauc.additive.kernels.trees import TreeSplits
    >>> sample, labels = np.array([[0.0], [1.0], [4.0]]), np.array([0, 1, 1], np.int8)
    >>> codes = ValueCodes.of(sample, labels, np.ones(3), np.zeros(1, bool))
    >>> children = np.array([[1, ~0], [~1, ~2]], np.int32)
    >>> splits = TreeSplits(np.zeros(2, np.int32), np.array([2, 1], np.uint8), children, np.zeros(1, np.int32))
    >>> trees = in_preorder(TreeEnsemble(codes, splits, np.array([3.0, 1.0, 2.0])))
    >>> trees.bits.astype(int).tolist(), trees.ensemble.values.tolist()
    ([1, 1, 0, 0, 0], [1.0, 2.0, 3.0])
    """
    splits = ensemble.splits
    n_splits, first = splits.columns.size, splits.children[:, 0]
    levels = list(_levels(splits))
    sizes = np.ones(n_splits + ensemble.n_leaves, np.int64)  # nodes below each split, itself included; then of leaves
    for level in reversed(levels):
        sizes[level] += sizes[_nodes(splits.children[level], n_splits)].sum(axis=1)
    of_trees = sizes[splits.roots]
    positions = np.empty(sizes.size, np.int64)
    positions[splits.roots] = np.cumsum(of_trees) - of_trees
    for level in levels:
        one, two = _nodes(splits.children[level], n_splits).T
        positions[one] = positions[level] + 1
        positions[two] = positions[level] + 1 + sizes[_nodes(first[level], n_splits)]
    bits = np.zeros(sizes.size, bool)
    bits[positions[:n_splits]] = True
    split_order, leaf_order = np.argsort(positions[:n_splits]), np.argsort(positions[n_splits:])
    renumbered = splits_of(bits, splits.columns[split_order], splits.codes[split_order])
    return PreorderTrees(TreeEnsemble(ensemble.codes, renumbered, ensemble.values[leaf_order]), leaf_order, bits)


def splits_of(bits: NDArray[np.bool_], columns: NDArray[np.int32], codes: NDArray[np.uint8]) -> TreeSplits:
    """Return the splits of trees in preorder from the bits of their nodes; raise ValueError if they are not trees."""
    # Splits less leaves up to each node: below the value before a split once all below its first child has passed.
    height = np.cumsum(np.where(bits, 1, -1))
    n_trees = bits.size - 2 * columns.size
    if n_trees < 1 or np.count_nonzero(bits) != columns.size or height[-1] != -n_trees:
        raise ValueError("bits: expected those of one or more trees with these splits")
    if (height[:-1] <= -n_trees).any():
        raise ValueError("bits: expected no node after the last tree")
    numbers = np.where(bits, np.cumsum(bits) - 1, -np.cumsum(~bits, dtype=np.int64))
    tree_ends = np.flatnonzero(np.diff(np.minimum.accumulate(np.minimum(height, 0)), prepend=0))
    starts = np.append(0, tree_ends[:-1] + 1)
    if not bits[starts].all():
        raise ValueError("bits: expected a split at the top of each tree")
    at = np.flatnonzero(bits)
    by_height = np.sort((height + n_trees) * bits.size + np.arange(bits.size))
    ends = by_height[np.searchsorted(by_height, (height[at] - 1 + n_trees) * bits.size + at)] % bits.size
    children = np.stack([numbers[at + 1], numbers[ends + 1]], axis=1).astype(np.int32)
    return TreeSplits(columns, codes, children, numbers[starts].astype(np.int32))


def _levels(splits: TreeSplits) -> Iterator[NDArray[np.int32]]:
    """Yield the splits of all trees, level by level from the roots."""
    level = splits.roots
    while level.size:
        yield level
        children = splits.children[level].ravel()
        level = children[children >= 0]


def _nodes(children: NDArray[np.int32], n_splits: int) -> NDArray[np.int32]:
    """Return the places of children where leaves come after all splits."""
    return np.where(children >= 0, children, n_splits + ~children)
