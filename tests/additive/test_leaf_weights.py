"""Weights of leaves learned all at once, held against dense equations."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from opauc.additive import boosting as module
from opauc.additive.boosting import FIRST_STRENGTH, STEPS, leaf_weights

seeds = st.integers(0, 2**32 - 1)
SIZES = 3, 5, 4


def drawn(seed, n_rows=300):
    """Leaves of three trees, their values, scores, labels and weights."""
    rng = np.random.default_rng(seed)
    leaves = np.column_stack([rng.integers(0, size, n_rows) for size in SIZES])
    leaves = (leaves + np.cumsum([0, *SIZES[:-1]])).astype(np.int32)
    labels, weight = rng.integers(0, 2, n_rows).astype(np.int8), rng.uniform(0.2, 3.0, n_rows)
    return leaves, rng.normal(size=sum(SIZES)), 2.0 * rng.normal(size=n_rows), labels, weight


def literal(leaves, values, scores, labels, weight, steps):
    """One step from the values, each row's loss bounded by a parabola; the strength as Fellner and Schall have it."""
    columns = np.zeros((labels.size, values.size))
    np.put_along_axis(columns, leaves, 1.0, axis=1)
    known = columns @ values
    margin = (2.0 * labels - 1.0) * (scores + known)
    doubt = 1.0 / (1.0 + np.exp(margin))
    curvature = np.where(margin >= 0, doubt * (1 - doubt), (doubt - 0.5) / -np.where(margin == 0, 1.0, margin))
    gram = (columns.T * (weight * curvature)) @ columns
    moment = columns.T @ (weight * (curvature * known + (2.0 * labels - 1.0) * doubt))
    strength = FIRST_STRENGTH
    for _ in range(steps):
        inverse = np.linalg.inv(gram + strength * np.eye(values.size))
        weights = inverse @ moment
        decided = values.size - strength * np.trace(inverse)
        before, strength = strength, np.clip(max(decided, 1e-6) / (weights @ weights + 1e-12), 0.02, 1e5)
        if abs(np.log(strength / before)) < 0.15:
            break
    return weights


@given(seeds)
def test_weights_are_those_of_dense_equations(seed):
    rows = drawn(seed)
    assert_allclose(leaf_weights(*rows), literal(*rows, STEPS), rtol=1e-7, atol=1e-9)


def test_one_step_is_at_the_first_strength(monkeypatch):
    monkeypatch.setattr(module, "STEPS", 1)
    rows = drawn(0)
    assert_allclose(leaf_weights(*rows), literal(*rows, 1), rtol=1e-9)
    monkeypatch.setattr(module, "FIRST_STRENGTH", 1e9)
    assert_allclose(leaf_weights(*rows), 0.0, atol=1e-6)


@given(seeds)
def test_weights_of_rows_count_as_rows_that_repeat(seed):
    leaves, values, scores, labels, _ = drawn(seed)
    often = np.random.default_rng(seed).integers(1, 4, labels.size)
    rows = np.repeat(np.arange(labels.size), often)
    repeated = leaf_weights(leaves[rows], values, scores[rows], labels[rows], np.ones(rows.size))
    assert_allclose(leaf_weights(leaves, values, scores, labels, often.astype(float)), repeated, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("far", [0.0, 300.0])
def test_what_the_scores_say_already_is_not_learnt_again(far):
    rng = np.random.default_rng(0)
    leaves = rng.integers(0, 4, (20_000, 1)).astype(np.int32)
    truth = np.array([-2.0, -1.0, 1.0, 2.0])
    known = truth[leaves[:, 0]]
    labels = (rng.random(20_000) < 1.0 / (1.0 + np.exp(-known))).astype(np.int8)
    scores = known + np.where(labels == 1, far, -far)  # sure of the truth where they are far
    found = leaf_weights(leaves, np.zeros(4), scores, labels, np.ones(20_000))
    assert np.abs(found).max() < 0.1
    fresh = leaf_weights(leaves, 0.8 * truth, np.zeros(20_000), labels, np.ones(20_000))
    assert_allclose(fresh, truth, atol=0.1)


def test_leaves_without_rows_have_no_weight():
    leaves, values, scores, labels, weight = drawn(1)
    more = np.append(values, [3.0, -2.0])
    assert_allclose(leaf_weights(leaves, more, scores, labels, weight)[-2:], 0.0, atol=1e-12)
