"""Bin counts on the columns of a basis, and the features whose later rows are distributed differently."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.special import gammaincc

from opauc.additive.basis.groups import ColumnGroups, GroupKind
from opauc.additive.policy import DRIFT_POLICY, DriftPolicy
from opauc.core.array_schema import ArrayRule, check_arrays
from opauc.core.mergeable import Mergeable
from opauc.errors import IncompatibleMomentsError
from opauc.types import Arrays, Floats, NamedArrays

if TYPE_CHECKING:
    from opauc.additive.basis.basis import Basis
    from opauc.additive.state import AdditiveFit

# Groups whose columns add up to one in every row with a value, or are a column and its complement.
PARTITIONS = (GroupKind.SPLINE, GroupKind.CATEGORICAL, GroupKind.BINARY)
BIN_COUNTS_SCHEMA = {"first": ArrayRule("float64", "columns"), "later": ArrayRule("float64", "columns")}


class GroupDrift(NamedTuple):
    """A group of columns whose bin counts have changed, its population stability index, and whether values move on.

    They do if most later rows are in the first or the last bin, unlike those before.
    """

    group: int
    psi: float
    moves_on: bool = False


@dataclass(frozen=True, eq=False)
class BinCounts(Mergeable):
    """Sums of the columns over the rows that the basis was made from, and over the rows after them.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.sparse import csr_array
    >>> from opauc.additive.basis.groups import ColumnGroups, Group, GroupKind
    >>> from opauc.additive.drift import BinCounts
    >>> groups = ColumnGroups.of([Group(GroupKind.INTERCEPT, 0, 1), Group(GroupKind.CATEGORICAL, 1, 2)])
    >>> counts = BinCounts.of(csr_array([[1.0, 1.0, 0.0], [1.0, 0.0, 1.0]] * 500))
    >>> [drift] = counts.update(csr_array([[1.0, 0.0, 1.0]] * 1000)).find_drift(groups)
    >>> drift.group, drift.psi > 1.0
    (1, True)
    """

    first: Floats
    later: Floats

    @classmethod
    def of(cls, rows: csr_array, weight: Floats | None = None) -> Self:
        """Return the bin counts of the rows that the basis was made from."""
        return cls.empty(rows.shape[1]).update_initial(rows, weight)

    @classmethod
    def empty(cls, n_columns: int) -> Self:
        """Return the bin counts of no rows."""
        return cls(np.zeros(n_columns), np.zeros(n_columns))

    def update_initial(self, rows: csr_array, weight: Floats | None = None) -> Self:
        """Return the bin counts with more rows that the basis was made from."""
        return replace(self, first=self.first + _sum_columns(rows, weight))

    def merge_initial(self, other: Self) -> Self:
        """Return the bin counts with the rows that the basis was made from of both."""
        return replace(self, first=self.first + other.first)

    def empty_copy(self) -> Self:
        """Return the bin counts of the same basis without later rows."""
        return replace(self, later=np.zeros_like(self.later))

    def update(self, rows: csr_array, weight: Floats | None = None) -> Self:
        """Return the bin counts with later rows added."""
        return replace(self, later=self.later + _sum_columns(rows, weight))

    def merge(self, other: Self) -> Self:
        """Return the bin counts with the later rows of both."""
        self._check_same_basis(other)
        return replace(self, later=self.later + other.later)

    def subtract(self, other: Self) -> Self:
        """Return the bin counts without the later rows of `other`."""
        self._check_same_basis(other)
        return replace(self, later=self.later - other.later)

    def find_drift(self, groups: ColumnGroups, policy: DriftPolicy = DRIFT_POLICY) -> list[GroupDrift]:
        """Return the groups of main effects whose bin counts have changed, the largest change first."""
        drifts = []
        for number, (kind, start, size) in enumerate(zip(*groups, strict=True)):
            if kind in PARTITIONS and min(self.later[0], self.first[0]) >= policy.min_rows:
                columns = slice(start, start + size)
                psi = self._significant_psi(columns, kind == GroupKind.BINARY, policy)
                if psi is not None:
                    first, later = (sums[columns] / max(1.0, sums[columns].sum()) for sums in (self.first, self.later))
                    moves_on = kind == GroupKind.SPLINE and (later - first)[[0, -1]].max() > policy.min_beyond
                    drifts.append(GroupDrift(number, psi, bool(moves_on)))
        return sorted(drifts, key=lambda drift: -drift.psi)

    def to_arrays(self) -> Arrays:
        """Return copies of the sums, for a file or the network."""
        return {"first": self.first.copy(), "later": self.later.copy()}

    @classmethod
    def from_arrays(cls, arrays: NamedArrays) -> Self:
        """Return the bin counts from `to_arrays`; raise IncompatibleMomentsError if they are invalid."""
        check_arrays(BIN_COUNTS_SCHEMA, arrays)
        return cls(np.asarray(arrays["first"]), np.asarray(arrays["later"]))

    def _significant_psi(self, columns: slice, binary: bool, policy: DriftPolicy) -> float | None:
        """Return the population stability index of a group; None if it is small or may be random."""
        shares, totals = [], []
        for sums in (self.first, self.later):
            counts = np.maximum(sums[columns], 0.0)
            if binary:  # the column and its complement
                counts = np.append(counts, max(0.0, sums[0] - counts.sum()))
            totals.append(counts.sum())
            shares.append((counts + 0.5) / (totals[-1] + 0.5 * counts.size))
        if min(totals) < policy.min_rows:
            return None
        old, new = shares
        psi = float(((new - old) * np.log(new / old)).sum())
        chi_square = psi / (1.0 / totals[0] + 1.0 / totals[1])
        p_value = gammaincc(0.5 * (old.size - 1), 0.5 * chi_square)
        return psi if psi > policy.min_psi and p_value < policy.max_p_value else None

    def _check_same_basis(self, other: Self) -> None:
        if not np.array_equal(self.first, other.first):
            raise IncompatibleMomentsError("bin counts of different bases cannot be merged")


def _sum_columns(rows: csr_array, weight: Floats | None) -> Floats:
    ones: NDArray[np.float64] = np.ones(rows.shape[0]) if weight is None else weight
    sums: Floats = rows.T @ ones
    return sums


class FeatureDrift(UserWarning):
    """A feature whose values after the initial sample are distributed differently, and what to do about it.

    Attributes
    ----------
    name : str
        The name of the column, or of a part of its dates.
    index : float
        Population stability index.
    moves_on : bool
        Whether most later values lie at an end of those of the initial sample, as dates and counters do.

    Examples
    --------
    >>> from opauc.additive.drift import FeatureDrift
    >>> str(FeatureDrift("age", 0.8))[:51]
    'age: later rows do not look like those of the basis'
    """

    name: str
    index: float
    moves_on: bool

    def __init__(self, name: str, index: float, moves_on: bool = False) -> None:
        self.name, self.index, self.moves_on = name, index, moves_on
        advice = (
            "most lie at an end of its values, as dates and counters move on: drop the column, or train a new model on "
            "recent rows from time to time"
            if moves_on
            else "if the data have changed, train a new model on recent rows; if rows are sorted, shuffle them first"
        )
        super().__init__(
            f"{name}: later rows do not look like those of the basis (stability index {index:.2f}, above .25 is much); "
            f"{advice}"
        )


def find_drift(solution: AdditiveFit, names: Sequence[str]) -> list[FeatureDrift]:
    """Return the features that have drifted since the initial sample, the largest change first."""
    if solution.fixed is None:
        return []
    basis, model = solution.fixed
    return compare_counts(basis, model.bin_counts, names)


def compare_counts(
    basis: Basis, counts: BinCounts, names: Sequence[str], policy: DriftPolicy = DRIFT_POLICY
) -> list[FeatureDrift]:
    """Return the features of a basis whose bin counts have changed, the largest change first."""
    drifts: dict[str, FeatureDrift] = {}
    starts = basis.groups.starts
    for group, psi, moves_on in counts.find_drift(basis.groups, policy):
        (name,) = (
            names[inputs[0]]
            for inputs, columns in basis.effects.items()
            if len(inputs) == 1 and columns.start <= starts[group] < columns.stop
        )
        drifts.setdefault(name, FeatureDrift(name, psi, moves_on))
    return list(drifts.values())
