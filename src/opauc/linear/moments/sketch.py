"""Sketched statistics of the two classes: count, sum and a random projection of the rows."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from opauc.core.array_schema import ArrayRule, copy_arrays
from opauc.core.kernels.random_signs import write_sign_rows
from opauc.core.mergeable import ROUNDING, FeatureSpread, ScoreSummary, Statistic, or_one
from opauc.core.row_blocks import sparse_blocks
from opauc.errors import IncompatibleMomentsError, StatisticsOverflowError
from opauc.linear.kernels.moments import add_signed_rows
from opauc.types import Arrays, ClassCounts, Floats, Labels, NamedArrays, Rows


@dataclass(frozen=True)
class SignStream:
    """Random signs of rows, a function of the key and the row number.

    The signs of a row are `rank` entries +-1/sqrt(rank) (or Gaussian numbers of
    the same variance), zeros, and a final one; their length is a multiple of
    eight. Different keys give independent signs. The key comes from the random
    state, or from the operating system without one.

    Examples
    --------
    >>> from opauc.linear.moments.sketch import SignStream
    >>> SignStream.seeded(4, random_state=0).sign_rows([7]).shape
    (1, 8)
    """

    rank: int
    key: int
    gaussian: bool = False

    @classmethod
    def seeded(
        cls, rank: int, random_state: int | np.random.RandomState | None = None, gaussian: bool = False
    ) -> SignStream:
        """Return the stream of a random state: None, an integer or a numpy RandomState."""
        if isinstance(random_state, np.random.RandomState):
            random_state = int(random_state.randint(2**32, dtype=np.uint64))
        state_words = np.random.SeedSequence(random_state).generate_state(1, np.uint64)
        return cls(rank, int(state_words[0]), gaussian)

    @property
    def width(self) -> int:
        """Length of the signs of a row: rank + 1, rounded up to a multiple of eight for the kernels."""
        return -(-(self.rank + 1) // 8) * 8

    def sign_rows(self, row_numbers: ArrayLike) -> Floats:
        """Return the signs of the given rows, one per row of the result."""
        numbers = np.asarray(row_numbers, np.int64)
        out = np.zeros((numbers.size, self.width))
        write_sign_rows(np.uint64(self.key), numbers, self.rank, self.gaussian, out)
        return out


DEFAULT_RANK = 50
SCHEMA = {
    "sums": ArrayRule("float64", "features 2 width"),
    "sign_sums": ArrayRule("float64", "2 width"),
    "stream": ArrayRule("int64", "3", low=0),
    "keys": ArrayRule("uint64", "merged+1"),
}
# Sums of ten billion rows of such values can be squared.
MAX_VALUE = 1e140


@dataclass(frozen=True, slots=True, eq=False)
class ClassSketch(Statistic):
    """Sums of row signs^T and of signs, for the negative (0) and the positive (1) class.

    The last of the signs is one, so the last columns are the class sum and the
    row count. With Z the other columns, s the sum of signs and c the class mean,
    C = Z - c s^T gives an unbiased, positive semi-definite estimate C C^T / count
    of the class covariance. A row of weight w adds w to the count, w x to the sum
    and sqrt(w) x signs^T to Z.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy import sparse
    >>> from opauc.linear.moments.sketch import ClassSketch
    >>> from opauc.linear.moments.sketch import SignStream
    >>> rows, labels = sparse.csr_array(np.eye(4)), np.array([0, 1, 0, 1], np.int8)
    >>> sketch = ClassSketch.empty(4, SignStream.seeded(2, random_state=0)).update(rows, labels)
    >>> sketch.counts, sketch.means[1].tolist()
    (ClassCounts(negative=2.0, positive=2.0), [0.0, 0.5, 0.0, 0.5])
    """

    sums: Floats  # (d, 2, width)
    sign_sums: Floats  # (2, width)
    stream: SignStream
    n_rows: int = 0
    merged_keys: frozenset[int] = frozenset()

    @classmethod
    def empty(cls, n_features: int, stream: SignStream | None = None) -> ClassSketch:
        """Return the sketch of no rows; without a stream, with a new random one."""
        stream = SignStream.seeded(DEFAULT_RANK) if stream is None else stream
        return cls(np.zeros((n_features, 2, stream.width)), np.zeros((2, stream.width)), stream)

    def empty_copy(self) -> ClassSketch:
        """Return the sketch of no rows, of the same stream."""
        return ClassSketch.empty(self.n_features, self.stream)

    @property
    def n_features(self) -> int:
        """Number of features."""
        return int(self.sums.shape[0])

    @property
    def counts(self) -> ClassCounts:
        """Total weight of the rows of each class."""
        return ClassCounts(*self.sign_sums[:, -1].tolist())

    @property
    def means(self) -> Floats:
        """Mean of each class, shape (2, n_features); zero for a class without rows."""
        return self.sums[:, :, -1].T / or_one(self.sign_sums[:, -1])[:, None]

    def copy(self) -> ClassSketch:
        """Return a copy."""
        return replace(self, sums=self.sums.copy(), sign_sums=self.sign_sums.copy())

    def update(self, rows: Rows, labels: Labels, weight: Floats | None = None) -> ClassSketch:
        """Return the sketch of the earlier rows and these."""
        return self.copy().absorb(rows, labels, weight)

    def absorb(self, rows: Rows, labels: Labels, weight: Floats | None = None) -> ClassSketch:
        """Do as `update`, in the arrays of this sketch; afterwards use only the returned sketch.

        The cost does not depend on the number of features.
        """
        self._add(rows, labels, self.n_rows + np.arange(rows.shape[0]), weight)
        return replace(self, n_rows=self.n_rows + rows.shape[0])

    def forget(self, rows: Rows, labels: Labels, row_numbers: ArrayLike, weight: Floats | None = None) -> ClassSketch:
        """Return the sketch without these rows, with these row numbers (from 0)."""
        numbers = np.asarray(row_numbers)
        if numbers.shape != (rows.shape[0],) or not np.issubdtype(numbers.dtype, np.integer):
            raise ValueError(
                f"row_numbers must hold one integer for each of the {rows.shape[0]} rows, got {row_numbers!r}"
            )
        if numbers.size and not (numbers.min() >= 0 and numbers.max() < self.n_rows):
            raise IncompatibleMomentsError(
                f"row numbers must lie between 0 and {self.n_rows - 1}, the last row seen here"
            )
        remaining = self.copy()
        remaining._add(rows, labels, numbers, -np.ones(rows.shape[0]) if weight is None else -weight)
        return remaining._check_subtracted(self)

    def merge(self, other: ClassSketch) -> ClassSketch:
        """Return the sketch of both sets of rows; they must use different streams, or their signs would coincide."""
        self._check_same_shape(other)
        if not any(other.counts):
            return self
        if not any(self.counts):
            return other
        if self._keys() & other._keys():
            raise IncompatibleMomentsError(
                "both sketches used the same random signs; give every shard a random_state of its own"
            )
        return replace(
            self,
            sums=self.sums + other.sums,
            sign_sums=self.sign_sums + other.sign_sums,
            merged_keys=self.merged_keys | other._keys(),
        )

    def subtract(self, other: ClassSketch) -> ClassSketch:
        """Return the sketch of the rows that are not in `other`: the inverse of `merge`."""
        self._check_same_shape(other)
        if not any(other.counts):
            return self
        if not other._keys() <= self._keys():
            raise IncompatibleMomentsError(
                "cannot take out rows that were never seen: their random signs are not in here"
            )
        remaining = replace(
            self,
            sums=self.sums - other.sums,
            sign_sums=self.sign_sums - other.sign_sums,
            merged_keys=self.merged_keys - other._keys(),
        )
        return remaining._check_subtracted(self)

    def widen(self, n_features: int) -> ClassSketch:
        """Return the sketch with more features, which are zero in all rows so far."""
        if n_features == self.n_features:
            return self
        sums = np.zeros((n_features, *self.sign_sums.shape))
        sums[: self.n_features] = self.sums
        return replace(self, sums=sums, sign_sums=self.sign_sums.copy())

    def restrict(self, features: ArrayLike) -> ClassSketch:
        """Return the sketch of the given features only, in the given order."""
        return replace(self, sums=self.sums[np.asarray(features)], sign_sums=self.sign_sums.copy())

    def mean_difference(self) -> Floats:
        """Return mean of the positive rows - mean of the negative rows."""
        negative, positive = self.means
        difference: Floats = positive - negative
        return difference

    def summary(self, weights: Floats) -> ScoreSummary:
        """Return counts, means and estimated variances of the scores of the rows seen."""
        return summary_of_products(np.einsum("j,jkc->kc", weights, self.sums), self.sign_sums)

    def feature_spread(self) -> FeatureSpread | None:
        """Return the estimated standard deviation of each feature within the classes; None for rank zero."""
        if not self.stream.rank:
            return None
        coded, sign_totals, means = self.sums[:, :, :-1], self.sign_sums[:, :-1], self.means.T
        scatter = np.einsum("jkc,jkc->jk", coded, coded) - 2.0 * means * np.einsum("jkc,kc->jk", coded, sign_totals)
        scatter += means**2 * np.einsum("kc,kc->k", sign_totals, sign_totals)
        return FeatureSpread.pooled(scatter.sum(axis=1), sum(self.counts), "as its sketch estimates it")

    def to_arrays(self) -> Arrays:
        """Return copies of all sums and the stream, for a file or the network."""
        return {
            "sums": self.sums.copy(),
            "sign_sums": self.sign_sums.copy(),
            "stream": np.array([self.stream.rank, self.stream.gaussian, self.n_rows], np.int64),
            "keys": np.array([self.stream.key, *sorted(self.merged_keys)], np.uint64),
        }

    @classmethod
    def from_arrays(cls, arrays: NamedArrays) -> ClassSketch:
        """Return the sketch from the arrays of `to_arrays`, checked."""
        sums, sign_sums, numbers, keys = copy_arrays(SCHEMA, arrays).values()
        (rank, gaussian, n_rows), (key, *merged) = numbers.tolist(), keys.tolist()
        stream = SignStream(rank, key, bool(gaussian))
        check_sketch_rank(rank, arrays)
        if (sign_sums[:, -1] < 0).any():
            raise IncompatibleMomentsError("sign_sums: expected counts that are not negative")
        return cls(sums, sign_sums, stream, n_rows, frozenset(merged))

    def _add(self, rows: Rows, labels: Labels, numbers: NDArray[np.int64], weight: Floats | None) -> None:
        """Add the rows to the sums in place; raise before if they are too large."""
        values = rows if isinstance(rows, np.ndarray) else rows.data
        if float(max(values.max(initial=0.0), -values.min(initial=0.0))) > MAX_VALUE:  # beyond float32
            raise StatisticsOverflowError("the sums of the rows overflow float64; scale the features down")
        sign_rows = self.stream.sign_rows(numbers)
        if weight is not None:
            sign_rows[:, :-1] *= (np.sign(weight) * np.sqrt(np.abs(weight)))[:, None]  # negative to subtract rows
            sign_rows[:, -1] *= weight
        for part, block in sparse_blocks(rows):
            add_signed_rows(block, labels[part], sign_rows[part], self.sums)
        np.add.at(self.sign_sums, labels, sign_rows)

    def _check_subtracted(self, before: ClassSketch) -> ClassSketch:
        """Return this sketch after rows were subtracted; raise where a class has a negative count."""
        had, has = before.sign_sums[:, -1], self.sign_sums[:, -1]
        if (has < -ROUNDING * had).any():
            raise IncompatibleMomentsError("cannot take out more rows of a class than were seen")
        for k in np.flatnonzero((had > 0.0) & (has <= ROUNDING * had)):
            self.sums[:, k] = self.sign_sums[k] = 0.0
        return self

    def _keys(self) -> frozenset[int]:
        return self.merged_keys | {self.stream.key}

    def _check_same_shape(self, other: ClassSketch) -> None:
        if self.sums.shape != other.sums.shape or self.stream.rank != other.stream.rank:
            raise IncompatibleMomentsError(
                f"sketches of {self.n_features} features and rank {self.stream.rank} and of "
                f"{other.n_features} and {other.stream.rank} do not belong together"
            )


def check_sketch_rank(rank: int, arrays: NamedArrays, name: str = "sign_sums") -> None:
    """Raise unless an array of a file has the sums of signs of a sketch of that rank: nothing is allocated for it."""
    expected = 2, SignStream(rank, 0).width
    if name not in arrays or arrays[name].shape != expected:
        raise IncompatibleMomentsError(f"array {name}: expected shape {expected} of rank {rank}")


def summary_of_products(products: Floats, sign_sums: Floats) -> ScoreSummary:
    """Return counts, mean scores and score variances from the products of the sketch with the weights."""
    counts = sign_sums[:, -1]
    means = products[:, -1] / or_one(counts)
    centered = products[:, :-1] - means[:, None] * sign_sums[:, :-1]
    variances = (centered**2).sum(axis=1) / or_one(counts)
    return ScoreSummary(*(tuple(part.tolist()) for part in (counts, means, variances)))
