import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from opauc.core.blas import add_gram


@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float64, 1e-12), (np.float32, 1e-5)])
def test_blas_gram_adds_to_the_lower_triangle_and_leaves_the_upper(dtype, tolerance):
    rows = np.random.default_rng(0).normal(size=(11, 7)).astype(dtype)
    lower = np.ones((7, 7), dtype)
    add_gram(rows, lower)
    assert_allclose(np.tril(lower), np.tril(1 + rows.T @ rows), rtol=tolerance)
    assert_array_equal(np.triu(lower, 1), np.triu(np.ones((7, 7)), 1))
