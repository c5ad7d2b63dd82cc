"""Class statistics of folds of the rows, for cross-validation in one pass: of two classes, and of several."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from opauc.core.array_schema import ArrayRule, check_arrays
from opauc.core.labels import MAX_CLASSES
from opauc.core.mergeable import FeatureSpread, LabeledSums, ScoreSummary, Statistic
from opauc.errors import IncompatibleMomentsError
from opauc.linear.moments.classes import ClassMoments, GroupMoments
from opauc.linear.moments.exact import ExactMoments
from opauc.linear.moments.multiclass import MulticlassMoments
from opauc.types import Array, Arrays, ClassCounts, Floats, GroupKeys, Labels, MulticlassCounts, NamedArrays, Rows

# The sequence of folds repeats after this many rounds over all folds. A prime, so that it does not align with periods
# in the rows.
ROUNDS = 13_001
N_ROWS = "rows_numbered"
# Stands for the number of rows in files where folds are by group.
BY_GROUPS = -1
N_CLASSES = "n_classes"
SCHEMA = {N_ROWS: ArrayRule("int64", low=BY_GROUPS)}
SEVERAL_SCHEMA = {**SCHEMA, N_CLASSES: ArrayRule("int64", low=2, high=MAX_CLASSES)}
# Class and fold of a row of two classes are numbered by an int8.
MAX_FOLDS = 60


@dataclass(frozen=True, slots=True, eq=False)
class ClassFolds(LabeledSums):
    """Exact statistics of each class in each of several folds: what two and several classes share."""

    moments: GroupMoments  # group n_classes * k + c is class c of fold k
    n_rows: int = 0  # rows so far, where folds are by row number
    grouped: bool = False  # whether folds are by group

    optional_arrays: ClassVar[tuple[str, ...]] = GroupMoments.optional_arrays

    @property
    @abstractmethod
    def n_classes(self) -> int:
        """Number of classes."""

    @abstractmethod
    def whole(self) -> LabeledSums:
        """Return the statistics of all rows."""

    def empty_copy(self) -> Self:
        """Return the statistics of no rows with as many features, folds and classes."""
        return replace(self, moments=self.moments.empty_copy(), n_rows=0, grouped=False)

    def numbered_from(self, first_row: int) -> Self:
        """Return the statistics of no rows, where the next row will have this number."""
        return replace(self.empty_copy(), n_rows=first_row)

    @property
    def n_features(self) -> int:
        """Number of features."""
        return self.moments.n_features

    @property
    def n_folds(self) -> int:
        """Number of folds."""
        return len(self.moments.groups) // self.n_classes

    def class_weights(self) -> tuple[float, ...]:
        """Return the total weight of the rows of each class."""
        groups, n_classes = self.moments.groups, self.n_classes
        return tuple(float(sum(one.count for one in groups[c::n_classes])) for c in range(n_classes))

    def fold_counts(self) -> Floats:
        """Return the total weight of the rows of each class in each fold, (n_folds, n_classes)."""
        return np.array([one.count for one in self.moments.groups]).reshape(self.n_folds, self.n_classes)

    def update(
        self,
        rows: Rows,
        labels: Labels,
        weight: Floats | None = None,
        *,
        groups: GroupKeys | None = None,
        n_jobs: int = 1,
    ) -> Self:
        """Return the statistics of the earlier rows and these, in folds by `groups` if given, else by row number."""
        n_rows = self.n_rows + labels.size if groups is None else 0
        moments = self.moments.update(rows, self.next_folds(labels.size, groups) + labels, weight, n_jobs=n_jobs)
        return replace(self, moments=moments, n_rows=n_rows, grouped=groups is not None)

    def with_numbers(self, rows: Rows, numbers: Labels, weight: Floats | None = None) -> Self:
        """Return the statistics with rows whose numbers, n_classes * fold + label, are known."""
        return replace(self, moments=self.moments.update(rows, numbers, weight))

    def next_folds(self, n_rows: int, groups: GroupKeys | None = None) -> Labels:
        """Return n_classes * fold of each of the next rows, by `groups` if given, else by row number."""
        self._check_groups(groups is not None)
        if groups is not None:
            return self._group_folds(groups)
        table = _fold_table(self.n_folds, self.n_classes)
        first = self.n_rows % table.size
        return np.tile(table, -(-(first + n_rows) // table.size))[first : first + n_rows]

    def folds_of(self, n_rows: int, row_numbers: ArrayLike | None, groups: GroupKeys | None = None) -> Labels:
        """Return n_classes * fold of rows to be removed, which were added with these row numbers, from 0, or groups."""
        if groups is not None:
            if not self.grouped:
                raise ValueError("forget needs row_numbers, not groups: folds are by row number")
            return self._group_folds(groups)
        if self.grouped:
            raise ValueError("forget needs groups, not row_numbers: folds are by group")
        numbers = np.asarray(row_numbers)
        if numbers.shape != (n_rows,) or not np.issubdtype(numbers.dtype, np.integer):
            raise ValueError(f"row_numbers must hold one integer for each of the {n_rows} rows")
        table = _fold_table(self.n_folds, self.n_classes)
        folds: Labels = table[numbers % table.size]
        return folds

    def forget(self, rows: Rows, labels: Labels, row_numbers: ArrayLike, weight: Floats | None = None) -> Self:
        """Return the statistics without these rows, with these row numbers (from 0)."""
        return self._subtract_rows(rows, self.folds_of(labels.size, row_numbers) + labels, weight)

    def forget_groups(self, rows: Rows, labels: Labels, groups: GroupKeys, weight: Floats | None = None) -> Self:
        """Return the statistics without these rows of these groups."""
        return self._subtract_rows(rows, self.folds_of(labels.size, None, groups) + labels, weight)

    def merge(self, other: Self) -> Self:
        """Return the statistics of both sets of rows, fold by fold."""
        if self._has_rows and other._has_rows and self.grouped != other.grouped:
            raise IncompatibleMomentsError("cannot merge folds by groups with folds by row numbers")
        moments = self.moments.merge(other.moments)
        return replace(self, moments=moments, n_rows=self.n_rows + other.n_rows, grouped=self.grouped or other.grouped)

    def subtract(self, other: Self) -> Self:
        """Return the statistics of the rows that are not in `other`: the inverse of `merge`."""
        moments = self.moments.subtract(other.moments)
        return replace(self, moments=moments, n_rows=max(0, self.n_rows - other.n_rows))

    def decay(self, factor: float) -> Self:
        """Return the statistics with the weight of every row multiplied by `factor`."""
        return replace(self, moments=self.moments.decay(factor))

    def restrict(self, features: ArrayLike) -> Self:
        """Return the statistics of the given features only, in the given order."""
        return replace(self, moments=self.moments.restrict(features))

    def widen(self, n_features: int) -> Self:
        """Return the statistics with more features, which are zero in all rows so far."""
        return replace(self, moments=self.moments.widen(n_features))

    def to_arrays(self) -> Arrays:
        """Return copies of all sums by name, for a file or the network."""
        n_rows = BY_GROUPS if self.grouped else self.n_rows
        return {**self.moments.to_arrays(), N_ROWS: np.array(n_rows, np.int64)}

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
        """Return n_classes * fold of each row."""
        folds = self.n_classes * (groups % np.uint64(self.n_folds)).astype(np.int64)
        return folds.astype(_group_type(self.n_folds, self.n_classes))

    def _subtract_rows(self, rows: Rows, numbers: Labels, weight: Floats | None) -> Self:
        return replace(self, moments=self.moments.forget(rows, numbers, weight))

    def _fold(self, number: int) -> tuple[ExactMoments, ...]:
        """Return the statistics of each class in one fold."""
        return self.moments.groups[self.n_classes * number : self.n_classes * (number + 1)]

    def _total(self, without: int | None = None) -> list[ExactMoments]:
        """Return the statistics of each class in all folds, or in all but one."""
        folds = [k for k in range(self.n_folds) if k != without]
        return [self.moments.total([self.n_classes * k + c for k in folds]) for c in range(self.n_classes)]


@dataclass(frozen=True, slots=True, eq=False)
class FoldMoments(ClassFolds, Statistic):
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

    @classmethod
    def empty(cls, n_features: int, n_folds: int = 5) -> FoldMoments:
        """Return the statistics of no rows: the identity of `merge`."""
        return cls(GroupMoments.empty(n_features, 2 * n_folds))

    @property
    def n_classes(self) -> int:
        """Number of classes: two."""
        return 2

    @property
    def counts(self) -> ClassCounts:
        """Total weight of the rows of each class."""
        return ClassCounts(*self.class_weights())

    def fold(self, number: int) -> ClassMoments:
        """Return the statistics of the rows of one fold."""
        return ClassMoments(*self._fold(number))

    def complement(self, number: int) -> ClassMoments:
        """Return the statistics of the rows of all other folds."""
        return ClassMoments(*self._total(without=number))

    def whole(self) -> ClassMoments:
        """Return the statistics of all rows."""
        return ClassMoments(*self._total())

    def feature_spread(self) -> FeatureSpread:
        """Return the standard deviation of each feature within the classes, pooled over both."""
        return self.whole().feature_spread()

    def mean_difference(self) -> Floats:
        """Return mean of the positive rows - mean of the negative rows."""
        return self.whole().mean_difference()

    def summary(self, weights: Floats) -> ScoreSummary:
        """Return counts, means and variances of the scores of the rows seen."""
        return self.whole().summary(weights)

    @classmethod
    def from_arrays(cls, arrays: NamedArrays) -> FoldMoments:
        """Return the statistics from the arrays of `to_arrays`, checked."""
        moments, numbers = _checked_arrays(SCHEMA, arrays)
        if len(moments.groups) % 2:
            raise IncompatibleMomentsError("expected two groups a fold")
        n_rows = int(numbers[N_ROWS])
        return cls(moments, max(0, n_rows), n_rows == BY_GROUPS)


@dataclass(frozen=True, slots=True, eq=False)
class MulticlassFoldMoments(ClassFolds):
    """Exact statistics of several classes in each of several folds, which are those of `FoldMoments`.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.linear.moments.folds import MulticlassFoldMoments
    >>> rows, labels = np.arange(9.0)[:, None], np.array([0, 1, 2] * 3, np.int8)
    >>> moments = MulticlassFoldMoments.empty(1, n_folds=3, n_classes=3).update(rows, labels)
    >>> moments.counts, sum(moments.fold(0).counts) + sum(moments.complement(0).counts)
    (MulticlassCounts(3.0, 3.0, 3.0), 9.0)
    """

    size: int = 3  # number of classes

    @classmethod
    def empty(cls, n_features: int, n_folds: int = 5, n_classes: int = 3) -> MulticlassFoldMoments:
        """Return the statistics of no rows: the identity of `merge`."""
        return cls(GroupMoments.empty(n_features, n_classes * n_folds), size=n_classes)

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return self.size

    @property
    def counts(self) -> MulticlassCounts:
        """Total weight of the rows of each class."""
        return MulticlassCounts(self.class_weights())

    def fold(self, number: int) -> MulticlassMoments:
        """Return the statistics of the rows of one fold."""
        return MulticlassMoments(*self._fold(number))

    def complement(self, number: int) -> MulticlassMoments:
        """Return the statistics of the rows of all other folds."""
        return MulticlassMoments(*self._total(without=number))

    def whole(self) -> MulticlassMoments:
        """Return the statistics of all rows."""
        return MulticlassMoments(*self._total())

    def feature_spread(self) -> FeatureSpread:
        """Return the standard deviation of each feature within the classes, pooled over all of them."""
        return self.whole().feature_spread()

    def to_arrays(self) -> Arrays:
        """Return copies of all sums by name, for a file or the network."""
        return {**ClassFolds.to_arrays(self), N_CLASSES: np.array(self.size, np.int64)}

    @classmethod
    def from_arrays(cls, arrays: NamedArrays) -> MulticlassFoldMoments:
        """Return the statistics from the arrays of `to_arrays`, checked."""
        moments, numbers = _checked_arrays(SEVERAL_SCHEMA, arrays)
        size, n_rows = int(numbers[N_CLASSES]), int(numbers[N_ROWS])
        if len(moments.groups) % size:
            raise IncompatibleMomentsError(f"expected {size} groups a fold, got {len(moments.groups)} groups")
        return cls(moments, max(0, n_rows), n_rows == BY_GROUPS, size)


def _checked_arrays(schema: dict[str, ArrayRule], arrays: NamedArrays) -> tuple[GroupMoments, dict[str, Array]]:
    """Return the statistics of the groups and the numbers that a schema names, checked."""
    numbers = {name: part for name, part in arrays.items() if name in schema}
    check_arrays(schema, numbers)
    moments = GroupMoments.from_arrays({name: part for name, part in arrays.items() if name not in schema})
    return moments, numbers


def _group_type(n_folds: int, n_classes: int) -> type[np.signedinteger[Any]]:
    """Return the smallest type for the numbers of class and fold."""
    return np.int8 if n_folds * n_classes <= np.iinfo(np.int8).max + 1 else np.int16


@cache
def _fold_table(n_folds: int, n_classes: int = 2) -> Labels:
    """Return n_classes * fold of each row number: rounds of all folds, each in random order."""
    rounds = np.random.RandomState(n_folds).random_sample((ROUNDS, n_folds)).argsort(axis=1)
    table: Labels = (n_classes * rounds.ravel()).astype(_group_type(n_folds, n_classes))
    return table
