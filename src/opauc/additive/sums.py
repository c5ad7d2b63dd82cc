"""The logistic likelihood of labeled rows as sums that merge: each row is linearized once, at a fixed weight vector."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import lapack
from scipy.sparse import csr_array

from opauc.additive.kernels.gram import add_couple_products, add_cross_products, write_couples
from opauc.additive.kernels.rows import densify_rows
from opauc.additive.row_shards import sum_shards
from opauc.core.array_schema import ArrayRule, check_arrays
from opauc.core.blas import add_gram, one_blas_thread
from opauc.core.kernels.simd import LANES
from opauc.core.kernels.sparse_rows import CsrRows
from opauc.core.kernels.symmetric_matrix import add_lower, clear_upper, mirror_lower
from opauc.core.logistic import linearize
from opauc.core.mergeable import ROUNDING, FeatureSums, add_rounding, subtraction_error
from opauc.core.row_blocks import csr_rows
from opauc.errors import IncompatibleMomentsError, StatisticsOverflowError
from opauc.types import Array, Arrays, ClassCounts, DenseRows, Floats, Labels, NamedArrays, Rows

# Costs relative to a product by BLAS: of a product of two couples of entries, and of a couple with a dense column.
COUPLE_COST, CROSS_COST = 40.0, 12.0
# Share of the rows in which a column has entries if it is treated as dense.
DENSE_SHARE = 0.9

NO_COLUMNS = np.empty(0, np.int64)


class SplitRows(NamedTuple):
    """Rows as their dense columns, times a factor per row, and as couples of neighboring entries of the others.

    Couples have the first column of each, two values of each, and where those of each row end.
    """

    dense: Floats  # (n_rows, n_dense), rounded up to whole SIMD registers, with zeros
    starts: NDArray[np.uint32]
    values: Floats
    ends: NDArray[np.int64]

    @classmethod
    def of(cls, rows: CsrRows, factors: Floats, positions: NDArray[np.int32], n_dense: int) -> SplitRows:
        """Split rows; `positions` has that of each column among the dense ones, -1 if it is sparse."""
        dense, ends = np.zeros((factors.size, round_up(n_dense))), np.zeros(factors.size + 1, np.int64)
        starts, values = np.empty(rows.data.size, np.uint32), np.empty(2 * rows.data.size)
        write_couples(rows, positions, factors, dense, starts, values, ends)
        return cls(dense, starts, values, ends)

    def cost_per_row(self, n_dense: int) -> float:
        """Return the cost per row of all products, relative to one by BLAS."""
        n_couples = float(self.ends[-1]) / max(len(self.dense), 1)
        return n_dense**2 + CROSS_COST * round_up(n_dense) * n_couples + COUPLE_COST * n_couples**2


def round_up(n_columns: int) -> int:
    """Return the number of columns rounded up to whole SIMD registers."""
    return -(-n_columns // LANES) * LANES


class RowProducts:
    """A lower triangle to which curvature * row row^T of sparse rows is added, by the fastest method for the rows.

    The first rows decide which columns are dense. Products between these are made
    by BLAS, and are summed separately until `finish`, as those of dense with sparse
    columns. Where that is fastest, all columns are dense. Whatever is above the
    diagonal is overwritten. `narrow` lets BLAS multiply in float32 then.

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
        self._gram, self._real = gram, np.dtype(np.float32 if narrow else np.float64)
        self._dense: NDArray[np.int64] | None = None  # dense columns, once the first rows have been added
        self._clear(NO_COLUMNS)

    def add(self, rows: CsrRows, curvature: Floats) -> None:
        """Add the products of rows."""
        if self._dense is None:
            self._dense = _choose_dense_columns(rows, curvature.size, self._gram.shape[0])
            self._clear(self._dense)
        if self._dense.size == self._gram.shape[0]:
            dense: DenseRows = np.zeros((curvature.size, self._gram.shape[0]), self._real)
            densify_rows(rows, np.sqrt(curvature), dense)
            _add_dense_products(dense, self._gram)
            return
        factors = np.sqrt(curvature)
        split = SplitRows.of(rows, factors, self._positions, self._dense.size)
        add_couple_products(*split[1:], np.empty(curvature.size, np.int64), curvature, self._gram)
        if self._dense.size:
            add_cross_products(*split[1:], factors, split.dense, self._cross)
            _add_dense_products(split.dense, self._between)

    def finish(self) -> Floats:
        """Return the triangle with all products."""
        if self._dense is not None and 0 < self._dense.size < len(self._gram):
            dense = self._dense
            between, cross = self._between[: dense.size, : dense.size], self._cross[:, : dense.size]
            self._gram[np.ix_(dense, dense)] += np.tril(between)
            is_above = np.arange(len(self._gram))[:, None] < dense
            self._gram[:, dense] += np.where(is_above, 0.0, cross)
            self._gram[dense] += np.where(is_above, cross, 0.0).T
            self._clear(dense)
        return self._gram

    def _clear(self, dense: NDArray[np.int64]) -> None:
        """Set the separate sums to zero: products between dense columns, and of sparse with dense columns."""
        size = len(self._gram)
        width = round_up(dense.size) if dense.size < size else 0
        self._positions = np.full(size, -1, np.int32)
        self._positions[dense] = np.arange(dense.size)
        self._between, self._cross = np.zeros((width, width)), np.zeros((size, width))


