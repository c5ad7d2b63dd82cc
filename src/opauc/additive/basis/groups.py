"""Groups of columns that share a penalty: the basis defines them, the penalized fit uses them."""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntEnum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class GroupKind(IntEnum):
    """What the columns of a group are; groups of a kind share information about their smoothing parameters."""

    INTERCEPT = 0
    BINARY = 1  # one column of 0 and 1: an input of two values, or whether a value is missing
    LINEAR = 2  # one column: the clipped and standardized value
    SPLINE = 3  # linear B-spline (hat) functions, in the order of the knots
    CATEGORICAL = 4  # one indicator per level
    PAIR = 5  # products of the columns of two inputs
    PAIR_COLUMN = 6  # a pair of one column


class Group(NamedTuple):
    """Neighboring columns of one kind."""

    kind: GroupKind
    start: int
    size: int

    @property
    def columns(self) -> slice:
        """The columns of the group."""
        return slice(self.start, self.start + self.size)


class ColumnGroups(NamedTuple):
    """A partition of all columns into groups.

    Examples
    --------
    >>> from opauc.additive.basis.groups import ColumnGroups, Group, GroupKind
    >>> groups = ColumnGroups.of([Group(GroupKind.INTERCEPT, 0, 1), Group(GroupKind.SPLINE, 1, 8)])
    >>> groups.n_columns, groups.of_columns().tolist()
    (9, [0, 1, 1, 1, 1, 1, 1, 1, 1])
    """

    kinds: NDArray[np.int64]
    starts: NDArray[np.int64]
    sizes: NDArray[np.int64]

    @classmethod
    def of(cls, groups: Iterable[Group]) -> ColumnGroups:
        """Return the partition into consecutive groups."""
        kinds, starts, sizes = np.array([tuple(group) for group in groups], np.int64).reshape(-1, 3).T
        return cls(kinds, starts, sizes)

    @property
    def n_columns(self) -> int:
        """Number of columns of all groups."""
        return int(self.sizes.sum())

    def of_columns(self) -> NDArray[np.int64]:
        """Return the group number of each column."""
        return np.repeat(np.arange(self.sizes.size), self.sizes)
