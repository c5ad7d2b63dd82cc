"""Algorithm 1 in the features' own units: a scale for each of them, measured on the stream as it goes.

In units of sqrt(D_j) for feature j the plain step is, written in the units of
the rows, w_j -= step (alpha w_j + gradient_j / D_j). D_j is the mean of the
feature's variances in the two classes, so that alpha means what it means to
the exact minimizer of standardized features.
"""

from typing import NamedTuple

import numpy as np

from opauc.core.kernels.compile import inlined, kernel
from opauc.core.kernels.sparse_rows import clear_row, unpack_row
from opauc.core.kernels.symmetric_matrix import add_low_rank_product, symmetric_product
from opauc.linear.kernels.sgd import (
    CURVATURE,
    EXCESS_RATE,
    FAINTEST,
    RECENT_EXCESS,
    ROWS,
    STEPS,
    fold_when_full,
    take_in,
)

# A feature is scaled as if the largest gap it has shown had come this many times more: else its first values, or
# those of a rare feature, would move most. Of 0 to 30 times, measured on fourteen tables, ten and more served best.
PRIOR = 10.0
# A squared gap is a record if it is so many times the last one: without a margin every row of rare features, whose
# means drift, would set one, and each costs as much as a step at 200 features.
RECORD = 1.1
# Keeps 0 / 0 out of features that have not varied yet; added, not compared with, for the sake of vectors.
NOTHING = 1e-280
# A row of a smaller curvature moves nothing: all features are the same so far, or their squares underflow.
FLAT = 1e-20


class ScaledState(NamedTuple):
    """What the pass reads and writes: a `DescentState`, and of each feature what its scale is made of.

    `weight_sum` holds the t-th iterate t^2 times, and `progress` the mean
    curvature in the place of the largest.
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
    largest: np.ndarray  # (d,) squared gap of a row to the mean of the other class, up to a factor of RECORD


@inlined
def note_squares(k, state):
    """Add the newest row of class k, the last of its pending block, to the sums of squares of the features."""
    squares, slot = state.squares[k], state.pending[k, state.filled[k] - 1]
    for j in range(slot.size):
        squares[j] += slot[j] * slot[j]


@inlined
def fade_squares(state):
    """Scale the sums of squares of a class as its matrix is about to be, once it is faint."""
    for k in range(2):
        if state.scales[k] < FAINTEST:
            squares = state.squares[k]
            for j in range(squares.size):
                squares[j] *= state.scales[k]


@inlined
def heed_records(row, mean, state):
    """Take in gaps of `row` to `mean` well beyond any before, shrinking what was learned of their features.

    A weight is a sum of gaps over squared scales. Had the scale of now been
    known, it would be smaller by the ratio of the squares; left as it is, one
    learned while a feature hardly varied would drown all others.
    """
    for j in range(row.size):
        gap = row[j] - mean[j]
        if gap * gap > RECORD * state.largest[j]:
            ratio = state.largest[j] / (gap * gap)
            state.weights[j] *= ratio
            state.weight_sum[j] *= ratio
            state.largest[j] = gap * gap


@inlined
def scaled_step_on(row, k, weight, alpha, step_size, relative, state, product, inverse):
    """Move the weights one step on `row` of class k in the features' own units; `product`, `inverse` are scratch.

    A relative step is in units of 1/curvature, the curvature being alpha + the
    mean of |row - other row|^2 over all pairs so far, and is held at one over
    that of the row's own pairs. The sum of the iterates gains the t-th t^2 times.
    """
    other = 1 - k
    mean, own_mean, weights, largest = state.means[other], state.means[k], state.weights, state.largest
    squares, own_squares = state.squares[other], state.squares[k]
    share, own_share = state.scales[other] / state.counts[other], state.scales[k] / state.counts[k]
    progress, prior = state.progress, PRIOR / state.progress[ROWS]
    excess, typical, own, beyond = 1.0 - 2.0 * k, alpha, alpha, 0.0
    for j in range(row.size):
        gap = row[j] - mean[j]
        beyond += max(0.0, gap * gap - RECORD * largest[j])
    if beyond > 0.0:
        heed_records(row, mean, state)
    for j in range(row.size):
        gap, apart = row[j] - mean[j], own_mean[j] - mean[j]
        excess += weights[j] * gap
        variance = share * squares[j]
        both = variance + own_share * own_squares[j]
        inverse[j] = 1.0 / (0.5 * both + prior * largest[j] + NOTHING)
        typical += (both + apart * apart) * inverse[j]
        own += (gap * gap + variance) * inverse[j]
    symmetric_product(state.lowers[other], weights, product)
    add_low_rank_product(state.pending[other, : state.filled[other]], weights, product)
    progress[CURVATURE] = typical
    progress[RECENT_EXCESS] += EXCESS_RATE * (excess * excess - progress[RECENT_EXCESS])
    if relative:
        step_size = min(step_size / typical, 1.0 / own) if own > FLAT else 0.0
        weight = min(weight, 1.0 / (step_size * own)) if own > FLAT else 0.0
    loss_step = weight * step_size
    keep, pull, damp = 1.0 - step_size * alpha, loss_step * excess, loss_step * share
    progress[STEPS] += 1.0
    part = progress[STEPS] * progress[STEPS]
    # Two loops: of so many arrays in one the compiler would not check that none overlaps, and use no vectors.
    for j in range(row.size):
        product[j] = (pull * (row[j] - mean[j]) + damp * product[j]) * inverse[j]
    for j in range(row.size):
        weights[j] = keep * weights[j] - product[j]
        state.weight_sum[j] += part * weights[j]


@inlined
def learn_scaled_row(row, k, weight, alpha, step_size, relative, forgetting_factor, state, product, inverse):
    """Run one round of Algorithm 1: statistics first, then a step unless the other class is unseen."""
    state.progress[ROWS] += 1.0
    take_in(row, k, weight, forgetting_factor, state)
    note_squares(k, state)
    if state.counts[1 - k] > 0.0:
        scaled_step_on(row, k, weight, alpha, step_size, relative, state, product, inverse)
    fade_squares(state)
    fold_when_full(state)


@kernel
def scaled_dense_pass(rows, labels, row_weights, step_sizes, relative, alpha, forgetting_factor, state):
    """Run Algorithm 1 in the features' own units over dense rows; as `dense_pass` otherwise."""
    product, inverse = np.empty(rows.shape[1]), np.empty(rows.shape[1])
    for i in range(rows.shape[0]):
        weight = row_weights[i] if row_weights.size else 1.0
        learn_scaled_row(
            rows[i], labels[i], weight, alpha, step_sizes[i], relative, forgetting_factor, state, product, inverse
        )


@kernel
def scaled_csr_pass(rows, labels, row_weights, step_sizes, relative, alpha, forgetting_factor, state):
    """Run Algorithm 1 in the features' own units over sparse rows; as `csr_pass` otherwise."""
    n_features = state.weights.size
    product, inverse, row = np.empty(n_features), np.empty(n_features), np.zeros(n_features)
    for i in range(labels.size):
        unpack_row(rows, i, row)
        weight = row_weights[i] if row_weights.size else 1.0
        learn_scaled_row(
            row, labels[i], weight, alpha, step_sizes[i], relative, forgetting_factor, state, product, inverse
        )
        clear_row(rows, i, row)
