"""Metrics of each class against the rest, and their mean: against scikit-learn, derivatives and a bootstrap."""

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
    ClassMean,
    LiftAt,
    MulticlassAuc,
    PartialAuc,
    PrecisionAt,
    RecallAt,
    StreamingMulticlassAuc,
)
from tests.metrics.test_multiclass_auc import rows_of

METRICS = [Auc(), PartialAuc(0.2), PartialAuc(0.5, 0.2, standardize=False), AveragePrecision(), PrecisionAt(0.4),
           RecallAt(0.2), LiftAt(0.3)]  # fmt: skip
every = pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.name)
seeds = st.integers(0, 2**32 - 1)


@given(seeds, st.integers(2, 6), st.sampled_from([None, 0]))
def test_values_are_those_of_scikit_learn(seed, n_classes, decimals):
    labels, scores = rows_of(seed, n_classes=n_classes, decimals=decimals)
    expected = [average_precision_score(labels == k, scores[:, k]) for k in range(n_classes)]
    found = ClassMean(AveragePrecision()).intervals(labels, scores)
    assert_allclose([one.value for one in found.by_class], expected, rtol=1e-12)
    assert_allclose(found.mean.value, np.mean(expected), rtol=1e-12)
    expected = [roc_auc_score(labels == k, scores[:, k], max_fpr=0.3) for k in range(n_classes)]
    assert_allclose(ClassMean(PartialAuc(0.3))(labels, scores), np.mean(expected), rtol=1e-12)


@every
@given(seed=seeds)
def test_streams_contain_the_values_of_the_rows(metric, seed):
    labels, scores = rows_of(seed, n_rows=300, n_classes=3)
    mean = ClassMean(metric)
    for size, is_exact in ((512, True), (10, False)):
        shards = [StreamingMulticlassAuc.empty(3, size).update(labels[i::3], scores[i::3]) for i in range(3)]
        stream = shards[0].merge(shards[1]).merge(shards[2])
        low, high = mean.bounds(stream)
        assert low - 1e-12 <= mean(labels, scores) <= high + 1e-12
        found = mean.stream_intervals(stream)
        for k, one in enumerate(found.by_class):
            if is_exact:
                assert_allclose(one.value, metric(labels == k, scores[:, k]), rtol=1e-12)
        # Standard errors of classes add up at most, so that the mean of their limits is wide enough.
        assert found.mean.standard_error >= mean.intervals(labels, scores).mean.standard_error * 0.99 * is_exact


@every
def test_influences_are_the_derivatives_with_respect_to_the_weights_of_rows(metric):
    if isinstance(metric, (PrecisionAt, RecallAt, LiftAt)):
        pytest.skip("what a row at the cut is worth is smoothed")
    labels, scores = rows_of(1, n_classes=3)
    mean, step = ClassMean(metric), 1e-6
    influence = mean._influence(labels, scores)
    values = np.empty(labels.size)
    values[np.argsort(labels, kind="stable")] = np.concatenate([part.values for part in influence.parts])
    assert_allclose(values.sum(), 0, atol=1e-12)
    for row in range(0, labels.size, 11):
        up, down = np.ones(labels.size), np.ones(labels.size)
        up[row], down[row] = 1 + step, 1 - step
        slope = (mean(labels, scores, up) - mean(labels, scores, down)) / (2 * step)
        assert_allclose(values[row], slope, atol=1e-8)


@every
def test_the_standard_error_is_that_of_a_bootstrap(metric):
    labels, scores = rows_of(2, n_rows=1500, n_classes=3)
    mean, rng = ClassMean(metric), np.random.default_rng(0)
    values = []
    for _ in range(200):
        rows = rng.integers(0, labels.size, labels.size)
        values.append(mean(labels[rows], scores[rows]))
    assert_allclose(mean.intervals(labels, scores).mean.standard_error, np.std(values), rtol=0.25)


def test_the_mean_of_aucs_is_that_of_one_class_against_the_rest():
    labels, scores = rows_of(3, n_classes=4)
    ours, known = ClassMean(Auc()), MulticlassAuc("ovr")
    assert_allclose(ours(labels, scores), known(labels, scores), rtol=1e-14)
    expected = known.interval(labels, scores)
    assert_allclose(ours.intervals(labels, scores).mean.standard_error, expected.standard_error, rtol=1e-12)
    other = scores + np.random.default_rng(0).normal(size=scores.shape) / 5
    assert_allclose(ours.compare(labels, scores, other), known.compare(labels, scores, other), rtol=1e-9)


@every
def test_scorers_that_rank_alike_do_not_differ_and_worse_ones_do(metric):
    labels, scores = rows_of(4, n_rows=2000, n_classes=3)
    mean = ClassMean(metric)
    assert mean.compare(labels, scores, 2 * scores + 1).p_value == 1.0
    noise = np.random.default_rng(0).normal(size=scores.shape)
    difference = mean.compare(labels, scores, noise)
    assert difference.p_value < 1e-6
    assert_allclose(difference.difference, mean(labels, scores) - mean(labels, noise), rtol=1e-12)


def test_the_limits_lie_between_those_of_the_classes_and_are_narrower():
    labels, scores = rows_of(6, n_rows=400, n_classes=3)
    for metric in METRICS:
        mean, by_class = ClassMean(metric).intervals(labels, scores)
        low, high = np.mean([one.low for one in by_class]), np.mean([one.high for one in by_class])
        assert low - 1e-12 <= mean.low < mean.value < mean.high <= high + 1e-12


def test_a_class_at_the_end_of_the_scale_keeps_its_share_of_the_interval():
    labels = np.repeat([0, 1, 2], 50)
    scores = np.random.default_rng(0).normal(size=(150, 3))
    scores[:, 0] += 10.0 * (labels == 0)
    mean, by_class = ClassMean(PrecisionAt(20)).intervals(labels, scores)
    assert by_class[0].value == 1.0
    gap = (by_class[0].value - by_class[0].low) / 3
    without = ClassMean(PrecisionAt(20)).intervals(labels[labels > 0] - 1, scores[labels > 0, 1:]).mean
    assert mean.value - mean.low > max(gap, (without.value - without.low) / 2)


def test_clusters_of_repeated_rows_are_no_information():
    labels, scores = rows_of(5, n_classes=3)
    once = ClassMean(AveragePrecision()).intervals(labels, scores, groups=np.arange(labels.size))
    twice = ClassMean(AveragePrecision()).intervals(
        np.repeat(labels, 2), np.repeat(scores, 2, axis=0), groups=np.repeat(np.arange(labels.size), 2)
    )
    assert_allclose(twice.mean.standard_error, once.mean.standard_error, rtol=0.03)


def test_a_class_without_rows_is_an_error():
    with pytest.raises(ParameterError, match=r"^labels: class 2 has no rows"):
        ClassMean(Auc()).intervals([0, 1], np.eye(3)[:2])
    with pytest.raises(ParameterError, match=r"^labels: class 2 has no rows"):
        ClassMean(Auc()).stream_intervals(StreamingMulticlassAuc.of([0, 1], np.eye(3)[:2]))
