"""Scores in one go against those by way of columns, indicators, levels and leaves."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from numpy.testing import assert_allclose, assert_array_equal

from opauc.additive.basis.crossed_codes import CrossedCode, CrossedCodes, Member
from opauc.additive.basis.ensemble import TreeEnsemble
from opauc.additive.basis.random_effects import RandomEffects
from opauc.additive.basis.score_tables import DIVIDED_ROWS, ScoreTables
from opauc.additive.kernels.rows import LOOKUP_ROWS
from opauc.additive.kernels.scores import MIN_DIVIDED_ROWS
from tests.additive.basis.test_basis import basis_of, sample
from tests.additive.basis.test_ensemble import GAIN, ensemble_of, flat, seeds, walked_leaves

NONE, NO_EDGES, NO_EXAMPLES = np.empty(0, np.int64), np.empty(0), np.empty((0, 2))


def rich_basis(seed):
    """A basis with all there is: curves, levels, missing values, pairs, random effects, crossed codes, trees."""
    effects = RandomEffects(np.array([2, 2, 3, 3, 3]), np.array([1, 3, -4, 5, 17]))
    members = Member(2, NO_EDGES, np.arange(4)), Member(0, np.array([-3.0, 0.5]), NONE), Member(3, NO_EDGES, NONE)
    codes = (CrossedCode(members[:2], 16, 1.0, 1.0, NO_EXAMPLES), CrossedCode(members[1:], 8, 1.0, 1.0, NO_EXAMPLES))
    basis = replace(basis_of(seed), random_effects=effects, crossed=CrossedCodes(codes))
    return basis.with_trees(ensemble_of(seed, (4, 1, 7, 9, 2, 3))[0], GAIN)


def odd_rows(seed, n_rows):
    """Rows with values beyond those of the sample, missing ones and categories that are not listed."""
    rows = sample(seed, n_rows) * 1.5
    rows[:, 2] = np.random.default_rng(seed).integers(-1, 6, n_rows)
    rows[: n_rows // 4 : 2, 0], rows[1 : n_rows // 4, 1], rows[2 : n_rows // 5, 2] = np.nan, np.nan, np.nan
    rows[n_rows // 2 :: 3, 3] = np.array([-4.0, 5.0, 17.0, 17.5])[np.arange(len(rows[n_rows // 2 :: 3])) % 4]
    return rows


def summed(basis, weights, rows):
    """The scores by way of everything that they are made of."""
    of_columns, of_effects, of_levels, of_leaves = basis.split_weights(weights)
    scores = basis.rows(rows).toarray() @ of_columns + basis.random_effects.rows(rows).toarray() @ of_effects
    scores += basis.crossed.contributions(rows, of_levels).sum(axis=1)
    return scores + (0.0 if basis.trees is None else of_leaves[basis.leaves(rows)].sum(axis=1))


@given(seeds, seeds)
def test_a_score_is_the_sum_of_all_weights_of_a_row(seed, other):
    with np.errstate(over="ignore"):  # hashes, where the kernels are not compiled
        basis, rows = rich_basis(seed), odd_rows(other, 2 * MIN_DIVIDED_ROWS + 3)
        weights = np.random.default_rng(other).normal(size=basis.n_weights)
        for of_zero in (slice(0), slice(basis.n_columns, -basis.trees.n_leaves), slice(basis.n_additive, None)):
            some = weights.copy()
            some[of_zero] = 0.0
            assert_allclose(ScoreTables.of(basis, some).scores(rows), summed(basis, some, rows), rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("n_rows", [0, 1, MIN_DIVIDED_ROWS - 1, MIN_DIVIDED_ROWS, LOOKUP_ROWS + 1, DIVIDED_ROWS + 70])
def test_a_row_has_the_same_bits_alone_and_among_any_number_of_others(n_rows):
    with np.errstate(over="ignore"):
        basis, rows = rich_basis(1), odd_rows(2, n_rows)
        tables = ScoreTables.of(basis, np.random.default_rng(3).normal(size=basis.n_weights))
        scores = tables.scores(rows)
        at = np.unique(np.linspace(0, n_rows - 1, 40).astype(int)) if n_rows else []
        assert scores.shape == (n_rows,)
        for i in at:
            assert_array_equal(tables.scores(rows[i : i + 1]), scores[i : i + 1])
        read_only = np.asfortranarray(rows)
        read_only.flags.writeable = False
        assert_array_equal(tables.scores(read_only), scores)


@pytest.mark.parametrize("side", [0, 1])
def test_trees_may_be_as_deep_as_they_have_splits(side):
    ensemble, _ = ensemble_of(0)
    tree = None
    for code in range(12) if side == 0 else range(11, -1, -1):
        tree = (3, code, tree, None) if side == 0 else (3, code, None, tree)
    values = np.random.default_rng(0).normal(size=26)
    deep = TreeEnsemble(ensemble.codes, flat([tree, tree]), values)
    basis, rows = basis_of(0).with_trees(deep, GAIN), odd_rows(1, 200)
    weights = np.concatenate([np.zeros(basis.n_columns), values])
    expected = values[walked_leaves([tree, tree], deep.codes.of_rows(rows))].sum(axis=1)
    tables = ScoreTables.of(basis, weights)
    assert np.unique(expected).size > 8
    assert_allclose(tables.scores(rows), expected, rtol=1e-12, atol=1e-13)
    assert_array_equal(np.concatenate([tables.scores(rows[i : i + 1]) for i in range(200)]), tables.scores(rows))


def test_tables_do_not_change_with_the_arrays_that_they_were_made_of():
    basis, rows = rich_basis(5), odd_rows(6, 100)
    weights = np.random.default_rng(7).normal(size=basis.n_weights)
    with np.errstate(over="ignore"):
        tables = ScoreTables.of(basis, weights)
        before = tables.scores(rows)
        weights[:] = 0.0
        basis.tables.knots[:] = 0.0
        basis.trees.splits.codes[:] = 0
        assert_array_equal(tables.scores(rows), before)
