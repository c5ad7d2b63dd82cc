"""`OnePassGAM` where three features act together: trees are grown, and all laws of the sums hold with their leaves."""

import sys
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import expit
from sklearn.base import clone
from sklearn.metrics import roc_auc_score

import opauc
from opauc import IncompatibleMomentsError, OnePassGAM
from opauc.additive.policy import SAMPLE_POLICY, SMOOTHING_POLICY, TREE_POLICY, AdditivePolicy, Growth
from opauc.errors import TreesUnavailableWarning


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
SMALL = AdditivePolicy(
    smoothing=replace(SMOOTHING_POLICY, many_rows=1500, min_subset=700),
    tree=replace(TREE_POLICY, growth=Growth(min_leaves=15, patience=10), n_folds=3),
)


def gam(policy=SMALL, **settings):
    model = OnePassGAM(**{"init_size": 3000, "random_state": 0, "max_columns": 400} | settings)
    model._policy = policy
    return model


def blend_of(model):
    return model._fitted.current.model.blend


def begun(cross_fitted=False):
    """A model after 3000 rows whose trees may be cross-fitted, which freezes their leaves."""
    model = gam(init_size=20_000).fit(ROWS[:3000], LABELS[:3000]).empty_copy() if cross_fitted else gam()
    model.partial_fit(ROWS[:3000], LABELS[:3000], classes=[0, 1])
    assert blend_of(model).frozen is cross_fitted
    return model


def leaf_weights(model):
    return model._fitted.final.weights[-model.basis_.trees.n_leaves :]


both_kinds = pytest.mark.parametrize("cross_fitted", [False, True])


@pytest.mark.parametrize("init_size", [3000, 6000, 20_000])
def test_trees_are_grown_where_pairs_do_not_suffice_and_pay(init_size):
    model, plain = gam(init_size=init_size).fit(ROWS, LABELS), gam(init_size=init_size, trees=False).fit(ROWS, LABELS)
    assert model.basis_.validation_gain.share > 0.1
    assert blend_of(model).frozen is (init_size == 20_000)
    assert plain.basis_.trees is None
    assert plain.basis_.validation_gain is None
    aucs = [roc_auc_score(TRUTH, each.decision_function(TEST)) for each in (model, plain)]
    assert aucs[0] > aucs[1] + 0.1
    assert model.basis_.n_columns <= 400


@pytest.mark.parametrize("settings", [{"trees": False}, {"interactions": 0}, {"interactions": [("a", "b")]}])
def test_there_are_no_trees_where_they_are_not_asked_for(settings):
    for model in (gam(**settings).fit(ROWS, LABELS), gam(**settings).partial_fit(ROWS, LABELS)):
        assert model.basis_.trees is None
        assert not [name for name in model.term_importances_ if name.endswith(" (trees)")]
        assert "pairs" not in model.selection_.aucs


def test_switches_are_checked():
    with pytest.raises(ValueError, match="'trees' parameter of OnePassGAM"):
        OnePassGAM(trees="yes").fit(ROWS, LABELS)
    with pytest.raises(ValueError, match="'effort' parameter of OnePassGAM"):
        OnePassGAM(effort="low").fit(ROWS, LABELS)
    assert clone(OnePassGAM(trees=False, effort="high")).get_params()["trees"] is False


def test_where_features_act_alone_trees_do_not_matter():
    rows = ROWS[["a", "b", "c"]]
    labels = (np.random.default_rng(0).random(8000) < expit(rows.fillna(0.0).sum(axis=1))).astype(np.int8)
    model, plain = (gam(trees=trees).fit(rows, labels) for trees in (True, False))
    assert model.basis_.validation_gain is None or model.basis_.validation_gain.share < 0.01
    test = TEST[["a", "b", "c"]]
    truth = test.fillna(0.0).sum(axis=1)
    correlations = [np.corrcoef(each.decision_function(test), truth)[0, 1] for each in (model, plain)]
    assert correlations[0] > correlations[1] - 0.01


