"""Rows that are all fitted at once give the same model in any order."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import expit

import opauc
from opauc import OnePassGAM
from opauc.additive.policy import ADDITIVE_POLICY, SAMPLE_POLICY, TREE_POLICY


def visits(n_rows=4000):
    """Two columns of many categories, of which many have equally many rows; numbers that act together; few values."""
    random = np.random.default_rng(0)
    town, agent = random.permuted(np.arange(n_rows) % 300), random.permuted(np.arange(n_rows) % 160)
    numbers = random.normal(size=(n_rows, 3)).round(1)
    effects = random.normal(size=(2, 300))
    score = effects[0][town] + effects[1][agent] + 4.0 * np.sign(numbers.prod(axis=1) + 0.01)
    frame = pd.DataFrame(numbers, columns=["a", "b", "c"]).assign(
        town=np.char.add("town ", town.astype(str)), agent=np.char.add("agent ", agent.astype(str))
    )
    frame = frame[["town", "agent", "a", "b", "c"]]
    frame.loc[random.random(n_rows) < 0.1, "agent"] = None
    return frame, (random.random(n_rows) < expit(score)).astype(int)


FRAME, LABELS = visits()


def shuffled_models(settings, n_orders=3):
    """Models of the same rows in several orders."""
    for seed in range(n_orders):
        order = np.random.default_rng(seed).permutation(len(LABELS))
        yield OnePassGAM(random_state=0, **settings).fit(FRAME.iloc[order], LABELS[order])


@pytest.mark.parametrize("settings", [{"max_columns": 150, "trees": False}, {"max_columns": 600}])
def test_another_order_of_the_rows_gives_the_same_probabilities(settings):
    models = list(shuffled_models(settings))
    assert (models[0].basis_.trees is not None) == settings.get("trees", True)
    expected = models[0].predict_proba(FRAME)
    for model in models[1:]:
        assert [term.name for term in model.terms_] == [term.name for term in models[0].terms_]
        assert_allclose(model.predict_proba(FRAME), expected, rtol=0, atol=1e-5)


@pytest.mark.parametrize("cross_fits", [True, False])
def test_another_order_of_rows_of_numbers_gives_the_same_bits(cross_fits):
    rows = FRAME[["a", "b", "c"]].assign(d=np.random.default_rng(1).normal(size=len(LABELS)))
    labels = (3.0 * np.sign(rows[["a", "b", "c"]].prod(axis=1) + 0.01) + rows["d"] > 0).astype(int)
    found = []
    for seed in range(3):
        order = np.random.default_rng(seed).permutation(len(labels))
        model = OnePassGAM(random_state=0)
        model._policy = replace(
            ADDITIVE_POLICY, tree=replace(TREE_POLICY, max_cross_fit_rows=10**4 if cross_fits else 0)
        )
        model.fit(rows.iloc[order], labels[order])
        assert model._fitted.current.model.blend.frozen is cross_fits
        found.append(model.decision_function(rows))
    for scores in found[1:]:
        assert_array_equal(scores, found[0])


def test_rows_that_are_dropped_after_the_fit_give_the_same_bits_in_any_order():
    rows = FRAME[["a", "b", "c"]].assign(d=np.random.default_rng(1).normal(size=len(LABELS)))
    found = []
    for seed in range(2):
        order = np.random.default_rng(seed).permutation(len(LABELS))
        model = OnePassGAM(random_state=0)
        model._policy = replace(ADDITIVE_POLICY, sample=replace(SAMPLE_POLICY, max_buffered_rows=1000))
        model.fit(rows.iloc[order], LABELS[order])
        assert model._fitted.fixed is not None
        found.append(model.decision_function(rows))
    assert_array_equal(found[1], found[0])


def test_another_order_of_the_rows_of_a_file_gives_the_same_probabilities(tmp_path):
    path, found = tmp_path / "rows.csv", []
    for seed in range(2):
        table = FRAME.assign(label=LABELS).sample(frac=1.0, random_state=seed)
        table.to_csv(path, index=False)
        found.append(opauc.train(path).predict_proba(FRAME))
    assert_allclose(found[1], found[0], rtol=0, atol=1e-5)
