"""The first fit: when trees are grown and join, on which rows, and what the rows that validate them have not been."""

import sys
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import expit
from sklearn.metrics import roc_auc_score

from opauc.additive import initial_additive, initial_trees
from opauc.additive.initial_fit import fit_basis
from opauc.additive.initial_sample import WarmUpBuffer
from opauc.additive.labeled_sample import encode_rows
from opauc.additive.model import AdditiveLogistic
from opauc.additive.policy import ADDITIVE_POLICY, TREE_POLICY, AdditivePolicy, Growth
from opauc.additive.settings import AdditiveSettings
from opauc.errors import TreesUnavailableWarning

SCORES = {
    "three": lambda rows: 3.0 * np.sign(rows[:, :3].prod(axis=1)),
    "both": lambda rows: 2.0 * np.sign(rows[:, :3].prod(axis=1)) + 2.0 * rows[:, 3],
    "additive": lambda rows: rows.sum(axis=1) + np.sin(3.0 * rows[:, 0]),
    "noise": lambda rows: np.zeros(len(rows)),
}
FAST = Growth(min_leaves=15, patience=10)
POLICY = replace(ADDITIVE_POLICY, tree=replace(TREE_POLICY, growth=FAST, n_folds=3))
MANY, FEW = AdditiveSettings(init_size=100), AdditiveSettings(init_size=10**6)  # whether other rows may follow
NUMERIC = np.zeros(5, bool)


def draw(seed, kind="three", n_rows=3000, offset=0.0):
    """Five numbers with labels of the kind, and weights; `offset` in log-odds makes positive labels rare."""
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(n_rows, 5))
    return (
        rows,
        (rng.random(n_rows) < expit(SCORES[kind](rows) - offset)).astype(np.int8),
        rng.uniform(0.6, 1.5, n_rows),
    )


def fitted(rows, labels, weight=None, settings=MANY, policy=POLICY, categorical=NUMERIC, seed=0):
    buffer = WarmUpBuffer.empty(rows.shape[1]).with_rows(rows, labels, weight)
    basis, model = fit_basis(buffer, settings, categorical, seed, policy)
    assert (basis.trees is None) == (model.blend is None) == (len(model.candidates.weights) == 4)
    assert_allclose(model.counts, buffer.counts, rtol=1e-12)
    assert model.columns.trees is basis.trees
    return basis, model


@pytest.mark.parametrize("settings", [MANY, FEW])
@pytest.mark.parametrize(("n_rows", "offset"), [(3000, 0.0), (6000, 3.0)])
def test_trees_join_where_three_inputs_interact(settings, n_rows, offset):
    basis, model = fitted(*draw(0, "three", n_rows, offset), settings)
    assert basis.validation_gain.share > (0.1 if offset else 0.3)
    assert basis.validation_gain == model.blend.gain
    assert model.blend.frozen is (settings is FEW)
    rows, labels, _ = draw(1, "three", 4000)
    assert roc_auc_score(labels, basis.products(rows, model.solve(POLICY).weights)) > 0.85


@pytest.mark.parametrize("settings", [MANY, FEW])
@pytest.mark.parametrize("kind", ["additive", "noise"])
@pytest.mark.parametrize("seed", range(2))
def test_where_nothing_interacts_trees_hardly_change_a_score(settings, kind, seed):
    basis, model = fitted(*draw(seed, kind), settings)
    assert basis.validation_gain is None or basis.validation_gain.share < 0.02
    rows, labels, _ = draw(seed + 9, kind, 6000)
    alone, _ = fitted_without_trees = fitted(*draw(seed, kind), replace(settings, trees=False))
    with_trees = roc_auc_score(labels, basis.products(rows, model.solve(POLICY).weights))
    without = roc_auc_score(labels, alone.products(rows, fitted_without_trees[1].solve(POLICY).weights))
    assert with_trees > without - 0.01


@pytest.mark.parametrize("min_z", [-1e9, 1e9])
@pytest.mark.parametrize("settings", [MANY, FEW])
def test_trees_join_if_they_gain_enough_standard_errors_and_their_gain_is_kept_if_not(settings, min_z):
    policy = replace(POLICY, tree=replace(POLICY.tree, min_z=min_z))
    basis, model = fitted(*draw(0), settings, policy)
    assert (basis.trees is not None) == (min_z < 0)
    assert basis.validation_gain.share > 0.1
    assert (model.blend is not None) == (min_z < 0)


