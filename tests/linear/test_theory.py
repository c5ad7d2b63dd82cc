"""The step size of Theorem 2 and the effective numerical rank, against their definitions."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from opauc.linear import effective_rank, theorem_step_size

losses, norms = st.floats(0.0, 1e3), st.floats(1e-2, 1e3)


def proof_bound(step, n_rows, loss, norm, curvature):
    """The last line of the proof of Theorem 2, for any step below 1 / curvature."""
    return (norm**2 / (2 * step) + curvature * step * n_rows * loss) / (1 - curvature * step)


@given(st.integers(1, 10**7), losses, norms, st.floats(0.0, 10.0))
def test_the_step_minimizes_the_bound_of_the_proof_and_gives_the_printed_bound(n_rows, loss, norm, alpha):
    k, step = 4 + alpha, theorem_step_size(n_rows, loss, norm, alpha)
    bound = proof_bound(step, n_rows, loss, norm, k)
    assert bound <= (2 * k * norm**2 + norm * np.sqrt(2 * k * n_rows * loss)) * (1 + 1e-9)
    for factor in (0.9, 1.1):
        if factor * step * k < 1:
            assert bound <= proof_bound(factor * step, n_rows, loss, norm, k) * (1 + 1e-9)


def test_the_step_is_the_formula():
    k = 4.5
    assert_allclose(theorem_step_size(700, 0.3, 2.0, 0.5), 1 / (k + np.sqrt(k**2 + 2 * k * 700 * 0.3 / 4)))


@given(st.integers(0, 2**32 - 1), st.floats(1e-6, 1e3))
def test_the_effective_rank_is_the_trace_of_the_ridge_smoother(seed, mu):
    rows = np.random.default_rng(seed).normal(size=(4, 6))
    S = rows.T @ rows
    found = effective_rank(S, mu)
    assert_allclose(found, np.trace(S @ np.linalg.inv(S + mu * np.eye(6))), rtol=1e-6)
    assert 0.0 < found < 4.0 + 1e-9
    assert found >= effective_rank(S, 2 * mu)


def test_the_effective_rank_of_few_large_eigenvalues_is_at_most_their_number():
    """The paper: k large eigenvalues and a tail that sums to at most mu give at most k."""
    assert effective_rank(np.diag([5.0, 3.0, 0.05, 0.03, 0.02]), 0.1) <= 3.0
    assert effective_rank(np.zeros((3, 3)), 1.0) == 0.0


@pytest.mark.parametrize(
    ("S", "message"),
    [
        ([[1.0, 0.0], [0.5, 1.0]], "S must be symmetric, got entries that differ by 0.5"),
        ([[1.0, 0.0], [0.0, -2.0]], "S must be positive semi-definite, got a matrix with the eigenvalue -2"),
        ([[1.0, 0.0]], r"S must be a square matrix, got shape \(1, 2\)"),
        ([1.0], r"S must be a square matrix, got shape \(1,\)"),
        ([[np.nan]], "S must have finite values"),
        ([[np.inf]], "S must have finite values"),
        ([["a"]], "S must be a matrix of numbers"),
    ],
)
def test_matrices_that_are_not_covariances_are_refused(S, message):
    with pytest.raises(ValueError, match=message):
        effective_rank(S, 1.0)


@pytest.mark.parametrize("mu", [0.0, -1.0, np.nan, np.inf, "1", None, True])
def test_a_bad_mu_is_named(mu):
    with pytest.raises(ValueError, match="'mu' parameter of effective_rank must be a float"):
        effective_rank(np.eye(2), mu)


GOOD = {"n_rows": 10, "best_loss": 0.2, "max_norm": 1.0, "alpha": 0.1}


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("n_rows", [0, -1, 1.5, np.nan]), ("best_loss", [-0.1, np.nan, np.inf]),
        ("max_norm", [0.0, -1.0, np.nan, np.inf]), ("alpha", [-1e-9, np.nan, np.inf, "x"]),
    ],
)  # fmt: skip
def test_bad_numbers_are_named(name, values):
    for value in values:
        with pytest.raises(ValueError, match=f"'{name}' parameter of theorem_step_size must be"):
            theorem_step_size(**GOOD | {name: value})
