import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy.sparse import csr_array
from scipy.stats import chisquare

from opauc.data.encode.hashing import HashedFeatures, name_key


def random_rows(seed, n_rows=6, n_features=40, dtype=np.float64):
    rng = np.random.default_rng(seed)
    return csr_array((rng.normal(size=(n_rows, n_features)) * (rng.random((n_rows, n_features)) < 0.3)).astype(dtype))


def canonical(rows):
    """Whether the arrays are canonical, whatever flags the object carries."""
    return csr_array((rows.data, rows.indices, rows.indptr), shape=rows.shape).has_canonical_format


def test_columns_and_signs_are_those_of_every_other_run():
    hashing = HashedFeatures(bits=20, seed=7)
    columns, signs = hashing.columns_of(np.array([0, 1, 2, 122, 2**31 - 2]))
    assert columns.tolist() == [757419, 37372, 903069, 102359, 84932]
    assert signs.tolist() == [1, -1, 1, -1, 1]
    keys = hashing.keys_of(["a", "color=red", "prénom=Zoé"])
    assert keys.tolist() == [-1702698405120146465, -8891490995458483559, -3013178549643823600]
    columns, signs = hashing.columns_of(keys)
    assert (columns.tolist(), signs.tolist()) == ([360350, 547360, 450664], [-1, 1, -1])


def test_one_name_has_one_column_and_no_number_has_its_key():
    hashing = HashedFeatures(bits=10)
    columns, signs = hashing.columns_of(hashing.keys_of(["b", "a", "b"]))
    assert (columns[0], signs[0]) == (columns[2], signs[2])
    assert all(name_key(f"name={i}") < 0 for i in range(1000))


def test_columns_are_used_alike_and_signs_are_fair():
    columns, signs = HashedFeatures(bits=6, seed=3).columns_of(np.arange(64_000))
    assert columns.min() == 0
    assert columns.max() == 63
    assert chisquare(np.bincount(columns, minlength=64)).pvalue > 1e-3
    # 4 standard deviations of a sum of fair signs, whatever the column
    assert abs(signs.sum()) < 4 * np.sqrt(signs.size)
    assert abs(np.bincount(columns, weights=signs)).max() < 4.5 * np.sqrt(1000)


def test_inner_products_are_right_on_average_over_seeds():
    rows = random_rows(0)
    exact = (rows @ rows.T).toarray()
    hashed = [HashedFeatures(bits=3, seed=seed).hash_rows(rows) for seed in range(3000)]
    products = np.array([(h @ h.T).toarray() for h in hashed])
    deviation = products.std(axis=0) / np.sqrt(len(hashed))
    assert (abs(products.mean(axis=0) - exact) < 4.5 * deviation + 1e-9).all()
    # features do share the eight columns, else there was nothing to average
    assert deviation.max() > 0.01


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_hashed_rows_are_canonical_sums_of_what_falls_together(dtype):
    rows, hashing = random_rows(1, dtype=dtype), HashedFeatures(bits=4, seed=5)
    hashed = hashing.hash_rows(rows)
    assert hashed.dtype == dtype
    assert hashed.shape == (6, 16)
    assert hashed.indices.dtype == np.int32
    assert canonical(hashed)
    columns, signs = hashing.columns_of(np.arange(40))
    spread = csr_array((signs.astype(dtype), (np.arange(40), columns)), shape=(40, 16))
    np.testing.assert_allclose(hashed.toarray(), (rows @ spread).toarray(), rtol=0, atol=1e-6)


def test_rows_without_entries_stay_so():
    hashed = HashedFeatures(bits=2).hash_rows(csr_array((3, 10)))
    assert_array_equal(hashed.toarray(), np.zeros((3, 4)))


def test_bits_and_seeds_out_of_range_are_refused():
    with pytest.raises(ValueError, match="bits must be between 1 and 30, got 31"):
        HashedFeatures(31)
    with pytest.raises(ValueError, match="bits must be between 1 and 30, got 0"):
        HashedFeatures(0)
    with pytest.raises(ValueError, match="seed must be between 0 and"):
        HashedFeatures(3, seed=-1)
