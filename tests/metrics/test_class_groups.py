"""Several classes in each group of a column, and within groups."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from opauc.metrics import GroupAuc, MulticlassAuc
from opauc.metrics.class_groups import ClassesWithinGroups, GroupedClassScores
from opauc.metrics.class_scores import ClassScores
from tests.metrics.test_multiclass_auc import rows_of

seeds = st.integers(0, 2**32 - 1)


@given(seeds, st.sampled_from(["equal", "rows", "positives", "pairs"]))
def test_within_groups_it_is_the_mean_over_the_classes(seed, weight):
    labels, scores = rows_of(seed, n_classes=3)
    groups = np.random.default_rng(seed).integers(0, 12, labels.size)
    within = ClassesWithinGroups(3)
    for part in np.array_split(np.arange(labels.size), 4):
        within.add(labels[part], scores[part], groups[part])
    found = within.interval(GroupAuc(weight))
    each = [GroupAuc(weight).interval(labels == k, scores[:, k], groups) for k in range(3)]
    assert_allclose(found.value, np.mean([one.value for one in each]), rtol=1e-12)
    # The classes of a group vary together: at most as much as if they varied alike.
    assert found.standard_error <= np.mean([one.standard_error for one in each]) * (1 + 1e-9)
    assert found.n_groups + found.n_one_class == np.unique(groups).size
    assert found.n_one_class == sum(np.unique(labels[groups == group]).size == 1 for group in range(12))


def test_within_groups_the_standard_error_is_that_of_a_bootstrap_over_groups():
    rng = np.random.default_rng(0)
    labels, scores = rows_of(1, n_rows=3000, n_classes=3)
    groups, metric = rng.integers(0, 60, labels.size), GroupAuc()
    aucs = []
    for k in range(3):
        of_class = [metric(labels[groups == g] == k, scores[groups == g, k], groups[groups == g]) for g in range(60)]
        aucs.append(of_class)
    means = np.mean(aucs, axis=0)
    values = [means[rng.integers(0, 60, 60)].mean() for _ in range(400)]
    within = ClassesWithinGroups(3)
    within.add(labels, scores, groups)
    assert_allclose(within.interval(metric).standard_error, np.std(values), rtol=0.15)


@pytest.mark.parametrize("exact_scores", [10**6, 30])
def test_classes_without_rows_are_left_out(exact_scores):
    labels, scores = rows_of(2, n_classes=4)
    rows = labels != 1
    probabilities = scores / scores.sum(axis=1, keepdims=True)
    given = ClassScores(4, exact_scores)
    given.add(labels[rows], scores[rows], probabilities[rows])
    present = given.of_present_classes()
    numbers = np.array([0, -1, 1, 2])[labels[rows]]
    metric = MulticlassAuc("ovo")
    assert_allclose(present.interval(metric).value, metric(numbers, scores[rows][:, [0, 2, 3]]), rtol=1e-9)
    assert present.counts.tolist() == [int(np.sum(labels == k)) for k in (0, 2, 3)]


def test_numbers_become_bands_and_values_come_by_their_rows():
    labels, scores = rows_of(3, n_rows=600, n_classes=3)
    probabilities = scores / scores.sum(axis=1, keepdims=True)
    ages = np.random.default_rng(0).uniform(0, 100, labels.size)
    groups = GroupedClassScores("age", ["a", "b", "c"])
    groups.add(ages.tolist(), labels, np.log(probabilities), probabilities)
    found = groups.evaluate()
    assert len(found) == 5
    assert found[0].name.startswith("below ")
    assert sum(group.n_rows for group in found) == labels.size
    rows = ages < np.quantile(ages, 0.2)
    assert found[0].rows_of == {
        "a": np.sum(labels[rows] == 0),
        "b": np.sum(labels[rows] == 1),
        "c": np.sum(labels[rows] == 2),
    }
    expected = -np.log(probabilities[rows, labels[rows]]).mean()
    assert_allclose(found[0].log_loss, expected, rtol=1e-12)
