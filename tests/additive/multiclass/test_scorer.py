"""Log-odds and probabilities of several classes."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.special import logit

from opauc.additive.basis.basis import Basis
from opauc.additive.multiclass.scorer import ClassScorer, log_odds
from opauc.additive.scorer import MappedScorer


def literal_probabilities(additive):
    """Return the probabilities by their definition."""
    n_classes, p = additive.shape[1], 1.0 / (1.0 + np.exp(-additive))
    factors = np.exp(additive) ** (1.0 - 1.0 / n_classes) * (1.0 - p) ** 0.2
    return factors / factors.sum(axis=1, keepdims=True)


@given(seed=st.integers(0, 2**32 - 1), n_classes=st.integers(3, 6))
def test_log_odds_are_those_of_the_probabilities(seed, n_classes):
    additive = 3.0 * np.random.default_rng(seed).normal(size=(20, n_classes))
    assert_allclose(log_odds(additive), logit(literal_probabilities(additive)), atol=1e-9)


def test_probabilities_of_scores_add_up_to_one_and_are_the_logistic_of_the_log_odds():
    basis = Basis.of(np.array([[0.0], [1.0], [4.0]]), np.ones(3), np.zeros(1, bool), n_knots=3)
    weights = np.random.default_rng(0).normal(size=(4, basis.n_columns))
    scorer = ClassScorer([MappedScorer(basis, one) for one in weights])
    rows = np.linspace(-1.0, 5.0, 30)[:, None]
    scores = scorer.scores(rows)
    probabilities = scorer.probabilities(scores)
    assert_allclose(probabilities.sum(axis=1), 1.0, rtol=0.0, atol=1e-15)
    assert_allclose(probabilities, literal_probabilities(basis.rows(rows) @ weights.T), rtol=1e-12)
    assert (scorer.n_classes, scorer.n_inputs) == (4, 1)


def test_extreme_scores_stay_finite():
    odds = log_odds(np.array([[800.0, -800.0, 0.0], [-800.0, -800.0, -800.0]]))
    assert np.isfinite(odds).all()
    assert_allclose(odds[1], np.log(0.5), atol=1e-12)
