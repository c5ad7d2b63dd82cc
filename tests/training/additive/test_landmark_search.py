"""Landmarks are tried on rows held out, and taken where inputs act together beyond pairs."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.special import expit

from opauc.features.card import Card
from opauc.features.card.main_effects import main_effects
from opauc.learners.additive import penalised_fit as fits
from opauc.learners.additive.penalised_fit import PenalisedFit, part_of
from opauc.training.additive import interaction_search as search
from opauc.training.additive.additive_settings import AdditiveSettings
from opauc.training.additive.landmark_search import chosen_landmarks, importances, is_taken, probed
from opauc.training.additive.sample_rows import SampleRows

NUMBERS = np.zeros(3, bool)


@pytest.fixture(autouse=True)
def _few_are_many(monkeypatch):
    monkeypatch.setattr(fits, "MANY_ROWS", 1000)
    monkeypatch.setattr(fits, "LEAST_PART", 400)


def sample(seed, three=True, n_rows=4000):
    """Three inputs whose product matters, or of which each matters alone."""
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(n_rows, 3))
    score = 3.0 * np.sign(rows.prod(axis=1)) if three else rows.sum(axis=1)
    labels = (rng.random(n_rows) < expit(score)).astype(np.int8)
    return SampleRows(rows, labels, rng.integers(1, 3, n_rows).astype(float), np.full(n_rows, 1 / n_rows)), score


def begun(some, scores, size=200):
    card = Card.of(some.numbers, some.mass, NUMBERS, n_knots=8)
    weights = np.random.default_rng(0).normal(size=card.n_columns)
    fit = PenalisedFit(weights, np.ones(card.groups.kinds.size), scores)
    return card, chosen_landmarks(card, card.rows(some.numbers), fit, some, size, seed=0)


@pytest.mark.parametrize("seed", range(3))
def test_three_inputs_together_are_found_and_what_is_known_already_is_not(seed):
    some, _ = sample(seed)
    card, landmarks = begun(some, np.zeros(4000))
    probe = probed(card, landmarks, np.zeros(4000), some)
    assert is_taken(probe, more_rows=False)
    assert probe.share > 0.1
    some, score = sample(seed, three=False)
    card, landmarks = begun(some, score)
    assert not is_taken(probed(card, landmarks, score, some), more_rows=True)


@given(st.integers(0, 2**32 - 1))
def test_the_gain_is_that_of_the_rows_that_were_neither_fitted_nor_learnt_from(seed):
    some, score = sample(seed, n_rows=1200)
    scores = 0.3 * score
    card, landmarks = begun(some, scores, size=20)
    held = np.setdiff1d(np.arange(1200), part_of(1200))
    columns = landmarks.columns(card.tables, some.numbers)
    sign = 2.0 * some.labels - 1.0
    margin = sign * scores
    doubt = 1.0 / (1.0 + np.exp(margin))
    curvature = np.where(margin >= 0, doubt * (1 - doubt), (doubt - 0.5) / -np.where(margin == 0, 1.0, margin))
    gains, lost, strength = [], [], 1.0
    for fold in range(4):
        judge, learn = held[fold::4], np.setdiff1d(held, held[fold::4])
        system = (columns[learn].T * (some.weight * curvature)[learn]) @ columns[learn]
        pull = columns[learn].T @ (some.weight * sign * doubt)[learn]
        weights, strength = literal_fit(system, pull, landmarks.roughness, strength)
        before, after = (np.log1p(np.exp(-sign * each)) for each in (scores, scores + columns @ weights))
        gains.extend((some.weight * (before - after))[judge])
        lost.extend((some.weight * before)[judge])
    found = probed(card, landmarks, scores, some)
    assert_allclose(found.share, np.sum(gains) / np.sum(lost), rtol=1e-6, atol=1e-9)
    assert_allclose(found.errors, np.sum(gains) / (np.std(gains) * np.sqrt(len(gains))), rtol=1e-6, atol=1e-6)


def literal_fit(system, pull, roughness, strength):
    """Four steps of Fellner and Schall for one group."""
    for _ in range(4):
        inverse = np.linalg.inv(system + strength * roughness)
        weights = inverse @ pull
        known = len(pull) - strength * np.trace(inverse @ roughness)
        before, strength = strength, np.clip(max(known, 1e-6) / (weights @ roughness @ weights + 1e-12), 0.02, 1e5)
        if abs(np.log(strength / before)) < 0.15:
            break
    return weights, strength


def test_importance_is_the_deviation_of_all_effects_of_an_input():
    some, _ = sample(0)
    card = Card.of(some.numbers, some.mass, NUMBERS, n_knots=8)
    rows, weights = card.rows(some.numbers), np.random.default_rng(1).normal(size=card.n_columns)
    few = rows[:: 4000 // 1024].toarray()
    expected = [(few[:, card.effects[(j,)]] @ weights[card.effects[(j,)]]).std() for j in range(3)]
    assert_allclose(importances(card, rows, weights), expected, rtol=1e-9)


def test_landmarks_lie_where_the_fit_is_wrong():
    some, _ = sample(0)
    right = np.where(some.labels == 1, 9.0, -9.0)
    wrong = some.numbers[:, 0] > 1.5
    scores = np.where(wrong, -right, right)
    card, landmarks = begun(some, scores)
    plain = landmarks.positions(card.tables, some.numbers[wrong])[:, 0].min()
    assert np.mean(landmarks.places[:, 0] >= plain) > 0.6 > 3 * wrong.mean()


@pytest.mark.parametrize("case", ["constant", "missing", "duplicates"])
def test_inputs_without_values_and_rows_that_repeat_do_no_harm(case):
    some, _ = sample(0)
    if case == "constant":
        some.numbers[:, 1] = 5.0
    elif case == "missing":
        some.numbers[::2, 1] = np.nan
        some.numbers[:, 2] = np.nan
    else:
        some.numbers[:] = np.round(some.numbers)
    card, landmarks = begun(some, np.zeros(4000))
    assert np.isfinite(landmarks.places).all()
    assert len(np.unique(landmarks.places, axis=0)) == landmarks.size
    assert np.isfinite(probed(card, landmarks, np.zeros(4000), some)).all()


@pytest.mark.parametrize(("beside", "sure"), [(0.02, 0.1), (0.02, 0.9), (0.35, 0.1)])
def test_landmarks_beside_few_pairs_are_tried_before_all_pairs_are_fitted(monkeypatch, beside, sure):
    monkeypatch.setattr(search, "ENOUGH_FOR_FEW", 0)
    monkeypatch.setattr(search, "BESIDE_LANDMARKS", beside)
    monkeypatch.setattr(search, "SURE", sure)
    fitted, begin = [], search.InteractionSearch._begun
    monkeypatch.setattr(
        search.InteractionSearch, "_begun", lambda self, card, fit: fitted.append(card) or begin(self, card, fit)
    )
    rng = np.random.default_rng(2)
    rows = rng.normal(size=(4000, 3))
    score = 3.0 * np.sign(rows.prod(axis=1)) + rows[:, 0] * rows[:, 1] + rows[:, 1] * rows[:, 2]
    some = SampleRows(rows, (rng.random(4000) < expit(score)).astype(np.int8), np.ones(4000), np.full(4000, 1 / 4000))
    effects = main_effects(rows, some.mass, some.weight, NUMBERS, 8)
    mains = Card.of_effects(effects)
    card, fit = search.InteractionSearch(mains, effects, some, AdditiveSettings(), 0, more_rows=True).fitted()
    assert card.landmarks is not None
    assert fit.weights.size == card.n_columns
    few_without_pairs = beside == 0.02  # all columns of the share are curves
    assert bool(len(card.tables.pairs)) != few_without_pairs
    assert len(fitted) == 1 + (few_without_pairs and sure == 0.9)


def test_landmarks_so_alike_that_float32_cannot_tell_them_apart_are_tried_in_float64():
    rng = np.random.default_rng(0)
    rows = np.c_[rng.normal(size=12_000), rng.integers(0, 2, 12_000), rng.integers(0, 2, 12_000)].astype(float)
    labels = (rng.random(12_000) < expit(rows[:, 0])).astype(np.int8)
    some = SampleRows(rows, labels, np.full(12_000, 40.0), np.full(12_000, 1 / 12_000))
    card, landmarks = begun(some, np.zeros(12_000), size=300)
    assert np.isfinite(probed(card, landmarks, np.zeros(12_000), some)).all()
