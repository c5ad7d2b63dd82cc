"""Codes of persons in an array, given to OnePassGAM as nothing but numbers."""

from functools import reduce

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.metrics import roc_auc_score

from opauc import OnePassGAM, load, save

N_PERSONS, N_ROWS = 300, 9000
CODE = "x0 (categorical)"  # persons; x1 is the age


def sample(seed, n_rows):
    """Rows of persons, each with a number that says nothing and an effect of their own, and of an age."""
    truth, rng = np.random.default_rng(7), np.random.default_rng(seed)
    numbers, effects = truth.choice(10**6, N_PERSONS, replace=False), 1.5 * truth.normal(size=N_PERSONS)
    person, age = rng.integers(0, N_PERSONS, n_rows), rng.integers(18, 90, n_rows)
    score = effects[person] + 0.03 * (age - 50.0)
    return (
        np.column_stack([numbers[person], age]).astype(float),
        (rng.random(n_rows) < 1.0 / (1.0 + np.exp(-score))).astype(int),
        score,
    )


ROWS, LABELS, _ = sample(0, N_ROWS)
TEST, TEST_LABELS, TRUTH = sample(1, 3000)


@pytest.fixture(scope="module", params=[20_480, 4000])
def model(request):
    """A model of all rows, which were all in the basis's sample or came after it."""
    return OnePassGAM(random_state=0, init_size=request.param).fit(ROWS, LABELS)


def test_persons_are_ranked_nearly_as_well_as_can_be(model):
    best = roc_auc_score(TEST_LABELS, TRUTH)
    assert best > 0.8
    assert roc_auc_score(TEST_LABELS, model.decision_function(TEST)) > best - 0.02
    assert_allclose(model.predict_proba(TEST)[:, 1].mean(), TEST_LABELS.mean(), atol=0.03)


def test_the_code_is_a_term_of_its_own_with_a_level_for_each_person(model):
    (term,) = (term for term in model.terms_ if term.name == CODE)
    assert term.inputs == ("x0",)
    assert set(term.at[0]) == {f"{number:.0f}" for number in ROWS[:, 0]}
    assert term.value.shape == term.error.shape == (N_PERSONS,)
    assert ((term.error > 0.1) & (term.error < 1.0)).all()
    assert "x1 (categorical)" not in model.term_importances_


def test_explanations_add_up_and_importances_are_how_far_they_spread(model):
    explained = model.explain(TEST)
    assert_allclose(explained.scores(), model.decision_function(TEST), atol=1e-9)
    contributions = dict(zip(explained.names, explained.contributions.T, strict=True))
    assert_allclose(model.term_importances_[CODE], contributions[CODE].std(), rtol=0.15)
    (term,) = (term for term in model.terms_ if term.name == CODE)
    values = dict(zip(term.at[0], term.value.tolist(), strict=True))
    assert_allclose(contributions[CODE], [values[f"{number:.0f}"] for number in TEST[:, 0]], atol=1e-9)


def test_numbers_never_seen_are_between_the_others(model):
    nobody = np.column_stack([TEST[:, 0] + 0.5, TEST[:, 1]])
    explained = model.explain(nobody)
    code = explained.contributions[:, explained.names.index(CODE)]
    assert np.ptp(code) == 0.0
    assert abs(code[0]) < 0.5


def test_shards_merge_rows_are_forgotten_and_a_file_gives_the_same(tmp_path):
    first = OnePassGAM(random_state=0, init_size=4000).partial_fit(ROWS[:4000], LABELS[:4000], classes=[0, 1])
    one = first.empty_copy().partial_fit(ROWS, LABELS)
    shards = [first.empty_copy().partial_fit(ROWS[i::5], LABELS[i::5]) for i in range(5)]
    merged = reduce(OnePassGAM.merge, shards)
    assert CODE in merged.term_importances_
    assert_allclose(merged.decision_function(TEST), one.decision_function(TEST), atol=1e-8, rtol=0)
    save(merged, tmp_path / "merged.opauc")
    assert_array_equal(load(tmp_path / "merged.opauc").decision_function(TEST), merged.decision_function(TEST))
    less = merged.forget(ROWS[6000:], LABELS[6000:])
    never = first.empty_copy().partial_fit(ROWS[:6000], LABELS[:6000])
    assert_allclose(less.decision_function(TEST), never.decision_function(TEST), atol=1e-8, rtol=0)
