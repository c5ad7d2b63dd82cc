"""Count, mean and scatter of each group of rows of a batch."""

from __future__ import annotations

import itertools
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array

from opauc.core.blas import add_gram, one_blas_thread
from opauc.core.kernels.simd import LANES
from opauc.core.kernels.symmetric_matrix import add_lower, add_two_outer, mirror_lower
from opauc.core.row_blocks import NO_WEIGHTS, contiguous_blocks, kernel_rows, read_only
from opauc.linear.kernels.moments import (
    add_csr_products,
    add_narrow_gram,
    column_ranges,
    fill_buffers,
    fill_buffers_csr,
)
from opauc.types import Floats, Labels, Rows

# Rows of each group whose mean is the first shift of its buffer.
FIRST_ROWS = 64
# Up to this width the Gram kernel is 2 to 1.05 times as fast as BLAS, measured at 8 to 300 features.
MAX_NARROW_WIDTH = 200
# Most bytes of all buffers together where there are more than two groups.
MAX_BUFFER_BYTES = 2**26
# Fewest rows per buffer: BLAS is slow on fewer.
MIN_BUFFER_ROWS = 64


class GroupSums(NamedTuple):
    """Weight, mean and scatter of the rows of each group: shapes (g,), (g, d) and (g, d, d)."""

    counts: Floats
    means: Floats
    scatters: Floats


