"""The algebra of statistics: merge, forget, decay, restrict, rescale, arrays; and what they say of a scorer."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import norm

from opauc.errors import IncompatibleMomentsError, StatisticsOverflowError
from opauc.linear.moments.classes import ClassMoments
from opauc.linear.moments.exact import ExactMoments
from tests import literal
from tests.problems import problem, problems


def assert_same(one, other, rtol=1e-10):
    assert_allclose(one.count, other.count, rtol=rtol)
    deviation = np.sqrt(np.diagonal(other.scatter) / max(other.count, 1e-300))
    assert_allclose(one.mean, other.mean, rtol=1e-14, atol=rtol * deviation.max(initial=0))
    scale = np.sqrt(np.outer(np.diagonal(other.scatter), np.diagonal(other.scatter)))
    # Squares of the rounding of the rows themselves are below any statement about them.
    floor = max(other.count, 1) * (2e-16 * np.abs(other.mean).max(initial=0)) ** 2
    assert (np.abs(one.scatter - other.scatter) <= rtol * scale + 100 * floor).all()


@given(problems(), st.lists(st.integers(0, 80), min_size=2, max_size=4))
def test_merge_is_associative_commutative_and_equals_one_pass(case, at):
    rows, _ = case
    parts = [ExactMoments.of(part) for part in np.split(rows, sorted(min(cut, len(rows)) for cut in at))]
    whole, empty = ExactMoments.of(rows), ExactMoments.empty(rows.shape[1])
    left = empty
    for part in parts:
        left = left.merge(part)
    right = empty
    for part in reversed(parts):
        right = part.merge(right)
    for merged in (left, right, left.merge(empty), empty.merge(left)):
        assert_same(merged, whole)


@given(problems(), st.integers(0, 80))
def test_forget_undoes_update(case, cut):
    rows, labels = case
    cut = min(cut, len(rows))
    kept = ClassMoments.of(rows[:cut], labels[:cut])
    back = kept.update(rows[cut:], labels[cut:]).forget(rows[cut:], labels[cut:])
    for one, other in ((back.negative, kept.negative), (back.positive, kept.positive)):
        assert_allclose(one.count, other.count, rtol=1e-9)
        scale = np.abs(rows - rows.mean(0)).max() or 1.0
        assert_allclose(one.mean, other.mean, rtol=1e-12, atol=1e-9 * scale)
        assert_allclose(one.scatter, other.scatter, atol=1e-8 * len(rows) * scale**2)


@pytest.mark.parametrize("n_features", [1, 6])
def test_a_tree_of_sixty_four_shards_equals_one_pass(n_features):
    rows, labels = problem(0, 6400, n_features, offset=1e3)
    shards = [ClassMoments.of(rows[i::64], labels[i::64]) for i in range(64)]
    while len(shards) > 1:
        shards = [one.merge(other) for one, other in zip(shards[::2], shards[1::2], strict=True)]
    whole = ClassMoments.of(rows, labels)
    assert_same(shards[0].negative, whole.negative)
    assert_same(shards[0].positive, whole.positive)


def test_scatter_stays_positive_semi_definite_through_merge_and_forget():
    rows, _ = problem(3, 300, 8, scale=1e-3, offset=5.0)
    moments = ExactMoments.of(rows).forget(rows[:290])
    assert np.linalg.eigvalsh(moments.scatter).min() > -1e-12
    assert_same(moments, ExactMoments.of(rows[290:]), rtol=1e-6)


def test_forgetting_weighs_each_row_by_its_age():
    rows, labels = problem(4, 30, 3)
    age = 0.9 ** np.arange(29, -1, -1.0)
    expected = ClassMoments.of(rows, labels, age)
    got = ClassMoments.empty(3)
    for part in (slice(0, 7), slice(7, 8), slice(8, 30)):
        got = got.update(rows[part], labels[part], forgetting_factor=0.9)
    assert_same(got.negative, expected.negative)
    assert_same(got.positive, expected.positive)


def test_forgetting_never_reaches_nothing():
    moments = ExactMoments.of(problem(0, 20, 2)[0])
    faint = moments.decay(0.0)
    assert faint.count > 0
    assert_allclose(faint.covariance(), moments.covariance())


@pytest.mark.parametrize("features", [[2, 0], [1], [], np.array([True, False, True])])
def test_restriction_equals_statistics_of_fewer_features(features):
    rows, labels = problem(5, 40, 3)
    at = np.flatnonzero(features) if np.asarray(features).dtype == bool else np.array(features, int)
    got, expected = ClassMoments.of(rows, labels).restrict(at), ClassMoments.of(rows[:, at], labels)
    assert_same(got.positive, expected.positive)


def test_rescaling_equals_statistics_of_rescaled_rows():
    rows, labels = problem(6, 40, 3)
    scale, shift = np.array([2.0, -0.5, 1e4]), np.array([0.0, 1.0, -7.0])
    got, expected = (
        ClassMoments.of(rows, labels).rescale(scale, shift),
        ClassMoments.of(rows * scale + shift, labels),
    )
    assert_same(got.negative, expected.negative)
    assert_same(got.positive, expected.positive)


def test_arrays_out_and_in_again_are_the_same_to_the_bit_and_copies():
    rows, labels = problem(7, 40, 3)
    moments = ClassMoments.of(rows, labels)
    arrays = moments.to_arrays()
    back = ClassMoments.from_arrays(arrays)
    assert_array_equal(back.positive.scatter, moments.positive.scatter)
    assert_array_equal(back.negative.mean, moments.negative.mean)
    for part in arrays.values():
        part[...] = 0
    assert back.positive.count == moments.positive.count > 0
    assert moments.positive.scatter.any()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"count": -1.0}, "count: expected numbers that are not negative"),
        ({"count": [1.0]}, r"count: expected float64 numbers of shape \(\), got float64 of shape \(1,\)"),
        ({"mean": [[0.0, 0.0]]}, r"mean: expected float64 numbers of shape \(features,\)"),
        ({"mean": [np.nan, 0.0]}, "mean: expected finite numbers"),
        ({"scatter": [[1.0, 2.0], [2.0, 1.0]]}, "positive semi-definite"),
        ({"scatter": [[1.0, 0.5], [0.1, 1.0]]}, "symmetric"),
        ({"mean": np.zeros(3), "scatter": 1.9 * np.eye(3) - 0.9}, "positive semi-definite"),
        ({"scatter": "nonsense"}, r"scatter: expected float64 numbers of shape \(2, 2\)"),
        ({"count": 0.0}, "must be zero when count is"),
    ],
)
def test_arrays_that_cannot_be_statistics_raise(change, message):
    arrays = {"count": 3.0, "mean": [0.0, 1.0], "scatter": [[1.0, 0.5], [0.5, 1.0]]}
    assert ExactMoments.from_arrays(arrays).count == 3
    with pytest.raises(IncompatibleMomentsError, match=message):
        ExactMoments.from_arrays(arrays | change)
    with pytest.raises(IncompatibleMomentsError, match="expected arrays count, mean, scatter"):
        ExactMoments.from_arrays({})


def test_statistics_that_do_not_belong_together_raise():
    with pytest.raises(IncompatibleMomentsError, match="of 2 features and of 3"):
        ExactMoments.empty(2).merge(ExactMoments.empty(3))
    with pytest.raises(IncompatibleMomentsError, match="weight 2: only 1 were seen"):
        ExactMoments.of(np.zeros((1, 2))).forget(np.zeros((2, 2)))
    with pytest.raises(IncompatibleMomentsError, match="never seen: feature 1"):
        ExactMoments.of(np.eye(3)[:, :2]).forget(np.array([[0.0, 9.0]]))


def test_merging_into_overflow_raises():
    near, far = ExactMoments.of(np.full((9, 1), 1e160)), ExactMoments.of(np.full((9, 1), -1e160))
    with pytest.raises(StatisticsOverflowError):
        near.merge(far)


@given(problems())
def test_pair_loss_needs_no_pairs(case):
    rows, labels = case
    moments = ClassMoments.of(rows, labels)
    w = np.linspace(-1, 1, rows.shape[1]) / (1 + np.abs(rows).max())
    assert_allclose(moments.pair_loss(w), literal.objective(w, rows, labels, 0.0), rtol=1e-8)


def test_binormal_auc_is_that_of_normal_scores():
    moments = ClassMoments.of(*problem(8, 5000, 3))
    w = np.array([1.0, 0.2, -0.1])
    margin = w @ moments.mean_difference()
    assert_allclose(moments.binormal_auc(w), norm.cdf(margin / np.sqrt(w @ moments.covariance_sum() @ w)), rtol=1e-12)
    assert moments.binormal_auc(np.zeros(3)) == 0.5
    apart = ClassMoments.of(np.array([[0.0], [1.0]]), np.array([0, 1], np.int8))
    assert apart.binormal_auc(np.ones(1)) == 1.0
