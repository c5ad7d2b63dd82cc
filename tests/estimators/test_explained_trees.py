"""What trees of a `OnePassGAM` do is divided among the features that they split on."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import expit

from opauc import OnePassGAM
from opauc.additive.policy import SMOOTHING_POLICY, TREE_POLICY, AdditivePolicy, Growth

NAMES = ["x0", "x1", "x2", "x3", "x4"]


def stream(seed, n_rows):
    """A curve of the first feature, the sign of the product of the next three, and a constant."""
    rng = np.random.default_rng(seed)
    rows = np.c_[rng.normal(size=(n_rows, 4)), np.ones(n_rows)]
    score = 1.5 * np.abs(rows[:, 0]) + 4.0 * np.sign(rows[:, 1:4].prod(axis=1)) - 1.0
    return rows, (rng.random(n_rows) < expit(score)).astype(np.int8)


ROWS, LABELS = stream(0, 8000)
TEST, _ = stream(1, 500)
POLICY = AdditivePolicy(
    smoothing=replace(SMOOTHING_POLICY, many_rows=1500, min_subset=700),
    tree=replace(TREE_POLICY, growth=Growth(min_leaves=15, patience=10)),
)


def begun(policy=POLICY):
    model = OnePassGAM(init_size=3000, random_state=0, max_columns=400)
    model._policy = policy
    model.partial_fit(ROWS[:3000], LABELS[:3000], classes=[0, 1])
    assert model.basis_.trees is not None
    return model


@pytest.fixture(scope="module")
def learned():
    return begun().partial_fit(ROWS[3000:], LABELS[3000:])


def test_a_score_is_the_sum_of_its_parts(learned):
    explained = learned.explain(TEST)
    assert_allclose(explained.scores(), learned.decision_function(TEST), atol=1e-9, rtol=0)
    assert explained.contributions.shape == (500, len(explained.names))


def test_features_that_act_together_have_large_shares_and_the_one_that_acts_alone_a_small_one(learned):
    found = learned.term_importances_
    shares = [found[f"{name} (trees)"] for name in NAMES[1:4]]
    assert min(shares) > 3.0 * found["x0 (trees)"]
    assert sum(shares) > 2.5 * sum(found[name] for name in NAMES[1:4])


def test_a_feature_has_a_share_if_some_split_is_on_it(learned):
    split_on = learned.basis_.trees.inputs
    assert 4 not in split_on
    shares = [name for name in learned.term_importances_ if name.endswith(" (trees)")]
    assert shares == [f"x{j} (trees)" for j in split_on]
    assert "all features together" not in learned.term_importances_


def test_a_share_has_no_curve(learned):
    terms = {term.name: term for term in learned.terms_}
    share = terms["x2 (trees)"]
    assert share.inputs == ("x2",)
    assert (share.at, share.value.size, share.error.size) == ((), 0, 0)
    assert share.importance == learned.term_importances_["x2 (trees)"]
    assert terms["x2"].at != ()


def test_importances_of_shares_are_their_deviations_over_the_rows_that_trees_were_grown_on(learned):
    blend = learned._fitted.current.model.blend
    kept = blend.ensemble.codes.decode(blend.kept, 5)
    explained = learned.explain(kept)
    for name, parts in zip(explained.names, explained.contributions.T, strict=True):
        if name.endswith("(trees)"):
            assert learned.term_importances_[name] == pytest.approx(parts.std(), rel=1e-9)
            assert parts.mean() == pytest.approx(0.0, abs=1e-9)


def test_features_have_the_importances_of_their_terms(learned):
    found, expected = learned.term_importances_, np.zeros(5)
    for name, importance in found.items():
        inputs = name.removesuffix(" (trees)").split(" × ")
        for part in inputs:
            expected[NAMES.index(part)] += importance / len(inputs)
    assert_allclose(learned.feature_importances_, expected, rtol=1e-12)


def test_shards_and_forgetting_lead_to_the_same_explanation(learned):
    model = begun()
    for k in range(3):
        part = slice(3000 + k, 8000, 3)
        model.merge(model.empty_copy().partial_fit(ROWS[part], LABELS[part]))
    more, truth = stream(2, 1000)
    model.partial_fit(more, truth).forget(more, truth)
    found, expected = model.explain(TEST), learned.explain(TEST)
    assert found.names == expected.names
    assert_allclose(found.contributions, expected.contributions, atol=1e-7)
    assert_allclose(list(model.term_importances_.values()), list(learned.term_importances_.values()), atol=1e-6)


def test_trees_that_were_not_selected_have_no_terms():
    model = begun().partial_fit(ROWS[3000:], 1 - LABELS[3000:])  # what was learned of the first rows misleads
    assert model.selection_.model != "full"
    assert not [name for name in model.term_importances_ if name.endswith(" (trees)")]
    assert_allclose(model.explain(TEST).scores(), model.decision_function(TEST), atol=1e-9, rtol=0)


def test_one_row_and_none_are_explained(learned):
    assert_allclose(learned.explain(TEST[:1]).scores(), learned.decision_function(TEST[:1]), atol=1e-9, rtol=0)
    constant = OnePassGAM().fit(np.ones((40, 2)), [0, 1] * 20)
    assert constant.explain(np.ones((3, 2))).names == ()
    assert_allclose(constant.explain(np.ones((3, 2))).scores(), constant.decision_function(np.ones((3, 2))))
    assert constant.terms_ == []
