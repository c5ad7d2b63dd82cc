"""Halves of sparse rows multiply as the whole."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.sparse import csr_array

from opauc.learners.additive.halved_rows import FEWEST_FULL, HalvedRows


@pytest.mark.parametrize(("n_sparse", "n_full"), [(70, 2 * FEWEST_FULL), (70, 5), (0, FEWEST_FULL)])
def test_products_are_those_of_the_rows_to_six_digits(n_sparse, n_full):
    rng = np.random.default_rng(n_full)
    some = rng.normal(size=(40, n_sparse)) * (rng.random((40, n_sparse)) < 0.2)
    rows = csr_array(np.hstack([some, rng.normal(size=(40, n_full))]))
    halves = HalvedRows.of(rows)
    assert halves.full.shape[1] == (n_full if n_full >= FEWEST_FULL else 0)
    weights, factors = rng.normal(size=n_sparse + n_full), rng.normal(size=40)
    assert_allclose(halves.times(weights), rows.toarray() @ weights, atol=2e-5)
    assert_allclose(halves.summed(factors), rows.toarray().T @ factors, atol=2e-5)