@pytest.mark.parametrize("way", ["fit", "partial_fit"])
def test_without_lightgbm_a_warning_names_what_to_install_and_the_model_has_no_trees(monkeypatch, way):
    monkeypatch.setitem(sys.modules, "lightgbm", None)
    model = gam()
    with pytest.warns(TreesUnavailableWarning, match="libgomp1"):
        getattr(model, way)(ROWS[:3500], LABELS[:3500])
    assert model.basis_.trees is None
    assert np.isfinite(model.decision_function(TEST)).all()
    without = gam(trees=False)
    getattr(without, way)(ROWS[:3500], LABELS[:3500])  # and says nothing


@both_kinds
def test_sixteen_shards_with_leaves_are_one_stream(cross_fitted):
    model = begun(cross_fitted)
    one = model.empty_copy().partial_fit(ROWS, LABELS)
    shards = [model.empty_copy().partial_fit(ROWS[i::16], LABELS[i::16]) for i in range(16)]
    merged = shards[0]
    for shard in shards[1:]:
        merged.merge(shard)
    assert_allclose(merged.decision_function(TEST), one.decision_function(TEST), atol=1e-8, rtol=0)
    assert merged.selection_.model == one.selection_.model


def test_merging_is_associative_and_commutative():
    model = begun()
    parts = [model.empty_copy().partial_fit(ROWS[k::3], LABELS[k::3]) for k in range(3)]

    def joined(*order, last_two_first=False):
        copies = [model.empty_copy().merge(parts[k]) for k in order]
        if last_two_first:
            return copies[0].merge(copies[1].merge(copies[2]))
        return copies[0].merge(copies[1]).merge(copies[2])

    expected = joined(0, 1, 2).decision_function(TEST)
    for other in (joined(0, 1, 2, last_two_first=True), joined(2, 0, 1), joined(1, 2, 0, last_two_first=True)):
        assert_allclose(other.decision_function(TEST), expected, atol=1e-8, rtol=0)


@both_kinds
def test_forgetting_later_rows_is_never_having_seen_them(cross_fitted):
    model, never = begun(cross_fitted), begun(cross_fitted)
    never.partial_fit(ROWS[3000:5500], LABELS[3000:5500])
    model.partial_fit(ROWS[3000:], LABELS[3000:])
    assert np.abs(model.decision_function(TEST) - never.decision_function(TEST)).max() > 0.01
    model.forget(ROWS[5500:], LABELS[5500:])
    assert_allclose(model.decision_function(TEST), never.decision_function(TEST), atol=1e-8, rtol=0)
    assert_allclose(leaf_weights(model), leaf_weights(never), atol=1e-8)
    assert model.forget_report_.initial_rows == 0
    model.forget(ROWS[3000:5500], LABELS[3000:5500])
    assert_allclose(model.decision_function(TEST), begun(cross_fitted).decision_function(TEST), atol=1e-8, rtol=0)


def test_forgetting_rows_of_the_initial_sample_leaves_the_trees_and_is_counted():
    model = begun().partial_fit(ROWS[3000:], LABELS[3000:])
    values = model.basis_.trees.values.copy()
    model.forget(ROWS[:40], LABELS[:40])
    assert model.forget_report_.initial_rows == 40
    assert_array_equal(model.basis_.trees.values, values)
    assert roc_auc_score(TRUTH, model.decision_function(TEST)) > 0.8


def test_rows_forgotten_while_all_are_kept_leave_no_trace_in_the_trees():
    model = gam(init_size=20_000).fit(ROWS[:3000], LABELS[:3000]).forget(ROWS[2500:3000], LABELS[2500:3000])
    never = gam(init_size=20_000).fit(ROWS[:2500], LABELS[:2500])
    assert_array_equal(model.basis_.trees.values, never.basis_.trees.values)
    assert_allclose(model.decision_function(TEST), never.decision_function(TEST), atol=1e-10)


