"""Ranking summaries: equal from rows and from a stream, downsampled without a visible change."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from opauc.metrics.curves import MAX_POINTS, TOLERANCE, downsample_curve, precision_recall_curve, roc_curve
from opauc.metrics.intervals import auc_interval
from opauc.metrics.ranking import Ranking, stream_curves, stream_interval
from opauc.metrics.streaming_auc import StreamingAuc


def rows_of(seed, n_rows, share=0.3, ties=False):
    rng = np.random.default_rng(seed)
    labels = rng.random(n_rows) < share
    labels[:4] = [False, True, False, True]
    scores = rng.normal(size=n_rows) + 1.2 * labels
    return labels, scores.round(1) if ties else scores


def distances(x, y, kept):
    """Largest distance of any point from the line through the kept ones, written out segment by segment."""
    worst = 0.0
    for first, last in pairwise(kept):
        start, along = np.array([x[first], y[first]]), np.array([x[last] - x[first], y[last] - y[first]])
        for point in range(first + 1, last):
            offset = np.array([x[point], y[point]]) - start
            part = np.clip(offset @ along / max(along @ along, 1e-300), 0, 1)
            worst = max(worst, float(np.linalg.norm(offset - part * along)))
    return worst


@given(st.integers(0, 2**32 - 1), st.sampled_from([0.02, 0.5]))
def test_downsampled_curves_stay_within_the_tolerance(seed, share):
    labels, scores = rows_of(seed, 1500, share)
    curve = roc_curve(labels, scores)
    x, y = curve.false_positive_rate, curve.true_positive_rate
    kept = downsample_curve(x, y, max_points=10_000)
    assert (kept[0], kept[-1]) == (0, curve.thresholds.size - 1)
    assert distances(x, y, kept) <= TOLERANCE * (1 + 1e-9)
    # Where 500 points do not reach the tolerance, the others are still within a pixel of a chart.
    kept = downsample_curve(x, y)
    assert kept.size <= MAX_POINTS
    assert distances(x, y, kept) < 0.002


def test_at_most_max_points_are_kept_and_they_are_the_farthest():
    x = np.linspace(0, 1, 1001)
    y = np.where(np.arange(1001) == 500, 1.0, 0.01 * np.sin(50 * x))
    kept = downsample_curve(x, y, max_points=4)
    assert kept.size == 4
    assert 500 in kept
    assert_array_equal(downsample_curve(np.array([0.0, 1.0]), np.array([0.0, 1.0])), [0, 1])


def test_large_curves_are_downsampled():
    ranking = Ranking.of(*rows_of(1, 300_000, 0.01))
    assert ranking.roc.thresholds.size <= MAX_POINTS
    assert ranking.precision_recall.recall.size <= MAX_POINTS
    assert ranking.precision_recall.thresholds.size == ranking.precision_recall.recall.size - 1


@given(st.integers(0, 2**32 - 1), st.booleans())
def test_a_stream_of_single_scores_has_the_exact_curves_and_interval(seed, ties):
    labels, scores = rows_of(seed, 300, ties=ties)
    stream = StreamingAuc.of(labels, scores)
    roc, precision_recall = stream_curves(stream)
    exact = roc_curve(labels, scores)
    # The exact curve leaves out points on straight lines.
    at = np.searchsorted(-roc.thresholds, -exact.thresholds)
    assert_array_equal(roc.thresholds[at], exact.thresholds)
    assert_array_equal(roc.false_positive_rate[at], exact.false_positive_rate)
    assert_array_equal(roc.true_positive_rate[at], exact.true_positive_rate)
    literal = precision_recall_curve(labels, scores)
    at = np.searchsorted(precision_recall.thresholds, literal.thresholds)
    assert_array_equal(precision_recall.precision[at], literal.precision[:-1])
    assert_array_equal(precision_recall.recall[at], literal.recall[:-1])
    assert_allclose(stream_interval(stream), auc_interval(labels, scores), rtol=1e-9)


def test_a_long_stream_approximates_the_exact_ranking():
    labels, scores = rows_of(2, 200_000, 0.05)
    exact, streamed = Ranking.of(labels, scores), Ranking.of_stream(StreamingAuc.of(labels, scores))
    assert streamed.auc_bounds[0] <= exact.confidence.auc <= streamed.auc_bounds[1]
    assert streamed.confidence.low <= exact.confidence.low + 1e-4
    assert streamed.confidence.high >= exact.confidence.high - 1e-4
    assert_allclose(streamed.confidence, exact.confidence, atol=1e-3)
    assert streamed.average_precision == pytest.approx(exact.average_precision, abs=0.005)
    grid = np.linspace(0, 1, 200)
    assert_allclose(
        np.interp(grid, streamed.roc.false_positive_rate, streamed.roc.true_positive_rate),
        np.interp(grid, exact.roc.false_positive_rate, exact.roc.true_positive_rate),
        atol=0.005,
    )


def test_the_area_under_a_streamed_curve_is_the_estimate_if_intervals_are_disjoint():
    labels, scores = rows_of(3, 5000)
    arrays = StreamingAuc.of(labels, scores).to_arrays()
    edges = np.arange(0, arrays["lows"].size, 25)
    lows, highs = np.minimum.reduceat(arrays["lows"], edges), np.maximum.reduceat(arrays["highs"], edges)
    stream = StreamingAuc(2048, lows, highs, np.add.reduceat(arrays["class_counts"], edges))
    roc, _ = stream_curves(stream)
    area = np.trapezoid(roc.true_positive_rate, roc.false_positive_rate)
    assert area == pytest.approx(stream.estimate(), abs=1e-12)


@pytest.mark.parametrize("scores", [[0.0, 1.0], [1.0, 0.0], [0.0, 0.0], [-np.inf, np.inf]])
def test_streams_without_an_informative_variance_have_the_interval_of_pairs(scores):
    labels = np.repeat([False, True], 30)
    repeated = np.repeat(scores, 30)
    streamed, exact = stream_interval(StreamingAuc.of(labels, repeated)), auc_interval(labels, repeated)
    assert_allclose(streamed, exact, rtol=1e-12)


def test_operating_points_have_the_rates_of_their_thresholds():
    labels, scores = rows_of(4, 20_000, 0.1)
    ranking = Ranking.of(labels, scores)
    assert [point.max_false_positive_rate for point in ranking.operating_points] == [0.001, 0.01, 0.05, 0.1, 0.2]
    for point in ranking.operating_points:
        predicted = scores >= point.threshold
        assert np.mean(predicted[~labels]) == pytest.approx(point.false_positive_rate, abs=1e-12)
        assert point.false_positive_rate <= point.max_false_positive_rate
        assert np.mean(predicted[labels]) == pytest.approx(point.true_positive_rate, abs=1e-12)
        assert np.mean(labels[predicted]) == pytest.approx(point.precision, abs=1e-12)


def test_a_threshold_above_all_scores_is_no_operating_point():
    assert Ranking.of([0, 1, 0, 1], [3.0, 0.0, 1.0, 2.0]).operating_points == ()


def test_one_class_raises_an_error():
    stream = StreamingAuc.of([1, 1], [0.0, 1.0])
    for function in (stream_interval, stream_curves, Ranking.of_stream):
        with pytest.raises(ValueError, match="both classes, got 2 positives and 0 negatives"):
            function(stream)
