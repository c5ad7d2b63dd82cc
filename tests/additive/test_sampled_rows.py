"""Rows drawn for a basis are known again, and no others."""

from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from opauc.additive.initial_sample import SampledRows, row_keys


@given(seed=st.integers(0, 2**32 - 1), width=st.integers(1, 6), whole=st.booleans())
def test_just_the_rows_whose_values_were_drawn_once_are_not_fresh(seed, width, whole):
    random = np.random.default_rng(seed)
    rows = random.integers(-3, 4, size=(300, width)).astype(float) if whole else random.normal(size=(300, width))
    rows[random.random(rows.shape) < 0.2] = np.nan
    rows[random.random(rows.shape) < 0.1] = -0.0
    drawn = SampledRows.of(rows[:100])
    values = [tuple(np.nan_to_num(row, nan=99.0) + 0.0) for row in rows]
    times = Counter(values[:100])
    expected = [times[value] != 1 for value in values]
    np.testing.assert_array_equal(drawn.fresh(rows), expected)


def test_small_whole_numbers_have_keys_of_their_own():
    grid = np.stack(np.meshgrid(*[np.arange(30.0)] * 3), axis=-1).reshape(-1, 3)
    assert np.unique(row_keys(grid)).size == len(grid)


def test_where_values_repeat_what_is_fresh_is_not_what_is_rare():
    rows = np.random.default_rng(0).normal(size=(100_000, 1)).round(2)
    fresh = rows[SampledRows.of(rows[:20_000]).fresh(rows)]
    assert len(fresh) > 0.98 * len(rows)
    assert abs(fresh.std() - rows.std()) < 0.02
