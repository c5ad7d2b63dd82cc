"""Laws of every linear map in the registry."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from opauc.core.registry import MAPS
from opauc.errors import IncompatibleMomentsError
from opauc.linear.maps import FeatureSubset, GaussianProjection

EVERY = pytest.mark.parametrize("kind", MAPS.values(), ids=MAPS)


@pytest.fixture
def rows():
    return np.random.default_rng(0).normal(size=(20, 30))


@EVERY
def test_weights_score_rows_as_they_score_mapped_rows(kind, rows):
    drawn = kind.sample(7, 3, 30)
    assert (drawn.n_inputs, drawn.n_features) == (30, 7)
    weights = np.random.default_rng(1).normal(size=7)
    mapped = drawn.rows(rows)
    assert mapped.shape == (20, 7)
    assert_allclose(rows @ drawn.weights_of(weights), mapped @ weights, rtol=1e-12)


@EVERY
def test_sparse_rows_are_mapped_as_dense_ones(kind, rows):
    rows[rows < 0.5] = 0
    mapped = kind.sample(7, 3, 30).rows(sparse.csr_array(rows))
    assert_allclose(
        mapped.toarray() if sparse.issparse(mapped) else mapped, kind.sample(7, 3, 30).rows(rows), atol=1e-14
    )


@EVERY
def test_a_map_from_its_arrays_is_the_same_map(kind, rows):
    drawn = kind.sample(7, np.random.RandomState(3), 30)
    again = kind.from_arrays(drawn.to_arrays())
    assert_array_equal(again.rows(rows), drawn.rows(rows))
    assert (again.n_inputs, again.n_features) == (30, 7)


@EVERY
def test_arrays_of_another_shape_or_kind_are_refused(kind):
    arrays = kind.sample(7, 3, 30).to_arrays()
    for name, array in arrays.items():
        for wrong in (array.astype(float), array * np.nan, array.reshape(-1, 1), np.full(array.shape, -1)):
            with pytest.raises(IncompatibleMomentsError):
                kind.from_arrays({**arrays, name: wrong})


@pytest.mark.parametrize(
    "arrays",
    [
        {"features": np.array([0, 30])},
        {"features": np.array([3, 2])},
        {"features": np.array([2, 2])},
        {"features": np.empty(0, np.int64)},
        {"n_inputs": np.array(0)},
    ],
)
def test_a_subset_of_features_that_are_not_there_is_refused(arrays):
    with pytest.raises(IncompatibleMomentsError, match="expected"):
        FeatureSubset.from_arrays({"features": np.array([0, 29]), "n_inputs": np.array(30), **arrays})


@pytest.mark.parametrize("name", ["n_inputs", "n_features"])
def test_a_projection_to_or_from_nothing_is_refused(name):
    arrays = GaussianProjection.sample(7, 3, 30).to_arrays()
    with pytest.raises(IncompatibleMomentsError, match=f"{name}: expected numbers from 1 to 2147483647"):
        GaussianProjection.from_arrays({**arrays, name: np.array(0)})
