"""Ordered values, their quantiles, and subsamples of many values."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from opauc.additive.basis.knots import QUANTILE_ROWS, OrderedValues
from opauc.additive.basis.main_effects import MainEffect
from opauc.additive.basis.pairs import PairBasis, coarse_codes

seeds = st.integers(0, 2**32 - 1)


@given(seeds, st.integers(1, 300), st.floats(0.0, 0.9))
def test_few_values_are_all_kept_in_order_with_their_weights(seed, size, missing):
    rng = np.random.default_rng(seed)
    values, weight = np.round(rng.normal(size=size), 1), rng.uniform(0.1, 2.0, size)
    values[rng.random(size) < missing] = np.nan
    ordered = OrderedValues.subsample(values, weight)
    present = ~np.isnan(values)
    assert_array_equal(ordered.values, np.sort(values[present]))
    for value in np.unique(ordered.values):
        assert_allclose(ordered.weight[ordered.values == value].sum(), weight[values == value].sum())


@given(seeds, st.floats(0.05, 0.95))
def test_a_quantile_is_where_the_cumulative_weight_reaches_its_level(seed, share):
    rng = np.random.default_rng(seed)
    ordered = OrderedValues(np.sort(rng.normal(size=50)), rng.uniform(0.1, 2.0, 50))
    (found,) = ordered.quantiles(np.array([share]))
    below, upto = (ordered.weight[side].sum() for side in (ordered.values < found, ordered.values <= found))
    assert below < share * ordered.weight.sum() * (1 + 1e-12)
    assert upto >= share * ordered.weight.sum() * (1 - 1e-12)


def test_a_subsample_of_many_values_has_their_quantiles():
    rng = np.random.default_rng(0)
    values = rng.exponential(size=20 * QUANTILE_ROWS)
    ordered = OrderedValues.subsample(values, np.ones(values.size))
    assert ordered.values.size <= QUANTILE_ROWS
    assert_allclose(ordered.quantiles(np.array([0.1, 0.5, 0.9])), np.quantile(values, [0.1, 0.5, 0.9]), rtol=0.1)


@pytest.mark.parametrize("n_present", [3, 40])
def test_the_few_values_of_an_input_that_is_nearly_always_missing_are_found(n_present):
    values, weight = np.full(5 * QUANTILE_ROWS, np.nan), np.full(5 * QUANTILE_ROWS, 1.0)
    values[7 : 7 + n_present] = np.arange(n_present)
    effect = MainEffect.of(values, weight, weight, False, 8)
    codes = coarse_codes(effect, values, weight)
    assert_array_equal(np.flatnonzero(codes >= 0), np.arange(7, 7 + n_present))
    assert codes.max() == min(n_present - 1, 3)
    knots = PairBasis.of(effect, values, weight, 4).knots
    assert np.isin(knots, np.arange(n_present)).all()
    assert 2 <= knots.size <= 4


def test_two_values_of_which_one_is_rare_make_a_step_and_a_third_one_a_curve():
    values, ones = np.zeros(9000), np.ones(9000)
    values[8000] = 1.0
    assert MainEffect.of(values, ones, ones, False, 8).scale[:2] == (0.0, 1.0)
    values[8500] = 5.0
    assert_array_equal(MainEffect.of(values, ones, ones, False, 8).knots, [0.0, 1.0, 5.0])
