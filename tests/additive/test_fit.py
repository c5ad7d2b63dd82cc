"""The fit to a sample is a maximum of the penalized likelihood."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.sparse import csr_array
from scipy.special import expit
from sklearn.linear_model import LogisticRegression

from opauc.additive.basis.groups import ColumnGroups, Group, GroupKind
from opauc.additive.fit import choose_subset, finish_fit, fit_intercept, start_fit
from opauc.additive.newton import PenalizedLoss, minimize_loss
from opauc.additive.penalties import Penalties
from opauc.additive.policy import SMOOTHING_POLICY

GROUPS = ColumnGroups.of([Group(GroupKind.INTERCEPT, 0, 1), Group(GroupKind.CATEGORICAL, 1, 5)])
PENALTIES = Penalties(GROUPS, (None, None))


def sample(seed, n_rows=800):
    rng = np.random.default_rng(seed)
    rows = np.column_stack([np.ones(n_rows), rng.normal(size=(n_rows, 5))])
    labels = (rng.random(n_rows) < expit(rows @ np.r_[-1.0, rng.normal(size=5)])).astype(np.int8)
    return rows, labels, rng.integers(1, 4, n_rows).astype(float)


def penalized_fit(rows, labels, weight, penalties, initial, max_steps, policy=SMOOTHING_POLICY):
    subset = choose_subset(labels.size, policy)
    started = start_fit(rows, labels, weight, penalties, initial, max_steps, subset, policy)
    return finish_fit(rows, labels, weight, penalties, started, policy)


@given(st.integers(0, 2**32 - 1))
def test_weights_are_those_of_scikit_learns_ridge_at_the_smoothing_parameter_found(seed):
    rows, labels, weight = sample(seed)
    fit = penalized_fit(csr_array(rows), labels, weight, PENALTIES, fit_intercept(labels, weight), 30)
    peer = LogisticRegression(C=1.0 / fit.lambdas[1], tol=1e-10, max_iter=1000)
    peer.fit(rows[:, 1:], labels, sample_weight=weight)
    assert_allclose(fit.weights[1:], peer.coef_[0], rtol=0.02, atol=0.01)
    assert_allclose(fit.scores, rows @ fit.weights, rtol=1e-9, atol=1e-9)


def test_perfectly_separated_rows_give_finite_weights():
    rows = csr_array([[1.0, -1.0, 0.0, 0.0, 0.0, 0.0], [1.0, 1.0, 0.0, 0.0, 0.0, 0.0]] * 100)
    labels = np.array([0, 1] * 100, np.int8)
    fit = penalized_fit(rows, labels, np.ones(200), PENALTIES, fit_intercept(labels, np.ones(200)), 30)
    assert np.isfinite(fit.weights).all()
    assert fit.weights[1] > 1.0


def test_steps_on_a_subset_lead_to_the_same_weights():
    rows, labels, weight = sample(3, 4000)
    whole = penalized_fit(csr_array(rows), labels, weight, PENALTIES, fit_intercept(labels, weight), 30)
    policy = replace(SMOOTHING_POLICY, many_rows=1000, min_subset=1000)
    assert choose_subset(4000, policy).size == 1000
    initial = fit_intercept(labels, weight)
    parts = penalized_fit(csr_array(rows), labels, weight, PENALTIES, initial, 30, policy=policy)
    assert_allclose(parts.weights, whole.weights, rtol=0.01, atol=2e-3)


def test_a_fit_to_a_subset_does_not_depend_on_the_other_rows():
    rows, labels, weight = sample(5)
    part = choose_subset(800, replace(SMOOTHING_POLICY, many_rows=800, min_subset=600))
    others = np.setdiff1d(np.arange(800), part)
    assert others.size == 200
    flipped = labels.copy()
    flipped[others] = 1 - labels[others]
    fits = [
        start_fit(csr_array(rows), each, weight, PENALTIES, fit_intercept(labels, weight), 5, part)
        for each in (labels, flipped)
    ]
    assert_allclose(fits[0].fit.weights, fits[1].fit.weights, rtol=0, atol=0)
    assert_allclose(fits[0].fit.scores, rows @ fits[0].fit.weights, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("share", [0.001, 0.999])
def test_rare_classes_start_near_their_log_odds(share):
    labels = (np.arange(10_000) < share * 10_000).astype(np.int8)
    assert_allclose(fit_intercept(labels, np.ones(10_000)).weights[0], np.log(share / (1 - share)), atol=0.06)


def test_columns_that_float32_cannot_separate_are_fitted():
    policy = replace(SMOOTHING_POLICY, float32_rows=100)
    rows, labels, weight = sample(0)
    initial = fit_intercept(labels, weight)
    rows[:, 2] = rows[:, 1] + 1e-6 * rows[:, 2]
    rows = np.column_stack([rows, rows[:, 1:] * 1e3])
    groups = ColumnGroups.of([Group(GroupKind.INTERCEPT, 0, 1), Group(GroupKind.CATEGORICAL, 1, 10)])
    fit = penalized_fit(
        csr_array(rows), labels, weight, Penalties(groups, (None, None)), initial, 5, policy=policy
    )  # fmt: skip
    assert np.isfinite(fit.weights).all()
    plain = penalized_fit(csr_array(rows[:, :6]), labels, weight, PENALTIES, initial, 5, policy=policy)
    assert_allclose(fit.scores, plain.scores, atol=0.2)


def test_a_singular_preconditioner_is_shifted_until_it_has_a_factor():
    rows, labels, weight = sample(1)
    loss = PenalizedLoss(csr_array(rows), labels, weight, PENALTIES.matrix(np.array([0.0, 1e-3])))
    singular = np.tril(np.ones((6, 6))) * weight.sum()
    singular[5, 4] *= 1.0001
    found = minimize_loss(loss, np.zeros(6), singular)
    assert loss.value(found, rows @ found) < loss.value(np.zeros(6), np.zeros(800))
