"""The constrained solution, against the same quadratic program written out with auxiliary variables on raw rows."""

import clarabel
import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse

from opauc.additive.constraints.constraints import Constraints, Shape
from opauc.additive.constraints.fit import BasisConstraints
from opauc.additive.penalties import Penalties
from opauc.additive.settings import AdditiveSettings
from opauc.additive.state import AdditiveFit
from opauc.additive.sums import linearize

SETTINGS = AdditiveSettings(max_columns=120, trees=False, random_state=0)


def sample(n_rows=4000, seed=0):
    rng = np.random.default_rng(seed)
    rows = np.column_stack([rng.normal(size=n_rows), rng.uniform(size=n_rows), rng.integers(0, 3, n_rows)]).astype(
        float
    )
    score = rows[:, 0] * (rows[:, 1] - 0.2) + np.sin(2 * rows[:, 0]) + 0.5 * rows[:, 0] * (rows[:, 2] == 1)
    return rows, (rng.logistic(size=n_rows) < score).astype(np.int8)


@pytest.fixture(scope="module")
def fitted():
    rows, labels = sample()
    return AdditiveFit.start(SETTINGS, np.array([False, False, True]), 0).update(rows, labels).with_basis()


def with_auxiliary_variables(basis, shapes):
    """Return the inequalities M (w, t) >= 0 of shapes: each pair of each row of a shape has a variable t.

    t is at most zero and at most each of the sums of which the pair contributes the smallest.
    """
    blocks, n_columns, n_variables = [], basis.n_columns, 0
    for shape in shapes:
        used, below = [], []
        for pair in shape.pairs:
            n_places = pair.matrix.shape[0] // pair.n_choices
            variables = np.arange(n_places) + n_variables
            n_variables += n_places
            at = np.flatnonzero(pair.places >= 0)
            used.append((at, variables[pair.places[at]], pair.factors[at]))
            below.append((pair.matrix, np.repeat(variables, pair.n_choices)))
            below.append((sparse.csr_array((n_places, n_columns)), variables))
        blocks.append((shape.base, used, below))
    rows = []
    for base, used, below in blocks:
        part = [np.concatenate(part) for part in zip(*used, strict=True)] if used else [np.empty(0, int)] * 3
        places = sparse.csr_array((part[2], (part[0], part[1])), shape=(base.shape[0], n_variables))
        rows.append(sparse.hstack([base, places]))
        for matrix, variables in below:
            minus = sparse.csr_array(
                (-np.ones(variables.size), (np.arange(variables.size), variables)), shape=(variables.size, n_variables)
            )
            rows.append(sparse.hstack([matrix, minus]))
    return sparse.csc_matrix(sparse.vstack(rows)), n_variables


def test_the_solution_is_that_of_the_program_with_auxiliary_variables_on_the_rows_themselves(fitted):
    constraints = Constraints(shapes=(Shape(0, "increasing"), Shape(1, "concave")))
    constrained = fitted.with_constraints(constraints)
    basis, model = constrained.current
    assert len(basis.tables.pairs) >= 2
    rows, labels = sample()
    columns, point = basis.rows(rows).toarray(), model.sums.expansion_point
    curvature, residual = linearize(columns @ point, labels)
    penalty = Penalties(basis.groups, basis.roughness).matrix(constrained.final.lambdas).toarray()
    hessian = columns.T @ (curvature[:, None] * columns) + penalty
    rhs = columns.T @ (curvature * (columns @ point) + residual)
    matrix, n_variables = with_auxiliary_variables(
        basis, [shape for _, shape in BasisConstraints(basis, constraints)._shapes]
    )
    padded = sparse.block_diag([hessian, sparse.csr_array((n_variables, n_variables))])
    options = clarabel.DefaultSettings()
    options.verbose, options.tol_gap_abs, options.tol_gap_rel, options.tol_feas = False, 1e-9, 1e-11, 1e-10
    solution = clarabel.DefaultSolver(
        sparse.csc_matrix(sparse.triu(padded)), np.append(-rhs, np.zeros(n_variables)), -matrix,
        np.zeros(matrix.shape[0]), [clarabel.NonnegativeConeT(matrix.shape[0])], options,
    ).solve()  # fmt: skip
    assert solution.status == clarabel.SolverStatus.Solved
    expected = np.array(solution.x)[: basis.n_columns]
    found = constrained.final.weights[: basis.n_columns]
    assert_allclose(columns @ found, columns @ expected, atol=1e-6)

    def objective(weights):
        return 0.5 * weights @ hessian @ weights - rhs @ weights

    assert objective(found) <= objective(expected) + 1e-9 * abs(objective(expected))


def test_errors_are_those_of_weights_that_satisfy_the_active_constraints_with_equality(fitted):
    constrained = fitted.with_constraints(Constraints(shapes=(Shape(0, "increasing"),)))
    basis, model = constrained.current
    final, penalties = constrained.final, Penalties(basis.groups, basis.roughness)
    free = np.linalg.inv(model.sums.full_gram() + penalties.matrix(final.lambdas).toarray())
    active = final.active.toarray()
    assert len(active) > 2
    expected = free - free @ active.T @ np.linalg.pinv(active @ free @ active.T) @ active @ free
    assert_allclose(model.covariance(final), expected, atol=1e-8)


def test_random_effects_of_several_inputs_are_eliminated_exactly():
    rng = np.random.default_rng(0)
    n_rows = 8000
    rows = np.column_stack([rng.integers(0, 300, n_rows), rng.integers(0, 200, n_rows), rng.normal(size=n_rows)])
    effects = rng.normal(size=300)[rows[:, 0].astype(int)] + rng.normal(size=200)[rows[:, 1].astype(int)]
    labels = (rng.logistic(size=n_rows) < effects + np.sin(2 * rows[:, 2])).astype(np.int8)
    settings = AdditiveSettings(max_columns=60, trees=False, random_state=0, interactions=0)
    fit = AdditiveFit.start(settings, np.array([True, True, False]), 0).update(rows, labels)
    fit = fit.with_constraints(Constraints(shapes=(Shape(2, "increasing"),)))
    basis, model = fit.current
    size, n_columns = basis.random_effects.size, basis.n_columns
    assert size > 100
    assert np.unique(basis.random_effects.inputs).size == 2
    final, sums, own = fit.final, model.sums, model.random_effects
    penalty = Penalties(basis.groups, basis.roughness).matrix(final.lambdas).toarray()
    lambdas = final.effect_lambdas[basis.random_effects.group_index()]
    everything = np.block(
        [
            [sums.full_gram() + penalty, own.products.T],
            [own.products, own.shared.toarray() + np.diag(own.curvature + lambdas)],
        ]
    )
    weights = final.weights[: n_columns + size]
    gradient = everything @ weights - np.concatenate([sums.rhs, own.rhs])
    active = np.hstack([final.active.toarray(), np.zeros((final.active.shape[0], size))])
    assert len(active) > 2
    multipliers = np.linalg.lstsq(active.T, gradient)[0]
    assert np.abs(gradient - active.T @ multipliers).max() <= 1e-8 * np.abs(sums.rhs).max()
    assert (multipliers > 0.0).all()