@pytest.mark.parametrize(
    "settings", [{"trees": False}, {"interactions": 0}, {"interactions": 5}, {"interactions": ((0, 1),)}]
)
def test_no_trees_grow_where_they_are_not_asked_for(settings, monkeypatch):
    monkeypatch.setitem(sys.modules, "lightgbm", None)  # loading it would warn
    for few in (MANY, FEW):
        basis, _ = fitted(*draw(0), replace(few, **settings))
        assert basis.trees is None
        assert basis.validation_gain is None


@pytest.mark.parametrize("settings", [MANY, FEW])
@pytest.mark.parametrize(
    ("n_rows", "offset", "grown"), [(399, 0.0, False), (400, 0.0, True), (600, 6.0, False), (3000, 6.5, False)]
)
def test_trees_are_grown_where_rows_suffice(n_rows, offset, grown, settings):
    rows, labels, _ = draw(0, "three", n_rows, offset)
    assert n_rows == 399 or (min(labels.sum(), (1 - labels).sum()) >= 50) == grown
    basis, _ = fitted(rows, labels, None, settings)
    assert (basis.validation_gain is not None) == grown


def test_the_rarer_class_is_counted_by_weight():
    rows, labels, _ = draw(0)
    for weight, grown in ((0.03, False), (0.04, True)):
        basis, _ = fitted(rows, labels, np.full(3000, weight))
        assert (basis.validation_gain is not None) == grown == (weight * min(labels.sum(), 3000 - labels.sum()) >= 50)


@pytest.mark.parametrize("settings", [MANY, FEW])
def test_where_lightgbm_is_missing_a_warning_says_so_and_the_model_has_no_trees(monkeypatch, settings):
    monkeypatch.setitem(sys.modules, "lightgbm", None)
    with pytest.warns(TreesUnavailableWarning, match="libgomp1"):
        basis, model = fitted(*draw(0), settings)
    assert basis.trees is None
    assert model.blend is None
    without, other = fitted(*draw(0), replace(settings, trees=False))
    assert basis.n_columns > 5
    assert without.n_columns > 5
    assert_allclose(other.counts, model.counts, rtol=1e-12)


@pytest.fixture
def grown(monkeypatch):
    """The rows that trees are grown on and validated on meanwhile, and those that the search has fitted."""
    calls, grow, search = {"grown": [], "searched": []}, initial_trees.grow_ensemble, initial_additive.InteractionSearch

    def keep_rows(codes, rows, validation, *others):
        calls["grown"].append((rows, validation))
        return grow(codes, rows, validation, *others)

    def keep_sample(*arguments):
        calls["searched"].append(arguments[2])
        return search(*arguments)

    monkeypatch.setattr(initial_trees, "grow_ensemble", keep_rows)
    monkeypatch.setattr(initial_additive, "InteractionSearch", keep_sample)
    return calls


@pytest.mark.parametrize(("n_rows", "n_validation"), [(1000, 200), (4999, 999), (5000, 500), (8000, 800)])
def test_rows_that_validate_trees_are_neither_grown_on_nor_searched(n_rows, n_validation, grown):
    rows, labels, weight = draw(0, n_rows=n_rows)
    _, model = fitted(rows, labels, weight)
    [(growing, validating)], [searched] = grown["grown"], grown["searched"]
    assert validating.labels.size == n_validation
    assert growing.labels.size == searched.labels.size == n_rows - n_validation
    weights = np.concatenate([growing.weight, validating.weight])
    assert_array_equal(np.sort(weights), np.sort(weight))  # no two rows have the same weight: each is in one of both
    assert_array_equal(np.sort(searched.weight), np.sort(growing.weight))
    assert_array_equal(model.blend.validation.rows.weight, validating.weight)
    assert model.blend.frozen is False


