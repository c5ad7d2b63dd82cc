"""Rows that are all fitted at once give the same model in any order."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy.special import expit

import opauc
from opauc import OnePassGAM
from opauc.additive.basis.leaf_indicators import LeafIndicators


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


@pytest.mark.parametrize("max_columns", [150, 600], ids=["fewer columns than categories", "with trees"])
def test_another_order_of_the_rows_gives_the_same_probabilities(max_columns):
    models = []
    for seed in range(4):
        order = np.random.default_rng(seed).permutation(len(LABELS))
        models.append(OnePassGAM(random_state=0, max_columns=max_columns).fit(FRAME.iloc[order], LABELS[order]))
    if max_columns == 600:
        assert isinstance(models[0].basis_.trees, LeafIndicators)
    expected = models[0].predict_proba(FRAME)
    for model in models[1:]:
        assert [term.name for term in model.terms_] == [term.name for term in models[0].terms_]
        assert_allclose(model.predict_proba(FRAME), expected, rtol=0, atol=1e-5)


def test_another_order_of_the_rows_of_a_file_gives_the_same_probabilities(tmp_path):
    path, found = tmp_path / "rows.csv", []
    for seed in range(2):
        table = FRAME.assign(label=LABELS).sample(frac=1.0, random_state=seed)
        table.to_csv(path, index=False)
        found.append(opauc.train(path).predict_proba(FRAME))
    assert_allclose(found[1], found[0], rtol=0, atol=1e-5)