@pytest.mark.parametrize(("max_buffered_rows", "kept"), [(8000, True), (7999, False)])
def test_a_fit_of_many_rows_drops_them_and_scores_the_same(max_buffered_rows, kept):
    policy = replace(SMALL, sample=replace(SAMPLE_POLICY, max_buffered_rows=max_buffered_rows))
    model = gam(policy, init_size="auto").fit(ROWS, LABELS)
    assert (model._fitted.fixed is None) == kept
    assert (model._fitted.waiting.n_rows == 8000) == kept
    expected = gam(init_size="auto").fit(ROWS, LABELS)
    assert_array_equal(model.decision_function(TEST), expected.decision_function(TEST))
    model.forget(ROWS[:30], LABELS[:30])
    assert model.forget_report_.initial_rows == (0 if kept else 30)
    later = stream(5, 500)
    assert np.isfinite(model.partial_fit(*later).decision_function(TEST)).all()


@pytest.mark.parametrize("cuts", [[1, 2999, 3000, 3001, 7000], [2000], [5999, 6000, 6001]])
def test_any_cut_of_the_rows_gives_what_one_partial_fit_gives(cuts):
    whole, parts = gam().partial_fit(ROWS, LABELS), gam()
    for part in np.split(np.arange(8000), cuts):
        parts.partial_fit(ROWS.iloc[part], LABELS[part], classes=[0, 1])
    assert_array_equal(parts.basis_.trees.values, whole.basis_.trees.values)
    assert_allclose(parts.decision_function(TEST), whole.decision_function(TEST), atol=1e-8, rtol=0)


@pytest.mark.parametrize("settings", [{}, {"init_size": 20_000}])
def test_the_same_seed_gives_the_same_bits(settings):
    one, two = (gam(**settings).fit(ROWS, LABELS) for _ in range(2))
    assert_array_equal(one.decision_function(TEST), two.decision_function(TEST))
    assert_array_equal(one.basis_.trees.splits.codes, two.basis_.trees.splits.codes)


@pytest.mark.parametrize("settings", [{}, {"init_size": 20_000}])
def test_a_saved_model_with_leaves_scores_to_the_bit_and_goes_on_so(tmp_path, settings):
    model = gam(AdditivePolicy(), **settings).fit(ROWS[:4000], LABELS[:4000])  # policies are not saved
    opauc.save(model, tmp_path / "model")
    again = opauc.load(tmp_path / "model")
    assert again.basis_.validation_gain == model.basis_.validation_gain
    assert_array_equal(again.decision_function(TEST), model.decision_function(TEST))
    assert_array_equal(again.explain(TEST[:50]).contributions, model.explain(TEST[:50]).contributions)
    for each in (again, model):
        each.partial_fit(ROWS[4000:], LABELS[4000:])
    assert_array_equal(again.decision_function(TEST), model.decision_function(TEST))


def test_a_model_for_scoring_only_has_leaf_weights_of_float32(tmp_path):
    model = gam(AdditivePolicy()).fit(ROWS[:4000], LABELS[:4000])
    opauc.save(model, tmp_path / "model", scoring_only=True)
    again = opauc.load(tmp_path / "model")
    assert again.basis_.validation_gain == model.basis_.validation_gain
    scores = again.decision_function(TEST)
    assert_allclose(scores, model.decision_function(TEST), rtol=0.0, atol=1e-6)
    again_explained, explained = again.explain(TEST[:50]), model.explain(TEST[:50])
    assert_allclose(again_explained.contributions, explained.contributions, rtol=0.0, atol=1e-6)
    assert_allclose(again_explained.scores(), scores[:50], rtol=0.0, atol=1e-11)


def test_models_with_and_without_trees_do_not_merge():
    model, plain = begun(), gam(trees=False).partial_fit(ROWS[:3000], LABELS[:3000], classes=[0, 1])
    with pytest.raises(IncompatibleMomentsError, match="different bases"):
        model.merge(plain)
    with pytest.raises(IncompatibleMomentsError, match="different bases"):
        plain.merge(model)


