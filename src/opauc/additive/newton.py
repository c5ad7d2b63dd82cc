"""The penalized logistic likelihood of sparse rows at fixed penalties, minimized without a Gram matrix of all rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import lapack
from scipy.sparse import csr_array

from opauc.additive.policy import SMOOTHING_POLICY, SmoothingPolicy
from opauc.core.blas import one_blas_thread
from opauc.core.logistic import linearize
from opauc.errors import StatisticsOverflowError
from opauc.types import Floats, Labels

# Conjugate gradients stop when the residual, in the norm of the preconditioner, has fallen by this factor: an inexact
# Newton step suffices.
MAX_ITERATIONS, RELATIVE_RESIDUAL = 10, 0.1
# Shortest fraction of a step that the line search tries.
MIN_STEP = 0.02
# Shares of the diagonal that are added to the preconditioner, one after the other, until it has a factor.
DIAGONAL_SHIFTS = (1e-5, 1e-3, 0.1)


@dataclass(frozen=True, eq=False)
class PenalizedLoss:
    """The logistic loss of weighted sparse rows plus w.P w / 2, P being `penalty`."""

    rows: csr_array
    labels: Labels
    weight: Floats
    penalty: csr_array

    def value(self, weights: Floats, scores: Floats) -> float:
        """Return the loss at these weights, which give the rows these scores."""
        losses = np.logaddexp(0.0, np.where(self.labels == 1, -scores, scores))
        return 0.5 * float(weights @ (self.penalty @ weights)) + float(self.weight @ losses)


def minimize_loss(
    loss: PenalizedLoss, weights: Floats, gram: Floats, policy: SmoothingPolicy = SMOOTHING_POLICY
) -> Floats:
    """Return the weights that minimize the loss, by Newton steps from weights nearby.

    Conjugate gradients solve for each step, with products with the rows in place
    of their Gram matrix. `gram` approximates that matrix: it preconditions and has
    no influence on the solution. Its lower triangle is overwritten.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.sparse import csr_array, eye_array
    >>> from opauc.additive.newton import PenalizedLoss, minimize_loss
    >>> rows, labels = csr_array([[1.0, 0.0], [1.0, 1.0]] * 50), np.array([0, 1] * 48 + [1, 0] * 2, np.int8)
    >>> loss = PenalizedLoss(rows, labels, np.ones(100), csr_array(eye_array(2)))
    >>> minimize_loss(loss, np.zeros(2), np.array([[25.0, 0.0], [12.5, 12.5]])).round(2).tolist()
    [-1.74, 3.77]
    """
    with one_blas_thread():
        factor = _factorize_preconditioner(gram, loss.penalty)
        scores = loss.rows @ weights
        value = loss.value(weights, scores)
        for _ in range(policy.newton_steps):
            step = _newton_step(loss, weights, scores, factor)
            change, length = loss.rows @ step, 1.0
            while (after := loss.value(weights + length * step, scores + length * change)) > value:
                length /= 2.0
                if length < MIN_STEP:
                    return weights
            weights, scores, before, value = weights + length * step, scores + length * change, value, after
            if before - value < policy.newton_min_gain * before:
                break
    return weights


def _factorize_preconditioner(gram: Floats, penalty: csr_array) -> Floats:
    """Return the upper Cholesky factor of the penalized matrix in float32: six digits suffice."""
    entries = penalty.tocoo()
    np.add.at(gram, (entries.row, entries.col), entries.data)
    narrow = gram.T.astype(np.float32, order="F")
    diagonal = np.diagonal(narrow).copy()
    for shift in DIAGONAL_SHIFTS:
        np.fill_diagonal(narrow, diagonal * (1.0 + shift))
        factor, failed = lapack.spotrf(narrow, lower=0, clean=0)
        if not failed:
            upper: Floats = factor
            return upper
    raise StatisticsOverflowError(f"the sums of the rows are not positive definite at column {failed - 1}")


def _newton_step(loss: PenalizedLoss, weights: Floats, scores: Floats, factor: Floats) -> Floats:
    """Return an approximate Newton step, by conjugate gradients on the penalized Hessian."""
    curvature, row_residuals = linearize(scores, loss.labels)
    curvature *= loss.weight
    residual = loss.rows.T @ (loss.weight * row_residuals) - loss.penalty @ weights
    step = np.zeros_like(weights)
    direction = preconditioned = lapack.spotrs(factor, residual.astype(np.float32), lower=0)[0].astype(np.float64)
    squared_norm = initial = float(residual @ preconditioned)
    for _ in range(MAX_ITERATIONS):
        if squared_norm <= RELATIVE_RESIDUAL**2 * initial or squared_norm <= 0.0:
            break
        product = loss.rows.T @ (curvature * (loss.rows @ direction)) + loss.penalty @ direction
        length = squared_norm / float(direction @ product)
        step = step + length * direction
        residual = residual - length * product
        preconditioned = lapack.spotrs(factor, residual.astype(np.float32), lower=0)[0].astype(np.float64)
        before, squared_norm = squared_norm, float(residual @ preconditioned)
        direction = preconditioned + (squared_norm / before) * direction
    return step
