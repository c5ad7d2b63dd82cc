import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from opauc.errors import IncompatibleMomentsError
from opauc.linear.moments.sketch import ClassSketch, SignStream
from tests import literal
from tests.problems import problem


def sketch(rows, labels, rank=4, random_state=0):
    return ClassSketch.empty(rows.shape[1], SignStream.seeded(rank, random_state)).update(rows, labels)


def centered(moments, k):
    return moments.sums[:, k, :-1] - np.outer(moments.means[k], moments.sign_sums[k, :-1])


def test_sums_are_those_of_rows_times_signs():
    rows, labels = problem(0, 40, 5)
    moments = sketch(sparse.csr_array(rows), labels)
    codes = moments.stream.sign_rows(np.arange(40))
    for k in (0, 1):
        assert_allclose(moments.sums[:, k], rows[labels == k].T @ codes[labels == k], atol=1e-12)
        assert_allclose(moments.sign_sums[k], codes[labels == k].sum(0), atol=1e-12)
        assert_allclose(moments.means[k], rows[labels == k].mean(0))


@pytest.mark.parametrize("gaussian", [False, True])
def test_the_centered_sketch_is_an_unbiased_positive_estimate_of_the_covariance(gaussian):
    rows, labels = problem(1, 60, 3, offset=3.0)
    expected = literal.covariance(rows[labels == 1])
    total = np.zeros((3, 3))
    for key in range(400):
        moments = ClassSketch.empty(3, SignStream.seeded(8, key, gaussian)).update(rows, labels)
        part = centered(moments, 1) @ centered(moments, 1).T / moments.counts[1]
        assert np.linalg.eigvalsh(part).min() > -1e-12
        total += part / 400
    assert_allclose(total, expected, atol=4 * np.abs(expected).max() * np.sqrt(2 / 8 / 400))


def test_chunks_give_the_sketch_of_the_whole():
    rows, labels = problem(2, 50, 4)
    whole = sketch(rows, labels)
    chunked = ClassSketch.empty(4, whole.stream)
    for part in (slice(0, 7), slice(7, 8), slice(8, 50)):
        chunked = chunked.update(rows[part], labels[part])
    assert_allclose(chunked.sums, whole.sums, atol=1e-12)
    assert chunked.n_rows == 50


def test_sketches_of_different_streams_merge_and_of_the_same_do_not():
    rows, labels = problem(3, 50, 4)
    one, two, three = (sketch(rows[i::3], labels[i::3], random_state=i) for i in range(3))
    left, right = one.merge(two).merge(three), one.merge(two.merge(three))
    assert_allclose(left.sums, right.sums)
    assert_allclose(left.counts, [(labels == 0).sum(), (labels == 1).sum()])
    assert_allclose(left.means[1], rows[labels == 1].mean(0))
    for same in (one, left):
        with pytest.raises(IncompatibleMomentsError, match="a random_state of its own"):
            left.merge(same)
    with pytest.raises(IncompatibleMomentsError, match="4 features and rank 4 and of 4 and 5"):
        one.merge(sketch(rows, labels, rank=5, random_state=9))


def test_without_a_random_state_shards_never_share_signs():
    keys = {SignStream.seeded(4).key for _ in range(20)}
    assert len(keys) == 20
    assert SignStream.seeded(4, 7) == SignStream.seeded(4, 7)
    assert SignStream.seeded(4, np.random.RandomState(7)) == SignStream.seeded(4, np.random.RandomState(7))


def test_rows_are_taken_out_again_by_their_numbers():
    rows, labels = problem(4, 50, 4)
    whole = sketch(rows, labels)
    gone = np.array([3, 17, 44])
    left = whole.forget(rows[gone], labels[gone], gone)
    kept = np.setdiff1d(np.arange(50), gone)
    codes = whole.stream.sign_rows(kept)
    for k in (0, 1):
        mine = labels[kept] == k
        assert_allclose(left.sums[:, k], rows[kept][mine].T @ codes[mine], atol=1e-12)
        assert_allclose(left.counts[k], mine.sum())


@pytest.mark.parametrize(
    ("numbers", "message"),
    [([1], "one integer for each of the 2 rows"), ([0, 50], "between 0 and 49"), ([0.0, 1.0], "one integer")],
)
def test_wrong_row_numbers_raise(numbers, message):
    rows, labels = problem(5, 50, 4)
    with pytest.raises(ValueError, match=message):
        sketch(rows, labels).forget(rows[:2], labels[:2], np.array(numbers))