def test_models_that_differ_in_their_trees_do_not_merge():
    model = begun()
    other = gam().partial_fit(ROWS[:3000], LABELS[:3000], classes=[0, 1])
    model.empty_copy().merge(other.empty_copy())
    few_leaves = replace(SMALL, tree=replace(SMALL.tree, max_leaves_of_all=80))
    fewer = gam(few_leaves).partial_fit(ROWS[:3000], LABELS[:3000], classes=[0, 1])
    assert model.basis_.trees.n_leaves > fewer.basis_.trees.n_leaves
    with pytest.raises(IncompatibleMomentsError, match="different bases"):
        model.merge(fewer)


def test_leaves_move_with_later_rows_unless_they_were_cross_fitted():
    for cross_fitted in (False, True):
        model = begun(cross_fitted)
        grown = model.basis_.trees.values
        before = leaf_weights(model) / blend_of(model).weights[1]
        assert_allclose(before, grown, rtol=1e-10)
        model.partial_fit(ROWS[3000:], LABELS[3000:])
        after = leaf_weights(model) / blend_of(model).weights[1]
        assert np.allclose(after, grown, rtol=1e-10) == cross_fitted


def test_a_candidate_model_has_no_leaves():
    model = begun().partial_fit(ROWS[3000:], LABELS[3000:])
    assert list(model.selection_.aucs) == ["linear", "additive", "certain pairs", "pairs", "full"]
    assert model.selection_.aucs["full"] > model.selection_.aucs["pairs"] + 0.05
    wrong = 1 - LABELS[3000:]  # what was learned of the first rows misleads: the simplest model is the least wrong
    fooled = begun().partial_fit(ROWS[3000:], wrong)
    assert fooled.selection_.model != "full"
    assert not leaf_weights(fooled).any()
    assert_allclose(fooled.explain(TEST[:50]).scores(), fooled.decision_function(TEST[:50]), atol=1e-9)


def test_categories_that_appear_later_are_routed_as_rare_ones():
    model = begun()
    later = ROWS[3000:].assign(category=np.where(np.arange(5000) % 50 == 0, "new", ROWS["category"][3000:]))
    model.partial_fit(later, LABELS[3000:])
    test = TEST.assign(category="newer")
    assert np.isfinite(model.decision_function(test)).all()
    assert_array_equal(model.decision_function(test), model.decision_function(TEST.assign(category="new")))
    assert_allclose(model.explain(test[:50]).scores(), model.decision_function(test[:50]), atol=1e-9)


def test_rows_of_weight_zero_do_not_count():
    weight = np.where(np.arange(8000) % 3 == 0, 0.0, 1.5)
    used = np.flatnonzero(weight)
    weighted = gam(init_size=20_000).fit(ROWS, LABELS, sample_weight=weight)
    alone = gam(init_size=20_000).fit(ROWS.iloc[used], LABELS[used], sample_weight=weight[used])
    assert_array_equal(weighted.decision_function(TEST), alone.decision_function(TEST))
    at = used[used >= 3000]
    later = begun().partial_fit(ROWS[3000:], LABELS[3000:], sample_weight=weight[3000:])
    fewer = begun().partial_fit(ROWS.iloc[at], LABELS[at], sample_weight=weight[at])
    assert_allclose(later.decision_function(TEST), fewer.decision_function(TEST), atol=1e-8, rtol=0)


def test_weighted_rows_are_repeated_ones_in_later_sums():
    times = np.random.default_rng(0).integers(1, 4, 5000)
    weighted = begun().partial_fit(ROWS[3000:], LABELS[3000:], sample_weight=times.astype(float))
    at = 3000 + np.repeat(np.arange(5000), times)
    repeated = begun().partial_fit(ROWS.iloc[at], LABELS[at])
    assert_allclose(weighted.decision_function(TEST), repeated.decision_function(TEST), atol=1e-8, rtol=0)


def test_a_stream_that_begins_with_one_class_grows_trees_when_both_have_come():
    order = np.argsort(LABELS, kind="stable")[::-1]
    order = np.concatenate([order[:3500], np.random.default_rng(0).permutation(order[3500:])])
    model = gam()
    for part in np.array_split(order, 8):
        model.partial_fit(ROWS.iloc[part], LABELS[part], classes=[0, 1])
        assert np.isfinite(model.decision_function(TEST)).all()
    assert model.basis_.trees is not None


