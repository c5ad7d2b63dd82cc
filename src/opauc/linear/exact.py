"""The exact minimizer of the paper's objective, from one pass, with no step size."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import eigh, eigh_tridiagonal, lapack

from opauc.core.mergeable import Statistic
from opauc.core.parameters import NON_NEGATIVE, SHARE, SWITCH, Threads, parameter
from opauc.core.solver import MergeableSolver
from opauc.linear.moments.classes import ClassMoments
from opauc.types import Floats, Labels, Rows

# A feature that varies by less than this share of its size does not vary: it is the rounding of its mean.
ROUNDING = 8.0 * np.finfo(float).eps
# No feature is divided by less: the square of its inverse would overflow.
SMALLEST = 1e-150
# Solving through a tridiagonal form errs by a tenth of this times the rounding of a number, relatively: below 1e-9.
MOST_CONDITION = 4e6


@dataclass(frozen=True)
class Exact(MergeableSolver[ClassMoments]):
    """Minimize alpha/2 |w|^2 + mean over pairs of (1 - w.(x_pos - x_neg))^2 / 2.

    With d = the difference of the class means and S = the sum of their
    covariances, the minimizer is w = (alpha I + S + d d^T)^-1 d: a ridge
    Fisher discriminant with equally weighted classes. The state is the
    statistics themselves.

    With `standardize` the ridge acts on features of unit variance (the mean of
    the variances in both classes), worked out from the statistics after the
    pass: units play no part then. Weights are in the units of the features.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.linear.exact import Exact
    >>> solver = Exact(alpha=0.5)
    >>> state = solver.step(solver.start(1), np.array([[0.0], [2.0]]), np.array([0, 1], np.int8))
    >>> solver.weights(state).round(4).tolist()
    [0.4444]
    """

    name: ClassVar[str] = "exact"

    keeps_covariances: ClassVar[bool] = True

    alpha: float = parameter(1e-4, NON_NEGATIVE)
    forgetting_factor: float = parameter(1.0, SHARE)
    n_jobs: int = parameter(1, Threads())
    standardize: bool = parameter(False, SWITCH)

    @property
    def order_matters(self) -> bool:
        """Whether rows in another order give other weights: only where old ones fade."""
        return self.forgetting_factor != 1.0

    @property
    def shards_merge(self) -> bool:
        """Whether shards learned apart from each other merge to what one solver has: not where old rows fade."""
        return self.forgetting_factor == 1.0

    def convert(self, state: Statistic) -> ClassMoments:
        """Return statistics that may have been gathered on a device."""
        return state if isinstance(state, ClassMoments) else ClassMoments.from_arrays(state.to_arrays())

    def of_shard(self, key: int, shard: int) -> Exact:  # noqa: ARG002
        """Return the solver of one of several shards: one thread each."""
        return replace(self, n_jobs=1)

    def start(self, n_features: int) -> ClassMoments:
        """Return statistics of no rows."""
        return ClassMoments.empty(n_features)

    def step(self, state: ClassMoments, rows: Rows, labels: Labels, weight: Floats | None = None) -> ClassMoments:
        """Return the statistics with the chunk in them."""
        return state.update(rows, labels, weight, forgetting_factor=self.forgetting_factor, n_jobs=self.n_jobs)

    def forget(
        self,
        state: ClassMoments,
        rows: Rows,
        labels: Labels,
        weight: Floats | None = None,
        row_numbers: ArrayLike | None = None,  # noqa: ARG002
    ) -> ClassMoments:
        """Return the statistics as if these rows had never been seen."""
        if self.forgetting_factor != 1.0:
            raise ValueError(
                f"forget needs forgetting_factor=1.0, got {self.forgetting_factor}: "
                "the weight the rows still have is unknown"
            )
        return state.forget(rows, labels, weight, self.n_jobs)

    def weights(self, state: ClassMoments) -> Floats:
        """Return the minimizer; zero until both classes were seen."""
        if not state.counts.both:
            return np.zeros(state.n_features)
        matrix, difference, scale = self._sums(state)
        return _minimizer(matrix, difference, self.alpha) / scale

    def scale(self, state: ClassMoments) -> Floats:
        """Return what the features are divided by before the ridge acts on them: their standard deviation.

        For a feature that does not vary within the classes it is the
        difference of its means, or where there is none its size.
        """
        means = np.stack([one.mean for one in state.groups])
        variances = np.stack([np.diagonal(one.scatter) / (one.count or 1.0) for one in state.groups])
        return self.scale_of(means, variances)

    def scale_of(self, means: Floats, variances: Floats) -> Floats:
        """Return the scale for features of these means and variances in each class, shape (2, n_features)."""
        if not self.standardize:
            return np.ones(means.shape[1])
        deviation = np.sqrt(variances.mean(axis=0))
        size, gap = np.abs(means).max(axis=0), np.abs(means[1] - means[0])
        varies, differs = deviation > ROUNDING * size, gap > ROUNDING * size
        scale: Floats = np.select([varies, differs, size > 0.0], [deviation, gap, size], 1.0)
        return np.maximum(scale, SMALLEST)

    def _sums(self, state: ClassMoments) -> tuple[Floats, Floats, Floats]:
        """Return the sum of the covariances and the difference of the means of the scaled features, and the scale."""
        matrix, difference, scale = state.covariance_sum(), state.mean_difference(), self.scale(state)
        if self.standardize:
            matrix /= scale
            matrix /= scale[:, None]
        return matrix, difference / scale, scale

    def rows_worth_a_solve(self, n_features: int) -> int:
        """Return how many rows cost ten times as much to take in as the weights cost to work out."""
        return 4 * n_features

    def path(self, state: ClassMoments, alphas: Sequence[float]) -> Floats:
        """Return the minimizers for many alphas, one a row, where possible from one reduction to tridiagonal form."""
        out = np.zeros((len(alphas), state.n_features))
        if not state.counts.both or not len(alphas):
            return out
        matrix, difference, scale = self._sums(state)
        reduced = _Tridiagonal(matrix, difference) if _worth_reducing(matrix, max(alphas)) else None
        for row, alpha in zip(out, alphas, strict=True):
            if reduced is not None and reduced.resolves(alpha):
                row[:] = reduced.minimizer(alpha)
            else:
                row[:] = _minimizer(matrix, difference, alpha)
        out /= scale
        return out


def _minimizer(covariances: Floats, difference: Floats, alpha: float) -> Floats:
    """Solve (alpha I + covariances + difference difference^T) w = difference."""
    matrix = covariances.T.copy(order="F")  # symmetric: the transpose is itself, in the order LAPACK works in
    matrix.flat[:: matrix.shape[0] + 1] += alpha
    scale = _unit_diagonal(matrix)
    matrix *= scale
    matrix *= scale[:, None]
    size = lapack.dlange("1", matrix)
    factor, failed = lapack.dpotrf(matrix, lower=True, clean=False, overwrite_a=True)
    if not failed:
        rcond, _ = lapack.dpocon(factor, size, uplo="L")
        if rcond > matrix.shape[0] * np.finfo(float).eps:
            solution = scale * lapack.dpotrs(factor, scale * difference, lower=True)[0]
            return _normalize(solution, difference)
    return _singular_minimizer(covariances, difference, alpha)


def _singular_minimizer(covariances: Floats, difference: Floats, alpha: float) -> Floats:
    """Return the shortest minimizer where the matrix has no inverse to working precision.

    Directions without variance are told on unit-variance features, so that a
    feature measured in small units is not taken for a constant.
    """
    matrix = covariances + np.outer(difference, difference)
    matrix.flat[:: matrix.shape[0] + 1] += alpha
    scale = _unit_diagonal(matrix)
    values, vectors = eigh(matrix * np.outer(scale, scale))
    empty = values <= matrix.shape[0] * np.finfo(float).eps * values[-1]
    kept = vectors[:, ~empty]
    solution = scale * (kept @ ((kept.T @ (scale * difference)) / values[~empty]))
    # Whatever lies along directions of no variance in the features' own units only lengthens w.
    null, _ = np.linalg.qr(scale[:, None] * vectors[:, empty])
    shortest: Floats = solution - null @ (null.T @ solution)
    return shortest


def _unit_diagonal(matrix: Floats) -> Floats:
    """Return factors that give the matrix a unit diagonal; one where it is zero."""
    diagonal = np.diagonal(matrix)
    return 1.0 / np.sqrt(np.where(diagonal > 0.0, diagonal, 1.0))


def _normalize(solution: Floats, difference: Floats) -> Floats:
    """Turn (alpha I + S)^-1 d into the minimizer (Sherman and Morrison)."""
    return solution / (1.0 + difference @ solution)


def _worth_reducing(matrix: Floats, alpha: float) -> bool:
    """Tell whether a reduction may serve the largest alpha; the diagonal lies between the eigenvalues."""
    variances = np.diagonal(matrix)
    return bool(variances.size > 1 and variances.max() / MOST_CONDITION < variances.min() + alpha)


class _Tridiagonal:
    """The sum of the covariances as 2^e Q T Q^T with T tridiagonal: each alpha then costs one product with Q.

    The orthogonal Q mixes features of different units, so rounding is that of
    the largest: good to nine digits up to the condition number MOST_CONDITION.
    """

    def __init__(self, matrix: Floats, difference: Floats) -> None:
        size = matrix.shape[0]
        # A power of two brings the largest variance to about one without rounding: its square cannot overflow.
        self._unit = 2.0 ** max(-500, int(np.frexp(np.diagonal(matrix).max())[1]) - 1)
        reflectors, self._diagonal, self._off, self._tau, _ = lapack.dsytrd(
            matrix / self._unit, lower=1, overwrite_a=1, lwork=int(lapack.dsytrd_lwork(size)[0])
        )
        # The reflectors below the first subdiagonal are those of a QR factorization one row down.
        self._reflectors = np.asfortranarray(reflectors[1:, :-1])
        self._difference = difference
        self._turned = self._turn(difference, "T")
        lowest = eigh_tridiagonal(self._diagonal, self._off, eigvals_only=True, select="i", select_range=(0, 0))
        self._least = max(0.0, float(lowest[0]))
        around = np.abs(np.concatenate(([0.0], self._off, [0.0])))
        self._most = float((self._diagonal + around[1:] + around[:-1]).max())

    def resolves(self, alpha: float) -> bool:
        """Tell whether the smallest eigenvalue of alpha I + T stands well above the rounding of the largest."""
        ridge = alpha / self._unit
        return (self._most + ridge) / MOST_CONDITION < self._least + ridge

    def minimizer(self, alpha: float) -> Floats:
        """Return the minimizer for one alpha."""
        _, _, solution, _ = lapack.dptsv(self._diagonal + alpha / self._unit, self._off, self._turned)
        return _normalize(self._turn(solution, "N") / self._unit, self._difference)

    def _turn(self, vector: Floats, transposed: str) -> Floats:
        """Multiply by Q, or by its transpose."""
        turned = vector.copy()
        tail = np.asfortranarray(vector[1:, None])
        turned[1:] = lapack.dormqr("L", transposed, self._reflectors, self._tau, tail, 64)[0][:, 0]
        return turned
