"""DeLong's variance against the placements computed over all pairs, the golden file, and simulated coverage."""

import numpy as np
import pytest
from experiments.interval_coverage import KINDS, Setting, coverage, size_of_test
from numpy.testing import assert_allclose
from scipy.stats import binom, binomtest, norm, t

from opauc.metrics import auc_interval, compare_aucs
from opauc.metrics.intervals import IntervalPolicy, PlacementVariances, wilson_limits


def placements(labels, scores):
    above, below = scores[labels][:, None], scores[~labels]
    wins = (above > below) + 0.5 * (above == below)
    return wins.mean(axis=1), wins.mean(axis=0)


def covariance(labels, first, second):
    pairs = zip(placements(labels, first), placements(labels, second), strict=True)
    return sum(np.cov(one, other)[0, 1] / one.size for one, other in pairs)


@pytest.mark.parametrize(
    ("successes", "n_trials", "level"), [(9, 10, 0.95), (0, 7, 0.9), (500, 1000, 0.5), (3, 3, 0.99)]
)
def test_wilsons_limits_are_those_of_scipy(successes, n_trials, level):
    expected = binomtest(successes, n_trials).proportion_ci(level, "wilson")
    assert_allclose(wilson_limits(successes / n_trials, n_trials, level), expected, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("seed", range(4))
def test_variance_and_test_equal_those_over_all_pairs(seed):
    rng = np.random.default_rng(seed)
    labels = np.append([True, True, False, False], rng.random(60) < 0.3)
    first = (rng.normal(size=64) + labels).round(seed)
    second = (first + rng.normal(size=64)).round(seed)
    interval = auc_interval(labels, first, level=0.9)
    variance = covariance(labels, first, first)
    assert_allclose(interval.standard_error, np.sqrt(variance), rtol=1e-12)
    auc, raised = interval.auc, 0.0
    for placed in placements(labels, first):
        spread, prior = np.var(placed, ddof=1), 0.4 * auc * (1 - auc)
        raised += (spread + 2 / (2 + placed.size * (1 - auc)) * max(prior - spread, 0)) / placed.size
    for limit in (interval.low, interval.high):
        reach = norm.ppf(0.95) * np.sqrt(raised * limit * (1 - limit) / (auc * (1 - auc)))
        assert_allclose(abs(auc - limit), reach, rtol=1e-8)
    assert interval.low < interval.auc < interval.high
    paired = compare_aucs(labels, first, second)
    spread = variance + covariance(labels, second, second) - 2 * covariance(labels, first, second)
    assert_allclose(paired.difference, interval.auc - auc_interval(labels, second).auc, atol=1e-15)
    assert_allclose(paired.standard_error, np.sqrt(spread), rtol=1e-10)
    gaps = [one - other for one, other in zip(placements(labels, first), placements(labels, second), strict=True)]
    parts = np.array([np.var(gap, ddof=1) / gap.size for gap in gaps])
    freedom = parts.sum() ** 2 / sum(part**2 / (gap.size - 1) for part, gap in zip(parts, gaps, strict=True))
    assert_allclose(paired.p_value, 2 * t.sf(abs(paired.difference) / np.sqrt(spread), freedom), rtol=1e-10)


def test_variance_and_covariance_equal_the_golden_ones(golden):
    case = golden("auc")
    labels, first, second = case["y"] > 0, case["scores"], case["other_scores"]
    assert_allclose(auc_interval(labels, first).standard_error ** 2, case["delong_variance"], rtol=1e-9)
    both = auc_interval(labels, first).standard_error ** 2 + auc_interval(labels, second).standard_error ** 2
    shared = (both - compare_aucs(labels, first, second).standard_error ** 2) / 2
    assert_allclose(shared, case["delong_covariance"], rtol=1e-9)


def test_the_interval_has_its_nominal_coverage():
    rng, hits = np.random.default_rng(0), 0
    labels = np.arange(80) < 30
    truth = norm.cdf(1 / np.sqrt(2))
    for _ in range(400):
        interval = auc_interval(labels, rng.normal(size=80) + labels)
        hits += interval.low <= truth <= interval.high
    assert 0.92 <= hits / 400 <= 0.98  # 0.95, give or take three deviations of 0.011


@pytest.mark.parametrize(
    ("setting", "least", "widest"),
    [
        (Setting(5, 500, 0.8), 0.90, 1.15),
        (Setting(5, 500, 0.95), 0.90, 1.8),
        (Setting(10, 500, 0.6), 0.93, 1.1),
        (Setting(10, 500, 0.95), 0.93, 1.7),
        (Setting(500, 10, 0.95), 0.93, 1.8),
        (Setting(20, 500, 0.99), 0.93, 3.0),
        (Setting(10, 10, 0.9), 0.93, 1.4),
        (Setting(50, 500, 0.999), 0.93, 9.0),
    ],
)
def test_intervals_with_few_rows_of_a_class_have_good_coverage_and_moderate_width(setting, least, widest):
    """Of DeLong's interval alone, .76 to .92 of those with few positives cover."""
    interval = coverage(setting, 500, seed=1)
    assert interval.coverage >= least
    assert interval.width < widest * interval.oracle_width


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("n_positives", "auc"), [(5, 0.8), (30, 0.99), (50, 0.99)])
def test_the_interval_covers_whatever_the_shape_of_the_scores(kind, n_positives, auc):
    """DeLong's covers .2 to .95 of these; an interval that assumes normal scores .73 of `3 x wide`."""
    runs = 300
    # Fewer hits have probability .001 if the coverage is .90.
    assert coverage(Setting(n_positives, 500, auc, kind), runs).coverage >= binom.ppf(0.001, runs, 0.90) / runs


