"""Class statistics of folds of the rows: all that one-pass cross-validation needs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from opauc.core.mergeable import FeatureSpread, ScoreSummary, Statistic
from opauc.errors import IncompatibleMomentsError
from opauc.linear.moments.classes import ClassMoments, GroupMoments
from opauc.types import Arrays, ClassCounts, Floats, GroupKeys, Labels, NamedArrays, Rows

# Folds come back in the same order after so many rounds of all of them: a prime, lest they keep step with the rows.
ROUNDS = 13_001
N_ROWS = "rows_numbered"
# What files have in place of a number of rows where folds go by groups.
BY_GROUPS = -1
# Groups are numbered by bytes.
MOST_FOLDS = 60


@dataclass(frozen=True, slots=True, eq=False)
class FoldMoments(Statistic):
    """Exact statistics of both classes in each of several folds.

    A row belongs to a fold by its number in the stream, at random but always
    the same: any cut of the stream gives the same folds, and as many rows in a
    row as there are folds go to different ones. Or it belongs to a fold by the
    key of its group: rows of one group are then in one fold, in every shard.
    No list of groups is kept, so folds are as even as chance makes them: with
    g groups of one size their sizes differ by a share of sqrt((folds - 1) / g).

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.linear.moments.folds import FoldMoments
    >>> rows, labels = np.arange(8.0)[:, None], np.array([0, 1] * 4, np.int8)
    >>> seen = FoldMoments.empty(1, n_folds=2).update(rows, labels)
    >>> seen.counts, sum(seen.fold(0).counts) + sum(seen.complement(0).counts)
    (ClassCounts(negative=4.0, positive=4.0), 8.0)
    """

    moments: GroupMoments  # group 2 k + c is class c of fold k
    n_rows: int = 0  # numbered so far
    grouped: bool = False  # whether rows are in folds by their groups

    optional_arrays: ClassVar[tuple[str, ...]] = GroupMoments.optional_arrays

    @classmethod
    def empty(cls, n_features: int, n_folds: int = 5) -> FoldMoments:
        """Statistics of no rows: the identity of `merge`."""
        return cls(GroupMoments.empty(n_features, 2 * n_folds))

    def empty_copy(self) -> FoldMoments:
        """Statistics of no rows with as many features and folds."""
        return self.empty(self.n_features, self.n_folds)

    def numbered_from(self, first_row: int) -> FoldMoments:
        """Statistics of no rows, the first of which will have this number."""
        return replace(self.empty_copy(), n_rows=first_row)

    @property
    def n_features(self) -> int:
        """Number of features."""
        return self.moments.n_features

    @property
    def n_folds(self) -> int:
        """Number of folds."""
        return len(self.moments.groups) // 2

    @property
    def counts(self) -> ClassCounts:
        """Rows of each class, each counted with its weight."""
        groups = self.moments.groups
        return ClassCounts(*(float(sum(one.count for one in groups[c::2])) for c in (0, 1)))

    def fold(self, number: int) -> ClassMoments:
        """Statistics of the rows of one fold."""
        return ClassMoments(*self.moments.groups[2 * number : 2 * number + 2])

    def complement(self, number: int) -> ClassMoments:
        """Statistics of the rows of all folds but one."""
        return self._together([k for k in range(self.n_folds) if k != number])

    def whole(self) -> ClassMoments:
        """Statistics of all rows."""
        return self._together(list(range(self.n_folds)))

    def update(
        self,
        rows: Rows,
        labels: Labels,
        weight: Floats | None = None,
        *,
        groups: GroupKeys | None = None,
        n_jobs: int = 1,
    ) -> FoldMoments:
        """Statistics of the rows so far and these, of the groups given or else numbered on from the last."""
        if groups is None:
            self._check_groups(False)
            table = _fold_table(self.n_folds)
            first = self.n_rows % table.size
            folds = np.tile(table, -(-(first + labels.size) // table.size))[first : first + labels.size]
            n_rows = self.n_rows + labels.size
        else:
            self._check_groups(True)
            folds, n_rows = self._folds_of(groups), 0
        moments = self.moments.update(rows, folds + labels, weight, n_jobs=n_jobs)
        return FoldMoments(moments, n_rows, groups is not None)

    def forget(self, rows: Rows, labels: Labels, row_numbers: ArrayLike, weight: Floats | None = None) -> FoldMoments:
        """Statistics as if these rows, which came as the given numbers (from 0), had never been seen."""
        if self.grouped:
            raise ValueError("forget needs groups, not row_numbers: rows were learned in folds by their groups")
        numbers = np.asarray(row_numbers)
        if numbers.shape != labels.shape or not np.issubdtype(numbers.dtype, np.integer):
            raise ValueError(f"row_numbers must hold one integer for each of the {labels.size} rows")
        table = _fold_table(self.n_folds)
        return self._less(rows, table[numbers % table.size] + labels, weight)

    def forget_groups(self, rows: Rows, labels: Labels, groups: GroupKeys, weight: Floats | None = None) -> FoldMoments:
        """Statistics as if these rows of the given groups had never been seen."""
        if not self.grouped:
            raise ValueError("forget needs row_numbers, not groups: rows were learned in folds by their numbers")
        return self._less(rows, self._folds_of(groups) + labels, weight)

    def merge(self, other: FoldMoments) -> FoldMoments:
        """Statistics of both sets of rows together, fold by fold."""
        if self._begun and other._begun and self.grouped != other.grouped:
            raise IncompatibleMomentsError("cannot merge folds by groups with folds by row numbers")
        moments = self.moments.merge(other.moments)
        return FoldMoments(moments, self.n_rows + other.n_rows, self.grouped or other.grouped)

    def subtract(self, other: FoldMoments) -> FoldMoments:
        """Statistics of the rows that are not in `other`: the inverse of `merge`."""
        moments = self.moments.subtract(other.moments)
        return FoldMoments(moments, max(0, self.n_rows - other.n_rows), self.grouped)

    def restrict(self, features: ArrayLike) -> FoldMoments:
        """Statistics of the given features only, in the given order."""
        return replace(self, moments=self.moments.restrict(features))

    def widen(self, n_features: int) -> FoldMoments:
        """Statistics of the same rows with more features, which are zero in all of them."""
        return replace(self, moments=self.moments.widen(n_features))

    def mean_difference(self) -> Floats:
        """Mean of the positive rows less mean of the negative rows."""
        return self.whole().mean_difference()

    def summary(self, weights: Floats) -> ScoreSummary:
        """Counts, means and variances of the scores that `weights` give to the rows seen."""
        return self.whole().summary(weights)

    def feature_spread(self) -> FeatureSpread:
        """Standard deviation of each feature within the classes, pooled over both."""
        return self.whole().feature_spread()

    def to_arrays(self) -> Arrays:
        """Copies of all sums under flat names, for a file or the network."""
        n_rows = BY_GROUPS if self.grouped else self.n_rows
        return {**self.moments.to_arrays(), N_ROWS: np.array(n_rows, np.int64)}

    @classmethod
    def from_arrays(cls, arrays: NamedArrays) -> FoldMoments:
        """Statistics from what `to_arrays` gave, checked."""
        n_rows = arrays[N_ROWS] if N_ROWS in arrays else np.empty(0)
        moments = GroupMoments.from_arrays({name: part for name, part in arrays.items() if name != N_ROWS})
        if n_rows.shape != () or n_rows.dtype != np.int64 or n_rows < BY_GROUPS or len(moments.groups) % 2:
            raise IncompatibleMomentsError("expected a number of rows, and two groups a fold")
        return cls(moments, max(0, int(n_rows)), bool(n_rows == BY_GROUPS))

    @property
    def _begun(self) -> bool:
        """Whether it is settled how rows are put into folds."""
        return self.grouped or self.n_rows > 0

    def _check_groups(self, given: bool) -> None:
        """Raise unless groups are given now as they were before."""
        if self._begun and given != self.grouped:
            then, now = ("given", "missing") if self.grouped else ("missing", "given")
            raise ValueError(
                f"groups must be given with all rows or with none: they were {then} before and are {now} now"
            )

    def _folds_of(self, groups: GroupKeys) -> Labels:
        """Return twice the fold of each row."""
        return (2 * (groups % np.uint64(self.n_folds))).astype(np.int8)

    def _less(self, rows: Rows, numbers: Labels, weight: Floats | None) -> FoldMoments:
        return replace(self, moments=self.moments.forget(rows, numbers, weight))

    def _together(self, folds: list[int]) -> ClassMoments:
        return ClassMoments(*(self.moments.total([2 * k + c for k in folds]) for c in (0, 1)))


@cache
def _fold_table(n_folds: int) -> Labels:
    """Return twice the fold of each row number: every fold once, in random order, again and again."""
    rounds = np.random.RandomState(n_folds).random_sample((ROUNDS, n_folds)).argsort(axis=1)
    return (2 * rounds.ravel()).astype(np.int8)
