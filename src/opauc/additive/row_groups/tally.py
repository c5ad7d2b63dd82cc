"""How many rows of each class the groups have."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from opauc.core.array_schema import ArrayRule, check_arrays
from opauc.core.mergeable import ROUNDING, Mergeable
from opauc.errors import IncompatibleMomentsError
from opauc.types import Arrays, Floats, Labels, NamedArrays

TALLY_SCHEMA = {"counts": ArrayRule("float64", "2 places", low=0)}


class GroupCounts(NamedTuple):
    """How many groups have rows of both classes, how many of one class only, and the rows that are not used.

    Attributes
    ----------
    ranked : int
        Groups with rows of both classes.
    one_class : int
        Groups with rows of one class, which have no pairs to rank.
    unused_rows : float
        Rows, counted with their weights, of groups without a level, which count for nothing.

    Examples
    --------
    >>> from opauc import OnePassGAM
    >>> rows, labels, users = [[0.0], [1.0], [2.0], [4.0]] * 30, [0, 1, 1, 1] * 30, ["ann", "ann", "bob", "bob"] * 30
    >>> OnePassGAM().fit(rows, labels, groups=users).group_counts_
    GroupCounts(ranked=1, one_class=1, unused_rows=0.0)
    """

    ranked: int
    one_class: int
    unused_rows: float


@dataclass(frozen=True, eq=False)
class GroupTally(Mergeable):
    """Rows of each class in each level, and of all groups without a level in the last place.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.additive.row_groups.tally import GroupTally
    >>> GroupTally.empty(2).update(np.array([0, 0, -1]), np.array([0, 1, 1], np.int8), None).summary
    GroupCounts(ranked=1, one_class=0, unused_rows=1.0)
    """

    counts: Floats  # (2, n_levels + 1)

    @classmethod
    def empty(cls, n_levels: int) -> Self:
        """Return the tally of no rows."""
        return cls(np.zeros((2, n_levels + 1)))

    @property
    def summary(self) -> GroupCounts:
        """How many groups have rows of both classes, and of one."""
        has_rows = self.counts[:, :-1] > 0.0
        both, some = int(has_rows.all(axis=0).sum()), int(has_rows.any(axis=0).sum())
        return GroupCounts(both, some - both, float(self.counts[:, -1].sum()))

    def empty_copy(self) -> Self:
        """Return the tally of no rows."""
        return self.empty(self.counts.shape[1] - 1)

    def update(self, places: NDArray[np.int64], labels: Labels, weight: Floats | None) -> Self:
        """Return the tally after labeled rows, by the levels of their groups."""
        n_places = self.counts.shape[1]
        cells = labels * np.int64(n_places) + places % n_places
        return type(self)(self.counts + np.bincount(cells, weight, 2 * n_places).reshape(2, n_places))

    def merge(self, other: Self) -> Self:
        """Return the tally of both sets of rows."""
        self._check_same_levels(other)
        return type(self)(self.counts + other.counts)

    def subtract(self, other: Self) -> Self:
        """Return the tally of the rows that are not in `other`."""
        self._check_same_levels(other)
        left = self.counts - other.counts
        return type(self)(np.where(left > ROUNDING * self.counts, left, 0.0))

    def to_arrays(self) -> Arrays:
        """Return a copy of the counts, for a file or the network."""
        return {"counts": self.counts.copy()}

    @classmethod
    def from_arrays(cls, arrays: NamedArrays) -> Self:
        """Return the tally from `to_arrays`; raise ValueError if it is invalid."""
        check_arrays(TALLY_SCHEMA, arrays)
        return cls(np.array(arrays["counts"]))

    def _check_same_levels(self, other: Self) -> None:
        if self.counts.shape != other.counts.shape:
            raise IncompatibleMomentsError("counts of different groups cannot be merged")
