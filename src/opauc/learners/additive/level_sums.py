"""Sums over the rows of each of very many levels, beside those of the columns of a card."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Self, TypeAlias

import numpy as np
from scipy.sparse import csr_array

from opauc.errors import IncompatibleMoments
from opauc.kernels.rows.csr_rows import CsrRows
from opauc.kernels.sums.level_products import add_level_products
from opauc.rows import Arrays, Floats, NamedArrays
from opauc.statistics.chunk_rows import csr_rows
from opauc.statistics.linearised_sums import LabelledRows, linearised_rows
from opauc.statistics.statistic import ROUNDING

PARTS = ("products", "curvature", "moment", "squares", "counts")
SHARED = ("data", "indices", "indptr")
# Labelled rows of a card's columns, and their levels as rows of zeros and ones.
LevelRows: TypeAlias = tuple[LabelledRows, csr_array]


@dataclass(frozen=True, eq=False)
class LevelSums:
    """What a Gram matrix has of the columns of levels, which are zero or one and of which few are one at once.

    A row z with curvature c that has a level adds c to the level's `curvature`,
    c z to its line of `products`, to its `moment` what `LinearisedSums` adds to
    that of a column, the square of its pull to `squares`, and its weight to
    `counts`; two levels that it has add c to their entry of `shared`, whose
    diagonal is left out.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.sparse import csr_array
    >>> from opauc.learners.additive.level_sums import LevelSums
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

    def emptied(self) -> Self:
        """Return the sums of no rows."""
        return self.empty(*self.products.shape)

    def update_all(self, parts: Iterable[LevelRows], point: Floats) -> LevelSums:
        """Return the sums of the rows so far and of all parts of more, linearised at that point."""
        adding = LevelAdding(self, point)
        for part, levels in parts:
            adding.add(part, levels)
        return adding.finish()

    def merge(self, other: LevelSums) -> Self:
        """Return the sums of both sets of rows."""
        self._refuse_other(other)
        summed = {name: getattr(self, name) + getattr(other, name) for name in PARTS}
        return replace(self, **summed, shared=csr_array(self.shared + other.shared))

    def without(self, other: LevelSums) -> Self:
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
            raise IncompatibleMoments(
                f"levels: expected {', '.join(sorted(expected))}, got {', '.join(sorted(arrays))}"
            )
        sums = {name: np.array(arrays[name]) for name in PARTS}
        data, indices, indptr = (np.array(arrays[f"shared.{name}"]) for name in SHARED)
        size = sums["counts"].size
        if sums["products"].shape[:-1] != (size,) or any(sums[name].shape != (size,) for name in PARTS[1:]):
            shapes = ", ".join(str(part.shape) for part in sums.values())
            raise IncompatibleMoments(f"levels: expected sums of {size} levels, got shapes {shapes}")
        if any(part.dtype != np.float64 or not np.isfinite(part).all() for part in (*sums.values(), data)):
            raise IncompatibleMoments("levels: expected finite float64 numbers")
        if (sums["counts"] < 0).any() or (sums["curvature"] < 0).any():
            raise IncompatibleMoments("levels: expected counts and curvature that are not negative")
        try:
            shared = csr_array((data, indices, indptr), shape=(size, size))
            shared.check_format()
        except ValueError as error:
            raise IncompatibleMoments(f"levels: shared: {error}") from error
        if abs(shared - shared.T).max() > ROUNDING * max(1.0, float(sums["curvature"].max(initial=0.0))):
            raise IncompatibleMoments("levels: shared: expected a symmetric matrix")
        return cls(**sums, shared=shared)

    def _refuse_other(self, other: LevelSums) -> None:
        if self.products.shape != other.products.shape:
            raise IncompatibleMoments("sums of different levels do not belong together")


class LevelAdding:
    """Sums to which parts of rows are added one after the other, copied once."""

    def __init__(self, sums: LevelSums, point: Floats) -> None:
        self._sums = {name: getattr(sums, name).copy() for name in PARTS}
        self._before, self._shared = sums.shared, csr_array(sums.shared.shape)
        self._point = point

    def add(self, part: LabelledRows, levels: csr_array) -> None:
        """Add labelled rows that have these levels."""
        rows, labels, weight = part
        sparse = rows if isinstance(rows, csr_array) else csr_array(rows, dtype=np.float64)
        curvature, target = linearised_rows(sparse, labels, weight, self._point)
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
