"""The levels of groups: what the rows of each have in common, which is fitted with the terms and scores no row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from opauc.additive.policy import GROUP_POLICY, GroupPolicy
from opauc.core.array_schema import ArrayRule, check_arrays
from opauc.types import Arrays, Floats, GroupKeys, NamedArrays

# Bits of the key of a group that a float64 holds exactly.
DROPPED_BITS = np.uint64(11)
SCHEMA = {
    "numbers": ArrayRule("float64", "levels", low=0, high=2.0**53, rising=True),
    "offsets": ArrayRule("float64", "levels"),
}


def group_column(keys: GroupKeys) -> Floats:
    """Return the keys of groups as whole numbers that a column of a table of float64 holds exactly.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.additive.basis.group_levels import group_column
    >>> group_column(np.array([2**11, 2**64 - 1], np.uint64)).tolist() == [1.0, 2.0**53 - 1.0]
    True
    """
    return (keys >> DROPPED_BITS).astype(np.float64)


@dataclass(frozen=True, eq=False)
class GroupLevels:
    """The groups that have a level of their own, by number in ascending order, and their part of the expansion point.

    Rows of all other groups count for nothing: what they have in common could not be told from what ranks them.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.additive.basis.group_levels import GroupLevels
    >>> levels = GroupLevels(np.array([4.0, 7.0]), np.array([0.5, -1.0]))
    >>> at = levels.places(np.array([7.0, 5.0, 4.0]))
    >>> at.tolist(), levels.offsets_at(at).tolist()
    ([1, -1, 0], [-1.0, 0.0, 0.5])
    """

    numbers: Floats
    offsets: Floats  # log-odds at the expansion point

    @classmethod
    def of(cls, numbers: Floats, n_columns: int, policy: GroupPolicy = GROUP_POLICY) -> Self:
        """Return the levels of the most frequent of the groups of some rows, next to so many columns."""
        found, n_rows = np.unique(numbers, return_counts=True)
        found, n_rows = found[n_rows >= policy.min_rows], n_rows[n_rows >= policy.min_rows]
        room = min(policy.max_levels, policy.max_products // max(1, n_columns))
        kept = np.sort(np.argsort(-n_rows, kind="stable")[:room])
        return cls(found[kept], np.zeros(kept.size))

    @property
    def size(self) -> int:
        """Number of levels."""
        return self.numbers.size

    def places(self, numbers: Floats) -> NDArray[np.int64]:
        """Return the level of each row by the number of its group, -1 where it has none."""
        if not self.size:
            return np.full(numbers.size, -1)
        at = np.minimum(np.searchsorted(self.numbers, numbers), self.size - 1)
        return np.where(self.numbers[at] == numbers, at, -1)

    def ranked(self, at: NDArray[np.int64], numbers: Floats) -> NDArray[np.int64]:
        """Return those positions whose rows have a level, by the numbers of the groups of all rows."""
        return at[self.places(numbers[at]) >= 0]

    def offsets_at(self, places: NDArray[np.int64]) -> Floats:
        """Return the offset of each row by its level."""
        return np.append(self.offsets, 0.0)[places]

    def indicators(self, places: NDArray[np.int64]) -> csr_array:
        """Return the indicators of the levels of rows as a canonical sparse matrix of shape (n_rows, size)."""
        has_level = places >= 0
        ends = np.append(0, np.cumsum(has_level)).astype(np.int32)
        columns = places[has_level].astype(np.int32)
        indicators = csr_array((np.ones(columns.size), columns, ends), shape=(places.size, self.size))
        indicators.has_canonical_format = True
        return indicators

    def to_arrays(self) -> Arrays:
        """Return copies of all arrays, for a file or the network."""
        return {"numbers": self.numbers.copy(), "offsets": self.offsets.copy()}

    @classmethod
    def from_arrays(cls, arrays: NamedArrays) -> Self:
        """Return the levels from `to_arrays`; raise ValueError if invalid."""
        check_arrays(SCHEMA, arrays)
        return cls(*(np.array(arrays[name]) for name in SCHEMA))
