"""Methods are compared on splits of the same rows, and settings chosen within the training rows."""

import numpy as np
import pytest
from experiments.splits import (
    Split,
    TunedMethod,
    compare_on_splits,
    corrected_t_test,
    paired_t_test,
    stratified_folds,
)
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import t as student_t
from scipy.stats import ttest_rel
from sklearn.model_selection import StratifiedKFold

from opauc.errors import DivergedError
from opauc.metrics import compare_on_stream, exact_auc
from tests.metrics.methods import CHOICE, Diverging, MeanDifference, NotNumbers, feature, numbered


@pytest.fixture
def drawn():
    """Rows whose first feature ranks best, the second less well and the third not at all."""
    rng = np.random.default_rng(0)
    labels = (rng.random(1000) < 0.3).astype(np.int8)
    rows = rng.normal(size=(1000, 3))
    rows[:, 0] += labels
    rows[:, 1] += labels / 2
    return rows, labels


def test_every_method_starts_afresh_on_every_split(drawn):
    rows, labels = drawn
    folds = list(stratified_folds(labels, 4, seed=1))
    method = MeanDifference()
    found = compare_on_splits([method, feature(2)], rows, labels, folds)
    for at, (train, held) in enumerate(folds):
        alone = MeanDifference()
        alone.train(rows[train], labels[train])
        alone.finish()
        assert found.aucs[0, at] == exact_auc(labels[held], alone.scores(rows[held]))
    assert method.sums.size == 0
    assert found.seconds.shape == (2, 4)
    test = found.test("mean difference", "feature 2")
    assert test.outcome() == "win"
    assert found.test("feature 2", "mean difference").outcome() == "loss"
    assert found.test("feature 2", "feature 2") == (0.0, 0.0, 1.0)


def test_a_split_on_which_a_method_fails_is_nan_with_the_reason_and_left_out_of_the_test(drawn):
    rows, labels = drawn
    folds = list(stratified_folds(labels, 4))
    found = compare_on_splits([Diverging("diverging"), feature(0)], rows, labels, folds)
    assert np.isnan(found.of("diverging")).tolist() == [False, False, True, False]
    assert found.troubles[0] == ("", "", "the weights left the range of float64", "")
    kept = [0, 1, 3]
    expected = paired_t_test(found.aucs[0, kept], found.aucs[1, kept])
    assert found.test("diverging", "feature 0") == expected


@pytest.mark.parametrize("seed", range(5))
def test_the_paired_test_is_students(seed):
    rng = np.random.default_rng(seed)
    first, second = rng.normal(size=(2, 25))
    found, expected = paired_t_test(first, second), ttest_rel(first, second)
    assert_allclose(found[1:], (expected.statistic, expected.pvalue), rtol=1e-9)


def test_a_constant_difference_is_certain_and_one_split_is_no_test():
    half = np.array([0.5, 0.75])
    assert paired_t_test(half + 0.25, half) == (0.25, np.inf, 0.0)
    assert paired_t_test(half, half + 0.25).outcome() == "loss"
    with pytest.raises(ValueError, match="at least two splits, got 1"):
        paired_t_test(half[:1], half[:1])


def test_settings_are_chosen_within_the_training_rows(drawn):
    rows, labels = drawn
    asked = []

    def splits(labels):
        asked.append(labels.size)
        return stratified_folds(labels, 3, seed=5)

    tuned = TunedMethod("tuned", [feature(2), NotNumbers("nan"), feature(0), feature(1)], splits)
    folds = list(stratified_folds(labels, 5))
    found = compare_on_splits([tuned, feature(0)], rows, labels, folds)
    assert_array_equal(found.aucs[0], found.aucs[1])
    assert asked == [800] * 5
    assert tuned.chosen is None


def test_where_no_setting_works_there_is_a_reason(drawn):
    class Refusing(MeanDifference):
        def train(self, *_):
            raise DivergedError("steps too large")

    found = compare_on_stream([TunedMethod("tuned", [Refusing()])], numbered(*drawn), CHOICE)
    assert found[0].trouble == "no setting works: steps too large"


def test_seconds_are_those_of_the_clock_given(drawn):
    rows, labels = drawn
    ticks = iter(range(1000))
    split = Split(*np.split(np.arange(labels.size), [labels.size // 2]))
    found = compare_on_splits([MeanDifference()], rows, labels, [split], clock=lambda: float(next(ticks)))
    # Learning and finishing are asked the time before and after; warming up and scoring before alone.
    assert found.seconds[0, 0] == 2.0


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("n_folds", [2, 3, 5])
def test_folds_are_those_of_scikit_learn(seed, n_folds):
    labels = (np.random.default_rng(seed).random(83) < 0.3).astype(np.int8)
    theirs = StratifiedKFold(n_folds, shuffle=True, random_state=seed).split(labels, labels)
    for ours, (train, held) in zip(stratified_folds(labels, n_folds, seed), theirs, strict=True):
        assert_array_equal(ours.train, train)
        assert_array_equal(ours.held_out, held)


def test_more_folds_than_rows_of_a_class_are_refused():
    with pytest.raises(ValueError, match="got n_folds=5 for 2 positives and 7 negatives"):
        list(stratified_folds(np.array([0, 0, 0, 1, 0, 0, 1, 0, 0], np.int8)))
    with pytest.raises(ValueError, match=r"at least 2 .* got n_folds=1"):
        list(stratified_folds(np.array([0, 1], np.int8), n_folds=1))


def test_the_corrected_test_has_the_variance_of_repeated_cross_validation():
    """Nadeau and Bengio: (1/n + rows held out / rows of training) in place of 1/n."""
    rng = np.random.default_rng(3)
    first, second = rng.normal(0.9, 0.01, 25), rng.normal(0.895, 0.01, 25)
    differences = first - second
    t = differences.mean() / np.sqrt((1 / 25 + 0.2 / 0.8) * differences.var(ddof=1))
    found = corrected_t_test(first, second)
    assert found.difference == pytest.approx(differences.mean())
    assert found.t == pytest.approx(t)
    assert found.p_value == pytest.approx(2 * student_t.sf(abs(t), 24))
    assert found.p_value > paired_t_test(first, second).p_value
    assert corrected_t_test(first, first) == (0.0, 0.0, 1.0)
