"""Calibration of scores of several classes: where the answer is known, and against another minimizer."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize
from scipy.special import log_softmax, softmax
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss

from opauc import OPAUC, OPAUCCV
from opauc.linear.multiclass.calibration import CALIBRATION_POLICY, ScoreMoments, _normal_points, _root, calibrate
from tests.problems import several_problem


def points_of(scores):
    """Return the points of the classes that `calibrate` takes, of scores of mean zero and unit deviation."""
    n_classes = scores.counts.size
    normal = _normal_points(n_classes, max(n_classes, CALIBRATION_POLICY.points // (2 * n_classes)))
    parts = [mean + normal @ _root(cov) for mean, cov in zip(scores.means, scores.covariances, strict=True)]
    return np.concatenate(parts), np.repeat(np.arange(n_classes), len(normal))


def random_scores(seed, n_classes=4):
    random = np.random.default_rng(seed)
    roots = random.normal(size=(n_classes, n_classes, n_classes)) / 2
    means = np.eye(n_classes) + 0.3 * random.normal(size=(n_classes, n_classes))
    means -= means.mean(axis=0)
    covariances = np.stack([root @ root.T + 0.1 * np.eye(n_classes) for root in roots])
    scale = np.sqrt((np.diagonal(covariances, axis1=1, axis2=2) + means**2).mean(axis=0))
    return ScoreMoments(np.full(n_classes, 1e9), means / scale, covariances / np.outer(scale, scale))


@pytest.mark.parametrize("n_classes", [3, 7])
def test_normal_scores_of_one_covariance_have_the_factors_of_the_normal_posterior(n_classes):
    """With covariance s^2 I and unit means the posterior is the softmax of scores / s^2."""
    for variance in (0.5, 2.0):
        found = calibrate(
            ScoreMoments(
                np.full(n_classes, 1e9), np.eye(n_classes), np.stack([variance * np.eye(n_classes)] * n_classes)
            )
        )
        assert_allclose(found.factors, 1 / variance, rtol=0.05)  # of as many points as there are
        assert_allclose(found.intercepts, 0.0, atol=0.1)


@pytest.mark.parametrize("seed", range(3))
def test_it_is_the_minimum_of_the_log_loss_of_the_points(seed):
    scores = random_scores(seed)
    points, labels = points_of(scores)

    def loss(values):
        logs = log_softmax(points * values[:4] + values[4:], axis=1)
        return -logs[np.arange(labels.size), labels].mean()

    found = calibrate(scores)
    least = minimize(loss, np.ones(8), tol=1e-12)
    assert loss(np.concatenate(found)) <= least.fun + 1e-7
    assert_allclose(found.factors, least.x[:4], rtol=2e-3)


def test_points_have_the_mean_and_the_covariance_of_the_scores():
    scores = random_scores(5)
    points, labels = points_of(scores)
    for k in range(4):
        assert_allclose(points[labels == k].mean(axis=0), scores.means[k], atol=1e-12)
        assert_allclose(np.cov(points[labels == k].T, bias=True), scores.covariances[k], atol=1e-10)


def test_units_and_shifts_of_the_scores_change_no_probability():
    scores = random_scores(6)
    scale, shift = np.array([1e-6, 1.0, 30.0, 1e8]), np.array([0.0, -5.0, 1e3, 1e8])
    moved = ScoreMoments(scores.counts, scores.means * scale + shift, scores.covariances * np.outer(scale, scale))
    one, other = calibrate(scores), calibrate(moved)
    rows = np.random.default_rng(0).normal(size=(20, 4))
    expected = softmax(rows * one.factors + one.intercepts, axis=1)
    assert_allclose(softmax((rows * scale + shift) * other.factors + other.intercepts, axis=1), expected, atol=1e-6)


def test_it_is_continuous():
    """Sums of rows in another order differ in the last bits: probabilities must too."""
    scores = random_scores(7)
    noise = 1.0 + 1e-13 * np.random.default_rng(1).normal(size=(4, 4))
    near = scores._replace(means=scores.means * noise)
    for one, other in zip(calibrate(scores), calibrate(near), strict=True):
        assert_allclose(other, one, rtol=1e-8, atol=1e-9)


def test_a_score_that_says_the_opposite_is_not_turned_round():
    scores = random_scores(8)
    means = scores.means.copy()
    means[:, 2] *= -1.0
    found = calibrate(scores._replace(means=means))
    assert (found.factors > 0.0).all()
    assert found.factors[2] < 0.01


@pytest.mark.parametrize("counts", [1.0, 40.0, 1e12])
def test_classes_that_do_not_overlap_have_finite_factors(counts):
    found = calibrate(ScoreMoments(np.full(3, counts), 100 * np.eye(3), np.zeros((3, 3, 3))))
    assert np.isfinite(found.factors).all()
    assert_allclose(found.factors, found.factors[0])
    wrong = 1 - softmax(100 * found.factors[0] * np.eye(3)[0])[0]
    assert_allclose(wrong, 2 / 3 / (counts + 1), rtol=0.05, atol=1e-6)  # one more row, of any class


@pytest.mark.parametrize("make", [OPAUC, OPAUCCV])
def test_probabilities_of_normal_rows_are_nearly_those_of_logistic_regression(make):
    """Rows of normal classes with one covariance: logistic regression is the true model."""
    rows, labels = several_problem(9, 6000, 4, 3)
    train, test = slice(0, 3000), slice(3000, None)
    model = make().fit(rows[train], labels[train])
    reference = LogisticRegression(max_iter=1000).fit(rows[train], labels[train])
    reached = log_loss(labels[test], model.predict_proba(rows[test]))
    assert reached < log_loss(labels[test], reference.predict_proba(rows[test])) + 0.03
    shares = model.predict_proba(rows[test]).mean(axis=0)
    assert_allclose(shares, np.bincount(labels[test]) / 3000, atol=0.03)


def test_pooled_moments_are_means_weighted_by_rows():
    one, other = (
        random_scores(1)._replace(counts=np.array([1.0, 2, 3, 4])),
        random_scores(2)._replace(counts=np.ones(4)),
    )
    pooled = ScoreMoments.pooled([one, other])
    assert_allclose(pooled.counts, [2, 3, 4, 5])
    assert_allclose(pooled.means[1], (2 * one.means[1] + other.means[1]) / 3)
    assert_allclose(pooled.covariances[3], (4 * one.covariances[3] + other.covariances[3]) / 5)
