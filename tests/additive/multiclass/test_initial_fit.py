"""The basis that several classes share."""

from dataclasses import replace

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal

from opauc import OnePassGAM
from opauc.additive.basis.pair_columns import Candidates
from opauc.additive.initial_sample import WarmUpBuffer
from opauc.additive.multiclass.initial_fit import draw_rows_by_class, fit_classes, join_candidates
from opauc.additive.multiclass.policy import MULTICLASS_POLICY
from opauc.additive.policy import ADDITIVE_POLICY
from opauc.additive.settings import AdditiveSettings
from tests.additive.multiclass.data import simulate

NO_CATEGORIES = np.zeros(3, bool)


def fit(rows, labels, n_classes=3, several=MULTICLASS_POLICY, **settings):
    buffer = WarmUpBuffer.empty(rows.shape[1], n_classes).with_rows(rows, labels, None)
    return fit_classes(buffer, AdditiveSettings(**settings), np.zeros(rows.shape[1], bool), 0, several=several)


def test_each_class_has_the_scores_of_a_model_of_two_classes_where_the_basis_is_the_same():
    # Columns of two values have no knots, so that the basis does not depend on the labels.
    random = np.random.default_rng(3)
    rows = random.integers(0, 2, (1500, 6)).astype(float)
    labels = (rows[:, :3].sum(axis=1) + random.integers(0, 2, 1500)).astype(np.int8) % 3
    together = OnePassGAM(trees=False, interactions=0).fit(rows, labels)
    for k in range(3):
        alone = OnePassGAM(trees=False, interactions=0).fit(rows, labels == k)
        assert_allclose(together.explain(rows, class_=k).scores(), alone.decision_function(rows), atol=1e-8)


def test_a_pair_that_matters_for_one_class_is_shared():
    random = np.random.default_rng(0)
    rows = random.normal(size=(6000, 3))
    labels = np.where(rows[:, 0] * rows[:, 2] > 0.5, 2, (rows[:, 1] > 0).astype(int)).astype(np.int8)
    basis, sums = fit(rows, labels, trees=False)
    assert [0, 2] in basis.tables.pairs.tolist()
    assert {model.sums.n_features for model in sums.models} == {basis.n_columns}


def test_rows_drawn_by_class_stand_for_all_rows():
    labels = np.repeat(np.arange(3, dtype=np.int8), [5000, 900, 40])
    order = np.random.default_rng(0).permutation(labels.size)
    drawn = draw_rows_by_class(order, labels, 3, 600)
    counts = np.bincount(labels[drawn.rows])
    assert counts[2] == 40
    assert (counts >= 100)[:2].all()
    weights = np.bincount(labels[drawn.rows], drawn.factors)
    assert_allclose(weights, np.bincount(labels) * 600 / labels.size)


def test_pairs_are_candidates_of_any_class_and_at_most_so_many():
    of_class = [
        Candidates(np.array([[0, 1]]), np.array([True]), np.array([2.0]), np.array([6, 6, 6])),
        Candidates(np.array([[0, 2]]), np.array([False]), np.array([3.0]), np.array([6, 6, 20])),
        Candidates(np.empty((0, 2), np.int64), np.empty(0, bool), np.empty(0), np.array([6, 6, 6])),
    ]
    joined = join_candidates(of_class, max_pairs=1)
    assert_array_equal(joined.pairs, [[0, 2]])
    assert_array_equal(joined.levels, [6, 6, 20])


def test_the_basis_has_fewer_columns_the_more_classes_there_are():
    policy = MULTICLASS_POLICY
    sizes = [policy.columns_of(1500, k) for k in (2, 3, 10, 50, 100)]
    assert sizes[0] == 1500
    assert sizes == sorted(sizes, reverse=True)
    assert policy.columns_of(100, 100) == 100
    rows, labels = simulate(n_classes=8)
    basis, _ = fit(rows, labels, 8, trees=False, max_columns=60)
    assert basis.n_columns <= 60


def test_the_rows_that_each_class_keeps_are_bounded_by_all_of_them():
    policy = MULTICLASS_POLICY
    for n_classes, width in ((3, 10), (10, 780), (100, 780)):
        tree = policy.tree_policy(ADDITIVE_POLICY.tree, n_classes, 50_000, width)
        assert n_classes * tree.max_validation_rows * width <= max(2**26, n_classes * 8192 * 10)
        assert n_classes * tree.max_kept_bytes <= 4 * ADDITIVE_POLICY.tree.max_kept_bytes
        assert n_classes * tree.max_leaves_of_all <= 4 * ADDITIVE_POLICY.tree.max_leaves_of_all
    assert policy.cross_fits(2000, "normal", 3, 10)
    assert not policy.cross_fits(2000, "high", 100, 780)
    assert not policy.cross_fits(4000, "normal", 3, 10)


def test_a_class_without_rows_has_the_odds_of_none():
    rows, labels = simulate()
    _, sums = fit(rows, labels, 4, trees=False)
    assert sums.counts[3] == 0.0
    assert np.isfinite(sums.models[3].sums.expansion_point).all()


def test_trees_join_by_class():
    rows, labels = simulate(n_rows=1500)
    cross_fitted = fit(rows, labels)[1]
    tree = replace(MULTICLASS_POLICY, max_cross_fit_rows=0)
    validated = fit(rows, labels, several=tree)[1]
    for sums in (cross_fitted, validated):
        assert any(model.columns.trees is not None for model in sums.models)
    assert {model.blend.frozen for model in cross_fitted.models if model.blend is not None} == {True}
    assert {model.blend.frozen for model in validated.models if model.blend is not None} == {False}