@pytest.mark.parametrize("kind", ["constant", "missing"])
def test_columns_that_say_nothing_give_no_trees(kind):
    rows = np.full((1000, 4), 1.0 if kind == "constant" else np.nan)
    labels = np.arange(1000) % 2
    model = OnePassGAM(random_state=0).fit(rows, labels)
    assert model.basis_.trees is None
    assert np.isfinite(model.decision_function(rows)).all()


def test_thousands_of_columns_are_fitted():
    rng = np.random.default_rng(0)
    rows = (rng.random((600, 2500)) < 0.02).astype(float)
    labels = ((rows[:, :20].sum(axis=1) > 0) ^ (rng.random(600) < 0.05)).astype(int)
    model = gam(init_size="auto", max_columns=300).fit(rows, labels)
    assert np.isfinite(model.decision_function(rows)).all()
    assert_allclose(model.explain(rows[:5]).scores(), model.decision_function(rows[:5]), atol=1e-9)
    assert roc_auc_score(labels, model.decision_function(rows)) > 0.6


@pytest.mark.parametrize("seed", range(2))
def test_few_rows_that_trees_explain_whole_stay_explained(seed):
    rng = np.random.default_rng(seed)
    rows = rng.integers(0, 3, (1500, 6)).astype(float)
    labels = ((rows[:, :3] == 2).any(axis=1) ^ (rows[:, 3:].sum(axis=1) > 3)).astype(np.int8)
    model = OnePassGAM(random_state=0).fit(rows[:1000], labels[:1000])
    assert roc_auc_score(labels[1000:], model.decision_function(rows[1000:])) > 0.99
    assert np.mean(model.predict(rows[1000:]) == labels[1000:]) > 0.95
    # A thousand rows that are all ranked rightly are no reason for odds of more than e^100.
    assert np.abs(model.decision_function(rows[1000:])).max() < 100.0


def test_high_effort_ranks_about_as_well_where_inputs_are_few():
    aucs = {}
    for effort in ("normal", "high"):
        model = OnePassGAM(effort=effort, random_state=0).fit(ROWS[:1200], LABELS[:1200])
        aucs[effort] = roc_auc_score(TRUTH, model.decision_function(TEST))
    assert aucs["high"] > aucs["normal"] - 0.03


@pytest.mark.parametrize("n_values", [2, 4])
def test_rows_that_trees_separate_stay_separated_after_later_rows(n_values):
    rng = np.random.default_rng(0)
    rows = rng.integers(0, n_values, (6000, 6)).astype(float)
    labels = ((rows[:, :3] >= n_values / 2).sum(axis=1) % 2).astype(int)  # without noise
    model = OnePassGAM(init_size=3000, random_state=0).partial_fit(rows[:3000], labels[:3000])
    assert model.basis_.trees is not None
    for part in (slice(3000, 4500), slice(4500, 6000)):
        assert roc_auc_score(labels[part], model.decision_function(rows[part])) > 0.99
        assert np.mean(model.predict(rows[part]) == labels[part]) > 0.97
        assert np.abs(model.decision_function(rows[part])).max() < 100.0
        model.partial_fit(rows[part], labels[part])
    assert model.selection_.model == "full"
    assert roc_auc_score(labels, model.decision_function(rows)) > 0.99


@pytest.mark.parametrize("n_values", [2, 4])
def test_a_few_wrong_labels_after_rows_that_trees_separate_do_little_harm(n_values):
    rng = np.random.default_rng(0)
    rows = rng.integers(0, n_values, (6000, 6)).astype(float)
    truth = ((rows[:, :3] >= n_values / 2).sum(axis=1) % 2).astype(int)
    labels = np.where((rng.random(6000) < 0.005) & (np.arange(6000) >= 3000), 1 - truth, truth)
    model = OnePassGAM(init_size=3000, random_state=0).partial_fit(rows[:3000], labels[:3000])
    model.partial_fit(rows[3000:], labels[3000:])
    assert roc_auc_score(truth, model.decision_function(rows)) > 0.98
