import numpy as np
import pytest
from numpy.testing import assert_allclose

from opauc.linear.kernels.moments import add_narrow_gram


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("width", [8, 16, 24, 32, 40, 56, 72, 128])
@pytest.mark.parametrize("n_rows", [1, 7, 300])
def test_the_lower_triangle_gains_the_products_of_the_columns(dtype, width, n_rows):
    rng = np.random.default_rng(width + n_rows)
    rows = rng.normal(size=(n_rows, width)).astype(dtype)
    before = rng.normal(size=(width, width)).astype(dtype)
    lower = before.copy()
    add_narrow_gram(rows, lower)
    wanted = before + rows.astype(float).T @ rows.astype(float)
    rounding = np.finfo(dtype).eps * n_rows
    assert_allclose(np.tril(lower), np.tril(wanted), rtol=rounding, atol=8 * rounding)
