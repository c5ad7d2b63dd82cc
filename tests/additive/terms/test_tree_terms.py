"""What each input does in a tree ensemble, divided between its main effect and the rest: against loops over rows."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from opauc.additive.basis.bins import MAX_CODES
from opauc.additive.basis.ensemble import TreeEnsemble
from opauc.additive.terms.tree_terms import MAX_ROWS, TreeTerms
from tests.additive.basis.test_ensemble import ensemble_of, seeds, tree_sizes, walked_leaves
from tests.additive.kernels.test_trees import leaves_by_tree, literal_shares, literal_values

EVERY_INPUT = np.ones(5, bool)


def draw_codes(seed, n_rows=200):
    """Rows of codes of which some are rare, and some do not occur."""
    rng = np.random.default_rng(seed)
    return np.minimum(rng.geometric(0.2, (n_rows, 5)) - 1, 12).astype(np.uint8)


def draw_terms(seed, sizes=(4, 1, 7), n_rows=200, has_main_effect=EVERY_INPUT):
    ensemble, trees = ensemble_of(seed, sizes)
    weights, codes = np.random.default_rng(seed).normal(size=ensemble.n_leaves), draw_codes(seed, n_rows)
    return TreeTerms.of(ensemble, weights, codes, has_main_effect), trees, weights, codes


@given(seeds, tree_sizes)
def test_shares_are_those_of_a_walk_by_the_mass_of_the_rows(seed, sizes):
    terms, trees, weights, codes = draw_terms(seed, sizes, 60)
    mass = np.bincount(walked_leaves(trees, codes).ravel(), minlength=weights.size)
    of_trees = leaves_by_tree(trees, weights, mass)
    asked = draw_codes(seed + 1, 20)
    expected = [
        sum(literal_shares(tree, row, part) for tree, part in zip(trees, of_trees, strict=True)) for row in asked
    ]
    assert_allclose(terms.shares(asked, 5), expected, atol=1e-12)
    roots = sum(literal_values(tree, part)[0] for tree, part in zip(trees, of_trees, strict=True))
    assert terms.roots == pytest.approx(roots, abs=1e-12)
    assert_allclose(
        terms.shares(asked, 5).sum(axis=1) + terms.roots, terms.ensemble.products(asked, weights), atol=1e-11
    )


@given(seeds, tree_sizes)
def test_what_is_left_beside_main_effects_has_a_mean_of_zero_at_every_code(seed, sizes):
    terms, _, _, codes = draw_terms(seed, sizes)
    rest = terms.shares(codes, 5) - terms.main_shares(codes, 5)
    for j in range(5):
        for code in np.unique(codes[:, j]):
            assert abs(rest[codes[:, j] == code, j].mean()) < 1e-12


@given(seeds)
def test_the_main_part_of_a_code_is_the_mean_of_its_rows_or_between_its_neighbors(seed):
    terms, _, _, codes = draw_terms(seed)
    shares = terms.shares(codes, 5)
    for j in range(5):
        seen = sorted(set(codes[:, j].tolist()) - {0})
        means = {code: shares[codes[:, j] == code, j].mean() for code in (*seen, 0) if (codes[:, j] == code).any()}
        for code in range(1, MAX_CODES):
            below, above = (
                max((c for c in seen if c <= code), default=seen[0]),
                min((c for c in seen if c >= code), default=seen[-1]),
            )
            share = 0.0 if above == below else (code - below) / (above - below)
            expected = (1 - share) * means[below] + share * means[above]
            assert terms.main[j, code] == pytest.approx(expected, abs=1e-12)
        assert terms.main[j, 0] == pytest.approx(means.get(0, 0.0), abs=1e-12)  # missing values have no neighbors


@given(seeds, st.lists(st.booleans(), min_size=5, max_size=5))
def test_inputs_without_a_main_effect_keep_their_whole_part(seed, has_main_effect):
    terms, _, _, codes = draw_terms(seed, has_main_effect=np.array(has_main_effect))
    every, _, _, _ = draw_terms(seed)
    for j, has in enumerate(has_main_effect):
        assert_array_equal(terms.main[j], every.main[j] if has else np.zeros(MAX_CODES))
    assert_array_equal(terms.shares(codes, 5), every.shares(codes, 5))


@given(seeds)
def test_the_parts_of_an_input_that_is_coded_twice_are_added(seed):
    ensemble, _ = ensemble_of(seed)
    codes = replace(ensemble.codes, sources=np.array([0, 1, 1, 3, 0]))  # of four inputs, of which one has no column
    twice = TreeEnsemble(codes, ensemble.splits, ensemble.values)
    coded = draw_codes(seed)
    has_main_effect = np.array([True, False, True, True])
    terms = TreeTerms.of(twice, ensemble.values, coded, has_main_effect)
    alone = TreeTerms.of(ensemble, ensemble.values, coded, has_main_effect[codes.sources])
    for found, parts in (
        (terms.shares(coded, 4), alone.shares(coded, 5)),
        (terms.main_shares(coded, 4), alone.main_shares(coded, 5)),
    ):
        expected = np.stack([parts[:, codes.sources == j].sum(axis=1) for j in range(4)], axis=1)
        assert_allclose(found, expected, atol=1e-12)


def test_an_input_without_splits_has_no_part():
    terms, _, _, codes = draw_terms(0, (1, 1))
    for j in sorted(set(range(5)) - set(terms.ensemble.inputs.tolist())):
        assert not terms.shares(codes, 5)[:, j].any()
        assert not terms.main[j].any()


def test_of_very_many_rows_every_nth_gives_the_means():
    ensemble, _ = ensemble_of(0)
    codes, weights = draw_codes(0, 3 * MAX_ROWS - 5), np.random.default_rng(1).normal(size=ensemble.n_leaves)
    found = TreeTerms.of(ensemble, weights, codes, EVERY_INPUT)
    expected = TreeTerms.of(ensemble, weights, codes[::3], EVERY_INPUT)
    assert_array_equal(found.values, expected.values)
    assert_array_equal(found.main, expected.main)


def test_no_rows_and_leaf_weights_of_zero_do_no_harm():
    ensemble, _ = ensemble_of(0)
    none = TreeTerms.of(ensemble, np.ones(ensemble.n_leaves), np.empty((0, 5), np.uint8), EVERY_INPUT)
    assert none.roots == pytest.approx(ensemble.n_trees)
    assert not none.main.any()
    zero = TreeTerms.of(ensemble, np.zeros(ensemble.n_leaves), draw_codes(0), EVERY_INPUT)
    assert not zero.values.any()
    assert not zero.main.any()