def test_the_additive_scores_of_validation_rows_are_those_of_a_model_that_has_not_seen_them(monkeypatch):
    rows, labels, weight = draw(0)
    models = []
    solve = AdditiveLogistic.solve
    monkeypatch.setattr(AdditiveLogistic, "solve", lambda self, *a, **b: models.append(self) or solve(self, *a, **b))
    basis, model = fitted(rows, labels, weight)
    [before] = models
    validated = model.blend.validation
    at = np.array([int(np.flatnonzero(weight == w)[0]) for w in validated.rows.weight])
    assert sum(before.counts) == pytest.approx(weight.sum() - weight[at].sum())
    others = np.setdiff1d(np.arange(3000), at)
    again = before.empty_copy().update_initial(encode_rows(basis, rows[others], labels[others], weight[others]))
    expected = basis.products(rows[at], again.solve(POLICY, narrow=True).weights)
    assert_allclose(validated.additive, expected, rtol=1e-7, atol=1e-8)
    assert_array_equal(validated.trees, basis.trees.scores(rows[at]))
    assert_array_equal(validated.rows.labels, labels[at])


def test_of_few_rows_each_validates_trees_and_an_additive_part_that_have_not_seen_it():
    rows, labels, weight = draw(0, "both", n_rows=1500)
    basis, model = fitted(rows, labels, weight, FEW)
    validated, final = model.blend.validation, model.solve(POLICY)
    at = np.array([int(np.flatnonzero(weight == w)[0]) for w in validated.rows.weight])
    assert_array_equal(np.sort(at), np.arange(1500))
    seen = basis.trees.scores(rows[at])  # two of three ensembles have seen each row
    assert roc_auc_score(labels[at], seen) > roc_auc_score(labels[at], validated.trees) + 0.02
    fits = basis.products(rows[at], final.weights[: basis.n_columns])
    assert roc_auc_score(labels[at], fits) > roc_auc_score(labels[at], validated.additive) + 0.005
    new, truth, _ = draw(5, "both", n_rows=6000)
    expected = roc_auc_score(truth, basis.trees.scores(new))
    assert roc_auc_score(labels[at], validated.trees) < expected + 0.02


def test_of_few_rows_the_basis_that_scores_a_row_is_chosen_without_it(grown):
    # Nothing has an effect: a basis of the best of 780 pairs would seem to rank rows that it has seen.
    rng = np.random.default_rng(0)
    rows, labels, weight = rng.normal(size=(900, 40)), rng.integers(0, 2, 900).astype(np.int8), rng.uniform(1, 2, 900)
    eager = replace(POLICY.search, certain_fdr=1.0, candidate_fdr=1.0)
    policy = replace(POLICY, search=eager, tree=replace(POLICY.tree, min_z=-1e9))
    basis, model = fitted(rows, labels, weight, FEW, policy, np.zeros(40, bool))
    assert len(basis.tables.pairs) > 5
    seen = model.blend.additive
    assert roc_auc_score(labels, replace(basis, trees=None).products(rows, seen)) > 0.7
    validated = model.blend.validation
    assert roc_auc_score(validated.rows.labels, validated.additive) < 0.54
    of_all, *of_folds = [set(sample.weight.tolist()) for sample in grown["searched"]]
    assert of_all == set(weight.tolist())
    held_out = [of_all - others for others in of_folds]
    assert sum(map(len, held_out)) == 900
    assert set.union(*held_out) == of_all


@pytest.mark.parametrize(
    ("n_rows", "effort", "frozen"), [(999, "normal", True), (1000, "normal", False), (1000, "high", True)]
)
def test_trees_are_cross_fitted_where_rows_are_few_or_effort_is_high(n_rows, effort, frozen):
    tree = replace(POLICY.tree, max_cross_fit_rows=1000, high_growths=(FAST, replace(FAST, random_splits=True)))
    settings = replace(FEW, effort=effort)
    _, model = fitted(*draw(0, n_rows=n_rows), settings, AdditivePolicy(tree=replace(tree, min_z=-1e9)))
    assert model.blend.frozen is frozen


