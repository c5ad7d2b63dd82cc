"""Products of random effects with columns: sparse or not, they are the same."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array, issparse

from opauc.additive.effect_products import SPARSE_SHARE, products_gram, sparse_if_few
from opauc.additive.random_effects import smooth_with_random_effects
from tests.additive.test_random_effects_fit import COLUMNS, sample, sums_of

seeds = st.integers(0, 2**32 - 1)


@given(seeds, st.integers(0, 2500), st.integers(1, 30), st.floats(0.0, 1.0))
def test_products_are_sparse_where_few_are_not_zero_and_stay_what_they_are(seed, n_effects, n_columns, share):
    rng = np.random.default_rng(seed)
    products = rng.normal(size=(n_effects, n_columns)) * (rng.random((n_effects, n_columns)) < share)
    found = sparse_if_few(products)
    assert issparse(found) == (np.count_nonzero(products) < SPARSE_SHARE * products.size)
    assert_array_equal(found.toarray() if issparse(found) else found, products)
    weight = rng.random(n_effects)
    expected = np.tril((products.T * weight) @ products)
    for given_as in (products, csr_array(products)):
        assert_allclose(products_gram(given_as, weight), expected, atol=1e-10)


@pytest.mark.parametrize("sizes", [(300,), (300, 200)])
def test_a_fit_is_the_same_with_sparse_products(sizes, monkeypatch):
    *data, group_index = sample(1, sizes, n_rows=4000)
    sums, effects, _ = sums_of(*data, group_index)
    fits = []
    for share in (0.0, 1.1):
        monkeypatch.setattr("opauc.additive.effect_products.SPARSE_SHARE", share)
        assert issparse(sparse_if_few(effects.products)) is (share > 1.0)
        fits.append(smooth_with_random_effects(sums, effects, group_index, COLUMNS, np.ones(2)))
    assert np.abs(fits[0].effects).max() > 0.1
    for dense, sparse in zip(*fits, strict=True):
        assert_allclose(sparse, dense, rtol=1e-9, atol=1e-10)
