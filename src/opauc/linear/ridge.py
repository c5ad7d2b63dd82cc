"""Linear systems with a ridge: (alpha I + matrix) w = right-hand side, for one alpha or for many."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.linalg import eigh, eigh_tridiagonal, lapack

from opauc.types import Floats

# Largest condition number for solving in tridiagonal form: the relative error, a tenth of this times machine epsilon,
# is then below 1e-9.
MAX_CONDITION = 4e6


def solve_ridge(matrix: Floats, right: Floats, alphas: Sequence[float]) -> Floats:
    """Return (alpha I + matrix)^-1 right for each alpha, one per row; of least norm where that is singular.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.linear.ridge import solve_ridge
    >>> solve_ridge(np.diag([1.0, 0.0]), np.array([2.0, 0.0]), [0.0, 1.0]).tolist()
    [[2.0, 0.0], [1.0, 0.0]]
    """
    out = np.zeros((len(alphas), right.size))
    tridiagonal = Tridiagonal(matrix, right) if len(alphas) > 1 and may_reduce(matrix, max(alphas)) else None
    for row, alpha in zip(out, alphas, strict=True):
        accurate = tridiagonal is not None and tridiagonal.is_accurate(alpha)
        row[:] = tridiagonal.solve(alpha) if tridiagonal is not None and accurate else _solve(matrix, right, alpha)
    return out


def _solve(matrix: Floats, right: Floats, alpha: float) -> Floats:
    """Return (alpha I + matrix)^-1 right by Cholesky factors, or by eigenvectors where the matrix is singular."""
    shifted = matrix.T.copy(order="F")
    shifted.flat[:: right.size + 1] += alpha
    scale = unit_diagonal(shifted)
    shifted *= scale
    shifted *= scale[:, None]
    size = lapack.dlange("1", shifted)
    factor, failed = lapack.dpotrf(shifted, lower=True, clean=False)
    if not failed and lapack.dpocon(factor, size, uplo="L")[0] > right.size * np.finfo(float).eps:
        solution: Floats = scale * lapack.dpotrs(factor, scale * right, lower=True)[0]
        return solution
    values, vectors = eigh(shifted)
    kept = values > right.size * np.finfo(float).eps * max(values[-1], 0.0)
    basis = vectors[:, kept]
    least: Floats = scale * (basis @ ((basis.T @ (scale * right)) / values[kept]))
    return least


def unit_diagonal(matrix: Floats) -> Floats:
    """Return the factors that scale the diagonal of the matrix to one; one where it is zero."""
    diagonal = np.diagonal(matrix)
    return 1.0 / np.sqrt(np.where(diagonal > 0.0, diagonal, 1.0))


def may_reduce(matrix: Floats, alpha: float) -> bool:
    """Return whether a tridiagonal form may be accurate for the largest alpha.

    The diagonal lies between the extreme eigenvalues.
    """
    variances = np.diagonal(matrix)
    return bool(variances.size > 1 and variances.max() / MAX_CONDITION < variances.min() + alpha)


class Tridiagonal:
    """A symmetric matrix as 2^e Q T Q^T with T tridiagonal: each alpha then costs one product with Q.

    The orthogonal Q mixes features of different units, so the rounding error is
    that of the largest feature. Results have nine digits up to the condition
    number MAX_CONDITION.
    """

    def __init__(self, matrix: Floats, right: Floats) -> None:
        size = matrix.shape[0]
        # Dividing by a power of two is exact. The largest variance becomes about one: its square cannot overflow.
        self._unit = 2.0 ** max(-500, int(np.frexp(np.diagonal(matrix).max())[1]) - 1)
        reflectors, self._diagonal, self._off, self._tau, _ = lapack.dsytrd(
            matrix / self._unit, lower=1, overwrite_a=1, lwork=int(lapack.dsytrd_lwork(size)[0])
        )
        # The reflectors below the first subdiagonal are those of a QR factorization one row down.
        self._reflectors = np.asfortranarray(reflectors[1:, :-1])
        self._rotated = self._rotate(right, "T")
        lowest = eigh_tridiagonal(self._diagonal, self._off, eigvals_only=True, select="i", select_range=(0, 0))
        self._smallest = max(0.0, float(lowest[0]))
        around = np.abs(np.concatenate(([0.0], self._off, [0.0])))
        self._largest = float((self._diagonal + around[1:] + around[:-1]).max())

    def is_accurate(self, alpha: float) -> bool:
        """Return whether the condition number of alpha I + T is below MAX_CONDITION."""
        ridge = alpha / self._unit
        return (self._largest + ridge) / MAX_CONDITION < self._smallest + ridge

    def solve(self, alpha: float) -> Floats:
        """Return (alpha I + matrix)^-1 times the right-hand side."""
        _, _, solution, _ = lapack.dptsv(self._diagonal + alpha / self._unit, self._off, self._rotated)
        return self._rotate(solution, "N") / self._unit

    def _rotate(self, vector: Floats, transposed: str) -> Floats:
        """Return the product of the vector with Q, or with its transpose."""
        rotated = vector.copy()
        tail = np.asfortranarray(vector[1:, None])
        rotated[1:] = lapack.dormqr("L", transposed, self._reflectors, self._tau, tail, 64)[0][:, 0]
        return rotated
