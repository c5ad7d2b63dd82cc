"""Algorithm 1 of the paper on full covariance matrices, plain and with standardized features.

Covariance updates are done in blocks. The standardized step, in units of
sqrt(D_j) for feature j, is w_j -= step (alpha w_j + gradient_j / D_j) in the units
of the rows. D_j is the mean of the feature's variances in the two classes, so
alpha has the same meaning as for the exact minimizer of standardized features.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from opauc.core.kernels.compile import inlined, kernel
from opauc.core.kernels.sparse_rows import clear_row, unpack_row
from opauc.core.kernels.symmetric_matrix import add_low_rank_product, add_outer_products, symmetric_product

# The weight of a class does not decay below this, so that neither weight nor scatter underflows to zero. Covariances
# are ratios of the two and stay correct.
UNDERFLOW_FLOOR = 1e-100
# Weight of the newest row in the running mean of the squared excess.
EXCESS_RATE = 0.01
# Entries of `DescentState.progress`.
ROWS = 0  # rows processed
STEPS = 1  # steps taken
CURVATURE = 2  # largest curvature so far; for standardized features the mean curvature
RECENT_EXCESS = 3  # running mean of the squared excess


class DescentState(NamedTuple):
    """State of the pass; class index 0 is negative, 1 positive.

    The scatter of class k is scales[k] * (lowers[k] + P^T P), with P the first
    filled[k] rows of pending[k]. Recent rows are collected there, because one
    update of rank B costs far less than B updates of rank one. `scales` differs
    from one only with a forgetting factor. Only the lower triangles of `lowers`
    are valid.
    """

    counts: np.ndarray  # (2,) total weight of the rows of each class
    means: np.ndarray  # (2, d)
    lowers: np.ndarray  # (2, d, d)
    pending: np.ndarray  # (2, B, d)
    filled: np.ndarray  # (2,) int64
    scales: np.ndarray  # (2,)
    traces: np.ndarray  # (2,) traces of lowers + P^T P
    weights: np.ndarray  # (d,)
    weight_sum: np.ndarray  # (d,) sum of the iterates
    progress: np.ndarray  # (4,) see ROWS


@inlined
def update_moments(row, k, weight, forgetting_factor, state):
    """Add `row` to the statistics of its class k (Welford); its scatter goes to the pending block."""
    for c in range(2):
        if state.counts[c] > UNDERFLOW_FLOOR:
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
    """Add a pending block to its matrix once it is full, or once its scale is close to underflow."""
    for k in range(2):
        underflows = state.scales[k] < UNDERFLOW_FLOOR
        if underflows or state.filled[k] == state.pending.shape[1]:
            lower, pending = state.lowers[k], state.pending[k]
            for i in range(state.filled[k], pending.shape[0]):
                for j in range(pending.shape[1]):
                    pending[i, j] = 0.0
            add_outer_products(lower, pending)
            state.filled[k] = 0
            if underflows:
                # A loop: scaling an array in place makes numba compile the error message of doing so.
                for i in range(lower.shape[0]):
                    for j in range(i + 1):
                        lower[i, j] *= state.scales[k]
                state.traces[k] *= state.scales[k]
                state.scales[k] = 1.0


@inlined
def step_on(row, k, weight, alpha, step_size, relative, state, product):
    """Take one step of the weights on `row` of class k; `product` is scratch.

    With gap = row - mean of the other class and excess = weights.gap - label,
    the gradient is alpha*w + excess*gap + covariance_other @ w. A relative
    step is in units of 1/curvature, where the curvature is the largest
    alpha + mean of |row - other row|^2 so far. `weight` is a factor on the
    gradient of the loss, not on alpha*w; a relative step is at most 1/curvature.
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
def train_on_row(row, k, weight, alpha, step_size, relative, forgetting_factor, state, product):
    """Run one round of Algorithm 1: update the statistics, then take a step if the other class was seen."""
    state.progress[ROWS] += 1.0
    update_moments(row, k, weight, forgetting_factor, state)
    if state.counts[1 - k] > 0.0:
        step_on(row, k, weight, alpha, step_size, relative, state, product)
    fold_when_full(state)


