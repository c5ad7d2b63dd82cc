"""The exact minimiser of the paper's objective, from one pass, with no step size."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh, eigh_tridiagonal, lapack

from opauc.statistics import ClassMoments
from opauc.statistics.chunk_rows import Labels, Rows
from opauc.statistics.score_summary import ScoreSummary

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Exact:
    """Minimise alpha/2 |w|^2 + mean over pairs of (1 - w.(x_pos - x_neg))^2 / 2.

    With d = the difference of the class means and S = the sum of their
    covariances, the minimiser is w = (alpha I + S + d d^T)^-1 d: a ridge
    Fisher discriminant with equally weighted classes. The state is the
    statistics themselves.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.learners.exact import Exact
    >>> learner = Exact(alpha=0.5)
    >>> state = learner.step(learner.start(1), np.array([[0.0], [2.0]]), np.array([0, 1], np.int8))
    >>> learner.weights(state).round(4).tolist()
    [0.4444]
    """

    alpha: float = 1e-4
    forgetting: float = 1.0
    n_jobs: int = 1

    def start(self, n_features: int) -> ClassMoments:
        """Return statistics of no rows."""
        return ClassMoments.empty(n_features)

    def step(
        self, state: ClassMoments, rows: Rows, labels: Labels, sample_weight: Floats | None = None
    ) -> ClassMoments:
        """Return the statistics with the chunk in them."""
        return state.update(rows, labels, sample_weight, self.forgetting, self.n_jobs)

    def moments(self, state: ClassMoments) -> ClassMoments:
        """Return the statistics, which are the state."""
        return state

    def summary(self, state: ClassMoments, weights: Floats) -> ScoreSummary:
        """Return what the statistics say of the scores."""
        return state.summary(weights)

    def weights(self, state: ClassMoments) -> Floats:
        """Return the minimiser; zero until both classes were seen."""
        if not state.has_both_classes:
            return np.zeros(state.n_features)
        return _minimiser(state.spread(), state.mean_difference(), self.alpha)

    def rows_worth_a_solve(self, n_features: int) -> int:
        """Return how many rows cost ten times as much to take in as the weights cost to work out."""
        return 4 * n_features

    def path(self, state: ClassMoments, alphas: Sequence[float]) -> Floats:
        """Return the minimisers for many alphas, one a row, from one reduction to tridiagonal form."""
        out = np.zeros((len(alphas), state.n_features))
        if not state.has_both_classes or not len(alphas):
            return out
        spread, difference = state.spread(), state.mean_difference()
        reduced = _Tridiagonal(spread, difference) if state.n_features > 1 else None
        for row, alpha in zip(out, alphas, strict=True):
            if reduced is not None and reduced.resolves(alpha):
                row[:] = reduced.minimiser(alpha)
            else:
                row[:] = _minimiser(spread, difference, alpha)
        return out


def _minimiser(spread: Floats, difference: Floats, alpha: float) -> Floats:
    """Solve (alpha I + spread + difference difference^T) w = difference."""
    matrix = spread.T.copy(order="F")  # symmetric: the transpose is itself, in the order LAPACK works in
    matrix.flat[:: matrix.shape[0] + 1] += alpha
    scale = _unit_diagonal(matrix)
    matrix *= scale
    matrix *= scale[:, None]
    size = lapack.dlange("1", matrix)
    factor, failed = lapack.dpotrf(matrix, lower=True, clean=False, overwrite_a=True)
    if not failed:
        rcond, _ = lapack.dpocon(factor, size, uplo="L")
        if rcond > matrix.shape[0] * np.finfo(float).eps:
            solved = scale * lapack.dpotrs(factor, scale * difference, lower=True)[0]
            return _normalised(solved, difference)
    return _singular_minimiser(spread, difference, alpha)


def _singular_minimiser(spread: Floats, difference: Floats, alpha: float) -> Floats:
    """Return the shortest minimiser where the matrix has no inverse to working precision.

    Directions without variance are told on unit-variance features, so that a
    feature measured in small units is not taken for a constant.
    """
    matrix = spread + np.outer(difference, difference)
    matrix.flat[:: matrix.shape[0] + 1] += alpha
    scale = _unit_diagonal(matrix)
    values, vectors = eigh(matrix * np.outer(scale, scale))
    empty = values <= matrix.shape[0] * np.finfo(float).eps * values[-1]
    kept = vectors[:, ~empty]
    solved = scale * (kept @ ((kept.T @ (scale * difference)) / values[~empty]))
    # Whatever lies along directions of no variance in the features' own units only lengthens w.
    null, _ = np.linalg.qr(scale[:, None] * vectors[:, empty])
    shortest: Floats = solved - null @ (null.T @ solved)
    return shortest


def _unit_diagonal(matrix: Floats) -> Floats:
    """Return factors that give the matrix a unit diagonal; one where it is zero."""
    diagonal = np.diagonal(matrix)
    return 1.0 / np.sqrt(np.where(diagonal > 0.0, diagonal, 1.0))


def _normalised(solved: Floats, difference: Floats) -> Floats:
    """Turn (alpha I + S)^-1 d into the minimiser (Sherman and Morrison)."""
    return solved / (1.0 + difference @ solved)


class _Tridiagonal:
    """The spread as Q T Q^T with T tridiagonal: each alpha then costs one product with Q."""

    def __init__(self, spread: Floats, difference: Floats) -> None:
        reflectors, self._diagonal, self._off, self._tau, _ = lapack.dsytrd(
            spread, lower=1, lwork=int(lapack.dsytrd_lwork(spread.shape[0])[0])
        )
        # The reflectors below the first subdiagonal are those of a QR factorisation one row down.
        self._reflectors = np.asfortranarray(reflectors[1:, :-1])
        self._difference = difference
        self._turned = self._turn(difference, "T")
        bound = eigh_tridiagonal(
            self._diagonal, self._off, eigvals_only=True, select="i", select_range=(spread.shape[0] - 1,) * 2
        )
        self._smallest = 1e4 * spread.shape[0] * np.finfo(float).eps * max(float(bound[0]), 0.0)

    def resolves(self, alpha: float) -> bool:
        """Tell whether alpha stands well above the rounding of the reduction."""
        return bool(alpha > self._smallest)

    def minimiser(self, alpha: float) -> Floats:
        """Return the minimiser for one alpha."""
        _, _, solved, _ = lapack.dptsv(self._diagonal + alpha, self._off, self._turned)
        return _normalised(self._turn(solved, "N"), self._difference)

    def _turn(self, vector: Floats, transposed: str) -> Floats:
        """Multiply by Q, or by its transpose."""
        turned = vector.copy()
        tail = np.asfortranarray(vector[1:, None])
        turned[1:] = lapack.dormqr("L", transposed, self._reflectors, self._tau, tail, 64)[0][:, 0]
        return turned
