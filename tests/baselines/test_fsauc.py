"""FSAUC against a literal loop over whole vectors, and against the optimum."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from opauc.baselines import FSAUC, SOLAM
from opauc.baselines.fsauc import DUAL, STAGE, FSAUCSolver
from tests import literal as plain
from tests.problems import problem


def project(vector, length):
    return vector * min(1.0, length / max(np.sqrt(vector @ vector), 1e-300))


def literal(rows, labels, solver, weights):
    """The mean iterate of the last stage, (b, a) and the dual variable at the end, and the number of the stage."""
    d, n = rows.shape[1], solver.n_rows
    n_stages = max(1, int(0.5 * np.log2(2 * n / np.log2(n))) - 1) if n else None
    v, alpha = np.zeros(d + 2), 0.0  # w, b, a
    start, start_alpha, longest, stage, counts = v, alpha, 0.0, 0, np.zeros(2)
    sums, iterates, shares, sizes = np.zeros((2, d)), [], [], []
    for x, k, weight in zip(rows, labels, weights, strict=True):
        size, shrink = (n // n_stages, 0.5) if n else (solver.stage_size * 2**stage, np.sqrt(0.5))
        if len(iterates) == size and (n_stages is None or stage < n_stages - 1):
            start = np.average(iterates, axis=0, weights=shares)
            means = sums / np.maximum(counts, 1e-300)[:, None]
            start_alpha = start[:d] @ (means[0] - means[1]) if counts.all() else alpha
            v, alpha, stage, iterates, shares = start, start_alpha, stage + 1, [], []
            sizes.append(size)
        shrink = 0.5 if n else np.sqrt(0.5)
        counts[k] += weight
        sums[k] += weight * x
        p, eta, f = counts[1] / counts.sum(), weight * solver.eta0 / 2**stage, v[:d] @ x
        longest = max(longest, np.sqrt(x @ x))
        b, a = v[d:]
        gradient = np.zeros(d + 2)
        if k == 1:
            gradient[:d], gradient[d + 1] = 2 * (1 - p) * (f - a - 1 - alpha) * x, -2 * (1 - p) * (f - a)
            up = -2 * (1 - p) * f - 2 * p * (1 - p) * alpha
        else:
            gradient[:d], gradient[d] = 2 * p * (f - b + 1 + alpha) * x, -2 * p * (f - b)
            up = 2 * p * f - 2 * p * (1 - p) * alpha
        v, bound = v - eta * gradient, solver.radius * longest
        v = np.concatenate([project(v[:d], solver.radius), np.clip(v[d:], -bound, bound)])
        r = 2 * np.sqrt(1 + 2 * longest**2) * solver.radius * shrink**stage
        v = start + project(v - start, r)
        alpha = np.clip(alpha + eta * up, -2 * bound, 2 * bound)
        reach = 2 * np.sqrt(2) * longest * r
        alpha = np.clip(alpha, start_alpha - reach, start_alpha + reach)
        iterates.append(v)
        shares.append(weight)
    return np.average(iterates, axis=0, weights=shares)[:d], (*v[d:], alpha), stage


@settings(max_examples=60, deadline=None)
@given(
    st.integers(0, 2**32 - 1), st.sampled_from([0.02, 0.3, 2.0]), st.sampled_from([0.01, 1.0, 50.0]),
    st.sampled_from([0.1, 0.5]), st.booleans(), st.sampled_from([0, 90, 300]),
)  # fmt: skip
def test_the_weights_are_those_of_the_literal_algorithm(seed, eta0, radius, positives, weighted, n_rows):
    rows, labels = problem(seed, 90, 4, positives, scale=0.5)
    weight = np.random.default_rng(seed).uniform(0.1, 2.0, 90) if weighted else None
    solver = FSAUCSolver(eta0, radius, stage_size=7, n_rows=n_rows)
    state = solver.step(solver.start(4), rows, labels, weight)
    expected, saddle, stage = literal(rows, labels, solver, np.ones(90) if weight is None else weight)
    assert_allclose(solver.weights(state), expected, rtol=1e-7, atol=1e-8 * np.abs(expected).max())
    assert_allclose([*state.centres, state.scalars[DUAL]], saddle, rtol=1e-7, atol=1e-7)
    assert state.scalars[STAGE] == stage


def test_the_balls_of_late_stages_bind():
    """With long steps, iterates reach the ball around the start of the stage."""
    rows, labels = problem(3, 3000, 4, scale=0.5)
    solver = FSAUCSolver(50.0, 0.05, stage_size=4)
    state = solver.step(solver.start(4), rows, labels)
    expected, saddle, stage = literal(rows, labels, solver, np.ones(3000))
    assert stage >= 8
    assert_allclose(solver.weights(state), expected, rtol=1e-7)
    assert_allclose([*state.centres, state.scalars[DUAL]], saddle, rtol=1e-7, atol=1e-9)


def test_stages_are_those_of_the_publication_if_the_number_of_rows_is_known():
    stages = FSAUCSolver(n_rows=20_000).stages()
    assert (stages.n_stages, stages.size, stages.growth, stages.shrink) == (4.0, 5000.0, 1.0, 0.5)


@pytest.mark.parametrize("n_rows", [0, 80_000])
def test_the_weights_approach_the_minimizer_faster_than_those_of_solam(n_rows):
    rows, labels = problem(5, 80_000, 4, scale=0.5)
    best = plain.minimizer(rows, labels, 0.0)
    model = FSAUC(eta0=0.3, radius=20.0, n_rows=n_rows).fit(rows, labels)
    distance = np.linalg.norm(model.coef_[0] - best) / np.linalg.norm(best)
    solam = SOLAM(eta0=0.3, radius=20.0).fit(rows, labels)
    assert distance < 0.05
    assert distance < np.linalg.norm(solam.coef_[0] - best) / np.linalg.norm(best)
