"""Hat functions at a value against NumPy's interpolation."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from opauc.additive.kernels.rows import densify_rows, hat_at
from opauc.core.row_blocks import csr_rows


@settings(max_examples=50)
@given(
    st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=12, unique=True).map(sorted),
    st.floats(-2e6, 2e6),
    st.integers(0, 2**32 - 1),
)
def test_two_hats_interpolate_and_the_ends_hold(knots, value, seed):
    knots, heights = np.array(knots), np.random.default_rng(seed).normal(size=len(knots))
    if np.diff(knots).min() < 1e-6:
        return
    hat, share = hat_at(knots, value)
    assert 0.0 <= share <= 1.0
    assert hat < knots.size - 1 or share == 1.0
    found = share * heights[hat] + ((1.0 - share) * heights[hat + 1] if share < 1.0 else 0.0)
    assert_allclose(found, np.interp(value, knots, heights), rtol=1e-6, atol=1e-6)


def test_dense_rows_are_scaled():
    rows = csr_rows(np.array([1.0, 2.0, 3.0]), np.array([0, 2, 1], np.int32), np.array([0, 2, 3], np.int32))
    out = np.zeros((2, 3))
    densify_rows(rows, np.array([2.0, 10.0]), out)
    assert_allclose(out, [[2.0, 0.0, 4.0], [0.0, 30.0, 0.0]])
