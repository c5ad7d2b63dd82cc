"""The mean AUC within groups against a loop over groups and pairs; streams in bounded memory."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from opauc.errors import IncompatibleMomentsError
from opauc.metrics import GroupAuc, StreamingGroupAuc, exact_auc
from opauc.metrics.group_auc import WEIGHTS

seeds = st.integers(0, 2**32 - 1)
every_weight = pytest.mark.parametrize("weight", WEIGHTS)


def rows_of(seed, n_groups=25, n_rows=300, decimals=1):
    rng = np.random.default_rng(seed)
    groups = rng.integers(0, n_groups, n_rows)
    labels = rng.random(n_rows) < rng.beta(0.5, 0.5, n_groups)[groups]
    labels[:2], groups[:2] = [True, False], 0
    return labels, (rng.normal(size=n_rows) + labels).round(decimals), groups


def literal(labels, scores, groups, weight):
    """Return the mean, the AUCs and weights of groups, and how many have one class, by a loop over groups."""
    aucs, weights, one_class = [], [], 0
    for group in dict.fromkeys(groups):
        rows = np.array([other == group for other in groups])
        positive = labels[rows]
        if positive.all() or not positive.any():
            one_class += 1
            continue
        above, below = scores[rows][positive][:, None], scores[rows][~positive]
        aucs.append(np.mean((above > below) + 0.5 * (above == below)))
        n_positives, n_negatives = positive.sum(), (~positive).sum()
        counts = {"rows": rows.sum(), "positives": n_positives, "pairs": n_positives * n_negatives}
        weights.append(counts.get(weight, 1))
    return np.average(aucs, weights=weights), np.array(aucs), np.array(weights, float), one_class


@every_weight
@given(seeds)
def test_it_is_the_mean_over_all_pairs_of_each_group(weight, seed):
    labels, scores, groups = rows_of(seed)
    expected, aucs, weights, one_class = literal(labels, scores, groups.tolist(), weight)
    metric = GroupAuc(weight)
    assert_allclose(metric(labels, scores, groups), expected, rtol=1e-12)
    found = metric.interval(labels, scores, groups)
    assert (found.n_groups, found.n_one_class) == (aucs.size, one_class)
    n = aucs.size
    if n > 1:
        kept = ~np.eye(n, dtype=bool)
        without = np.array([np.average(aucs[rows], weights=weights[rows]) for rows in kept])
        error = np.sqrt((n - 1) / n * np.sum((without - without.mean()) ** 2))
        if weight == "equal":
            assert_allclose(error, np.std(aucs, ddof=1) / np.sqrt(n), rtol=1e-9)
        if error > 1e-9:
            assert_allclose(found.standard_error, error, rtol=1e-9)
    assert found.low <= found.value <= found.high


@every_weight
@given(seeds, st.integers(1, 5))
def test_streams_are_exact_while_all_groups_fit(weight, seed, n_shards):
    labels, scores, groups = rows_of(seed)
    names = np.array([f"user {group}" for group in groups])
    state = StreamingGroupAuc.empty()
    for i in range(n_shards):
        state = state.merge(StreamingGroupAuc.of(labels[i::n_shards], scores[i::n_shards], names[i::n_shards]))
    metric = GroupAuc(weight)
    assert_allclose(state.bounds(metric), [metric(labels, scores, names)] * 2, rtol=1e-12)
    assert_allclose(state.interval(metric), metric.interval(labels, scores, names), rtol=1e-12)


@given(seeds, st.sampled_from([1, 7, 40, 120]), st.lists(st.integers(0, 300), max_size=4), st.randoms())
def test_beyond_the_limit_the_same_groups_stay_whatever_the_order_and_the_shards(seed, limit, cuts, random):
    labels, scores, groups = rows_of(seed)
    whole = StreamingGroupAuc.of(labels, scores, groups, limit)
    order = np.random.default_rng(seed).permutation(labels.size)
    shards = [
        StreamingGroupAuc.of(labels[rows], scores[rows], groups[rows], limit)
        for rows in np.split(order, sorted(min(cut, labels.size) for cut in cuts))
    ]
    while len(shards) > 1:
        random.shuffle(shards)
        shards.append(shards.pop().merge(shards.pop()))
    for name, part in whole.to_arrays().items():
        assert_array_equal(shards[0].to_arrays()[name], part, err_msg=name)
    assert whole.keys.size <= limit
    assert_array_equal(whole.class_counts.sum(axis=0) + whole.left_out, [(~labels).sum(), labels.sum()])
    for weight in WEIGHTS:
        low, high = whole.bounds(GroupAuc(weight))
        assert low - 1e-12 <= GroupAuc(weight)(labels, scores, groups) <= high + 1e-12


def test_groups_that_stay_are_a_random_sample():
    rng = np.random.default_rng(0)
    groups, labels = np.repeat(np.arange(4000), 10), rng.random(40_000) < 0.3
    scores = rng.normal(size=40_000) + labels * (1 + 0.3 * (groups % 2))
    state = StreamingGroupAuc.of(labels, scores, groups, limit=8000)
    assert state.keys.size <= 8000
    found, whole = state.interval(GroupAuc()), GroupAuc()(labels, scores, groups)
    assert 600 < found.n_groups < 810
    assert found.low < whole < found.high
    assert found.high - found.low < 0.05


def test_one_group_is_the_auc_and_paired_tests_compare_groups():
    labels, scores, groups = rows_of(3, n_rows=2000, decimals=8)
    assert_allclose(GroupAuc()(labels, scores, np.zeros(2000)), exact_auc(labels, scores), rtol=1e-12)
    one = GroupAuc().interval(labels, scores, np.zeros(2000))
    assert one.n_groups == 1
    assert one.high - one.low > 0.9
    noisy = scores + 2 * np.random.default_rng(0).normal(size=2000)
    assert GroupAuc().compare(labels, scores, scores, groups) == (0.0, 0.0, 0.0, 1.0)
    pairs = GroupAuc("pairs")
    found = pairs.compare(labels, scores, noisy, groups)
    assert_allclose(found.difference, pairs(labels, scores, groups) - pairs(labels, noisy, groups))
    assert found.p_value < 0.01
    # An offset for each group changes nothing within groups.
    assert GroupAuc().compare(labels, scores, scores + groups, groups).p_value == 1.0


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: GroupAuc("size"), "weight: unknown weight 'size'; expected one of"),
        (lambda: GroupAuc()([0, 1], [0, 1], ["a", "b"]), "groups: none of the 2 groups has rows of both classes"),
        (lambda: GroupAuc()([0, 1], [0, 1], ["a", None]), "groups must have no missing values, got one for row 1"),
        (lambda: GroupAuc()([0, 1], [0, 1], [0.0, np.nan]), "groups must have no missing values, got one for row 1"),
        (lambda: GroupAuc()([0, 1], [0, 1], ["a"]), "one value for each of the 2 rows"),
        (lambda: StreamingGroupAuc.empty(0), "limit must be at least 1, got 0"),
        (lambda: StreamingGroupAuc.of([0], [1.0], ["a"]).interval(GroupAuc()), "none of the 1 groups"),
    ],
)
def test_bad_input_raises_an_error_that_names_the_parameter(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_no_rows_have_no_bounds():
    assert StreamingGroupAuc.empty().bounds(GroupAuc()) == (0.0, 1.0)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"limit": np.array(1)}, "keys: expected at most 1"),
        ({"end": np.array(0, np.uint64)}, "keys: expected at most 9 keys below 0"),
        ({"keys": np.array([2, 1, 1], np.uint64)}, "must rise"),
        ({"scores": np.array([1.0, 1.0, 0.5])}, "must rise"),
        ({"class_counts": np.array([[1, 0], [0, 0], [1, 1]])}, "no entry may be empty"),
        ({"left_out": np.array([2**62, 0])}, "add up to 2"),
        ({"scores": np.array([0.0, np.nan, 1.0])}, "scores: expected numbers, not NaN"),
    ],
)
def test_invalid_arrays_raise_an_error(change, message):
    arrays = {
        "limit": np.array(9), "end": np.array(2**64 - 1, np.uint64), "keys": np.array([1, 2, 2], np.uint64),
        "scores": np.array([0.5, 0.5, 1.0]), "class_counts": np.array([[1, 0], [0, 2], [1, 1]]),
        "left_out": np.zeros(2, int),
    }  # fmt: skip
    assert StreamingGroupAuc.from_arrays(arrays).aucs().n_one_class == 1
    with pytest.raises(IncompatibleMomentsError, match=message):
        StreamingGroupAuc.from_arrays(arrays | change)
