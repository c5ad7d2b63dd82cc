"""Methods that take columns of tables as they come: what they learn does not depend on the cut, and words count."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse

from opauc import OnePassGAM
from opauc.api import competitors_gam as gam
from opauc.api.competitors import find_table_method, table_method_names
from opauc.errors import OpaucError, UnsupportedOperationError
from opauc.metrics import exact_auc

CATEGORICAL = np.array([False, True, False])


def table(n_rows, seed=0):
    """Return a number with gaps, a category of which the even ones are positive, and noise."""
    random = np.random.default_rng(seed)
    rows = np.column_stack([random.normal(size=n_rows), random.integers(0, 8, n_rows), random.normal(size=n_rows)])
    score = np.where(rows[:, 1] % 2, -1.0, 1.0) + rows[:, 0] ** 2 - 1.0
    labels = (random.random(n_rows) < 1.0 / (1.0 + np.exp(-score))).astype(np.int8)
    rows[random.random(n_rows) < 0.2, 0] = np.nan
    return rows, labels


def learned(method, *chunks):
    method = method.fresh()
    for rows, labels in chunks:
        method.learn(rows, labels)
    method.finish()
    return method


def small_cards(monkeypatch, rows=1000):
    monkeypatch.setattr("opauc.additive.settings.USUAL_CARD", rows)
    monkeypatch.setattr("opauc.additive.initial_sample.ENOUGH_OF_BOTH", 100)


@pytest.mark.parametrize("name", table_method_names())
def test_every_file_declares_what_makes_the_rival_of_its_name(name):
    pytest.importorskip("lightgbm" if name == "lightgbm" else "opauc")
    rows, labels = table(1200)
    halves = [(rows[part], labels[part]) for part in (slice(0, 500), slice(500, 1200))]
    method = find_table_method(name)(CATEGORICAL)
    assert method.name == name
    whole, cut = learned(method, (rows, labels)), learned(method, *halves)
    assert_allclose(cut.scores(rows), whole.scores(rows))
    others, truth = table(2000, seed=1)
    assert exact_auc(truth, whole.scores(others)) > 0.72
    strange = np.where(CATEGORICAL, -1.0, others)  # a category that nothing is known of
    assert np.isfinite(whole.scores(strange)).all()
    with pytest.raises((UnsupportedOperationError, OpaucError), match="takes tables, these rows are sparse"):
        learned(method, (sparse.csr_array(np.nan_to_num(rows)), labels))


def test_few_rows_are_learnt_as_the_estimator_learns_them():
    rows, labels = table(600)
    numbers = rows[:, [0, 2]]
    expected = OnePassGAM(random_state=0).fit(numbers, labels).decision_function(numbers)
    assert_allclose(learned(gam.GamMethod(None), (numbers, labels)).scores(numbers), expected, atol=1e-9)


def test_a_card_is_made_of_rows_from_all_over_whatever_their_order(monkeypatch):
    small_bases(monkeypatch)
    rows, labels = table(6000)
    others, truth = table(4000, seed=1)
    order = np.lexsort([rows[:, 1], labels])  # by label, and by a category within
    by_order = [
        exact_auc(truth, learned(gam.GamMethod(CATEGORICAL), (rows[at], labels[at])).scores(others))
        for at in (np.arange(6000), order)
    ]
    assert abs(by_order[0] - by_order[1]) < 0.005
    method = learned(gam.GamMethod(CATEGORICAL), (rows[order], labels[order]))
    assert method.solution.counts == (np.sum(labels == 0), np.sum(labels == 1))
    assert method.solution.sampled.keys.size == 2000


def test_beyond_the_memory_for_waiting_the_card_is_made_of_what_waits(monkeypatch):
    small_bases(monkeypatch)
    rows, labels = table(6000)
    monkeypatch.setattr(gam, "MOST_HELD_BYTES", rows[:2500].nbytes)
    method = gam.GamMethod(CATEGORICAL)
    for at in range(0, 6000, 1000):
        method.learn(rows[at : at + 1000], labels[at : at + 1000])
        assert method.collected.bytes() <= rows[:3000].nbytes
    assert method.solution is not None
    method.finish()
    assert sum(method.solution.counts) == 6000
    others, truth = table(4000, seed=1)
    whole = learned(gam.GamMethod(CATEGORICAL), (rows, labels))
    assert abs(exact_auc(truth, method.scores(others)) - exact_auc(truth, whole.scores(others))) < 0.01


def test_the_model_of_compare_is_that_of_the_estimator(monkeypatch):
    small_cards(monkeypatch)
    rows, labels = table(6000)
    numbers = rows[:, [0, 2]]
    expected = OnePassGAM(random_state=0).fit(numbers, labels).decision_function(numbers)
    assert_allclose(learned(gam.GamMethod(None), (numbers, labels)).scores(numbers), expected, rtol=0, atol=1e-9)


def test_rows_of_one_class_are_a_refusal():
    rows, labels = table(300)
    method = gam.GamMethod(CATEGORICAL)
    method.learn(rows, np.zeros_like(labels))
    with pytest.raises(OpaucError, match="no rows of two classes"):
        method.finish()
    with pytest.raises(OpaucError, match="no weights yet"):
        gam.GamMethod(CATEGORICAL).scores(rows)
