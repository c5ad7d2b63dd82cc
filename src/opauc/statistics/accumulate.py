"""Count, mean and scatter of both classes of a chunk, by matrix products over buffers that stay in cache."""

import itertools
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from threadpoolctl import ThreadpoolController

from opauc.kernels.rows.row_buffers import fill_buffers
from opauc.kernels.rows.row_buffers_csr import fill_buffers_csr
from opauc.kernels.simd.lanes import LANES
from opauc.kernels.sums.blas_gram import add_gram
from opauc.kernels.sums.csr_gram import add_csr_products, column_ranges
from opauc.kernels.sums.narrow_gram import add_narrow_gram
from opauc.kernels.sums.symmetric_matrix import add_lower, add_two_outer, mirror_lower
from opauc.statistics.chunk_rows import (
    NO_WEIGHTS,
    Labels,
    Rows,
    contiguous_blocks,
    kernel_rows,
    read_only,
)

Floats = NDArray[np.float64]

# A sparse row of m entries costs m^2/2 scattered additions, a dense one d^2/2
# by BLAS; they cost the same where a row fills about this share of its places.
DENSE_FROM = 0.22
# Sums of raw products lose the digits by which a feature's scatter is smaller
# than its raw sum of squares: beyond five, the rows are centred first.
SMALLEST_SHARE = 1e-5
FIRST_ROWS = 64
WIDEST_NARROW = 200
SMALLEST_SHARD = 1024


class ClassSums(NamedTuple):
    """Weight, mean and scatter of the negative (0) and the positive (1) class."""

    counts: Floats
    means: Floats
    scatters: Floats


