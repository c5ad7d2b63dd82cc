"""A reduced version of experiments/metric_coverage.py: coverage of the intervals, and size of the paired tests."""

import pytest
from experiments.metric_coverage import (
    Setting,
    cluster_coverage,
    coverage,
    group_coverage,
    multiclass_coverage,
    size_of_test,
)
from scipy.stats import binom

from opauc.metrics import ranking_metric

RUNS = 150
# Fewer hits have probability .0005 if the coverage is .93.
LEAST = binom.ppf(0.0005, RUNS, 0.93) / RUNS


@pytest.mark.parametrize(
    ("setting", "names"),
    [
        (Setting(20, 0.9, "normal"), ("pauc@0.1", "pauc@0.3:0.5", "ap", "recall@0.05")),
        (Setting(20, 0.97, "exponential"), ("pauc@0.1", "pauc@0.3:0.5")),
        (Setting(50, 0.7, "exponential"), ("ap", "precision@50", "lift@0.1")),
        (Setting(50, 0.97, "ties"), ("pauc@0.1", "ap")),
        (Setting(200, 0.9, "t, 2 degrees"), ("pauc@0.01", "precision@0.05")),
    ],
)
def test_intervals_cover_the_true_value(setting, names):
    for name, found in coverage(setting, names, RUNS, seed=1).items():
        assert found.coverage >= LEAST, name
        assert found.width < 2.5, name


def test_intervals_of_several_classes_of_groups_and_of_clusters_cover_the_true_value():
    assert multiclass_coverage("ovo", (20, 20, 20), RUNS).coverage >= LEAST
    assert multiclass_coverage("ovr", (20, 40, 100), RUNS).coverage >= LEAST
    assert group_coverage("equal", 50, RUNS).coverage >= LEAST
    for name in ("auc", "pauc@0.1"):
        assert cluster_coverage(name, 50, RUNS, use_clusters=True).coverage >= LEAST


@pytest.mark.parametrize("name", ["pauc@0.1", "ap", "recall@0.05"])
def test_paired_tests_keep_their_size(name):
    assert size_of_test(Setting(50, 0.9), ranking_metric(name), RUNS) <= binom.ppf(0.999, RUNS, 0.05) / RUNS
