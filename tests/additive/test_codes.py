"""Numeric inputs that act as codes, against sums over all pairs of rows."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from opauc import OnePassGAM
from opauc.additive.basis.main_effects import main_effects
from opauc.additive.codes import RowsByValue, find_coded_inputs
from opauc.additive.initial_sample import SampleRows
from opauc.additive.policy import CODE_POLICY


def find_codes(values, labels, weight=None, scores=None, n_knots=8, categorical=(), policy=CODE_POLICY):
    """The coded columns of an array; all categories of the categorical columns but one are pooled."""
    rows, ones = np.asarray(values, float).reshape(len(labels), -1), np.ones(len(labels))
    effects = main_effects(rows, ones, ones, np.isin(np.arange(rows.shape[1]), categorical), n_knots, 1)
    sample = SampleRows(rows, labels, ones if weight is None else weight, ones)
    return find_coded_inputs(effects, sample, np.zeros(len(labels)) if scores is None else scores, policy)


def draw_persons(rng, n_rows, n_persons=150, spread=1.0):
    """Rows of persons who differ, and their labels."""
    person = rng.integers(0, n_persons, n_rows)
    probability = 1.0 / (1.0 + np.exp(-spread * rng.normal(size=n_persons)[person]))
    return person, (rng.random(n_rows) < probability).astype(np.int8)


@given(seed=st.integers(0, 2**32 - 1), n_groups=st.integers(1, 12))
def test_the_agreement_sums_over_all_pairs_of_rows_of_one_value(seed, n_groups):
    rng = np.random.default_rng(seed)
    groups, residuals, variances = rng.integers(0, n_groups, 40), rng.normal(size=40), rng.uniform(0.1, 2.0, 40)
    pairs = [(a, b) for a in range(40) for b in range(40) if a != b and groups[a] == groups[b]]
    total = sum(residuals[a] * residuals[b] for a, b in pairs)
    variance = sum(2.0 * variances[a] * variances[b] for a, b in pairs)
    by_value = RowsByValue(np.arange(40), groups)
    assert_allclose(by_value.agreement(residuals, variances), total / np.sqrt(variance), rtol=1e-9)


@given(seed=st.integers(0, 2**32 - 1), scale=st.sampled_from([1, 10**6, 10**12]), weighted=st.booleans())
def test_person_numbers_of_any_scale_are_codes_and_noise_is_not(seed, scale, weighted):
    rng = np.random.default_rng(seed)
    person, labels = draw_persons(rng, 3000)
    numbers = scale * rng.permutation(200)[person] - 30.0 * scale
    numbers[rng.random(3000) < 0.1] = np.nan
    noise = rng.integers(0, 150, 3000).astype(float)
    weight = rng.uniform(0.5, 2.0, 3000) if weighted else None
    assert find_codes(np.c_[noise, numbers, numbers + 0.5], labels, weight) == [1]


def test_noise_has_no_codes():
    rng, n_codes = np.random.default_rng(0), 0
    for _ in range(300):
        values, labels = rng.integers(0, 400, (1000, 3)), (rng.random(1000) < 0.1).astype(np.int8)
        n_codes += len(find_codes(values, labels, scores=np.full(1000, np.log(1 / 9))))
    assert n_codes <= 1


def test_an_input_is_coded_if_its_agreement_exceeds_the_policy():
    rng = np.random.default_rng(6)
    person, labels = draw_persons(rng, 3000)
    residuals, variances = labels - 0.5, np.full(3000, 0.25)
    z_score = RowsByValue.of(person.astype(float), np.ones(3000, bool)).agreement(residuals, variances)
    assert find_codes(person, labels, policy=replace(CODE_POLICY, min_z=z_score - 0.1)) == [0]
    assert find_codes(person, labels, policy=replace(CODE_POLICY, min_z=z_score + 0.1)) == []


def test_an_input_whose_effect_the_scores_have_is_no_code():
    rng = np.random.default_rng(1)
    age = rng.integers(0, 100, 4000)
    scores = 0.08 * (age - 50.0)
    labels = (rng.random(4000) < 1.0 / (1.0 + np.exp(-scores))).astype(np.int8)
    assert find_codes(age, labels, scores=scores) == []
    assert find_codes(age, labels) == [0]


@pytest.mark.parametrize("not_whole", [0.5, 2.0**60])
def test_numbers_that_are_not_all_whole_are_no_codes(not_whole):
    rng = np.random.default_rng(2)
    person, labels = draw_persons(rng, 3000)
    values = person.astype(float)
    assert find_codes(values, labels) == [0]
    values[2999] = not_whole
    assert find_codes(values, labels) == []


def test_values_that_each_have_a_knot_are_no_codes():
    rng = np.random.default_rng(3)
    person, labels = draw_persons(rng, 3000, n_persons=6, spread=3.0)
    assert find_codes(person, labels) == []
    assert find_codes(person, labels, n_knots=4) == [0]


def test_one_of_two_person_numbers_is_coded_and_none_where_a_category_names_the_person():
    rng = np.random.default_rng(4)
    person, labels = draw_persons(rng, 4000)
    number, other = rng.permutation(150)[person], 1000 + rng.permutation(150)[person]
    assert find_codes(np.c_[person, number], labels, categorical=[0]) == []
    assert len(find_codes(np.c_[number, other], labels)) == 1


def test_persons_and_shops_are_coded_and_a_receipt_that_names_both_is_not():
    rng = np.random.default_rng(5)
    person, shop = rng.integers(0, 120, 6000), rng.integers(0, 90, 6000)
    score = rng.normal(size=120)[person] + rng.normal(size=90)[shop]
    labels = (rng.random(6000) < 1.0 / (1.0 + np.exp(-score))).astype(np.int8)
    assert find_codes(np.c_[90 * person + shop, person, shop], labels) == [1, 2]


@given(seed=st.integers(0, 2**32 - 1), n_groups=st.integers(2, 12))
def test_removed_effects_are_shrunken_mean_residuals(seed, n_groups):
    rng = np.random.default_rng(seed)
    groups, curvatures = rng.integers(0, n_groups, 60), rng.uniform(0.05, 0.25, 60)
    residuals = curvatures * rng.normal(size=n_groups)[groups] + 0.4 * rng.normal(size=60)
    pairs = [(a, b) for a in range(60) for b in range(60) if a != b and groups[a] == groups[b]]
    products = sum(residuals[a] * residuals[b] for a, b in pairs)
    variance = products / sum(curvatures[a] * curvatures[b] for a, b in pairs)
    expected = residuals.copy()
    for group in np.unique(groups) if variance > 0 else ():
        own = groups == group
        expected[own] -= curvatures[own] * residuals[own].sum() / (curvatures[own].sum() + 1.0 / variance)
    remaining = RowsByValue(np.arange(60), groups).remove_effects(residuals, curvatures)
    assert_allclose(remaining, expected, atol=1e-9)


@pytest.mark.parametrize("random_state", range(2))
def test_codes_are_found_whether_or_not_trees_explain_what_hides_them(random_state):
    rng, truth = np.random.default_rng(5), np.random.default_rng(99)
    person, numbers = rng.integers(0, 1500, 24_000), rng.normal(size=(24_000, 3))
    score = 3.0 * np.sign(numbers.prod(axis=1)) + 1.2 * truth.normal(size=1500)[person]
    labels = (rng.random(24_000) < 1.0 / (1.0 + np.exp(-score))).astype(int)
    model = OnePassGAM(random_state=random_state).fit(np.c_[1000 + 7 * person, numbers], labels)
    assert model.basis_.trees is not None
    assert model.basis_.coded_inputs() == [0]
