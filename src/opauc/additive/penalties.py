"""Quadratic penalties of groups of columns."""

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
    """The penalty lambda * w.S w / 2 of each group, S being its matrix, or the identity if that is None.

    The intercept is not penalized.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.additive.basis.groups import ColumnGroups, Group, GroupKind
    >>> from opauc.additive.penalties import Penalties
    >>> groups = ColumnGroups.of([Group(GroupKind.INTERCEPT, 0, 1), Group(GroupKind.CATEGORICAL, 1, 2)])
    >>> Penalties(groups, (None, None)).quadratic_forms(np.array([9.0, 1.0, 2.0])).tolist()
    [0.0, 5.0]
    """

    groups: ColumnGroups
    matrices: Sequence[Floats | None]

    @property
    def free(self) -> NDArray[np.bool_]:
        """Which groups are not penalized."""
        return np.asarray(self.groups.kinds == GroupKind.INTERCEPT)

    def quadratic_forms(self, weights: Floats) -> Floats:
        """Return w.S w of each group."""
        forms = self._sum_groups(weights * weights)
        for number, columns, matrix in self._blocks():
            forms[number] = weights[columns] @ matrix @ weights[columns]
        return forms

    def traces(self, factor: Floats) -> Floats:
        """Return the trace of S V of each group, where V = factor^T factor and `factor` is lower triangular."""
        traces = self._sum_groups(np.einsum("rc,rc->c", factor, factor, dtype=np.float64))
        for number, columns, matrix in self._blocks():
            part = factor[columns.start :, columns]
            traces[number] = np.sum((part.T @ part) * matrix)
        return traces

    def add_to(self, lower: Floats, lambdas: Floats) -> Floats:
        """Return the lower triangle of a matrix with the penalties added."""
        total = lower.copy()
        is_identity = np.array([matrix is None for matrix in self.matrices]) & ~self.free
        total.flat[:: total.shape[0] + 1] += (lambdas * is_identity)[self.groups.of_columns()]
        for number, columns, matrix in self._blocks():
            total[columns, columns] += lambdas[number] * np.tril(matrix)
        return total

    def matrix(self, lambdas: Floats) -> csr_array:
        """Return the sum of all penalty matrices, each times its smoothing parameter."""
        is_identity = np.array([matrix is None for matrix in self.matrices]) & ~self.free
        diagonal = np.arange(self.groups.n_columns)
        positions, values = [(diagonal, diagonal)], [(lambdas * is_identity)[self.groups.of_columns()]]
        for number, columns, matrix in self._blocks():
            at = np.nonzero(matrix)
            positions.append((at[0] + columns.start, at[1] + columns.start))
            values.append(lambdas[number] * matrix[at])
        indices = tuple(np.concatenate(axis) for axis in zip(*positions, strict=True))
        return csr_array((np.concatenate(values), indices), shape=(diagonal.size,) * 2)

    def restrict(self, kept: NDArray[np.int64]) -> Penalties:
        """Return the penalties of the given groups only, with their columns renumbered consecutively."""
        sizes = self.groups.sizes[kept]
        groups = ColumnGroups(self.groups.kinds[kept], np.append(0, np.cumsum(sizes)[:-1]), sizes)
        return Penalties(groups, [self.matrices[number] for number in kept])

    def _blocks(self) -> list[tuple[int, slice, Floats]]:
        """Return number, columns and matrix of the groups that have a matrix."""
        starts, sizes = self.groups.starts.tolist(), self.groups.sizes.tolist()
        return [
            (number, slice(starts[number], starts[number] + sizes[number]), matrix)
            for number, matrix in enumerate(self.matrices)
            if matrix is not None
        ]

    def _sum_groups(self, squares: Floats) -> Floats:
        sums: Floats = np.add.reduceat(squares, self.groups.starts)
        return np.where(self.free, 0.0, sums)
