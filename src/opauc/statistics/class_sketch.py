"""Sketched statistics of the two classes: count, sum and a random projection of the rows, mergeable."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from opauc.errors import IncompatibleMoments
from opauc.kernels.sums.sketch_sums import add_coded_rows
from opauc.statistics.chunk_rows import Labels, Rows, kernel_rows
from opauc.statistics.code_stream import CodeStream
from opauc.statistics.score_summary import ScoreSummary

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class ClassSketch:
    """Sums of row * code^T and of codes, for the negative (0) and the positive (1) class.

    The last entry of a code is one, so the last columns are the class sum and
    the row count. With Z the other columns, s the sum of codes and c the class
    mean, C = Z - c s^T gives an unbiased, positive semi-definite estimate
    C C^T / count of the class covariance.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy import sparse
    >>> from opauc.statistics.class_sketch import ClassSketch
    >>> from opauc.statistics.code_stream import CodeStream
    >>> rows, labels = sparse.csr_array(np.eye(4)), np.array([0, 1, 0, 1], np.int8)
    >>> seen = ClassSketch.empty(4, CodeStream.seeded(2, random_state=0)).update(rows, labels)
    >>> seen.counts.tolist(), seen.means[1].tolist()
    ([2.0, 2.0], [0.0, 0.5, 0.0, 0.5])
    """

    sums: Floats  # (d, 2, width)
    code_sums: Floats  # (2, width)
    stream: CodeStream
    n_rows: int = 0
    merged_keys: frozenset[int] = frozenset()

    @classmethod
    def empty(cls, n_features: int, stream: CodeStream) -> ClassSketch:
        """Sketch of no rows."""
        return cls(np.zeros((n_features, 2, stream.width)), np.zeros((2, stream.width)), stream)

    @property
    def n_features(self) -> int:
        """Number of features."""
        return int(self.sums.shape[0])

    @property
    def counts(self) -> Floats:
        """Rows of each class."""
        return self.code_sums[:, -1]

    @property
    def means(self) -> Floats:
        """Mean of each class, shape (2, n_features); zero for a class without rows."""
        return self.sums[:, :, -1].T / np.maximum(self.counts, 1.0)[:, None]

    @property
    def has_both_classes(self) -> bool:
        """Whether rows of both classes were seen."""
        return bool((self.counts > 0).all())

    def update(self, rows: Rows, labels: Labels) -> ClassSketch:
        """Sketch of the rows so far and these, numbered on from the last."""
        numbers = self.n_rows + np.arange(rows.shape[0])
        return replace(self._plus(rows, labels, numbers, 1.0), n_rows=self.n_rows + rows.shape[0])

    def forget(self, rows: Rows, labels: Labels, row_numbers: ArrayLike) -> ClassSketch:
        """Sketch as if these rows, which came as the given numbers (from 0) of this stream, had never been seen."""
        numbers = np.asarray(row_numbers)
        if numbers.shape != (rows.shape[0],) or not np.issubdtype(numbers.dtype, np.integer):
            raise ValueError(
                f"row_numbers must hold one integer for each of the {rows.shape[0]} rows, got {row_numbers!r}"
            )
        if numbers.size and not (numbers.min() >= 0 and numbers.max() < self.n_rows):
            raise IncompatibleMoments(f"row numbers must lie between 0 and {self.n_rows - 1}, the last row seen here")
        left = self._plus(rows, labels, numbers, -1.0)
        if (left.counts < 0).any():
            raise IncompatibleMoments("cannot take out more rows of a class than were seen")
        return left

    def merge(self, other: ClassSketch) -> ClassSketch:
        """Sketch of both sets of rows; they must come from different streams, or their codes would coincide."""
        if self.sums.shape != other.sums.shape or self.stream.rank != other.stream.rank:
            raise IncompatibleMoments(
                f"sketches of {self.n_features} features and rank {self.stream.rank} and of "
                f"{other.n_features} and {other.stream.rank} do not belong together"
            )
        shared = self._keys() & other._keys()
        if shared:
            raise IncompatibleMoments(
                "both sketches used the same random codes; give every shard a random_state of its own"
            )
        return replace(
            self,
            sums=self.sums + other.sums,
            code_sums=self.code_sums + other.code_sums,
            merged_keys=self.merged_keys | other._keys(),
        )

    def mean_difference(self) -> Floats:
        """Mean of the positive rows less mean of the negative rows."""
        negative, positive = self.means
        return positive - negative  # type: ignore[no-any-return]

    def summary(self, weights: Floats) -> ScoreSummary:
        """Counts, means and estimated variances of the scores that `weights` give to the rows seen."""
        return summary_of_products(np.einsum("j,jkc->kc", weights, self.sums), self.code_sums)

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Copies of all sums and of the stream they belong to, for a file or the network."""
        return {
            "sums": self.sums.copy(),
            "code_sums": self.code_sums.copy(),
            "stream": np.array([self.stream.rank, self.stream.gaussian, self.n_rows], np.int64),
            "keys": np.array([self.stream.key, *sorted(self.merged_keys)], np.uint64),
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, ArrayLike]) -> ClassSketch:
        """Sketch from what `to_arrays` gave, checked."""
        try:
            sums, code_sums = np.array(arrays["sums"], float), np.array(arrays["code_sums"], float)
            rank, gaussian, n_rows = (int(part) for part in np.asarray(arrays["stream"]))
            key, *merged = (int(part) for part in np.asarray(arrays["keys"]))
        except (KeyError, TypeError, ValueError) as error:
            raise IncompatibleMoments(f"expected arrays sums, code_sums, stream and keys: {error}") from error
        stream = CodeStream(rank, key, bool(gaussian))
        if rank < 0 or n_rows < 0 or code_sums.shape != (2, stream.width) or sums.shape[1:] != code_sums.shape:
            raise IncompatibleMoments(
                f"expected (d, 2, {stream.width}) sums and (2, {stream.width}) code_sums, "
                f"got {sums.shape} and {code_sums.shape}"
            )
        if not (np.isfinite(sums).all() and np.isfinite(code_sums).all()) or (code_sums[:, -1] < 0).any():
            raise IncompatibleMoments("sums must be finite and counts must not be negative")
        return cls(sums, code_sums, stream, n_rows, frozenset(merged))

    def _plus(self, rows: Rows, labels: Labels, numbers: NDArray[np.int64], factor: float) -> ClassSketch:
        sums, code_sums = self.sums.copy(), self.code_sums.copy()
        thin = rows if sparse.issparse(rows) else sparse.csr_array(rows)
        codes = self.stream.codes(numbers)
        add_coded_rows(kernel_rows(thin), labels, codes, factor, sums)
        np.add.at(code_sums, labels, factor * codes)
        return replace(self, sums=sums, code_sums=code_sums)

    def _keys(self) -> frozenset[int]:
        return self.merged_keys | {self.stream.key}


def summary_of_products(products: Floats, code_sums: Floats) -> ScoreSummary:
    """Return counts, mean scores and score variances from the products of the sketch with the weights."""
    counts = code_sums[:, -1]
    means = products[:, -1] / np.maximum(counts, 1.0)
    spread = products[:, :-1] - means[:, None] * code_sums[:, :-1]
    variances = (spread**2).sum(axis=1) / np.maximum(counts, 1.0)
    return ScoreSummary(*(tuple(part.tolist()) for part in (counts, means, variances)))
