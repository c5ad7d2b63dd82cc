"""Hat functions at a value against NumPy's interpolation."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from opauc.additive.kernels.rows import densify_rows, write_hats
from opauc.core.row_blocks import csr_rows


@settings(max_examples=50)
@given(
    st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=12, unique=True).map(sorted),
    st.lists(st.floats(-2e6, 2e6), min_size=1, max_size=20),
    st.integers(0, 2**32 - 1),
)
def test_two_hats_interpolate_and_the_ends_hold(knots, values, seed):
    knots, heights = np.array(knots), np.random.default_rng(seed).normal(size=len(knots))
    if np.diff(knots).min() < 1e-6:
        return
    values = np.concatenate([values, knots])
    rows, hats, shares = np.column_stack([values, -values]), np.empty(values.size, np.int32), np.empty(values.size)
    write_hats(rows, 0, knots, hats, shares)
    assert ((shares > 0.0) & (shares <= 1.0)).all()
    assert (shares[hats == knots.size - 1] == 1.0).all()
    assert (hats[len(values) - knots.size :] == np.arange(knots.size)).all(), "a knot is the peak of its function"
    found = shares * heights[hats] + (1.0 - shares) * heights[np.minimum(hats + 1, knots.size - 1)]
    assert_allclose(found, np.interp(values, knots, heights), rtol=1e-6, atol=1e-6)


def test_a_missing_value_has_the_first_hat():
    hats, shares = np.empty(1, np.int32), np.empty(1)
    write_hats(np.array([[np.nan]]), 0, np.array([1.0, 2.0]), hats, shares)
    assert (hats[0], shares[0]) == (0, 1.0)


def test_dense_rows_are_scaled():
    rows = csr_rows(np.array([1.0, 2.0, 3.0]), np.array([0, 2, 1], np.int32), np.array([0, 2, 3], np.int32))
    out = np.zeros((2, 3))
    densify_rows(rows, np.array([2.0, 10.0]), out)
    assert_allclose(out, [[2.0, 0.0, 4.0], [0.0, 30.0, 0.0]])
