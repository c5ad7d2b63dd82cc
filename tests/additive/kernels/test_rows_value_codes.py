"""The kernel that writes codes, held against NumPy's search; with the JIT off too."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from opauc.additive.basis.bins import CodeTables
from opauc.additive.kernels.rows import write_value_codes


@given(seed=st.integers(0, 2**32 - 1), n_cuts=st.integers(0, 9))
def test_codes_count_the_cuts_below_a_value_or_are_those_of_its_category(seed, n_cuts):
    random = np.random.default_rng(seed)
    cuts = np.sort(random.permutation(20)[:n_cuts] + 0.5)
    other_cuts = np.array([-1.0, 0.0, 1.0])
    tables = CodeTables(
        np.concatenate([cuts, other_cuts]),
        np.array([0, n_cuts, n_cuts, n_cuts, n_cuts + 3]),
        np.array([7, 2, 9], np.uint8),
        np.array([0, 0, 3, 3, 3]),
        np.array([0, 5, 0, 0], np.uint8),
        np.array([0, 1, 2, 0]),
    )
    rows = np.column_stack([random.integers(0, 41, 60) / 2.0, random.integers(-2, 5, 60), random.normal(size=60)])
    rows[random.random(rows.shape) < 0.1] = np.nan
    out = np.full((60, 4), 99, np.uint8)
    write_value_codes(rows, tables, out)
    known = np.isin(rows[:, 1], (0.0, 1.0, 2.0))
    expected = np.column_stack(
        [
            np.searchsorted(cuts, rows[:, 0], side="left") + 1,
            np.where(known, np.array([7, 2, 9])[np.where(known, rows[:, 1], 0).astype(int)], 5),
            np.ones(60, int),
            np.searchsorted(other_cuts, rows[:, 0], side="left") + 1,
        ]
    )
    assert_array_equal(out, np.where(np.isnan(rows[:, tables.sources]), 0, expected))
