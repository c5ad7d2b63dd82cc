"""The logistic likelihood of labelled rows as plain sums, each row linearised once at a fixed point."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csr_array
from scipy.special import expit

from opauc.errors import IncompatibleMoments, StatisticsOverflow
from opauc.kernels.rows.csr_rows import CsrRows
from opauc.kernels.sums.symmetric_matrix import clear_upper, mirror_lower
from opauc.rows import Array, Arrays, ClassCounts, Floats, Labels, NamedArrays, Rows
from opauc.statistics.accumulate import one_blas_thread
from opauc.statistics.chunk_rows import csr_rows
from opauc.statistics.row_products import RowProducts
from opauc.statistics.statistic import ROUNDING, Mergeable

ROWS_PER_BLOCK = 1024
# Below this margin the secant is a quarter to the last bit, and dividing by it would be dividing by zero.
SMALLEST_MARGIN = 1e-6
PARTS = ("point", "gram", "moment", "class_counts")
# Rows, their labels, and their weights, one each where none are given.
LabelledRows: TypeAlias = tuple[Rows, Labels, Floats | None]


@dataclass(frozen=True, slots=True, eq=False)
class LinearisedSums(Mergeable):
    """Sums over rows z of curvature * z z^T and of (curvature * score + pull) z, the score being that at `point`.

    The quadratic w.gram w / 2 - moment.w has the gradient of the logistic loss
    at `point`, so that its minimiser is one Newton step from there. `gram` keeps
    its lower triangle only. Rows enter at the one point whatever came before
    them: sums merge, and rows can be taken out again.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.statistics import LinearisedSums
    >>> rows, labels = np.array([[1.0, 2.0], [1.0, -1.0]]), np.array([1, 0], np.int8)
    >>> sums = LinearisedSums.empty(2).update(rows, labels)
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
            raise StatisticsOverflow("the sums of the rows overflow float64; scale the features down")

    @classmethod
    def empty(cls, n_features: int) -> Self:
        """Sums of no rows, at the point zero."""
        return cls.at(np.zeros(n_features))

    @classmethod
    def at(cls, point: Floats) -> Self:
        """Sums of no rows, to be linearised at that point."""
        return cls(point, np.zeros((point.size, point.size)), np.zeros(point.size), np.zeros(2))

    @property
    def n_features(self) -> int:
        """Number of features."""
        return self.point.size

    @property
    def counts(self) -> ClassCounts:
        """Rows of each class, each counted with its weight."""
        return ClassCounts(*self.class_counts.tolist())

    def emptied(self) -> Self:
        """Sums of no rows at the same point."""
        return self.at(self.point)

    def update(self, rows: Rows, labels: Labels, weight: Floats | None = None, narrow: bool = False) -> Self:
        """Sums of the rows so far and these; `narrow` lets BLAS multiply in float32, good to six digits and faster."""
        if rows.shape[1] != self.n_features:
            raise IncompatibleMoments(f"sums of {self.n_features} features cannot take rows of {rows.shape[1]}")
        return self.update_all([(rows, labels, weight)], narrow)

    def update_all(self, parts: Iterable[LabelledRows], narrow: bool = False) -> Self:
        """Sums of the rows so far and of all parts of more: as `update` part by part, the sums copied once."""
        moment, counts = self.moment.copy(), self.class_counts.copy()
        products = RowProducts(self.gram.copy(), narrow)
        with one_blas_thread():
            for rows, labels, weight in parts:
                sparse = rows if isinstance(rows, csr_array) else csr_array(rows, dtype=np.float64)
                curvature, target = linearised_rows(sparse, labels, weight, self.point)
                moment += sparse.T @ target
                for start in range(0, labels.size, ROWS_PER_BLOCK):
                    part = slice(start, start + ROWS_PER_BLOCK)
                    products.add(_entries(sparse, part), curvature[part])
                counts += np.bincount(labels, weight, minlength=2)
        gram = products.finish()
        clear_upper(gram)
        return replace(self, gram=gram, moment=moment, class_counts=counts)

    def merge(self, other: Self) -> Self:
        """Sums of both sets of rows, which must have been linearised at the same point."""
        self._refuse_other_point(other)
        counts = self.class_counts + other.class_counts
        return replace(self, gram=self.gram + other.gram, moment=self.moment + other.moment, class_counts=counts)

    def without(self, other: Self) -> Self:
        """Sums of the rows that are not in `other`: the inverse of `merge`."""
        self._refuse_other_point(other)
        counts = self.class_counts - other.class_counts
        if (counts < -ROUNDING * self.class_counts).any():
            raise IncompatibleMoments(
                f"cannot take out {other.counts.negative:g} negative and {other.counts.positive:g} positive rows: "
                f"only {self.counts.negative:g} and {self.counts.positive:g} were seen"
            )
        if (counts <= ROUNDING * self.class_counts).all():
            return self.emptied()
        gram = self.gram - other.gram
        had, has = np.diagonal(self.gram), np.diagonal(gram)
        if (has < -ROUNDING * had).any():
            feature = int(np.argmin(has + ROUNDING * had))
            raise IncompatibleMoments(
                f"cannot take out rows that were never seen: feature {feature} would vary by less than nothing"
            )
        return replace(self, gram=gram, moment=self.moment - other.moment, class_counts=np.maximum(counts, 0.0))

    def grown(self, n_features: int) -> Self:
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

    def __reduce__(self) -> tuple[Callable[..., LinearisedSums], tuple[Array | None, ...]]:
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
            raise IncompatibleMoments(f"expected arrays {', '.join(PARTS)}, got {', '.join(sorted(arrays))}")
        point, gram, moment, counts = (np.array(arrays[name]) for name in PARTS)
        size = point.size
        shapes = tuple(part.shape for part in (point, gram, moment, counts))
        if shapes != ((size,), (size, size), (size,), (2,)):
            raise IncompatibleMoments(f"expected shapes (d,), (d, d), (d,) and (2,), got {', '.join(map(str, shapes))}")
        if any(part.dtype != np.float64 or not np.isfinite(part).all() for part in (point, gram, moment, counts)):
            raise IncompatibleMoments(f"{', '.join(PARTS)}: expected finite float64 numbers")
        spread = np.sqrt(np.maximum(np.diagonal(gram), 0.0))
        possible = (np.diagonal(gram) >= 0).all() and not np.triu(gram, 1).any() and (counts >= 0).all()
        if not possible or (np.abs(gram) > np.outer(spread, spread) * (1 + 1e-6) + 1e-300).any():
            raise IncompatibleMoments("gram: expected the lower triangle of a positive semi-definite matrix")
        return cls(point, gram, moment, counts)

    def _refuse_other_point(self, other: Self) -> None:
        """Raise unless both are linearised at the same point."""
        if other.n_features != self.n_features:
            raise IncompatibleMoments(
                f"statistics of {self.n_features} features and of {other.n_features} do not belong together"
            )
        if not np.array_equal(self.point, other.point):
            raise IncompatibleMoments("sums that were linearised at different points do not belong together")


