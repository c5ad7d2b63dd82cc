"""What trees of a `OnePassGAM` do is divided among the features that they split on."""

from dataclasses import replace

import numpy as np
from numpy.testing import assert_allclose
from scipy.special import expit

from opauc import OnePassGAM
from opauc.additive.basis.leaf_indicators import LeafIndicators
from opauc.additive.policy import SMOOTHING_POLICY, AdditivePolicy

NAMES = ["x0", "x1", "x2", "x3", "x4"]


def stream(seed, n_rows):
    """A curve of the first feature, the sign of the product of the next three, and a constant."""
    rng = np.random.default_rng(seed)
    rows = np.c_[rng.normal(size=(n_rows, 4)), np.ones(n_rows)]
    score = np.abs(rows[:, 0]) + 4.0 * np.sign(rows[:, 1:4].prod(axis=1))
    return rows, (rng.random(n_rows) < expit(score)).astype(np.int8)


ROWS, LABELS = stream(0, 8000)
TEST, _ = stream(1, 500)


POLICY = AdditivePolicy(smoothing=replace(SMOOTHING_POLICY, many_rows=1500, min_subset=700))


def begun():
    model = OnePassGAM(init_size=3000, random_state=0, max_columns=400)
    model._policy = POLICY
    model.partial_fit(ROWS[:3000], LABELS[:3000], classes=[0, 1])
    assert isinstance(model.basis_.trees, LeafIndicators)
    return model


def learned():
    return begun().partial_fit(ROWS[3000:], LABELS[3000:])


def test_a_score_is_the_sum_of_its_parts():
    model = learned()
    explained = model.explain(TEST)
    assert_allclose(explained.scores(), model.decision_function(TEST), atol=1e-9, rtol=0)
    assert explained.contributions.shape == (500, len(explained.names))


def test_features_that_act_together_have_large_shares_and_the_one_that_acts_alone_a_small_one():
    found = learned().term_importances_
    shares = [found[f"{name} (trees)"] for name in NAMES[1:4]]
    assert min(shares) > 3.0 * found["x0 (trees)"]
    assert min(shares) > 3.0 * max(found[name] for name in NAMES[1:4])


def test_a_feature_has_a_share_if_some_split_is_on_it():
    model = learned()
    split_on = np.unique(model.basis_.trees.splits.inputs)
    assert 4 not in split_on
    shares = [name for name in model.term_importances_ if name.endswith(" (trees)")]
    assert shares == [f"x{j} (trees)" for j in split_on]
    assert "all features together" not in model.term_importances_


def test_a_share_has_no_curve():
    model = learned()
    terms = {term.name: term for term in model.terms_}
    share = terms["x2 (trees)"]
    assert share.inputs == ("x2",)
    assert (share.at, share.value.size, share.error.size) == ((), 0, 0)
    assert share.importance == model.term_importances_["x2 (trees)"]
    assert terms["x2"].at != ()


def test_importances_are_the_deviations_of_contributions_over_the_rows_by_their_curvature():
    model = learned()
    scores = model.basis_.products(ROWS, model._fitted.current.model.sums.expansion_point)
    margin = (2.0 * LABELS - 1.0) * scores
    wrong = expit(-margin)  # the probability of the other label
    curvature = np.where(margin >= 0, wrong * (1 - wrong), (wrong - 0.5) / -np.where(margin == 0, 1.0, margin))
    parts = model.explain(ROWS).contributions
    middles = np.average(parts, weights=curvature, axis=0)
    assert_allclose(middles, 0.0, atol=1e-8)
    spreads = np.sqrt(np.average(parts**2, weights=curvature, axis=0))
    assert_allclose(list(model.term_importances_.values()), spreads, rtol=1e-6, atol=1e-7)


def test_shards_and_forgetting_lead_to_the_same_explanation():
    model, direct = begun(), learned()
    for k in range(3):
        part = slice(3000 + k, 8000, 3)
        model.merge(model.empty_copy().partial_fit(ROWS[part], LABELS[part]))
    more, truth = stream(2, 1000)
    model.partial_fit(more, truth).forget(more, truth)
    found, expected = model.explain(TEST), direct.explain(TEST)
    assert found.names == expected.names
    assert_allclose(found.contributions, expected.contributions, atol=1e-7)
    assert_allclose(list(model.term_importances_.values()), list(direct.term_importances_.values()), atol=1e-6)


def test_shares_of_trees_that_were_not_selected_are_zero():
    model = begun().partial_fit(ROWS[3000:], 1 - LABELS[3000:])  # what was learned of the first rows misleads
    assert model.selection_.model != "full"
    shares = [size for name, size in model.term_importances_.items() if name.endswith(" (trees)")]
    assert shares
    assert not any(shares)
    assert_allclose(model.explain(TEST).scores(), model.decision_function(TEST), atol=1e-9, rtol=0)


def test_one_row_and_none_are_explained():
    model = learned()
    assert_allclose(model.explain(TEST[:1]).scores(), model.decision_function(TEST[:1]), atol=1e-9, rtol=0)
    constant = OnePassGAM().fit(np.ones((40, 2)), [0, 1] * 20)
    assert constant.explain(np.ones((3, 2))).names == ()
    assert_allclose(constant.explain(np.ones((3, 2))).scores(), constant.decision_function(np.ones((3, 2))))
    assert constant.terms_ == []
