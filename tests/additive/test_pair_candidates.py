"""Pairs of categories: as many of their levels as say something, and what that brings."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit
from sklearn.metrics import roc_auc_score

from opauc import OnePassGAM
from opauc.additive import pair_search as module
from opauc.additive.basis.main_effects import main_effects
from opauc.additive.initial_sample import SampleRows
from opauc.additive.pair_search import pair_candidates
from opauc.additive.policy import BASIS_POLICY


def candidates_of(levels, labels, **given):
    """The candidates among categorical inputs, of which nothing is known yet."""
    ones = np.ones(labels.size)
    some = SampleRows(np.asfortranarray(levels, float), labels.astype(np.int8), ones, ones / labels.size)
    effects = main_effects(some.numbers, some.mass, ones, np.ones(levels.shape[1], bool), n_knots=8)
    return pair_candidates(effects, some, np.zeros(labels.size), **given)


def test_an_input_has_more_levels_only_where_its_pairs_say_more_with_them():
    rng = np.random.default_rng(0)
    # The first levels are by far the most frequent: only these matter to the second pair.
    levels = np.minimum(rng.integers(0, 15, (20_000, 4)), rng.integers(0, 15, (20_000, 4)))
    levels[:, :2] = rng.integers(0, 15, (20_000, 2))
    effect = rng.normal(size=(15, 15))[levels[:, 0], levels[:, 1]]
    effect += 3.0 * ((levels[:, 2] == 0) != (levels[:, 3] == 1))
    found = candidates_of(levels, rng.random(20_000) < expit(effect - 1.0))
    assert found.levels.tolist() == [
        BASIS_POLICY.max_pair_levels,
        BASIS_POLICY.max_pair_levels,
        BASIS_POLICY.pair_levels,
        BASIS_POLICY.pair_levels,
    ]
    certain = {tuple(pair) for pair in found.pairs[found.certain].tolist()}
    assert {(0, 1), (2, 3)} <= certain


def test_of_chance_nothing_is_certain_and_all_have_few_levels():
    rng = np.random.default_rng(1)
    found = candidates_of(rng.integers(0, 15, (8_000, 4)), rng.random(8_000) < 0.3)
    assert not found.certain.any()
    assert (found.levels == BASIS_POLICY.pair_levels).all()


def test_where_there_are_many_inputs_those_that_gain_most_have_more_levels(monkeypatch):
    rng = np.random.default_rng(2)
    levels = rng.integers(0, 15, (20_000, 6))
    effect = (
        2.0 * rng.normal(size=(15, 15))[levels[:, 0], levels[:, 1]]
        + rng.normal(size=(15, 15))[levels[:, 2], levels[:, 3]]
    )
    labels = rng.random(20_000) < expit(effect)
    assert (candidates_of(levels, labels).levels == BASIS_POLICY.max_pair_levels).tolist() == [True] * 4 + [False] * 2
    monkeypatch.setattr(module, "MOST_CODES", (BASIS_POLICY.pair_levels + 1) * 6 + 2 * 16)
    assert (candidates_of(levels, labels).levels == BASIS_POLICY.max_pair_levels).tolist() == [True] * 2 + [False] * 4


@pytest.mark.parametrize("n_levels", [12, 20])
def test_two_categories_that_say_nothing_alone_and_all_together(n_levels):
    rng = np.random.default_rng(3)
    levels, table = rng.integers(0, n_levels, (30_000, 2)), 1.5 * rng.normal(size=(n_levels, n_levels))
    probabilities = expit(table[levels[:, 0], levels[:, 1]])
    labels = rng.random(30_000) < probabilities
    frame = pd.DataFrame({"a": [f"a{j}" for j in levels[:, 0]], "b": [f"b{j}" for j in levels[:, 1]]})
    model = OnePassGAM().fit(frame[:24_000], labels[:24_000])
    best = roc_auc_score(labels[24_000:], probabilities[24_000:])
    assert roc_auc_score(labels[24_000:], model.decision_function(frame[24_000:])) > best - 0.02
