"""The AUC of several classes against scikit-learn, derivatives and a bootstrap; bounds of streams."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from sklearn.metrics import roc_auc_score

from opauc.errors import IncompatibleMomentsError, ParameterError
from opauc.metrics import Auc, MulticlassAuc, StreamingMulticlassAuc

both = pytest.mark.parametrize("average", ["ovo", "ovr"])
seeds = st.integers(0, 2**32 - 1)


def rows_of(seed, n_rows=150, n_classes=4, decimals=None):
    """Labels, and scores that add up to one as scikit-learn wants them."""
    rng = np.random.default_rng(seed)
    labels = np.append(np.arange(n_classes), rng.choice(n_classes, n_rows - n_classes, p=np.arange(1, n_classes + 1)
                                                        / np.arange(1, n_classes + 1).sum()))  # fmt: skip
    scores = np.exp(rng.normal(size=(n_rows, n_classes)) + 1.5 * (labels[:, None] == np.arange(n_classes)))
    if decimals is not None:
        scores = np.maximum(scores.round(decimals), 10.0**-decimals)
    return labels, scores / scores.sum(axis=1, keepdims=True)


@both
@given(seeds, st.integers(2, 6), st.sampled_from([None, 0]))
def test_it_is_that_of_scikit_learn(average, seed, n_classes, decimals):
    labels, scores = rows_of(seed, n_classes=n_classes, decimals=decimals)
    metric = MulticlassAuc(average)
    expected = (
        roc_auc_score(labels, scores, multi_class=average)
        if n_classes > 2
        # Of two classes scikit-learn takes one column; both columns rank alike here but for ties by rounding.
        else (roc_auc_score(labels == 0, scores[:, 0]) + roc_auc_score(labels == 1, scores[:, 1])) / 2
    )
    assert_allclose(metric(labels, scores), expected, rtol=1e-12)
    shards = [StreamingMulticlassAuc.empty(n_classes).update(labels[i::3], scores[i::3]) for i in range(3)]
    assert_allclose(shards[0].merge(shards[1]).merge(shards[2]).bounds(metric), [expected] * 2, rtol=1e-12)
    if average == "ovr" and n_classes > 2:
        weight = np.random.default_rng(seed).random(labels.size)
        expected = roc_auc_score(labels, scores, multi_class="ovr", sample_weight=weight)
        assert_allclose(metric(labels, scores, weight), expected, rtol=1e-12)


@both
def test_influences_are_the_derivatives_with_respect_to_the_weights_of_rows(average):
    labels, scores = rows_of(1, n_classes=3)
    metric, step = MulticlassAuc(average), 1e-6
    influence = metric._influence(labels, scores)
    values = np.empty(labels.size)
    values[np.argsort(labels, kind="stable")] = np.concatenate([part.values for part in influence.parts])
    for row in range(0, labels.size, 11):
        up, down = np.ones(labels.size), np.ones(labels.size)
        up[row], down[row] = 1 + step, 1 - step
        slope = (metric(labels, scores, up) - metric(labels, scores, down)) / (2 * step)
        assert_allclose(values[row], slope, atol=1e-8)
    assert_allclose(values.sum(), 0, atol=1e-12)


@both
def test_the_standard_error_is_that_of_a_bootstrap_and_clusters_widen_it(average):
    labels, scores = rows_of(2, n_rows=900, n_classes=3)
    rng, metric, draws = np.random.default_rng(0), MulticlassAuc(average), []
    for _ in range(200):
        rows = rng.integers(0, labels.size, labels.size)
        draws.append(metric(labels[rows], scores[rows]))
    error = metric.interval(labels, scores).standard_error
    assert_allclose(error, np.std(draws), rtol=0.17)
    clustered = metric.interval(np.repeat(labels, 2), np.repeat(scores, 2, axis=0), groups=np.repeat(np.arange(900), 2))
    assert_allclose(clustered.standard_error, error, rtol=0.02)
    streamed = StreamingMulticlassAuc.of(labels, scores).interval(metric)
    assert error <= streamed.standard_error <= 3 * error
    assert streamed.low < metric(labels, scores) < streamed.high


@both
def test_the_paired_test_sees_a_difference(average):
    labels, scores = rows_of(3, n_rows=900, n_classes=3)
    metric, noisy = MulticlassAuc(average), scores + 0.5 * np.random.default_rng(0).normal(size=scores.shape)
    assert metric.compare(labels, scores, 2 * scores) == (0.0, 0.0, 0.0, 1.0)
    for groups in (None, np.arange(900) // 3):
        found = metric.compare(labels, scores, noisy, groups=groups)
        assert_allclose(found.difference, metric(labels, scores) - metric(labels, noisy), rtol=1e-12)
        assert found.p_value < 1e-4


def test_of_two_classes_with_one_ranking_it_is_the_auc():
    labels, scores = rows_of(4, n_classes=2)
    one, two = MulticlassAuc().interval(labels, scores), Auc().interval(labels, scores[:, 1])
    assert_allclose(one, two, rtol=1e-9)


@both
@given(seeds, st.sampled_from([1, 3, 20]), st.integers(1, 3))
def test_bounds_of_a_stream_contain_the_exact_value(average, seed, size, n_shards):
    labels, scores = rows_of(seed, n_classes=3)
    metric = MulticlassAuc(average)
    state = StreamingMulticlassAuc.empty(3, size)
    for shard in range(n_shards):
        state = state.merge(
            StreamingMulticlassAuc.empty(3, size).update(labels[shard::n_shards], scores[shard::n_shards])
        )
    low, high = state.bounds(metric)
    assert low <= metric(labels, scores) + 1e-12
    assert metric(labels, scores) <= high + 1e-12
    assert sum(part.nbytes for part in state.to_arrays().values()) <= 24 * 3 * 5 * size + 40
    interval = state.interval(metric)
    assert 0 <= interval.low <= interval.value <= interval.high <= 1


def test_a_class_with_one_row_has_a_wide_interval():
    labels, scores = np.array([0, 0, 0, 1, 1, 2]), np.eye(3)[[0, 0, 1, 1, 1, 2]]
    interval = MulticlassAuc().interval(labels, scores)
    assert interval.low < 0.2 < interval.value < interval.high == 1.0 or interval.high - interval.low > 0.6


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: MulticlassAuc("weighted"), "average: unknown average 'weighted'; expected one of ovo, ovr"),
        (lambda: MulticlassAuc()([0, 1, 1], np.eye(3)), "labels: class 2 has no rows"),
        (lambda: StreamingMulticlassAuc.of([0, 1, 1], np.eye(3)).interval(MulticlassAuc()), "class 2 has no rows"),
        (lambda: MulticlassAuc()([0, 1, 3], np.eye(3)), "labels must be 0 to 2, got 3 at row 2"),
        (lambda: MulticlassAuc()([0, 1, 2], np.eye(3)[:2]), "a row for each label"),
        (lambda: MulticlassAuc()([0, 1], [[0.1], [0.2]]), "two or more classes"),
        (lambda: MulticlassAuc()([0, 1], [[0.1, np.nan], [0.2, 0.1]]), "NaN at row 0"),
        (lambda: MulticlassAuc()([0, 1], [["a", "b"], ["c", "d"]]), "real numbers"),
        (lambda: StreamingMulticlassAuc.empty(1), "n_classes must be at least 2, got 1"),
        (lambda: StreamingMulticlassAuc.empty(3).update([0, 1], np.eye(2)), "3 columns, got 2"),
        (lambda: StreamingMulticlassAuc.empty(3).merge(StreamingMulticlassAuc.empty(2)), "cannot merge with 2"),
        (lambda: StreamingMulticlassAuc.empty(1001), "n_classes must be at most 1,000, got 1001"),
    ],
)  # fmt: skip
def test_bad_input_raises_an_error_that_names_it(make, message):
    with pytest.raises(ValueError, match=message):
        make()
    assert issubclass(ParameterError, ValueError)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"ends": np.array([0, 2, 9, 6])}, "ends: expected numbers that rise from 0"),
        ({"ends": np.array([0, 6])}, "class_counts: expected"),
        ({"class_counts": np.zeros((9, 2), int)}, "class_counts"),
        ({"lows": np.full(6, 9.0)}, "lows must not exceed highs"),
    ],
)
def test_invalid_arrays_raise_an_error(change, message):
    arrays = StreamingMulticlassAuc.of([0, 1, 2], np.arange(9.0).reshape(3, 3)).to_arrays()
    arrays = {name: part[:6] if name in ("lows", "highs", "class_counts") else part for name, part in arrays.items()}
    arrays["ends"] = np.array([0, 2, 4, 6])
    with pytest.raises(IncompatibleMomentsError, match=message):
        StreamingMulticlassAuc.from_arrays(arrays | change)


def test_columns_of_different_rows_are_refused():
    arrays = StreamingMulticlassAuc.of([0, 1, 2], np.arange(9.0).reshape(3, 3)).to_arrays()
    arrays["class_counts"][0] *= 2
    with pytest.raises(IncompatibleMomentsError, match="same rows in each column"):
        StreamingMulticlassAuc.from_arrays(arrays)
    assert StreamingMulticlassAuc.from_arrays(StreamingMulticlassAuc.empty(3).to_arrays()).n_classes == 3
