"""Smoothing parameters from the sums alone: restricted maximum likelihood by the Fellner-Schall iteration."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.linalg import blas, lapack

from opauc.additive.basis.groups import GroupKind
from opauc.additive.penalties import Penalties
from opauc.additive.policy import SMOOTHING_POLICY, SmoothingPolicy
from opauc.errors import StatisticsOverflowError
from opauc.types import Floats

# Kinds whose groups have a smoothing parameter each, shrunk towards that of their kind; other kinds have one in common.
GROUPWISE = (GroupKind.SPLINE, GroupKind.CATEGORICAL, GroupKind.PAIR)
# Iterative refinements of a solution with a float32 factor: three reach float64 accuracy.
REFINEMENTS = 3


class Smoothed(NamedTuple):
    """Weights, and the smoothing parameters for the next step."""

    weights: Floats
    lambdas: Floats


def smooth(
    gram: Floats,
    rhs: Floats,
    penalties: Penalties,
    lambdas: Floats,
    max_steps: int,
    policy: SmoothingPolicy = SMOOTHING_POLICY,
) -> Smoothed:
    """Return the penalized minimizer of w.gram w / 2 - rhs.w, and its smoothing parameters.

    A step solves for the weights, then sets each smoothing parameter to the value
    at which the penalty of the weights equals its expectation, given the
    effective degrees of freedom (Fellner and Schall).

    Parameters
    ----------
    gram : ndarray of shape (d, d)
        Lower triangle; zero above the diagonal.
    rhs : ndarray of shape (d,)
        Right-hand side.
    penalties : Penalties
        Penalties of the groups of columns.
    lambdas : ndarray of shape (n_groups,)
        Initial smoothing parameters.
    max_steps : int
        Maximum number of steps; each costs a Cholesky factor and its inverse.
    policy : SmoothingPolicy
        Bounds and tolerance of the smoothing parameters.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.additive.basis.groups import ColumnGroups, Group, GroupKind
    >>> from opauc.additive.smoothing import smooth
    >>> from opauc.additive.penalties import Penalties
    >>> groups = ColumnGroups.of([Group(GroupKind.INTERCEPT, 0, 1), Group(GroupKind.CATEGORICAL, 1, 2)])
    >>> penalties = Penalties(groups, (None, None))
    >>> fit = smooth(np.diag([9.0, 9.0, 9.0]), np.array([9.0, 9.0, -9.0]), penalties, np.ones(2), 50)
    >>> fit.weights.round(2).tolist()
    [1.0, 0.9, -0.9]
    """
    free = penalties.free
    shares = np.where(free, 0, penalties.groups.sizes) / max(1, penalties.groups.sizes[~free].sum())
    weights = np.zeros_like(rhs)
    for _ in range(max_steps):
        total = penalties.add_to(gram, lambdas)
        narrow = rhs.size > policy.float32_columns
        weights, inverse = _solve_in_float32(total, rhs) if narrow else _solve_with_inverse(total, rhs)
        before, lambdas = lambdas, _next_lambdas(penalties, lambdas, inverse, weights, policy)
        changes = np.abs(np.log(np.where(free, 1.0, lambdas) / np.where(free, 1.0, before)))
        if changes @ shares < policy.lambda_tolerance:
            break
    return Smoothed(weights, lambdas)


def solve(gram: Floats, rhs: Floats, penalties: Penalties, lambdas: Floats) -> Floats:
    """Return the penalized minimizer at given smoothing parameters."""
    weights: Floats = lapack.dpotrs(factorize(penalties.add_to(gram, lambdas)), rhs, lower=0)[0]
    return weights


def factorize(lower: Floats) -> Floats:
    """Return the upper Cholesky factor of a matrix; its lower triangle is overwritten, the other one kept."""
    # LAPACK reads column by column, so that the lower triangle is an upper one to it: nothing is copied.
    upper, failed = lapack.dpotrf(lower.T, lower=0, clean=0, overwrite_a=1)
    if failed:
        raise StatisticsOverflowError(f"the sums of the rows are not positive definite at column {failed - 1}")
    factor: Floats = upper
    return factor


def _solve_with_inverse(lower: Floats, rhs: Floats) -> tuple[Floats, Floats]:
    """Return the solution of a system, and the transposed inverse of its upper factor.

    `lower` is overwritten, and must be zero above the diagonal, as the inverse then is.
    """
    upper = factorize(lower)
    weights: Floats = lapack.dpotrs(upper, rhs, lower=0)[0]
    inverse, _ = lapack.dtrtri(upper, lower=0, overwrite_c=1)
    return weights, inverse.T


def _solve_in_float32(lower: Floats, rhs: Floats) -> tuple[Floats, Floats]:
    """Return the same from a float32 factor in half the time: the solution is refined, traces need fewer digits."""
    scale = 1.0 / np.sqrt(np.diagonal(lower))
    narrow = np.empty(lower.shape, np.float32)
    np.multiply(lower, scale[:, None], out=narrow, casting="same_kind")
    narrow *= scale.astype(np.float32)
    upper, failed = lapack.spotrf(narrow.T, lower=0, clean=0, overwrite_a=1)
    if failed:
        return _solve_with_inverse(lower, rhs)
    weights = np.zeros_like(rhs)
    for _ in range(REFINEMENTS):
        residual = rhs - blas.dsymv(1.0, lower.T, weights, lower=0)
        size = max(float(np.abs(residual).max()), 1e-300)
        weights = weights + scale * (
            size * lapack.spotrs(upper, (scale * residual / size).astype(np.float32), lower=0)[0]
        )
    inverse, _ = lapack.strtri(upper, lower=0, overwrite_c=1)
    factor: Floats = inverse.T * scale.astype(np.float32)
    return weights, factor


def _next_lambdas(
    penalties: Penalties, lambdas: Floats, factor: Floats, weights: Floats, policy: SmoothingPolicy
) -> Floats:
    """Return the smoothing parameters after one step; factor^T factor is the inverse of the penalized matrix."""
    kinds, _, sizes = penalties.groups
    degrees_of_freedom = np.maximum(sizes - lambdas * penalties.traces(factor), 1e-6)
    roughness = penalties.quadratic_forms(weights) + 1e-12
    after = np.zeros_like(lambdas)
    for kind in np.unique(kinds[kinds != GroupKind.INTERCEPT]).tolist():
        of_kind = kinds == kind
        common = degrees_of_freedom[of_kind].sum() / roughness[of_kind].sum()
        if kind in GROUPWISE:
            borrowed = policy.borrowed_columns
            after[of_kind] = (degrees_of_freedom[of_kind] + borrowed) / (roughness[of_kind] + borrowed / common)
        else:
            after[of_kind] = common
    return np.where(kinds == GroupKind.INTERCEPT, 0.0, np.clip(after, policy.min_lambda, policy.max_lambda))
