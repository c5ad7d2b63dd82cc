"""Metrics of a ranking against scikit-learn, literal loops, finite differences and all pairs; bounds of streams."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from sklearn.metrics import average_precision_score, roc_auc_score

from opauc.errors import ParameterError
from opauc.metrics import (
    Auc,
    AveragePrecision,
    LiftAt,
    PartialAuc,
    PrecisionAt,
    RecallAt,
    StreamingAuc,
    auc_interval,
    compare_aucs,
    ranking_metric,
)
from opauc.metrics.metric_names import ranking_metrics
from opauc.metrics.score_table import ScoreTable

METRICS = [
    Auc(), PartialAuc(0.1), PartialAuc(0.35, standardize=False), PartialAuc(0.5, 0.4), PartialAuc(1.0),
    AveragePrecision(), PrecisionAt(25), PrecisionAt(0.1), RecallAt(30), RecallAt(0.2), LiftAt(0.15),
]  # fmt: skip
every_metric = pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.title)


def rows_of(seed, n_rows=120, ties=None, share=0.3):
    rng = np.random.default_rng(seed)
    labels = rng.random(n_rows) < share
    labels[:4] = [True, True, False, False]
    scores = rng.normal(size=n_rows) + 1.2 * labels
    return labels, scores if ties is None else scores.round(ties)


@st.composite
def tables(draw):
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    labels, scores = rows_of(int(rng.integers(2**32)), draw(st.integers(40, 200)), draw(st.sampled_from([None, 0, 1])))
    return labels, scores


def literal_partial_auc(labels, scores, max_fpr, min_tpr, weight=None):
    """Return the area by a fine sum over false positive rates, of the curve through the corners of a literal loop."""
    weight = np.ones(labels.size) if weight is None else weight
    corners = [(0.0, 0.0)]
    for threshold in np.unique(scores)[::-1]:
        chosen = scores >= threshold
        corners.append(tuple((weight * chosen * of).sum() / (weight * of).sum() for of in (~labels, labels)))
    area = 0.0
    for (left, bottom), (right, top) in pairwise(corners):
        if right > left and left < max_fpr:
            rates = np.linspace(left, min(right, max_fpr), 20_001)
            heights = np.maximum(bottom + (top - bottom) * (rates - left) / (right - left) - min_tpr, 0)
            area += float(np.sum((heights[1:] + heights[:-1]) / 2 * np.diff(rates)))
    return area


def literal_top(labels, scores, k):
    """Return the expected number of positives among k rows, where ties are in random order."""
    hits, left = 0.0, k
    for threshold in np.unique(scores)[::-1]:
        tied = labels[scores == threshold]
        hits += tied.sum() * min(1.0, left / tied.size)
        left -= min(left, tied.size)
    return hits


@given(tables(), st.sampled_from([0.05, 0.1, 0.5, 0.999, 1.0]))
def test_partial_auc_is_that_of_scikit_learn(table, max_fpr):
    labels, scores = table
    max_fpr = max(max_fpr, 1 / (~labels).sum())
    # At exactly one negative scikit-learn may interpolate the curve on the other side of a vertical step.
    expected = roc_auc_score(labels, scores, max_fpr=max_fpr)
    assert_allclose(PartialAuc(max_fpr)(labels, scores), expected, rtol=1e-12)
    stream = StreamingAuc.of(labels[::2], scores[::2]).merge(StreamingAuc.of(labels[1::2], scores[1::2]))
    assert_allclose(PartialAuc(max_fpr).bounds(stream), [expected] * 2, rtol=1e-12)


@given(tables())
def test_average_precision_is_that_of_scikit_learn(table):
    labels, scores = table
    weight = np.random.default_rng(0).random(labels.size)
    expected = average_precision_score(labels, scores)
    assert_allclose(AveragePrecision()(labels, scores), expected, rtol=1e-12)
    assert_allclose(AveragePrecision().bounds(StreamingAuc.of(labels, scores)), [expected] * 2, rtol=1e-12)
    expected = average_precision_score(labels, scores, sample_weight=weight)
    assert_allclose(AveragePrecision()(labels, scores, weight), expected, rtol=1e-12)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("ties", [None, 0])
def test_two_way_partial_auc_is_the_area_of_its_region(seed, ties):
    labels, scores = rows_of(seed, ties=ties)
    weight = np.random.default_rng(seed).random(labels.size)
    for max_fpr, min_tpr in ((0.2, 0.0), (0.5, 0.5), (0.3, 0.2), (1.0, 0.6), (0.1, 0.9)):
        raw = PartialAuc(max_fpr, min_tpr, standardize=False)
        expected = literal_partial_auc(labels, scores, max_fpr, min_tpr)
        assert_allclose(raw(labels, scores), expected, atol=1e-7)
        assert_allclose(raw(labels, scores, weight), literal_partial_auc(labels, scores, max_fpr, min_tpr, weight),
                        atol=1e-7)  # fmt: skip
        chance, best = max(max_fpr - min_tpr, 0) ** 2 / 2, max_fpr * (1 - min_tpr)
        expected = (1 + (expected - chance) / (best - chance)) / 2
        assert_allclose(PartialAuc(max_fpr, min_tpr)(labels, scores), expected, atol=1e-5)


@given(tables(), st.floats(0.01, 1.0))
def test_precision_recall_and_lift_are_the_expected_ones_among_the_top_rows(table, share):
    labels, scores = table
    k = int(np.ceil(share * labels.size))
    hits, share_hits = literal_top(labels, scores, k), literal_top(labels, scores, share * labels.size)
    assert_allclose(PrecisionAt(k)(labels, scores), hits / k, rtol=1e-12)
    assert_allclose(RecallAt(k)(labels, scores), hits / labels.sum(), rtol=1e-12)
    assert_allclose(PrecisionAt(share)(labels, scores), share_hits / (share * labels.size), rtol=1e-12)
    assert_allclose(LiftAt(share)(labels, scores), share_hits / share / labels.sum(), rtol=1e-12)


@every_metric
@given(tables())
def test_whole_weights_count_rows_several_times(metric, table):
    labels, scores = table
    weight = np.random.default_rng(1).integers(0, 3, labels.size)
    weight[:4] = 1
    repeated = np.repeat(labels, weight), np.repeat(scores, weight)
    assert_allclose(metric(labels, scores, weight), metric(*repeated), rtol=1e-12)


@every_metric
@pytest.mark.parametrize("ties", [None, 0])
def test_influences_are_the_derivatives_with_respect_to_the_weights_of_rows(metric, ties):
    labels, scores = rows_of(3, ties=ties)
    if isinstance(metric, PrecisionAt | RecallAt | LiftAt):
        # Among other scores the share of positives at the cut is an estimate, from the rows next to it.
        scores = (scores > 0.5) * 1.0
    table, entries = ScoreTable.of_rows(labels, scores)
    influence, factor = metric.influence_of(table), metric.scale.factor
    n_rows, step = labels.size, 1e-6
    # A number of rows is a share of them here: another sample is as large.
    if isinstance(getattr(metric, "k", None), int):
        metric = type(metric)(metric.k / n_rows)
    for row in range(0, n_rows, 7):
        up, down = np.ones(n_rows), np.ones(n_rows)
        up[row] += step
        down[row] -= step
        slope = (metric(labels, scores, up) - metric(labels, scores, down)) / (2 * step)
        found = (influence.of_positives if labels[row] else influence.of_negatives)[entries[row]] * factor
        assert_allclose(found, slope, atol=1e-8)
    total = (influence.of_positives * table.positives + influence.of_negatives * table.negatives).sum()
    assert_allclose(total, 0, atol=1e-12)


@pytest.mark.parametrize("ties", [None, 1])
def test_interval_and_test_of_the_auc_are_those_of_delong(ties):
    labels, first = rows_of(5, ties=ties)
    second = first + np.random.default_rng(0).normal(size=first.size)
    assert_allclose(Auc().interval(labels, first), auc_interval(labels, first), rtol=1e-12)
    whole, auc = PartialAuc(1.0).interval(labels, first), auc_interval(labels, first)
    assert_allclose((whole.value, whole.standard_error), (auc.auc, auc.standard_error), rtol=1e-9)
    assert_allclose(Auc().compare(labels, first, second), compare_aucs(labels, first, second), rtol=1e-9)


@every_metric
def test_influences_have_the_variance_of_a_bootstrap(metric):
    labels, scores = rows_of(11, n_rows=1500)
    rng = np.random.default_rng(0)
    draws = []
    for _ in range(250):
        rows = rng.integers(0, labels.size, labels.size)
        draws.append(metric(labels[rows], scores[rows]))
    assert_allclose(metric.interval(labels, scores).standard_error, np.std(draws), rtol=0.17)


@every_metric
def test_clusters_of_one_row_change_the_error_little_and_repeated_rows_are_no_information(metric):
    labels, scores = rows_of(12, n_rows=600)
    alone, whole = metric.interval(labels, scores, groups=np.arange(600)), metric.interval(labels, scores)
    assert_allclose(alone.standard_error, whole.standard_error, rtol=0.01)
    thrice = np.repeat(labels, 3), np.repeat(scores, 3)
    if isinstance(getattr(metric, "k", None), int):
        metric = type(metric)(metric.k / 600)
    whole, clustered = metric.interval(labels, scores), metric.interval(*thrice, groups=np.repeat(np.arange(600), 3))
    assert_allclose(clustered.value, whole.value, rtol=0.05)
    assert_allclose(clustered.standard_error, whole.standard_error, rtol=0.1)
    assert metric.interval(*thrice).standard_error < 0.7 * clustered.standard_error


@every_metric
def test_paired_tests_see_the_difference_and_equal_scorers_have_none(metric):
    labels, scores = rows_of(13, n_rows=4000)
    noisy = scores + 1.5 * np.random.default_rng(1).normal(size=4000)
    assert metric.compare(labels, scores, scores * 2 + 1) == (0.0, 0.0, 0.0, 1.0)
    for groups in (None, np.arange(4000) // 2):
        found = metric.compare(labels, scores, noisy, groups=groups)
        assert_allclose(found.difference, metric(labels, scores) - metric(labels, noisy), rtol=1e-12)
        assert found.p_value < 0.03
        back = metric.compare(labels, noisy, scores, groups=groups)
        assert_allclose((back.difference, back.p_value), (-found.difference, found.p_value), rtol=1e-9)
        # Noise alone differs little.
        other = scores + 1e-3 * np.random.default_rng(2).normal(size=4000)
        assert metric.compare(labels, scores, other, groups=groups).p_value > 0.001


@every_metric
@given(tables(), st.sampled_from([1, 2, 5, 20]), st.integers(1, 4))
def test_bounds_of_a_stream_contain_the_exact_value(metric, table, size, n_shards):
    labels, scores = table
    shards = [StreamingAuc.of(labels[i::n_shards], scores[i::n_shards], size) for i in range(n_shards)]
    stream = shards[0]
    for shard in shards[1:]:
        stream = stream.merge(shard)
    low, high = metric.bounds(stream)
    exact = metric(labels, scores)
    assert low - 1e-12 <= exact <= high + 1e-12
    interval = metric.stream_interval(stream)
    assert interval.low <= interval.value <= interval.high
    if (stream.lows == stream.highs).all():
        assert_allclose((low, high), exact, rtol=1e-12)
        assert_allclose(interval, metric.interval(labels, scores), rtol=1e-9, atol=1e-12)


@every_metric
def test_bounds_of_a_long_stream_are_narrow(metric):
    labels, scores = rows_of(17, n_rows=60_000)
    if isinstance(getattr(metric, "k", None), int):
        metric = type(metric)(100 * metric.k)
    stream = StreamingAuc.of(labels, scores)
    low, high = metric.bounds(stream)
    assert low <= metric(labels, scores) <= high
    assert (high - low) / abs(metric.scale.factor) < 0.01


@every_metric
def test_perfect_scores_have_intervals_that_end_at_the_best_value(metric):
    labels = np.arange(200) < 60
    interval = metric.interval(labels, labels + np.linspace(0, 0.5, 200))
    assert interval.low < interval.value <= interval.high
    assert np.isfinite(interval).all()
    assert metric.interval(labels, np.zeros(200)).low < metric.interval(labels, np.zeros(200)).high
    for groups in (np.zeros(200), np.arange(200) % 2):
        assert np.isfinite(metric.interval(labels, labels * 1.0, groups=groups)).all()
        assert metric.compare(labels, labels * 1.0, -1.0 * labels, groups=groups).p_value > 0.01


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: PartialAuc(0.0), r"max_fpr must be above 0 and at most 1, got 0\.0"),
        (lambda: PartialAuc(1.5), "max_fpr must be above 0 and at most 1"),
        (lambda: PartialAuc(float("nan")), "max_fpr must be above 0 and at most 1"),
        (lambda: PartialAuc(0.1, 1.0), r"min_tpr must be at least 0 and less than 1, got 1\.0"),
        (lambda: PartialAuc(0.1, -0.1), "min_tpr must be at least 0"),
        (lambda: PrecisionAt(0), r"k must be an int in the range \[1, inf\), got 0"),
        (lambda: PrecisionAt(1.5), r"k must be a float in the range \(0.0, 1.0\], got 1.5"),
        (lambda: PrecisionAt(True), "k must be"),
        (lambda: RecallAt("many"), "k must be"),
        (lambda: LiftAt(0.0), r"share must be a float in the range \(0.0, 1.0\], got 0.0"),
        (lambda: PrecisionAt(121)(*rows_of(0)), "k=121 is more than the 120 rows"),
        (lambda: PartialAuc(0.001)(*rows_of(0)), r"max_fpr=0\.001 allows none of the .* needs at least 1,000"),
        (lambda: PartialAuc(0.001).bounds(StreamingAuc.of(*rows_of(0))), r"max_fpr=0\.001 allows none"),
        (lambda: PartialAuc(0.5)([1, 1], [0, 1]), "needs rows of both classes, got 2 positives and 0 negatives"),
        (lambda: Auc()([1, 1], [0, 1]), "needs rows of both classes"),
        (lambda: Auc().bounds(StreamingAuc.of([1, 1], [0, 1])), "needs rows of both classes"),
        (lambda: AveragePrecision()([0, 0], [0, 1]), "ap needs positive rows, got none among 2 rows"),
        (lambda: RecallAt(1)([0, 0], [0, 1]), "recall@1 needs positive rows"),
        (lambda: LiftAt(0.5)([0, 0], [0, 1]), "lift@0.5 needs positive rows"),
        (lambda: Auc().interval([0, 1], [0, 1], groups=["a", None]), "groups must have no missing values, got one"),
        (lambda: Auc().interval([0, 1], [0, 1], groups=["a"]), "groups must hold one value for each of the 2 rows"),
        (lambda: Auc().interval([0, 1], [0, 1], level=95), "level must lie between 0 and 1, got 95"),
    ],
)  # fmt: skip
def test_bad_input_raises_an_error_that_names_the_parameter(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize(
    ("name", "metric"),
    [
        ("auc", Auc()), ("pauc@0.01", PartialAuc(0.01)), ("pauc@.2:0.5", PartialAuc(0.2, 0.5)),
        ("pauc@5%", PartialAuc(0.05)),
        ("ap", AveragePrecision()), ("precision@100", PrecisionAt(100)), ("precision@0.1", PrecisionAt(0.1)),
        ("recall@20%", RecallAt(0.2)), (" lift@0.1 ", LiftAt(0.1)),
    ],
)  # fmt: skip
def test_names_are_read_and_written(name, metric):
    assert ranking_metric(name) == metric
    assert ranking_metric(metric.name) == metric
    assert ranking_metrics([name, metric]) == [metric]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("pauk@0.1", "metrics: unknown metric 'pauk@0.1'; expected one of pauc@0.01, auc"),
        ("pauc", "metrics: cannot read 'pauc'; expected for example pauc@0.01"),
        ("auc@3", "metrics: cannot read 'auc@3'; expected for example auc"),
        ("recall@all", "metrics: cannot read 'recall@all'"),
        ("pauc@2", "metrics: pauc@2: max_fpr must be above 0 and at most 1, got 2"),
        ("lift@0", "metrics: lift@0: share must be"),
        ("precision@nan", "metrics: precision@nan: k must be"),
    ],
)
def test_names_that_are_none_raise_an_error_with_the_nearest(name, message):
    with pytest.raises(ParameterError, match=message):
        ranking_metric(name)


def test_precision_is_defined_for_one_class():
    assert (PrecisionAt(2)([0, 0, 0], [1, 2, 3]), PrecisionAt(2)([1, 1, 1], [1, 2, 3])) == (0.0, 1.0)
