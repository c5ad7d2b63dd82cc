"""Which pooled categories get random effects, and their indicators."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

from opauc.additive.basis.main_effects import main_effects
from opauc.additive.basis.random_effects import RandomEffects
from opauc.additive.policy import BASIS_POLICY

CATEGORICAL = np.array([True, False, True])


def terms_of(rows, max_levels):
    ones = np.ones(len(rows))
    return main_effects(rows, ones, ones, CATEGORICAL, 8, max_levels)


def sample(seed, n_rows=400):
    rng = np.random.default_rng(seed)
    rows = np.c_[rng.integers(0, 90, n_rows), rng.normal(size=n_rows), rng.zipf(1.6, n_rows) % 200].astype(float)
    rows[rng.random(n_rows) < 0.1, 0] = np.nan
    return rows


@given(st.integers(0, 2**32 - 1))
def test_every_category_has_a_column_a_random_effect_or_few_rows(seed):
    rows = sample(seed)
    effects = terms_of(rows, max_levels=12)
    random_effects = RandomEffects.of(effects, rows, n_columns=50)
    for j in (0, 2):
        numbers, counts = np.unique(rows[~np.isnan(rows[:, j]), j].astype(int), return_counts=True)
        pooled = numbers[(counts >= BASIS_POLICY.min_effect_rows) & ~np.isin(numbers, effects[j].kept)]
        enough = counts[np.isin(numbers, pooled)].sum() >= BASIS_POLICY.min_effect_share * len(rows)
        assert random_effects.numbers_of(j).tolist() == (pooled.tolist() if enough else [])
    assert not random_effects.numbers_of(1).size


@given(st.integers(0, 2**32 - 1))
def test_a_row_has_a_one_for_each_of_its_random_effects_dense_or_sparse(seed):
    rows = sample(seed)
    random_effects = RandomEffects.of(terms_of(rows, max_levels=12), rows, n_columns=50)
    expected = np.array(
        [
            [float(row[j] == n) for j, n in zip(random_effects.inputs, random_effects.numbers, strict=True)]
            for row in rows
        ]
    )
    assert np.array_equal(random_effects.rows(rows).toarray(), expected)
    filled = np.nan_to_num(rows, nan=1e6)
    assert np.array_equal(random_effects.rows(csr_array(filled)).toarray(), expected)


def test_the_most_frequent_categories_have_random_effects_if_there_are_too_many():
    rows = np.repeat(np.arange(30.0), np.arange(1, 31))[:, None] * [1.0, 0.0, 0.0]
    effects = terms_of(rows, max_levels=3)
    policy = replace(BASIS_POLICY, max_effects_of_one=4)
    assert RandomEffects.of(effects, rows, n_columns=5, policy=policy).numbers.tolist() == [24, 25, 26, 27]
    policy = replace(policy, max_effect_products=10)
    assert RandomEffects.of(effects, rows, n_columns=5, policy=policy).numbers.tolist() == [26, 27]


def test_pooled_categories_of_few_rows_have_no_random_effects():
    rows = np.array([[0.0, 0.0, 0.0]] * 97 + [[1.0, 1.0, 1.0]] * 2 + [[2.0, 0.0, 0.0]])
    assert RandomEffects.of(terms_of(rows, max_levels=None), rows, n_columns=5).size == 0


@pytest.mark.parametrize(
    ("inputs", "numbers"),
    [
        ([0, 0], [3, 3]), ([2, 0], [1, 1]), ([3], [0]), ([4], [0]), ([-1], [0]), ([0], [-1]), ([0, 0], [1]), ([], []),
        ([1], [2**53 + 1]), ([1], [-(2**53) - 1]), ([1], [-(2**63)]),
    ],
)  # fmt: skip
def test_invalid_arrays_raise(inputs, numbers):
    kinds = np.array([3, 2, 3, 1], np.int8)
    arrays = {"inputs": np.array(inputs, np.int64), "numbers": np.array(numbers, np.int64)}
    with pytest.raises(ValueError, match=": expected"):
        RandomEffects.from_arrays(kinds, arrays)
    with pytest.raises(ValueError, match="expected arrays inputs, numbers"):
        RandomEffects.from_arrays(kinds, {})


@given(st.integers(0, 2**32 - 1))
def test_values_of_coded_inputs_have_random_effects_whatever_else_a_row_has(seed):
    rng = np.random.default_rng(seed)
    rows = sample(seed)
    rows[:, 1] = rng.choice([-7.0, 0.0, 3.0, 2.0**53, np.nan], 400)
    effects = terms_of(rows, max_levels=None)
    random_effects = RandomEffects.of(effects, rows, n_columns=50, coded=[1])
    assert random_effects.numbers_of(1).tolist() == [-7, 0, 3, 2**53]
    assert not RandomEffects.of(effects, rows, n_columns=50).numbers_of(1).size
    others = np.array([-7.0, -6.5, 0.0, np.inf, -np.inf, np.nan, 2.0**60, 2.0**53])
    indicators = random_effects.rows(np.c_[np.zeros(8), others, np.zeros(8)])[:, random_effects.of_input(1)].toarray()
    assert indicators.tolist() == [[float(value == n) for n in (-7, 0, 3, 2**53)] for value in others]
    again = RandomEffects.from_arrays(np.array([3, 2, 3], np.int8), random_effects.to_arrays())
    assert np.array_equal(again.rows(rows).toarray(), random_effects.rows(rows).toarray())