@pytest.mark.parametrize(("settings", "name", "n_growths"), [(FEW, "cross_fit", 2), (MANY, "grow_ensemble", 1)])
def test_with_high_effort_there_is_an_ensemble_for_each_growth_and_they_are_averaged(
    settings, name, n_growths, monkeypatch
):
    two = FAST, replace(FAST, random_splits=True)
    policy = AdditivePolicy(tree=replace(POLICY.tree, high_growths=two, high_growths_of_many=two[:1]))
    used, joined = [], []
    grow, average = getattr(initial_trees, name), initial_trees.average_ensembles
    monkeypatch.setattr(initial_trees, name, lambda *given: used.append((given[3], given[4])) or grow(*given))
    monkeypatch.setattr(
        initial_trees, "average_ensembles", lambda *given: joined.append((given, average(*given))) or joined[-1][1]
    )
    basis, model = fitted(*draw(0, n_rows=1500), replace(settings, effort="high"), policy)
    n_folds = policy.tree.n_folds if settings is FEW else 1
    assert used == [(growth, policy.tree.max_leaves_of_all // (n_folds * n_growths)) for growth in two[:n_growths]]
    [((ensembles, _, rows), (ensemble, scores))] = joined
    assert len(ensembles) == n_growths
    assert basis.trees is ensemble
    assert model.blend.validation.trees is scores
    assert model.blend.validation.rows is rows


@pytest.mark.parametrize("settings", [MANY, FEW])
def test_the_order_of_categories_does_not_leak_validation_labels(settings):
    for seed in range(2):
        rng = np.random.default_rng(seed)
        rows = np.column_stack([rng.integers(0, 150, 3000), rng.integers(0, 90, 3000), rng.normal(size=3000)])
        labels = rng.integers(0, 2, 3000).astype(np.int8)
        basis, _ = fitted(rows, labels, None, settings, categorical=np.array([True, True, False]))
        assert basis.validation_gain is None or basis.validation_gain.share < 0.01


@pytest.mark.parametrize("settings", [MANY, FEW])
@pytest.mark.parametrize("case", ["constant", "missing", "repeated", "huge", "binary", "all constant", "one value"])
def test_degenerate_inputs_do_no_harm(case, settings):
    rows, labels, weight = draw(0, n_rows=1500)
    if case == "constant":
        rows[:, 3:] = 5.0
    elif case == "missing":
        rows[::2, 3] = np.nan
        rows[:, 4] = np.nan
    elif case == "repeated":
        rows = np.round(rows)
    elif case == "huge":
        rows *= 1e150
    elif case == "binary":
        rows = (rows > 0).astype(float)
    else:
        rows[:] = 1.0
        rows[: 0 if case == "all constant" else 10] = 2.0  # too few rows for a leaf
    basis, model = fitted(rows, labels, weight, settings)
    scores = basis.products(rows, model.solve(POLICY).weights)
    assert np.isfinite(scores).all()
    if case != "repeated":  # crossed codes may explain what trees would
        assert (basis.trees is not None) == (case in ("constant", "missing", "huge", "binary"))


@pytest.mark.parametrize("settings", [MANY, FEW])
def test_the_same_rows_in_any_order_give_the_same_bits_and_so_does_the_same_seed(settings):
    rows, labels, weight = draw(0, n_rows=1500)
    basis, model = fitted(rows, labels, weight, settings)
    for order in (np.arange(1500), np.random.default_rng(0).permutation(1500)):
        again, other = fitted(rows[order], labels[order], weight[order], settings)
        for name, array in basis.to_arrays().items():
            assert_array_equal(again.to_arrays()[name], array, err_msg=name)
        assert_array_equal(
            again.products(rows, other.solve(POLICY).weights), basis.products(rows, model.solve(POLICY).weights)
        )


def test_more_rows_of_the_more_frequent_class_are_left_out_of_growth_and_stand_for_the_others(grown):
    rows, labels, weight = draw(0, offset=3.0, n_rows=6000)
    policy = replace(POLICY, tree=replace(POLICY.tree, max_rows=800, max_rare_share=0.5, min_z=-1e9))
    fitted(rows, labels, weight, MANY, policy)
    [(growing, _)] = grown["grown"]
    n_positive = int(growing.labels.sum())
    assert growing.labels.size == 800
    assert n_positive == min(400, n_positive)
    shares = growing.weight[growing.labels == 0].sum() / weight[labels == 0].sum()
    assert shares == pytest.approx(0.9, abs=0.05)  # of the nine tenths that do not validate
