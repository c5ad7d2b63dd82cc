import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.stats import norm

from opauc.linear.moments.classes import ClassMoments
from opauc.linear.scorer import LinearScorer
from tests.problems import problem


def test_score_zero_lies_midway_between_the_class_means():
    rows, labels = problem(0, 100, 3, offset=5.0)
    moments = ClassMoments.of(rows, labels)
    scorer = LinearScorer.of(np.array([1.0, -2.0, 0.5]), moments.summary(np.array([1.0, -2.0, 0.5])))
    middle = (moments.negative.mean + moments.positive.mean) / 2
    assert_allclose(scorer.scores(middle[None]), 0.0, atol=1e-12)


def test_probabilities_are_the_posterior_of_two_normal_classes():
    rows, labels = problem(1, 4000, 2, positives=0.1)
    rows[:, 0] += labels
    moments, w = ClassMoments.of(rows, labels), np.array([1.0, 0.1])
    scores = rows @ w
    mean = [scores[labels == k].mean() for k in (0, 1)]
    pooled = np.sqrt(np.mean([(scores[i] - mean[labels[i]]) ** 2 for i in range(4000)]))
    share = labels.mean()
    above, below = share * norm.pdf(scores, mean[1], pooled), (1 - share) * norm.pdf(scores, mean[0], pooled)
    assert_allclose(_probabilities(LinearScorer.of(w, moments.summary(w)), rows), above / (above + below), rtol=1e-9)


@pytest.mark.parametrize("make", [np.asarray, np.asfortranarray, sparse.csr_array, lambda x: x.astype(np.float32)])
def test_blocks_of_rows_are_scored_like_single_rows(make):
    rows = np.random.default_rng(0).normal(size=(20_000, 3)).astype(np.float32).astype(float)
    scorer = LinearScorer(np.array([1.0, 2.0, 3.0]), 0.5, 1.0, 0.0)
    assert_allclose(scorer.scores(make(rows)), rows @ scorer.weights + 0.5, atol=1e-12)


def test_classes_without_any_spread_are_told_apart_with_certainty():
    moments = ClassMoments.of(np.array([[0.0], [1.0]]), np.array([0, 1], np.int8))
    scorer = LinearScorer.of(np.ones(1), moments.summary(np.ones(1)))
    assert_array_equal(_probabilities(scorer, np.array([[0.0], [1.0]])), [0.0, 1.0])


def test_weights_that_say_nothing_leave_the_prior():
    moments = ClassMoments.of(*problem(2, 100, 2, positives=0.2))
    expected = moments.positive.count / 100
    assert_allclose(
        _probabilities(LinearScorer.of(np.zeros(2), moments.summary(np.zeros(2))), np.ones((1, 2))), expected
    )


@pytest.mark.parametrize("label", [0, 1])
def test_with_one_class_seen_every_row_belongs_to_it(label):
    moments = ClassMoments.of(np.ones((3, 2)), np.full(3, label, np.int8))
    scorer = LinearScorer.of(np.zeros(2), moments.summary(np.zeros(2)))
    assert_array_equal(_probabilities(scorer, np.ones((1, 2))), [label])
    assert (scorer.scores(np.ones((1, 2))) > 0) == [label == 1]


def _probabilities(scorer, rows):
    return scorer.probabilities(scorer.scores(rows))
