"""Shares of inputs in leaf weights, against a walk down nested trees; shares of the rows along main effects."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from opauc.additive.basis.basis import Basis
from opauc.additive.drift import BinCounts
from opauc.additive.explain import Terms, divide_leaf_weights, row_shares
from opauc.additive.settings import AdditiveSettings
from opauc.additive.state import AdditiveFit
from tests.additive.basis.test_leaf_indicators import flat, nested

seeds = st.integers(0, 2**32 - 1)
tree_sizes = st.lists(st.integers(1, 12), min_size=1, max_size=5)


def draw_trees(seed, sizes):
    """Random trees, and weights and masses of their leaves; half have no rows, or a mass rounded below zero."""
    rng = np.random.default_rng(seed)
    trees, n_leaves = [nested(rng, size) for size in sizes], sum(sizes) + len(sizes)
    mass = rng.exponential(size=n_leaves) * rng.integers(0, 2, n_leaves)
    mass[rng.random(n_leaves) < 0.1] = -1e-17
    return trees, rng.normal(size=n_leaves), mass


def literal_shares(tree, leaves):
    """The value of a tree with these leaves, (weight, mass) each, and the shares of five inputs in each."""
    weights, mass = np.array(leaves).T
    value = np.average(weights, weights=mass if mass.sum() > 0 else None)
    if tree is None:
        return value, [np.zeros(5)]
    split_input, _, left, right = tree
    n_left = count_leaves(left)
    shares = []
    for child, part in ((left, leaves[:n_left]), (right, leaves[n_left:])):
        child_value, child_shares = literal_shares(child, part)
        shares += [share + (child_value - value) * np.eye(5)[split_input] for share in child_shares]
    return value, shares


def count_leaves(tree):
    return 1 if tree is None else count_leaves(tree[2]) + count_leaves(tree[3])


@given(seeds, tree_sizes)
def test_a_split_gives_its_input_the_difference_between_child_and_node(seed, sizes):
    trees, weights, mass = draw_trees(seed, sizes)
    inputs, shares, roots = divide_leaf_weights(flat(trees), weights, mass)
    leaves = list(zip(weights.tolist(), np.maximum(mass, 0.0).tolist(), strict=True))
    expected, values = [], []
    for tree in trees:
        tree_leaves, leaves = leaves[: count_leaves(tree)], leaves[count_leaves(tree) :]
        value, tree_shares = literal_shares(tree, tree_leaves)
        values.append(value)
        expected += tree_shares
    assert_allclose(shares, np.array(expected)[:, inputs], atol=1e-12)
    assert not np.delete(np.array(expected), inputs, axis=1).any()
    assert_allclose(roots, sum(values), atol=1e-12)


@given(seeds, tree_sizes)
def test_shares_and_the_root_add_up_to_every_leaf_weight(seed, sizes):
    trees, weights, mass = draw_trees(seed, sizes)
    splits = flat(trees)
    inputs, shares, roots = divide_leaf_weights(splits, weights, mass)
    assert_array_equal(inputs, np.unique(splits.inputs))
    per_tree = np.split(weights - shares.sum(axis=1), np.cumsum(np.array(sizes) + 1)[:-1])
    for rest in per_tree:
        assert_allclose(rest, rest[0], atol=1e-12)
    assert_allclose(sum(rest[0] for rest in per_tree), roots, atol=1e-12)


@given(seeds, tree_sizes)
def test_where_all_leaves_have_rows_the_mean_of_every_share_is_zero(seed, sizes):
    trees, weights, mass = draw_trees(seed, sizes)
    mass = np.abs(mass) + 0.1
    ends = np.cumsum(np.array(sizes) + 1)[:-1]
    _, shares, roots = divide_leaf_weights(flat(trees), weights, mass)
    for tree_mass, tree_shares in zip(np.split(mass, ends), np.split(shares, ends), strict=True):
        assert_allclose(tree_mass @ tree_shares, 0.0, atol=1e-11)
    means = [np.average(w, weights=m) for w, m in zip(np.split(weights, ends), np.split(mass, ends), strict=True)]
    assert_allclose(roots, sum(means), atol=1e-11)


def shares_of(column, categorical=False, n_knots=8):
    rows = np.asarray(column, float)[:, None]
    basis = Basis.of(rows, np.ones(len(rows)), np.array([categorical]), n_knots)
    return row_shares(basis, BinCounts.of(basis.rows(rows)), np.empty(0), 0)


def test_values_that_are_knots_are_counted():
    column = [3.0] * 5 + [7.0] * 2 + [9.0] * 12 + [np.nan]
    assert_allclose(shares_of(column), [5 / 20, 2 / 20, 12 / 20, 1 / 20])


def test_booleans_are_counted():
    assert_allclose(shares_of([0.0] * 3 + [1.0] * 6 + [np.nan]), [0.3, 0.6, 0.1])


def test_categories_are_counted_and_those_without_a_column_are_pooled():
    column = [0.0] * 40 + [1.0] * 30 + [2.0] * 2 + [np.nan] * 8
    assert_allclose(shares_of(column, categorical=True), [40 / 80, 30 / 80, 2 / 80, 8 / 80])


@given(seed=st.integers(0, 2**32 - 1), n_knots=st.integers(3, 20))
def test_row_shares_of_a_curve_add_up_to_one(seed, n_knots):
    rng = np.random.default_rng(seed)
    column = np.where(rng.random(300) < 0.1, np.nan, rng.standard_cauchy(300))
    shares = shares_of(column, n_knots=n_knots)
    assert shares.min() >= 0.0
    assert shares.sum() == pytest.approx(1.0)


def test_there_is_a_row_share_for_every_value_of_a_main_effect():
    rng = np.random.default_rng(0)
    rows = np.c_[rng.normal(size=800), rng.integers(0, 2, 800), rng.integers(0, 5, 800), rng.integers(0, 4, 800)]
    rows[rng.random(800) < 0.2, 0] = np.nan
    labels = (np.nan_to_num(rows[:, 0]) + rows[:, 1] + rng.normal(size=800) > 0).astype(np.int8)
    categorical = np.array([False, False, True, False])
    fitted = AdditiveFit.start(AdditiveSettings(interactions=0), categorical, 0).update(rows, labels)
    names = ("number", "boolean", "category", "count")
    terms = {term.name: term for term in Terms(fitted, names, [{}] * 4).list_terms()}
    for j, name in enumerate(names):
        model = fitted.current.model
        shares = row_shares(fitted.current.basis, model.bin_counts, model.random_effects.counts, j)
        assert shares.shape == terms[name].value.shape
        assert shares.sum() == pytest.approx(1.0)
