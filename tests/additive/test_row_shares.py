"""The shares of the rows along an effect: counts where values are places, and always all rows."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from opauc.additive.basis.basis import Basis
from opauc.additive.drift import BinCounts
from opauc.additive.explain import Terms
from opauc.additive.settings import AdditiveSettings
from opauc.additive.shares import row_shares
from opauc.additive.state import AdditiveSolution


def shares(column, categorical=False, n_knots=8):
    rows = np.asarray(column, float)[:, None]
    basis = Basis.of(rows, np.ones(len(rows)), np.array([categorical]), n_knots)
    return row_shares(basis, BinCounts.of(basis.rows(rows)), np.empty(0), 0)


def test_values_that_are_knots_are_counted():
    column = [3.0] * 5 + [7.0] * 2 + [9.0] * 12 + [np.nan]
    np.testing.assert_allclose(shares(column), [5 / 20, 2 / 20, 12 / 20, 1 / 20])


def test_truth_values_are_counted():
    np.testing.assert_allclose(shares([0.0] * 3 + [1.0] * 6 + [np.nan]), [0.3, 0.6, 0.1])


def test_levels_are_counted_and_those_without_one_are_pooled():
    column = [0.0] * 40 + [1.0] * 30 + [2.0] * 2 + [np.nan] * 8
    np.testing.assert_allclose(shares(column, categorical=True), [40 / 80, 30 / 80, 2 / 80, 8 / 80])


@given(seed=st.integers(0, 2**32 - 1), n_knots=st.integers(3, 20))
def test_all_rows_are_somewhere_however_many_knots(seed, n_knots):
    rng = np.random.default_rng(seed)
    column = np.where(rng.random(300) < 0.1, np.nan, rng.standard_cauchy(300))
    found = shares(column, n_knots=n_knots)
    assert found.min() >= 0.0
    assert found.sum() == pytest.approx(1.0)


def test_there_is_a_share_for_every_value_at_which_the_effect_is_given():
    rng = np.random.default_rng(0)
    rows = np.c_[rng.normal(size=800), rng.integers(0, 2, 800), rng.integers(0, 5, 800), rng.integers(0, 4, 800)]
    rows[rng.random(800) < 0.2, 0] = np.nan
    labels = (np.nan_to_num(rows[:, 0]) + rows[:, 1] + rng.normal(size=800) > 0).astype(np.int8)
    categorical = np.array([False, False, True, False])
    learned = AdditiveSolution.start(AdditiveSettings(interactions=0), categorical, 0).after(rows, labels)
    names = ("number", "truth", "word", "count")
    effects = {effect.name: effect for effect in Terms(learned, names, [{}] * 4).all()}
    for j, name in enumerate(names):
        model = learned.current.model
        found = row_shares(learned.current.basis, model.bin_counts, model.random_effects.counts, j)
        assert found.shape == effects[name].value.shape
        assert found.sum() == pytest.approx(1.0)
