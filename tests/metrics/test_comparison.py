"""Metrics of a score buffer, from all rows or from their summary, and methods ordered and tested by a metric."""

import numpy as np
import pytest

from opauc.errors import ParameterError
from opauc.metrics import AveragePrecision, PartialAuc, PrecisionAt, ScoreBuffer
from opauc.metrics.comparison import rank_methods

RNG = np.random.default_rng(0)
LABELS = RNG.random(3000) < 0.2
SCORES = RNG.normal(size=3000) + LABELS
METRICS = [AveragePrecision(), PartialAuc(0.05)]


def buffer_of(scores, exact_rows=10**6):
    buffer = ScoreBuffer(exact_rows)
    for part in np.array_split(np.arange(LABELS.size), 4):
        buffer.add(LABELS[part], scores[part])
    return buffer


def test_beyond_the_exact_rows_metrics_come_from_the_stream():
    exact, summarized = buffer_of(SCORES).metrics(METRICS), buffer_of(SCORES, 100).metrics(METRICS)
    assert list(exact) == list(summarized) == ["ap", "pauc@0.05"]
    for metric in METRICS:
        assert exact[metric.name] == metric.interval(LABELS, SCORES)
        # 3,000 distinct scores fit into a streaming AUC.
        assert summarized[metric.name] == pytest.approx(exact[metric.name], rel=1e-9)


def test_the_first_metric_orders_and_tests_the_methods():
    # One method has the better AUC, the other the better top.
    top = np.where(RNG.random(3000) < 0.5, SCORES, np.where(LABELS & (SCORES > 1.5), 9.0, RNG.normal(size=3000) - 2.0))
    buffers = [buffer_of(SCORES), buffer_of(top), buffer_of(SCORES)]
    methods = [("whole", 1.0, ""), ("top", 1.0, ""), ("failed", 1.0, "no rows")]
    by_auc, by_metric = rank_methods(methods, buffers), rank_methods(methods, buffers, [PartialAuc(0.02)])
    assert [line.name for line in by_auc] == ["whole", "top", "failed"]
    assert [line.name for line in by_metric] == ["top", "whole", "failed"]
    assert [line.p_value is None for line in by_metric] == [True, False, True]
    assert by_metric[1].p_value == PartialAuc(0.02).compare(LABELS, top, SCORES).p_value
    assert (by_auc[0].metrics, by_metric[2].metrics) == ({}, {})


def test_errors_name_the_metric():
    with pytest.raises(ParameterError, match="metrics: precision@5000: k=5000 is more than the 3,000 rows"):
        buffer_of(SCORES).metrics([PrecisionAt(5000)])
    with pytest.raises(ParameterError, match="metrics: precision@5000: k=5000 is more than the 3,000 rows"):
        buffer_of(SCORES, 100).metrics([PrecisionAt(5000)])
