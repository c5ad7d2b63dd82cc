"""The sums of the rows of each category against a product of dense matrices."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.sparse import csr_array

from opauc.additive.kernels.gram import add_category_products
from opauc.core.row_blocks import csr_rows


@given(st.integers(0, 2**32 - 1), st.integers(0, 30))
def test_every_row_is_added_to_the_line_of_each_of_its_categories(seed, n_rows):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(n_rows, 5)) * (rng.random((n_rows, 5)) < 0.5)
    indicators = (rng.random((n_rows, 7)) < 0.2).astype(float)
    factors, initial = rng.random(n_rows), rng.normal(size=(7, 5))
    sums = initial.copy()
    parts = [csr_rows(part.data, part.indices, part.indptr) for part in (csr_array(indicators), csr_array(rows))]
    add_category_products(*parts, factors, sums)
    assert_allclose(sums, initial + indicators.T @ (factors[:, None] * rows), atol=1e-12)
