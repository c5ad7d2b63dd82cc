"""Algorithm 1 of the paper on full covariance matrices, with the covariance updates done in blocks."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from opauc.core.kernels.compile import inlined, kernel
from opauc.core.kernels.sparse_rows import clear_row, unpack_row
from opauc.core.kernels.symmetric_matrix import add_low_rank_product, add_outer_products, symmetric_product

# Below this share of its weight a class is forgotten no further: covariances are
# ratios and stay right, and neither side of them can underflow to zero.
FAINTEST = 1e-100
# Share of the newest row in the running mean of squared excess.
EXCESS_RATE = 0.01
# What stands where in `progress`.
ROWS, STEPS, CURVATURE, RECENT_EXCESS = 0, 1, 2, 3


class DescentState(NamedTuple):
    """What the pass reads and writes; index 0 is the negative class, 1 the positive.

    The scatter of class k is scales[k] * (lowers[k] + P^T P) with P the first
    filled[k] rows of pending[k]: recent rows wait there, because one update of
    rank B costs far less than B updates of rank one. `scales` differs from one
    only when old rows are forgotten. Only the lower triangles of `lowers` count.
    """

    counts: np.ndarray  # (2,) weight of the rows seen
    means: np.ndarray  # (2, d)
    lowers: np.ndarray  # (2, d, d)
    pending: np.ndarray  # (2, B, d)
    filled: np.ndarray  # (2,) int64
    scales: np.ndarray  # (2,)
    traces: np.ndarray  # (2,) of lowers + P^T P
    weights: np.ndarray  # (d,)
    weight_sum: np.ndarray  # (d,) sum of the iterates
    progress: np.ndarray  # (4,) rows seen, steps taken, largest curvature met, recent squared excess


@inlined
def take_in(row, k, weight, forgetting_factor, state):
    """Add `row` to the statistics of its class k (Welford), leaving its scatter in the pending block."""
    for c in range(2):
        if state.counts[c] > FAINTEST:
            state.counts[c] *= forgetting_factor
            state.scales[c] *= forgetting_factor
    count = state.counts[k] + weight
    state.counts[k] = count
    mean, slot = state.means[k], state.pending[k, state.filled[k]]
    share, trace = weight / count, 0.0
    root = np.sqrt(weight * (1.0 - share) / state.scales[k])
    for j in range(row.size):
        away = row[j] - mean[j]
        mean[j] += away * share
        slot[j] = root * away
        trace += slot[j] * slot[j]
    state.traces[k] += trace
    state.filled[k] += 1


@inlined
def fold_when_full(state):
    """Move a pending block into its matrix once it is full, or its scale so small that the next might be zero."""
    for k in range(2):
        faint = state.scales[k] < FAINTEST
        if faint or state.filled[k] == state.pending.shape[1]:
            lower, pending = state.lowers[k], state.pending[k]
            for i in range(state.filled[k], pending.shape[0]):
                for j in range(pending.shape[1]):
                    pending[i, j] = 0.0
            add_outer_products(lower, pending)
            state.filled[k] = 0
            if faint:
                # Written out: to scale an array in its place, numba compiles what would word the error of doing so.
                for i in range(lower.shape[0]):
                    for j in range(i + 1):
                        lower[i, j] *= state.scales[k]
                state.traces[k] *= state.scales[k]
                state.scales[k] = 1.0


@inlined
def step_on(row, k, weight, alpha, step_size, relative, state, product):
    """Move the weights one step on `row` of class k; `product` is scratch.

    With gap = row - mean of the other class and excess = weights.gap - label,
    the gradient is alpha*w + excess*gap + covariance_other @ w. A relative
    step is in units of 1/curvature, curvature being the largest
    alpha + mean of |row - other row|^2 met so far. `weight` is a factor on the
    gradient of the loss, not on alpha*w; a relative step is held at 1/curvature.
    """
    other = 1 - k
    mean, weights = state.means[other], state.weights
    excess, square = 1.0 - 2.0 * k, 0.0
    for j in range(row.size):
        gap = row[j] - mean[j]
        excess += weights[j] * gap
        square += gap * gap
    symmetric_product(state.lowers[other], weights, product)
    add_low_rank_product(state.pending[other, : state.filled[other]], weights, product)
    share = state.scales[other] / state.counts[other]
    progress = state.progress
    progress[CURVATURE] = max(progress[CURVATURE], alpha + square + share * state.traces[other])
    progress[RECENT_EXCESS] += EXCESS_RATE * (excess * excess - progress[RECENT_EXCESS])
    if relative:
        weight = min(weight, 1.0 / step_size)
        step_size /= progress[CURVATURE]
    loss_step = weight * step_size
    keep, pull, damp = 1.0 - step_size * alpha, loss_step * excess, loss_step * share
    for j in range(row.size):
        weights[j] = keep * weights[j] - pull * (row[j] - mean[j]) - damp * product[j]
        state.weight_sum[j] += weights[j]
    progress[STEPS] += 1.0


@inlined
def learn_row(row, k, weight, alpha, step_size, relative, forgetting_factor, state, product):
    """Run one round of Algorithm 1: statistics first, then a step unless the other class is unseen."""
    state.progress[ROWS] += 1.0
    take_in(row, k, weight, forgetting_factor, state)
    if state.counts[1 - k] > 0.0:
        step_on(row, k, weight, alpha, step_size, relative, state, product)
    fold_when_full(state)


@kernel
def dense_pass(rows, labels, row_weights, step_sizes, relative, alpha, forgetting_factor, state):
    """Run Algorithm 1 over dense rows in order, updating `state` in place; no `row_weights` means ones."""
    product = np.empty(rows.shape[1])
    for i in range(rows.shape[0]):
        weight = row_weights[i] if row_weights.size else 1.0
        learn_row(rows[i], labels[i], weight, alpha, step_sizes[i], relative, forgetting_factor, state, product)


@kernel
def csr_pass(rows, labels, row_weights, step_sizes, relative, alpha, forgetting_factor, state):
    """Run Algorithm 1 over sparse rows in order, updating `state` in place; no `row_weights` means ones."""
    n_features = state.weights.size
    product, row = np.empty(n_features), np.zeros(n_features)
    for i in range(labels.size):
        unpack_row(rows, i, row)
        weight = row_weights[i] if row_weights.size else 1.0
        learn_row(row, labels[i], weight, alpha, step_sizes[i], relative, forgetting_factor, state, product)
        clear_row(rows, i, row)
