"""Statistics of many groups of rows at once: classes, or classes and folds."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from opauc.errors import IncompatibleMoments
from opauc.rows import Arrays, Floats, Labels, NamedArrays, Rows
from opauc.statistics.accumulate import accumulate
from opauc.statistics.chunk_rows import NO_WEIGHTS
from opauc.statistics.exact_moments import FAINTEST, ExactMoments
from opauc.statistics.statistic import Mergeable


@dataclass(frozen=True, slots=True, eq=False, init=False)
class GroupMoments(Mergeable):
    """Exact statistics of each of several groups of rows.

    A value: `update`, `merge`, `forget` and the rest return a new one and
    leave this one as it was. Rows are an array (n, d) of float32 or float64,
    of any memory order, or a canonical CSR array; sums are float64. The group
    of each row is its number, from 0 on.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.statistics.group_moments import GroupMoments
    >>> rows, fold = np.array([[0.0], [1.0], [5.0], [6.0]]), np.array([0, 1, 2, 2], np.int8)
    >>> seen = GroupMoments.empty(1, n_groups=3).update(rows, fold)
    >>> seen.groups[2].mean.tolist(), seen.total().without(seen.groups[2]).mean.tolist()
    ([5.5], [0.5])
    """

    groups: tuple[ExactMoments, ...]

    optional_arrays: ClassVar[tuple[str, ...]] = ExactMoments.optional_arrays

    def __init__(self, *groups: ExactMoments) -> None:
        for one in groups[1:]:
            groups[0].refuse_other_width(one)
        object.__setattr__(self, "groups", groups)

    @classmethod
    def empty(cls, n_features: int, n_groups: int = 2) -> Self:
        """Statistics of no rows: the identity of `merge`."""
        return cls(*[ExactMoments.empty(n_features)] * n_groups)

    def emptied(self) -> Self:
        """Statistics of no rows with as many features and groups."""
        return self.empty(self.n_features, len(self.groups))

    @property
    def n_features(self) -> int:
        """Number of features."""
        return self.groups[0].n_features

    def total(self, groups: Iterable[int] | None = None) -> ExactMoments:
        """Statistics of the rows of the given groups together, of all where none are named."""
        chosen = self.groups if groups is None else [self.groups[g] for g in groups]
        return ExactMoments.merged([self.groups[0].emptied(), *chosen])

    def update(
        self,
        rows: Rows,
        labels: Labels,
        weight: Floats | None = None,
        *,
        forgetting: float = 1.0,
        n_jobs: int = 1,
    ) -> Self:
        """Statistics of the rows so far and these, each of the group its label names.

        With `forgetting` below one, each new row first multiplies the weight
        of all rows before it, of any group, by that factor.
        """
        if forgetting == 1.0:
            return self.merge(self._gathered(rows, labels, weight, n_jobs))
        # Means and covariances are ratios: weights count from the newest row of each group, lest they underflow.
        n_rows = rows.shape[0]
        numbers, newest = np.arange(n_rows), np.full(len(self.groups), -1)
        newest[labels] = numbers
        fading = forgetting ** (newest[labels] - numbers).astype(float)
        fading[fading < FAINTEST] = 0.0
        fresh = self._gathered(rows, labels, fading if weight is None else fading * weight, n_jobs)
        return type(self)(
            *(
                one.decayed(forgetting ** (last + 1.0)).merge(new).decayed(forgetting ** (n_rows - last - 1.0))
                for one, new, last in zip(self.groups, fresh.groups, newest.tolist(), strict=True)
            )
        )

    def merge(self, other: Self) -> Self:
        """Statistics of both sets of rows together."""
        return self._paired(ExactMoments.merge, other)

    def forget(self, rows: Rows, labels: Labels, weight: Floats | None = None, n_jobs: int = 1) -> Self:
        """Statistics as if these rows had never been seen."""
        return self.without(self._gathered(rows, labels, weight, n_jobs))

    def without(self, other: Self) -> Self:
        """Statistics of the rows that are not in `other`: the inverse of `merge`."""
        return self._paired(ExactMoments.without, other)

    def decayed(self, factor: float) -> Self:
        """Statistics with the weight of every row so far multiplied by `factor`."""
        return self._each(lambda one: one.decayed(factor))

    def restrict(self, features: ArrayLike) -> Self:
        """Statistics of the given features only, in the given order."""
        return self._each(lambda one: one.restrict(features))

    def rescale(self, scale: ArrayLike, shift: ArrayLike = 0.0) -> Self:
        """Statistics of the rows scale * row + shift, from those of the rows."""
        return self._each(lambda one: one.rescale(scale, shift))

    def grown(self, n_features: int) -> Self:
        """Statistics of the same rows with more features, which are zero in all of them."""
        return self._each(lambda one: one.grown(n_features))

    def to_arrays(self) -> Arrays:
        """Copies of all sums under flat names, for a file or the network."""
        named = zip(self._names(len(self.groups)), self.groups, strict=True)
        return {f"{name}.{key}": part for name, one in named for key, part in one.to_arrays().items()}

    @classmethod
    def from_arrays(cls, arrays: NamedArrays) -> Self:
        """Statistics from what `to_arrays` gave, checked."""
        n_groups = sum(key.endswith(".count") for key in arrays)
        return cls(
            *(
                ExactMoments.from_arrays(
                    {key.removeprefix(f"{name}."): part for key, part in arrays.items() if key.startswith(f"{name}.")}
                )
                for name in cls._names(max(1, n_groups))
            )
        )

    @classmethod
    def _names(cls, n_groups: int) -> tuple[str, ...]:
        """Return the names of the groups in files."""
        return tuple(str(g) for g in range(n_groups))

    def _gathered(self, rows: Rows, labels: Labels, weight: Floats | None, n_jobs: int) -> Self:
        shards = accumulate(rows, labels, NO_WEIGHTS if weight is None else weight, len(self.groups), n_jobs)
        return type(self)(*ExactMoments.of_shards(shards))

    def _paired(self, join: Callable[[ExactMoments, ExactMoments], ExactMoments], other: Self) -> Self:
        if len(self.groups) != len(other.groups):
            raise IncompatibleMoments(
                f"statistics of {len(self.groups)} groups and of {len(other.groups)} do not belong together"
            )
        return type(self)(*map(join, self.groups, other.groups))

    def _each(self, change: Callable[[ExactMoments], ExactMoments]) -> Self:
        return type(self)(*map(change, self.groups))
