"""The logistic likelihood of labeled rows as plain sums, each row linearized once at a fixed point."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array
from scipy.special import expit

from opauc.additive.kernels.gram import (
    add_couple_products,
    add_cross_products,
    count_entries,
    write_by_columns,
    write_couples,
    write_split_rows,
)
from opauc.additive.kernels.rows import unpack_rows
from opauc.core.blas import add_gram, one_blas_thread
from opauc.core.kernels.sparse_rows import CsrRows
from opauc.core.kernels.symmetric_matrix import add_lower, clear_upper, mirror_lower
from opauc.core.mergeable import ROUNDING, Mergeable
from opauc.core.row_blocks import csr_rows
from opauc.errors import IncompatibleMomentsError, StatisticsOverflowError
from opauc.types import Array, Arrays, ClassCounts, DenseRows, Floats, Labels, NamedArrays, Rows

# Products of two couples of entries, and of an entry with a full column, cost so many times a product by BLAS.
COUPLE_COST, CROSS_COST = 40.0, 4.0
# A column is as good as full that has entries in this share of the rows.
NEARLY_FULL = 0.9


class RowProducts:
    """A lower triangle to which curvature * row row^T of sparse rows is added, by the way that suits their entries.

    What is above its diagonal is written over. Where it pays, by what the first
    rows are like, columns that are full are treated apart until `finish`.
    `narrow` lets BLAS multiply in float32.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.core.row_blocks import csr_rows
    >>> from opauc.additive.sums import RowProducts
    >>> products = RowProducts(np.zeros((2, 2)))
    >>> rows = csr_rows(np.array([1.0, 2.0, 3.0]), np.array([0, 1, 1], np.int32), np.array([0, 2, 3], np.int32))
    >>> products.add(rows, np.array([1.0, 10.0]))
    >>> np.tril(products.finish()).tolist()
    [[1.0, 0.0], [2.0, 94.0]]
    """

    def __init__(self, gram: Floats, narrow: bool = False) -> None:
        self._gram = gram
        self._real = np.float32 if narrow else np.float64
        self._full: NDArray[np.int64] | None = None  # full columns, once rows have been seen
        self._begin(np.empty(0, np.int64))

    def add(self, rows: CsrRows, curvature: Floats) -> None:
        """Add the products of some rows."""
        if self._full is None:
            self._full = _full_columns(rows, curvature.size, self._gram.shape[0])
            self._begin(self._full)
        if self._full.size:
            self._add_split(rows, curvature)
        else:
            self._add_sparse(rows, curvature)

    def finish(self) -> Floats:
        """Return the triangle with all that was added."""
        if self._full is not None and self._full.size:
            full = self._full
            self._gram[np.ix_(full, full)] += np.tril(self._between)
            before = np.arange(len(self._gram))[:, None] < full
            self._gram[:, full] += np.where(before, 0.0, self._cross)
            self._gram[full] += np.where(before, self._cross, 0.0).T
            self._begin(full)
        return self._gram

    def _begin(self, full: NDArray[np.int64]) -> None:
        """Set what stands apart to zero: products between full columns, and of them with the others."""
        size = self._gram.shape[0] if full.size else 0
        self._places = np.full(size, -1)
        self._places[full] = np.arange(full.size)
        self._between, self._cross = np.zeros((full.size, full.size)), np.zeros((size, full.size))

    def _add_split(self, rows: CsrRows, curvature: Floats) -> None:
        """Add the products of rows of which some columns are full: these by BLAS, and what is sparse entry by entry."""
        full, factors = np.zeros((curvature.size, len(self._between)), self._real), np.sqrt(curvature)
        sparse = _split(rows, factors, self._places, full)
        self._add_sparse(sparse, curvature)
        column_ends, owners = np.zeros(2 * len(self._gram) + 1, np.int64), np.empty(sparse.data.size, np.uint32)
        values = np.empty((sparse.data.size, 2), self._real)
        write_by_columns(sparse, factors, column_ends, owners, values)
        add_cross_products(column_ends, owners, values, full, self._cross)
        _add_dense_products(full, self._between)

    def _add_sparse(self, rows: CsrRows, curvature: Floats) -> None:
        """Add the products of rows."""
        couples = _couples(rows, curvature.size, self._gram.shape[0])
        if _cost(couples, curvature.size) < self._gram.shape[0] ** 2:
            add_couple_products(*couples, curvature, self._gram)
            return
        shape = curvature.size, self._gram.shape[0]
        dense: DenseRows = np.zeros(shape, np.float32) if self._real is np.float32 else np.zeros(shape)
        unpack_rows(rows, np.sqrt(curvature), dense)
        _add_dense_products(dense, self._gram)


def _full_columns(rows: CsrRows, n_rows: int, size: int) -> NDArray[np.int64]:
    """Return the columns that are full in nearly all of some rows, none where treating them apart does not pay."""
    counts, nothing = np.zeros(size, np.int64), np.empty(0, np.int64)
    count_entries(rows, counts)
    found = np.flatnonzero(counts >= NEARLY_FULL * n_rows)
    if not found.size or found.size == size:
        return nothing
    places = np.full(size, -1)
    places[found] = np.arange(found.size)
    sparse = _split(rows, np.ones(n_rows), places, np.zeros((n_rows, found.size)))
    cross = 2.0 * CROSS_COST * found.size * sparse.data.size / max(n_rows, 1)
    apart = found.size**2 + cross + _cost(_couples(sparse, n_rows, size), n_rows)
    return found if apart < min(size**2, _cost(_couples(rows, n_rows, size), n_rows)) else nothing


def _split(rows: CsrRows, factors: Floats, places: NDArray[np.int64], full: DenseRows) -> CsrRows:
    """Write the full columns of rows, times a factor a row, into `full`, and return the others."""
    n_entries = rows.data.size
    data, indices, ends = np.empty(n_entries), np.empty(n_entries, np.uint32), np.empty(factors.size + 1, np.int32)
    n_sparse = write_split_rows(rows, factors, places, full, data, indices, ends)
    return csr_rows(data[:n_sparse], indices[:n_sparse], ends)


def _couples(rows: CsrRows, n_rows: int, size: int) -> tuple[NDArray[np.uint32], Floats, NDArray[np.int64]]:
    """Return the couples of neighboring entries of rows; none where they are many."""
    n_entries = rows.data.size
    starts, values, ends = np.empty(n_entries, np.uint32), np.empty((n_entries, 2)), np.zeros(n_rows + 1, np.int64)
    # A couple has at most two entries: where half of them are too many, there is no need to count.
    if size < 2 or COUPLE_COST * (0.5 * n_entries / max(n_rows, 1)) ** 2 >= size**2:
        ends[-1] = n_rows * size
    else:
        write_couples(rows, size, starts, values, ends)
    return starts, values, ends


def _cost(couples: tuple[NDArray[np.uint32], Floats, NDArray[np.int64]], n_rows: int) -> float:
    """Return what the products of couples cost a row."""
    return COUPLE_COST * (float(couples[2][-1]) / max(n_rows, 1)) ** 2


def _add_dense_products(dense: DenseRows, lower: Floats) -> None:
    """Add dense^T dense to the lower triangle of a matrix or of a block of one."""
    if dense.dtype == np.float64:
        add_gram(dense, lower)
        return
    part = np.zeros((dense.shape[1],) * 2, np.float32)
    add_gram(dense, part)
    if lower.flags.c_contiguous:
        add_lower(lower, part)
    else:
        lower += part


ROWS_PER_BLOCK = 1024
# Below this margin the secant is a quarter to the last bit, and dividing by it would be dividing by zero.
SMALLEST_MARGIN = 1e-6
PARTS = ("point", "gram", "moment", "class_counts")
# Rows, their labels, and their weights, one each where none are given.
LabelledRows: TypeAlias = tuple[Rows, Labels, Floats | None]


@dataclass(frozen=True, slots=True, eq=False)
class LinearizedSums(Mergeable):
    """Sums over rows z of curvature * z z^T and of (curvature * score + pull) z, the score being that at `point`.

    The quadratic w.gram w / 2 - moment.w has the gradient of the logistic loss
    at `point`, so that its minimizer is one Newton step from there. `gram` keeps
    its lower triangle only. Rows enter at the one point whatever came before
    them: sums merge, and rows can be taken out again.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.additive.sums import LinearizedSums
    >>> rows, labels = np.array([[1.0, 2.0], [1.0, -1.0]]), np.array([1, 0], np.int8)
    >>> sums = LinearizedSums.empty(2).update(rows, labels)
    >>> sums.gram.tolist(), sums.moment.tolist()
    ([[0.5, 0.0], [0.25, 1.25]], [0.0, 1.5])
    >>> sums.counts
    ClassCounts(negative=1.0, positive=1.0)
    """

    point: Floats
    gram: Floats
    moment: Floats
    class_counts: Floats  # (2,): weights of the negative and of the positive rows

    def __post_init__(self) -> None:
        if not (np.isfinite(np.diagonal(self.gram)).all() and np.isfinite(self.moment).all()):
            raise StatisticsOverflowError("the sums of the rows overflow float64; scale the features down")

    @classmethod
    def empty(cls, n_features: int) -> Self:
        """Sums of no rows, at the point zero."""
        return cls.at(np.zeros(n_features))

    @classmethod
    def at(cls, point: Floats) -> Self:
        """Sums of no rows, to be linearized at that point."""
        return cls(point, np.zeros((point.size, point.size)), np.zeros(point.size), np.zeros(2))

    @property
    def n_features(self) -> int:
        """Number of features."""
        return self.point.size

    @property
    def counts(self) -> ClassCounts:
        """Rows of each class, each counted with its weight."""
        return ClassCounts(*self.class_counts.tolist())

    def empty_copy(self) -> Self:
        """Sums of no rows at the same point."""
        return self.at(self.point)

    def update(self, rows: Rows, labels: Labels, weight: Floats | None = None, narrow: bool = False) -> Self:
        """Sums of the rows so far and these; `narrow` lets BLAS multiply in float32, good to six digits and faster."""
        if rows.shape[1] != self.n_features:
            raise IncompatibleMomentsError(f"sums of {self.n_features} features cannot take rows of {rows.shape[1]}")
        return self.update_all([(rows, labels, weight)], narrow)

    def update_all(self, parts: Iterable[LabelledRows], narrow: bool = False) -> Self:
        """Sums of the rows so far and of all parts of more: as `update` part by part, the sums copied once."""
        moment, counts = self.moment.copy(), self.class_counts.copy()
        products = RowProducts(self.gram.copy(), narrow)
        with one_blas_thread():
            for rows, labels, weight in parts:
                sparse = rows if isinstance(rows, csr_array) else csr_array(rows, dtype=np.float64)
                curvature, target = linearized_rows(sparse, labels, weight, self.point)
                moment += sparse.T @ target
                for start in range(0, labels.size, ROWS_PER_BLOCK):
                    part = slice(start, start + ROWS_PER_BLOCK)
                    products.add(_entries(sparse, part), curvature[part])
                counts += np.bincount(labels, weight, minlength=2)
        gram = products.finish()
        clear_upper(gram)
        return replace(self, gram=gram, moment=moment, class_counts=counts)

    def merge(self, other: Self) -> Self:
        """Sums of both sets of rows, which must have been linearized at the same point."""
        self._refuse_other_point(other)
        counts = self.class_counts + other.class_counts
        return replace(self, gram=self.gram + other.gram, moment=self.moment + other.moment, class_counts=counts)

    def subtract(self, other: Self) -> Self:
        """Sums of the rows that are not in `other`: the inverse of `merge`."""
        self._refuse_other_point(other)
        counts = self.class_counts - other.class_counts
        if (counts < -ROUNDING * self.class_counts).any():
            raise IncompatibleMomentsError(
                f"cannot take out {other.counts.negative:g} negative and {other.counts.positive:g} positive rows: "
                f"only {self.counts.negative:g} and {self.counts.positive:g} were seen"
            )
        if (counts <= ROUNDING * self.class_counts).all():
            return self.empty_copy()
        gram = self.gram - other.gram
        had, has = np.diagonal(self.gram), np.diagonal(gram)
        if (has < -ROUNDING * had).any():
            feature = int(np.argmin(has + ROUNDING * had))
            raise IncompatibleMomentsError(
                f"cannot take out rows that were never seen: feature {feature} would vary by less than nothing"
            )
        return replace(self, gram=gram, moment=self.moment - other.moment, class_counts=np.maximum(counts, 0.0))

    def widen(self, n_features: int) -> Self:
        """Sums of the same rows with more features, which are zero in all of them and at the point."""
        more = n_features - self.n_features
        gram = np.pad(self.gram, (0, more))
        return replace(self, point=np.pad(self.point, (0, more)), gram=gram, moment=np.pad(self.moment, (0, more)))

    def restrict(self, features: ArrayLike) -> Self:
        """Sums of the given features only, in the given order."""
        at = np.asarray(features)
        gram = np.tril(self.full_gram()[np.ix_(at, at)])
        return replace(self, point=self.point[at], gram=gram, moment=self.moment[at])

    def full_gram(self) -> Floats:
        """Return both triangles."""
        full = self.gram.copy()
        mirror_lower(full)
        return full

    def __reduce__(self) -> tuple[Callable[..., LinearizedSums], tuple[Array | None, ...]]:
        """Travel as the lower triangle alone; that of no rows is not sent."""
        triangle = self.gram[np.tril_indices(self.n_features)] if self.class_counts.any() else None
        return _of_triangle, (self.point, triangle, self.moment, self.class_counts)

    def to_arrays(self) -> Arrays:
        """Copies of the point and the sums, for a file or the network."""
        return {name: getattr(self, name).copy() for name in PARTS}

    @classmethod
    def from_arrays(cls, arrays: NamedArrays) -> Self:
        """Sums from what `to_arrays` gave, refused unless rows could have led to them."""
        if set(arrays) != set(PARTS):
            raise IncompatibleMomentsError(f"expected arrays {', '.join(PARTS)}, got {', '.join(sorted(arrays))}")
        point, gram, moment, counts = (np.array(arrays[name]) for name in PARTS)
        size = point.size
        shapes = tuple(part.shape for part in (point, gram, moment, counts))
        if shapes != ((size,), (size, size), (size,), (2,)):
            raise IncompatibleMomentsError(
                f"expected shapes (d,), (d, d), (d,) and (2,), got {', '.join(map(str, shapes))}"
            )
        if any(part.dtype != np.float64 or not np.isfinite(part).all() for part in (point, gram, moment, counts)):
            raise IncompatibleMomentsError(f"{', '.join(PARTS)}: expected finite float64 numbers")
        spread = np.sqrt(np.maximum(np.diagonal(gram), 0.0))
        possible = (np.diagonal(gram) >= 0).all() and not np.triu(gram, 1).any() and (counts >= 0).all()
        if not possible or (np.abs(gram) > np.outer(spread, spread) * (1 + 1e-6) + 1e-300).any():
            raise IncompatibleMomentsError("gram: expected the lower triangle of a positive semi-definite matrix")
        return cls(point, gram, moment, counts)

    def _refuse_other_point(self, other: Self) -> None:
        """Raise unless both are linearized at the same point."""
        if other.n_features != self.n_features:
            raise IncompatibleMomentsError(
                f"statistics of {self.n_features} features and of {other.n_features} do not belong together"
            )
        if not np.array_equal(self.point, other.point):
            raise IncompatibleMomentsError("sums that were linearized at different points do not belong together")


def _of_triangle(point: Floats, triangle: Floats | None, moment: Floats, counts: Floats) -> LinearizedSums:
    gram = np.zeros((point.size, point.size))
    if triangle is not None:
        gram[np.tril_indices(point.size)] = triangle
    return LinearizedSums(point, gram, moment, counts)


def linearized(scores: Floats, labels: Labels) -> tuple[Floats, Floats]:
    """Return the curvature of each row's logistic loss and its pull, the negative gradient, at these scores.

    For a row on the right side of zero the curvature is the second derivative;
    for one on the wrong side it is the slope of the secant of the gradient from
    the score to zero, which is never small there: a row far on the wrong side
    would else throw the solution away, its gradient being one and its second
    derivative nothing. The two meet at a quarter.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.additive.sums import linearized
    >>> curvature, pull = linearized(np.array([0.0, 9.0, -9.0]), np.ones(3, np.int8))
    >>> curvature.round(4).tolist(), pull.round(4).tolist()
    ([0.25, 0.0001, 0.0555], [0.5, 0.0001, 0.9999])
    """
    sign = 2.0 * labels - 1.0
    margin = sign * scores
    doubt = expit(-margin)
    size = np.maximum(np.abs(margin), SMALLEST_MARGIN)
    curvature = np.where(margin >= 0.0, doubt * (1.0 - doubt), np.tanh(0.5 * size) / (2.0 * size))
    return curvature, sign * doubt


def linearized_rows(rows: csr_array, labels: Labels, weight: Floats | None, point: Floats) -> tuple[Floats, Floats]:
    """Return the curvature of each row, and what its score should be, times that."""
    scores = rows @ point
    curvature, pull = linearized(scores, labels)
    target = curvature * scores + pull
    return (curvature, target) if weight is None else (weight * curvature, weight * target)


def _entries(rows: csr_array, part: slice) -> CsrRows:
    """Return the entries of some of the rows, not copied."""
    ends = rows.indptr[part.start : part.stop + 1]
    begin, end = int(ends[0]), int(ends[-1])
    return csr_rows(np.asarray(rows.data[begin:end], np.float64), rows.indices[begin:end], ends - begin)
