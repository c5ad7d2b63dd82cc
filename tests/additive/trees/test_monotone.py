"""Leaf values in the order of monotone inputs, against trees scored everywhere and a quadratic program."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from opauc.additive.basis.bins import ValueCodes
from opauc.additive.trees.grow import CodedRows, GrowthLimits, grow_ensemble
from opauc.additive.trees.monotone import isotonic, monotone_leaf_values


@pytest.fixture(scope="module")
def grown():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(4000, 3)).round(2)
    rows[rng.random(rows.shape) < 0.1] = np.nan
    filled = np.nan_to_num(rows, nan=0.5)
    labels = (filled[:, 0] + np.sin(3 * filled[:, 0]) * filled[:, 1] + rng.logistic(size=4000) > 0).astype(np.int8)
    codes = ValueCodes.of(rows, labels, np.ones(4000), np.zeros(3, bool))
    coded = CodedRows(codes.of_rows(rows), labels, np.ones(4000))
    halves = coded.take(np.arange(3000)), coded.take(np.arange(3000, 4000))
    return rows, codes, halves


def falls(ensemble, values, j, rows):
    """Return the largest fall of the score when an input of a row is raised to any of its codes."""
    codes = ensemble.codes.of_rows(rows)
    scores = []
    for code in range(1, int(codes[:, j].max()) + 1):
        codes[:, j] = code
        scores.append(ensemble.products(codes, values))
    return float(np.maximum.accumulate(np.array(scores), axis=0).__sub__(scores).max())


def test_scores_rise_and_fall_as_asked_whatever_the_other_inputs_are(grown):
    rows, codes, (train, validation) = grown
    ensemble = grow_ensemble(codes, train, validation)
    values = monotone_leaf_values(ensemble, ensemble.values, np.ones(ensemble.n_leaves), [(0, 1), (1, -1)])
    assert falls(ensemble, ensemble.values, 0, rows[:300]) > 0.1
    assert falls(ensemble, values, 0, rows[:300]) < 1e-12
    assert falls(ensemble, -values, 1, rows[:300]) < 1e-12


def test_trees_that_grew_monotone_keep_their_values(grown):
    rows, codes, (train, validation) = grown
    ensemble = grow_ensemble(codes, train, validation, limits=GrowthLimits(((0, 1),)))
    assert falls(ensemble, ensemble.values, 0, rows[:300]) < 1e-12
    values = monotone_leaf_values(ensemble, ensemble.values, np.ones(ensemble.n_leaves), [(0, 1)])
    assert_allclose(values, ensemble.values, atol=1e-12)


def test_a_branch_combines_inputs_of_one_group_only(grown):
    _, codes, (train, validation) = grown
    ensemble = grow_ensemble(codes, train, validation, limits=GrowthLimits((), ((0,), (1,))))
    splits = ensemble.splits
    ends = np.append(splits.roots[1:], splits.columns.size)
    for first, end in zip(splits.roots, ends, strict=True):
        assert np.unique(splits.columns[first:end]).size == 1  # the third input is a group of its own


def test_values_along_a_chain_are_those_of_isotonic_regression():
    from sklearn.isotonic import isotonic_regression

    rng = np.random.default_rng(3)
    values, weights = rng.normal(size=30), rng.exponential(size=30)
    order = rng.permutation(30)
    rank = np.argsort(order)
    precedes = rank[:, None] < rank
    expected = np.empty(30)
    expected[order] = isotonic_regression(values[order], sample_weight=weights[order])
    assert_allclose(isotonic(precedes, values, weights), expected, atol=1e-12)


def test_values_in_order_stay_to_the_last_bit():
    values = np.array([0.1, 0.3, 0.2])
    precedes = np.array([[False, True, True], [False] * 3, [False, True, False]])
    assert isotonic(precedes, values, np.ones(3)) is values
