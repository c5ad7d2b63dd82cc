"""Smoothing parameters by restricted maximum likelihood, against dense formulas and the likelihood itself."""

from dataclasses import replace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.optimize import minimize_scalar

from opauc.additive.basis.groups import ColumnGroups, Group, GroupKind
from opauc.additive.basis.knots import curve_roughness
from opauc.additive.penalties import Penalties
from opauc.additive.policy import SMOOTHING_POLICY
from opauc.additive.smoothing import smooth, solve

seeds = st.integers(0, 2**32 - 1)
GROUPS = ColumnGroups.of(
    [Group(GroupKind.INTERCEPT, 0, 1), Group(GroupKind.LINEAR, 1, 1), Group(GroupKind.SPLINE, 2, 6),
     Group(GroupKind.SPLINE, 8, 5), Group(GroupKind.PAIR, 13, 4)]
)  # fmt: skip
MATRICES = (None, None, curve_roughness(6), curve_roughness(5), None)
PENALTIES = Penalties(GROUPS, MATRICES)


def problem(seed, n_columns=17, n_rows=200):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(n_rows, n_columns))
    return rows.T @ rows, rows.T @ (rows @ rng.normal(size=n_columns) + 3 * rng.normal(size=n_rows))


def dense_penalty(lambdas):
    total = np.zeros((17, 17))
    for smoothing_parameter, (kind, start, size), matrix in zip(
        lambdas, zip(*GROUPS, strict=True), MATRICES, strict=True
    ):
        if kind != GroupKind.INTERCEPT:
            part = slice(start, start + size)
            total[part, part] = smoothing_parameter * (np.eye(size) if matrix is None else matrix)
    return total


def literal_degrees(inverse, lambdas):
    """The effective degrees of freedom of each group, `inverse` being that of the penalized matrix."""
    degrees = []
    for smoothing_parameter, (_, start, size), matrix in zip(lambdas, zip(*GROUPS, strict=True), MATRICES, strict=True):
        part, roughness = slice(start, start + size), np.eye(size) if matrix is None else matrix
        degrees.append(size - smoothing_parameter * np.trace(inverse[part, part] @ roughness))
    return degrees


def literal_step(gram, rhs, lambdas):
    """One step of Fellner and Schall, with the inverse written out."""
    inverse = np.linalg.inv(gram + dense_penalty(lambdas))
    weights, degrees, roughnesses = inverse @ rhs, literal_degrees(inverse, lambdas), []
    for (_, start, size), matrix in zip(zip(*GROUPS, strict=True), MATRICES, strict=True):
        part, roughness = slice(start, start + size), np.eye(size) if matrix is None else matrix
        roughnesses.append(weights[part] @ roughness @ weights[part])
    after = [0.0, degrees[1] / roughnesses[1]]
    common = (degrees[2] + degrees[3]) / (roughnesses[2] + roughnesses[3])
    after += [(degrees[g] + 3) / (roughnesses[g] + 3 / common) for g in (2, 3)]
    after.append((degrees[4] + 3) / (roughnesses[4] + 3 / (degrees[4] / roughnesses[4])))
    return weights, np.clip(after, [0, *[0.02] * 4], 1e5)


@given(seeds)
def test_a_step_is_that_of_the_formulas_with_the_inverse_written_out(seed):
    gram, rhs = problem(seed)
    lambdas = np.array([0.0, *np.random.default_rng(seed).uniform(0.1, 20.0, 4)])
    found = smooth(np.tril(gram), rhs, PENALTIES, lambdas, 1)
    weights, after = literal_step(gram, rhs, lambdas)
    assert_allclose(found.weights, weights, rtol=1e-8, atol=1e-10)
    assert_allclose(found.lambdas, after, rtol=1e-8)


@given(seeds)
def test_only_the_lower_triangle_is_read_and_nothing_is_written(seed):
    gram, rhs = problem(seed)
    lambdas = np.array([0.0, 1.0, 2.0, 3.0, 4.0])
    torn = np.tril(gram)
    kept = torn.copy()
    weights = solve(torn, rhs, PENALTIES, lambdas)
    assert_allclose(weights, np.linalg.solve(gram + dense_penalty(lambdas), rhs), rtol=1e-8, atol=1e-10)
    assert_allclose(torn, kept, rtol=0)


