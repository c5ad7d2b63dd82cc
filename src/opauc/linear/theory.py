"""Quantities of the paper's theorems: the step size of Theorem 2 and the effective numerical rank of Theorem 3."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from opauc.core.parameters import NON_NEGATIVE, POSITIVE, Count, check_param
from opauc.errors import Parameter, ParameterError
from opauc.types import Floats

# Asymmetry and negative eigenvalues up to this share of the largest absolute value are rounding.
ROUNDING = 1e-8


def theorem_step_size(n_rows: int, best_loss: float, max_norm: float, alpha: float) -> float:
    """Return the constant step size under which Theorem 2 bounds the regret of `OPAUC(solver="sgd")`.

    It is 1 / (k + sqrt(k^2 + 2 k n_rows best_loss / max_norm^2)) with
    k = 4 + alpha. For rows of norm at most one, the regret is then at most
    2 k max_norm^2 + max_norm sqrt(2 k n_rows best_loss). The paper prints the
    step without the factor 2, for which its proof gives a larger bound.

    Parameters
    ----------
    n_rows : int
        Number T of rows of the whole pass, known before it.
    best_loss : float
        Bound L* on the mean loss per row of the best weights.
    max_norm : float
        Bound B on the norm of the best weights.
    alpha : float
        Strength of the L2 penalty.

    Returns
    -------
    float
        The step size, for `learning_rate="constant"` and `standardize=False`.

    Raises
    ------
    ValueError
        If a parameter is not a finite number, or out of its range.

    Examples
    --------
    >>> from opauc.linear import theorem_step_size
    >>> theorem_step_size(1000, best_loss=0.25, max_norm=2.0, alpha=0.0)
    0.03743126676640219
    >>> theorem_step_size(1000, best_loss=0.0, max_norm=2.0, alpha=0.0)
    0.125
    """
    owner = "theorem_step_size"
    rows = check_param(owner, "n_rows", n_rows, Count(1))
    loss = check_param(owner, "best_loss", best_loss, NON_NEGATIVE)
    norm = check_param(owner, "max_norm", max_norm, POSITIVE)
    curvature = 4.0 + check_param(owner, "alpha", alpha, NON_NEGATIVE)
    # sqrt(k^2 + y^2) without overflow of the squares.
    root = np.hypot(curvature, np.sqrt(2.0 * curvature) * np.sqrt(rows * 1.0) * np.sqrt(loss) / norm)
    return float(1.0 / (curvature + root))


def effective_rank(S: ArrayLike, mu: float) -> float:
    """Return the effective numerical rank of a covariance matrix: the sum of v / (mu + v) over its eigenvalues v.

    It is at most the rank, and near it for small `mu`. Theorem 3 bounds the
    rank of a sketch by it, with `mu` the L2 penalty.

    Parameters
    ----------
    S : array-like of shape (n_features, n_features)
        Symmetric positive semi-definite matrix.
    mu : float
        Eigenvalues far below `mu` do not count.

    Returns
    -------
    float
        The effective numerical rank.

    Raises
    ------
    ValueError
        If S is not a finite, symmetric, positive semi-definite matrix, or `mu`
        not a positive number.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.linear import effective_rank
    >>> effective_rank(np.diag([1.0, 1.0, 0.0]), mu=1.0)
    1.0
    >>> round(effective_rank(np.diag([1.0, 1.0, 1e-9]), mu=1e-4), 3)
    2.0
    """
    penalty = check_param("effective_rank", "mu", mu, POSITIVE)
    eigenvalues = np.linalg.eigvalsh(_symmetric(S))
    largest = np.abs(eigenvalues).max(initial=0.0)
    if eigenvalues.min(initial=0.0) < -ROUNDING * largest:
        raise ParameterError(
            Parameter("S"), f" must be positive semi-definite, got a matrix with the eigenvalue {eigenvalues.min():.3g}"
        )
    positive = np.maximum(eigenvalues, 0.0)
    return float(np.sum(positive / (penalty + positive)))


def _symmetric(S: ArrayLike) -> Floats:
    """Return the matrix as float64; raise where it is not square, finite and symmetric."""
    try:
        matrix = np.asarray(S, dtype=np.float64)
    except (TypeError, ValueError):
        raise ParameterError(Parameter("S"), f" must be a matrix of numbers, got {S!r}") from None
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise ParameterError(Parameter("S"), f" must be a square matrix, got shape {matrix.shape}")
    if not np.isfinite(matrix).all():
        raise ParameterError(Parameter("S"), " must have finite values, got NaN or infinity")
    asymmetry = np.abs(matrix - matrix.T).max(initial=0.0)
    if asymmetry > ROUNDING * np.abs(matrix).max(initial=0.0):
        raise ParameterError(Parameter("S"), f" must be symmetric, got entries that differ by {asymmetry:.3g}")
    return matrix
