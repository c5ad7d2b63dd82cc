"""The score histogram: every row is counted once, outliers do not distort it, streams give about the same."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from opauc.metrics.score_histogram import ScoreHistogram
from opauc.metrics.streaming_auc import StreamingAuc

ODD = [-np.inf, -1.7e308, -1.0, -5e-324, 0.0, 5e-324, 1e-300, 1.0, np.nextafter(1, 2), 1e8, 1.7e308, np.inf]


def rows_of(seed, n_rows=400):
    rng = np.random.default_rng(seed)
    labels = rng.random(n_rows) < 0.3
    return labels, rng.normal(size=n_rows) + labels


@given(st.lists(st.tuples(st.booleans(), st.sampled_from(ODD)), min_size=1), st.integers(1, 50))
def test_every_row_is_counted_once_for_any_scores(rows, n_bins):
    labels, scores = map(np.array, zip(*rows, strict=True))
    for histogram in (
        ScoreHistogram.of(labels, scores, n_bins),
        ScoreHistogram.of_stream(StreamingAuc.of(labels, scores, size=3), n_bins),
    ):
        assert np.isfinite(histogram.edges).all()
        assert np.all(np.diff(histogram.edges) > 0)
        assert histogram.class_counts.min() >= 0
        assert histogram.outside.min() >= 0
        totals = histogram.class_counts.sum(axis=0) + histogram.outside.sum(axis=0)
        assert_allclose(totals, [(~labels).sum(), labels.sum()], rtol=1e-12)


@given(st.integers(0, 2**32 - 1))
def test_counts_are_those_of_numpy(seed):
    labels, scores = rows_of(seed)
    histogram = ScoreHistogram.of(labels, scores)
    for side in (False, True):
        counts, _ = np.histogram(scores[labels == side], histogram.edges)
        assert_array_equal(histogram.class_counts[:, int(side)], counts)


@given(st.integers(0, 2**32 - 1))
def test_a_stream_of_single_scores_has_the_same_histogram(seed):
    labels, scores = rows_of(seed)
    exact, streamed = ScoreHistogram.of(labels, scores), ScoreHistogram.of_stream(StreamingAuc.of(labels, scores))
    assert_array_equal(streamed.edges, exact.edges)
    assert_array_equal(streamed.class_counts, exact.class_counts)
    assert_array_equal(streamed.outside, exact.outside)


def test_a_long_stream_has_about_the_same_histogram():
    labels, scores = rows_of(1, 200_000)
    exact, streamed = ScoreHistogram.of(labels, scores), ScoreHistogram.of_stream(StreamingAuc.of(labels, scores))
    # An interval holds about a 2,000th of the rows, and at most two lie across the edges of a bin.
    assert_allclose(streamed.shares(), exact.shares(), atol=0.002)
    assert_allclose(exact.shares().sum(axis=0), 1.0, atol=0.005)


def test_an_outlier_does_not_squeeze_the_others_into_one_bin():
    labels, scores = rows_of(2, 10_000)
    scores[5] = 1e9
    histogram = ScoreHistogram.of(labels, scores)
    assert histogram.edges[-1] < 10
    assert histogram.outside.sum() >= 1
    assert (histogram.class_counts > 0).sum() > 40


def test_a_rare_class_is_within_the_bins():
    rng = np.random.default_rng(3)
    labels = np.arange(100_000) < 50
    histogram = ScoreHistogram.of(labels, np.where(labels, 20.0, 0.0) + rng.normal(size=labels.size))
    assert histogram.class_counts[:, 1].sum() == 50


def test_invalid_arguments_raise_an_error():
    with pytest.raises(ValueError, match="n_bins must be at least 1, got 0"):
        ScoreHistogram.of([0, 1], [0.0, 1.0], 0)
    with pytest.raises(ValueError, match="at least one row"):
        ScoreHistogram.of_stream(StreamingAuc.empty())
