"""Class statistics of folds of the rows, for cross-validation in one pass."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from opauc.core.array_schema import ArrayRule, check_arrays
from opauc.core.mergeable import FeatureSpread, ScoreSummary, Statistic
from opauc.errors import IncompatibleMomentsError
from opauc.linear.moments.classes import ClassMoments, GroupMoments
from opauc.types import Arrays, ClassCounts, Floats, GroupKeys, Labels, NamedArrays, Rows

# The sequence of folds repeats after this many rounds over all folds. A prime, so that it does not align with periods
# in the rows.
ROUNDS = 13_001
N_ROWS = "rows_numbered"
# Stands for the number of rows in files where folds are by group.
BY_GROUPS = -1
SCHEMA = {N_ROWS: ArrayRule("int64", low=BY_GROUPS)}
# Class and fold of a row are numbered by an int8.
MAX_FOLDS = 60


@dataclass(frozen=True, slots=True, eq=False)
class FoldMoments(Statistic):
    """Exact statistics of both classes in each of several folds.

    The fold of a row is a pseudo-random function of its number in the stream, so
    folds do not depend on how the stream is cut into batches; each run of n_folds
    rows has one row of each fold. Alternatively the fold is a function of the key
    of the row's group: rows of one group are then in one fold, in every shard. No
    list of groups is kept, so folds are only as even as chance makes them: with g
    groups of equal size, their sizes vary by a share of sqrt((folds - 1) / g).

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.linear.moments.folds import FoldMoments
    >>> rows, labels = np.arange(8.0)[:, None], np.array([0, 1] * 4, np.int8)
    >>> moments = FoldMoments.empty(1, n_folds=2).update(rows, labels)
    >>> moments.counts, sum(moments.fold(0).counts) + sum(moments.complement(0).counts)
    (ClassCounts(negative=4.0, positive=4.0), 8.0)
    """

    moments: GroupMoments  # group 2 k + c is class c of fold k
    n_rows: int = 0  # rows so far, where folds are by row number
    grouped: bool = False  # whether folds are by group

    optional_arrays: ClassVar[tuple[str, ...]] = GroupMoments.optional_arrays

    @classmethod
    def empty(cls, n_features: int, n_folds: int = 5) -> FoldMoments:
        """Return the statistics of no rows: the identity of `merge`."""
        return cls(GroupMoments.empty(n_features, 2 * n_folds))

    def empty_copy(self) -> FoldMoments:
        """Return the statistics of no rows with as many features and folds."""
        return self.empty(self.n_features, self.n_folds)

    def numbered_from(self, first_row: int) -> FoldMoments:
        """Return the statistics of no rows, where the next row will have this number."""
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
        """Total weight of the rows of each class."""
        groups = self.moments.groups
        return ClassCounts(*(float(sum(one.count for one in groups[c::2])) for c in (0, 1)))

    def fold(self, number: int) -> ClassMoments:
        """Return the statistics of the rows of one fold."""
        return ClassMoments(*self.moments.groups[2 * number : 2 * number + 2])

    def complement(self, number: int) -> ClassMoments:
        """Return the statistics of the rows of all other folds."""
        return self._total([k for k in range(self.n_folds) if k != number])

    def whole(self) -> ClassMoments:
        """Return the statistics of all rows."""
        return self._total(list(range(self.n_folds)))

    def update(
        self,
        rows: Rows,
        labels: Labels,
        weight: Floats | None = None,
        *,
        groups: GroupKeys | None = None,
        n_jobs: int = 1,
    ) -> FoldMoments:
        """Return the statistics of the earlier rows and these, in folds by `groups` if given, else by row number."""
        n_rows = self.n_rows + labels.size if groups is None else 0
        moments = self.moments.update(rows, self.next_folds(labels.size, groups) + labels, weight, n_jobs=n_jobs)
        return FoldMoments(moments, n_rows, groups is not None)

    def with_numbers(self, rows: Rows, numbers: Labels, weight: Floats | None = None) -> FoldMoments:
        """Return the statistics with rows whose numbers, 2 * fold + label, are known."""
        return replace(self, moments=self.moments.update(rows, numbers, weight))

    def next_folds(self, n_rows: int, groups: GroupKeys | None = None) -> Labels:
        """Return twice the fold of each of the next rows, by `groups` if given, else by row number."""
        self._check_groups(groups is not None)
        if groups is not None:
            return self._group_folds(groups)
        table = _fold_table(self.n_folds)
        first = self.n_rows % table.size
        return np.tile(table, -(-(first + n_rows) // table.size))[first : first + n_rows]

    def folds_of(self, n_rows: int, row_numbers: ArrayLike | None, groups: GroupKeys | None = None) -> Labels:
        """Return twice the fold of rows to be removed, which were added with these row numbers, from 0, or groups."""
        if groups is not None:
            if not self.grouped:
                raise ValueError("forget needs row_numbers, not groups: folds are by row number")
            return self._group_folds(groups)
        if self.grouped:
            raise ValueError("forget needs groups, not row_numbers: folds are by group")
        numbers = np.asarray(row_numbers)
        if numbers.shape != (n_rows,) or not np.issubdtype(numbers.dtype, np.integer):
            raise ValueError(f"row_numbers must hold one integer for each of the {n_rows} rows")
        table = _fold_table(self.n_folds)
        folds: Labels = table[numbers % table.size]
        return folds

    def forget(self, rows: Rows, labels: Labels, row_numbers: ArrayLike, weight: Floats | None = None) -> FoldMoments:
        """Return the statistics without these rows, with these row numbers (from 0)."""
        return self._subtract_rows(rows, self.folds_of(labels.size, row_numbers) + labels, weight)

    def forget_groups(self, rows: Rows, labels: Labels, groups: GroupKeys, weight: Floats | None = None) -> FoldMoments:
        """Return the statistics without these rows of these groups."""
        return self._subtract_rows(rows, self.folds_of(labels.size, None, groups) + labels, weight)

    def merge(self, other: FoldMoments) -> FoldMoments:
        """Return the statistics of both sets of rows, fold by fold."""
        if self._has_rows and other._has_rows and self.grouped != other.grouped:
            raise IncompatibleMomentsError("cannot merge folds by groups with folds by row numbers")
        moments = self.moments.merge(other.moments)
        return FoldMoments(moments, self.n_rows + other.n_rows, self.grouped or other.grouped)

    def subtract(self, other: FoldMoments) -> FoldMoments:
        """Return the statistics of the rows that are not in `other`: the inverse of `merge`."""
        moments = self.moments.subtract(other.moments)
        return FoldMoments(moments, max(0, self.n_rows - other.n_rows), self.grouped)

    def decay(self, factor: float) -> FoldMoments:
        """Return the statistics with the weight of every row multiplied by `factor`."""
        return replace(self, moments=self.moments.decay(factor))

    def restrict(self, features: ArrayLike) -> FoldMoments:
        """Return the statistics of the given features only, in the given order."""
        return replace(self, moments=self.moments.restrict(features))

    def widen(self, n_features: int) -> FoldMoments:
        """Return the statistics with more features, which are zero in all rows so far."""
        return replace(self, moments=self.moments.widen(n_features))

    def mean_difference(self) -> Floats:
        """Return mean of the positive rows - mean of the negative rows."""
        return self.whole().mean_difference()

    def summary(self, weights: Floats) -> ScoreSummary:
        """Return counts, means and variances of the scores of the rows seen."""
        return self.whole().summary(weights)

    def feature_spread(self) -> FeatureSpread:
        """Return the standard deviation of each feature within the classes, pooled over both."""
        return self.whole().feature_spread()

    def to_arrays(self) -> Arrays:
        """Return copies of all sums by name, for a file or the network."""
        n_rows = BY_GROUPS if self.grouped else self.n_rows
        return {**self.moments.to_arrays(), N_ROWS: np.array(n_rows, np.int64)}

    @classmethod
    def from_arrays(cls, arrays: NamedArrays) -> FoldMoments:
        """Return the statistics from the arrays of `to_arrays`, checked."""
        check_arrays(SCHEMA, {name: part for name, part in arrays.items() if name == N_ROWS})
        moments = GroupMoments.from_arrays({name: part for name, part in arrays.items() if name != N_ROWS})
        if len(moments.groups) % 2:
            raise IncompatibleMomentsError("expected two groups a fold")
        n_rows = arrays[N_ROWS]
        return cls(moments, max(0, int(n_rows)), bool(n_rows == BY_GROUPS))

    @property
    def _has_rows(self) -> bool:
        """Whether rows were added, so that folds are fixed to be by group or by row number."""
        return self.grouped or self.n_rows > 0

    def _check_groups(self, given: bool) -> None:
        """Raise where groups were given before and not now, or the reverse."""
        if self._has_rows and given != self.grouped:
            then, now = ("given", "missing") if self.grouped else ("missing", "given")
            raise ValueError(
                f"groups must be given with all rows or with none: they were {then} before and are {now} now"
            )

    def _group_folds(self, groups: GroupKeys) -> Labels:
        """Return 2 * fold of each row."""
        return (2 * (groups % np.uint64(self.n_folds))).astype(np.int8)

    def _subtract_rows(self, rows: Rows, numbers: Labels, weight: Floats | None) -> FoldMoments:
        return replace(self, moments=self.moments.forget(rows, numbers, weight))

    def _total(self, folds: list[int]) -> ClassMoments:
        return ClassMoments(*(self.moments.total([2 * k + c for k in folds]) for c in (0, 1)))


@cache
def _fold_table(n_folds: int) -> Labels:
    """Return 2 * fold of each row number: rounds of all folds, each in random order."""
    rounds = np.random.RandomState(n_folds).random_sample((ROUNDS, n_folds)).argsort(axis=1)
    return (2 * rounds.ravel()).astype(np.int8)
