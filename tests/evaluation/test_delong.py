"""DeLong's variance against the placements written out over all pairs, the golden file, and simulated coverage."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import norm

from opauc.evaluation import auc_interval, compare_aucs


def placements(labels, scores):
    above, below = scores[labels][:, None], scores[~labels]
    wins = (above > below) + 0.5 * (above == below)
    return wins.mean(axis=1), wins.mean(axis=0)


def covariance(labels, first, second):
    pairs = zip(placements(labels, first), placements(labels, second), strict=True)
    return sum(np.cov(one, other)[0, 1] / one.size for one, other in pairs)


@pytest.mark.parametrize("seed", range(4))
def test_variance_and_test_equal_all_pairs_written_out(seed):
    rng = np.random.default_rng(seed)
    labels = np.append([True, True, False, False], rng.random(60) < 0.3)
    first = (rng.normal(size=64) + labels).round(seed)
    second = (first + rng.normal(size=64)).round(seed)
    found = auc_interval(labels, first, level=0.9)
    variance = covariance(labels, first, first)
    assert_allclose(found.standard_error, np.sqrt(variance), rtol=1e-12)
    odds = np.log(found.auc / (1 - found.auc))
    reach = norm.ppf(0.95) * found.standard_error / (found.auc * (1 - found.auc))
    assert_allclose([found.low, found.high], 1 / (1 + np.exp([reach - odds, -reach - odds])), rtol=1e-10)
    paired = compare_aucs(labels, first, second)
    spread = variance + covariance(labels, second, second) - 2 * covariance(labels, first, second)
    assert_allclose(paired.difference, found.auc - auc_interval(labels, second).auc, atol=1e-15)
    assert_allclose(paired.standard_error, np.sqrt(spread), rtol=1e-10)
    assert_allclose(paired.p_value, 2 * norm.sf(abs(paired.difference) / np.sqrt(spread)), rtol=1e-10)


def test_variance_and_covariance_equal_the_golden_ones(golden):
    case = golden("auc")
    labels, first, second = case["y"] > 0, case["scores"], case["other_scores"]
    assert_allclose(auc_interval(labels, first).standard_error ** 2, case["delong_variance"], rtol=1e-9)
    both = auc_interval(labels, first).standard_error ** 2 + auc_interval(labels, second).standard_error ** 2
    shared = (both - compare_aucs(labels, first, second).standard_error ** 2) / 2
    assert_allclose(shared, case["delong_covariance"], rtol=1e-9)


def test_the_interval_covers_as_often_as_it_says():
    rng, hits = np.random.default_rng(0), 0
    labels = np.arange(80) < 30
    truth = norm.cdf(1 / np.sqrt(2))
    for _ in range(400):
        found = auc_interval(labels, rng.normal(size=80) + labels)
        hits += found.low <= truth <= found.high
    assert 0.92 <= hits / 400 <= 0.98  # 0.95, give or take three deviations of 0.011


@pytest.mark.parametrize("pairs", [1, 2, 50])
def test_a_perfect_auc_has_the_bound_of_independent_pairs(pairs):
    labels = np.arange(3 * pairs) < pairs
    best, worst = auc_interval(labels, labels * 1.0), auc_interval(labels, labels * -1.0)
    assert_allclose(best.low, 0.025 ** (1 / pairs), rtol=1e-12)
    assert (best.auc, best.high, best.standard_error) == (1.0, 1.0, 0.0)
    assert_allclose((worst.low, worst.high), (0.0, 1 - best.low), rtol=1e-12)


@pytest.mark.parametrize("scores", [[0, 0, 0], [1, 2, 0], [1, 0, 2]])
def test_one_row_of_a_class_says_little(scores):
    found = auc_interval([1, 0, 0], scores)
    assert 0 <= found.low <= found.auc <= found.high <= 1
    assert found.high - found.low > 0.9
    assert auc_interval([1, 0, 0], scores, level=0.01).low <= found.auc
    assert compare_aucs([1, 0, 0], scores, [0, 0, 0]).p_value > 0.6


def test_comparison_without_variance():
    labels = [0, 0, 0, 1, 1, 1]
    assert compare_aucs(labels, [1, 5, 3, 4, 2, 6], [10, 50, 30, 40, 20, 60]) == (0.0, 0.0, 0.0, 1.0)
    apart = compare_aucs(labels, labels, [1, 1, 1, 0, 0, 0])
    assert (apart.difference, apart.standard_error, apart.p_value) == (1.0, 0.0, 0.25)
    assert_allclose(apart.z, norm.isf(0.125))
    assert_allclose(compare_aucs(labels, [1, 1, 1, 0, 0, 0], labels).z, -apart.z)


def test_a_level_outside_nought_and_one_is_refused():
    with pytest.raises(ValueError, match="between 0 and 1, got 95"):
        auc_interval([0, 1], [0, 1], level=95)
