"""Leaf indicators against a walk down nested trees; arrays that are not trees are never walked."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array

from opauc.additive.basis.basis import Basis
from opauc.additive.basis.bins import ValueCodes
from opauc.additive.basis.groups import GroupKind
from opauc.additive.basis.leaf_indicators import LeafIndicators, ValidationGain
from opauc.additive.kernels.trees import TreeSplits
from tests.additive.basis.test_basis import INPUTS, basis_of, sample

seeds = st.integers(0, 2**32 - 1)
GAIN = ValidationGain(9.0, 0.2)


def nested(rng, n_splits):
    """A random tree: None is a leaf, and a split has an input, a code and two such trees."""
    if not n_splits:
        return None
    left = int(rng.integers(0, n_splits))
    sides = nested(rng, left), nested(rng, n_splits - 1 - left)
    return int(rng.integers(0, 5)), int(rng.integers(0, 12)), *sides


def flat(trees):
    """The splits of nested trees, each before those below it, and leaves numbered as they are met."""
    inputs, codes, children, n_leaves = [], [], [], 0

    def add(tree):
        nonlocal n_leaves
        if tree is None:
            n_leaves += 1
            return ~(n_leaves - 1)
        at = len(inputs)
        inputs.append(tree[0])
        codes.append(tree[1])
        children.append(None)
        children[at] = [add(side) for side in tree[2:]]
        return at

    roots = np.array([add(tree) for tree in trees], np.int32)
    return TreeSplits(np.array(inputs, np.int32), np.array(codes, np.uint8), np.array(children, np.int32), roots)


def walked(tree, codes, first):
    """The leaf that a row of codes ends in, the leaves of the tree being numbered from `first` on, and their number."""
    if tree is None:
        return first, 1
    left, n_left = walked(tree[2], codes, first)
    right, n_right = walked(tree[3], codes, first + n_left)
    return (left if codes[tree[0]] <= tree[1] else right), n_left + n_right


def leaves_of(basis, seed, sizes=(4, 1, 7)):
    rng = np.random.default_rng(seed)
    rows = sample(seed)
    codes = ValueCodes.of(basis.tables, rng.normal(size=basis.n_columns), rows, np.ones(len(rows)))
    trees = [nested(rng, size) for size in sizes]
    return LeafIndicators(codes, flat(trees), bool(rng.integers(0, 2))), trees


@given(seeds, seeds, st.lists(st.integers(1, 12), min_size=1, max_size=5))
def test_a_row_ends_where_a_walk_down_each_tree_does(seed, other, sizes):
    basis = basis_of(seed)
    leaves, trees = leaves_of(basis, other, sizes)
    rows = np.vstack([sample(other, 40) * 2.0, np.full((1, 5), np.nan)])
    rows[0, 2] = 99.0
    codes = leaves.codes.of_rows(basis.tables, rows)
    expected = np.empty((len(rows), len(sizes)), int)
    for i, row in enumerate(codes):
        first = 0
        for t, tree in enumerate(trees):
            expected[i, t], n_leaves = walked(tree, row, first)
            first += n_leaves
    assert_array_equal(leaves.columns(basis.tables, rows), expected)
    assert leaves.size == first == sum(sizes) + len(sizes) == len(leaves.names())
    assert leaves.n_entries == len(sizes)
    weights = np.random.default_rng(seed).normal(size=leaves.size)
    assert_allclose(leaves.products(basis.tables, rows, weights), [weights[row].sum() for row in expected], rtol=1e-12)


def test_leaves_are_named_by_their_tree():
    leaves, _ = leaves_of(basis_of(0), 0, (2, 1))
    expected = ["leaf 0 of tree 0", "leaf 1 of tree 0", "leaf 2 of tree 0", "leaf 0 of tree 1", "leaf 1 of tree 1"]
    assert leaves.names() == expected


@given(seeds)
def test_they_are_the_last_columns_of_a_basis(seed):
    plain, rows = basis_of(seed), sample(seed + 2)
    leaves, _ = leaves_of(plain, seed)
    basis = plain.with_trees(leaves, GAIN)
    made = basis.rows(rows)
    assert basis.n_columns == plain.n_columns + 15 == len(basis.column_names(INPUTS))
    assert_array_equal(made[:, : plain.n_columns].toarray(), plain.rows(rows).toarray())
    expected = np.zeros((len(rows), 15))
    np.put_along_axis(expected, leaves.columns(basis.tables, rows), 1.0, axis=1)
    assert_array_equal(made[:, plain.n_columns :].toarray(), expected)
    assert_array_equal(expected.sum(axis=1), 3.0)
    copied = csr_array((made.data, made.indices, made.indptr), shape=made.shape)
    assert made.has_canonical_format
    assert copied.has_canonical_format  # computed from the entries, where the other is declared
    assert basis.groups.kinds[-1] == GroupKind.LEAVES
    assert (basis.groups.starts[-1], basis.groups.sizes[-1]) == (plain.n_columns, 15)
    assert basis.groups.n_columns == basis.n_columns
    assert basis.roughness[-1] is None
    assert len(basis.roughness) == basis.groups.kinds.size
    assert basis.main_columns() == plain.main_columns()
    assert basis.certain_columns() == plain.certain_columns() == plain.n_columns
    assert basis.effects == plain.effects | {(): slice(plain.n_columns, basis.n_columns)}
    assert basis.column_names(INPUTS)[-1] == "trees: leaf 7 of tree 2"
    assert basis.column_names(INPUTS)[: plain.n_columns] == plain.column_names(INPUTS)


@pytest.mark.parametrize("form", [np.asarray, csr_array])
@pytest.mark.parametrize("factor", [0.0, 1.0])
def test_products_are_those_of_the_sparse_rows(form, factor):
    basis = basis_of(3)
    basis = basis.with_trees(leaves_of(basis, 4)[0], GAIN)
    rows, weights = np.nan_to_num(sample(5, 5000)), np.random.default_rng(6).normal(size=basis.n_columns)
    weights[-basis.trees.size :] *= factor
    expected = basis.rows(rows).toarray() @ weights
    assert_allclose(basis.products(form(rows), weights), expected, rtol=1e-10, atol=1e-12)
    assert_array_equal(basis.rows(form(rows)).toarray(), basis.rows(rows).toarray())
    blocks = [block.toarray() for _, block in basis.blocks(form(rows))]
    assert len(blocks) > 1
    assert_array_equal(np.vstack(blocks), basis.rows(rows).toarray())


@given(seeds)
def test_a_basis_with_leaves_is_restored_from_its_arrays(seed):
    plain, rows = basis_of(seed), sample(seed)
    basis = plain.with_trees(leaves_of(plain, seed)[0], GAIN)
    again = Basis.from_arrays(basis.to_arrays())
    names = "cuts", "cut_ends", "level_codes", "inputs", "codes", "children", "roots", "frozen"
    assert set(basis.to_arrays()) - set(plain.to_arrays()) == {"validation_gain", *(f"leaves.{name}" for name in names)}
    assert again.validation_gain == basis.validation_gain
    assert again.trees.frozen is basis.trees.frozen
    assert_array_equal(again.rows(rows).toarray(), basis.rows(rows).toarray())
    assert {name: array.tolist() for name, array in again.to_arrays().items()} == {
        name: array.tolist() for name, array in basis.to_arrays().items()
    }


def arrays_of(seed=1):
    """A basis without leaves, and the arrays of leaves on it: splits 0 to 2, 3, and 4 to 5 are trees."""
    basis = basis_of(0)
    codes = leaves_of(basis, seed)[0].codes
    trees = (0, 3, (1, 1, None, None), (2, 2, None, None)), (3, 9, None, None), (0, 1, None, (3, 2, None, None))
    return basis, LeafIndicators(codes, flat(trees)).to_arrays()


def changed(array, at, value):
    after = array.copy()
    after[at] = value
    return after


NO_TREES = "^expected one or more trees that each end in leaves"


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("children", lambda a: changed(a, (1, 0), 0), NO_TREES),  # a cycle
        ("children", lambda a: changed(a, (1, 0), 1), NO_TREES),  # a split below itself
        ("children", lambda a: changed(a, (0, 0), 2), NO_TREES),  # a split met twice, another never
        ("children", lambda a: changed(a, (0, 0), 3), NO_TREES),  # a split of another tree
        ("children", lambda a: changed(a, (0, 0), 6), NO_TREES),  # no split
        ("children", lambda a: changed(a, (0, 0), 2**31 - 1), NO_TREES),
        ("children", lambda a: changed(a, (1, 0), ~1), NO_TREES),  # a leaf met twice
        ("children", lambda a: changed(a, (1, 0), ~9), NO_TREES),  # no leaf
        ("children", lambda a: changed(a, (1, 0), -(2**31)), NO_TREES),
        ("children", lambda a: changed(changed(a, (1, 0), ~4), (3, 0), ~0), NO_TREES),  # leaves of each other's tree
        ("roots", lambda a: a[::-1].copy(), NO_TREES),
        ("roots", lambda a: changed(a, 0, 1), NO_TREES),
        ("roots", lambda a: changed(a, 1, 0), NO_TREES),
        ("roots", lambda a: changed(a, 2, 6), NO_TREES),
        ("roots", lambda a: changed(a, 1, -3), "^roots: expected numbers that are not negative"),
        ("roots", lambda a: a[:0], NO_TREES),
        ("roots", lambda a: a[:2], NO_TREES),
        ("roots", lambda a: a[:, None], r"^roots: expected int32 numbers of shape \(trees,\), got .*\(3, 1\)"),
        ("roots", lambda a: a.astype(np.int64), r"^roots: expected int32 numbers of shape \(3,\)"),
        ("inputs", lambda a: changed(a, 2, 5), "^inputs: expected numbers from 0 to 4"),
        ("inputs", lambda a: changed(a, 2, -1), "^inputs: expected numbers from 0 to 4"),
        ("inputs", lambda a: a.astype(float), r"^inputs: expected int32 numbers of shape \(6,\)"),
        ("inputs", lambda a: a[:5], r"^codes: expected uint8 numbers of shape \(5,\)"),
        ("codes", lambda a: a.astype(np.int32), r"^codes: expected uint8 numbers of shape \(6,\)"),
        ("codes", lambda a: a[1:], r"^codes: expected uint8 numbers of shape \(6,\)"),
        ("children", lambda a: a.ravel(), r"^children: expected int32 numbers of shape \(6, 2\)"),
        ("children", lambda a: a.astype(np.int64), r"^children: expected int32 numbers of shape \(6, 2\)"),
        ("frozen", lambda a: a.astype(np.uint8), r"^frozen: expected bool numbers of shape \(1,\)"),
        ("frozen", lambda a: np.repeat(a, 2), r"^frozen: expected bool numbers of shape \(1,\)"),
        ("cuts", lambda a: changed(a, 0, np.nan), "^cuts: expected finite"),
        ("more", lambda _: np.zeros(1), "^expected arrays cuts, cut_ends, .*, got .*more"),
    ],
)  # fmt: skip
def test_arrays_that_are_no_leaves_raise(name, change, message):
    basis, arrays = arrays_of()
    LeafIndicators.from_arrays(basis.tables, arrays)
    with pytest.raises(ValueError, match=message):
        LeafIndicators.from_arrays(basis.tables, arrays | {name: change(arrays.get(name))})


@pytest.mark.parametrize(
    ("children", "roots"),
    [
        ([[~0, ~1], [2, ~2], [1, ~3]], [0]),  # a cycle beside the tree: each split and leaf is met once
        ([[1, 3], [~0, ~1], [~2, ~3], [~4, ~5]], [0, 2]),  # a split of the second tree in the first, once too
    ],
)
def test_splits_that_occur_once_but_not_in_their_tree_raise(children, roots):
    basis, arrays = arrays_of()
    inputs, codes = np.zeros(len(children), np.int32), np.zeros(len(children), np.uint8)
    splits = TreeSplits(inputs, codes, np.array(children, np.int32), np.array(roots, np.int32))
    with pytest.raises(ValueError, match=NO_TREES):
        LeafIndicators.from_arrays(basis.tables, arrays | splits._asdict())


@pytest.mark.parametrize("name", arrays_of()[1])
def test_a_missing_array_raises(name):
    basis, arrays = arrays_of()
    del arrays[name]
    with pytest.raises(ValueError, match=r"^expected arrays cuts, "):
        LeafIndicators.from_arrays(basis.tables, arrays)


@settings(max_examples=400)
@given(seeds, st.data())
def test_damaged_arrays_raise_or_are_valid_leaves(seed, data):
    basis, arrays = arrays_of(seed)
    rng = np.random.default_rng(seed)
    for name in data.draw(st.lists(st.sampled_from(sorted(arrays)), min_size=1, max_size=3)):
        array = arrays[name]
        way = data.draw(st.sampled_from(["entry", "near entry", "permute", "cut", "type", "repeat"]))
        if way in ("entry", "near entry") and array.size:
            near = array.dtype == bool or way == "near entry"
            limits = (0, 2) if array.dtype == bool else (-8, 8) if near else (-(2**31), 2**31)
            arrays[name] = array.copy()
            arrays[name].flat[rng.integers(array.size)] = np.array(rng.integers(*limits)).astype(array.dtype)
        elif way == "permute":
            arrays[name] = rng.permutation(array.ravel()).reshape(array.shape)
        elif way == "cut":
            arrays[name] = array[: rng.integers(0, len(array) + 1)]
        elif way == "type":
            arrays[name] = array.astype(rng.choice(["i1", "i4", "i8", "u1", "f4", "f8", "?"]))
        else:
            arrays[name] = np.concatenate([array, array])
    try:
        leaves = LeafIndicators.from_arrays(basis.tables, arrays)
    except ValueError:
        return
    rows = np.vstack([sample(seed, 50), np.full((1, 5), np.nan), np.full((1, 5), 1e300)])
    found = leaves.columns(basis.tables, rows)
    ends = np.append(leaves.splits.roots[1:], leaves.splits.inputs.size)
    firsts = leaves.splits.roots + np.arange(ends.size)
    assert ((found >= firsts) & (found <= ends + np.arange(ends.size))).all()
    assert len(leaves.names()) == leaves.size
