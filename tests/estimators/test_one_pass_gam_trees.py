"""`OnePassGAM` where three features act together: trees are grown, and all laws of the sums hold with their leaves."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import expit
from sklearn.metrics import roc_auc_score

import opauc
from opauc import IncompatibleMomentsError, OnePassGAM
from opauc.additive import trees as tree_search
from opauc.additive.basis.leaf_indicators import LeafIndicators
from opauc.additive.policy import SMOOTHING_POLICY, TREE_POLICY, AdditivePolicy


def stream(seed, n_rows=6000):
    """The product of three features matters, one of which has missing values; and a category, and a constant."""
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(n_rows, 3))
    category = rng.integers(0, 3, n_rows)
    score = 4.0 * np.sign(rows.prod(axis=1)) + 0.7 * rows.sum(axis=1) + 0.5 * category
    labels = (rng.random(n_rows) < expit(score)).astype(np.int8)
    frame = pd.DataFrame(rows, columns=["a", "b", "c"]).assign(category=np.array(["x", "y", "z"])[category], same=1.0)
    frame.loc[rng.random(n_rows) < 0.05, "c"] = np.nan
    return frame, labels


ROWS, LABELS = stream(0, 8000)
TEST, TRUTH = stream(1)
SMALL = AdditivePolicy(smoothing=replace(SMOOTHING_POLICY, many_rows=1500, min_subset=700))


@pytest.fixture(params=[False, True])
def frozen(request, monkeypatch):
    """Whether leaves are to keep the values they were grown with while rows are few."""
    evaluate = tree_search.evaluate_candidate
    monkeypatch.setattr(tree_search, "evaluate_candidate", lambda *rows: evaluate(*rows)._replace(frozen=request.param))
    return request.param


def gam(policy=SMALL, **settings):
    model = OnePassGAM(**{"init_size": 3000, "random_state": 0, "max_columns": 400} | settings)
    model._policy = policy
    return model


def begun():
    model = gam().partial_fit(ROWS[:3000], LABELS[:3000], classes=[0, 1])
    assert isinstance(model.basis_.trees, LeafIndicators)
    return model


def leaf_weights(model):
    return model._fitted.final.weights[model.basis_.effects[()]]


def grown_values(model):
    return model._fitted.current.model.sums.expansion_point[model.basis_.effects[()]]


def test_trees_are_grown_where_pairs_do_not_suffice_and_pay():
    model, plain = gam().fit(ROWS, LABELS), gam(interactions=3).fit(ROWS, LABELS)
    assert isinstance(model.basis_.trees, LeafIndicators)
    assert model.basis_.validation_gain.share > 0.1
    assert plain.basis_.trees is None
    assert plain.basis_.validation_gain is None
    aucs = [roc_auc_score(TRUTH, each.decision_function(TEST)) for each in (model, plain)]
    assert aucs[0] > aucs[1] + 0.1
    assert model.basis_.n_columns <= 400


def test_they_are_rejected_where_features_act_alone_and_the_basis_says_so():
    rows = ROWS[["a", "b", "c"]]
    labels = (np.random.default_rng(0).random(8000) < expit(rows.fillna(0.0).sum(axis=1))).astype(np.int8)
    model = gam().fit(rows, labels)
    assert model.basis_.trees is None
    assert model.basis_.validation_gain.share < 0.05
    assert not [name for name in model.term_importances_ if name.endswith(" (trees)")]


@pytest.mark.parametrize(("max_columns", "taken"), [(30, False), (100, False), (200, True)])
def test_there_are_no_trees_without_room_for_them(max_columns, taken):
    model = gam(max_columns=max_columns).fit(ROWS, LABELS)
    assert (model.basis_.trees is not None) == taken
    assert model.basis_.n_columns <= max_columns


def test_shards_with_leaves_are_one_stream(frozen):
    model = begun()
    assert model.basis_.trees.frozen is frozen
    one = model.empty_copy().partial_fit(ROWS, LABELS)
    shards = [model.empty_copy().partial_fit(ROWS[i::16], LABELS[i::16]) for i in range(16)]
    merged = shards[0]
    for shard in shards[1:]:
        merged.merge(shard)
    assert_allclose(merged.decision_function(TEST), one.decision_function(TEST), atol=1e-8, rtol=0)
    assert merged.selection_.model == one.selection_.model


def test_forgetting_with_leaves_is_never_having_seen(frozen):
    model = begun()
    assert model.basis_.trees.frozen is frozen
    kept, gone = slice(3000, 5500), slice(5500, 8000)  # the line of twice the basis's rows is crossed and crossed back
    never = gam().partial_fit(ROWS[:3000], LABELS[:3000], classes=[0, 1]).partial_fit(ROWS[kept], LABELS[kept])
    model.partial_fit(ROWS[3000:], LABELS[3000:])
    assert not np.array_equal(leaf_weights(model), grown_values(model))
    model.forget(ROWS[gone], LABELS[gone])
    assert np.array_equal(leaf_weights(model), grown_values(model)) == frozen
    assert_allclose(model.decision_function(TEST), never.decision_function(TEST), atol=1e-8, rtol=0)


@pytest.mark.parametrize("cuts", [[1, 2999, 3000, 3001, 7000], [2000], [5999, 6000, 6001]])
def test_any_cut_of_the_rows_gives_what_one_partial_fit_gives(cuts, frozen):
    whole, parts = gam().partial_fit(ROWS, LABELS), gam()
    for part in np.split(np.arange(8000), cuts):
        parts.partial_fit(ROWS.iloc[part], LABELS[part], classes=[0, 1])
    assert parts.basis_.trees.frozen is frozen
    assert_allclose(parts.decision_function(TEST), whole.decision_function(TEST), atol=1e-8, rtol=0)


def test_leaves_keep_the_values_they_were_grown_with_until_there_are_twice_the_rows(frozen):
    model = begun()
    values = grown_values(model)
    assert np.array_equal(leaf_weights(model), values) == frozen
    model.partial_fit(ROWS[3000:5999], LABELS[3000:5999])
    assert np.array_equal(leaf_weights(model), values) == frozen
    before = model.decision_function(TEST)
    model.partial_fit(ROWS[5999:6000], LABELS[5999:6000])
    assert_array_equal(grown_values(model), values)
    moved = np.abs(leaf_weights(model) - values)
    assert np.mean(moved > 1e-3) > 0.5
    # Leaves move at that row all at once, or have moved before.
    assert (np.abs(model.decision_function(TEST) - before).max() > 0.5) == frozen


@pytest.mark.parametrize("way", ["merge", "cuts", "forget"])
def test_however_twice_the_rows_are_reached_the_model_is_that_of_one_stream(way, frozen):
    model, direct = begun(), begun().partial_fit(ROWS[3000:6000], LABELS[3000:6000])
    assert model.basis_.trees.frozen is frozen
    if way == "merge":
        for part in (slice(3000, 4000), slice(4000, 6000)):
            model.merge(model.empty_copy().partial_fit(ROWS[part], LABELS[part]))
    elif way == "cuts":
        for part in np.split(np.arange(3000, 6000), [7, 2000]):
            model.partial_fit(ROWS.iloc[part], LABELS[part])
    else:
        model.partial_fit(ROWS[3000:], LABELS[3000:]).forget(ROWS[6000:], LABELS[6000:])
    assert_allclose(model.decision_function(TEST), direct.decision_function(TEST), atol=1e-8, rtol=0)
    gone = slice(5999, 6000)  # back over the line
    for each in (model, direct):
        each.forget(ROWS[gone], LABELS[gone])
    one_fewer = begun().partial_fit(ROWS[3000:5999], LABELS[3000:5999])
    for each in (model, direct):
        assert_allclose(each.decision_function(TEST), one_fewer.decision_function(TEST), atol=1e-8, rtol=0)


@pytest.mark.parametrize("frozen", [True], indirect=True)
@pytest.mark.parametrize("size", [0.7, 1.1, 1.3])
def test_weights_of_rows_that_are_rounded_do_not_decide_on_which_side_of_the_line_they_are(size, frozen):
    weight, found = np.full(6000, size), []
    for cuts in ([], [3000], [3001, 4500], range(3100, 6000, 100)):
        model = gam()
        for part in np.split(np.arange(6000), cuts):
            model.partial_fit(ROWS.iloc[part], LABELS[part], classes=[0, 1], sample_weight=weight[part])
        found.append(model.decision_function(TEST))
    assert model.basis_.trees.frozen is frozen
    for scores in found[1:]:
        assert_allclose(scores, found[0], atol=1e-8, rtol=0)


def test_a_saved_model_with_leaves_goes_on_to_the_same_bits(tmp_path, frozen):
    model = gam().fit(ROWS[:4000], LABELS[:4000])
    opauc.save(model, tmp_path / "model")
    again = opauc.load(tmp_path / "model")
    assert again.basis_.validation_gain == model.basis_.validation_gain
    assert again.basis_.trees.frozen is frozen
    assert_array_equal(again.decision_function(TEST), model.decision_function(TEST))
    for each in (again, model):
        each.partial_fit(ROWS[4000:], LABELS[4000:])
    assert_array_equal(again.decision_function(TEST), model.decision_function(TEST))


def test_models_with_and_without_leaves_do_not_merge():
    model, plain = begun(), gam(interactions=3).partial_fit(ROWS[:3000], LABELS[:3000], classes=[0, 1])
    with pytest.raises(IncompatibleMomentsError, match="different bases"):
        model.merge(plain)
    with pytest.raises(IncompatibleMomentsError, match="different bases"):
        plain.merge(model)


def test_models_that_differ_in_one_split_do_not_merge():
    model = begun()
    other = gam().partial_fit(ROWS[:3000], LABELS[:3000], classes=[0, 1])
    model.empty_copy().merge(other.empty_copy())
    few_leaves = replace(SMALL, tree=replace(TREE_POLICY, max_leaf_columns=80))
    assert model.basis_.trees.n_entries > 4
    fewer = gam(few_leaves).partial_fit(ROWS[:3000], LABELS[:3000], classes=[0, 1])
    with pytest.raises(IncompatibleMomentsError, match="different bases"):
        model.merge(fewer)


def test_explanations_name_what_each_feature_does_with_others_and_add_up(frozen):
    model = gam().fit(ROWS[:5000], LABELS[:5000])
    assert model.basis_.trees.frozen is frozen
    explained = model.explain(TEST[:50])
    assert_allclose(explained.scores(), model.decision_function(TEST[:50]), atol=1e-9)
    shares = ["a (trees)", "b (trees)", "c (trees)"]
    assert set(shares) <= set(explained.names)
    assert {term.name for term in model.terms_[:3]} == set(shares)
    assert not {"same (trees)", "all features together"} & set(explained.names)


def test_a_candidate_model_has_no_leaves(frozen):
    model = begun().partial_fit(ROWS[3000:], LABELS[3000:])
    assert list(model.selection_.aucs) == ["linear", "additive", "certain pairs", "pairs", "full"]
    assert model.selection_.aucs["full"] > model.selection_.aucs["pairs"] + 0.05
    wrong = 1 - LABELS[3000:]  # what was learned of the first rows misleads: the simplest model is the least wrong
    for last in (5000, 8000):
        fooled = begun().partial_fit(ROWS[3000:last], wrong[: last - 3000])
        assert fooled.basis_.trees.frozen is frozen
        assert fooled.selection_.model != "full"
        assert not leaf_weights(fooled).any()


@pytest.mark.parametrize("seed", range(4))
def test_few_rows_that_trees_explain_whole_stay_explained(seed):
    # Rows of which nothing is left to explain say nothing of curves, which must not vanish under the trees.
    rng = np.random.default_rng(seed)
    rows = rng.integers(0, 3, (1500, 6)).astype(float)
    labels = ((rows[:, :3] == 2).any(axis=1) ^ (rows[:, 3:].sum(axis=1) > 3)).astype(np.int8)
    model = OnePassGAM(random_state=0).fit(rows[:1000], labels[:1000])
    assert isinstance(model.basis_.trees, LeafIndicators)
    assert roc_auc_score(labels[1000:], model.decision_function(rows[1000:])) > 0.99
    assert np.mean(model.predict(rows[1000:]) == labels[1000:]) > 0.95
