"""Sums over the rows of each of very many levels, beside those of the columns of a basis."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import blas, lapack
from scipy.optimize import minimize_scalar
from scipy.sparse import csr_array

from opauc.additive.kernels.gram import add_level_products
from opauc.additive.penalties import Penalties
from opauc.additive.smoothing import STRONGEST, WEAKEST, factored, smoothed
from opauc.additive.sums import LabelledRows, LinearizedSums, linearized_rows
from opauc.core.kernels.sparse_rows import CsrRows
from opauc.core.mergeable import ROUNDING
from opauc.core.row_blocks import csr_rows
from opauc.errors import IncompatibleMomentsError
from opauc.types import Arrays, Floats, NamedArrays

PARTS = ("products", "curvature", "moment", "squares", "counts")
SHARED = ("data", "indices", "indptr")
# Labeled rows of a basis's columns, and their levels as rows of zeros and ones.
LevelRows: TypeAlias = tuple[LabelledRows, csr_array]


@dataclass(frozen=True, eq=False)
class LevelSums:
    """What a Gram matrix has of the columns of levels, which are zero or one and of which few are one at once.

    A row z with curvature c that has a level adds c to the level's `curvature`,
    c z to its line of `products`, to its `moment` what `LinearizedSums` adds to
    that of a column, the square of its pull to `squares`, and its weight to
    `counts`; two levels that it has add c to their entry of `shared`, whose
    diagonal is left out.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.sparse import csr_array
    >>> from opauc.additive.random_effects import LevelSums
    >>> rows, labels = csr_array([[1.0, 2.0], [1.0, 0.0]]), np.array([1, 0], np.int8)
    >>> levels = csr_array(np.array([[0.0, 1.0, 0.0], [0.0, 1.0, 1.0]]))
    >>> sums = LevelSums.empty(3, 2).update_all([((rows, labels, None), levels)], point=np.zeros(2))
    >>> sums.curvature.tolist(), sums.products[1].tolist(), sums.shared.toarray()[1].tolist()
    ([0.0, 0.5, 0.25], [0.5, 0.5], [0.0, 0.0, 0.25])
    """

    products: Floats  # (n_levels, n_columns)
    curvature: Floats
    moment: Floats
    squares: Floats
    counts: Floats
    shared: csr_array  # symmetric

    @classmethod
    def empty(cls, n_levels: int, n_columns: int) -> Self:
        """Return the sums of no rows."""
        curvature, moment, squares, counts = np.zeros((4, n_levels))
        shared = csr_array((n_levels, n_levels))
        return cls(np.zeros((n_levels, n_columns)), curvature, moment, squares, counts, shared)

    @property
    def size(self) -> int:
        """How many levels there are."""
        return self.counts.size

    def empty_copy(self) -> Self:
        """Return the sums of no rows."""
        return self.empty(*self.products.shape)

    def update_all(self, parts: Iterable[LevelRows], point: Floats) -> LevelSums:
        """Return the sums of the rows so far and of all parts of more, linearized at that point."""
        adding = LevelAdding(self, point)
        for part, levels in parts:
            adding.add(part, levels)
        return adding.finish()

    def merge(self, other: LevelSums) -> Self:
        """Return the sums of both sets of rows."""
        self._refuse_other(other)
        summed = {name: getattr(self, name) + getattr(other, name) for name in PARTS}
        return replace(self, **summed, shared=csr_array(self.shared + other.shared))

    def subtract(self, other: LevelSums) -> Self:
        """Return the sums of the rows that are not in `other`; none of a level counts for less than nothing."""
        self._refuse_other(other)
        left = {name: getattr(self, name) - getattr(other, name) for name in PARTS}
        gone = left["counts"] <= ROUNDING * self.counts
        for part in left.values():
            part[gone] = 0.0
        there = np.where(gone, 0.0, 1.0)
        shared = csr_array((self.shared - other.shared) * there[:, None] * there)
        shared.eliminate_zeros()
        return replace(self, **left, shared=shared)

    def to_arrays(self) -> Arrays:
        """Return copies of the sums, for a file or the network."""
        arrays = {name: getattr(self, name).copy() for name in PARTS}
        return arrays | {f"shared.{name}": np.array(getattr(self.shared, name)) for name in SHARED}

    @classmethod
    def from_arrays(cls, arrays: NamedArrays) -> Self:
        """Return the sums that gave these arrays, refused unless rows can have."""
        expected = {*PARTS, *(f"shared.{name}" for name in SHARED)}
        if set(arrays) != expected:
            raise IncompatibleMomentsError(
                f"levels: expected {', '.join(sorted(expected))}, got {', '.join(sorted(arrays))}"
            )
        sums = {name: np.array(arrays[name]) for name in PARTS}
        data, indices, indptr = (np.array(arrays[f"shared.{name}"]) for name in SHARED)
        size = sums["counts"].size
        if sums["products"].shape[:-1] != (size,) or any(sums[name].shape != (size,) for name in PARTS[1:]):
            shapes = ", ".join(str(part.shape) for part in sums.values())
            raise IncompatibleMomentsError(f"levels: expected sums of {size} levels, got shapes {shapes}")
        if any(part.dtype != np.float64 or not np.isfinite(part).all() for part in (*sums.values(), data)):
            raise IncompatibleMomentsError("levels: expected finite float64 numbers")
        if (sums["counts"] < 0).any() or (sums["curvature"] < 0).any():
            raise IncompatibleMomentsError("levels: expected counts and curvature that are not negative")
        try:
            shared = csr_array((data, indices, indptr), shape=(size, size))
            shared.check_format()
        except ValueError as error:
            raise IncompatibleMomentsError(f"levels: shared: {error}") from error
        if abs(shared - shared.T).max() > ROUNDING * max(1.0, float(sums["curvature"].max(initial=0.0))):
            raise IncompatibleMomentsError("levels: shared: expected a symmetric matrix")
        return cls(**sums, shared=shared)

    def _refuse_other(self, other: LevelSums) -> None:
        if self.products.shape != other.products.shape:
            raise IncompatibleMomentsError("sums of different levels do not belong together")


class LevelAdding:
    """Sums to which parts of rows are added one after the other, copied once."""

    def __init__(self, sums: LevelSums, point: Floats) -> None:
        self._sums = {name: getattr(sums, name).copy() for name in PARTS}
        self._before, self._shared = sums.shared, csr_array(sums.shared.shape)
        self._point = point

    def add(self, part: LabelledRows, levels: csr_array) -> None:
        """Add labeled rows that have these levels."""
        rows, labels, weight = part
        sparse = rows if isinstance(rows, csr_array) else csr_array(rows, dtype=np.float64)
        curvature, target = linearized_rows(sparse, labels, weight, self._point)
        add_level_products(_entries(levels), _entries(sparse), curvature, self._sums["products"])
        self._sums["curvature"] += levels.T @ curvature
        self._sums["moment"] += levels.T @ target
        self._sums["squares"] += levels.T @ (target - curvature * (sparse @ self._point)) ** 2
        self._sums["counts"] += levels.T @ (np.ones(labels.size) if weight is None else weight)
        if levels.nnz > np.count_nonzero(np.diff(levels.indptr)):  # some rows have two
            both = (levels.T @ (levels * curvature[:, None])).tocoo()
            apart = both.row != both.col
            entries = both.data[apart], (both.row[apart], both.col[apart])
            self._shared = self._shared + csr_array(entries, shape=self._shared.shape)

    def finish(self) -> LevelSums:
        """Return the sums of all rows."""
        shared = csr_array(self._before + self._shared)
        return LevelSums(**self._sums, shared=shared)


def _entries(rows: csr_array) -> CsrRows:
    return csr_rows(rows.data, rows.indices, rows.indptr)


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
    sums: LinearizedSums, levels: LevelSums, owners: NDArray[np.int64], penalties: Penalties, strengths: Floats
) -> LevelFit:
    """Return the penalized minimizer over columns and levels together, and strengths that suit it.

    Parameters
    ----------
    sums : LinearizedSums
        Of the columns.
    levels : LevelSums
        Of the levels, over the same rows.
    owners : ndarray of shape (n_levels,)
        The input of each level, counted from zero; those of an input are penalized together.
    penalties : Penalties
        Groups of the columns.
    strengths : ndarray of shape (n_groups,)
        To begin with.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.sparse import csr_array
    >>> from opauc.additive.basis.groups import ColumnGroups, Group, GroupKind
    >>> from opauc.additive.random_effects import smoothed_with_levels
    >>> from opauc.additive.random_effects import LevelSums
    >>> from opauc.additive.penalties import Penalties
    >>> from opauc.additive.sums import LinearizedSums
    >>> labels = np.array([1, 1, 1, 0, 0, 0] * 20, np.int8)
    >>> rows, levels = csr_array(np.ones((120, 1))), csr_array(np.repeat(np.eye(2), 3, axis=0).tolist() * 20)
    >>> sums = LinearizedSums.empty(1).update(rows, labels)
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

    sums: LinearizedSums
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
