"""Rows routed through trees, sums over leaves, and parts along paths: each against a few lines of plain Python."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from opauc.additive.kernels.trees import (
    add_leaf_terms,
    add_leaf_weights,
    add_path_shares,
    write_leaves,
    write_node_values,
)
from tests.additive.basis.test_ensemble import count_leaves, flat, nested, seeds, tree_sizes, walked_leaves

N_INPUTS = 5


def draw_trees(seed, sizes, n_rows=70):
    """Random trees, nested and flat, and rows of codes."""
    rng = np.random.default_rng(seed)
    trees = [nested(rng, size) for size in sizes]
    return trees, flat(trees), rng.integers(0, 13, (n_rows, N_INPUTS)).astype(np.uint8)


def leaves_of(splits, codes):
    leaves = np.full((len(codes), splits.roots.size), -7, np.int32)
    write_leaves(codes, splits, leaves)
    return leaves


@given(seeds, tree_sizes, st.sampled_from([1, 2, 3, 5, 63, 64, 67, 130]))
def test_a_row_goes_left_if_its_code_is_at_most_that_of_the_split(seed, sizes, n_rows):
    trees, splits, codes = draw_trees(seed, sizes, n_rows)
    assert_array_equal(leaves_of(splits, codes), walked_leaves(trees, codes))


def test_a_tree_may_be_as_deep_as_it_has_splits():
    tree = None
    for code in range(250, -1, -1):
        tree = (0, code, None, tree)
    codes = np.arange(256, dtype=np.uint8)[:, None].repeat(N_INPUTS, axis=1)
    assert_array_equal(leaves_of(flat([tree]), codes)[:, 0], np.minimum(np.arange(256), 251))


@given(seeds, tree_sizes)
def test_weights_of_leaves_are_added_to_what_is_there(seed, sizes):
    trees, splits, codes = draw_trees(seed, sizes)
    rng = np.random.default_rng(seed)
    weights, before = rng.normal(size=sum(sizes) + len(sizes)), rng.normal(size=len(codes))
    after = before.copy()
    add_leaf_weights(leaves_of(splits, codes), weights, after)
    leaves = walked_leaves(trees, codes)
    expected = [start + sum(weights[leaf] for leaf in row) for start, row in zip(before, leaves, strict=True)]
    assert_allclose(after, expected, rtol=1e-12, atol=1e-13)


@given(seeds, tree_sizes)
def test_sums_of_leaves_are_those_of_a_loop_over_rows(seed, sizes):
    trees, splits, codes = draw_trees(seed, sizes)
    rng = np.random.default_rng(seed)
    residuals, curvatures = rng.normal(size=len(codes)), rng.uniform(0.0, 0.25, len(codes))
    n_leaves = sum(sizes) + len(sizes)
    found = rng.normal(size=(2, n_leaves))
    expected = found.copy()
    add_leaf_terms(leaves_of(splits, codes), residuals, curvatures, *found)
    for row, residual, curvature in zip(walked_leaves(trees, codes), residuals, curvatures, strict=True):
        for leaf in row:
            expected[0, leaf] += residual
            expected[1, leaf] += curvature
    assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


def literal_values(tree, leaves):
    """The value of each node of a nested tree in the order of `flat`, given (weight, mass) of its leaves."""
    if tree is None:
        return leaves[0][0], leaves[0][1], []
    n_left = count_leaves(tree[2])
    left, left_mass, left_values = literal_values(tree[2], leaves[:n_left])
    right, right_mass, right_values = literal_values(tree[3], leaves[n_left:])
    mass = left_mass + right_mass
    value = (left * left_mass + right * right_mass) / mass if mass > 0 else (left + right) / 2
    return value, mass, [value, *left_values, *right_values]


def literal_shares(tree, row, leaves):
    """What the splits on each input add along the path of a row through a nested tree."""
    shares = np.zeros(N_INPUTS)
    while tree is not None:
        n_left = count_leaves(tree[2])
        goes_left = row[tree[0]] <= tree[1]
        child, part = (tree[2], leaves[:n_left]) if goes_left else (tree[3], leaves[n_left:])
        shares[tree[0]] += literal_values(child, part)[0] - literal_values(tree, leaves)[0]
        tree, leaves = child, part
    return shares


def valued(splits, weights, leaf_mass):
    n_splits = splits.columns.size
    mass = np.concatenate([np.full(n_splits, np.nan), leaf_mass])
    values = np.full(n_splits + weights.size, np.nan)
    write_node_values(splits, weights, mass, values)
    return values, mass


def draw_leaves(seed, n_leaves):
    """Weights and masses of leaves, some of which no row has."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=n_leaves), rng.exponential(size=n_leaves) * rng.integers(0, 2, n_leaves)


def leaves_by_tree(trees, weights, mass):
    leaves = list(zip(weights.tolist(), mass.tolist(), strict=True))
    ends = np.cumsum([0, *map(count_leaves, trees)])
    return [leaves[begin:end] for begin, end in pairwise(ends)]


@given(seeds, tree_sizes)
def test_the_value_of_a_node_is_the_mean_of_the_leaves_below_it(seed, sizes):
    trees, splits, _ = draw_trees(seed, sizes)
    weights, leaf_mass = draw_leaves(seed, sum(sizes) + len(sizes))
    values, mass = valued(splits, weights, leaf_mass)
    of_trees = leaves_by_tree(trees, weights, leaf_mass)
    expected = np.concatenate([literal_values(tree, part)[2] for tree, part in zip(trees, of_trees, strict=True)])
    assert_allclose(values[: expected.size], expected, atol=1e-12)
    assert_array_equal(values[expected.size :], weights)
    assert_allclose(mass[splits.roots], [sum(mass for _, mass in part) for part in of_trees], rtol=1e-12)


@given(seeds, tree_sizes)
def test_a_split_gives_its_input_the_difference_between_child_and_node(seed, sizes):
    trees, splits, codes = draw_trees(seed, sizes, 20)
    weights, leaf_mass = draw_leaves(seed, sum(sizes) + len(sizes))
    values, _ = valued(splits, weights, leaf_mass)
    before = np.random.default_rng(seed).normal(size=codes.shape)
    shares = before.copy()
    add_path_shares(codes, splits, values, shares)
    of_trees = leaves_by_tree(trees, weights, leaf_mass)
    expected = [
        sum(literal_shares(tree, row, part) for tree, part in zip(trees, of_trees, strict=True)) for row in codes
    ]
    assert_allclose(shares - before, expected, atol=1e-12)
    scores = weights[walked_leaves(trees, codes)].sum(axis=1)
    assert_allclose((shares - before).sum(axis=1) + values[splits.roots].sum(), scores, atol=1e-11)


@pytest.mark.parametrize("n_rows", [1, 400])
def test_where_the_mass_is_that_of_the_rows_the_mean_of_every_share_is_zero(n_rows):
    _, splits, codes = draw_trees(0, (6, 9), n_rows)
    mass = np.bincount(leaves_of(splits, codes).ravel(), minlength=17).astype(float)
    values, _ = valued(splits, np.random.default_rng(1).normal(size=17), mass)
    shares = np.zeros(codes.shape)
    add_path_shares(codes, splits, values, shares)
    assert_allclose(shares.mean(axis=0), 0.0, atol=1e-12)
