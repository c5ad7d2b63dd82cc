"""Class statistics of folds of the rows: all that one-pass cross-validation needs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache

import numpy as np
from numpy.typing import ArrayLike

from opauc.errors import IncompatibleMoments
from opauc.rows import Arrays, ClassCounts, Floats, Labels, NamedArrays, Rows
from opauc.statistics.class_moments import ClassMoments
from opauc.statistics.group_moments import GroupMoments
from opauc.statistics.score_summary import ScoreSummary
from opauc.statistics.statistic import Statistic

# Folds come back in the same order after so many rounds of all of them: a prime, lest they keep step with the rows.
ROUNDS = 13_001
N_ROWS = "rows_numbered"
# Groups are numbered by bytes.
MOST_FOLDS = 60


@dataclass(frozen=True, slots=True, eq=False)
class FoldMoments(Statistic):
    """Exact statistics of both classes in each of several folds.

    A row belongs to a fold by its number in the stream, at random but always
    the same: any cut of the stream gives the same folds, and as many rows in a
    row as there are folds go to different ones.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.statistics.fold_moments import FoldMoments
    >>> rows, labels = np.arange(8.0)[:, None], np.array([0, 1] * 4, np.int8)
    >>> seen = FoldMoments.empty(1, n_folds=2).update(rows, labels)
    >>> seen.counts, sum(seen.fold(0).counts) + sum(seen.complement(0).counts)
    (ClassCounts(negative=4.0, positive=4.0), 8.0)
    """

    moments: GroupMoments  # group 2 k + c is class c of fold k
    n_rows: int = 0

    @classmethod
    def empty(cls, n_features: int, n_folds: int = 5) -> FoldMoments:
        """Statistics of no rows: the identity of `merge`."""
        return cls(GroupMoments.empty(n_features, 2 * n_folds))

    def emptied(self) -> FoldMoments:
        """Statistics of no rows with as many features and folds."""
        return self.empty(self.n_features, self.n_folds)

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

    def update(self, rows: Rows, labels: Labels, weight: Floats | None = None, *, n_jobs: int = 1) -> FoldMoments:
        """Statistics of the rows so far and these, numbered on from the last."""
        table = _fold_table(self.n_folds)
        first = self.n_rows % table.size
        folds = np.tile(table, -(-(first + labels.size) // table.size))[first : first + labels.size]
        moments = self.moments.update(rows, folds + labels, weight, n_jobs=n_jobs)
        return FoldMoments(moments, self.n_rows + labels.size)

    def forget(self, rows: Rows, labels: Labels, row_numbers: ArrayLike, weight: Floats | None = None) -> FoldMoments:
        """Statistics as if these rows, which came as the given numbers (from 0), had never been seen."""
        numbers = np.asarray(row_numbers)
        if numbers.shape != labels.shape or not np.issubdtype(numbers.dtype, np.integer):
            raise ValueError(f"row_numbers must hold one integer for each of the {labels.size} rows")
        table = _fold_table(self.n_folds)
        groups = table[numbers % table.size] + labels
        return replace(self, moments=self.moments.forget(rows, groups, weight))

    def merge(self, other: FoldMoments) -> FoldMoments:
        """Statistics of both sets of rows together, fold by fold."""
        return FoldMoments(self.moments.merge(other.moments), self.n_rows + other.n_rows)

    def without(self, other: FoldMoments) -> FoldMoments:
        """Statistics of the rows that are not in `other`: the inverse of `merge`."""
        return FoldMoments(self.moments.without(other.moments), max(0, self.n_rows - other.n_rows))

    def restrict(self, features: ArrayLike) -> FoldMoments:
        """Statistics of the given features only, in the given order."""
        return replace(self, moments=self.moments.restrict(features))

    def grown(self, n_features: int) -> FoldMoments:
        """Statistics of the same rows with more features, which are zero in all of them."""
        return replace(self, moments=self.moments.grown(n_features))

    def mean_difference(self) -> Floats:
        """Mean of the positive rows less mean of the negative rows."""
        return self.whole().mean_difference()

    def summary(self, weights: Floats) -> ScoreSummary:
        """Counts, means and variances of the scores that `weights` give to the rows seen."""
        return self.whole().summary(weights)

    def to_arrays(self) -> Arrays:
        """Copies of all sums under flat names, for a file or the network."""
        return {**self.moments.to_arrays(), N_ROWS: np.array(self.n_rows, np.int64)}

    @classmethod
    def from_arrays(cls, arrays: NamedArrays) -> FoldMoments:
        """Statistics from what `to_arrays` gave, checked."""
        n_rows = arrays[N_ROWS] if N_ROWS in arrays else np.array(-1)
        moments = GroupMoments.from_arrays({name: part for name, part in arrays.items() if name != N_ROWS})
        if n_rows.shape != () or n_rows.dtype != np.int64 or n_rows < 0 or len(moments.groups) % 2:
            raise IncompatibleMoments("expected a number of rows, and two groups a fold")
        return cls(moments, int(n_rows))

    def _together(self, folds: list[int]) -> ClassMoments:
        return ClassMoments(*(self.moments.total([2 * k + c for k in folds]) for c in (0, 1)))


@cache
def _fold_table(n_folds: int) -> Labels:
    """Return twice the fold of each row number: every fold once, in random order, again and again."""
    rounds = np.random.RandomState(n_folds).random_sample((ROUNDS, n_folds)).argsort(axis=1)
    return (2 * rounds.ravel()).astype(np.int8)