def _of_triangle(point: Floats, triangle: Floats | None, moment: Floats, counts: Floats) -> LinearisedSums:
    gram = np.zeros((point.size, point.size))
    if triangle is not None:
        gram[np.tril_indices(point.size)] = triangle
    return LinearisedSums(point, gram, moment, counts)


def linearised(scores: Floats, labels: Labels) -> tuple[Floats, Floats]:
    """Return the curvature of each row's logistic loss and its pull, the negative gradient, at these scores.

    For a row on the right side of zero the curvature is the second derivative;
    for one on the wrong side it is the slope of the secant of the gradient from
    the score to zero, which is never small there: a row far on the wrong side
    would else throw the solution away, its gradient being one and its second
    derivative nothing. The two meet at a quarter.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.statistics.linearised_sums import linearised
    >>> curvature, pull = linearised(np.array([0.0, 9.0, -9.0]), np.ones(3, np.int8))
    >>> curvature.round(4).tolist(), pull.round(4).tolist()
    ([0.25, 0.0001, 0.0555], [0.5, 0.0001, 0.9999])
    """
    sign = 2.0 * labels - 1.0
    margin = sign * scores
    doubt = expit(-margin)
    size = np.maximum(np.abs(margin), SMALLEST_MARGIN)
    curvature = np.where(margin >= 0.0, doubt * (1.0 - doubt), np.tanh(0.5 * size) / (2.0 * size))
    return curvature, sign * doubt


def linearised_rows(rows: csr_array, labels: Labels, weight: Floats | None, point: Floats) -> tuple[Floats, Floats]:
    """Return the curvature of each row, and what its score should be, times that."""
    scores = rows @ point
    curvature, pull = linearised(scores, labels)
    target = curvature * scores + pull
    return (curvature, target) if weight is None else (weight * curvature, weight * target)


def _entries(rows: csr_array, part: slice) -> CsrRows:
    """Return the entries of some of the rows, not copied."""
    ends = rows.indptr[part.start : part.stop + 1]
    begin, end = int(ends[0]), int(ends[-1])
    return csr_rows(np.asarray(rows.data[begin:end], np.float64), rows.indices[begin:end], ends - begin)
