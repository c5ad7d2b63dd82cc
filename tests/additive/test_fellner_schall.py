"""Strengths of penalties by restricted maximum likelihood, held against dense formulas and against the likelihood."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.optimize import minimize_scalar

from opauc.additive import smoothing as module
from opauc.additive.basis.groups import ColumnGroups, Group, GroupKind
from opauc.additive.basis.knots import curve_roughness
from opauc.additive.penalties import Penalties
from opauc.additive.smoothing import smoothed, solved

seeds = st.integers(0, 2**32 - 1)
GROUPS = ColumnGroups.of(
    [Group(GroupKind.INTERCEPT, 0, 1), Group(GroupKind.LINEAR, 1, 1), Group(GroupKind.HATS, 2, 6),
     Group(GroupKind.HATS, 8, 5), Group(GroupKind.PAIR, 13, 4)]
)  # fmt: skip
MATRICES = (None, None, curve_roughness(6), curve_roughness(5), None)
PENALTIES = Penalties(GROUPS, MATRICES)


def problem(seed, n_columns=17, n_rows=200):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(n_rows, n_columns))
    return rows.T @ rows, rows.T @ (rows @ rng.normal(size=n_columns) + 3 * rng.normal(size=n_rows))


def dense_penalty(strengths):
    total = np.zeros((17, 17))
    for strength, (kind, start, size), matrix in zip(strengths, zip(*GROUPS, strict=True), MATRICES, strict=True):
        if kind != GroupKind.INTERCEPT:
            part = slice(start, start + size)
            total[part, part] = strength * (np.eye(size) if matrix is None else matrix)
    return total


def literal_step(gram, moment, strengths):
    """One step of Fellner and Schall, with the inverse written out."""
    inverse = np.linalg.inv(gram + dense_penalty(strengths))
    weights = inverse @ moment
    decided, used = [], []
    for strength, (_, start, size), matrix in zip(strengths, zip(*GROUPS, strict=True), MATRICES, strict=True):
        part, roughness = slice(start, start + size), np.eye(size) if matrix is None else matrix
        decided.append(size - strength * np.trace(inverse[part, part] @ roughness))
        used.append(weights[part] @ roughness @ weights[part])
    after = [0.0, decided[1] / used[1]]
    hats = (decided[2] + decided[3]) / (used[2] + used[3])
    after += [(decided[g] + 3) / (used[g] + 3 / hats) for g in (2, 3)]
    after.append((decided[4] + 3) / (used[4] + 3 / (decided[4] / used[4])))
    return weights, np.clip(after, [0, *[0.02] * 4], 1e5)


@given(seeds)
def test_a_step_is_that_of_the_formulas_with_the_inverse_written_out(seed):
    gram, moment = problem(seed)
    strengths = np.array([0.0, *np.random.default_rng(seed).uniform(0.1, 20.0, 4)])
    found = smoothed(np.tril(gram), moment, PENALTIES, strengths, 1)
    weights, after = literal_step(gram, moment, strengths)
    assert_allclose(found.weights, weights, rtol=1e-8, atol=1e-10)
    assert_allclose(found.strengths, after, rtol=1e-8)


@given(seeds)
def test_only_the_lower_triangle_is_read_and_nothing_is_written(seed):
    gram, moment = problem(seed)
    strengths = np.array([0.0, 1.0, 2.0, 3.0, 4.0])
    torn = np.tril(gram)
    kept = torn.copy()
    weights = solved(torn, moment, PENALTIES, strengths)
    assert_allclose(weights, np.linalg.solve(gram + dense_penalty(strengths), moment), rtol=1e-8, atol=1e-10)
    assert_allclose(torn, kept, rtol=0)


@pytest.fixture
def _few_are_many(monkeypatch):
    monkeypatch.setattr(module, "FEW_COLUMNS", 4)


@pytest.mark.usefixtures("_few_are_many")
@given(seeds, st.sampled_from([1.0, 1e3]))
def test_a_step_in_float32_has_refined_weights_and_strengths_to_five_digits(seed, uneven):
    gram, moment = problem(seed)
    scale = uneven ** np.random.default_rng(seed).uniform(-1, 1, 17)
    gram, moment = scale[:, None] * gram * scale, scale * moment
    strengths = np.array([0.0, *np.random.default_rng(seed).uniform(0.1, 20.0, 4)])
    found = smoothed(np.tril(gram), moment, PENALTIES, strengths, 1)
    weights, after = literal_step(gram, moment, strengths)
    assert_allclose(found.weights, weights, rtol=1e-8, atol=1e-9)
    assert_allclose(found.strengths, after, rtol=1e-3)


@pytest.mark.usefixtures("_few_are_many")
def test_where_float32_finds_no_factor_float64_does():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(200, 17))
    rows[:, 1] = rows[:, 0] + 1e-6 * rows[:, 1]
    gram, moment = rows.T @ rows, rows.T @ rng.normal(size=200)
    strengths = np.array([0.0, 1e-9, 1.0, 1.0, 1.0])
    expected = np.linalg.solve(gram + dense_penalty(strengths), moment)
    found = smoothed(np.tril(gram), moment, PENALTIES, strengths, 1)
    assert_allclose(rows @ found.weights, rows @ expected, rtol=0, atol=1e-5)


def test_a_group_of_one_kind_ends_where_the_restricted_likelihood_is_greatest():
    rng = np.random.default_rng(5)
    groups = ColumnGroups.of([Group(GroupKind.INTERCEPT, 0, 1), Group(GroupKind.LANDMARKS, 1, 30)])
    rows = np.column_stack([np.ones(400), rng.normal(size=(400, 30))])
    target = rows @ np.r_[1.0, 0.3 * rng.normal(size=30)] + rng.normal(size=400)
    gram, moment = rows.T @ rows, rows.T @ target
    strengths = np.array([0.0, 1.0])
    for _ in range(60):
        strengths = smoothed(np.tril(gram), moment, Penalties(groups, (None, None)), strengths, 1).strengths

    def minus_likelihood(log_strength):
        penalty = np.exp(log_strength) * np.diag(np.r_[0.0, np.ones(30)])
        weights = np.linalg.solve(gram + penalty, moment)
        fit = target @ target - 2 * moment @ weights + weights @ gram @ weights + weights @ penalty @ weights
        return 0.5 * (fit + np.linalg.slogdet(gram + penalty)[1] - 30 * log_strength)

    best = minimize_scalar(minus_likelihood, bounds=(-5, 10), method="bounded").x
    assert_allclose(np.log(strengths[1]), best, atol=0.01)
