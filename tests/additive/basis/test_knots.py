"""Values in order, and what is made of a few of many."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from opauc.additive.basis.knots import ENOUGH_ROWS, OrderedValues
from opauc.additive.basis.main_effects import MainEffect
from opauc.additive.basis.pairs import PairBasis, coarse_codes

seeds = st.integers(0, 2**32 - 1)


@given(seeds, st.integers(1, 300), st.floats(0.0, 0.9))
def test_few_values_are_all_there_in_order_each_with_its_mass(seed, size, missing):
    rng = np.random.default_rng(seed)
    values, mass = np.round(rng.normal(size=size), 1), rng.uniform(0.1, 2.0, size)
    values[rng.random(size) < missing] = np.nan
    found = OrderedValues.some_of(values, mass)
    known = ~np.isnan(values)
    assert_array_equal(found.values, np.sort(values[known]))
    for value in np.unique(found.values):
        assert_allclose(found.mass[found.values == value].sum(), mass[values == value].sum())


@given(seeds, st.floats(0.05, 0.95))
def test_a_quantile_is_where_its_share_of_the_mass_is_reached(seed, share):
    rng = np.random.default_rng(seed)
    ordered = OrderedValues(np.sort(rng.normal(size=50)), rng.uniform(0.1, 2.0, 50))
    (found,) = ordered.quantiles(np.array([share]))
    below, upto = (ordered.mass[side].sum() for side in (ordered.values < found, ordered.values <= found))
    assert below < share * ordered.mass.sum() * (1 + 1e-12)
    assert upto >= share * ordered.mass.sum() * (1 - 1e-12)


def test_of_many_values_some_lie_as_all_do():
    rng = np.random.default_rng(0)
    values = rng.exponential(size=20 * ENOUGH_ROWS)
    found = OrderedValues.some_of(values, np.ones(values.size))
    assert found.values.size <= ENOUGH_ROWS
    assert_allclose(found.quantiles(np.array([0.1, 0.5, 0.9])), np.quantile(values, [0.1, 0.5, 0.9]), rtol=0.1)


@pytest.mark.parametrize("n_known", [3, 40])
def test_the_few_values_of_an_input_that_is_nearly_always_missing_are_found(n_known):
    values, mass = np.full(5 * ENOUGH_ROWS, np.nan), np.full(5 * ENOUGH_ROWS, 1.0)
    values[7 : 7 + n_known] = np.arange(n_known)
    effect = MainEffect.of(values, mass, mass, False, 8)
    codes = coarse_codes(effect, values, mass)
    assert_array_equal(np.flatnonzero(codes >= 0), np.arange(7, 7 + n_known))
    assert codes.max() == min(n_known - 1, 3)
    knots = PairBasis.of(effect, values, mass, 4).knots
    assert np.isin(knots, np.arange(n_known)).all()
    assert 2 <= knots.size <= 4


def test_two_values_of_which_one_is_rare_make_a_step_and_a_third_one_a_curve():
    values, ones = np.zeros(9000), np.ones(9000)
    values[8000] = 1.0
    assert MainEffect.of(values, ones, ones, False, 8).scale[:2] == (0.0, 1.0)
    values[8500] = 5.0
    assert_array_equal(MainEffect.of(values, ones, ones, False, 8).knots, [0.0, 1.0, 5.0])