def _choose_dense_columns(rows: CsrRows, n_rows: int, size: int) -> NDArray[np.int64]:
    """Return the columns to be treated as dense: all, those with entries in nearly all rows, or none."""
    if size < 2:
        return np.arange(size)
    counts, positions = np.bincount(rows.indices, minlength=size), np.full(size, -1, np.int32)
    choices = {float(size) ** 2: np.arange(size)}
    for dense in (np.flatnonzero(counts >= DENSE_SHARE * n_rows), NO_COLUMNS):
        positions[:] = -1
        positions[dense] = np.arange(dense.size)
        choices[SplitRows.of(rows, np.ones(n_rows), positions, dense.size).cost_per_row(dense.size)] = dense
    return choices[min(choices)]


def _add_dense_products(dense: DenseRows, lower: Floats) -> None:
    """Add dense^T dense to the lower triangle of a matrix."""
    if dense.dtype == np.float64:
        add_gram(dense, lower)
        return
    part = np.zeros(lower.shape, np.float32)
    add_gram(dense, part)
    add_lower(lower, part)


# Rows whose products are added at a time, so that they stay in the cache.
ROWS_PER_BLOCK = 1024
ARRAYS = ("expansion_point", "gram", "rhs", "class_counts")
SUMS_SCHEMA = {
    "expansion_point": ArrayRule("float64", "columns"),
    "gram": ArrayRule("float64", "columns columns"),
    "rhs": ArrayRule("float64", "columns"),
    "class_counts": ArrayRule("float64", "2", low=0),
    "rounding": ArrayRule("float64", "columns", low=0, optional=True),
}


class LabeledRows(NamedTuple):
    """Rows of columns, their labels and their sample weights; None means one each.

    `offset` is what the level of its group adds to the score of each row at the expansion point, if there are groups.
    """

    rows: Rows
    labels: Labels
    weight: Floats | None = None
    offset: Floats | None = None


