"""What every statistic in the folder promises, found by looking there."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from opauc.core.mergeable import Statistic
from opauc.core.registry import STATISTICS
from opauc.errors import IncompatibleMomentsError
from tests.problems import problem

KINDS = {name: kind for name, kind in STATISTICS.items() if issubclass(kind, Statistic)}
everyone = pytest.mark.parametrize("kind", KINDS.values(), ids=list(KINDS))
seeds = st.integers(0, 2**32 - 1)


def three(kind, seed, n_features=3):
    """Statistics of three shards."""
    rows, labels = problem(seed, 60, n_features, offset=2.0)
    return [kind.empty(n_features).update(rows[i::3], labels[i::3]) for i in range(3)]


def assert_same(one, other, rtol=1e-9):
    probe = np.linspace(-1.0, 1.0, one.n_features)
    assert_allclose(one.counts, other.counts, rtol=rtol)
    assert_allclose(one.mean_difference(), other.mean_difference(), rtol=rtol, atol=rtol)
    assert_allclose(one.summary(probe).means, other.summary(probe).means, rtol=rtol, atol=rtol)
    assert_allclose(one.summary(probe).variances, other.summary(probe).variances, rtol=1e-7, atol=1e-7)


@everyone
@given(seeds)
def test_merge_is_associative_and_commutative_and_empty_changes_nothing(kind, seed):
    one, two, three_ = three(kind, seed)
    assert_same(one.merge(two).merge(three_), one.merge(two.merge(three_)))
    assert_same(one.merge(two), two.merge(one))
    for same in (one.merge(one.empty_copy()), one.empty_copy().merge(one), one.subtract(one.empty_copy())):
        assert_same(same, one)
    assert one.empty_copy().counts == (0.0, 0.0)


@everyone
@given(seeds)
def test_without_undoes_merge(kind, seed):
    one, two, three_ = three(kind, seed)
    assert_same(one.merge(two).subtract(two), one)
    assert_same(one.merge(two).subtract(one), two)
    assert_same(one.merge(two).merge(three_).subtract(two.merge(three_)), one)
    assert one.subtract(one).counts == (0.0, 0.0)
    assert_same(one.merge(two).subtract(two).merge(two), one.merge(two))


@everyone
@given(seeds, st.permutations(range(5)), st.integers(1, 5))
def test_features_at_other_places_among_more_are_those_of_the_rows_arranged_so(kind, seed, order, n_known):
    (rows, labels), places, wide = problem(seed, 40, n_known), order[:n_known], np.zeros((40, 5))
    wide[:, places] = rows
    known = kind.empty(n_known).update(rows, labels)
    arranged = known.reindex(places, 5)
    assert_same(arranged, known.empty_copy().reindex(places, 5).update(wide, labels))
    back = arranged.restrict(places)
    for name, array in known.to_arrays().items():
        assert_array_equal(back.to_arrays()[name], array)


@everyone
@given(seeds, st.integers(0, 60))
def test_statistics_do_not_depend_on_how_the_stream_was_cut(kind, seed, at):
    rows, labels = problem(seed, 60, 3)
    start = kind.empty(3)
    assert_same(start.update(rows[:at], labels[:at]).update(rows[at:], labels[at:]), start.update(rows, labels))


@everyone
def test_update_leaves_the_statistic_it_was_given_as_it_was(kind):
    rows, labels = problem(0, 60, 3)
    before = kind.empty(3).update(rows[:20], labels[:20])
    kept = before.to_arrays()
    before.update(rows, labels)
    for name, array in before.to_arrays().items():
        assert_array_equal(array, kept[name], err_msg=name)


@everyone
@given(seeds)
def test_variances_are_never_negative(kind, seed):
    one, two, _ = three(kind, seed)
    for state in (one.merge(two), one.merge(two).subtract(one)):
        assert min(state.summary(np.random.default_rng(seed).normal(size=3)).variances) >= 0.0


@everyone
def test_a_weight_of_two_counts_twice_in_counts_and_means(kind):
    rows, labels = problem(1, 60, 3)
    twice = kind.empty(3).update(np.repeat(rows, 2, axis=0), np.repeat(labels, 2))
    weighed = kind.empty(3).update(rows, labels, np.full(60, 2.0))
    assert_allclose(weighed.counts, twice.counts)
    assert_allclose(weighed.mean_difference(), twice.mean_difference())
    light = kind.empty(3).update(rows, labels, np.full(60, 0.001))
    assert_allclose(light.mean_difference(), twice.mean_difference())


@everyone
@pytest.mark.parametrize("weight", [None, np.linspace(0.1, 3.0, 60)], ids=["plain", "weighed"])
def test_sparse_rows_give_the_statistics_of_dense_ones(kind, weight):
    rows, labels = problem(2, 60, 5)
    rows[np.random.default_rng(0).random(rows.shape) < 0.7] = 0.0
    start = kind.empty(5)
    assert_same(start.update(sparse.csr_array(rows), labels, weight), start.update(rows, labels, weight))


@everyone
def test_arrays_out_and_in_again_are_the_same_to_the_bit_and_copies(kind):
    one, two, _ = three(kind, 3)
    seen = one.merge(two)
    arrays = seen.to_arrays()
    back = kind.from_arrays(arrays)
    for part in arrays.values():
        part[...] = 0
    for name, array in seen.to_arrays().items():
        assert_array_equal(back.to_arrays()[name], array, err_msg=name)
    for name in arrays:
        with pytest.raises(IncompatibleMomentsError, match="expected"):
            kind.from_arrays({key: part for key, part in arrays.items() if key != name})


@everyone
def test_features_that_turn_up_late_were_zero_before(kind):
    rows, labels = problem(4, 60, 3)
    narrow = kind.empty(3).update(rows, labels)
    wide = narrow.widen(5)
    assert wide.n_features == 5
    assert_array_equal(wide.mean_difference(), np.r_[narrow.mean_difference(), 0.0, 0.0])
    more, label = np.ones((1, 5)), np.ones(1, np.int8)
    known = narrow.empty_copy().widen(5).update(np.hstack([rows, np.zeros((60, 2))]), labels)
    assert_same(wide.update(more, label), known.update(more, label))


@everyone
def test_what_does_not_belong_together_is_refused(kind):
    one, two, _ = three(kind, 5)
    for join in (one.merge, one.subtract):
        with pytest.raises(IncompatibleMomentsError, match=r"3 features.* of 4"):
            join(kind.empty(4))
    with pytest.raises(IncompatibleMomentsError, match="cannot take out"):
        one.subtract(one.merge(two))
