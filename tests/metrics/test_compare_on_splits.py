"""Comparison of methods on splits of the same rows, with settings tuned within the training rows."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import ttest_rel

from opauc.errors import DivergedError
from opauc.metrics import (
    FittedMethod,
    Split,
    TunedMethod,
    compare_on_splits,
    compare_on_stream,
    exact_auc,
    paired_t_test,
    stratified_folds,
)
from tests.metrics.methods import CHOICE, Diverging, MeanDifference, NotNumbers, feature, numbered


def test_every_method_is_trained_from_scratch_on_every_split(drawn):
    rows, labels = drawn
    folds = list(stratified_folds(labels, 4, seed=1))
    method = MeanDifference()
    results = compare_on_splits([method, feature(2)], rows, labels, folds)
    for at, (training, test) in enumerate(folds):
        alone = MeanDifference()
        alone.learn(rows[training], labels[training])
        alone.finish()
        assert results.aucs[0, at] == exact_auc(labels[test], alone.scores(rows[test]))
    assert method.sums.size == 0
    assert results.seconds.shape == (2, 4)
    test = results.test("mean difference", "feature 2")
    assert test.outcome() == "win"
    assert results.test("feature 2", "mean difference").outcome() == "loss"
    assert results.test("feature 2", "feature 2") == (0.0, 0.0, 1.0)


def test_a_split_on_which_a_method_fails_is_nan_with_a_message_and_left_out_of_the_test(drawn):
    rows, labels = drawn
    folds = list(stratified_folds(labels, 4))
    results = compare_on_splits([Diverging("diverging"), feature(0)], rows, labels, folds)
    assert np.isnan(results.of("diverging")).tolist() == [False, False, True, False]
    assert results.troubles[0] == ("", "", "the weights left the range of float64", "")
    kept = [0, 1, 3]
    expected = paired_t_test(results.aucs[0, kept], results.aucs[1, kept])
    assert results.test("diverging", "feature 0") == expected


@pytest.mark.parametrize("seed", range(5))
def test_the_paired_test_is_students(seed):
    rng = np.random.default_rng(seed)
    first, second = rng.normal(size=(2, 25))
    test, expected = paired_t_test(first, second), ttest_rel(first, second)
    assert_allclose(test[1:], (expected.statistic, expected.pvalue), rtol=1e-9)


def test_a_constant_difference_has_p_zero_and_one_split_raises_an_error():
    half = np.array([0.5, 0.75])
    assert paired_t_test(half + 0.25, half) == (0.25, np.inf, 0.0)
    assert paired_t_test(half, half + 0.25).outcome() == "loss"
    with pytest.raises(ValueError, match="at least two splits, got 1"):
        paired_t_test(half[:1], half[:1])


def test_settings_are_tuned_within_the_training_rows(drawn):
    rows, labels = drawn
    asked = []

    def splits(labels):
        asked.append(labels.size)
        return stratified_folds(labels, 3, seed=5)

    tuned = TunedMethod("tuned", [feature(2), NotNumbers("nan"), feature(0), feature(1)], splits)
    folds = list(stratified_folds(labels, 5))
    results = compare_on_splits([tuned, feature(0)], rows, labels, folds)
    assert_array_equal(results.aucs[0], results.aucs[1])
    assert asked == [800] * 5
    assert tuned.chosen is None


def test_if_no_setting_works_there_is_a_message(drawn):
    class Refusing(MeanDifference):
        def learn(self, *_):
            raise DivergedError("steps too large")

    results = compare_on_stream([TunedMethod("tuned", [Refusing()])], numbered(*drawn), CHOICE)
    assert results[0].trouble == "no setting works: steps too large"


def test_a_value_error_of_fit_is_a_failure_of_the_method(drawn):
    def fit(*_):
        raise ValueError("too few rows")

    (result,) = compare_on_stream([FittedMethod("fit", fit)], numbered(*drawn), CHOICE)
    assert result.trouble == "too few rows"
    with pytest.raises(ValueError, match="fit: finish must be called before scores"):
        FittedMethod("fit", fit).scores(drawn[0])


def test_seconds_come_from_the_given_clock(drawn):
    rows, labels = drawn
    ticks = iter(range(1000))
    split = Split(*np.split(np.arange(labels.size), [labels.size // 2]))
    results = compare_on_splits([MeanDifference()], rows, labels, [split], clock=lambda: float(next(ticks)))
    # Training and finishing read the clock before and after; warming up and scoring only before.
    assert results.seconds[0, 0] == 2.0
