"""Count, mean and scatter of each group of rows of a chunk."""

import itertools
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache

import numpy as np
from scipy.sparse import csr_array
from threadpoolctl import ThreadpoolController

from opauc.kernels.sums.csr_gram import add_csr_products, column_ranges
from opauc.kernels.sums.symmetric_matrix import add_two_outer, mirror_lower
from opauc.rows import Floats, Labels, Rows
from opauc.statistics.chunk_rows import NO_WEIGHTS, contiguous_blocks, kernel_rows, read_only
from opauc.statistics.group_buffers import GroupBuffers, GroupSums

# A sparse row of m entries costs m^2/2 scattered additions, a dense one d^2/2
# by BLAS; they cost the same where a row fills about this share of its places.
DENSE_FROM = 0.22
# Sums of raw products lose the digits by which a feature's scatter is smaller
# than its raw sum of squares: beyond five, the rows are centred first.
SMALLEST_SHARE = 1e-5
SMALLEST_SHARD = 1024


def accumulate(
    rows: Rows, groups: Labels, weight: Floats = NO_WEIGHTS, n_groups: int = 2, n_jobs: int = 1
) -> list[GroupSums]:
    """Sums of each of up to `n_jobs` shards of the rows, one thread a shard; merging them is the caller's.

    `groups` holds the number of each row's group, from 0 to n_groups - 1: its
    class, where there are two.
    """
    n_rows = rows.shape[0]
    n_shards = max(1, min(n_jobs, n_rows // SMALLEST_SHARD))
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


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Keep BLAS to one thread; around several threads that do so each, lest one gives back what another still needs."""
    with _blas_threads().limit(limits=1, user_api="blas"):
        yield


@cache
def _blas_threads() -> ThreadpoolController:
    return ThreadpoolController()


def shard_sums(rows: Rows, groups: Labels, weight: Floats, n_groups: int) -> GroupSums:
    """Sums of one shard, by the way that suits its rows."""
    if isinstance(rows, csr_array) and rows.nnz < DENSE_FROM * rows.shape[0] * rows.shape[1]:
        sums = _sums_of_entries(rows, groups, weight, n_groups)
        if sums is not None:
            return sums
    sums = _sums_of_buffers(rows, groups, weight, GroupBuffers(rows, groups, n_groups, rows.dtype))
    if rows.dtype != np.float64 and not np.isfinite(np.diagonal(sums.scatters, axis1=1, axis2=2)).all():
        return _sums_of_buffers(rows, groups, weight, GroupBuffers(rows, groups, n_groups, np.dtype(np.float64)))
    return sums


def _sums_of_buffers(rows: Rows, groups: Labels, weight: Floats, buffers: GroupBuffers) -> GroupSums:
    """Sums of shifted rows."""
    for part, block in contiguous_blocks(rows):
        buffers.add(block, groups[part], weight[part] if weight.size else weight)
    return buffers.sums()


def _sums_of_entries(rows: csr_array, groups: Labels, weight: Floats, n_groups: int) -> GroupSums | None:
    """Sums from products of stored entries only; None if they lost the digits of some feature."""
    n_features = rows.shape[1]
    entries = kernel_rows(rows)
    counts, sums = np.zeros(n_groups), np.zeros((n_groups, n_features))
    lowers = np.zeros((n_groups, n_features, n_features))
    add_csr_products(entries, groups, weight, counts, sums, lowers)
    means = sums / np.maximum(counts, np.finfo(float).tiny)[:, None]
    raw = np.diagonal(lowers, axis1=1, axis2=2).copy()
    for lower, count, mean in zip(lowers, counts, means, strict=True):
        add_two_outer(lower, mean, -count, mean, 0.0)
    lost = np.diagonal(lowers, axis1=1, axis2=2) < SMALLEST_SHARE * raw
    if lost.any():
        lowest, highest = np.empty(sums.shape), np.empty(sums.shape)
        column_ranges(entries, groups, weight, lowest, highest)
        constant = lowest == highest
        if (lost & ~constant).any():
            return None
        for lower, still in zip(lowers, lost, strict=True):
            lower[still, :] = 0.0
            lower[:, still] = 0.0
    for lower in lowers:
        mirror_lower(lower)
    return GroupSums(counts, means, lowers)
