"""Tree ensembles against a walk down nested trees; arrays that are not trees are never walked."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array

from opauc.additive.basis.basis import Basis
from opauc.additive.basis.bins import ValueCodes
from opauc.additive.basis.ensemble import TreeEnsemble, ValidationGain, join_ensembles
from opauc.additive.kernels.trees import TreeSplits
from tests.additive.basis.test_basis import CATEGORICAL, INPUTS, basis_of, sample

seeds = st.integers(0, 2**32 - 1)
tree_sizes = st.lists(st.integers(1, 12), min_size=1, max_size=5)
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


def count_leaves(tree):
    return 1 if tree is None else count_leaves(tree[2]) + count_leaves(tree[3])


def walked(tree, codes, first):
    """The leaf that a row of codes ends in, the leaves of the tree being numbered from `first` on."""
    if tree is None:
        return first
    goes_left = codes[tree[0]] <= tree[1]
    return walked(tree[2], codes, first) if goes_left else walked(tree[3], codes, first + count_leaves(tree[2]))


def walked_leaves(trees, codes):
    """The leaf of each row of codes in each tree."""
    firsts = np.cumsum([0, *map(count_leaves, trees)])
    return np.array([[walked(tree, row, first) for tree, first in zip(trees, firsts, strict=False)] for row in codes])


def ensemble_of(seed, sizes=(4, 1, 7)):
    """An ensemble of random trees on the inputs of `sample`, and the nested trees."""
    rng, rows = np.random.default_rng(seed), sample(seed)
    codes = ValueCodes.of(rows, rng.integers(0, 2, len(rows)).astype(np.int8), np.ones(len(rows)), CATEGORICAL)
    trees = [nested(rng, size) for size in sizes]
    return TreeEnsemble(codes, flat(trees), rng.normal(size=sum(sizes) + len(sizes))), trees


@given(seeds, seeds, tree_sizes)
def test_a_row_ends_where_a_walk_down_each_tree_does(seed, other, sizes):
    ensemble, trees = ensemble_of(seed, sizes)
    rows = np.vstack([sample(other, 41) * 2.0, np.full((1, 5), np.nan)])
    rows[0, 2] = 99.0
    codes = ensemble.codes.of_rows(rows)
    expected = walked_leaves(trees, codes)
    assert_array_equal(ensemble.leaves(codes), expected)
    assert ensemble.n_trees == len(sizes)
    assert_array_equal(ensemble.inputs, np.unique(ensemble.splits.columns))
    assert ensemble.n_leaves == ensemble.values.size == sum(sizes) + len(sizes)
    weights = np.random.default_rng(other).normal(size=ensemble.n_leaves)
    assert_allclose(ensemble.products(codes, weights), [weights[row].sum() for row in expected], rtol=1e-12, atol=1e-14)
    assert_array_equal(ensemble.scores(rows), ensemble.products(codes, ensemble.values))


def test_the_inputs_of_trees_are_those_of_the_columns_that_they_split_on():
    ensemble, _ = ensemble_of(0, (1, 1))
    codes = ensemble.codes.take(np.array([3, 3, 0, 2, 4]))
    splits = ensemble.splits._replace(columns=np.array([1, 3], np.int32))
    found = TreeEnsemble(codes, splits, ensemble.values)
    assert found.inputs.tolist() == [2, 3]
    rows = sample(5, 80)
    again = TreeEnsemble(ensemble.codes, splits._replace(columns=np.array([3, 2], np.int32)), ensemble.values)
    assert_array_equal(found.scores(rows), again.scores(rows))


@pytest.mark.parametrize("n_rows", [0, 1, 3, 4, 63, 64, 65, 1024, 1025, 2100])
def test_rows_that_fill_no_block_are_routed_too(n_rows):
    ensemble, trees = ensemble_of(1)
    codes = np.random.default_rng(n_rows).integers(0, 13, (n_rows, 5)).astype(np.uint8)
    expected = walked_leaves(trees, codes).reshape(n_rows, 3).astype(int)
    assert_array_equal(ensemble.leaves(codes), expected)
    assert_allclose(
        ensemble.products(codes, ensemble.values), ensemble.values[expected].sum(axis=1), rtol=1e-12, atol=1e-14
    )


@given(seeds)
def test_a_basis_with_trees_has_weights_of_leaves_after_those_of_its_columns(seed):
    plain, rows = basis_of(seed), sample(seed + 2)
    ensemble, _ = ensemble_of(seed)
    basis = plain.with_trees(ensemble, GAIN)
    assert basis.n_columns == plain.n_columns == len(basis.column_names(INPUTS))
    assert basis.n_weights == plain.n_columns + 15
    assert basis.effects == plain.effects
    assert basis.rows(rows).shape[1] == plain.n_columns
    assert_array_equal(basis.leaves(rows), ensemble.leaves(ensemble.codes.of_rows(rows)))
    assert plain.leaves(rows) is None
    weights = np.random.default_rng(seed).normal(size=basis.n_weights)
    expected = plain.rows(rows) @ weights[: plain.n_columns] + weights[plain.n_columns :][basis.leaves(rows)].sum(
        axis=1
    )
    assert_allclose(basis.products(rows, weights), expected, rtol=1e-10, atol=1e-12)
    assert_array_equal(
        basis.products(rows, weights[: plain.n_columns]), plain.products(rows, weights[: plain.n_columns])
    )


@pytest.mark.parametrize("form", [np.asarray, csr_array])
@pytest.mark.parametrize("factor", [0.0, 1.0])
def test_products_do_not_depend_on_blocks_or_on_the_form_of_rows(form, factor):
    basis = basis_of(3).with_trees(ensemble_of(4)[0], GAIN)
    rows, weights = np.nan_to_num(sample(5, 5000)), np.random.default_rng(6).normal(size=basis.n_weights)
    weights[-basis.trees.n_leaves :] *= factor
    leaves = weights[basis.n_columns :][basis.leaves(rows)].sum(axis=1)
    expected = basis.rows(rows).toarray() @ weights[: basis.n_columns] + leaves
    assert len(list(basis.blocks(form(rows)))) > 1
    assert_allclose(basis.products(form(rows), weights), expected, rtol=1e-10, atol=1e-12)


@given(seeds)
def test_a_basis_with_trees_is_restored_from_its_arrays_which_are_copies(seed):
    plain, rows = basis_of(seed), sample(seed)
    basis = plain.with_trees(ensemble_of(seed)[0], GAIN)
    arrays = basis.to_arrays()
    again = Basis.from_arrays(arrays)
    codes = "cuts", "cut_ends", "category_codes", "category_ends", "pooled_codes", "sources"
    names = *codes, "columns", "codes", "children", "roots", "values"
    assert set(arrays) - set(plain.to_arrays()) == {"validation_gain", *(f"trees.{name}" for name in names)}
    assert again.validation_gain == basis.validation_gain
    scores = basis.trees.scores(rows)
    assert_array_equal(again.trees.scores(rows), scores)
    assert {name: array.tolist() for name, array in again.to_arrays().items()} == {
        name: array.tolist() for name, array in arrays.items()
    }
    for array in basis.trees.to_arrays().values():
        array[...] = 0
    assert_array_equal(basis.trees.scores(rows), scores)


@given(seeds, tree_sizes, tree_sizes)
def test_the_scores_of_joined_ensembles_are_the_weighted_sum_of_theirs(seed, sizes, other_sizes):
    (one, _), (two, _), rng = ensemble_of(seed, sizes), ensemble_of(seed, other_sizes), np.random.default_rng(seed)
    weights, codes = rng.normal(size=3), rng.integers(0, 13, (50, 5)).astype(np.uint8)
    joined = join_ensembles([one, two, one], weights)
    parts = [part.products(codes, part.values) for part in (one, two, one)]
    assert_allclose(joined.products(codes, joined.values), weights @ parts, rtol=1e-10, atol=1e-12)
    assert joined.n_trees == 2 * one.n_trees + two.n_trees
    restored = TreeEnsemble.from_arrays(5, joined.to_arrays())  # its trees are valid
    assert_array_equal(restored.leaves(codes), joined.leaves(codes))


def arrays_of(seed=1):
    """The arrays of an ensemble of three trees: splits 0 to 2, 3, and 4 to 5."""
    codes = ensemble_of(seed)[0].codes
    trees = (0, 3, (1, 1, None, None), (2, 2, None, None)), (3, 9, None, None), (0, 1, None, (3, 2, None, None))
    return TreeEnsemble(codes, flat(trees), np.random.default_rng(seed).normal(size=9)).to_arrays()


def changed(array, at, value):
    after = array.copy()
    after[at] = value
    return after


NO_TREES = "^expected one or more trees that each end in leaves with a value"


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
        ("columns", lambda a: changed(a, 2, 5), "^columns: expected numbers from 0 to 4"),
        ("columns", lambda a: changed(a, 2, -1), "^columns: expected numbers from 0 to 4"),
        ("columns", lambda a: a.astype(float), r"^columns: expected int32 numbers of shape \(6,\)"),
        ("columns", lambda a: a[:5], r"^codes: expected uint8 numbers of shape \(5,\)"),
        ("codes", lambda a: a.astype(np.int32), r"^codes: expected uint8 numbers of shape \(6,\)"),
        ("codes", lambda a: a[1:], r"^codes: expected uint8 numbers of shape \(6,\)"),
        ("children", lambda a: a.ravel(), r"^children: expected int32 numbers of shape \(6, 2\)"),
        ("children", lambda a: a.astype(np.int64), r"^children: expected int32 numbers of shape \(6, 2\)"),
        ("values", lambda a: a[:-1], NO_TREES),
        ("values", lambda a: np.append(a, 0.0), NO_TREES),
        ("values", lambda a: changed(a, 3, np.nan), "^values: expected finite numbers"),
        ("values", lambda a: changed(a, 3, np.inf), "^values: expected finite numbers"),
        ("values", lambda a: a.astype(np.float32), r"^values: expected float64 numbers of shape"),
        ("cuts", lambda a: changed(a, 0, np.nan), "^cuts: expected finite"),
        ("more", lambda _: np.zeros(1), "^expected arrays cuts, cut_ends, .*, got .*more"),
    ],
)  # fmt: skip
def test_arrays_that_are_no_trees_raise(name, change, message):
    arrays = arrays_of()
    TreeEnsemble.from_arrays(5, arrays)
    with pytest.raises(ValueError, match=message):
        TreeEnsemble.from_arrays(5, arrays | {name: change(arrays.get(name))})


@pytest.mark.parametrize(
    ("children", "roots"),
    [
        ([[~0, ~1], [2, ~2], [1, ~3]], [0]),  # a cycle beside the tree: each split and leaf is met once
        ([[1, 3], [~0, ~1], [~2, ~3], [~4, ~5]], [0, 2]),  # a split of the second tree in the first, once too
    ],
)
def test_splits_that_occur_once_but_not_in_their_tree_raise(children, roots):
    inputs, codes = np.zeros(len(children), np.int32), np.zeros(len(children), np.uint8)
    splits = TreeSplits(inputs, codes, np.array(children, np.int32), np.array(roots, np.int32))
    values = np.zeros(len(children) + len(roots))
    with pytest.raises(ValueError, match=NO_TREES):
        TreeEnsemble.from_arrays(5, arrays_of() | splits._asdict() | {"values": values})


@pytest.mark.parametrize("name", arrays_of())
def test_a_missing_array_raises(name):
    arrays = arrays_of()
    del arrays[name]
    with pytest.raises(ValueError, match=r"^expected arrays cuts, "):
        TreeEnsemble.from_arrays(5, arrays)


@settings(max_examples=400)
@given(seeds, st.data())
def test_damaged_arrays_raise_or_are_valid_trees(seed, data):
    arrays = arrays_of(seed)
    rng = np.random.default_rng(seed)
    for name in data.draw(st.lists(st.sampled_from(sorted(arrays)), min_size=1, max_size=3)):
        array = arrays[name]
        way = data.draw(st.sampled_from(["entry", "near entry", "permute", "cut", "type", "repeat"]))
        if way in ("entry", "near entry") and array.size:
            limits = (-8, 8) if way == "near entry" else (-(2**31), 2**31)
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
        with np.errstate(invalid="ignore"):
            ensemble = TreeEnsemble.from_arrays(5, arrays)
    except ValueError:
        return
    rows = np.vstack([sample(seed, 50), np.full((1, 5), np.nan), np.full((1, 5), 1e300)])
    found = ensemble.leaves(ensemble.codes.of_rows(rows))
    ends = np.append(ensemble.splits.roots[1:], ensemble.splits.columns.size)
    firsts = ensemble.splits.roots + np.arange(ends.size)
    assert ((found >= firsts) & (found <= ends + np.arange(ends.size))).all()
    assert np.isfinite(ensemble.scores(rows)).all()