def accumulate(rows: Rows, labels: Labels, sample_weight: Floats = NO_WEIGHTS, n_jobs: int = 1) -> list[ClassSums]:
    """Sums of each of up to `n_jobs` shards of the rows, one thread a shard; merging them is the caller's."""
    n_rows = rows.shape[0]
    n_shards = max(1, min(n_jobs, n_rows // SMALLEST_SHARD))
    edges = np.linspace(0, n_rows, n_shards + 1).astype(int)
    shards = [slice(a, b) for a, b in itertools.pairwise(edges)]

    def sums_of(shard: slice) -> ClassSums:
        weight = read_only(sample_weight[shard] if sample_weight.size else sample_weight)
        part = rows if n_shards == 1 else rows[shard]
        return shard_sums(part, labels[shard], weight)

    with _blas_threads().limit(limits=1, user_api="blas"):
        if n_shards == 1:
            return [sums_of(shards[0])]
        with ThreadPoolExecutor(n_shards) as pool:
            return list(pool.map(sums_of, shards))


@cache
def _blas_threads() -> ThreadpoolController:
    return ThreadpoolController()


def shard_sums(rows: Rows, labels: Labels, sample_weight: Floats) -> ClassSums:
    """Sums of one shard, by the way that suits its rows."""
    if isinstance(rows, sparse.csr_array) and rows.nnz < DENSE_FROM * rows.shape[0] * rows.shape[1]:
        sums = _sums_of_entries(rows, labels, sample_weight)
        if sums is not None:
            return sums
    sums = _sums_of_buffers(rows, labels, sample_weight, rows.dtype)
    if rows.dtype != np.float64 and not np.isfinite(np.diagonal(sums.scatters, axis1=1, axis2=2)).all():
        return _sums_of_buffers(rows, labels, sample_weight, np.dtype(np.float64))
    return sums


def _sums_of_buffers(rows: Rows, labels: Labels, sample_weight: Floats, dtype: np.dtype[np.floating]) -> ClassSums:
    """Sums of shifted rows, multiplied in `dtype`."""
    buffers = ClassBuffers(rows, labels, dtype)
    for part, block in contiguous_blocks(rows):
        buffers.add(block, labels[part], sample_weight[part] if sample_weight.size else sample_weight)
    return buffers.sums()


def _sums_of_entries(rows: sparse.csr_array, labels: Labels, sample_weight: Floats) -> ClassSums | None:
    """Sums from products of stored entries only; None if they lost the digits of some feature."""
    n_features = rows.shape[1]
    entries = kernel_rows(rows)
    counts, sums = np.zeros(2), np.zeros((2, n_features))
    lowers = np.zeros((2, n_features, n_features))
    add_csr_products(entries, labels, sample_weight, counts, sums, lowers)
    means = sums / np.maximum(counts, np.finfo(float).tiny)[:, None]
    raw = np.diagonal(lowers, axis1=1, axis2=2).copy()
    for lower, count, mean in zip(lowers, counts, means, strict=True):
        add_two_outer(lower, mean, -count, mean, 0.0)
    lost = np.diagonal(lowers, axis1=1, axis2=2) < SMALLEST_SHARE * raw
    if lost.any():
        lowest, highest = np.empty((2, n_features)), np.empty((2, n_features))
        column_ranges(entries, labels, sample_weight, lowest, highest)
        constant = lowest == highest
        if (lost & ~constant).any():
            return None
        for lower, still in zip(lowers, lost, strict=True):
            lower[still, :] = 0.0
            lower[:, still] = 0.0
    for lower in lowers:
        mirror_lower(lower)
    return ClassSums(counts, means, lowers)


class ClassBuffers:
    """One buffer of shifted rows per class, emptied into running sums whenever it is full.

    Each fill is shifted by the class mean so far, which keeps the digits of
    data far from the origin. The last column holds the roots of the weights,
    so that the product of a buffer with itself has the sums of the rows in its
    last line. float32 rows stay float32 up to the product of a single buffer,
    which is then added to the float64 sums.
    """

    def __init__(self, rows: Rows, labels: Labels, dtype: np.dtype[np.floating]) -> None:
        self._sums = rows.shape[1]  # the line of sums, after those of the features
        width = self._sums + 1
        # Measured at 8 to 300 features: up to here 2 to 1.05 times as fast as BLAS.
        self._narrow = width <= WIDEST_NARROW
        if self._narrow:
            width = -(-width // LANES) * LANES
        # Measured at 8 to 2000 features: 1 MiB a buffer, and at least 1024 rows to keep BLAS busy.
        capacity = max(1024, min(4096, 2**20 // (width * dtype.itemsize)))
        self.counts = np.zeros(2)
        self.means = np.zeros((2, self._sums + 1))
        self.lowers = np.zeros((2, width, width))
        self._buffers = np.zeros((2, min(capacity, rows.shape[0]), width), dtype)
        self._filled = np.zeros(2, np.int64)
        self._shifts = _first_means(rows, labels).astype(dtype)
        self._fresh_counts = np.zeros(2)
        self._part = np.zeros((width, width) if dtype != np.float64 else 0, dtype)

    def add(self, rows: Rows, labels: Labels, sample_weight: Floats) -> None:
        """Take in a block whose rows lie one after the other."""
        fill = fill_buffers if isinstance(rows, np.ndarray) else fill_buffers_csr
        source, start, n_rows = kernel_rows(rows), 0, rows.shape[0]
        while start < n_rows:
            start = fill(
                source, labels, sample_weight, start,
                self._shifts, self._buffers, self._filled, self._fresh_counts,
            )  # fmt: skip
            for k in (0, 1):
                if self._filled[k] == self._buffers.shape[1]:
                    self._empty(k)

    def sums(self) -> ClassSums:
        """Return the sums of all rows added."""
        for k in (0, 1):
            self._empty(k)
            mirror_lower(self.lowers[k])
        d = self._sums
        return ClassSums(self.counts, self.means[:, :-1].copy(), self.lowers[:, :d, :d].copy())

    def _empty(self, k: int) -> None:
        """Add the buffer to the sums, about the mean of all rows so far, which is the next shift."""
        lower, buffer = self.lowers[k], self._buffers[k, : self._filled[k]]
        add = add_narrow_gram if self._narrow else add_gram
        if buffer.dtype == np.float64:
            add(buffer, lower)
        else:
            add(buffer, self._part)
            add_lower(lower, self._part)
        weight, fresh = self.counts[k], self._fresh_counts[k]
        if fresh > 0.0:
            share = fresh / (weight + fresh)
            fresh_sum = lower[self._sums, : self._sums + 1].copy()
            away = fresh_sum / fresh + self._shifts[k] - self.means[k]
            fresh_sum[-1] = away[-1] = lower[self._sums :] = 0.0
            add_two_outer(lower, fresh_sum, -1.0 / fresh, away, weight * share)
            self.counts[k] += fresh
            self.means[k] += share * away
            self._shifts[k] = self.means[k]
        self._filled[k] = 0
        self._fresh_counts[k] = 0.0


def _first_means(rows: Rows, labels: Labels) -> Floats:
    """Mean of the first rows of each class, a shift close enough to start from, and a zero."""
    means = np.zeros((2, rows.shape[1] + 1))
    for k in (0, 1):
        first = np.flatnonzero(labels == k)[:FIRST_ROWS]
        if first.size:
            sample = rows[first]
            dense = sample if isinstance(sample, np.ndarray) else sample.toarray()
            means[k, :-1] = dense.mean(axis=0, dtype=np.float64)
    return means
