"""The rows that a basis is fitted to: a sample drawn from all rows, or the first rows of a stream."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from opauc.additive.initial_rows import category_keys, labeled_keys, match_once, row_keys
from opauc.additive.policy import SAMPLE_POLICY, TREE_POLICY, SamplePolicy, TreePolicy
from opauc.additive.settings import fitted_whole
from opauc.core.array_schema import ArrayRule, check_arrays
from opauc.data.sample import RowNumbers, sample_row_numbers
from opauc.data.schema.column import UNSEEN
from opauc.errors import IncompatibleMomentsError
from opauc.types import Array, Arrays, ClassCounts, Floats, Labels, NamedArrays

# Rows are sorted by so many columns, where their order must not depend on that in which they came.
SORTED_COLUMNS = 8


class LabeledRows(Protocol):
    """Rows of numbers with the numbers of their classes."""

    @property
    def rows(self) -> Floats:
        """Array (n, d)."""

    @property
    def labels(self) -> Labels:
        """Array (n,)."""


Drawn = TypeVar("Drawn", bound=LabeledRows)


def draw_initial_sample(
    n_rows: int,
    init_size: int,
    seed: int,
    take: Callable[[RowNumbers], Drawn | None],
    policy: SamplePolicy = SAMPLE_POLICY,
    n_classes: int = 2,
) -> Drawn | None:
    """Return the initial sample of `n_rows` rows, which `take` reads by their numbers; None where it gives none.

    All rows if they are few; else `init_size` of them, drawn at random; or more,
    drawn again, where these have too few rows of the rarest class.

    Examples
    --------
    >>> import numpy as np
    >>> from types import SimpleNamespace
    >>> from opauc.additive.initial_sample import draw_initial_sample
    >>> labels = (np.arange(10**6) % 200 == 0).astype(np.int8)
    >>> take = lambda numbers: SimpleNamespace(rows=numbers[:, None] * 1.0, labels=labels[numbers])
    >>> [draw_initial_sample(n, 16_384, seed=0, take=take).labels.size for n in (20_000, 10**6)]
    [20000, 286069]
    """
    if n_rows <= fitted_whole(init_size, policy):
        return take(np.arange(n_rows))
    sample = take(sample_row_numbers(n_rows, init_size, seed))
    if sample is None:
        return None
    n_rows_of = np.bincount(sample.labels, minlength=n_classes)
    rarest, n_classes = int(n_rows_of.min()), n_rows_of.size
    size = enough_rows(init_size, rarest, n_rows, sample.rows.shape[1], policy, n_classes)
    return take(sample_row_numbers(n_rows, size, seed)) if size > init_size else sample


def enough_rows(
    init_size: int, rarer: int, n_rows: int, width: int, policy: SamplePolicy = SAMPLE_POLICY, n_classes: int = 2
) -> int:
    """Return how many of `n_rows` rows to draw, where `init_size` of them had `rarer` rows of the rarest class.

    Examples
    --------
    >>> from opauc.additive.initial_sample import enough_rows
    >>> enough_rows(16_384, 4_000, n_rows=10**6, width=5), enough_rows(16_384, 110, n_rows=10**6, width=5)
    (16384, 163840)
    """
    needed = rare_rows_needed(init_size, policy, n_classes)
    if rarer >= needed:
        return init_size
    room = policy.max_bytes / (8 * max(1, width) * init_size)
    factor = min(policy.max_growth, room, n_rows / init_size, policy.rare_margin * needed / max(1, rarer))
    return max(init_size, int(init_size * factor))


def rare_rows_needed(init_size: int, policy: SamplePolicy = SAMPLE_POLICY, n_classes: int = 2) -> int:
    """Return how many rows of the rarest class an initial sample should have: the fewer, the more classes there are.

    Examples
    --------
    >>> from opauc.additive.initial_sample import rare_rows_needed
    >>> rare_rows_needed(16_384), rare_rows_needed(1600), rare_rows_needed(16_384, n_classes=10)
    (1000, 100, 200)
    """
    return max(1, 2 * min(policy.rare_rows, int(policy.rare_share * init_size)) // n_classes)


class Sample(NamedTuple):
    """The positions in the warm-up buffer of the rows that the basis is fitted to, and their share of each class."""

    rows: NDArray[np.int64]
    shares: Floats  # (2,): of the negative and of the positive rows


BUFFER_SCHEMA = {
    "rows": ArrayRule("float64", "rows inputs", missing=True),
    "labels": ArrayRule("int8", "rows", low=0, high=1),  # of two classes
    "weights": ArrayRule("float64", "rows", low=np.nextafter(0.0, 1.0)),
}


@dataclass(frozen=True, eq=False)
class WarmUpBuffer:
    """The first rows of a stream, labeled and weighted, until there are enough for a basis. A value.

    The rows are held in parts, each at least twice as long as the next but for the
    last: rows added one by one are copied a few times each, and there are few parts.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.additive.initial_sample import WarmUpBuffer
    >>> buffer = WarmUpBuffer.empty(2).with_rows(np.eye(2), np.array([0, 1], np.int8), None)
    >>> buffer.counts, buffer.missing_rows(np.zeros(1, np.int8), init_size=4)
    (ClassCounts(negative=1.0, positive=1.0), None)
    """

    rows: tuple[Floats, ...]
    labels: tuple[Labels, ...]
    weights: tuple[Floats, ...]
    n_features: int
    n_classes: int = 2

    @classmethod
    def empty(cls, n_features: int, n_classes: int = 2) -> Self:
        """Return a buffer without rows."""
        return cls((), (), (), n_features, n_classes)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return sum(part.size for part in self.labels)

    @property
    def counts(self) -> ClassCounts:
        """Weight of the rows of each of two classes."""
        return ClassCounts(*self.class_weights.tolist())

    @property
    def class_weights(self) -> Floats:
        """Weight of the rows of each class."""
        return np.asarray(np.bincount(self.all_labels(), self.all_weights(), minlength=self.n_classes), np.float64)

    def with_rows(self, rows: Floats, labels: Labels, weight: Floats | None, copied: bool = True) -> Self:
        """Return the buffer with more rows at its end; unless `copied`, the caller must not write to them."""
        ones = np.ones(labels.size) if weight is None else np.array(weight, np.float64)
        kept = np.array(rows, np.float64, order="C") if copied else np.ascontiguousarray(rows, np.float64)
        parts = [*zip(self.rows, self.labels, self.weights, strict=True), (kept, labels.copy(), ones)]
        while len(parts) > 1 and parts[-2][1].size < 2 * parts[-1][1].size:
            last, before = parts.pop(), parts.pop()
            parts.append(
                (
                    np.concatenate([before[0], last[0]]),
                    np.concatenate([before[1], last[1]]),
                    np.concatenate([before[2], last[2]]),
                )
            )
        all_rows, all_labels, all_weights = zip(*parts, strict=True)
        return type(self)(all_rows, all_labels, all_weights, self.n_features, self.n_classes)

    def missing_rows(self, labels: Labels, init_size: int, policy: SamplePolicy = SAMPLE_POLICY) -> int | None:
        """Return how many of the next rows, with these labels, complete the buffer; None if more are needed.

        It is complete with `init_size` rows, enough of them of the rarest class, or when it is full.
        """
        n_rows = self.n_rows + np.arange(1, labels.size + 1)
        full = 8 * n_rows * max(1, self.n_features) >= policy.max_bytes
        needed = rare_rows_needed(init_size, policy, self.n_classes)
        has_enough = n_rows >= init_size
        for k in range(self.n_classes):
            before = sum(np.count_nonzero(part == k) for part in self.labels)
            has_enough &= before + np.cumsum(labels == k) >= needed
        enough = full | has_enough
        return int(np.argmax(enough)) + 1 if enough.any() else None

    def without_rows(self, rows: Floats, labels: Labels, weight: Floats | None) -> Self:
        """Return the buffer without these rows; raise unless it has them with these labels and weights."""
        all_rows, all_labels, all_weights = self.all_rows(), self.all_labels(), self.all_weights()
        known = labeled_keys(np.column_stack([all_rows, all_weights]), all_labels)
        order = np.argsort(known, kind="stable")
        weights = np.ones(labels.size) if weight is None else weight
        at = match_once(known[order], labeled_keys(np.column_stack([rows, weights]), labels))
        if (at < 0).any():
            raise IncompatibleMomentsError(
                f"cannot take out rows that were never seen: {np.count_nonzero(at < 0):,} of {labels.size:,} rows, the "
                f"first at position {int(np.argmax(at < 0))}, were not trained on with this label and weight"
            )
        kept = np.ones(known.size, np.bool_)
        kept[order[at]] = False
        if not kept.any():
            return self.empty_copy()
        return self.empty_copy().with_rows(all_rows[kept], all_labels[kept], all_weights[kept])

    def empty_copy(self) -> Self:
        """Return a buffer of the same width without rows."""
        return type(self).empty(self.n_features, self.n_classes)

    def all_rows(self) -> Floats:
        """Return the rows as one array."""
        return self.rows[0] if len(self.rows) == 1 else np.concatenate([np.empty((0, self.n_features)), *self.rows])

    def all_labels(self) -> Labels:
        """Return the labels as one array."""
        return np.concatenate([np.empty(0, np.int8), *self.labels])

    def all_weights(self) -> Floats:
        """Return the weights as one array."""
        return np.concatenate([np.empty(0), *self.weights])

    def order_by_content(self, categorical: NDArray[np.bool_] | None) -> NDArray[np.int64]:
        """Return the positions of the rows in an order that depends on them alone, not on the order in which they came.

        Which rows the search fits and which it validates on goes by this order: the same rows in any order give the
        same basis. (On magic04 the AUC of six random orders had a standard deviation of .001 without it.) Rows are
        sorted, then shuffled: units, constant columns and the numbers of categories, which are sorted by how many
        rows they have, play no part. Categories of equally many rows are distinguished by their rows.
        """
        rows, labels, weights = self.all_rows(), self.all_labels(), self.all_weights()
        coded = [] if categorical is None else np.flatnonzero(categorical).tolist()
        if coded:
            rows = rows.copy()
        categories = {}
        for j in coded:
            _, categories[j], counts = np.unique(rows[:, j], return_inverse=True, return_counts=True, equal_nan=True)
            rows[:, j] = counts[categories[j]]
        keys = row_keys(rows)
        sorted_by = [keys, weights, labels, *rows.T[:SORTED_COLUMNS][::-1]]
        if categories:
            sorted_by.insert(0, category_keys(categories.values(), keys ^ row_keys(np.column_stack([labels, weights]))))
        order = np.lexsort(sorted_by)
        shuffled: NDArray[np.int64] = order[np.random.default_rng(0).permutation(order.size)]
        return shuffled

    def to_arrays(self) -> Arrays:
        """Return all rows under flat names."""
        return {"rows": self.all_rows(), "labels": self.all_labels(), "weights": self.all_weights()}

    @classmethod
    def from_arrays(cls, arrays: NamedArrays, n_classes: int = 2) -> Self:
        """Return the buffer that `to_arrays` gave, checked."""
        check_arrays(BUFFER_SCHEMA | {"labels": ArrayRule("int8", "rows", low=0, high=n_classes - 1)}, arrays)
        rows, labels, weights = (arrays[name] for name in BUFFER_SCHEMA)
        n_features = rows.shape[1]
        return (
            cls((rows,), (labels,), (weights,), n_features, n_classes)
            if len(rows)
            else cls.empty(n_features, n_classes)
        )


def draw_rows(order: NDArray[np.int64], labels: Labels, size: int, max_rare_share: float) -> Sample:
    """Return the first rows of an order that is random, at most `size`, up to a share of them of the rarer class.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.additive.initial_sample import draw_rows
    >>> drawn = draw_rows(np.arange(10), np.array([0] * 8 + [1] * 2, np.int8), 4, 0.5)
    >>> drawn.rows.tolist(), drawn.shares.tolist()
    ([0, 1, 8, 9], [0.25, 1.0])
    """
    if order.size <= size:
        return Sample(order, np.ones(2))
    is_positive = labels[order] == 1
    counts = np.array([np.count_nonzero(~is_positive), np.count_nonzero(is_positive)])
    rarer = int(counts[1] < counts[0])
    sizes = np.zeros(2, np.int64)
    sizes[rarer] = min(counts[rarer], int(max_rare_share * size))
    sizes[1 - rarer] = min(counts[1 - rarer], size - sizes[rarer])
    within = np.where(is_positive, np.cumsum(is_positive), np.cumsum(~is_positive))
    shares = sizes / np.maximum(counts, 1)
    return Sample(order[within <= sizes[is_positive.astype(np.int64)]], np.where(shares > 0, shares, 1.0))


def draw_search_rows(order: NDArray[np.int64], labels: Labels, policy: SamplePolicy = SAMPLE_POLICY) -> Sample:
    """Return the rows that curves and pairs are fitted to: a third of the rows, between two limits."""
    third = order.size // policy.rows_per_search_row
    size = min(max(third, policy.min_search_rows), policy.max_search_rows)
    whole = order.size <= fitted_whole(policy.min_search_rows, policy)
    return draw_rows(order, labels, order.size if whole else size, policy.max_rare_share)


def draw_tree_rows(order: NDArray[np.int64], labels: Labels, policy: TreePolicy = TREE_POLICY) -> Sample:
    """Return the rows that trees are grown on: all, up to a limit."""
    return draw_rows(order, labels, policy.max_rows, policy.max_rare_share)


# Rows transposed at a time, which fit the cache; and numbers of padding after each column: without it, the columns
# of a power of two of rows would share a few cache lines.
ROWS_AT_ONCE, APART = 256, 8


class SampleRows(NamedTuple):
    """Numbers, labels and weights of the rows that a basis is fitted to; `mass` gives each class one half.

    `offset` is the level of the group of each row, where rows are ranked within groups.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.additive.initial_sample import SampleRows
    >>> SampleRows(np.eye(3), np.array([0, 1, 0], np.int8), np.ones(3), np.array([0.25, 0.5, 0.25])).rarer
    1.0
    """

    numbers: Floats
    labels: Labels
    weight: Floats
    mass: Floats
    offset: Floats | None = None

    @property
    def rarer(self) -> float:
        """Weight of the rarer class."""
        return float(np.bincount(self.labels, self.weight, minlength=2).min())


def by_columns(rows: Floats, chosen: Array) -> Floats:
    """Return the chosen rows as an array whose columns lie together in memory.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.additive.initial_sample import by_columns
    >>> by_columns(np.arange(8.0).reshape(4, 2), np.array([0, 3])).tolist()
    [[0.0, 1.0], [6.0, 7.0]]
    """
    columns = np.empty((rows.shape[1], chosen.size + APART))[:, : chosen.size]
    for start in range(0, chosen.size, ROWS_AT_ONCE):
        part = slice(start, start + ROWS_AT_ONCE)
        columns[:, part] = rows[chosen[part]].T
    return columns.T


def pool_rare_categories(
    rows: Floats, categorical: NDArray[np.bool_], kept: Sequence[NDArray[np.int64] | None]
) -> Floats:
    """Return rows as the frozen schema encodes them: only the `kept` categories of each input have a number.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.additive.initial_sample import pool_rare_categories
    >>> pool_rare_categories(np.array([[3.0, 3.0], [0.0, np.nan]]), np.array([True, False]), [np.array([0]), None])
    array([[-1.,  3.],
           [ 0., nan]])
    """
    if not categorical.any():
        return rows
    pooled = np.array(rows, np.float64)
    for j in np.flatnonzero(categorical).tolist():
        numbers, categories = pooled[:, j], kept[j]
        rare = ~np.isnan(numbers) if categories is None else ~(np.isnan(numbers) | np.isin(numbers, categories))
        pooled[rare, j] = UNSEEN
    return pooled
