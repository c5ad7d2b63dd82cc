"""Which numbers act as codes, held against a sum over all pairs of rows."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from opauc.additive.basis.main_effects import main_effects
from opauc.additive.codes import RowsByValue, coded_numbers
from opauc.additive.initial_sample import SampleRows


def found_in(values, labels, weight=None, scores=None, n_knots=8, words=()):
    """The coded ones among the columns of an array, of which some are words; all of these but one are pooled."""
    rows, ones = np.asarray(values, float).reshape(len(labels), -1), np.ones(len(labels))
    effects = main_effects(rows, ones, ones, np.isin(np.arange(rows.shape[1]), words), n_knots, 1)
    some = SampleRows(rows, labels, ones if weight is None else weight, ones)
    return coded_numbers(effects, some, np.zeros(len(labels)) if scores is None else scores)


def by_person(rng, n_rows, n_persons=150, spread=1.0):
    """Rows of persons who differ, and their labels."""
    person = rng.integers(0, n_persons, n_rows)
    chance = 1.0 / (1.0 + np.exp(-spread * rng.normal(size=n_persons)[person]))
    return person, (rng.random(n_rows) < chance).astype(np.int8)


@given(seed=st.integers(0, 2**32 - 1), n_places=st.integers(1, 12))
def test_the_agreement_is_that_of_all_pairs_of_rows_of_one_place(seed, n_places):
    rng = np.random.default_rng(seed)
    places, residuals, variances = rng.integers(0, n_places, 40), rng.normal(size=40), rng.uniform(0.1, 2.0, 40)
    pairs = [(a, b) for a in range(40) for b in range(40) if a != b and places[a] == places[b]]
    total = sum(residuals[a] * residuals[b] for a, b in pairs)
    variance = sum(2.0 * variances[a] * variances[b] for a, b in pairs)
    coded = RowsByValue(np.arange(40), places)
    assert_allclose(coded.errors(residuals, variances), total / np.sqrt(variance), rtol=1e-9)


@given(seed=st.integers(0, 2**32 - 1), far=st.sampled_from([1, 10**6, 10**12]), weighted=st.booleans())
def test_numbers_of_persons_are_found_wherever_they_lie_and_noise_is_not(seed, far, weighted):
    rng = np.random.default_rng(seed)
    person, labels = by_person(rng, 3000)
    numbers = far * rng.permutation(200)[person] - 30.0 * far
    numbers[rng.random(3000) < 0.1] = np.nan
    noise = rng.integers(0, 150, 3000).astype(float)
    weight = rng.uniform(0.5, 2.0, 3000) if weighted else None
    assert found_in(np.c_[noise, numbers, numbers + 0.5], labels, weight) == [1]


def test_chance_alone_finds_nothing():
    rng, found = np.random.default_rng(0), 0
    for _ in range(300):
        values, labels = rng.integers(0, 400, (1000, 3)), (rng.random(1000) < 0.1).astype(np.int8)
        found += len(found_in(values, labels, scores=np.full(1000, np.log(1 / 9))))
    assert found <= 1


def test_what_the_scores_say_already_is_no_code():
    rng = np.random.default_rng(1)
    age = rng.integers(0, 100, 4000)
    scores = 0.08 * (age - 50.0)
    labels = (rng.random(4000) < 1.0 / (1.0 + np.exp(-scores))).astype(np.int8)
    assert found_in(age, labels, scores=scores) == []
    assert found_in(age, labels) == [0]


@pytest.mark.parametrize("spoilt", [0.5, 2.0**60])
def test_numbers_that_are_not_all_whole_are_no_codes(spoilt):
    rng = np.random.default_rng(2)
    person, labels = by_person(rng, 3000)
    values = person.astype(float)
    assert found_in(values, labels) == [0]
    values[2999] = spoilt
    assert found_in(values, labels) == []


def test_values_that_each_have_a_hat_of_their_own_need_nothing_beside_it():
    rng = np.random.default_rng(3)
    person, labels = by_person(rng, 3000, n_persons=6, spread=3.0)
    assert found_in(person, labels) == []
    assert found_in(person, labels, n_knots=4) == [0]


def test_who_has_a_name_needs_no_number_and_one_of_two_numbers_is_enough():
    rng = np.random.default_rng(4)
    person, labels = by_person(rng, 4000)
    number, other = rng.permutation(150)[person], 1000 + rng.permutation(150)[person]
    assert found_in(np.c_[person, number], labels, words=[0]) == []
    assert len(found_in(np.c_[number, other], labels)) == 1


def test_persons_and_shops_are_both_told_apart_and_a_receipt_that_names_both_is_not():
    rng = np.random.default_rng(5)
    person, shop = rng.integers(0, 120, 6000), rng.integers(0, 90, 6000)
    score = rng.normal(size=120)[person] + rng.normal(size=90)[shop]
    labels = (rng.random(6000) < 1.0 / (1.0 + np.exp(-score))).astype(np.int8)
    assert found_in(np.c_[90 * person + shop, person, shop], labels) == [1, 2]


@given(seed=st.integers(0, 2**32 - 1), n_places=st.integers(2, 12))
def test_what_values_explain_is_the_mean_of_their_residuals_held_back(seed, n_places):
    rng = np.random.default_rng(seed)
    places, curvatures = rng.integers(0, n_places, 60), rng.uniform(0.05, 0.25, 60)
    residuals = curvatures * rng.normal(size=n_places)[places] + 0.4 * rng.normal(size=60)
    pairs = [(a, b) for a in range(60) for b in range(60) if a != b and places[a] == places[b]]
    products = sum(residuals[a] * residuals[b] for a, b in pairs)
    variance = products / sum(curvatures[a] * curvatures[b] for a, b in pairs)
    expected = residuals.copy()
    for place in np.unique(places) if variance > 0 else ():
        own = places == place
        expected[own] -= curvatures[own] * residuals[own].sum() / (curvatures[own].sum() + 1.0 / variance)
    found = RowsByValue(np.arange(60), places).explained(residuals, curvatures)
    assert_allclose(found, expected, atol=1e-9)