@kernel
def dense_pass(rows, labels, row_weights, step_sizes, relative, alpha, forgetting_factor, state):
    """Run Algorithm 1 over dense rows in order, updating `state` in place; empty `row_weights` mean ones."""
    product = np.empty(rows.shape[1])
    for i in range(rows.shape[0]):
        weight = row_weights[i] if row_weights.size else 1.0
        train_on_row(rows[i], labels[i], weight, alpha, step_sizes[i], relative, forgetting_factor, state, product)


@kernel
def csr_pass(rows, labels, row_weights, step_sizes, relative, alpha, forgetting_factor, state):
    """Run Algorithm 1 over sparse rows in order, updating `state` in place; empty `row_weights` mean ones."""
    n_features = state.weights.size
    product, row = np.empty(n_features), np.zeros(n_features)
    for i in range(labels.size):
        unpack_row(rows, i, row)
        weight = row_weights[i] if row_weights.size else 1.0
        train_on_row(row, labels[i], weight, alpha, step_sizes[i], relative, forgetting_factor, state, product)
        clear_row(rows, i, row)


# The scale of a feature counts its largest gap this many extra times: else its first values, or those of a rare
# feature, would move it most. Of 0 to 30 times, measured on fourteen tables, ten and more were best.
PRIOR = 10.0
# `largest` is updated only where a squared gap exceeds it by this factor. Without a margin every row with rare
# features, whose means drift, would update it, and an update costs as much as a step at 200 features.
LARGEST_GAP_MARGIN = 1.1
# Avoids 0 / 0 for features that have not varied yet. Added rather than compared, so that the loop vectorizes.
TINY_SQUARE = 1e-280
# Rows of smaller curvature are skipped: all features are constant so far, or their squares underflow.
MIN_CURVATURE = 1e-20


class ScaledState(NamedTuple):
    """State of the pass with standardized features: a `DescentState` and the parts of each feature's scale.

    In `weight_sum`, iterate t has weight t^2.
    """

    counts: np.ndarray
    means: np.ndarray
    lowers: np.ndarray
    pending: np.ndarray
    filled: np.ndarray
    scales: np.ndarray
    traces: np.ndarray
    weights: np.ndarray
    weight_sum: np.ndarray
    progress: np.ndarray
    squares: np.ndarray  # (2, d) the diagonals of lowers + P^T P
    largest: np.ndarray  # (d,) squared gap of a row to the mean of the other class, up to LARGEST_GAP_MARGIN


@inlined
def add_squares(k, state):
    """Add the newest row of class k, the last of its pending block, to the sums of squares of the features."""
    squares, slot = state.squares[k], state.pending[k, state.filled[k] - 1]
    for j in range(slot.size):
        squares[j] += slot[j] * slot[j]


@inlined
def rescale_squares(state):
    """Multiply the sums of squares of a class by its scale where `fold_when_full` is about to do so with its matrix."""
    for k in range(2):
        if state.scales[k] < UNDERFLOW_FLOOR:
            squares = state.squares[k]
            for j in range(squares.size):
                squares[j] *= state.scales[k]


@inlined
def update_largest_gaps(row, mean, state):
    """Update `largest` where `row` has a much larger gap to `mean`, and shrink the weights of those features.

    A weight is a sum of gaps over squared scales. With today's larger scale it
    would have been smaller by the ratio of the squares. Left unchanged, a weight
    from when a feature hardly varied would dominate all others.
    """
    for j in range(row.size):
        gap = row[j] - mean[j]
        if gap * gap > LARGEST_GAP_MARGIN * state.largest[j]:
            ratio = state.largest[j] / (gap * gap)
            state.weights[j] *= ratio
            state.weight_sum[j] *= ratio
            state.largest[j] = gap * gap


