"""The kernel that writes codes, held against NumPy's search; with the JIT off too."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from opauc.additive.basis.basis import Basis
from opauc.additive.kernels.rows import write_value_codes


@given(seed=st.integers(0, 2**32 - 1), n_cuts=st.integers(0, 9))
def test_codes_count_the_cuts_below_a_value_or_are_those_of_its_level(seed, n_cuts):
    random = np.random.default_rng(seed)
    sample = np.column_stack([np.arange(40.0), np.arange(40) % 2, np.full(40, 5.0)])
    tables = Basis.of(sample, np.ones(40), np.array([False, True, False]), n_knots=4).tables
    assert tables.n_levels.tolist() == [0, 3, 0]
    cuts, level_codes = np.sort(random.integers(0, 20, n_cuts) + 0.5), np.array([7, 2, 9], np.uint8)
    rows = np.column_stack([random.integers(0, 41, 60) / 2.0, random.integers(-2, 5, 60), random.normal(size=60)])
    rows[random.random(rows.shape) < 0.1] = np.nan
    out = np.full(rows.shape, 99, np.uint8)
    starts = np.array([0, 0, 3])
    write_value_codes(rows, tables, cuts, np.array([0, n_cuts, n_cuts, n_cuts]), level_codes, starts, out)
    there = ~np.isnan(rows)
    known = np.isin(rows[:, 1], (0.0, 1.0))
    expected = np.column_stack(
        [
            np.searchsorted(cuts, rows[:, 0], side="left") + 1,
            np.where(known, level_codes[np.where(known, rows[:, 1], 0).astype(int)], 9),
            np.ones(60, int),
        ]
    )
    assert_array_equal(out, np.where(there, expected, 0))
