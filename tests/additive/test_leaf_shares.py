"""The shares of inputs in the weights of leaves, held against a walk down nested trees."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from opauc.additive.shares import leaf_shares
from tests.additive.basis.test_leaf_indicators import flat, nested

seeds = st.integers(0, 2**32 - 1)
sizes_of_trees = st.lists(st.integers(1, 12), min_size=1, max_size=5)


def drawn(seed, sizes):
    """Random trees, and weights and masses of their leaves; half have no rows, or a mass rounded below zero."""
    rng = np.random.default_rng(seed)
    trees, n_leaves = [nested(rng, size) for size in sizes], sum(sizes) + len(sizes)
    mass = rng.exponential(size=n_leaves) * rng.integers(0, 2, n_leaves)
    mass[rng.random(n_leaves) < 0.1] = -1e-17
    return trees, rng.normal(size=n_leaves), mass


def literal(tree, leaves):
    """The value of a tree whose leaves these are, (weight, mass) each, and the shares of five inputs in each."""
    weights, mass = np.array(leaves).T
    value = np.average(weights, weights=mass if mass.sum() > 0 else None)
    if tree is None:
        return value, [np.zeros(5)]
    here, _, left, right = tree
    n_left = n_leaves(left)
    found = []
    for side, part in ((left, leaves[:n_left]), (right, leaves[n_left:])):
        below, shares = literal(side, part)
        found += [share + (below - value) * np.eye(5)[here] for share in shares]
    return value, found


def n_leaves(tree):
    return 1 if tree is None else n_leaves(tree[2]) + n_leaves(tree[3])


@given(seeds, sizes_of_trees)
def test_a_split_gives_its_input_what_a_child_has_above_the_node(seed, sizes):
    trees, weights, mass = drawn(seed, sizes)
    inputs, shares, roots = leaf_shares(flat(trees), weights, mass)
    leaves = list(zip(weights.tolist(), np.maximum(mass, 0.0).tolist(), strict=True))
    expected, values = [], []
    for tree in trees:
        own, leaves = leaves[: n_leaves(tree)], leaves[n_leaves(tree) :]
        value, found = literal(tree, own)
        values.append(value)
        expected += found
    assert_allclose(shares, np.array(expected)[:, inputs], atol=1e-12)
    assert not np.delete(np.array(expected), inputs, axis=1).any()
    assert_allclose(roots, sum(values), atol=1e-12)


@given(seeds, sizes_of_trees)
def test_shares_and_the_root_add_up_to_the_weight_of_every_leaf(seed, sizes):
    trees, weights, mass = drawn(seed, sizes)
    splits = flat(trees)
    inputs, shares, roots = leaf_shares(splits, weights, mass)
    assert_array_equal(inputs, np.unique(splits.inputs))
    per_tree = np.split(weights - shares.sum(axis=1), np.cumsum(np.array(sizes) + 1)[:-1])
    for rest in per_tree:
        assert_allclose(rest, rest[0], atol=1e-12)
    assert_allclose(sum(rest[0] for rest in per_tree), roots, atol=1e-12)


@given(seeds, sizes_of_trees)
def test_where_all_leaves_have_rows_the_mean_of_every_share_is_zero(seed, sizes):
    trees, weights, mass = drawn(seed, sizes)
    mass = np.abs(mass) + 0.1
    ends = np.cumsum(np.array(sizes) + 1)[:-1]
    _, shares, roots = leaf_shares(flat(trees), weights, mass)
    for part, own in zip(np.split(mass, ends), np.split(shares, ends), strict=True):
        assert_allclose(part @ own, 0.0, atol=1e-11)
    means = [np.average(w, weights=m) for w, m in zip(np.split(weights, ends), np.split(mass, ends), strict=True)]
    assert_allclose(roots, sum(means), atol=1e-11)
