"""Trees grown by LightGBM: what is read of them scores as it does; folds, seeds, threads, and where it is missing."""

import sys
from dataclasses import replace

import lightgbm
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import issparse
from scipy.special import expit
from sklearn.metrics import roc_auc_score

from opauc.additive.basis.basis import Basis
from opauc.additive.basis.bins import ValueCodes
from opauc.additive.basis.ensemble import ValidationGain
from opauc.additive.basis.score_tables import ScoreTables
from opauc.additive.policy import RANDOM_GROWTH, SLOW_GROWTH, TREE_POLICY, Growth
from opauc.additive.trees.grow import (
    CodedRows,
    code_folds,
    cross_fit,
    fold_columns,
    grow_ensemble,
    load_lightgbm,
    most_frequent_codes,
    read_trees,
    relative_codes,
)
from opauc.errors import TreesUnavailableWarning

SMALL = Growth(min_leaves=7, min_leaf_rows=5, patience=10)
CATEGORICAL = np.array([False, False, False, True, False, False])


def draw_rows(seed, n_rows=1500, strength=3.0):
    """Three numbers that interact, one of them with missing values, categories, few values, and a constant."""
    rng = np.random.default_rng(seed)
    rows = np.c_[rng.normal(size=(n_rows, 3)), rng.integers(0, 9, n_rows), rng.integers(0, 3, n_rows), np.ones(n_rows)]
    score = strength * np.sign(rows[:, :3].prod(axis=1)) + 0.3 * (rows[:, 3] % 3 - 1) + 0.5 * rows[:, 4]
    labels = (rng.random(n_rows) < expit(score - 0.5)).astype(np.int8)
    rows[rng.random(n_rows) < 0.1, 2] = np.nan
    return rows, labels, rng.uniform(0.5, 2.0, n_rows)


def coded(seed=0, n_rows=1500, strength=3.0):
    """Codes, rows that trees are grown on, and rows that validate them."""
    rows, labels, weight = draw_rows(seed, n_rows, strength)
    codes = ValueCodes.of(rows, labels, weight, CATEGORICAL)
    every = CodedRows(codes.of_rows(rows), labels, weight)
    cut = n_rows * 4 // 5
    return codes, every.take(np.arange(cut)), every.take(np.arange(cut, n_rows))


@pytest.fixture
def boosters(monkeypatch):
    """The models that LightGBM grows meanwhile, each with the AUC of the validation rows by its number of trees."""
    grown, evaluate = [], lightgbm.Booster.eval_valid

    def keep(booster):
        if not grown or grown[-1][0] is not booster:
            grown.append((booster, {}))
        found = evaluate(booster)
        grown[-1][1][booster.current_iteration()] = found[0][2]
        return found

    monkeypatch.setattr(lightgbm.Booster, "eval_valid", keep)
    return grown


def same_trees(one, other):
    return all(
        np.array_equal(mine, theirs)
        for mine, theirs in zip((*one.splits, one.values), (*other.splits, other.values), strict=True)
    )


@pytest.mark.parametrize("growth", [SMALL, TREE_POLICY.growth, SLOW_GROWTH, RANDOM_GROWTH])
@pytest.mark.parametrize("seed", range(2))
def test_scores_and_leaves_are_those_of_lightgbm(growth, seed, boosters):
    codes, rows, validation = coded(seed)
    ensemble = grow_ensemble(codes, rows, validation, growth, max_leaves=2000)
    [(booster, _)] = boosters
    asked = np.random.default_rng(seed).integers(0, 256, (500, 6)).astype(np.uint8)
    usual = most_frequent_codes(rows.codes)
    assert [np.bincount(column).argmax() for column in rows.codes.T] == usual.tolist()
    for part in (rows.codes, validation.codes, asked):
        relative = part.astype(float) - usual
        theirs = booster.predict(relative, raw_score=True, num_iteration=ensemble.n_trees)
        assert_allclose(ensemble.products(part, ensemble.values), theirs, rtol=1e-9, atol=1e-12)
        leaves = booster.predict(relative, pred_leaf=True, num_iteration=ensemble.n_trees)
        first = ensemble.splits.roots + np.arange(ensemble.n_trees)
        assert_array_equal(ensemble.leaves(part) - first, leaves)