class GroupBuffers:
    """One buffer of shifted rows per group, added to running sums whenever it is full.

    Rows are shifted by the group's mean so far, which keeps the digits of data far
    from the origin. The last column holds the square roots of the weights, so that
    the Gram matrix of a buffer has the sums of the rows in its last line. float32
    rows stay float32 up to the Gram matrix of a buffer, which is then added to the
    float64 sums.
    """

    def __init__(self, rows: Rows, groups: Labels, n_groups: int, dtype: np.dtype[np.floating]) -> None:
        self._sums = rows.shape[1]  # the line of sums, after those of the features
        width = self._sums + 1
        self._narrow = width <= MAX_NARROW_WIDTH
        if self._narrow:
            width = -(-width // LANES) * LANES
        capacity = min(buffer_rows(width * dtype.itemsize, n_groups), rows.shape[0])
        self.counts: Floats = np.zeros(n_groups)
        self.means: Floats = np.zeros((n_groups, self._sums + 1))
        self.lowers: Floats = np.zeros((n_groups, width, width))
        self._buffers = np.zeros((n_groups, capacity, width), dtype)
        self._filled = np.zeros(n_groups, np.int64)
        self._shifts = _first_means(rows, groups, n_groups).astype(dtype)
        self._fresh_counts = np.zeros(n_groups)
        self._part = np.zeros((width, width) if dtype != np.float64 else 0, dtype)

    def add(self, rows: Rows, groups: Labels, weight: Floats) -> None:
        """Add a block of contiguous rows."""
        fill = fill_buffers if isinstance(rows, np.ndarray) else fill_buffers_csr
        source, start, n_rows = kernel_rows(rows), 0, rows.shape[0]
        while start < n_rows:
            start = fill(
                source, groups, weight, start,
                self._shifts, self._buffers, self._filled, self._fresh_counts,
            )  # fmt: skip
            for k in np.flatnonzero(self._filled == self._buffers.shape[1]).tolist():
                self._empty(k)

    def sums(self) -> GroupSums:
        """Return the sums of all rows added."""
        for k, lower in enumerate(self.lowers):
            self._empty(k)
            mirror_lower(lower)
        d = self._sums
        return GroupSums(self.counts, self.means[:, :-1].copy(), self.lowers[:, :d, :d].copy())

    def _empty(self, k: int) -> None:
        """Add the buffer of group k to its sums; the mean of all its rows so far becomes the next shift."""
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


def buffer_rows(row_bytes: int, n_groups: int) -> int:
    """Return the number of rows of a buffer."""
    # Best at 8 to 2000 features: 1 MiB per buffer, and at least 1024 rows.
    best = max(1024, min(4096, 2**20 // row_bytes))
    return best if n_groups <= 2 else min(best, max(MIN_BUFFER_ROWS, MAX_BUFFER_BYTES // (n_groups * row_bytes)))


def _first_means(rows: Rows, groups: Labels, n_groups: int) -> Floats:
    """Return the mean of the first rows of each group, the first shift, followed by a zero."""
    means = np.zeros((n_groups, rows.shape[1] + 1))
    near = groups[: 8 * FIRST_ROWS * n_groups]  # most likely these contain enough rows of every group
    for k in range(n_groups):
        first = np.flatnonzero(near == k)[:FIRST_ROWS]
        if first.size < FIRST_ROWS:
            first = np.flatnonzero(groups == k)[:FIRST_ROWS]
        if first.size:
            sample = rows[first]
            dense = sample if isinstance(sample, np.ndarray) else sample.toarray()
            means[k, :-1] = dense.mean(axis=0, dtype=np.float64)
    return means


# Density from which sparse rows are summed as dense ones: m entries cost m^2/2 scattered additions, a dense row d^2/2
# additions by BLAS, and both take the same time at about this density.
MIN_DENSITY_FOR_BLAS = 0.22
# Sums of raw products lose the digits by which a feature's scatter is smaller than its sum of squares. Beyond five
# digits, the rows are centered first.
MIN_SCATTER_SHARE = 1e-5
# Fewest rows per thread.
MIN_SHARD_ROWS = 1024


def accumulate(
    rows: Rows, groups: Labels, weight: Floats = NO_WEIGHTS, n_groups: int = 2, n_jobs: int = 1
) -> list[GroupSums]:
    """Return the sums of each of up to `n_jobs` shards of the rows, one thread per shard; the caller merges them.

    `groups` has the group of each row, from 0 to n_groups - 1; for two classes, the label.
    """
    n_rows = rows.shape[0]
    n_shards = max(1, min(n_jobs, n_rows // MIN_SHARD_ROWS))
    edges = np.linspace(0, n_rows, n_shards + 1).astype(int)
    shards = [slice(a, b) for a, b in itertools.pairwise(edges)]

    def sums_of(shard: slice) -> GroupSums:
        part = rows if n_shards == 1 else rows[shard]
        return shard_sums(part, groups[shard], read_only(weight[shard] if weight.size else weight), n_groups)

    with one_blas_thread():
        if n_shards == 1:
            return [sums_of(shards[0])]
        with ThreadPoolExecutor(n_shards) as pool:
            return list(pool.map(sums_of, shards))


def shard_sums(rows: Rows, groups: Labels, weight: Floats, n_groups: int) -> GroupSums:
    """Return the sums of one shard, by the algorithm that suits its density."""
    if isinstance(rows, csr_array) and rows.nnz < MIN_DENSITY_FOR_BLAS * rows.shape[0] * rows.shape[1]:
        sums = _sums_of_entries(rows, groups, weight, n_groups)
        if sums is not None:
            return sums
    sums = _sums_of_buffers(rows, groups, weight, GroupBuffers(rows, groups, n_groups, rows.dtype))
    if rows.dtype != np.float64 and not np.isfinite(np.diagonal(sums.scatters, axis1=1, axis2=2)).all():
        return _sums_of_buffers(rows, groups, weight, GroupBuffers(rows, groups, n_groups, np.dtype(np.float64)))
    return sums


def _sums_of_buffers(rows: Rows, groups: Labels, weight: Floats, buffers: GroupBuffers) -> GroupSums:
    """Return the sums of rows through buffers of shifted rows."""
    for part, block in contiguous_blocks(rows):
        buffers.add(block, groups[part], weight[part] if weight.size else weight)
    return buffers.sums()


def _sums_of_entries(rows: csr_array, groups: Labels, weight: Floats, n_groups: int) -> GroupSums | None:
    """Return the sums from products of stored entries only; None if a feature lost too many digits."""
    n_features = rows.shape[1]
    entries = kernel_rows(rows)
    counts, sums = np.zeros(n_groups), np.zeros((n_groups, n_features))
    lowers = np.zeros((n_groups, n_features, n_features))
    add_csr_products(entries, groups, weight, counts, sums, lowers)
    means = sums / np.maximum(counts, np.finfo(float).tiny)[:, None]
    raw = np.diagonal(lowers, axis1=1, axis2=2).copy()
    for lower, count, mean in zip(lowers, counts, means, strict=True):
        add_two_outer(lower, mean, -count, mean, 0.0)
    lost = np.diagonal(lowers, axis1=1, axis2=2) < MIN_SCATTER_SHARE * raw
    if lost.any():
        lowest, highest = np.empty(sums.shape), np.empty(sums.shape)
        column_ranges(entries, groups, weight, lowest, highest)
        constant = lowest == highest
        if (lost & ~constant).any():
            return None
        for lower, constant_features in zip(lowers, lost, strict=True):
            lower[constant_features, :] = 0.0
            lower[:, constant_features] = 0.0
    for lower in lowers:
        mirror_lower(lower)
    return GroupSums(counts, means, lowers)
