"""The columns of rows of numbers on a basis."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from opauc.additive.basis.basis import Basis
from opauc.additive.basis.groups import GroupKind
from opauc.additive.basis.knots import OrderedValues, place_knots
from opauc.additive.basis.main_effects import MainEffect, main_effects
from opauc.additive.basis.pair_columns import Candidates, PairRoom, add_pairs

seeds = st.integers(0, 2**32 - 1)
INPUTS = ("age", "sex", "city", "hours", "nothing")


def sample(seed, n_rows=300):
    """Numbers, two values, categories, integers with missing values, and a constant."""
    rng = np.random.default_rng(seed)
    rows = np.column_stack(
        [rng.normal(size=n_rows) * 10, rng.integers(0, 2, n_rows), rng.integers(0, 4, n_rows),
         rng.integers(0, 40, n_rows), np.full(n_rows, 7.0)]
    )  # fmt: skip
    rows[rng.random(n_rows) < 0.2, 3] = np.nan
    return rows


CATEGORICAL = np.array([False, False, True, False, False])


def basis_of(seed, pairs=((0, 3), (0, 1), (2, 3))):
    rows = sample(seed)
    weight = np.full(len(rows), 1 / len(rows))
    effects = tuple(
        MainEffect.of(rows[:, j], weight, np.ones(len(rows)), bool(CATEGORICAL[j]), 8) for j in range(rows.shape[1])
    )
    candidates = Candidates(
        np.array(pairs), np.ones(len(pairs), bool), np.arange(len(pairs), 0.0, -1.0), np.full(len(effects), 6)
    )
    return add_pairs(Basis.of_effects(effects), effects, rows, weight, candidates, PairRoom(500))


def groups_of(basis, kind):
    return [slice(s, s + n) for k, s, n in zip(*basis.groups, strict=True) if k == kind]


@given(seeds, seeds)
def test_hat_functions_add_up_to_one_and_at_most_two_are_not_zero(seed, other):
    basis, rows = basis_of(seed), sample(other) * 3.0
    made = basis.rows(rows).toarray()
    age, hours = groups_of(basis, GroupKind.SPLINE)
    for hats, present in ((age, np.ones(len(rows), bool)), (hours, ~np.isnan(rows[:, 3]))):
        assert_allclose(made[present, hats].sum(axis=1), 1.0, rtol=1e-12)
        assert ((made[:, hats] > 0).sum(axis=1) <= 2).all()
        assert not made[~present, hats].any()
        assert made[:, hats].min() >= 0.0


@given(seeds)
def test_hat_functions_are_numpys_linear_interpolation_and_constant_beyond_the_ends(seed):
    basis = basis_of(seed)
    knots = basis.tables.knots[basis.tables.knot_ends[0] : basis.tables.knot_ends[1]]
    rng = np.random.default_rng(seed)
    values = np.concatenate([rng.normal(size=50) * 30, knots, [-1e300, 1e300]])
    rows = np.full((values.size, 5), np.nan)
    rows[:, 0] = values
    heights = rng.normal(size=knots.size)
    curve = basis.rows(rows)[:, groups_of(basis, GroupKind.SPLINE)[0]] @ heights
    assert_allclose(curve, np.interp(values, knots, heights), rtol=1e-9, atol=1e-12)


@given(seeds)
def test_pairs_are_products_of_the_hat_functions_of_their_inputs(seed):
    basis, rows = basis_of(seed), sample(seed + 1)
    made, t = basis.rows(rows).toarray(), basis.tables
    hats = {}
    for j in (0, 3):
        knots = t.pair_knots[t.pair_knot_ends[j] : t.pair_knot_ends[j + 1]]
        values = np.nan_to_num(rows[:, j])
        hats[j] = np.stack([np.interp(values, knots, unit) for unit in np.eye(knots.size)], axis=1)
        hats[j][np.isnan(rows[:, j])] = 0.0
    pair = basis.effects[(0, 3)]
    expected = np.einsum("ia,ib->iab", hats[0], hats[3]).reshape(len(rows), -1)
    assert_allclose(made[:, pair], expected, atol=1e-12)
    assert_allclose(made[:, basis.effects[(0, 1)]], hats[0] * rows[:, [1]], atol=1e-12)


def test_a_missing_value_sets_its_indicator_and_nothing_else():
    basis = basis_of(0)
    made = basis.rows(np.full((1, 5), np.nan)).toarray()[0]
    names = basis.column_names(INPUTS)
    assert [names[at] for at in np.flatnonzero(made)] == ["intercept", "hours missing"]


def test_categories_unseen_or_rare_share_the_last_level():
    rng = np.random.default_rng(0)
    numbers = np.repeat([0.0, 1.0, 2.0], [100, 5, 4])
    effect = MainEffect.of(rng.permutation(numbers), np.ones(109), np.ones(109), True, 8)
    basis = Basis.of_effects([effect])
    assert basis.column_names(["city"], [{0: "Bern", 1: "Chur"}]) == [
        "intercept", "city=Bern", "city=Chur", "city=(others)",
    ]  # fmt: skip
    made = basis.rows(np.array([[1.0], [2.0], [-1.0], [99.0], [np.nan]])).toarray()
    assert_array_equal(made[:, 1:], [[0, 1, 0], [0, 0, 1], [0, 0, 1], [0, 0, 1], [0, 0, 0]])


def test_all_categories_together_keep_the_levels_of_the_most_rows():
    rng = np.random.default_rng(1)
    cities, shops = np.repeat(np.arange(30.0), np.arange(10, 40)), np.arange(735.0) // 49
    rows, ones = np.column_stack([rng.permutation(cities), shops]), np.ones(735)
    both = np.ones(2, bool)
    assert [effect.kept.size for effect in main_effects(rows, ones, ones, both, 8)] == [30, 15]
    # Each shop has 49 rows; the last cities have the most rows, up to 39.
    effects = main_effects(rows, ones, ones, both, 8, max_levels=20)
    assert [effect.kept.tolist() for effect in effects] == [[25, 26, 27, 28, 29], [*range(15)]]
    # Of categories with equally many rows the first are kept, and at least one of each input.
    effects = main_effects(rows, ones, ones, both, 8, max_levels=10)
    assert [effect.kept.tolist() for effect in effects] == [[29], [*range(10)]]


def test_constant_and_all_missing_inputs_have_no_column_and_two_values_have_one():
    rows = np.column_stack([np.full(50, 3.0), np.full(50, np.nan), np.arange(50) % 2, np.arange(50) // 49])
    basis = Basis.of(rows, np.ones(50), np.zeros(4, bool), 8)
    assert basis.column_names(["a", "b", "c", "d"]) == ["intercept", "c", "d"]
    assert_array_equal(basis.rows(np.array([[9.0, 1.0, 0.25, 7.0]])).toarray(), [[1.0, 0.25, 1.0]])


@given(seeds)
def test_every_column_has_a_name_of_its_own_and_a_group(seed):
    basis = basis_of(seed)
    names = basis.column_names(INPUTS)
    assert len(names) == len(set(names)) == basis.n_columns == basis.groups.n_columns
    assert_array_equal(np.cumsum(basis.groups.sizes)[:-1], basis.groups.starts[1:])
    covered = np.concatenate([np.arange(basis.n_columns)[part] for part in basis.effects.values()])
    assert_array_equal(np.sort(covered), np.arange(1, basis.n_columns))


@given(seeds)
def test_rows_are_canonical_and_arrays_give_the_basis_again(seed):
    basis, rows = basis_of(seed), sample(seed + 2)
    made = basis.rows(rows)
    made.has_canonical_format = False
    made.sum_duplicates()
    assert_array_equal(made.indices, basis.rows(rows).indices)
    again = Basis.from_arrays(basis.to_arrays())
    assert_array_equal(again.rows(rows).toarray(), basis.rows(rows).toarray())
    assert again.certain_columns() == basis.certain_columns()


def test_arrays_that_would_make_a_kernel_read_out_of_bounds_raise():
    basis = basis_of(3)
    arrays = basis.to_arrays()
    for name, array in arrays.items():
        if not np.size(array):
            continue
        changes = [np.asarray(array).astype("float32"), np.ravel(array)[:-1]]
        if array.dtype.kind == "i" and name not in ("n_certain",):
            changes.append(array + np.array(100, array.dtype))
        for change in changes:
            with pytest.raises(ValueError, match=": expected"):
                Basis.from_arrays(arrays | {name: change})
    with pytest.raises(ValueError, match="expected arrays"):
        Basis.from_arrays({name: array for name, array in arrays.items() if name != "cells"})


@given(seeds, st.integers(3, 30))
def test_knots_ascend_are_no_more_than_the_maximum_and_include_heavy_values(seed, max_knots):
    rng = np.random.default_rng(seed)
    values = np.where(rng.random(400) < 0.5, 2.5, np.round(rng.normal(size=400), rng.integers(0, 4)))
    knots = place_knots(OrderedValues(np.sort(values), np.ones(400)), max_knots)
    assert (np.diff(knots) > 0).all()
    assert knots.size <= max_knots
    assert 2.5 in knots
    assert np.isin(knots, values).all()
