"""Sums of the pair loss within groups of rows, of which only those still open are kept as rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import eigh
from scipy.sparse import csr_array

from opauc.core.array_schema import ArrayRule, check_arrays, with_prefix
from opauc.core.mergeable import ROUNDING, FeatureSpread, ScoreSummary, Statistic
from opauc.errors import IncompatibleMomentsError
from opauc.linear.moments.classes import ClassMoments
from opauc.types import Arrays, ClassCounts, Floats, GroupKeys, Labels, NamedArrays, Rows

# Rows that are put into groups at a time.
ROWS_PER_BLOCK = 8192
# How much the pairs of a group weigh together: as every other group, as many as they are, or as its rows.
EQUAL, PAIRS, ROWS = "equal", "pairs", "rows"

WEIGHTS = (EQUAL, PAIRS, ROWS)

SCHEMA = {
    "max_gap": ArrayRule("int64", low=0),
    "group_weight": ArrayRule("int64", low=0, high=len(WEIGHTS) - 1),
    "sums.scatter": ArrayRule("float64", "features features"),
    "sums.difference": ArrayRule("float64", "features"),
    "sums.weight": ArrayRule("float64", low=0),
    "sums.ranked": ArrayRule("int64", low=0),
    "sums.one_class": ArrayRule("int64", low=0),
    "open.rows": ArrayRule("float64", "open features"),
    "open.labels": ArrayRule("int8", "open", low=0, high=1),
    "open.weights": ArrayRule("float64", "open"),
    "open.keys": ArrayRule("uint64", "open"),
    "open.ages": ArrayRule("int64", "open", low=0),
}


class GroupCounts(NamedTuple):
    """Numbers of groups of rows.

    Attributes
    ----------
    ranked : int
        Groups with rows of both classes, which have pairs.
    one_class : int
        Groups with rows of one class, which have none.
    """

    ranked: int
    one_class: int


class PairSums(NamedTuple):
    """Sums over groups: of weight * (covariances of both classes + d d^T) and of weight * d, d the mean difference."""

    scatter: Floats  # (d, d)
    difference: Floats  # (d,)
    weight: float
    ranked: int
    one_class: int

    @classmethod
    def empty(cls, n_features: int) -> PairSums:
        """Return the sums of no groups."""
        return cls(np.zeros((n_features, n_features)), np.zeros(n_features), 0.0, 0, 0)

    def plus(self, other: PairSums, sign: int = 1) -> PairSums:
        """Return the sums of both, or without the groups of the other."""
        return PairSums(
            self.scatter + sign * other.scatter,
            self.difference + sign * other.difference,
            self.weight + sign * other.weight,
            self.ranked + sign * other.ranked,
            self.one_class + sign * other.one_class,
        )


class OpenRows(NamedTuple):
    """Rows of groups that are not complete yet; a row that was taken out again is there twice, once negatively.

    The age of a row is how many rows have come after the last row of its group.
    """

    rows: Floats
    labels: Labels
    weights: Floats
    keys: GroupKeys
    ages: NDArray[np.int64]

    @classmethod
    def empty(cls, n_features: int) -> OpenRows:
        """Return no rows."""
        return cls(
            np.empty((0, n_features)), np.empty(0, np.int8), np.empty(0), np.empty(0, np.uint64), np.empty(0, np.int64)
        )

    def plus(self, other: OpenRows) -> OpenRows:
        """Return the rows of both."""
        return OpenRows(
            np.concatenate([self.rows, other.rows]),
            np.concatenate([self.labels, other.labels]),
            np.concatenate([self.weights, other.weights]),
            np.concatenate([self.keys, other.keys]),
            np.concatenate([self.ages, other.ages]),
        )

    def at(self, places: NDArray[np.bool_] | NDArray[np.int64]) -> OpenRows:
        """Return some of the rows."""
        return OpenRows(
            self.rows[places], self.labels[places], self.weights[places], self.keys[places], self.ages[places]
        )


# Rows, their labels and their weights, which may be negative.
Weighted: TypeAlias = tuple[Floats, Labels, Floats]


@dataclass(frozen=True, slots=True, eq=False)
class WithinGroupMoments(Statistic):
    """Sums from which the mean pair loss within groups is minimized, and the statistics of both classes.

    The rows of a group follow each other with at most `max_gap` rows of other
    groups in between; after more, the group is complete, and rows with its key
    are another group. Complete groups are sums. Rows of the others are kept, but
    not more of a class than four per feature: these are then replaced by two per
    feature with the same count, mean and scatter.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.linear.moments.within_groups import WithinGroupMoments
    >>> rows, labels = np.array([[1.0], [2.0], [9.0], [8.0]]), np.array([0, 1, 1, 0], np.int8)
    >>> moments = WithinGroupMoments.empty(1).update(rows, labels, groups=np.array([7, 7, 8, 8], np.uint64))
    >>> moments.pair_sums().difference.tolist(), moments.group_counts
    ([2.0], GroupCounts(ranked=2, one_class=0))
    """

    moments: ClassMoments
    sums: PairSums  # of complete groups
    open: OpenRows
    max_gap: int = 0
    group_weight: str = EQUAL

    optional_arrays: ClassVar[tuple[str, ...]] = ClassMoments.optional_arrays

    @classmethod
    def empty(cls, n_features: int, max_gap: int = 0, group_weight: str = EQUAL) -> WithinGroupMoments:
        """Return the statistics of no rows."""
        moments = ClassMoments.empty(n_features)
        return cls(moments, PairSums.empty(n_features), OpenRows.empty(n_features), max_gap, group_weight)

    def empty_copy(self) -> WithinGroupMoments:
        """Return the statistics of no rows with as many features."""
        return self.empty(self.n_features, self.max_gap, self.group_weight)

    @property
    def n_features(self) -> int:
        """Number of features."""
        return self.moments.n_features

    @property
    def counts(self) -> ClassCounts:
        """Total weight of the rows of each class."""
        return self.moments.counts

    @property
    def group_counts(self) -> GroupCounts:
        """How many groups have rows of both classes, and how many have not, open ones as they are."""
        sums = self.pair_sums()
        return GroupCounts(int(sums.ranked), int(sums.one_class))

    def pair_sums(self) -> PairSums:
        """Return the sums of all groups, open ones as they are."""
        keys, numbers = np.unique(self.open.keys, return_inverse=True)
        return self.sums.plus(sum_groups(self.open[:3], numbers, keys.size, self.group_weight))

    def update(
        self, rows: Rows, labels: Labels, weight: Floats | None = None, *, groups: GroupKeys | None = None,
        n_jobs: int = 1,
    ) -> WithinGroupMoments:  # fmt: skip
        """Return the statistics of the earlier rows and these; without `groups` they are all of one group."""
        moments = self.moments.update(rows, labels, weight, n_jobs=n_jobs)
        keys = np.zeros(labels.size, np.uint64) if groups is None else groups
        weights = np.ones(labels.size) if weight is None else weight
        sums, kept = self.sums, self.open
        for start in range(0, labels.size, ROWS_PER_BLOCK):
            part = slice(start, start + ROWS_PER_BLOCK)
            dense = np.asarray(rows[part] if isinstance(rows, np.ndarray) else rows[part].toarray(), np.float64)
            size = dense.shape[0]
            ages = np.arange(size - 1, -1, -1)
            fresh = OpenRows(dense, labels[part], weights[part], keys[part], ages)
            complete, kept = self._advance(kept._replace(ages=kept.ages + size), fresh)
            sums = sums.plus(complete)
        return replace(self, moments=moments, sums=sums, open=kept)

    def forget_groups(
        self, rows: Rows, labels: Labels, groups: GroupKeys, weight: Floats | None = None, n_jobs: int = 1
    ) -> WithinGroupMoments:
        """Return the statistics without these rows: any rows of groups still open, all rows of complete ones."""
        moments = self.moments.forget(rows, labels, weight, n_jobs)
        dense = np.asarray(rows if isinstance(rows, np.ndarray) else rows.toarray(), np.float64)
        weights = np.ones(labels.size) if weight is None else weight
        is_open, kept, sums = np.isin(groups, self.open.keys), self.open, self.sums
        if is_open.any():
            last = dict(zip(kept.keys.tolist(), kept.ages.tolist(), strict=True))
            ages = np.array([last[key] for key in groups[is_open].tolist()], np.int64)
            taken = OpenRows(dense[is_open], labels[is_open], -weights[is_open], groups[is_open], ages)
            kept = _compact(kept.plus(taken))
        if not is_open.all():
            keys, numbers = np.unique(groups[~is_open], return_inverse=True)
            parts = dense[~is_open], labels[~is_open], weights[~is_open]
            sums = sums.plus(sum_groups(parts, numbers, keys.size, self.group_weight), -1)
        return replace(self, moments=moments, sums=_checked(sums), open=kept)

    def merge(self, other: WithinGroupMoments) -> WithinGroupMoments:
        """Return the statistics of both sets of rows; groups that are open in both are joined."""
        self._check_same_groups(other)
        moments = self.moments.merge(other.moments)  # raises for other widths
        kept = self.open.plus(other.open)
        keys, numbers = np.unique(kept.keys, return_inverse=True)
        youngest = np.full(keys.size, np.iinfo(np.int64).max)
        np.minimum.at(youngest, numbers, kept.ages)
        kept = kept._replace(ages=youngest[numbers])
        return replace(self, moments=moments, sums=self.sums.plus(other.sums), open=_compact(kept))

    def subtract(self, other: WithinGroupMoments) -> WithinGroupMoments:
        """Return the statistics of the rows that are not in `other`."""
        self._check_same_groups(other)
        moments = self.moments.subtract(other.moments)  # raises for other widths
        sums = _checked(self.sums.plus(other.sums, -1))
        kept = _compact(self.open.plus(other.open._replace(weights=-other.open.weights)))
        return replace(self, moments=moments, sums=sums, open=kept)

    def restrict(self, features: ArrayLike) -> WithinGroupMoments:
        """Return the statistics of the given features only, in the given order."""
        at = np.asarray(features)
        sums = self.sums._replace(scatter=self.sums.scatter[np.ix_(at, at)], difference=self.sums.difference[at])
        kept = self.open._replace(rows=np.ascontiguousarray(self.open.rows[:, at]))
        return replace(self, moments=self.moments.restrict(at), sums=sums, open=kept)

    def widen(self, n_features: int) -> WithinGroupMoments:
        """Return the statistics with more features, which are zero in all rows so far."""
        more = (0, n_features - self.n_features)
        sums = self.sums._replace(
            scatter=np.pad(self.sums.scatter, (more, more)), difference=np.pad(self.sums.difference, more)
        )
        kept = self.open._replace(rows=np.pad(self.open.rows, ((0, 0), more)))
        return replace(self, moments=self.moments.widen(n_features), sums=sums, open=kept)

    def mean_difference(self) -> Floats:
        """Return the weighted mean over the groups of the mean positive less the mean negative row."""
        sums = self.pair_sums()
        difference: Floats = sums.difference / (sums.weight or 1.0)
        return difference

    def summary(self, weights: Floats) -> ScoreSummary:
        """Return counts, means and variances of the scores of the rows seen."""
        return self.moments.summary(weights)

    def feature_spread(self) -> FeatureSpread:
        """Return the standard deviation of each feature within the classes, pooled over both."""
        return self.moments.feature_spread()

    def to_arrays(self) -> Arrays:
        """Return copies of all sums and of the rows of open groups, by name."""
        arrays = {f"moments.{name}": part for name, part in self.moments.to_arrays().items()}
        arrays["max_gap"] = np.array(self.max_gap, np.int64)
        arrays["group_weight"] = np.array(WEIGHTS.index(self.group_weight), np.int64)
        kinds = [part.dtype for part in self.empty(0).sums[:2]] + [np.float64, np.int64, np.int64]
        sums = zip(PairSums._fields, self.sums, kinds, strict=True)
        arrays |= {f"sums.{name}": np.array(part, kind) for name, part, kind in sums}
        return arrays | {f"open.{name}": part.copy() for name, part in self.open._asdict().items()}

    @classmethod
    def from_arrays(cls, arrays: NamedArrays) -> WithinGroupMoments:
        """Return the statistics from the arrays of `to_arrays`, checked."""
        check_arrays(SCHEMA, {name: part for name, part in arrays.items() if not name.startswith("moments.")})
        moments = ClassMoments.from_arrays(with_prefix("moments.", arrays))
        scatter, difference, *numbers = (np.array(arrays[f"sums.{name}"]) for name in PairSums._fields)
        kept = OpenRows(*(np.array(arrays[f"open.{name}"]) for name in OpenRows._fields))
        if moments.n_features != difference.size:
            raise IncompatibleMomentsError(f"expected sums of {moments.n_features} features, got {difference.size}")
        size = np.sqrt(np.maximum(np.diagonal(scatter), 0.0))
        if (np.abs(scatter - scatter.T) > 1e-9 * np.outer(size, size) + 1e-300).any():
            raise IncompatibleMomentsError("scatter must be symmetric")
        sums = PairSums(scatter, difference, float(numbers[0]), int(numbers[1]), int(numbers[2]))
        return cls(moments, sums, kept, int(arrays["max_gap"]), WEIGHTS[int(arrays["group_weight"])])

    def _advance(self, kept: OpenRows, fresh: OpenRows) -> tuple[PairSums, OpenRows]:
        """Return the sums of the groups that are complete after more rows, and the rows of the others."""
        both = kept.plus(fresh)
        order = np.lexsort((-both.ages, both.keys))
        both = both.at(order)
        again = np.diff(both.keys) != 0
        gaps = -np.diff(both.ages) - 1  # rows of other groups between two rows
        starts = np.concatenate([[True], again | (gaps > self.max_gap)])[: both.keys.size]
        numbers = np.cumsum(starts) - 1
        ends = np.flatnonzero(np.append(starts[1:], True)[: both.keys.size])
        ages = both.ages[ends]
        is_complete = (ages > self.max_gap)[numbers]
        at = np.unique(numbers[is_complete], return_inverse=True)
        part = both.at(is_complete)
        complete = sum_groups(part[:3], at[1], at[0].size, self.group_weight)
        rest = both._replace(ages=ages[numbers]).at(~is_complete)
        return complete, _compact(rest)

    def _check_same_groups(self, other: WithinGroupMoments) -> None:
        """Raise unless groups are distinguished and weighted in the same way."""
        if (self.max_gap, self.group_weight) != (other.max_gap, other.group_weight):
            raise IncompatibleMomentsError(
                f"cannot merge sums with max_gap={self.max_gap} and group_weight={self.group_weight!r} with those of "
                f"max_gap={other.max_gap} and group_weight={other.group_weight!r}"
            )


def sum_groups(parts: Weighted, groups: NDArray[np.int64], n_groups: int, group_weight: str) -> PairSums:
    """Return the sums of groups of rows, each with the number of its group.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.linear.moments.within_groups import sum_groups
    >>> rows, labels = np.array([[1.0], [3.0], [5.0]]), np.array([0, 1, 1], np.int8)
    >>> sums = sum_groups((rows, labels, np.ones(3)), np.array([0, 0, 1]), 2, "equal")
    >>> sums.scatter.tolist(), sums.difference.tolist(), sums.ranked, sums.one_class
    ([[4.0]], [2.0], 1, 1)
    """
    rows, labels, weights = parts
    if not n_groups:
        return PairSums.empty(rows.shape[1])
    center = rows.mean(axis=0)
    cells = 2 * groups + labels
    counts, means = _cell_means(rows - center, weights, cells, 2 * n_groups)
    by_class = counts.reshape(-1, 2)
    present = by_class > 0.0
    ranked = np.logical_and(present[:, 0], present[:, 1])
    weight = {
        EQUAL: np.ones(n_groups), PAIRS: by_class.prod(axis=1), ROWS: by_class.sum(axis=1)
    }[group_weight] * ranked  # fmt: skip
    share = np.where(ranked, weight, 0.0)[groups] * weights / np.where(counts > 0.0, counts, 1.0)[cells]
    away = rows - center - means[cells]
    scatter = _gram(away, np.maximum(share, 0.0)) - _gram(away, np.maximum(-share, 0.0))
    differences = np.where(ranked[:, None], means[1::2] - means[::2], 0.0)
    return PairSums(
        scatter + _gram(differences, weight), weight @ differences, float(weight.sum()), int(ranked.sum()),
        int((np.logical_xor(present[:, 0], present[:, 1])).sum()),
    )  # fmt: skip


def _cell_means(rows: Floats, weights: Floats, cells: NDArray[np.int64], n_cells: int) -> tuple[Floats, Floats]:
    """Return the weight and the mean of the rows of each cell; what rounding leaves of a weight is zero."""
    members = csr_array((weights, (cells, np.arange(cells.size))), shape=(n_cells, cells.size))
    size = np.bincount(cells, np.abs(weights), n_cells)
    counts = np.asarray(np.bincount(cells, weights, n_cells), np.float64)
    counts[counts <= ROUNDING * size] = 0.0
    means: Floats = (members @ rows) / np.where(counts > 0.0, counts, 1.0)[:, None]
    return counts, means


def _gram(rows: Floats, weights: Floats) -> Floats:
    """Return the weighted sum of the products of rows."""
    used = weights > 0.0
    scaled = rows[used] * np.sqrt(weights[used])[:, None]
    gram: Floats = scaled.T @ scaled
    return gram


def _compact(kept: OpenRows) -> OpenRows:
    """Return the rows with those of a class of a group, where they are many, as few with the same moments."""
    n_features = kept.rows.shape[1]
    if kept.keys.size <= 4 * n_features:
        return kept
    keys, numbers = np.unique(kept.keys, return_inverse=True)
    cells = 2 * numbers + kept.labels
    many = np.flatnonzero(np.bincount(cells, minlength=2 * keys.size) > 4 * n_features)
    parts = [kept.at(~np.isin(cells, many))]
    parts.extend(_with_same_moments(kept.at(cells == cell)) for cell in many.tolist())
    compacted = parts[0]
    for part in parts[1:]:
        compacted = compacted.plus(part)
    return compacted


def _with_same_moments(cell: OpenRows) -> OpenRows:
    """Return two rows per feature with the count, mean and scatter of rows of one class of one group."""
    n_features, count = cell.rows.shape[1], float(cell.weights.sum())
    if count <= ROUNDING * float(np.abs(cell.weights).sum()):
        return cell.at(np.zeros(cell.keys.size, bool))
    center = cell.rows.mean(axis=0)
    mean = cell.weights @ (cell.rows - center) / count
    away = cell.rows - center - mean
    values, vectors = eigh(away.T @ (away * cell.weights[:, None]) / count)
    axes = (vectors * np.sqrt(n_features * np.maximum(values, 0.0))).T
    rows = center + mean + np.concatenate([axes, -axes])
    first = cell.at(np.zeros(2 * n_features, np.int64))
    return first._replace(rows=rows, weights=np.full(2 * n_features, count / (2 * n_features)))


def _checked(sums: PairSums) -> PairSums:
    """Return sums from which groups were taken out; raise where those cannot have been in them."""
    if sums.ranked < 0 or sums.one_class < 0:
        raise IncompatibleMomentsError(
            "cannot take out groups that were never seen; of a complete group all rows must be given at once"
        )
    size = float(np.diagonal(sums.scatter).min(initial=0.0))
    if sums.ranked == 0:
        return PairSums.empty(sums.difference.size)._replace(one_class=sums.one_class)
    if size < -ROUNDING * float(np.abs(np.diagonal(sums.scatter)).max()) or sums.weight < 0.0:
        raise IncompatibleMomentsError("cannot take out groups that were never seen: a feature would vary by less "
                                       "than nothing")  # fmt: skip
    return sums