def test_taking_out_too_many_rows_raises():
    rows, labels = np.eye(2), np.array([0, 1], np.int8)
    with pytest.raises(IncompatibleMomentsError, match="more rows of a class"):
        sketch(rows, labels).forget(rows, np.zeros(2, np.int8), np.array([0, 1]))


def test_arrays_out_and_in_again_continue_the_same_stream():
    rows, labels = problem(6, 50, 4)
    first = sketch(rows[:20], labels[:20]).merge(sketch(rows[:5], labels[:5], random_state=3))
    back = ClassSketch.from_arrays(first.to_arrays())
    assert_array_equal(back.update(rows[20:], labels[20:]).sums, first.update(rows[20:], labels[20:]).sums)
    assert back.merged_keys == first.merged_keys
    for change in ({"sums": np.zeros((4, 2, 3))}, {"stream": [1]}, {"sign_sums": np.full((2, 8), np.nan)}):
        with pytest.raises(IncompatibleMomentsError):
            ClassSketch.from_arrays(first.to_arrays() | change)


def test_the_summary_has_exact_means_and_estimated_variances():
    rows, labels = problem(7, 4000, 3)
    w = np.array([1.0, -0.5, 0.2])
    summary = sketch(rows, labels, rank=200).summary(w)
    for k in (0, 1):
        scores = rows[labels == k] @ w
        assert_allclose(summary.means[k], scores.mean(), rtol=1e-9)
        assert_allclose(summary.variances[k], scores.var(), rtol=0.4)


def test_weights_multiply_counts_and_sums_and_their_roots_the_signs():
    rows, labels = problem(8, 40, 3)
    weight = np.random.default_rng(0).random(40)
    stream = SignStream.seeded(4, 0)
    codes = stream.sign_rows(np.arange(40))
    for x in (rows, sparse.csr_array(rows)):
        moments = ClassSketch.empty(3, stream).update(x, labels, weight)
        for k in (0, 1):
            mine = labels == k
            scaled = codes[mine] * np.sqrt(weight[mine, None])
            scaled[:, -1] = weight[mine]
            assert_allclose(moments.sums[:, k], rows[mine].T @ scaled, atol=1e-12)
            assert_allclose(moments.sign_sums[k], scaled.sum(0), atol=1e-12)
    gone = np.arange(5, 9)
    left = moments.forget(rows[gone], labels[gone], gone, weight[gone])
    assert_allclose(left.counts, [weight[np.setdiff1d(np.flatnonzero(labels == k), gone)].sum() for k in (0, 1)])


def test_a_class_whose_rows_are_all_taken_out_leaves_nothing_behind():
    rows, labels = problem(9, 40, 3)
    weight = np.random.default_rng(0).random(40)
    whole = sketch(rows, labels).empty_copy().update(rows, labels, weight)
    gone = np.flatnonzero(labels == 1)
    left = whole.forget(rows[gone], labels[gone], gone, weight[gone])
    assert left.counts.positive == 0.0
    assert not left.sums[:, 1].any()
    assert_array_equal(left.sums[:, 0], whole.sums[:, 0])


def test_taking_out_a_merged_sketch_lets_its_stream_merge_again():
    rows, labels = problem(10, 60, 3)
    one, two, three = (sketch(rows[i::3], labels[i::3], random_state=i) for i in range(3))
    left = one.merge(two).subtract(two)
    assert left.merged_keys == one.merged_keys
    assert_allclose(left.merge(two).sums, one.merge(two).sums)
    with pytest.raises(IncompatibleMomentsError, match="never seen: their random signs"):
        one.merge(two).subtract(three)
    with pytest.raises(IncompatibleMomentsError, match="more rows of a class"):
        one.subtract(one.update(rows, labels))


def test_absorbing_is_updating_in_the_same_arrays():
    rows, labels = problem(11, 60, 3)
    first = sketch(rows[:30], labels[:30])
    expected, absorbed = first.update(rows[30:], labels[30:]), first.copy().absorb(rows[30:], labels[30:])
    assert_array_equal(absorbed.sums, expected.sums)
    assert_array_equal(absorbed.sign_sums, expected.sign_sums)
    assert absorbed.n_rows == 60
    assert first.absorb(rows, labels).sums is first.sums
