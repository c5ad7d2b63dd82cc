"""The minimum of a penalized quadratic under linear constraints: exact, by its dual and a Cholesky factor."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack
from scipy.optimize import nnls
from scipy.sparse import csr_array, vstack

from opauc.additive.constraints.shape_rows import ShapeRows
from opauc.additive.policy import CONSTRAINT_POLICY, ConstraintPolicy
from opauc.additive.smoothing import factorize
from opauc.errors import StatisticsOverflowError
from opauc.types import Floats


class LinearRows(NamedTuple):
    """Rows of column weights, the values that their products must have or exceed, and what a user calls each."""

    matrix: csr_array  # (n_rows, n_columns)
    values: Floats
    labels: tuple[str, ...]

    @classmethod
    def empty(cls, n_columns: int) -> LinearRows:
        """Return no rows."""
        return cls(csr_array((0, n_columns)), np.empty(0), ())

    def join(self, other: LinearRows) -> LinearRows:
        """Return the rows of both."""
        matrix = csr_array(vstack([self.matrix, other.matrix]))
        return LinearRows(matrix, np.concatenate([self.values, other.values]), (*self.labels, *other.labels))

    def take(self, rows: NDArray[np.int64]) -> LinearRows:
        """Return some of the rows."""
        return LinearRows(self.matrix[rows], self.values[rows], tuple(self.labels[row] for row in rows.tolist()))


@dataclass(frozen=True, eq=False)
class LinearConstraints:
    """What the weights of all columns must satisfy: shapes, products of at least a value, and of exactly a value."""

    shapes: Sequence[tuple[str, ShapeRows]]  # with what a user calls each
    at_least: LinearRows
    equal: LinearRows


class Minimum(NamedTuple):
    """The minimizing weights of all columns, and the constraints that hold with equality there.

    `multipliers` are those of `active`: gradient = active^T multipliers at the solved columns. The first `n_equal`
    are equalities, whose multipliers have any sign.
    """

    weights: Floats
    active: csr_array  # (n_active, n_columns)
    multipliers: Floats
    n_equal: int = 0


class InfeasibleError(ValueError):
    """Constraints that no weights satisfy; `labels` names those that contradict each other."""

    def __init__(self, labels: Sequence[str]) -> None:
        super().__init__(f"no weights satisfy {' and '.join(labels)}")
        self.labels: tuple[str, ...] = tuple(labels)


def minimize(
    lower: Floats,
    rhs: Floats,
    constraints: LinearConstraints,
    columns: NDArray[np.int64],
    fixed: Floats,
    policy: ConstraintPolicy = CONSTRAINT_POLICY,
) -> Minimum:
    """Return the weights that minimize w.H w / 2 - rhs.w under constraints.

    With the upper Cholesky factor U of H, x = U (w - w0) is the step from the
    free minimum w0: the constraints ask for the shortest x in a polyhedron, whose
    dual is a problem of non-negative least squares (Lawson and Hanson). Of the
    inequalities of a shape, those that the weights violate are added until none
    is left: the solution is exact, although they are far too many to list.

    Parameters
    ----------
    lower : ndarray of shape (d, d)
        Lower triangle of H, positive definite; it is overwritten.
    rhs : ndarray of shape (d,)
        Right-hand side.
    constraints : LinearConstraints
        Constraints on the weights of all columns.
    columns : ndarray of shape (d,)
        The columns that are solved for.
    fixed : ndarray of shape (n_columns,)
        Weights of the other columns.
    policy : ConstraintPolicy
        Tolerances.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.sparse import csr_array
    >>> from opauc.additive.constraints.solve import LinearConstraints, LinearRows, minimize
    >>> above = LinearRows(csr_array([[1.0, -1.0]]), np.zeros(1), ("first >= second",))
    >>> constraints = LinearConstraints((), above, LinearRows.empty(2))
    >>> minimize(np.eye(2), np.array([1.0, 3.0]), constraints, np.arange(2), np.zeros(2)).weights.tolist()
    [2.0, 2.0]
    """
    problem = _Problem.of(factorize(lower), rhs, constraints, columns, fixed, policy)
    working = constraints.at_least.take(np.empty(0, np.int64))
    step = problem.equal_step
    for _ in range(policy.max_rounds):
        violated = problem.violated(problem.weights_after(step))
        if not violated.values.size:
            return problem.minimum(step, working)
        working = working.join(violated)
        step, kept = problem.solve(working)
        working = working.take(kept)
    raise StatisticsOverflowError("the constrained weights do not converge: the columns are too similar")


@dataclass(frozen=True, eq=False)
class _Problem:
    """A quadratic in the coordinates x = U (w - w0), with its equalities solved for."""

    upper: Floats
    free: Floats  # weights of all columns at the free minimum
    constraints: LinearConstraints
    columns: NDArray[np.int64]
    policy: ConstraintPolicy
    equal: LinearRows  # independent equalities
    equal_basis: Floats = field(repr=False)  # orthonormal columns that span them
    equal_step: Floats = field(repr=False)  # the shortest x that satisfies them

    @classmethod
    def of(
        cls,
        upper: Floats,
        rhs: Floats,
        constraints: LinearConstraints,
        columns: NDArray[np.int64],
        fixed: Floats,
        policy: ConstraintPolicy,
    ) -> _Problem:
        free = fixed.copy()
        free[columns] = lapack.dpotrs(upper, rhs, lower=0)[0]
        nothing = np.empty((columns.size, 0))
        no_rows = constraints.equal.take(np.empty(0, np.int64))
        problem = cls(upper, free, constraints, columns, policy, no_rows, nothing, np.zeros(columns.size))
        return problem._with_equalities() if constraints.equal.values.size else problem

    def weights_after(self, step: Floats) -> Floats:
        """Return the weights of all columns after a step from the free minimum."""
        weights = self.free.copy()
        weights[self.columns] += self._to_weights(step)
        return weights

    def violated(self, weights: Floats) -> LinearRows:
        """Return the inequalities that weights violate: of those of a shape, the worst of each interval."""
        tolerance = self.policy.tolerance * max(1.0, float(np.abs(weights).max(initial=0.0)))
        at_least = self.constraints.at_least
        short = np.flatnonzero(at_least.matrix @ weights < at_least.values - tolerance)
        found = at_least.take(short)
        for label, shape in self.constraints.shapes:
            lowest = shape.lowest(weights)
            rows = np.flatnonzero(lowest.values < -tolerance)
            if rows.size:
                cuts = shape.at(rows, lowest.choices)
                found = found.join(LinearRows(cuts, np.zeros(rows.size), (label,) * rows.size))
        return found

    def solve(self, rows: LinearRows) -> tuple[Floats, NDArray[np.int64]]:
        """Return the step to the minimum under some of the inequalities, and which of these are active."""
        normals, wanted = self._in_coordinates(rows)
        before = np.sqrt(np.einsum("ij,ij->j", normals, normals))
        normals = normals - self.equal_basis @ (self.equal_basis.T @ normals)
        wanted = wanted - self._products(rows, self.equal_step)
        sizes = np.sqrt(np.einsum("ij,ij->j", normals, normals))
        has_size = sizes > self.policy.rank_tolerance * before  # else equalities decide
        if (wanted[~has_size] > self.policy.tolerance).any():
            raise InfeasibleError(self._conflict(rows, np.flatnonzero(~has_size)))
        usable = np.flatnonzero(has_size)
        step, active = self._shortest(normals[:, usable] / sizes[usable], wanted[usable] / sizes[usable], rows, usable)
        return self.equal_step + step, usable[active]

    def minimum(self, step: Floats, inequalities: LinearRows) -> Minimum:
        """Return the weights after the last step, and the multipliers of the constraints that are active there."""
        active = self.equal.join(inequalities)
        normals = self._in_coordinates(active)[0]
        multipliers = np.asarray(np.linalg.lstsq(normals, step)[0], np.float64)
        return Minimum(self.weights_after(step), active.matrix, multipliers, self.equal.values.size)

    def _shortest(
        self, normals: Floats, wanted: Floats, rows: LinearRows, usable: NDArray[np.int64]
    ) -> tuple[Floats, NDArray[np.int64]]:
        """Return the shortest x with normals^T x >= wanted, and the inequalities that it meets with equality."""
        triangle = np.linalg.qr(normals, mode="r") if normals.shape[0] > normals.shape[1] else normals
        scale = max(float(np.abs(wanted).max()), 1e-300)
        system = np.vstack([triangle, wanted / scale])
        target = np.zeros(len(system))
        target[-1] = 1.0
        multipliers, distance = nnls(system, target, maxiter=self.policy.max_iterations_per_row * wanted.size)
        active = np.flatnonzero(multipliers > 0.0)
        if distance < self.policy.infeasible_distance:
            raise InfeasibleError(self._conflict(rows, usable[active]))
        # The residual gives x to half the digits only; the active inequalities, met with equality, give all of them.
        chosen = normals[:, active]
        step: Floats = chosen @ np.linalg.lstsq(chosen.T @ chosen, wanted[active])[0]
        rest = wanted[active] - chosen.T @ step
        step += chosen @ np.linalg.lstsq(chosen.T @ chosen, rest)[0]
        return step, active

    def _with_equalities(self) -> _Problem:
        """Return the problem with its equalities solved for; raise InfeasibleError where they contradict each other."""
        normals, wanted = self._in_coordinates(self.constraints.equal)
        left, sizes, right = np.linalg.svd(normals, full_matrices=False)
        rank = int((sizes > self.policy.rank_tolerance * max(float(sizes.max(initial=0.0)), 1e-300)).sum())
        step = left[:, :rank] @ ((right[:rank] @ wanted) / sizes[:rank])
        rest = np.abs(normals.T @ step - wanted)
        if (rest > self.policy.tolerance * max(1.0, float(np.abs(wanted).max()))).any():
            raise InfeasibleError(self._conflict(self.constraints.equal, np.arange(wanted.size)))
        return _Problem(
            self.upper, self.free, self.constraints, self.columns, self.policy,
            self.constraints.equal, left[:, :rank], step,
        )  # fmt: skip

    def _in_coordinates(self, rows: LinearRows) -> tuple[Floats, Floats]:
        """Return the normals of rows as columns, and what the products with x must be or exceed."""
        dense = np.asfortranarray(rows.matrix[:, self.columns].toarray().T)
        normals: Floats = lapack.dtrtrs(self.upper, dense, lower=0, trans=1, overwrite_b=1)[0]
        return normals, rows.values - rows.matrix @ self.free

    def _products(self, rows: LinearRows, step: Floats) -> Floats:
        """Return the change of the products of rows by a step."""
        products: Floats = rows.matrix[:, self.columns] @ self._to_weights(step)
        return products

    def _to_weights(self, step: Floats) -> Floats:
        weights: Floats = lapack.dtrtrs(self.upper, step, lower=0)[0]
        return weights

    def _conflict(self, rows: LinearRows, at: NDArray[np.int64]) -> list[str]:
        """Return what a user calls constraints that cannot all hold."""
        return list(dict.fromkeys([*self.equal.labels, *(rows.labels[row] for row in at.tolist())]))
