"""DeLong's variance against the placements computed over all pairs, the golden file, and simulated coverage."""

import numpy as np
import pytest
from experiments.interval_coverage import Setting, coverage, size_of_test
from numpy.testing import assert_allclose
from scipy.stats import norm, t

from opauc.metrics import auc_interval, compare_aucs
from opauc.metrics.intervals import normal_variance


def placements(labels, scores):
    above, below = scores[labels][:, None], scores[~labels]
    wins = (above > below) + 0.5 * (above == below)
    return wins.mean(axis=1), wins.mean(axis=0)


def covariance(labels, first, second):
    pairs = zip(placements(labels, first), placements(labels, second), strict=True)
    return sum(np.cov(one, other)[0, 1] / one.size for one, other in pairs)


def normal_placement_variance(auc):
    """Mean square less squared mean of the share of negatives that a positive beats, by quadrature."""
    x, apart = np.linspace(-12, 12, 4001), np.sqrt(2) * norm.ppf(auc)
    return np.trapezoid(norm.pdf(x) * norm.cdf(x + apart) ** 2, x) - auc**2


@pytest.mark.parametrize("auc", [1e-6, 0.02, 0.5, 0.7, 0.99, 0.99999])
def test_the_variance_of_normal_placements_is_that_of_the_integral(auc):
    assert_allclose(normal_variance(auc), normal_placement_variance(auc), rtol=1e-7, atol=1e-15)


@pytest.mark.parametrize("seed", range(4))
def test_variance_and_test_equal_those_over_all_pairs(seed):
    rng = np.random.default_rng(seed)
    labels = np.append([True, True, False, False], rng.random(60) < 0.3)
    first = (rng.normal(size=64) + labels).round(seed)
    second = (first + rng.normal(size=64)).round(seed)
    interval = auc_interval(labels, first, level=0.9)
    variance = covariance(labels, first, first)
    assert_allclose(interval.standard_error, np.sqrt(variance), rtol=1e-12)
    factor = 0.0
    for placed in placements(labels, first):
        ratio = np.var(placed, ddof=1) / normal_placement_variance(interval.auc)
        factor += (ratio + 20 / (placed.size + 19) * max(1 - ratio, 0)) / placed.size
    for limit in (interval.low, interval.high):
        reach = norm.ppf(0.95) * np.sqrt(factor * normal_placement_variance(limit))
        assert_allclose(abs(interval.auc - limit), reach, rtol=1e-8)
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
        (Setting(5, 500, 0.95), 0.90, 1.6),
        (Setting(10, 500, 0.6), 0.93, 1.1),
        (Setting(10, 500, 0.95), 0.93, 1.4),
        (Setting(500, 10, 0.95), 0.93, 1.4),
        (Setting(20, 500, 0.99), 0.93, 1.7),
        (Setting(10, 10, 0.9), 0.93, 1.4),
        (Setting(50, 500, 0.999), 0.93, 3.5),
    ],
)
def test_intervals_with_few_rows_of_a_class_have_good_coverage_and_moderate_width(setting, least, widest):
    """Of DeLong's interval alone, .76 to .92 of those with few positives cover."""
    interval = coverage(setting, 500, seed=1)
    assert interval.coverage >= least
    assert interval.width < widest * interval.oracle_width


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
