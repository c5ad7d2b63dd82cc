"""Algorithm 1 of the paper with a step size for each feature, that of AdaGrad."""

import numpy as np

from opauc.core.kernels.compile import inlined, kernel
from opauc.core.kernels.sparse_rows import clear_row, unpack_row
from opauc.core.kernels.symmetric_matrix import add_low_rank_product, symmetric_product
from opauc.linear.kernels.sgd import EXCESS_RATE, RECENT_EXCESS, ROWS, STEPS, fold_when_full, update_moments


@inlined
def adapt_to(row, k, weight, alpha, eta0, floor, state, squares, product):
    """Learn one row of class k: statistics first, then a step unless the other class is unseen.

    With gap = row - mean of the other class and excess = weights.gap - label,
    the gradient is alpha*w + weight * (excess*gap + covariance_other @ w), and
    feature j moves by -eta0 gradient_j / (floor + sqrt(squares_j)), squares_j
    being the sum of its squared gradients, this one included. `product` is scratch.
    """
    progress, other = state.progress, 1 - k
    progress[ROWS] += 1.0
    update_moments(row, k, weight, 1.0, state)
    if state.counts[other] > 0.0:
        mean, weights = state.means[other], state.weights
        excess = 1.0 - 2.0 * k
        for j in range(row.size):
            excess += weights[j] * (row[j] - mean[j])
        symmetric_product(state.lowers[other], weights, product)
        add_low_rank_product(state.pending[other, : state.filled[other]], weights, product)
        share = weight * state.scales[other] / state.counts[other]
        progress[RECENT_EXCESS] += EXCESS_RATE * (excess * excess - progress[RECENT_EXCESS])
        progress[STEPS] += 1.0
        excess *= weight
        for j in range(row.size):
            slope = alpha * weights[j] + excess * (row[j] - mean[j]) + share * product[j]
            squares[j] += slope * slope
            size = floor + np.sqrt(squares[j])
            if size > 0.0:
                weights[j] -= eta0 * slope / size
            state.weight_sum[j] += weights[j]
    fold_when_full(state)


@kernel
def adaptive_pass(rows, labels, row_weights, alpha, eta0, floor, state, squares):
    """Run over dense rows in order, updating `state` and `squares` in place; no `row_weights` means ones."""
    product = np.empty(rows.shape[1])
    for i in range(rows.shape[0]):
        weight = row_weights[i] if row_weights.size else 1.0
        adapt_to(rows[i], labels[i], weight, alpha, eta0, floor, state, squares, product)


@kernel
def adaptive_csr_pass(rows, labels, row_weights, alpha, eta0, floor, state, squares):
    """Run over sparse rows in order, each unpacked, updating `state` and `squares` in place."""
    n_features = state.weights.size
    product, row = np.empty(n_features), np.zeros(n_features)
    for i in range(labels.size):
        unpack_row(rows, i, row)
        weight = row_weights[i] if row_weights.size else 1.0
        adapt_to(row, labels[i], weight, alpha, eta0, floor, state, squares, product)
        clear_row(rows, i, row)
