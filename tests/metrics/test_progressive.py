"""The progressive AUC: windows cover the stream however it is batched, in fixed memory, with exact bounds."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numba import config
from numpy.testing import assert_array_equal

from opauc.errors import IncompatibleMomentsError
from opauc.metrics.exact_auc import exact_auc
from opauc.metrics.progressive import ProgressiveAuc, WindowPolicy

POLICY = WindowPolicy()
MANY = 50_000 if config.DISABLE_JIT else 1_000_000


def stream(seed, n_rows, share=0.3):
    rng = np.random.default_rng(seed)
    labels = rng.random(n_rows) < share
    return labels, rng.normal(size=n_rows) + labels * np.linspace(0, 2, n_rows)


def feed(labels, scores, cuts, **sizes):
    progress = ProgressiveAuc.empty(**sizes)
    for batch in np.split(np.arange(labels.size), sorted(min(cut, labels.size) for cut in cuts)):
        progress = progress.update(labels[batch], scores[batch])
    return progress


@given(st.integers(0, 2**32 - 1), st.integers(0, 5000), st.lists(st.integers(0, 5000), max_size=8))
def test_window_ends_do_not_depend_on_the_batches(seed, n_rows, cuts):
    labels, scores = stream(seed, n_rows)
    whole, chunked = feed(labels, scores, []), feed(labels, scores, cuts)
    assert [w.counts.tolist() for w in chunked.windows] == [w.counts.tolist() for w in whole.windows]
    assert [point.rows for point in chunked.curve()] == [point.rows for point in whole.curve()]
    assert_array_equal(chunked.overall.counts, [(~labels).sum(), labels.sum()])


@given(
    st.integers(0, 2**32 - 1),
    st.integers(2, 5000),
    st.lists(st.integers(0, 5000), max_size=8),
    st.sampled_from([0.002, 0.3, 0.9]),
)
def test_every_point_bounds_the_exact_auc_of_its_rows_and_the_points_cover_all_rows(seed, n_rows, cuts, share):
    labels, scores = stream(seed, n_rows, share)
    labels[:2] = False, True
    progress = feed(labels, scores, cuts, size=30, window_size=10)
    low, high = progress.interval()
    assert low <= exact_auc(labels, scores) <= high
    assert progress.auc == (low + high) / 2
    points = progress.curve()
    assert points[-1].rows == n_rows == progress.n_rows
    for first, point in pairwise([None, *points]):
        rows = slice(first.rows if first else 0, point.rows)
        assert point.low <= exact_auc(labels[rows], scores[rows]) <= point.high
        assert point.low <= point.auc <= point.high


@given(st.integers(1, 2**50))
def test_windows_are_bounded_in_number_and_grow_geometrically(n_rows):
    ends = POLICY.ends(n_rows)
    assert len(ends) <= POLICY.max_windows
    assert ends[-1] >= n_rows > (0, *ends)[-2]
    widths = np.diff([0, *ends])
    assert widths.min() >= POLICY.min_rows
    assert np.all(widths[1:] <= np.maximum(ends[:-1], POLICY.min_rows))
    # Windows of a longer stream are unions of windows of a shorter one.
    assert set(POLICY.ends(2 * n_rows)[:-1]) & set(range(ends[-1])) <= set(ends) if n_rows < 10**6 else True


def test_memory_does_not_grow_with_the_rows():
    rng, progress, most = np.random.default_rng(1), ProgressiveAuc.empty(), 0
    for size in rng.multinomial(MANY, np.ones(200) / 200):
        labels = rng.random(size) < 0.4
        progress = progress.update(labels, rng.normal(size=size) + labels)
        most = max(most, sum(part.nbytes for part in progress.to_arrays().values()))
    assert progress.n_rows == MANY
    assert len(progress.windows) <= POLICY.max_windows
    assert most <= 32 * 3 * (2048 + POLICY.max_windows * 256) + 8 * (POLICY.max_windows + 2)
    widest = max(point.high - point.low for point in progress.curve())
    assert widest < 0.01


def test_windows_are_merged_in_pairs_above_the_limit():
    labels, scores = stream(2, 30_000)
    policy = WindowPolicy(max_windows=6)
    progress = feed(labels, scores, range(0, 30_000, 777), window_size=40, policy=policy)
    assert 3 <= len(progress.windows) <= 6
    ends = [*policy.ends(30_000)[:-1], 30_000]
    assert np.cumsum([window.counts.sum() for window in progress.windows]).tolist() == ends
    back = ProgressiveAuc.from_arrays(progress.to_arrays(), policy)
    assert back.curve() == progress.curve()


def test_an_improving_model_has_an_increasing_curve():
    points = feed(*stream(3, 20_000), []).curve()
    assert points[0].auc < 0.7 < 0.85 < points[-1].auc


def test_a_short_last_window_is_joined_to_the_one_before():
    labels, scores = stream(4, 2 * POLICY.min_rows + 3)
    labels[-2:] = False, True
    assert [point.rows for point in feed(labels, scores, []).curve()] == [POLICY.min_rows, 2 * POLICY.min_rows + 3]


def test_the_curve_is_empty_until_both_classes_are_there():
    progress = ProgressiveAuc.empty()
    assert (progress.curve(), progress.auc, progress.interval()) == ([], 0.5, (0.0, 1.0))
    progress = progress.update(np.zeros(1000), np.arange(1000.0))
    assert progress.curve() == []
    progress = progress.update([1], [-1.0])
    assert progress.curve() == [(1001, 0.0, 0.0, 0.0)]


@given(st.integers(0, 2**32 - 1), st.integers(0, 3000))
def test_a_state_restored_from_arrays_continues_identically(seed, n_rows):
    labels, scores = stream(seed, n_rows)
    progress = feed(labels, scores, [], size=50, window_size=20)
    back = ProgressiveAuc.from_arrays(progress.to_arrays())
    more = stream(seed + 1, 500)
    assert back.update(*more).curve() == progress.update(*more).curve()
    assert back.update(*more).interval() == progress.update(*more).interval()


@pytest.mark.parametrize(
    ("key", "change", "message"),
    [
        ("window_lengths", lambda part: part[:-1], "add up to the intervals"),
        ("window_lengths", lambda part: part.astype(float), "window_lengths: expected int64 numbers"),
        ("window_lengths", lambda part: part[:0], "1 to 64 numbers"),
        ("window_lengths", lambda part: np.append(part[:-2], part[-2:].sum()), "rows must hold"),
        (
            "window_lengths",
            lambda part: np.append(part[:-1], [part[-1] + 1, -1]),
            "window_lengths: expected numbers from 0",
        ),
        ("window_class_counts", lambda part: part + 1, "the windows hold"),
        ("window_class_counts", lambda part: part[:, ::-1], "the windows hold"),
        ("window_lows", lambda part: part + np.inf, "must not exceed highs"),
        ("window_lows", lambda part: part.sum(), "window_lows: expected float64 numbers of shape"),
        ("overall_size", lambda part: part * 0, "overall_size: expected numbers of at least 1"),
    ],
)
def test_invalid_arrays_raise_an_error(key, change, message):
    arrays = feed(*stream(5, 1000), []).to_arrays()
    with pytest.raises(IncompatibleMomentsError, match=message):
        ProgressiveAuc.from_arrays(arrays | {key: change(arrays[key])})
    del arrays[key]
    with pytest.raises(IncompatibleMomentsError, match=key):
        ProgressiveAuc.from_arrays(arrays)