def test_without_a_prior_the_interval_is_wilsons_with_delongs_variance():
    variances = PlacementVariances(0.02, 0.01, 50, 80)
    n_trials = 0.9 * 0.1 / (0.02 / 50 + 0.01 / 80)
    interval = variances.interval(0.9, 0.95, IntervalPolicy(prior_errors=0.0))
    assert_allclose((interval.low, interval.high), wilson_limits(0.9, n_trials, 0.95), rtol=1e-14)


@pytest.mark.parametrize(("n_positives", "auc"), [(5, 0.6), (5, 0.8), (10, 0.6)])
def test_the_paired_test_keeps_its_size_with_few_rows(n_positives, auc):
    """With normal quantiles it would be .12, .11 and .08."""
    assert size_of_test(Setting(n_positives, 500, auc), 0.5, 600) < 0.07


def test_with_many_rows_the_interval_is_that_of_delongs_variance():
    labels = np.arange(40_000) < 10_000
    interval = auc_interval(labels, np.random.default_rng(0).normal(size=40_000) + labels)
    reach = norm.ppf(0.975) * interval.standard_error
    assert_allclose([interval.low, interval.high], [interval.auc - reach, interval.auc + reach], atol=0.02 * reach)


@pytest.mark.parametrize("pairs", [1, 2, 50])
def test_a_perfect_auc_has_the_bound_of_independent_pairs(pairs):
    labels = np.arange(3 * pairs) < pairs
    best, worst = auc_interval(labels, labels * 1.0), auc_interval(labels, labels * -1.0)
    assert_allclose(best.low, 0.025 ** (1 / pairs), rtol=1e-12)
    assert (best.auc, best.high, best.standard_error) == (1.0, 1.0, 0.0)
    assert_allclose((worst.low, worst.high), (0.0, 1 - best.low), rtol=1e-12)


@pytest.mark.parametrize("scores", [[0, 0, 0], [1, 2, 0], [1, 0, 2]])
def test_one_row_of_a_class_gives_a_wide_interval(scores):
    interval = auc_interval([1, 0, 0], scores)
    assert 0 <= interval.low <= interval.auc <= interval.high <= 1
    assert interval.high - interval.low > 0.9
    assert auc_interval([1, 0, 0], scores, level=0.01).low <= interval.auc
    assert compare_aucs([1, 0, 0], scores, [0, 0, 0]).p_value > 0.6


def test_comparison_without_variance():
    labels = [0, 0, 0, 1, 1, 1]
    assert compare_aucs(labels, [1, 5, 3, 4, 2, 6], [10, 50, 30, 40, 20, 60]) == (0.0, 0.0, 0.0, 1.0)
    apart = compare_aucs(labels, labels, [1, 1, 1, 0, 0, 0])
    assert (apart.difference, apart.standard_error, apart.p_value) == (1.0, 0.0, 0.25)
    assert_allclose(apart.z, norm.isf(0.125))
    assert_allclose(compare_aucs(labels, [1, 1, 1, 0, 0, 0], labels).z, -apart.z)


def test_a_level_outside_zero_and_one_raises_an_error():
    with pytest.raises(ValueError, match="between 0 and 1, got 95"):
        auc_interval([0, 1], [0, 1], level=95)
