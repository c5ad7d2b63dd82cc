"""Statistics of many groups in one pass: each is that of its own rows, whatever the number of groups."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from opauc.errors import IncompatibleMomentsError
from opauc.linear.moments.accumulate import MAX_BUFFER_BYTES, buffer_rows
from opauc.linear.moments.classes import ClassMoments, GroupMoments
from opauc.linear.moments.exact import ExactMoments


def grouped(n_rows, n_features, n_groups, seed=0):
    rng = np.random.default_rng(seed)
    groups = rng.integers(0, n_groups, n_rows).astype(np.int8)
    return rng.normal(size=(n_rows, n_features)) + 10.0 * groups[:, None], groups


@pytest.mark.parametrize("n_groups", [1, 2, 3, 20, 127])
@pytest.mark.parametrize(("n_features", "make"), [(3, np.asarray), (3, sparse.csr_array), (230, np.float32)])
def test_each_group_has_the_statistics_of_its_own_rows(n_groups, n_features, make):
    rows, groups = grouped(3000, n_features, n_groups)
    weight = np.random.default_rng(1).random(3000)
    seen = GroupMoments.empty(n_features, n_groups).update(make(rows), groups, weight, n_jobs=2)
    tolerance = 1e-10 if make is not np.float32 else 1e-4
    for g, one in enumerate(seen.groups):
        expected = ExactMoments.of(rows[groups == g], weight[groups == g])
        assert_allclose(one.count, expected.count)
        assert_allclose(one.mean, expected.mean, rtol=tolerance, atol=tolerance)
        assert_allclose(one.scatter, expected.scatter, rtol=tolerance, atol=tolerance * expected.count)


def test_two_groups_are_the_two_classes_to_the_bit():
    rows, labels = grouped(5000, 7, 2)
    groups, classes = GroupMoments.empty(7).update(rows, labels), ClassMoments.of(rows, labels)
    for one, other in zip(groups.groups, classes.groups, strict=True):
        assert one.count == other.count
        assert_array_equal(one.scatter, other.scatter)


def test_a_fold_and_its_complement_come_from_one_pass():
    rows, fold = grouped(2000, 4, 5)
    labels = (np.random.default_rng(2).random(2000) < 0.3).astype(np.int8)
    seen = GroupMoments.empty(4, 10).update(rows, 2 * fold + labels)
    everything = ClassMoments(seen.total(range(0, 10, 2)), seen.total(range(1, 10, 2)))
    for k in range(5):
        held_out = ClassMoments(*seen.groups[2 * k : 2 * k + 2])
        kept = everything.subtract(held_out)
        expected = ClassMoments.of(rows[fold != k], labels[fold != k])
        assert_allclose(kept.counts, expected.counts)
        assert_allclose(kept.mean_difference(), expected.mean_difference(), rtol=1e-9, atol=1e-9)
        assert_allclose(kept.covariance_sum(), expected.covariance_sum(), rtol=1e-8, atol=1e-8)
    assert seen.total([]).count == 0
    assert seen.total().count == 2000


@pytest.mark.parametrize("n_groups", [3, 20, 120])
@pytest.mark.parametrize("n_features", [10, 54, 780, 1000])
def test_buffers_of_many_groups_stay_small(n_groups, n_features):
    row_bytes = 8 * (n_features + 1)
    assert n_groups * buffer_rows(row_bytes, n_groups) * row_bytes <= MAX_BUFFER_BYTES
    assert buffer_rows(row_bytes, n_groups) >= 64


def test_arrays_out_and_in_again_are_the_same_to_the_bit():
    seen = GroupMoments.empty(2, 12).update(*grouped(300, 2, 12))
    back = GroupMoments.from_arrays(seen.to_arrays())
    assert len(back.groups) == 12
    for one, other in zip(back.groups, seen.groups, strict=True):
        assert_array_equal(one.scatter, other.scatter)


def test_groups_that_do_not_belong_together_raise():
    with pytest.raises(IncompatibleMomentsError, match="of 2 groups and of 3 do not"):
        GroupMoments.empty(1, 2).merge(GroupMoments.empty(1, 3))
    with pytest.raises(IncompatibleMomentsError, match="of 2 features and of 3"):
        GroupMoments(ExactMoments.empty(2), ExactMoments.empty(3))
    with pytest.raises(IncompatibleMomentsError, match="expected arrays count, mean, scatter"):
        GroupMoments.from_arrays({})
