"""Weights of the columns of a card and of very many levels beside them, without a Gram matrix of the levels."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import blas, lapack
from scipy.optimize import minimize_scalar

from opauc.learners.additive.fellner_schall import STRONGEST, WEAKEST, factored, smoothed
from opauc.learners.additive.level_sums import LevelSums
from opauc.learners.additive.penalties import Penalties
from opauc.rows import Floats
from opauc.statistics.linearised_sums import LinearisedSums

# Each finds strengths anew from weights at those before.
STEPS = 3
# Conjugate gradients end when the residual has fallen to this share, in the norm of the preconditioner.
MOST_PRODUCTS, SMALL_RESIDUAL = 100, 1e-10


class LevelFit(NamedTuple):
    """Weights of the columns, those of the levels, and the strengths of the penalties on both."""

    weights: Floats
    of_levels: Floats
    strengths: Floats
    level_strengths: Floats  # one an input


def smoothed_with_levels(
    sums: LinearisedSums, levels: LevelSums, owners: NDArray[np.int64], penalties: Penalties, strengths: Floats
) -> LevelFit:
    """Return the penalised minimiser over columns and levels together, and strengths that suit it.

    Parameters
    ----------
    sums : LinearisedSums
        Of the columns.
    levels : LevelSums
        Of the levels, over the same rows.
    owners : ndarray of shape (n_levels,)
        The input of each level, counted from zero; those of an input are penalised together.
    penalties : Penalties
        Groups of the columns.
    strengths : ndarray of shape (n_groups,)
        To begin with.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.sparse import csr_array
    >>> from opauc.column_groups import ColumnGroups, Group, GroupKind
    >>> from opauc.learners.additive.level_solution import smoothed_with_levels
    >>> from opauc.learners.additive.level_sums import LevelSums
    >>> from opauc.learners.additive.penalties import Penalties
    >>> from opauc.statistics import LinearisedSums
    >>> labels = np.array([1, 1, 1, 0, 0, 0] * 20, np.int8)
    >>> rows, levels = csr_array(np.ones((120, 1))), csr_array(np.repeat(np.eye(2), 3, axis=0).tolist() * 20)
    >>> sums = LinearisedSums.empty(1).update(rows, labels)
    >>> of_levels = LevelSums.empty(2, 1).update_all([((rows, labels, None), levels)], sums.point)
    >>> penalties = Penalties(ColumnGroups.of([Group(GroupKind.INTERCEPT, 0, 1)]), (None,))
    >>> fit = smoothed_with_levels(sums, of_levels, np.zeros(2, int), penalties, np.zeros(1))
    >>> fit.of_levels.round(1).tolist()
    [2.0, -2.0]
    """
    n_inputs = int(owners.max()) + 1
    of_inputs = np.ones(n_inputs)
    for _ in range(STEPS):
        system = BorderedSystem(sums, levels, penalties, strengths, of_inputs[owners], n_inputs)
        of_inputs = _next_strengths(levels, owners, system.solved())
        strengths = smoothed(*system.eliminated, penalties, strengths, 1).strengths
    system = BorderedSystem(sums, levels, penalties, strengths, of_inputs[owners], n_inputs)
    return LevelFit(*system.solved(), strengths, of_inputs)


@dataclass(frozen=True, eq=False)
class BorderedSystem:
    """The equations of columns and levels at given strengths; a row has at most one level of each input."""

    sums: LinearisedSums
    levels: LevelSums
    penalties: Penalties
    strengths: Floats
    level_strengths: Floats  # one a level
    n_inputs: int

    @cached_property
    def eliminated(self) -> tuple[Floats, Floats]:
        """The matrix, its lower triangle, and the other side of the columns when the levels are eliminated.

        That is so to the last bit with the levels of one input. With those of
        k inputs, which rows share, k times the diagonal stands for their
        matrix: it is no less, so that what is left stays positive definite.
        """
        products, diagonal = self.levels.products, self._diagonal
        scaled = products / np.sqrt(diagonal)[:, None]
        gram = self.sums.gram - np.tril(blas.dsyrk(1.0, scaled.T, lower=1))
        return gram, self.sums.moment - products.T @ (self.levels.moment / diagonal)

    def solved(self) -> tuple[Floats, Floats]:
        """Return the weights of the columns and of the levels: conjugate gradients that eliminating preconditions."""
        rest = self.sums.moment, self.levels.moment
        columns, levels = np.zeros_like(rest[0]), np.zeros_like(rest[1])
        direction = conditioned = self._conditioned(*rest)
        size = first = _product(rest, conditioned)
        for _ in range(MOST_PRODUCTS):
            if size <= SMALL_RESIDUAL**2 * first or size <= 0.0:
                break
            image = self._times(*direction)
            length = size / _product(direction, image)
            columns, levels = columns + length * direction[0], levels + length * direction[1]
            rest = rest[0] - length * image[0], rest[1] - length * image[1]
            conditioned = self._conditioned(*rest)
            before, size = size, _product(rest, conditioned)
            share = size / before
            direction = conditioned[0] + share * direction[0], conditioned[1] + share * direction[1]
        return columns, levels

    @cached_property
    def _diagonal(self) -> Floats:
        diagonal: Floats = self.n_inputs * self.levels.curvature + self.level_strengths
        return diagonal

    @cached_property
    def _factor(self) -> Floats:
        return factored(self.penalties.added_to(self.eliminated[0], self.strengths))

    @cached_property
    def _lower(self) -> Floats:
        return self.penalties.added_to(self.sums.gram, self.strengths)

    def _conditioned(self, columns: Floats, levels: Floats) -> tuple[Floats, Floats]:
        """Return the solution with the diagonal in the place of the levels' matrix."""
        products, diagonal = self.levels.products, self._diagonal
        found: Floats = lapack.dpotrs(self._factor, columns - products.T @ (levels / diagonal), lower=0)[0]
        return found, (levels - products @ found) / diagonal

    def _times(self, columns: Floats, levels: Floats) -> tuple[Floats, Floats]:
        """Return the product of the whole matrix with weights."""
        own = blas.dsymv(1.0, self._lower.T, columns, lower=0) + self.levels.products.T @ levels
        theirs = self.levels.products @ columns + self.levels.shared @ levels
        return own, theirs + (self.levels.curvature + self.level_strengths) * levels


def _product(one: tuple[Floats, Floats], other: tuple[Floats, Floats]) -> float:
    return float(one[0] @ other[0] + one[1] @ other[1])


def _next_strengths(levels: LevelSums, owners: NDArray[np.int64], fit: tuple[Floats, Floats]) -> Floats:
    """Return the strength of each input at which what all other weights leave to its levels is likeliest."""
    weights, of_levels = fit
    left = levels.moment - levels.products @ weights - levels.shared @ of_levels
    noise = levels.squares.sum() / max(float(levels.curvature.sum()), 1e-300)
    found = []
    for own in (owners == k for k in range(int(owners.max()) + 1)):
        has_rows = own & (levels.curvature > 0.0)
        found.append(_likeliest(levels.curvature[has_rows], left[has_rows] ** 2, float(noise)))
    return np.array(found)


def _likeliest(curvature: Floats, squares: Floats, noise: float) -> float:
    """Return the strength s that is likeliest if what a level of curvature c is left has variance c noise + c c / s."""

    def deviance(log_strength: float) -> float:
        variance = curvature * (noise + curvature / np.exp(log_strength))
        return float((np.log(variance) + squares / variance).sum())

    found = minimize_scalar(deviance, bounds=(np.log(WEAKEST), np.log(STRONGEST)), method="bounded")
    return float(np.exp(found.x))
