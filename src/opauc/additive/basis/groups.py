"""Columns that are penalized together: what a basis makes, and what a penalized fit asks for."""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntEnum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class GroupKind(IntEnum):
    """What the columns of a group are; those of a kind borrow strength from each other."""

    INTERCEPT = 0
    BINARY = 1  # one column of 0 and 1: a feature of two values, or whether one is missing
    LINEAR = 2  # one column: the value itself
    HATS = 3  # piecewise linear, in the order of the knots
    LEVELS = 4  # one column a category
    PAIR = 5  # products of the columns of two features
    PAIR_COLUMN = 6  # a pair of one column
    LANDMARKS = 7  # likeness to landmarks among the rows, on bases of before
    LEAVES = 8  # one column a leaf of a tree


class Group(NamedTuple):
    """Some neighboring columns."""

    kind: GroupKind
    start: int
    size: int

    @property
    def columns(self) -> slice:
        """Where they stand."""
        return slice(self.start, self.start + self.size)


class ColumnGroups(NamedTuple):
    """All columns in groups, none left out and none twice.

    Examples
    --------
    >>> from opauc.additive.basis.groups import ColumnGroups, Group, GroupKind
    >>> groups = ColumnGroups.of([Group(GroupKind.INTERCEPT, 0, 1), Group(GroupKind.HATS, 1, 8)])
    >>> groups.n_columns, groups.of_columns().tolist()
    (9, [0, 1, 1, 1, 1, 1, 1, 1, 1])
    """

    kinds: NDArray[np.int64]
    starts: NDArray[np.int64]
    sizes: NDArray[np.int64]

    @classmethod
    def of(cls, groups: Iterable[Group]) -> ColumnGroups:
        """Return the groups, which follow each other."""
        kinds, starts, sizes = np.array([tuple(group) for group in groups], np.int64).reshape(-1, 3).T
        return cls(kinds, starts, sizes)

    @property
    def n_columns(self) -> int:
        """Columns of all groups."""
        return int(self.sizes.sum())

    def of_columns(self) -> NDArray[np.int64]:
        """Return the number of each column's group."""
        return np.repeat(np.arange(self.sizes.size), self.sizes)

    def leading(self, n_columns: int) -> ColumnGroups:
        """Return the groups that the first columns are made of."""
        kept = self.starts < n_columns
        return ColumnGroups(self.kinds[kept], self.starts[kept], self.sizes[kept])
