"""How strong each group's penalty is, from the sums alone: restricted maximum likelihood by Fellner and Schall."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.linalg import blas, lapack

from opauc.additive.basis.groups import GroupKind
from opauc.additive.penalties import Penalties
from opauc.errors import StatisticsOverflowError
from opauc.types import Floats

WEAKEST, STRONGEST = 0.02, 1e5
# Groups of several columns count as if so many columns of their kind had been seen beside them.
BORROWED = 3.0
SHARED = (GroupKind.HATS, GroupKind.LEVELS, GroupKind.PAIR)
# Strengths are good enough when their logarithms move by less than this, on average over the columns.
STILL = 0.15
# Of more columns the steps are made in float32, and the solution is refined so many times.
FEW_COLUMNS, REFINEMENTS = 400, 3


class Smoothed(NamedTuple):
    """Weights, and the strengths that the next step would take."""

    weights: Floats
    strengths: Floats


def smoothed(gram: Floats, moment: Floats, penalties: Penalties, strengths: Floats, most_steps: int) -> Smoothed:
    """Return the penalized minimizer of w.gram w / 2 - moment.w and strengths that suit it.

    A step solves for the weights and puts each strength to the value at which
    the penalty of the weights is what it should be on average, given the
    columns that the data leave undecided.

    Parameters
    ----------
    gram : ndarray of shape (d, d)
        Its lower triangle; zero above the diagonal.
    moment : ndarray of shape (d,)
        The other side.
    penalties : Penalties
        Groups of the columns.
    strengths : ndarray of shape (n_groups,)
        To begin with.
    most_steps : int
        Each costs a Cholesky factor and its inverse.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.additive.basis.groups import ColumnGroups, Group, GroupKind
    >>> from opauc.additive.smoothing import smoothed
    >>> from opauc.additive.penalties import Penalties
    >>> groups = ColumnGroups.of([Group(GroupKind.INTERCEPT, 0, 1), Group(GroupKind.LEVELS, 1, 2)])
    >>> penalties = Penalties(groups, (None, None))
    >>> found = smoothed(np.diag([9.0, 9.0, 9.0]), np.array([9.0, 9.0, -9.0]), penalties, np.ones(2), 50)
    >>> found.weights.round(2).tolist()
    [1.0, 0.9, -0.9]
    """
    free = penalties.free
    shares = np.where(free, 0, penalties.groups.sizes) / max(1, penalties.groups.sizes[~free].sum())
    weights = np.zeros_like(moment)
    for _ in range(most_steps):
        total = penalties.added_to(gram, strengths)
        weights, inverse = _narrow_solution(total, moment) if moment.size > FEW_COLUMNS else _solution(total, moment)
        before, strengths = strengths, _next_strengths(penalties, strengths, inverse, weights)
        moved = np.abs(np.log(np.where(free, 1.0, strengths) / np.where(free, 1.0, before)))
        if moved @ shares < STILL:
            break
    return Smoothed(weights, strengths)


def solved(gram: Floats, moment: Floats, penalties: Penalties, strengths: Floats) -> Floats:
    """Return the penalized minimizer at given strengths."""
    weights: Floats = lapack.dpotrs(factored(penalties.added_to(gram, strengths)), moment, lower=0)[0]
    return weights


def factored(lower: Floats) -> Floats:
    """Return the upper Cholesky factor of a matrix whose lower triangle is used up; the other is left as it is."""
    # Read column by column, as LAPACK does, the lower triangle is an upper one: nothing is copied.
    upper, failed = lapack.dpotrf(lower.T, lower=0, clean=0, overwrite_a=1)
    if failed:
        raise StatisticsOverflowError(f"the sums of the rows are not positive definite at column {failed - 1}")
    factor: Floats = upper
    return factor


def _solution(lower: Floats, moment: Floats) -> tuple[Floats, Floats]:
    """Return the solution of a system and the transposed inverse of its upper factor.

    `lower` is used up, and must be zero above the diagonal, as what is returned is.
    """
    upper = factored(lower)
    weights: Floats = lapack.dpotrs(upper, moment, lower=0)[0]
    inverse, _ = lapack.dtrtri(upper, lower=0, overwrite_c=1)
    return weights, inverse.T


def _narrow_solution(lower: Floats, moment: Floats) -> tuple[Floats, Floats]:
    """Return the same from a factor in float32, half the time: the solution is refined, traces need no more digits."""
    scale = 1.0 / np.sqrt(np.diagonal(lower))
    narrow = np.empty(lower.shape, np.float32)
    np.multiply(lower, scale[:, None], out=narrow, casting="same_kind")
    narrow *= scale.astype(np.float32)
    upper, failed = lapack.spotrf(narrow.T, lower=0, clean=0, overwrite_a=1)
    if failed:
        return _solution(lower, moment)
    weights = np.zeros_like(moment)
    for _ in range(REFINEMENTS):
        residual = moment - blas.dsymv(1.0, lower.T, weights, lower=0)
        size = max(float(np.abs(residual).max()), 1e-300)
        weights = weights + scale * (
            size * lapack.spotrs(upper, (scale * residual / size).astype(np.float32), lower=0)[0]
        )
    inverse, _ = lapack.strtri(upper, lower=0, overwrite_c=1)
    factor: Floats = inverse.T * scale.astype(np.float32)
    return weights, factor


def _next_strengths(penalties: Penalties, strengths: Floats, factor: Floats, weights: Floats) -> Floats:
    """Return the strengths after one step; factor^T factor is the inverse of the penalized matrix."""
    kinds, _, sizes = penalties.groups
    decided = np.maximum(sizes - strengths * penalties.traces_of(factor), 1e-6)
    used = penalties.sizes_of(weights) + 1e-12
    after = np.zeros_like(strengths)
    for kind in np.unique(kinds[kinds != GroupKind.INTERCEPT]).tolist():
        of_kind = kinds == kind
        common = decided[of_kind].sum() / used[of_kind].sum()
        if kind in SHARED:
            after[of_kind] = (decided[of_kind] + BORROWED) / (used[of_kind] + BORROWED / common)
        else:
            after[of_kind] = common
    return np.where(kinds == GroupKind.INTERCEPT, 0.0, np.clip(after, WEAKEST, STRONGEST))