NARROW = replace(SMOOTHING_POLICY, float32_columns=4)


def float32_bounds(gram, lambdas):
    """The relative errors that float32 arithmetic allows in the smoothing parameters after a step.

    The inverse of the matrix, scaled to a unit diagonal, has a relative error of about the unit roundoff times the
    condition number; rounding errors of the d products in each entry grow as the square root of d. A smoothing
    parameter is proportional to the degrees of freedom, size - lambda * trace: where the penalty is strong, nearly
    equal numbers are subtracted, which magnifies the error by size / degrees of freedom. Groups of one kind share
    their degrees of freedom, so that the worst of them bounds all.
    """
    total = gram + dense_penalty(lambdas)
    scale = 1.0 / np.sqrt(np.diagonal(total))
    of_inverse = np.sqrt(len(gram)) * np.finfo(np.float32).eps * np.linalg.cond(scale[:, None] * total * scale)
    magnified = GROUPS.sizes / np.array(literal_degrees(np.linalg.inv(total), lambdas))
    return of_inverse * np.array([magnified[GROUPS.kinds == kind].max() for kind in GROUPS.kinds])


@given(seeds, st.sampled_from([1.0, 1e3]))
def test_a_float32_step_has_refined_weights_and_lambdas_as_exact_as_float32_allows(seed, uneven):
    gram, rhs = problem(seed)
    scale = uneven ** np.random.default_rng(seed).uniform(-1, 1, 17)
    gram, rhs = scale[:, None] * gram * scale, scale * rhs
    lambdas = np.array([0.0, *np.random.default_rng(seed).uniform(0.1, 20.0, 4)])
    found = smooth(np.tril(gram), rhs, PENALTIES, lambdas, 1, NARROW)
    weights, after = literal_step(gram, rhs, lambdas)
    assert_allclose(found.weights, weights, rtol=1e-8, atol=1e-9)
    assert (np.abs(found.lambdas - after) <= float32_bounds(gram, lambdas) * after).all()


def test_where_float32_finds_no_factor_float64_does():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(200, 17))
    rows[:, 1] = rows[:, 0] + 1e-6 * rows[:, 1]
    gram, rhs = rows.T @ rows, rows.T @ rng.normal(size=200)
    lambdas = np.array([0.0, 1e-9, 1.0, 1.0, 1.0])
    expected = np.linalg.solve(gram + dense_penalty(lambdas), rhs)
    found = smooth(np.tril(gram), rhs, PENALTIES, lambdas, 1, NARROW)
    assert_allclose(rows @ found.weights, rows @ expected, rtol=0, atol=1e-5)


def test_a_group_of_one_kind_ends_where_the_restricted_likelihood_is_greatest():
    rng = np.random.default_rng(5)
    groups = ColumnGroups.of([Group(GroupKind.INTERCEPT, 0, 1), Group(GroupKind.CATEGORICAL, 1, 30)])
    rows = np.column_stack([np.ones(400), rng.normal(size=(400, 30))])
    target = rows @ np.r_[1.0, 0.3 * rng.normal(size=30)] + rng.normal(size=400)
    gram, rhs = rows.T @ rows, rows.T @ target
    lambdas = np.array([0.0, 1.0])
    for _ in range(60):
        lambdas = smooth(np.tril(gram), rhs, Penalties(groups, (None, None)), lambdas, 1).lambdas

    def minus_likelihood(log_lambda):
        penalty = np.exp(log_lambda) * np.diag(np.r_[0.0, np.ones(30)])
        weights = np.linalg.solve(gram + penalty, rhs)
        fit = target @ target - 2 * rhs @ weights + weights @ gram @ weights + weights @ penalty @ weights
        return 0.5 * (fit + np.linalg.slogdet(gram + penalty)[1] - 30 * log_lambda)

    best = minimize_scalar(minus_likelihood, bounds=(-5, 10), method="bounded").x
    assert_allclose(np.log(lambdas[1]), best, atol=0.01)
