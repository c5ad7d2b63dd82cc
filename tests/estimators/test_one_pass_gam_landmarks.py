"""`OnePassGAM` where three features act together: landmarks are taken, and all laws of the sums hold with them."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import expit
from sklearn.base import clone
from sklearn.metrics import roc_auc_score

import opauc
from opauc import IncompatibleMoments, OnePassGAM
from opauc.learners.additive import penalised_fit
from opauc.training.additive.additive_solution import AdditiveSolution

TOGETHER = "all features together"


def stream(seed, n_rows=6000):
    """The product of three features matters, one of which has missing values; and a category, and a constant."""
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(n_rows, 3))
    word = rng.integers(0, 3, n_rows)
    score = 4.0 * np.sign(rows.prod(axis=1)) + 0.7 * rows.sum(axis=1) + 0.5 * word
    labels = (rng.random(n_rows) < expit(score)).astype(np.int8)
    frame = pd.DataFrame(rows, columns=["a", "b", "c"]).assign(word=np.array(["x", "y", "z"])[word], same=1.0)
    frame.loc[rng.random(n_rows) < 0.05, "c"] = np.nan
    return frame, labels


ROWS, LABELS = stream(0, 8000)
TEST, TRUTH = stream(1)


@pytest.fixture(autouse=True)
def _small_cards(monkeypatch):
    monkeypatch.setattr("opauc.training.additive.waiting_rows.ENOUGH_OF_BOTH", 100)
    monkeypatch.setattr(penalised_fit, "MANY_ROWS", 1500)
    monkeypatch.setattr(penalised_fit, "LEAST_PART", 700)


def gam(**settings):
    return OnePassGAM(**{"card_rows": 3000, "random_state": 0, "max_columns": 400} | settings)


def begun():
    model = gam().partial_fit(ROWS[:3000], LABELS[:3000], classes=[0, 1])
    assert model.card_.landmarks is not None
    return model


def test_landmarks_are_taken_where_pairs_do_not_suffice_and_pay():
    model, plain = gam().fit(ROWS, LABELS), gam(interactions=3).fit(ROWS, LABELS)
    assert model.card_.probe.share > 0.1
    assert plain.card_.landmarks is None
    assert plain.card_.probe is None
    aucs = [roc_auc_score(TRUTH, each.decision_function(TEST)) for each in (model, plain)]
    assert aucs[0] > aucs[1] + 0.1
    assert model.card_.n_columns <= 400


def test_they_are_refused_where_features_act_alone_and_the_card_says_so():
    rows = ROWS[["a", "b", "c"]]
    labels = (np.random.default_rng(0).random(8000) < expit(rows.fillna(0.0).sum(axis=1))).astype(np.int8)
    model = gam().fit(rows, labels)
    assert model.card_.landmarks is None
    assert model.card_.probe.share < 0.02
    assert TOGETHER not in model.importances_


@pytest.mark.parametrize(("max_columns", "taken"), [(30, False), (40, False), (100, True)])
def test_there_are_no_landmarks_without_room_for_them(max_columns, taken):
    model = gam(max_columns=max_columns).fit(ROWS, LABELS)
    assert (model.card_.landmarks is not None) == taken
    assert model.card_.n_columns <= max_columns


def test_shards_with_landmarks_are_one_stream():
    model = begun()
    one = model.emptied().partial_fit(ROWS, LABELS)
    shards = [model.emptied().partial_fit(ROWS[i::16], LABELS[i::16]) for i in range(16)]
    merged = shards[0]
    for shard in shards[1:]:
        merged.merge(shard)
    assert_allclose(merged.decision_function(TEST), one.decision_function(TEST), atol=1e-8, rtol=0)
    assert merged.guard_.rung == one.guard_.rung


def test_forgetting_with_landmarks_is_never_having_seen():
    model = begun()
    kept, gone = slice(3000, 6000), slice(6000, 8000)
    never = clone(model).partial_fit(ROWS[:3000], LABELS[:3000], classes=[0, 1]).partial_fit(ROWS[kept], LABELS[kept])
    model.partial_fit(ROWS[3000:], LABELS[3000:]).forget(ROWS[gone], LABELS[gone])
    assert_allclose(model.decision_function(TEST), never.decision_function(TEST), atol=1e-8, rtol=0)


@pytest.mark.parametrize("cuts", [[1, 2999, 3000, 3001, 7000], [2000]])
def test_any_cut_of_the_rows_gives_what_fit_gives(cuts):
    whole, parts = gam().fit(ROWS, LABELS), gam()
    for part in np.split(np.arange(8000), cuts):
        parts.partial_fit(ROWS.iloc[part], LABELS[part], classes=[0, 1])
    assert_allclose(parts.decision_function(TEST), whole.decision_function(TEST), atol=1e-8, rtol=0)


def test_a_saved_model_with_landmarks_goes_on_to_the_same_bits(tmp_path):
    model = gam().fit(ROWS[:4000], LABELS[:4000])
    opauc.save(model, tmp_path / "model")
    again = opauc.load(tmp_path / "model")
    assert again.card_.probe == model.card_.probe
    for each in (again, model):
        each.partial_fit(ROWS[4000:], LABELS[4000:])
    assert_array_equal(again.decision_function(TEST), model.decision_function(TEST))


def test_a_file_from_before_there_were_landmarks_is_read():
    model = gam(interactions=3).fit(ROWS[:4000], LABELS[:4000])
    arrays = model.solution_.to_arrays() | {"model.in_sample": np.zeros(2)}
    assert not [name for name in arrays if "landmark" in name or "probe" in name]
    again = AdditiveSolution.from_arrays(model.solution_.settings, arrays)
    assert_array_equal(again.final.weights, model.solution_.final.weights)
    assert len(again.final.judgement.aucs) == 4


def test_models_with_and_without_landmarks_do_not_merge():
    model, plain = begun(), gam(interactions=3).partial_fit(ROWS[:3000], LABELS[:3000], classes=[0, 1])
    with pytest.raises(IncompatibleMoments, match="different cards"):
        model.merge(plain)
    with pytest.raises(IncompatibleMoments, match="different cards"):
        plain.merge(model)


def test_explanations_name_what_all_features_do_together_and_add_up():
    model = gam().fit(ROWS, LABELS)
    explained = model.explain(TEST[:50])
    assert_allclose(explained.scores(), model.decision_function(TEST[:50]), atol=1e-9)
    assert explained.names[-1] == TOGETHER
    assert max(model.importances_, key=model.importances_.get) == TOGETHER
    (effect,) = (effect for effect in model.effects_ if effect.name == TOGETHER)
    assert effect.at == ()
    assert effect.importance == model.importances_[TOGETHER]


def test_the_guard_has_a_rung_without_landmarks():
    model = begun().partial_fit(ROWS[3000:], LABELS[3000:])
    assert list(model.guard_.aucs) == ["linear", "additive", "certain pairs", "pairs", "full"]
    assert model.guard_.aucs["full"] > model.guard_.aucs["pairs"] + 0.05
    wrong = 1 - LABELS[3000:]  # what was learnt of the first rows misleads: the simplest rung is the least wrong
    assert begun().partial_fit(ROWS[3000:], wrong).guard_.rung != "full"
