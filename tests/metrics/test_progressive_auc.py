"""The progressive AUC: windows that make up the stream however it comes, in fixed memory, with certain bounds."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numba import config
from numpy.testing import assert_array_equal

from opauc.errors import IncompatibleMomentsError
from opauc.metrics.exact_auc import exact_auc
from opauc.metrics.progressive_auc import MOST_WINDOWS, SHORTEST, ProgressiveAuc, window_ends

MANY = 50_000 if config.DISABLE_JIT else 1_000_000


def stream(seed, n_rows, share=0.3):
    rng = np.random.default_rng(seed)
    labels = rng.random(n_rows) < share
    return labels, rng.normal(size=n_rows) + labels * np.linspace(0, 2, n_rows)


def fed(labels, scores, cuts, **sizes):
    progress = ProgressiveAuc.empty(**sizes)
    for part in np.split(np.arange(labels.size), sorted(min(cut, labels.size) for cut in cuts)):
        progress = progress.update(labels[part], scores[part])
    return progress


@given(st.integers(0, 2**32 - 1), st.integers(0, 5000), st.lists(st.integers(0, 5000), max_size=8))
def test_windows_hold_the_same_rows_however_the_stream_is_cut(seed, n_rows, cuts):
    labels, scores = stream(seed, n_rows)
    whole, chunked = fed(labels, scores, []), fed(labels, scores, cuts)
    assert [w.counts.tolist() for w in chunked.windows] == [w.counts.tolist() for w in whole.windows]
    assert [point.rows for point in chunked.curve()] == [point.rows for point in whole.curve()]
    assert_array_equal(chunked.overall.counts, [(~labels).sum(), labels.sum()])


@given(
    st.integers(0, 2**32 - 1),
    st.integers(2, 5000),
    st.lists(st.integers(0, 5000), max_size=8),
    st.sampled_from([0.002, 0.3, 0.9]),
)
def test_every_point_bounds_the_exact_auc_of_its_rows_and_points_make_up_all_rows(seed, n_rows, cuts, share):
    labels, scores = stream(seed, n_rows, share)
    labels[:2] = False, True
    progress = fed(labels, scores, cuts, size=30, window_size=10)
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
def test_windows_are_few_never_shorter_than_the_shortest_and_grow_geometrically(n_rows):
    ends = window_ends(n_rows)
    assert len(ends) <= MOST_WINDOWS
    assert ends[-1] >= n_rows > (0, *ends)[-2]
    widths = np.diff([0, *ends])
    assert widths.min() >= SHORTEST
    assert np.all(widths[1:] <= np.maximum(ends[:-1], SHORTEST))
    # Windows of a longer stream are windows of a shorter one put together.
    assert set(window_ends(2 * n_rows)[:-1]) & set(range(ends[-1])) <= set(ends) if n_rows < 10**6 else True


def test_memory_does_not_grow_with_the_rows():
    rng, progress, most = np.random.default_rng(1), ProgressiveAuc.empty(), 0
    for size in rng.multinomial(MANY, np.ones(200) / 200):
        labels = rng.random(size) < 0.4
        progress = progress.update(labels, rng.normal(size=size) + labels)
        most = max(most, sum(part.nbytes for part in progress.to_arrays().values()))
    assert progress.n_rows == MANY
    assert len(progress.windows) <= MOST_WINDOWS
    assert most <= 32 * 3 * (2048 + MOST_WINDOWS * 256) + 8 * (MOST_WINDOWS + 2)
    widest = max(point.high - point.low for point in progress.curve())
    assert widest < 0.01


def test_windows_are_merged_in_pairs_when_they_are_too_many(monkeypatch):
    monkeypatch.setattr("opauc.metrics.progressive_auc.MOST_WINDOWS", 6)
    labels, scores = stream(2, 30_000)
    progress = fed(labels, scores, range(0, 30_000, 777), window_size=40)
    assert 3 <= len(progress.windows) <= 6
    ends = [*window_ends(30_000)[:-1], 30_000]
    assert np.cumsum([window.counts.sum() for window in progress.windows]).tolist() == ends
    back = ProgressiveAuc.from_arrays(progress.to_arrays())
    assert back.curve() == progress.curve()


def test_a_model_that_learns_has_a_rising_curve():
    points = fed(*stream(3, 20_000), []).curve()
    assert points[0].auc < 0.7 < 0.85 < points[-1].auc


def test_a_last_window_of_a_few_rows_makes_no_point_of_its_own():
    labels, scores = stream(4, 2 * SHORTEST + 3)
    labels[-2:] = False, True
    assert [point.rows for point in fed(labels, scores, []).curve()] == [SHORTEST, 2 * SHORTEST + 3]


def test_rows_of_one_class_wait_for_the_other():
    progress = ProgressiveAuc.empty()
    assert (progress.curve(), progress.auc, progress.interval()) == ([], 0.5, (0.0, 1.0))
    progress = progress.update(np.zeros(1000), np.arange(1000.0))
    assert progress.curve() == []
    progress = progress.update([1], [-1.0])
    assert progress.curve() == [(1001, 0.0, 0.0, 0.0)]


@given(st.integers(0, 2**32 - 1), st.integers(0, 3000))
def test_arrays_out_and_in_again_go_on_alike(seed, n_rows):
    labels, scores = stream(seed, n_rows)
    progress = fed(labels, scores, [], size=50, window_size=20)
    back = ProgressiveAuc.from_arrays(progress.to_arrays())
    more = stream(seed + 1, 500)
    assert back.update(*more).curve() == progress.update(*more).curve()
    assert back.update(*more).interval() == progress.update(*more).interval()


@pytest.mark.parametrize(
    ("key", "change", "message"),
    [
        ("window_lengths", lambda part: part[:-1], "add up to the intervals"),
        ("window_lengths", lambda part: part.astype(float), "whole numbers"),
        ("window_lengths", lambda part: part[:0], "1 to 64 whole numbers"),
        ("window_lengths", lambda part: np.append(part[:-2], part[-2:].sum()), "rows must hold"),
        ("window_lengths", lambda part: np.append(part[:-1], [part[-1] + 1, -1]), "add up to the intervals"),
        ("window_class_counts", lambda part: part + 1, "the windows hold"),
        ("window_class_counts", lambda part: part[:, ::-1], "the windows hold"),
        ("window_lows", lambda part: part + np.inf, "must not exceed highs"),
        ("window_lows", lambda part: part.sum(), "add up to the intervals"),
        ("overall_size", lambda part: part * 0, "size 0 must be positive"),
    ],
)
def test_arrays_that_no_rows_could_lead_to_are_refused(key, change, message):
    arrays = fed(*stream(5, 1000), []).to_arrays()
    with pytest.raises(IncompatibleMomentsError, match=message):
        ProgressiveAuc.from_arrays(arrays | {key: change(arrays[key])})
    del arrays[key]
    with pytest.raises(IncompatibleMomentsError, match=key):
        ProgressiveAuc.from_arrays(arrays)
