"""Scores and probabilities of several classes, and what a file may hold of them."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.special import softmax

from opauc.linear.multiclass.scorer import MulticlassScorer

RANDOM = np.random.default_rng(0)
SCORER = MulticlassScorer(RANDOM.normal(size=(3, 4)), np.array([0.5, -1.0, 0.0]), np.array([0.2, 0.5, 0.3]))
ROWS = RANDOM.normal(size=(50, 4))


def test_scores_are_the_log_probabilities_of_classes_of_equal_frequency():
    linear = ROWS @ SCORER.weights.T + SCORER.intercepts
    scores = SCORER.scores(ROWS)
    assert_allclose(np.exp(scores), softmax(linear, axis=1))
    weighted = softmax(linear, axis=1) * SCORER.shares
    assert_allclose(SCORER.probabilities(scores), weighted / weighted.sum(axis=1, keepdims=True))


@pytest.mark.parametrize("form", [sparse.csr_array, np.asfortranarray])
def test_scores_do_not_depend_on_how_rows_are_stored(form):
    assert_allclose(SCORER.scores(form(ROWS)), SCORER.scores(ROWS), rtol=1e-12)


def test_scores_of_huge_rows_are_finite():
    assert np.isfinite(SCORER.scores(1e200 * ROWS)).all()


def test_a_scorer_comes_back_from_arrays():
    again = MulticlassScorer.of_arrays(SCORER.to_arrays())
    assert_array_equal(again.scores(ROWS), SCORER.scores(ROWS))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"weights": np.ones((1, 4)), "intercepts": np.zeros(1), "shares": np.ones(1)}, "of 2 to 100 classes, got 1"),
        ({"weights": np.ones((3, 4), np.float32)}, "weights: expected float64"),
        ({"weights": np.full((3, 4), np.nan)}, "weights: expected finite"),
        ({"intercepts": np.zeros(2)}, "intercepts: expected"),
        ({"intercepts": np.array([0.0, np.inf, 0.0])}, "intercepts must be finite"),
        ({"intercepts": np.array([0.0, -np.inf, 0.0])}, "intercepts must be finite"),
        ({"intercepts": np.array([0.0, np.nan, 0.0])}, "intercepts"),
        ({"shares": np.array([0.5, 0.0, 0.5])}, "intercepts must be finite"),
        ({"shares": np.array([0.5, 0.5, 0.5])}, "must add up to 1, got 1.5"),
        ({"shares": np.array([-0.5, 1.0, 0.5])}, "shares: expected"),
    ],
)
def test_arrays_of_no_scorer_are_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        MulticlassScorer.of_arrays({**SCORER.to_arrays(), **changes})
