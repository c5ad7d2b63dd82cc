"""Groups of a column: each is evaluated as if its rows stood alone, at thresholds that all have in common."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.metrics import confusion_matrix, roc_auc_score

from opauc.metrics import CalibrationBins, Ranking, auc_interval
from opauc.metrics.groups import GROUP_POLICY, GroupedScores


def rows(seed=0, n_rows=3000):
    random = np.random.default_rng(seed)
    group, scores = random.choice(["north", "south", "east"], n_rows, p=[0.5, 0.4, 0.1]), random.normal(size=n_rows)
    labels = (scores * np.where(group == "east", 0.2, 2.0) + random.normal(size=n_rows) > 1).astype(np.int8)
    return group, labels, scores, 1 / (1 + np.exp(-scores))


def evaluated(values, labels, scores, probabilities, n_parts=3, policy=GROUP_POLICY):
    groups = GroupedScores("column", policy)
    for part in np.array_split(np.arange(labels.size), n_parts):
        groups.add([values[i] for i in part], labels[part], scores[part], probabilities[part])
    return groups.evaluate()


def test_each_group_is_evaluated_by_itself_at_common_thresholds():
    group, labels, scores, probabilities = rows()
    found = evaluated(group.tolist(), labels, scores, probabilities)
    assert [one.name for one in found] == ["north", "south", "east"]
    points = Ranking.of(labels, scores).operating_points
    for one in found:
        own = group == one.name
        assert (one.n_rows, one.n_positives) == (own.sum(), labels[own].sum())
        assert_allclose(one.confidence.auc, roc_auc_score(labels[own], scores[own]), atol=1e-12)
        assert one.confidence == auc_interval(labels[own], scores[own])
        alone = CalibrationBins.of(labels[own], probabilities[own])
        assert_allclose(one.calibration.brier_score(), alone.brier_score(), atol=1e-12)
        assert_allclose((one.predicted, one.observed), (probabilities[own].mean(), labels[own].mean()), atol=1e-12)
        low, high = one.observed_limits
        assert low < one.observed < high
        for point, whole in zip(one.points, points, strict=True):
            (tn, fp), (fn, tp) = confusion_matrix(labels[own], scores[own] >= whole.threshold)
            assert point.threshold == whole.threshold
            assert_allclose(
                (point.false_positive_rate, point.true_positive_rate, point.precision),
                (fp / (fp + tn), tp / (tp + fn), tp / (tp + fp) if tp + fp else np.nan),
            )


def test_many_numbers_become_bands_and_missing_ones_a_group():
    _, labels, scores, probabilities = rows()
    ages = np.random.default_rng(3).normal(45, 12, labels.size)
    values = [None if i % 50 == 0 else f"{age:.3f}" for i, age in enumerate(ages.tolist())]
    found = evaluated(values, labels, scores, probabilities)
    assert [one.name for one in found][-1] == "(missing)"
    assert found[0].name.startswith("below ")
    assert found[4].name.endswith(" and above")
    assert len(found) == 6
    sizes = [one.n_rows for one in found[:-1]]
    assert min(sizes) > 0.8 * max(sizes)
    assert sum(one.n_rows for one in found) == labels.size
    low, high = map(float, found[1].name.split(" to "))
    rounded = np.array([np.nan if value is None else float(value) for value in values])
    assert abs(found[1].n_rows - ((rounded >= low) & (rounded < high)).sum()) <= 1


def test_a_group_of_one_class_has_no_auc_and_further_values_are_pooled():
    labels, scores = np.array([0, 1, 0, 0, 1, 1], np.int8), np.arange(6.0)
    found = evaluated(list("aabbcd"), labels, scores, scores / 6, 1, replace(GROUP_POLICY, max_groups=2))
    by_name = {one.name: one for one in found}
    assert set(by_name) == {"a", "b", "(others)"}
    assert by_name["b"].confidence is None
    assert np.isnan(by_name["b"].points[0].true_positive_rate)
    assert by_name["(others)"].n_rows == 2


def test_groups_of_more_rows_than_are_kept_have_the_same_rates(monkeypatch):
    group, labels, scores, probabilities = rows(1, 4000)
    exact = evaluated(group.tolist(), labels, scores, probabilities)
    monkeypatch.setattr("opauc.metrics.comparison.ScoreBuffer.all_rows", property(lambda _: None))
    streamed = evaluated(group.tolist(), labels, scores, probabilities)
    for one, other in zip(exact, streamed, strict=True):
        assert one.confidence.auc == pytest.approx(other.confidence.auc, abs=2e-3)
        for mine, theirs in zip(one.points, other.points, strict=True):
            assert mine.true_positive_rate == pytest.approx(theirs.true_positive_rate, abs=0.03)