@pytest.mark.parametrize("seed", range(2))
def test_models_score_trees_as_lightgbm_does(seed, boosters):
    values, _, weight = draw_rows(seed)
    codes, rows, validation = coded(seed)
    ensemble = grow_ensemble(codes, rows, validation, TREE_POLICY.growth, max_leaves=2000)
    [(booster, _)] = boosters
    relative = codes.of_rows(values).astype(float) - most_frequent_codes(rows.codes)
    theirs = booster.predict(relative, raw_score=True, num_iteration=ensemble.n_trees)
    basis = Basis.of(values, weight, CATEGORICAL, n_knots=4).with_trees(ensemble, ValidationGain(9.0, 0.2))
    tables = ScoreTables.of(basis, np.concatenate([np.zeros(basis.n_columns), ensemble.values]))
    assert_allclose(tables.scores(values), theirs, rtol=1e-9, atol=1e-12)
    assert_allclose(np.concatenate([tables.scores(row[None]) for row in values[:50]]), theirs[:50], atol=1e-12)


def test_rows_of_rare_codes_are_given_to_lightgbm_as_sparse_ones_and_grow_the_same_trees(monkeypatch):
    rng = np.random.default_rng(0)
    numbers = (rng.random((2000, 12)) < 0.05) * rng.integers(1, 4, (2000, 12)).astype(float)
    labels = (numbers.sum(axis=1) + rng.normal(size=2000) > 1.0).astype(np.int8)
    codes = ValueCodes.of(numbers, labels, np.ones(2000), np.zeros(12, bool))
    rows = CodedRows(codes.of_rows(numbers), labels, np.ones(2000))
    usual = most_frequent_codes(rows.codes)
    relative = relative_codes(rows.codes, usual, rows.codes.shape[1])
    assert issparse(relative)
    assert_array_equal(relative.toarray(), rows.codes.astype(float) - usual)
    sparse = grow_ensemble(codes, rows, rows, SMALL)
    monkeypatch.setattr("opauc.additive.trees.grow.SPARSE_SHARE", 0.0)
    assert not issparse(relative_codes(rows.codes, usual, rows.codes.shape[1]))
    dense = grow_ensemble(codes, rows, rows, SMALL)
    assert_allclose(
        sparse.products(rows.codes, sparse.values), dense.products(rows.codes, dense.values), rtol=1e-6, atol=1e-9
    )


def test_what_is_read_of_trees_is_valid_and_ranks_new_rows():
    codes, rows, validation = coded(n_rows=4000)
    ensemble = grow_ensemble(codes, rows, validation)
    restored = type(ensemble).from_arrays(6, ensemble.to_arrays())
    new, labels, _ = draw_rows(9, 3000)
    assert_array_equal(restored.scores(new), ensemble.scores(new))
    assert roc_auc_score(labels, ensemble.scores(new)) > 0.85
    assert 5 not in ensemble.splits.columns  # a constant


def test_the_same_seed_gives_the_same_trees_on_any_number_of_threads_and_another_seed_others():
    (codes, rows, validation), growth = coded(), replace(SMALL, min_inputs=1)
    first = grow_ensemble(codes, rows, validation, growth, seed=3)
    assert same_trees(first, grow_ensemble(codes, rows, validation, growth, seed=3))
    assert same_trees(first, grow_ensemble(codes, rows, validation, growth, seed=3, n_threads=2))
    assert same_trees(first, grow_ensemble(codes, rows, validation, growth, seed=3 + 2**31))
    assert not same_trees(first, grow_ensemble(codes, rows, validation, growth, seed=4))


def test_validation_rows_decide_the_number_of_trees_and_nothing_else():
    codes, rows, validation = coded(n_rows=4000)
    wrong = validation._replace(labels=1 - validation.labels)
    one, other = (grow_ensemble(codes, rows, held_out, SMALL) for held_out in (validation, wrong))
    assert other.n_trees < one.n_trees
    n_splits, n_leaves = other.splits.columns.size, other.n_leaves
    assert_array_equal(one.splits.columns[:n_splits], other.splits.columns)
    assert_array_equal(one.splits.codes[:n_splits], other.splits.codes)
    assert_array_equal(one.values[:n_leaves], other.values)


@pytest.mark.parametrize(("patience", "trees_per_look"), [(3, 1), (10, 1), (10, 5), (9, 4)])
def test_growing_stops_when_the_auc_of_validation_rows_has_not_risen_for_some_trees(patience, trees_per_look, boosters):
    codes, rows, validation = coded()
    growth = replace(SMALL, patience=patience, trees_per_look=trees_per_look)
    ensemble = grow_ensemble(codes, rows, validation, growth)
    [(booster, aucs)] = boosters
    assert list(aucs) == list(range(trees_per_look, max(aucs) + 1, trees_per_look))
    assert patience <= max(aucs) - ensemble.n_trees < patience + trees_per_look
    relative = validation.codes.astype(float) - most_frequent_codes(rows.codes)
    scores = booster.predict(relative, num_iteration=ensemble.n_trees)
    expected = roc_auc_score(validation.labels, scores, sample_weight=validation.weight)
    assert aucs[ensemble.n_trees] == pytest.approx(expected, abs=1e-9)
    best = trees_per_look  # trees count if they raise the AUC of the best so far by more than `min_progress`
    for size, auc in aucs.items():
        best = size if auc > aucs[best] + growth.min_progress else best
    assert ensemble.n_trees == best


