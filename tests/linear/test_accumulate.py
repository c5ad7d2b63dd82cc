"""Sums against their definitions: every input kind, weights, precision far from the origin."""

import numpy as np
import pytest
from hypothesis import given
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from opauc.errors import StatisticsOverflowError
from opauc.linear.moments.accumulate import accumulate
from opauc.linear.moments.classes import ClassMoments
from opauc.linear.moments.exact import ExactMoments
from tests import literal
from tests.problems import problem, problems


def assert_moments(moments, rows, weight=None, rtol=1e-10):
    rows = np.asarray(rows, float)
    spread = np.average((rows - np.average(rows, axis=0, weights=weight)) ** 2, axis=0, weights=weight)
    deviation = np.sqrt(spread)
    assert_allclose(moments.count, len(rows) if weight is None else weight.sum(), rtol=1e-12)
    mean = np.average(rows, axis=0, weights=weight)
    assert (np.abs(moments.mean - mean) <= rtol * deviation + 4e-16 * np.abs(mean)).all()
    error = np.abs(moments.covariance() - literal.covariance(rows, weight))
    # Entry (i, j) is known to the precision of the two deviations it multiplies.
    floor = 1e-15 * np.abs(mean).max() ** 2 if rtol > 1e-9 else 0.0
    assert (error <= rtol * np.outer(deviation, deviation) + floor).all()


@given(problems())
def test_sums_are_count_mean_and_covariance(case):
    rows, labels = case
    moments = ClassMoments.of(rows, labels)
    for k, one in enumerate((moments.negative, moments.positive)):
        mine = rows[labels == k]
        assert one.count == len(mine)
        assert_allclose(one.mean, mine.mean(0), rtol=1e-12)
        scale = np.abs(mine - mine.mean(0)).max(0) + 1e-300
        bound = 1e-9 * np.outer(scale, scale) + (4e-15 * np.abs(mine).max()) ** 2
        assert (np.abs(one.covariance() - literal.covariance(mine)) <= bound).all()


@pytest.mark.parametrize(
    "make", [np.asarray, np.asfortranarray, lambda x: np.repeat(x, 2, 1)[:, ::2], sparse.csr_array]
)
@pytest.mark.parametrize("n_jobs", [1, 3])
def test_memory_order_sparsity_and_threads_change_nothing(make, n_jobs):
    rows, labels = problem(1, 9000, 6, offset=3.0)
    expected = ClassMoments.of(rows, labels)
    got = ClassMoments.of(make(rows), labels, n_jobs=n_jobs)
    assert_allclose(got.negative.scatter, expected.negative.scatter, rtol=1e-11)
    assert_allclose(got.positive.mean, expected.positive.mean, rtol=1e-13)


@pytest.mark.parametrize("density", [0.02, 0.1, 0.5])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("index", [np.int32, np.int64])
def test_sparse_sums_are_those_of_the_dense_rows(density, dtype, index):
    rng = np.random.default_rng(0)
    rows = sparse.random_array((3000, 40), density=density, random_state=rng, dtype=dtype, format="csr")
    rows.indices, rows.indptr = rows.indices.astype(index), rows.indptr.astype(index)
    labels = (rng.random(3000) < 0.1).astype(np.int8)
    weight = rng.random(3000)
    got, expected = (ClassMoments.of(x, labels, weight) for x in (rows, rows.toarray().astype(float)))
    tolerance = 1e-11 if dtype == np.float64 or density < 0.14 else 1e-6
    for one, other in ((got.negative, expected.negative), (got.positive, expected.positive)):
        assert_allclose(one.count, other.count)
        assert_allclose(one.mean, other.mean, rtol=tolerance * 10, atol=tolerance)
        assert_allclose(one.scatter, other.scatter, atol=tolerance * other.scatter.max())


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("n_features", [3, 80])
def test_six_digits_of_covariance_survive_an_offset_of_one_hundred_million(make, n_features):
    rng = np.random.default_rng(0)
    noise = rng.normal(size=(5000, n_features))
    if n_features == 80:  # sparse enough for products of entries, with one dense column far away
        noise[:, 1:][rng.random((5000, 79)) < 0.97] = 0.0
    far = noise.copy()
    far[:, 0] = np.round(noise[:, 0] * 2**20) / 2**20 + 1e8
    noise[:, 0] = far[:, 0] - 1e8
    labels = (rng.random(5000) < 0.3).astype(np.int8)
    got, expected = ClassMoments.of(make(far), labels), ClassMoments.of(noise, labels)
    for one, other in ((got.negative, expected.negative), (got.positive, expected.positive)):
        scale = np.sqrt(np.outer(*[np.diagonal(other.scatter)] * 2))
        assert (np.abs(one.scatter - other.scatter) <= 1e-7 * scale).all()


def test_float32_rows_give_covariances_to_single_precision_far_from_the_origin():
    rng = np.random.default_rng(1)
    rows = (1000 + rng.normal(size=(20_000, 54))).astype(np.float32)
    got, expected = ExactMoments.of(rows), np.cov(rows.T.astype(float), bias=True)
    assert np.abs(got.covariance() - expected).max() < 2e-6
    assert_allclose(got.mean, rows.mean(0, dtype=float), rtol=1e-9)


def test_sparse_features_that_never_vary_have_exactly_no_scatter():
    rows = sparse.random_array((500, 30), density=0.05, random_state=np.random.default_rng(0)).toarray()
    rows[:, 3] = 0.1
    moments = ExactMoments.of(sparse.csr_array(rows))
    assert_array_equal(moments.scatter[3], np.zeros(30))
    assert_array_equal(moments.scatter[:, 3], np.zeros(30))


def test_a_drifting_stream_keeps_its_digits():
    steps = np.repeat([0.0, 1e6, -1e6, 0.0], 3000)
    rows = np.random.default_rng(0).normal(size=(12_000, 4)) + steps[:, None]
    assert_moments(ExactMoments.of(rows), rows)


def test_weights_count_as_copies_and_zero_as_absence():
    rows, _ = problem(2, 200, 4, offset=10.0)
    weight = np.random.default_rng(0).integers(0, 4, 200)
    got, expected = ExactMoments.of(rows, weight.astype(float)), ExactMoments.of(rows.repeat(weight, axis=0))
    assert got.count == expected.count
    assert_allclose(got.mean, expected.mean, rtol=1e-13)
    assert_allclose(got.scatter, expected.scatter, rtol=1e-10, atol=1e-10)


def test_sums_beyond_float64_raise():
    with pytest.raises(StatisticsOverflowError, match="overflow float64"):
        ExactMoments.of(np.array([[1e200], [-1e200]]))


def test_float32_rows_whose_squares_leave_float32_are_summed_in_float64():
    rows = np.array([[1e25], [-1e25], [3e25]], np.float32)
    assert_moments(ExactMoments.of(rows), rows, rtol=1e-6)


def test_the_callers_arrays_are_not_changed_and_may_be_read_only():
    rows, labels = problem(0, 50, 3)
    kept = rows.copy()
    rows.flags.writeable = False
    accumulate(rows, labels)
    assert_array_equal(rows, kept)


def test_a_chunk_without_rows_or_of_one_class_has_empty_sums():
    assert ClassMoments.of(np.empty((0, 3)), np.empty(0, np.int8)).negative.count == 0
    only = ClassMoments.of(np.ones((4, 3)), np.ones(4, np.int8))
    assert only.negative.count == 0
    assert not only.counts.both
