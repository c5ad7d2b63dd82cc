"""Weights of the highest negatives, and the choice among candidates, against formulas written out."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from opauc.core.partial_auc import PartialAucPolicy, TopWeight, choose_candidate, mixture_name

POLICY = PartialAucPolicy()
seeds = st.integers(0, 2**32 - 1)


@given(seed=seeds, share=st.floats(0.01, 0.99), top=st.floats(0.005, 0.5))
def test_the_total_weight_of_the_negatives_stays_and_a_share_of_it_goes_to_the_top(seed, share, top):
    random = np.random.default_rng(seed)
    scores, weight = random.normal(size=800), random.uniform(0.5, 2.0, 800)
    weights = TopWeight.of(scores, weight, share, top, POLICY)
    factors = weights.factors(scores)
    assert np.average(factors, weights=weight) == pytest.approx(1.0)
    assert (np.diff(factors[np.argsort(scores)]) >= 0.0).all()
    assert factors.min() >= 1.0 - share
    smooth = 1.0 / (1.0 + np.exp(-np.clip((scores - weights.threshold) / weights.width, -500, 500)))
    assert_allclose((factors - (1.0 - share)) * np.average(smooth, weights=weight), share * smooth, atol=1e-12)


@given(seed=seeds)
def test_the_threshold_is_the_quantile_of_the_top_share(seed):
    scores = np.random.default_rng(seed).normal(size=1000)
    weights = TopWeight.of(scores, np.ones(1000), 0.3, 0.1, POLICY)
    assert np.mean(scores > weights.threshold) == pytest.approx(0.1, abs=0.002)
    assert weights.width == pytest.approx(0.5 * (np.quantile(scores, 0.95) - np.quantile(scores, 0.9)))


def test_negatives_of_one_score_all_weigh_the_same():
    scores = np.full(100, 3.0)
    assert_allclose(TopWeight.of(scores, np.ones(100), 0.3, 0.01, POLICY).factors(scores), 1.0)


@given(seed=seeds, n_plain=st.integers(1, 2), min_errors=st.floats(0.0, 3.0))
def test_a_mixture_is_taken_where_it_is_better_than_the_best_of_the_others_beyond_its_error(seed, n_plain, min_errors):
    random = np.random.default_rng(seed)
    reached = random.uniform(0.5, 1.0, 4).round(2)
    without = reached + random.normal(scale=0.02, size=(5, 4))
    found = choose_candidate(tuple("abcd"), reached, without, n_plain, replace(POLICY, min_errors=min_errors))
    best = max(range(n_plain), key=lambda k: reached[k])
    errors = [np.sqrt(4 / 5 * np.sum((gain - gain.mean()) ** 2)) for gain in (without - without[:, [best]]).T]
    assert_allclose(found.errors, errors, atol=1e-12)
    allowed = [k for k in range(n_plain, 4) if reached[k] - reached[best] > min_errors * errors[k]]
    assert found.chosen == (max(allowed, key=lambda k: reached[k]) if allowed else best)
    assert found.partial_aucs == tuple(reached.tolist())


def test_the_top_is_never_more_than_half_of_the_negatives():
    assert POLICY.top(5.0, 0.05) == 0.25
    assert POLICY.top(5.0, 0.9) == 0.5
    assert mixture_name(0.3, POLICY.top(5.0, 0.9)) == "logistic, 0.3 on the top 0.5"
