"""How rows spread over the columns of a basis, and whether later rows spread as the first did."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.special import gammaincc

from opauc.additive.basis.groups import ColumnGroups, GroupKind
from opauc.errors import IncompatibleMomentsError
from opauc.types import Arrays, Floats, NamedArrays

# Groups whose columns add up to one in every row that has a value.
PARTITIONS = (GroupKind.HATS, GroupKind.LEVELS, GroupKind.BINARY)
# A shift is told from this population stability index on (.25 is the usual mark of a major one) ...
MAJOR = 0.25
# ... if chance would bring such a chi-square in less than one of so many groups.
CHANCE = 1e-6
FEWEST_ROWS = 500.0


class Shift(NamedTuple):
    """A group whose columns are occupied otherwise than when the basis was made, and by how much."""

    group: int
    stability: float


@dataclass(frozen=True, eq=False)
class BinCounts:
    """Sums of the columns over the rows of the basis, and over those that came after it.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.sparse import csr_array
    >>> from opauc.additive.basis.groups import ColumnGroups, Group, GroupKind
    >>> from opauc.additive.drift import BinCounts
    >>> groups = ColumnGroups.of([Group(GroupKind.INTERCEPT, 0, 1), Group(GroupKind.LEVELS, 1, 2)])
    >>> seen = BinCounts.of(csr_array([[1.0, 1.0, 0.0], [1.0, 0.0, 1.0]] * 500))
    >>> [shift] = seen.update(csr_array([[1.0, 0.0, 1.0]] * 1000)).shifts(groups)
    >>> shift.group, shift.stability > 1.0
    (1, True)
    """

    first: Floats
    later: Floats

    @classmethod
    def of(cls, rows: csr_array, weight: Floats | None = None) -> Self:
        """Return the bin_counts of the rows of the basis."""
        nothing = np.zeros(rows.shape[1])
        return cls(nothing, nothing).with_first(rows, weight)

    def with_first(self, rows: csr_array, weight: Floats | None = None) -> Self:
        """Return the bin_counts with more rows that the basis is made of."""
        return replace(self, first=self.first + _sums(rows, weight))

    def empty_copy(self) -> Self:
        """Return the same basis before any later row."""
        return replace(self, later=np.zeros_like(self.later))

    def update(self, rows: csr_array, weight: Floats | None = None) -> Self:
        """Return the bin_counts with later rows."""
        return replace(self, later=self.later + _sums(rows, weight))

    def merge(self, other: BinCounts) -> Self:
        """Return the bin_counts of the later rows of both."""
        self._refuse_other(other)
        return replace(self, later=self.later + other.later)

    def subtract(self, other: BinCounts) -> Self:
        """Return the bin_counts without the later rows of `other`."""
        self._refuse_other(other)
        return replace(self, later=self.later - other.later)

    def shifts(self, groups: ColumnGroups) -> list[Shift]:
        """Return the main effects that later rows occupy otherwise than the rows of the basis, the worst first."""
        found = []
        for number, (kind, start, size) in enumerate(zip(*groups, strict=True)):
            if kind in PARTITIONS and self.later[0] >= FEWEST_ROWS and self.first[0] >= FEWEST_ROWS:
                index = self._index(slice(start, start + size), kind == GroupKind.BINARY)
                if index is not None:
                    found.append(Shift(number, index))
        return sorted(found, key=lambda shift: -shift.stability)

    def to_arrays(self) -> Arrays:
        """Return copies of the sums, for a file or the network."""
        return {"first": self.first.copy(), "later": self.later.copy()}

    @classmethod
    def from_arrays(cls, arrays: NamedArrays) -> Self:
        """Return the bin_counts that gave these arrays, refused unless one can have."""
        first, later = (np.asarray(arrays[name]) for name in ("first", "later"))
        sound = all(part.ndim == 1 and part.dtype == np.float64 and np.isfinite(part).all() for part in (first, later))
        if not sound or first.shape != later.shape:
            raise IncompatibleMomentsError("bin_counts: expected two vectors of finite numbers of one length")
        return cls(first, later)

    def _index(self, columns: slice, binary: bool) -> float | None:
        """Return the population stability index of a group, None where it is small or could be chance."""
        shares, totals = [], []
        for sums in (self.first, self.later):
            counts = np.maximum(sums[columns], 0.0)
            if binary:  # the column and its complement
                counts = np.append(counts, max(0.0, sums[0] - counts.sum()))
            totals.append(counts.sum())
            shares.append((counts + 0.5) / (totals[-1] + 0.5 * counts.size))
        if min(totals) < FEWEST_ROWS:
            return None
        old, new = shares
        index = float(((new - old) * np.log(new / old)).sum())
        chi_square = index / (1.0 / totals[0] + 1.0 / totals[1])
        chance = gammaincc(0.5 * (old.size - 1), 0.5 * chi_square)
        return index if index > MAJOR and chance < CHANCE else None

    def _refuse_other(self, other: BinCounts) -> None:
        if not np.array_equal(self.first, other.first):
            raise IncompatibleMomentsError("occupancies of different bases do not belong together")


def _sums(rows: csr_array, weight: Floats | None) -> Floats:
    """Return the sums of the columns."""
    ones: NDArray[np.float64] = np.ones(rows.shape[0]) if weight is None else weight
    sums: Floats = rows.T @ ones
    return sums
