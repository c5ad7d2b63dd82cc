"""The penalized logistic likelihood of sparse rows at fixed penalties, maximized without the Gram matrix of all."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import lapack
from scipy.sparse import csr_array

from opauc.additive.sums import linearized
from opauc.core.blas import one_blas_thread
from opauc.errors import StatisticsOverflowError
from opauc.types import Floats, Labels

MOST_STEPS = 3
# A step is good enough when its residual has fallen to this share, in the norm of the preconditioner.
MOST_PRODUCTS, SMALL_RESIDUAL = 10, 0.1
# A step that gains less than this share of the loss is the last.
SMALLEST_GAIN = 1e-3
SHORTEST_STEP = 0.02
# Shares of the diagonal that the preconditioner gets in addition until it has a factor.
MORE_ON_DIAGONAL = (1e-5, 1e-3, 0.1)


@dataclass(frozen=True, eq=False)
class PenalizedLoss:
    """The logistic loss of weighted sparse rows plus w.P w / 2, P being `penalty`."""

    rows: csr_array
    labels: Labels
    weight: Floats
    penalty: csr_array

    def value(self, weights: Floats, scores: Floats) -> float:
        """Return the loss at these weights, whose scores of the rows are known."""
        losses = np.logaddexp(0.0, np.where(self.labels == 1, -scores, scores))
        return 0.5 * float(weights @ (self.penalty @ weights)) + float(self.weight @ losses)


def newton_descent(loss: PenalizedLoss, weights: Floats, gram: Floats) -> Floats:
    """Return the weights at which the loss is least, from weights nearby.

    Each step solves for the next weights by conjugate gradients, products with
    the rows taking the place of their Gram matrix. `gram`, of which the lower
    triangle is used up, is about that matrix: it preconditions, and plays no
    part in what is found.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.sparse import csr_array, eye_array
    >>> from opauc.additive.newton import PenalizedLoss, newton_descent
    >>> rows, labels = csr_array([[1.0, 0.0], [1.0, 1.0]] * 50), np.array([0, 1] * 48 + [1, 0] * 2, np.int8)
    >>> loss = PenalizedLoss(rows, labels, np.ones(100), csr_array(eye_array(2)))
    >>> newton_descent(loss, np.zeros(2), np.array([[25.0, 0.0], [12.5, 12.5]])).round(2).tolist()
    [-1.74, 3.77]
    """
    with one_blas_thread():
        factor = _preconditioner(gram, loss.penalty)
        scores = loss.rows @ weights
        value = loss.value(weights, scores)
        for _ in range(MOST_STEPS):
            step = _step(loss, weights, scores, factor)
            change, length = loss.rows @ step, 1.0
            while (after := loss.value(weights + length * step, scores + length * change)) > value:
                length /= 2.0
                if length < SHORTEST_STEP:
                    return weights
            weights, scores, before, value = weights + length * step, scores + length * change, value, after
            if before - value < SMALLEST_GAIN * before:
                break
    return weights


def _preconditioner(gram: Floats, penalty: csr_array) -> Floats:
    """Return the upper Cholesky factor of the penalized matrix; six digits serve."""
    entries = penalty.tocoo()
    np.add.at(gram, (entries.row, entries.col), entries.data)
    narrow = gram.T.astype(np.float32, order="F")
    diagonal = np.diagonal(narrow).copy()
    for more in MORE_ON_DIAGONAL:
        np.fill_diagonal(narrow, diagonal * (1.0 + more))
        factor, failed = lapack.spotrf(narrow, lower=0, clean=0)
        if not failed:
            upper: Floats = factor
            return upper
    raise StatisticsOverflowError(f"the sums of the rows are not positive definite at column {failed - 1}")


def _step(loss: PenalizedLoss, weights: Floats, scores: Floats, factor: Floats) -> Floats:
    """Return about the Newton step: conjugate gradients on the penalized Hessian."""
    curvature, pull = linearized(scores, loss.labels)
    curvature *= loss.weight
    residual = loss.rows.T @ (loss.weight * pull) - loss.penalty @ weights
    step = np.zeros_like(weights)
    direction = conditioned = lapack.spotrs(factor, residual.astype(np.float32), lower=0)[0].astype(np.float64)
    size = first = float(residual @ conditioned)
    for _ in range(MOST_PRODUCTS):
        if size <= SMALL_RESIDUAL**2 * first or size <= 0.0:
            break
        product = loss.rows.T @ (curvature * (loss.rows @ direction)) + loss.penalty @ direction
        length = size / float(direction @ product)
        step = step + length * direction
        residual = residual - length * product
        conditioned = lapack.spotrs(factor, residual.astype(np.float32), lower=0)[0].astype(np.float64)
        before, size = size, float(residual @ conditioned)
        direction = conditioned + (size / before) * direction
    return step
