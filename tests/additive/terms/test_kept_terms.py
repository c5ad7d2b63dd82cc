"""Terms are computed once for each state of a model, and are no part of its copies and files."""

import gc
import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from numpy.testing import assert_allclose

from opauc import OnePassGAM, load, save
from opauc.additive.estimator.fitted import _terms_of_models


def draw_rows(seed, n_rows=3000):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(n_rows, 3))
    return rows, (rows[:, 0] * rows[:, 1] + rows[:, 2] + rng.normal(size=n_rows) > 0).astype(int)


def fit_model():
    rows, labels = draw_rows(0)
    return OnePassGAM(init_size=2000, random_state=0).partial_fit(rows, labels, classes=[0, 1])


@pytest.fixture
def model():
    return fit_model()


def test_the_same_terms_are_returned_until_the_model_changes(model, tmp_path):
    rows, labels = draw_rows(1)
    changes = [
        lambda: model.partial_fit(rows, labels),
        lambda: model.forget(rows[:500], labels[:500]),
        lambda: model.merge(model.empty_copy().partial_fit(rows[:700], labels[:700])),
        lambda: model.fit(rows, labels),
    ]
    for number, change in enumerate(changes):
        before = model.terms_
        assert all(one is two for one, two in zip(before, model.terms_, strict=True))
        change()
        save(model, tmp_path / f"{number}.opauc")
        fresh = load(tmp_path / f"{number}.opauc")
        assert model.term_importances_ == pytest.approx(fresh.term_importances_, abs=1e-9)
        assert {term.name: term.importance for term in before} != model.term_importances_
        assert_allclose(model.explain(rows[:9]).scores(), model.decision_function(rows[:9]), atol=1e-9)


def test_a_caller_can_change_the_list_but_not_the_terms(model):
    model.terms_.clear()
    [*_, last] = model.terms_
    with pytest.raises(ValueError, match="read-only"):
        last.value[...] = 0.0


def test_terms_are_neither_pickled_nor_kept_longer_than_the_model():
    model = fit_model()
    assert model.terms_
    assert b"opauc.additive.terms.terms" not in pickle.dumps(model)
    assert b"opauc.additive.terms.explain" not in pickle.dumps(model)
    n_models = len(_terms_of_models)
    del model
    gc.collect()
    assert len(_terms_of_models) < n_models


def test_explaining_and_training_at_once_explains_one_state_of_the_model(model):
    rows, labels = draw_rows(2, 6000)

    def explain():
        explained = model.explain(rows[:50])
        return explained.scores(), len(model.terms_)

    def train(start):
        model.partial_fit(rows[start : start + 500], labels[start : start + 500])
        return model.decision_function(rows[:50])

    states = [model.decision_function(rows[:50])]
    with ThreadPoolExecutor(4) as pool:
        explained = [pool.submit(explain) for _ in range(20)]
        states += [pool.submit(train, start).result() for start in range(0, 6000, 1000)]
        explained += [pool.submit(explain) for _ in range(20)]
    for scores, _ in (future.result() for future in explained):
        assert min(np.abs(scores - state).max() for state in states) < 1e-8