@inlined
def scaled_step_on(row, k, weight, alpha, step_size, relative, state, product, inverse):
    """Take one step on `row` of class k with standardized features; `product` and `inverse` are scratch.

    A relative step is in units of 1/curvature, where the curvature is alpha + the
    mean of |row - other row|^2 over all pairs so far. It is at most one over the
    curvature of the row's own pairs. Iterate t enters the sum with weight t^2.
    """
    other = 1 - k
    mean, own_mean, weights, largest = state.means[other], state.means[k], state.weights, state.largest
    squares, own_squares = state.squares[other], state.squares[k]
    share, own_share = state.scales[other] / state.counts[other], state.scales[k] / state.counts[k]
    progress, prior = state.progress, PRIOR / state.progress[ROWS]
    excess, typical, own, beyond = 1.0 - 2.0 * k, alpha, alpha, 0.0
    for j in range(row.size):
        gap = row[j] - mean[j]
        beyond += max(0.0, gap * gap - LARGEST_GAP_MARGIN * largest[j])
    if beyond > 0.0:
        update_largest_gaps(row, mean, state)
    # A loop that writes does not sum: where arrays lie close together in memory the compiler's overlap check fails, the
    # loop runs without vectors, and the sum would be added up in another order.
    for j in range(row.size):
        both = share * squares[j] + own_share * own_squares[j]
        inverse[j] = 1.0 / (0.5 * both + prior * largest[j] + TINY_SQUARE)
    for j in range(row.size):
        gap, apart = row[j] - mean[j], own_mean[j] - mean[j]
        excess += weights[j] * gap
        variance = share * squares[j]
        typical += (variance + own_share * own_squares[j] + apart * apart) * inverse[j]
        own += (gap * gap + variance) * inverse[j]
    symmetric_product(state.lowers[other], weights, product)
    add_low_rank_product(state.pending[other, : state.filled[other]], weights, product)
    progress[CURVATURE] = typical
    progress[RECENT_EXCESS] += EXCESS_RATE * (excess * excess - progress[RECENT_EXCESS])
    if relative:
        step_size = min(step_size / typical, 1.0 / own) if own > MIN_CURVATURE else 0.0
        weight = min(weight, 1.0 / (step_size * own)) if own > MIN_CURVATURE else 0.0
    loss_step = weight * step_size
    keep, pull, damp = 1.0 - step_size * alpha, loss_step * excess, loss_step * share
    progress[STEPS] += 1.0
    part = progress[STEPS] * progress[STEPS]
    # Two loops: with so many arrays in one, the compiler gives up on overlap checks and does not vectorize.
    for j in range(row.size):
        product[j] = (pull * (row[j] - mean[j]) + damp * product[j]) * inverse[j]
    for j in range(row.size):
        weights[j] = keep * weights[j] - product[j]
        state.weight_sum[j] += part * weights[j]


@inlined
def train_on_scaled_row(row, k, weight, alpha, step_size, relative, forgetting_factor, state, product, inverse):
    """Run one round of Algorithm 1: update the statistics, then take a step if the other class was seen."""
    state.progress[ROWS] += 1.0
    update_moments(row, k, weight, forgetting_factor, state)
    add_squares(k, state)
    if state.counts[1 - k] > 0.0:
        scaled_step_on(row, k, weight, alpha, step_size, relative, state, product, inverse)
    rescale_squares(state)
    fold_when_full(state)


@kernel
def scaled_dense_pass(rows, labels, row_weights, step_sizes, relative, alpha, forgetting_factor, state):
    """Do as `dense_pass` with standardized features."""
    product, inverse = np.empty(rows.shape[1]), np.empty(rows.shape[1])
    for i in range(rows.shape[0]):
        weight = row_weights[i] if row_weights.size else 1.0
        train_on_scaled_row(
            rows[i], labels[i], weight, alpha, step_sizes[i], relative, forgetting_factor, state, product, inverse
        )


@kernel
def scaled_csr_pass(rows, labels, row_weights, step_sizes, relative, alpha, forgetting_factor, state):
    """Do as `csr_pass` with standardized features."""
    n_features = state.weights.size
    product, inverse, row = np.empty(n_features), np.empty(n_features), np.zeros(n_features)
    for i in range(labels.size):
        unpack_row(rows, i, row)
        weight = row_weights[i] if row_weights.size else 1.0
        train_on_scaled_row(
            row, labels[i], weight, alpha, step_sizes[i], relative, forgetting_factor, state, product, inverse
        )
        clear_row(rows, i, row)
