"""Algorithm 1 of the paper with a step size for each feature, that of AdaGrad."""

import numpy as np

from opauc.kernels.compile_kernel import inlined, kernel
from opauc.kernels.descent.pair_descent import RECENT, fold_when_full, take_in
from opauc.kernels.rows.csr_rows import clear_row, spread_row
from opauc.kernels.sums.symmetric_matrix import add_low_rank_product, symmetric_product


@inlined
def adapt_to(row, k, alpha, eta0, floor, state, squares, gradient):
    """Learn one row of class k: statistics first, then a step unless the other class is unseen.

    With gap = row - mean of the other class and excess = weights.gap - label,
    the gradient is alpha*w + excess*gap + covariance_other @ w, and feature j
    moves by -eta0 gradient_j / (floor + sqrt(squares_j)), squares_j being the
    sum of its squared gradients, this one included. `gradient` is scratch.
    """
    state.progress[0] += 1.0
    take_in(row, k, 1.0, state)
    other = 1 - k
    if state.counts[other] > 0.0:
        mean, weights = state.means[other], state.weights
        excess = 1.0 - 2.0 * k
        for j in range(row.size):
            excess += weights[j] * (row[j] - mean[j])
        symmetric_product(state.lowers[other], weights, gradient)
        add_low_rank_product(state.pending[other, : state.filled[other]], weights, gradient)
        share = state.scales[other] / state.counts[other]
        state.progress[3] += RECENT * (excess * excess - state.progress[3])
        state.progress[1] += 1.0
        for j in range(row.size):
            slope = alpha * weights[j] + excess * (row[j] - mean[j]) + share * gradient[j]
            squares[j] += slope * slope
            size = floor + np.sqrt(squares[j])
            if size > 0.0:
                weights[j] -= eta0 * slope / size
            state.weight_sum[j] += weights[j]
    fold_when_full(k, state)


@kernel
def adaptive_pass(rows, labels, alpha, eta0, floor, state, squares):
    """Run over dense rows in order, updating `state` and `squares` in place."""
    gradient = np.empty(rows.shape[1])
    for i in range(rows.shape[0]):
        adapt_to(rows[i], labels[i], alpha, eta0, floor, state, squares, gradient)


@kernel
def adaptive_csr_pass(rows, labels, alpha, eta0, floor, state, squares):
    """Run over sparse rows in order, each spread out, updating `state` and `squares` in place."""
    n_features = state.weights.size
    gradient, row = np.empty(n_features), np.zeros(n_features)
    for i in range(labels.size):
        spread_row(rows, i, row)
        adapt_to(row, labels[i], alpha, eta0, floor, state, squares, gradient)
        clear_row(rows, i, row)
