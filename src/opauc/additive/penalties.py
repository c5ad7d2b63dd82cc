"""Quadratic penalties on groups of columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from opauc.additive.basis.groups import ColumnGroups, GroupKind
from opauc.types import Floats


@dataclass(frozen=True, eq=False)
class Penalties:
    """The penalty strength * w.S w / 2 of each group, S being its matrix, or the identity where that is None.

    The intercept is free.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.additive.basis.groups import ColumnGroups, Group, GroupKind
    >>> from opauc.additive.penalties import Penalties
    >>> groups = ColumnGroups.of([Group(GroupKind.INTERCEPT, 0, 1), Group(GroupKind.LEVELS, 1, 2)])
    >>> Penalties(groups, (None, None)).sizes_of(np.array([9.0, 1.0, 2.0])).tolist()
    [0.0, 5.0]
    """

    groups: ColumnGroups
    matrices: Sequence[Floats | None]

    @property
    def free(self) -> NDArray[np.bool_]:
        """Which groups are not penalized."""
        return np.asarray(self.groups.kinds == GroupKind.INTERCEPT)

    def sizes_of(self, weights: Floats) -> Floats:
        """Return w.S w of each group."""
        sizes = self._summed(weights * weights)
        for number, columns, matrix in self._blocks():
            sizes[number] = weights[columns] @ matrix @ weights[columns]
        return sizes

    def traces_of(self, factor: Floats) -> Floats:
        """Return the trace of S V of each group, V being factor^T factor; only its lower triangle is not zero."""
        traces = self._summed(np.einsum("rc,rc->c", factor, factor, dtype=np.float64))
        for number, columns, matrix in self._blocks():
            part = factor[columns.start :, columns]
            traces[number] = np.sum((part.T @ part) * matrix)
        return traces

    def added_to(self, lower: Floats, strengths: Floats) -> Floats:
        """Return the lower triangle of a matrix with the penalties added."""
        total = lower.copy()
        plain = np.array([matrix is None for matrix in self.matrices]) & ~self.free
        total.flat[:: total.shape[0] + 1] += (strengths * plain)[self.groups.of_columns()]
        for number, columns, matrix in self._blocks():
            total[columns, columns] += strengths[number] * np.tril(matrix)
        return total

    def matrix(self, strengths: Floats) -> csr_array:
        """Return the matrix of all penalties together, each with its strength."""
        plain = np.array([matrix is None for matrix in self.matrices]) & ~self.free
        diagonal = np.arange(self.groups.n_columns)
        places, values = [(diagonal, diagonal)], [(strengths * plain)[self.groups.of_columns()]]
        for number, columns, matrix in self._blocks():
            down, across = np.nonzero(matrix)
            places.append((down + columns.start, across + columns.start))
            values.append(strengths[number] * matrix[down, across])
        at = tuple(np.concatenate(side) for side in zip(*places, strict=True))
        return csr_array((np.concatenate(values), at), shape=(diagonal.size,) * 2)

    def restricted(self, kept: NDArray[np.int64]) -> Penalties:
        """Return the penalties of some groups, whose columns then follow each other."""
        sizes = self.groups.sizes[kept]
        groups = ColumnGroups(self.groups.kinds[kept], np.append(0, np.cumsum(sizes)[:-1]), sizes)
        return Penalties(groups, [self.matrices[number] for number in kept])

    def _blocks(self) -> list[tuple[int, slice, Floats]]:
        """Return the groups that have a matrix."""
        starts, sizes = self.groups.starts.tolist(), self.groups.sizes.tolist()
        return [
            (number, slice(starts[number], starts[number] + sizes[number]), matrix)
            for number, matrix in enumerate(self.matrices)
            if matrix is not None
        ]

    def _summed(self, squares: Floats) -> Floats:
        sums: Floats = np.add.reduceat(squares, self.groups.starts)
        return np.where(self.free, 0.0, sums)
