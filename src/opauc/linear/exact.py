"""The exact minimizer of the paper's objective, in closed form from one pass; there is no step size."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import eigh, lapack

from opauc.core.mergeable import LabeledSums
from opauc.core.parameters import NON_NEGATIVE, SHARE, SWITCH, Threads, parameter
from opauc.core.solver import MergeableSolver
from opauc.linear.moments.classes import ClassMoments
from opauc.linear.moments.exact import ExactMoments
from opauc.linear.ridge import Tridiagonal, may_reduce, unit_diagonal
from opauc.types import Floats, Labels, Rows

# A feature whose deviation is below this share of its size counts as constant: the rest is rounding of its mean.
ROUNDING = 8.0 * np.finfo(float).eps
# Smallest scale of a feature: the inverse square of a smaller one would overflow.
SMALLEST_SCALE = 1e-150


@dataclass(frozen=True)
class Exact(MergeableSolver[ClassMoments]):
    """Exact minimizer of alpha/2 |w|^2 + mean over pairs of (1 - w.(x_pos - x_neg))^2 / 2.

    This is the objective of OPAUC (Gao, Jin, Zhu and Zhou, "One-Pass AUC
    Optimization"). With d the difference of the class means and S the sum of the
    class covariances, the minimizer is

        w = (alpha I + S + d d^T)^-1 d,

    a ridge Fisher discriminant with equally weighted classes. The state is a
    `ClassMoments`.

    Parameters
    ----------
    alpha : float, default=1e-4
        Strength of the L2 penalty.
    forgetting_factor : float, default=1.0
        Factor in (0, 1] on the weight of all earlier rows at each new row.
    n_jobs : int, default=1
        Number of threads that sum the statistics.
    standardize : bool, default=False
        Whether the penalty acts on features scaled to unit variance (the mean of
        the variances of both classes). The scale is computed from the statistics
        after the pass; the weights are in the units of the rows.

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
        """Whether the order of rows matters: only with a forgetting factor."""
        return self.forgetting_factor != 1.0

    @property
    def shards_merge(self) -> bool:
        """Whether statistics of shards merge to those of all rows: not with a forgetting factor."""
        return self.forgetting_factor == 1.0

    def convert(self, state: LabeledSums) -> ClassMoments:
        """Return the statistics as `ClassMoments`, whether computed here or on a device."""
        return state if isinstance(state, ClassMoments) else ClassMoments.from_arrays(state.to_arrays())

    def in_one_thread(self) -> Exact:
        """Return the solver with one thread."""
        return replace(self, n_jobs=1)

    def start(self, n_features: int) -> ClassMoments:
        """Return statistics of no rows."""
        return ClassMoments.empty(n_features)

    def step(self, state: ClassMoments, rows: Rows, labels: Labels, weight: Floats | None = None) -> ClassMoments:
        """Return the statistics of the earlier rows and these."""
        return state.update(rows, labels, weight, forgetting_factor=self.forgetting_factor, n_jobs=self.n_jobs)

    def forget(
        self,
        state: ClassMoments,
        rows: Rows,
        labels: Labels,
        weight: Floats | None = None,
        row_numbers: ArrayLike | None = None,  # noqa: ARG002
    ) -> ClassMoments:
        """Return the statistics without these rows."""
        check_can_forget(self.forgetting_factor)
        return state.forget(rows, labels, weight, self.n_jobs)

    def weights(self, state: ClassMoments) -> Floats:
        """Return the minimizer; zero before both classes were seen."""
        if not state.counts.both:
            return np.zeros(state.n_features)
        matrix, difference, scale = self._sums(state)
        return _minimizer(matrix, difference, self.alpha) / scale

    def scale(self, state: ClassMoments) -> Floats:
        """Return the scale of each feature for the penalty: its standard deviation, or one without `standardize`.

        A feature that is constant within both classes is scaled by the difference
        of its means; if that is zero, by its size.
        """
        return self.scale_of_groups(state.without_rounding())

    def scale_of_groups(self, groups: Sequence[ExactMoments]) -> Floats:
        """Return the scale of each feature from the statistics of each class."""
        means = np.stack([one.mean for one in groups])
        variances = np.stack([np.diagonal(one.scatter) / (one.count or 1.0) for one in groups])
        return self.scale_of(means, variances)

    def scale_of(self, means: Floats, variances: Floats) -> Floats:
        """Return the scale of features from their means and variances per class, both (n_classes, n_features)."""
        if not self.standardize:
            return np.ones(means.shape[1])
        deviation = np.sqrt(variances.mean(axis=0))
        size, gap = np.abs(means).max(axis=0), np.ptp(means, axis=0)
        varies, differs = deviation > ROUNDING * size, gap > ROUNDING * size
        scale: Floats = np.select([varies, differs, size > 0.0], [deviation, gap, size], 1.0)
        return np.maximum(scale, SMALLEST_SCALE)

    def _sums(self, state: ClassMoments) -> tuple[Floats, Floats, Floats]:
        """Return the covariance sum and the mean difference of the scaled features, and the scale."""
        matrix, difference, scale = state.covariance_sum(), state.mean_difference(), self.scale(state)
        if self.standardize:
            matrix /= scale
            matrix /= scale[:, None]
        return matrix, difference / scale, scale

    def rows_worth_a_solve(self, n_features: int) -> int:
        """Return the number of rows whose processing costs ten times as much as solving for the weights."""
        return 4 * n_features

    def path(self, state: ClassMoments, alphas: Sequence[float]) -> Floats:
        """Return the minimizer for each alpha, one per row, from one tridiagonal reduction where that is accurate."""
        out = np.zeros((len(alphas), state.n_features))
        if not state.counts.both or not len(alphas):
            return out
        matrix, difference, scale = self._sums(state)
        tridiagonal = Tridiagonal(matrix, difference) if may_reduce(matrix, max(alphas)) else None
        for row, alpha in zip(out, alphas, strict=True):
            if tridiagonal is not None and tridiagonal.is_accurate(alpha):
                row[:] = _normalize(tridiagonal.solve(alpha), difference)
            else:
                row[:] = _minimizer(matrix, difference, alpha)
        out /= scale
        return out


def check_can_forget(forgetting_factor: float) -> None:
    """Raise where the weight that rows still have is unknown."""
    if forgetting_factor != 1.0:
        raise ValueError(
            f"forget needs forgetting_factor=1.0, got {forgetting_factor}: the weight the rows still have is unknown"
        )


def _minimizer(covariances: Floats, difference: Floats, alpha: float) -> Floats:
    """Solve (alpha I + covariances + difference difference^T) w = difference."""
    matrix = covariances.T.copy(order="F")  # symmetric: the transpose is itself, in the order LAPACK works in
    matrix.flat[:: matrix.shape[0] + 1] += alpha
    scale = unit_diagonal(matrix)
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
    """Return the minimizer of least norm where the matrix is numerically singular.

    Directions without variance are determined with features scaled to unit
    variance, so that a feature in small units does not count as constant.
    """
    matrix = covariances + np.outer(difference, difference)
    matrix.flat[:: matrix.shape[0] + 1] += alpha
    scale = unit_diagonal(matrix)
    values, vectors = eigh(matrix * np.outer(scale, scale))
    empty = values <= matrix.shape[0] * np.finfo(float).eps * values[-1]
    basis = vectors[:, ~empty]
    solution = scale * (basis @ ((basis.T @ (scale * difference)) / values[~empty]))
    # Components of w along directions without variance only increase its norm.
    null, _ = np.linalg.qr(scale[:, None] * vectors[:, empty])
    shortest: Floats = solution - null @ (null.T @ solution)
    return shortest


def _normalize(solution: Floats, difference: Floats) -> Floats:
    """Return the minimizer, given (alpha I + S)^-1 d (Sherman and Morrison)."""
    return solution / (1.0 + difference @ solution)
