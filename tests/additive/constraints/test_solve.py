"""The minimum of a quadratic under linear constraints, against an interior-point program."""

import clarabel
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy import sparse

from opauc.additive.constraints.solve import InfeasibleError, LinearConstraints, LinearRows, minimize


def problem(seed, n_columns=12, n_rows=8, n_equal=2):
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(3 * n_columns, n_columns))
    inside = rng.normal(size=n_columns)  # satisfies all constraints
    rows, equal = rng.normal(size=(n_rows, n_columns)), rng.normal(size=(n_equal, n_columns))
    at_least = LinearRows(sparse.csr_array(rows), rows @ inside - rng.exponential(size=n_rows), ("row",) * n_rows)
    exactly = LinearRows(sparse.csr_array(equal), equal @ inside, ("equality",) * n_equal)
    return root.T @ root, 30.0 * rng.normal(size=n_columns), LinearConstraints((), at_least, exactly)


def by_interior_point(hessian, rhs, constraints):
    exactly, at_least = constraints.equal, constraints.at_least
    matrix = sparse.csc_matrix(sparse.vstack([exactly.matrix, -at_least.matrix]))
    bounds = np.concatenate([exactly.values, -at_least.values])
    cones = [clarabel.ZeroConeT(exactly.values.size), clarabel.NonnegativeConeT(at_least.values.size)]
    options = clarabel.DefaultSettings()
    options.verbose, options.tol_gap_abs, options.tol_gap_rel, options.tol_feas = False, 1e-10, 1e-10, 1e-10
    solver = clarabel.DefaultSolver(sparse.csc_matrix(np.triu(hessian)), -rhs, matrix, bounds, cones, options)
    solution = solver.solve()
    assert solution.status == clarabel.SolverStatus.Solved
    return np.array(solution.x)


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), n_rows=st.integers(0, 20), n_equal=st.integers(0, 3))
def test_the_minimum_is_that_of_an_interior_point_method_and_satisfies_the_optimality_conditions(seed, n_rows, n_equal):
    hessian, rhs, constraints = problem(seed, n_rows=n_rows, n_equal=n_equal)
    found = minimize(np.tril(hessian), rhs, constraints, np.arange(rhs.size), np.zeros(rhs.size))
    assert_allclose(found.weights, by_interior_point(hessian, rhs, constraints), atol=1e-6)
    gradient = hessian @ found.weights - rhs
    assert np.abs(gradient - found.active.T @ found.multipliers).max() <= 1e-8 * np.abs(rhs).max()
    assert (found.multipliers[found.n_equal :] >= -1e-8).all()
    assert (constraints.at_least.matrix @ found.weights >= constraints.at_least.values - 1e-9).all()
    assert_allclose(constraints.equal.matrix @ found.weights, constraints.equal.values, atol=1e-9)


def test_weights_that_satisfy_the_constraints_without_them_stay():
    hessian, rhs, constraints = problem(0, n_rows=3, n_equal=0)
    free = np.linalg.solve(hessian, rhs)
    loose = constraints.at_least._replace(values=constraints.at_least.matrix @ free - 1.0)
    found = minimize(
        np.tril(hessian), rhs, LinearConstraints((), loose, constraints.equal), np.arange(rhs.size), np.zeros(rhs.size)
    )
    assert_allclose(found.weights, free, rtol=1e-10)
    assert found.multipliers.size == 0


def test_columns_that_are_not_solved_for_keep_their_weights():
    hessian, rhs, constraints = problem(1, n_equal=0)
    fixed, at = np.zeros(12), np.arange(10)
    fixed[10:] = 0.3, -0.2
    found = minimize(np.tril(hessian[:10, :10]), (rhs - hessian @ fixed)[:10], constraints, at, fixed)
    both = LinearRows(sparse.csr_array(np.eye(12)[10:]), fixed[10:], ("fixed",) * 2)
    expected = by_interior_point(hessian, rhs, LinearConstraints((), constraints.at_least, both))
    assert_allclose(found.weights, expected, atol=1e-6)


@pytest.mark.parametrize("equal", [False, True])
def test_constraints_that_contradict_each_other_are_named(equal):
    above = LinearRows(sparse.csr_array([[1.0, 0.0], [-1.0, 0.0]]), np.array([1.0, 1.0]), ("at least 1", "at most -1"))
    none = LinearRows.empty(2)
    constraints = LinearConstraints((), none, above) if equal else LinearConstraints((), above, none)
    with pytest.raises(InfeasibleError, match="no weights satisfy at least 1 and at most -1"):
        minimize(np.eye(2), np.zeros(2), constraints, np.arange(2), np.zeros(2))


def test_an_inequality_that_an_equality_rules_out_is_named():
    equal = LinearRows(sparse.csr_array([[1.0, 1.0]]), np.zeros(1), ("sum is 0",))
    above = LinearRows(sparse.csr_array([[2.0, 2.0]]), np.ones(1), ("sum is 1",))
    with pytest.raises(InfeasibleError, match="sum is 0 and sum is 1"):
        minimize(np.eye(2), np.zeros(2), LinearConstraints((), above, equal), np.arange(2), np.zeros(2))


def test_equal_inequalities_do_no_harm():
    hessian, rhs, constraints = problem(5, n_equal=0)
    twice = constraints.at_least.join(constraints.at_least)
    once, again = (
        minimize(np.tril(hessian), rhs, LinearConstraints((), rows, constraints.equal), np.arange(12), np.zeros(12))
        for rows in (constraints.at_least, twice)
    )
    assert_allclose(again.weights, once.weights, atol=1e-10)
