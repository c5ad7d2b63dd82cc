"""Conjugate gradients find the minimum that the Gram matrix of all rows would give."""

from dataclasses import replace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.optimize import minimize
from scipy.sparse import csr_array
from scipy.special import expit

from opauc.additive.newton import PenalizedLoss, minimize_loss
from opauc.additive.policy import SMOOTHING_POLICY


def problem(seed, n_rows=600, size=8):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(n_rows, size)) * 10 ** rng.uniform(-1, 1, size)
    rows[:, 0] = 1.0
    labels = (rng.random(n_rows) < expit(rows @ (rng.normal(size=size) / np.abs(rows).max(axis=0)))).astype(np.int8)
    half = rng.normal(size=(size, size))
    return rows, labels, rng.uniform(0.5, 2.0, n_rows), half @ half.T + 0.1 * np.eye(size)


def literal_loss(weights, rows, labels, weight, penalty):
    margins = np.where(labels == 1, 1.0, -1.0) * (rows @ weights)
    return weight @ np.log1p(np.exp(-margins)) + 0.5 * weights @ penalty @ weights


# Steps until nothing is gained: the default stops early to save time.
TO_CONVERGENCE = replace(SMOOTHING_POLICY, newton_steps=200, newton_min_gain=1e-14)


@given(st.integers(0, 2**32 - 1), st.sampled_from([0.2, 1.0, 5.0]))
def test_the_minimum_is_scipys_whatever_the_preconditioner(seed, wrong_by):
    rows, labels, weight, penalty = problem(seed)
    gram = wrong_by * np.tril(rows.T @ (0.2 * weight[:, None] * rows))
    loss = PenalizedLoss(csr_array(rows), labels, weight, csr_array(penalty))
    weights = minimize_loss(loss, np.zeros(8), gram, TO_CONVERGENCE)
    best = minimize(literal_loss, np.zeros(8), (rows, labels, weight, penalty), method="BFGS", options={"gtol": 1e-7})
    assert_allclose(literal_loss(weights, rows, labels, weight, penalty), best.fun, rtol=1e-8)
    assert_allclose(rows @ weights, rows @ best.x, atol=2e-3)


@given(st.integers(0, 2**32 - 1))
def test_by_default_it_is_within_a_thousandth_of_the_least_loss(seed):
    rows, labels, weight, penalty = problem(seed)
    gram = np.tril(rows.T @ (0.2 * weight[:, None] * rows))
    weights = minimize_loss(PenalizedLoss(csr_array(rows), labels, weight, csr_array(penalty)), np.zeros(8), gram)
    best = minimize(literal_loss, np.zeros(8), (rows, labels, weight, penalty), method="BFGS")
    assert literal_loss(weights, rows, labels, weight, penalty) < best.fun * 1.001
