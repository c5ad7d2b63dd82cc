"""Tree ensembles in preorder: the same trees, from the bits of their nodes."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from opauc.additive.basis.bins import ValueCodes
from opauc.additive.basis.ensemble import TreeEnsemble
from opauc.additive.kernels.trees import TreeSplits
from opauc.additive.terms.tree_terms import TreeTerms
from opauc.additive.trees.small_trees import (
    SCHEMA,
    from_small_arrays,
    in_preorder,
    small_terms,
    splits_of,
    to_small_arrays,
)

ROWS = np.random.default_rng(0).normal(size=(300, 3))
CODES = ValueCodes.of(ROWS, (ROWS[:, 0] > 0).astype(np.int8), np.ones(300), np.zeros(3, bool))


def grow(rng, n_trees, max_leaves):
    """Trees that split a random leaf next, and number their leaves at random."""
    columns, codes, children, roots, n_splits, n_leaves = [], [], [], [], 0, 0
    for _ in range(n_trees):
        own = int(rng.integers(2, max_leaves + 1))
        tree, free = np.zeros((own - 1, 2), np.int32), []
        for split in range(own - 1):
            if split:
                parent, side = free.pop(rng.integers(len(free)))
                tree[parent, side] = split + n_splits
            free += [(split, 0), (split, 1)]
        for leaf, (parent, side) in zip(rng.permutation(own), free, strict=True):
            tree[parent, side] = ~(leaf + n_leaves)
        columns.append(rng.integers(0, 3, own - 1))
        codes.append(rng.integers(1, 250, own - 1))
        children.append(tree)
        roots.append(n_splits)
        n_splits, n_leaves = n_splits + own - 1, n_leaves + own
    splits = TreeSplits(
        np.concatenate(columns).astype(np.int32), np.concatenate(codes).astype(np.uint8),
        np.concatenate(children), np.array(roots, np.int32),
    )  # fmt: skip
    return TreeEnsemble(CODES, splits, rng.normal(size=n_leaves))


def nodes_of(splits):
    """The nodes of all trees in preorder, by recursion: (column, code) of a split, None for a leaf."""

    def below(node):
        if node < 0:
            return [None]
        one, two = splits.children[node].tolist()
        return [(int(splits.columns[node]), int(splits.codes[node])), *below(one), *below(two)]

    return [node for root in splits.roots.tolist() for node in below(root)]


@given(seed=st.integers(0, 2**32 - 1), n_trees=st.integers(1, 4), max_leaves=st.integers(2, 12))
def test_trees_in_preorder_are_the_same_trees(seed, n_trees, max_leaves):
    ensemble = grow(np.random.default_rng(seed), n_trees, max_leaves)
    again, leaf_order, bits = in_preorder(ensemble)
    expected = nodes_of(ensemble.splits)
    assert nodes_of(again.splits) == expected
    assert_array_equal(bits, [node is not None for node in expected])
    assert_array_equal(again.values, ensemble.values[leaf_order])
    rows = CODES.of_rows(ROWS)
    assert_array_equal(leaf_order[again.leaves(rows)], ensemble.leaves(rows))
    assert_array_equal(again.products(rows, again.values), ensemble.products(rows, ensemble.values))


@given(seed=st.integers(0, 2**32 - 1))
def test_arrays_round_trip(seed):
    ensemble, rows = grow(np.random.default_rng(seed), 3, 9), CODES.of_rows(ROWS)
    terms = TreeTerms.of(ensemble, ensemble.values, rows, np.ones(3, bool))
    small = small_terms(terms, ensemble.values)
    arrays = to_small_arrays(small)
    assert arrays.keys() == SCHEMA.keys()
    again = from_small_arrays(3, arrays)
    assert_array_equal(again.shares(rows, 3), small.shares(rows, 3))
    assert_array_equal(again.main_shares(rows, 3), small.main_shares(rows, 3))
    np.testing.assert_allclose(again.shares(rows, 3), terms.shares(rows, 3), atol=1e-6)
    assert sum(array.nbytes for name, array in arrays.items() if name in ("bits", "columns", "codes")) <= (
        4 * ensemble.splits.columns.size
    )


@given(bits=st.lists(st.booleans(), min_size=1, max_size=9), n_splits=st.integers(0, 5))
def test_bits_are_refused_unless_they_are_trees(bits, n_splits):
    def end_of(at):
        """Return where the node at a place ends, by recursion; an IndexError where bits are missing."""
        return end_of(end_of(at + 1)) if bits[at] else at + 1

    def are_trees():
        at = 0
        try:
            while at < len(bits):
                if not bits[at]:
                    return False
                at = end_of(at)
        except IndexError:
            return False
        return sum(bits) == n_splits

    columns, codes = np.zeros(n_splits, np.int32), np.zeros(n_splits, np.uint8)
    if are_trees():
        assert len(nodes_of(splits_of(np.array(bits), columns, codes))) == len(bits)
    else:
        with pytest.raises(ValueError, match="bits: expected"):
            splits_of(np.array(bits), columns, codes)