@dataclass(frozen=True, slots=True, eq=False)
class LinearizedSums(FeatureSums):
    """Sums over rows z of curvature * z z^T and of (curvature * score + residual) z, at one `expansion_point`.

    The quadratic w.gram w / 2 - rhs.w has the gradient of the logistic loss at
    the expansion point, so that its minimizer is one Newton step from there.
    `gram` has only its lower triangle. All rows use the same expansion point:
    sums merge, and rows can be subtracted again.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.additive.sums import LinearizedSums
    >>> rows, labels = np.array([[1.0, 2.0], [1.0, -1.0]]), np.array([1, 0], np.int8)
    >>> sums = LinearizedSums.empty(2).update(rows, labels)
    >>> sums.gram.tolist(), sums.rhs.tolist()
    ([[0.5, 0.0], [0.25, 1.25]], [0.0, 1.5])
    >>> sums.counts
    ClassCounts(negative=1.0, positive=1.0)
    """

    expansion_point: Floats
    gram: Floats
    rhs: Floats  # the right-hand side of the normal equations
    class_counts: Floats  # (2,): sums of the sample weights of the negative and of the positive rows
    # A bound on the rounding error in the diagonal of `gram` from subtracting rows; None if none were subtracted.
    rounding: Floats | None = None

    optional_arrays: ClassVar[tuple[str, ...]] = ("rounding",)

    def __post_init__(self) -> None:
        if not (np.isfinite(np.diagonal(self.gram)).all() and np.isfinite(self.rhs).all()):
            raise StatisticsOverflowError("the sums of the rows overflow float64; scale the features down")

    @classmethod
    def empty(cls, n_features: int) -> Self:
        """Return the sums of no rows, linearized at zero."""
        return cls.at(np.zeros(n_features))

    @classmethod
    def at(cls, expansion_point: Floats) -> Self:
        """Return the sums of no rows, linearized at these weights."""
        size = expansion_point.size
        return cls(expansion_point, np.zeros((size, size)), np.zeros(size), np.zeros(2))

    @property
    def n_features(self) -> int:
        """Number of features."""
        return self.expansion_point.size

    @property
    def counts(self) -> ClassCounts:
        """Rows of each class, each counted with its weight."""
        return ClassCounts(*self.class_counts.tolist())

    def empty_copy(self) -> Self:
        """Return the sums of no rows at the same expansion point."""
        return self.at(self.expansion_point)

    def update(
        self,
        rows: Rows,
        labels: Labels,
        weight: Floats | None = None,
        narrow: bool = False,
        offset: Floats | None = None,
    ) -> Self:
        """Return the sums with rows added; `narrow` lets BLAS multiply in float32, faster and good to six digits.

        `offset` is added to the scores of the rows at the expansion point.
        """
        if rows.shape[1] != self.n_features:
            raise IncompatibleMomentsError(f"sums of {self.n_features} features cannot take rows of {rows.shape[1]}")

        def take(shard: slice) -> LabeledRows:
            is_whole = shard.stop - shard.start == labels.size
            own = [None if part is None else part[shard] for part in (weight, offset)]
            return LabeledRows(rows if is_whole else rows[shard], labels[shard], *own)

        return sum_shards(
            labels.size,
            self.n_features,
            lambda shard, first: (self if first else self.empty_copy()).update_all([take(shard)], narrow),
            type(self).merge,
        )

    def update_all(self, batches: Iterable[LabeledRows], narrow: bool = False) -> Self:
        """Return the sums with batches added: as `update` batch by batch, but the sums are copied once."""
        rhs, counts = self.rhs.copy(), self.class_counts.copy()
        products = RowProducts(self.gram.copy(), narrow)
        with one_blas_thread():
            for rows, labels, weight, offset in batches:
                sparse = rows if isinstance(rows, csr_array) else csr_array(rows, dtype=np.float64)
                curvature, target = linearize_rows(sparse, labels, weight, self.expansion_point, offset)
                rhs += sparse.T @ target
                for start in range(0, labels.size, ROWS_PER_BLOCK):
                    block = slice(start, start + ROWS_PER_BLOCK)
                    products.add(row_entries(sparse, block), curvature[block])
                counts += np.bincount(labels, weight, minlength=2)
        gram = products.finish()
        clear_upper(gram)
        return replace(self, gram=gram, rhs=rhs, class_counts=counts)

    def merge(self, other: Self) -> Self:
        """Return the sums of both sets of rows, which must have the same expansion point."""
        self._check_same_expansion(other)
        counts = self.class_counts + other.class_counts
        rounding = add_rounding(self.rounding, other.rounding)
        return type(self)(self.expansion_point, self.gram + other.gram, self.rhs + other.rhs, counts, rounding)

    def subtract(self, other: Self) -> Self:
        """Return the sums of the rows that are not in `other`: the inverse of `merge`."""
        self._check_same_expansion(other)
        counts = self.class_counts - other.class_counts
        if (counts < -ROUNDING * self.class_counts).any():
            raise IncompatibleMomentsError(
                f"cannot take out {other.counts.negative:g} negative and {other.counts.positive:g} positive rows: "
                f"only {self.counts.negative:g} and {self.counts.positive:g} were seen"
            )
        counts[counts <= ROUNDING * self.class_counts] = 0.0
        if not counts.any():
            return self.empty_copy()
        gram, rhs = self.gram - other.gram, self.rhs - other.rhs
        had, has = np.diagonal(self.gram), np.diagonal(gram)
        lost = subtraction_error(float(self.class_counts.sum())) * (had + np.diagonal(other.gram))
        lost = lost if (before := add_rounding(self.rounding, other.rounding)) is None else lost + before
        if (has < -ROUNDING * had - lost).any():
            feature = int(np.argmin(has + ROUNDING * had + lost))
            raise IncompatibleMomentsError(
                f"cannot take out rows that were never seen: feature {feature} would vary by less than nothing"
            )
        # What rounding leaves of a column stays: if it were set to zero, rows subtracted later would lack what it held.
        return type(self)(self.expansion_point, gram, rhs, counts, lost)

    def can_have(self, other: Self) -> bool:
        """Tell whether the rows of `other` can be among these: what they leave must be positive semi-definite.

        Examples
        --------
        >>> import numpy as np
        >>> from opauc.additive.sums import LinearizedSums
        >>> rows, labels = np.array([[1.0, 1.0], [1.0, 1.0], [1.0, -1.0]]), np.array([0, 1, 1], np.int8)
        >>> empty = LinearizedSums.empty(2)
        >>> seen, part, others = (empty.update(rows[k], labels[k]) for k in ([0, 1], [0], [2]))
        >>> seen.can_have(part), seen.can_have(others)
        (True, False)
        """
        had = np.diagonal(self.gram)
        varying = np.flatnonzero(had > 0.0)
        scale = 1.0 / np.sqrt(had[varying])
        left = (self.gram - other.gram)[np.ix_(varying, varying)]
        left *= scale
        left *= scale[:, None]
        lost = add_rounding(self.rounding, other.rounding)
        # Errors of so much of the square root of two diagonal entries lower no eigenvalue by more than their sum.
        error = 2.0 * subtraction_error(float(self.class_counts.sum())) + 1e-12
        errors = np.full(varying.size, error) if lost is None else error + lost[varying] * scale**2
        left.flat[:: varying.size + 1] += errors * varying.size
        return varying.size == 0 or not lapack.dpotrf(left.T, lower=False, clean=False)[1]

    def widen(self, n_features: int) -> Self:
        """Return the sums of the same rows with more features, zero in all rows and at the expansion point."""
        padding = 0, n_features - self.n_features
        point, gram, rhs = (np.pad(part, padding) for part in (self.expansion_point, self.gram, self.rhs))
        rounding = None if self.rounding is None else np.pad(self.rounding, padding)
        return type(self)(point, gram, rhs, self.class_counts, rounding)

    def restrict(self, features: ArrayLike) -> Self:
        """Return the sums of the given features only, in the given order."""
        at = np.asarray(features)
        gram = np.tril(self.full_gram()[np.ix_(at, at)])
        rounding = None if self.rounding is None else self.rounding[at]
        return type(self)(self.expansion_point[at], gram, self.rhs[at], self.class_counts, rounding)

    def full_gram(self) -> Floats:
        """Return the Gram matrix with both triangles."""
        full = self.gram.copy()
        mirror_lower(full)
        return full

    def __reduce__(self) -> tuple[Callable[..., LinearizedSums], tuple[Array | None, ...]]:
        """Pickle the lower triangle only, and no triangle if there are no rows."""
        triangle = self.gram[np.tril_indices(self.n_features)] if self.class_counts.any() else None
        return _from_triangle, (self.expansion_point, triangle, self.rhs, self.class_counts, self.rounding)

    def to_arrays(self) -> Arrays:
        """Return copies of the expansion point and the sums, for a file or the network."""
        sums = {name: getattr(self, name).copy() for name in ARRAYS}
        return sums if self.rounding is None else {**sums, "rounding": self.rounding.copy()}

    @classmethod
    def from_arrays(cls, arrays: NamedArrays) -> Self:
        """Return the sums from `to_arrays`; raise IncompatibleMomentsError if they cannot be sums of rows."""
        check_arrays(SUMS_SCHEMA, arrays)
        point, gram, rhs, counts = (np.array(arrays[name]) for name in ARRAYS)
        rounding = np.array(arrays["rounding"]) if "rounding" in arrays else np.zeros(point.shape)
        # True sums are at most diagonal + rounding, and their error is at most rounding.
        spread = np.sqrt(np.maximum(np.diagonal(gram) + 2.0 * rounding, 0.0))
        possible = (np.diagonal(gram) >= -rounding).all() and not np.triu(gram, 1).any()
        if not possible or (np.abs(gram) > np.outer(spread, spread) * (1 + 1e-6) + 1e-300).any():
            raise IncompatibleMomentsError("gram: expected the lower triangle of a positive semi-definite matrix")
        return cls(point, gram, rhs, counts, rounding if "rounding" in arrays else None)

    def _check_same_expansion(self, other: Self) -> None:
        """Raise unless both have the same expansion point."""
        if other.n_features != self.n_features:
            raise IncompatibleMomentsError(
                f"statistics of {self.n_features} features and of {other.n_features} cannot be merged"
            )
        if not np.array_equal(self.expansion_point, other.expansion_point):
            raise IncompatibleMomentsError("sums with different expansion points cannot be merged")


def _from_triangle(
    point: Floats, triangle: Floats | None, rhs: Floats, counts: Floats, rounding: Floats | None
) -> LinearizedSums:
    gram = np.zeros((point.size, point.size))
    if triangle is not None:
        gram[np.tril_indices(point.size)] = triangle
    return LinearizedSums(point, gram, rhs, counts, rounding)


def linearize_rows(
    rows: csr_array, labels: Labels, weight: Floats | None, point: Floats, offset: Floats | None = None
) -> tuple[Floats, Floats]:
    """Return the weighted curvature of each row at an expansion point, and curvature * score + residual."""
    scores = rows @ point if offset is None else rows @ point + offset
    curvature, residual = linearize(scores, labels)
    target = curvature * scores + residual
    return (curvature, target) if weight is None else (weight * curvature, weight * target)


def row_entries(rows: csr_array, block: slice) -> CsrRows:
    """Return the entries of a block of rows without copying them."""
    ends = rows.indptr[block.start : block.stop + 1]
    begin, end = int(ends[0]), int(ends[-1])
    return csr_rows(np.asarray(rows.data[begin:end], np.float64), rows.indices[begin:end], ends - begin)