@pytest.mark.parametrize("max_leaves", [0, 7, 20, 100])
def test_all_trees_together_have_at_most_so_many_leaves(max_leaves, boosters):
    codes, rows, validation = coded()
    ensemble = grow_ensemble(codes, rows, validation, replace(SMALL, patience=100), max_leaves)
    [(booster, aucs)] = boosters
    assert booster.current_iteration() == max(aucs) == max(1, max_leaves // 7)
    assert ensemble.n_leaves <= max(7, max_leaves)


def test_trees_have_more_leaves_where_rows_are_many():
    growth = Growth(rows_per_leaf=10, min_leaves=20, max_leaves=50)
    assert [growth.leaves_for(n_rows, 10**6) for n_rows in (1, 200, 349, 10**6)] == [20, 20, 34, 50]
    assert [TREE_POLICY.growth.rate_for(n_rows) for n_rows in (30_000, 40_000)] == [0.1, 0.15]
    assert [SLOW_GROWTH.rate_for(n_rows) for n_rows in (30_000, 40_000)] == [0.03, 0.03]
    assert [growth.leaves_for(10**6, n_rare) for n_rare in (10, 640, 10**5)] == [20, 40, 50]


def test_rows_of_large_weight_decide():
    codes, rows, _ = coded(strength=0.0)
    labels = (rows.codes[:, 0] > 128).astype(np.int8)
    labels[::2] = 1 - labels[::2]
    for heavy in (0, 1):
        weight = np.where(np.arange(labels.size) % 2 == heavy, 1.0, 1e-3)
        weighted = rows._replace(labels=labels, weight=weight)
        ensemble = grow_ensemble(codes, weighted, weighted, SMALL, max_leaves=70)
        scores = ensemble.products(rows.codes, ensemble.values)
        assert roc_auc_score(labels[heavy::2], scores[heavy::2]) > 0.95
        assert roc_auc_score(labels[1 - heavy :: 2], scores[1 - heavy :: 2]) < 0.05


def test_there_is_no_ensemble_where_no_tree_has_a_split():
    codes, rows, validation = coded()
    constant = [part._replace(codes=np.ones_like(part.codes)) for part in (rows, validation)]
    assert grow_ensemble(codes, *constant, SMALL) is None


def test_values_of_trees_without_a_split_are_added_to_the_first_tree(boosters):
    codes, rows, validation = coded()
    ensemble = grow_ensemble(codes, rows, validation, SMALL, max_leaves=28)
    text = boosters[0][0].model_to_string(num_iteration=ensemble.n_trees)
    alone = (
        "\n\nTree={}\nnum_leaves=1\nnum_cat=0\nsplit_feature=\nthreshold=\nleft_child=\nright_child=\nleaf_value={}\n"
    )
    with_constants = text.replace("\n\nTree=0\n", alone.format(0, 0.25) + "\n\nTree=1\n")
    with_constants = with_constants.replace("\n\nend of trees", alone.format(9, -1.5) + "\n\nend of trees")
    usual = most_frequent_codes(rows.codes)
    found = read_trees(with_constants, codes, usual)
    assert found.n_trees == ensemble.n_trees
    shift = found.products(rows.codes, found.values) - ensemble.products(rows.codes, ensemble.values)
    assert_allclose(shift, -1.25, rtol=1e-12)
    assert read_trees("tree\n" + alone.format(0, 0.25), codes, usual) is None


def code_by_fold(rows, labels, weight, folds):
    """The codes of all rows as each fold has them: numbers by all rows, categories by those outside of the fold."""
    whole = ValueCodes.of(rows, labels, weight, CATEGORICAL).of_rows(rows)
    for fold in range(folds.max() + 1):
        outside = folds != fold
        without = ValueCodes.of(rows[outside], labels[outside], weight[outside], CATEGORICAL).of_rows(rows)
        yield np.hstack([whole[:, ~CATEGORICAL], without[:, CATEGORICAL]])


def test_each_row_is_scored_by_the_trees_that_have_not_seen_its_fold():
    rows, labels, weight = draw_rows(0, 1200)
    folds = np.arange(1200) % 3
    codes = code_folds(rows, labels, weight, CATEGORICAL, folds)
    assert codes.sources.tolist() == [0, 1, 2, 4, 5, 3, 3, 3]
    found = cross_fit(codes, CodedRows(codes.of_rows(rows), labels, weight), folds, SMALL, max_leaves=140, seed=5)
    expected, total = np.empty(1200), np.zeros(1200)
    for fold, coded_rows in enumerate(code_by_fold(rows, labels, weight, folds)):
        every = CodedRows(coded_rows, labels, weight)
        inside, outside = (every.take(np.flatnonzero(part)) for part in (folds == fold, folds != fold))
        ensemble = grow_ensemble(codes, outside, inside, SMALL, max_leaves=140, seed=5)
        expected[folds == fold] = ensemble.products(inside.codes, ensemble.values)
        total += ensemble.products(coded_rows, ensemble.values) / 3
    assert_array_equal(found.scores, expected)
    assert_allclose(found.ensemble.scores(rows), total, rtol=1e-10, atol=1e-12)


def test_columns_of_a_fold_are_the_numbers_and_its_own_categories():
    rows, labels, weight = draw_rows(0, 600)
    folds, categorical = np.arange(600) % 3, np.array([True, False, False, True, True, False])
    rows[:, [0, 3, 4]] = np.random.default_rng(1).integers(0, 6, (600, 3))
    codes = code_folds(rows, labels, weight, categorical, folds)
    for fold in range(3):
        assert codes.sources[fold_columns(codes, fold, 3)].tolist() == [1, 2, 5, 0, 3, 4]
        outside = folds != fold
        without = ValueCodes.of(rows[outside], labels[outside], weight[outside], categorical)
        own = codes.take(fold_columns(codes, fold, 3)).of_rows(rows)
        assert_array_equal(own[:, 3:], without.of_rows(rows)[:, categorical])
    plain = code_folds(rows, labels, weight, np.zeros(6, bool), folds)
    assert plain.sources.tolist() == [0, 1, 2, 3, 4, 5]
    assert fold_columns(plain, 2, 3).tolist() == [0, 1, 2, 3, 4, 5]


@pytest.mark.parametrize("seed", range(3))
def test_labels_of_a_fold_do_not_help_to_rank_its_rows(seed):
    rng = np.random.default_rng(seed)
    rows, labels = rng.integers(0, 150, (3000, 2)).astype(float), rng.integers(0, 2, 3000).astype(np.int8)
    categorical, folds = np.ones(2, bool), np.arange(3000) % 5
    codes = code_folds(rows, labels, np.ones(3000), categorical, folds)
    found = cross_fit(codes, CodedRows(codes.of_rows(rows), labels, np.ones(3000)), folds, SMALL, max_leaves=700)
    assert found is None or abs(roc_auc_score(labels, found.scores) - 0.5) < 0.04  # three standard errors: .03
    leaking = ValueCodes.of(rows, labels, np.ones(3000), categorical).of_rows(rows)
    assert roc_auc_score(labels, leaking.astype(float).sum(axis=1)) > 0.6


def test_there_is_no_cross_fit_where_a_fold_has_no_tree():
    rows, labels, weight = draw_rows(0, 600)
    rows[:] = 1.0
    folds = np.arange(600) % 3
    codes = code_folds(rows, labels, weight, CATEGORICAL, folds)
    assert cross_fit(codes, CodedRows(codes.of_rows(rows), labels, weight), folds, SMALL, max_leaves=140) is None


@pytest.mark.parametrize("fault", [ImportError, OSError])
def test_where_lightgbm_cannot_be_loaded_a_warning_says_what_to_install(monkeypatch, fault):
    class Broken:
        def find_spec(self, name, *_):
            if name == "lightgbm":
                raise fault("libgomp.so.1: cannot open shared object file")

    monkeypatch.delitem(sys.modules, "lightgbm")
    monkeypatch.setattr(sys, "meta_path", [Broken(), *sys.meta_path])
    with pytest.warns(TreesUnavailableWarning, match=r"libgomp\.so\.1.*apt-get install libgomp1"):
        assert load_lightgbm() is None
    codes, rows, validation = coded()
    with pytest.warns(TreesUnavailableWarning, match="LightGBM cannot be loaded"):
        assert grow_ensemble(codes, rows, validation, SMALL) is None


def test_nothing_is_said_where_lightgbm_can_be_loaded(recwarn):
    assert load_lightgbm() is lightgbm
    assert not recwarn.list
