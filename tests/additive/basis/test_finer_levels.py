"""Which pooled levels are told apart, and the columns of zeros and ones that rows have of them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

from opauc.additive.basis import levels as module
from opauc.additive.basis.levels import RandomEffects
from opauc.additive.basis.main_effects import main_effects

WORDS = np.array([True, False, True])


def terms_of(rows, most_levels):
    ones = np.ones(len(rows))
    return main_effects(rows, ones, ones, WORDS, 8, most_levels)


def drawn(seed, n_rows=400):
    rng = np.random.default_rng(seed)
    rows = np.c_[rng.integers(0, 90, n_rows), rng.normal(size=n_rows), rng.zipf(1.6, n_rows) % 200].astype(float)
    rows[rng.random(n_rows) < 0.1, 0] = np.nan
    return rows


@given(st.integers(0, 2**32 - 1))
def test_every_category_is_kept_told_apart_or_rare(seed):
    rows = drawn(seed)
    effects = terms_of(rows, most_levels=12)
    levels = RandomEffects.of(effects, rows, n_columns=50)
    for j in (0, 2):
        numbers, counts = np.unique(rows[~np.isnan(rows[:, j]), j].astype(int), return_counts=True)
        pooled = numbers[(counts >= module.LEAST_ROWS) & ~np.isin(numbers, effects[j].kept)]
        many = counts[np.isin(numbers, pooled)].sum() >= module.SMALLEST_SHARE * len(rows)
        assert levels.numbers_of(j).tolist() == (pooled.tolist() if many else [])
    assert not levels.numbers_of(1).size


@given(st.integers(0, 2**32 - 1))
def test_a_row_has_a_one_for_each_of_its_levels_dense_or_sparse(seed):
    rows = drawn(seed)
    levels = RandomEffects.of(terms_of(rows, most_levels=12), rows, n_columns=50)
    expected = np.array(
        [[float(row[j] == n) for j, n in zip(levels.inputs, levels.numbers, strict=True)] for row in rows]
    )
    assert np.array_equal(levels.rows(rows).toarray(), expected)
    filled = np.nan_to_num(rows, nan=1e6)
    assert np.array_equal(levels.rows(csr_array(filled)).toarray(), expected)


def test_the_most_frequent_are_told_apart_where_there_are_too_many(monkeypatch):
    rows = np.repeat(np.arange(30.0), np.arange(1, 31))[:, None] * [1.0, 0.0, 0.0]
    effects = terms_of(rows, most_levels=3)
    monkeypatch.setattr(module, "MOST_OF_ONE", 4)
    assert RandomEffects.of(effects, rows, n_columns=5).numbers.tolist() == [24, 25, 26, 27]
    monkeypatch.setattr(module, "MOST_PRODUCTS", 10)
    assert RandomEffects.of(effects, rows, n_columns=5).numbers.tolist() == [26, 27]


def test_pooled_levels_of_few_rows_stay_pooled():
    rows = np.array([[0.0, 0.0, 0.0]] * 97 + [[1.0, 1.0, 1.0]] * 2 + [[2.0, 0.0, 0.0]])
    assert RandomEffects.of(terms_of(rows, most_levels=None), rows, n_columns=5).size == 0


@pytest.mark.parametrize(
    ("inputs", "numbers"),
    [
        ([0, 0], [3, 3]), ([2, 0], [1, 1]), ([3], [0]), ([4], [0]), ([-1], [0]), ([0], [-1]), ([0, 0], [1]), ([], []),
        ([1], [2**53 + 1]), ([1], [-(2**53) - 1]), ([1], [-(2**63)]),
    ],
)  # fmt: skip
def test_arrays_that_no_levels_can_have_given_are_refused(inputs, numbers):
    kinds = np.array([3, 2, 3, 1], np.int8)
    arrays = {"inputs": np.array(inputs, np.int64), "numbers": np.array(numbers, np.int64)}
    with pytest.raises(ValueError, match="finer levels"):
        RandomEffects.from_arrays(kinds, arrays)
    with pytest.raises(ValueError, match="finer levels"):
        RandomEffects.from_arrays(kinds, {})


@given(st.integers(0, 2**32 - 1))
def test_numbers_that_are_codes_are_told_apart_whatever_else_a_row_may_have(seed):
    rng = np.random.default_rng(seed)
    rows = drawn(seed)
    rows[:, 1] = rng.choice([-7.0, 0.0, 3.0, 2.0**53, np.nan], 400)
    effects = terms_of(rows, most_levels=None)
    levels = RandomEffects.of(effects, rows, n_columns=50, coded=[1])
    assert levels.numbers_of(1).tolist() == [-7, 0, 3, 2**53]
    assert not RandomEffects.of(effects, rows, n_columns=50).numbers_of(1).size
    others = np.array([-7.0, -6.5, 0.0, np.inf, -np.inf, np.nan, 2.0**60, 2.0**53])
    found = levels.rows(np.c_[np.zeros(8), others, np.zeros(8)])[:, levels.of_input(1)].toarray()
    assert found.tolist() == [[float(value == n) for n in (-7, 0, 3, 2**53)] for value in others]
    again = RandomEffects.from_arrays(np.array([3, 2, 3], np.int8), levels.to_arrays())
    assert np.array_equal(again.rows(rows).toarray(), levels.rows(rows).toarray())
