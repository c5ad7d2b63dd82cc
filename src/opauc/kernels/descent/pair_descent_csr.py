"""The sparse twin of `pair_descent`.

A row is unpacked and learnt as a dense one. The product of a d x d matrix
with the weights dominates either way: keeping raw sums, which a sparse row
touches in few places, would save a third of the time at d = 300 and lose the
digits of every feature whose mean is large against its deviation.
"""

import numpy as np

from opauc.kernels.compile_kernel import kernel
from opauc.kernels.descent.pair_descent import learn_row
from opauc.kernels.rows.csr_rows import clear_row, unpack_row


@kernel
def csr_pass(rows, labels, row_weights, step_sizes, relative, alpha, forgetting, state):
    """Run Algorithm 1 over sparse rows in order, updating `state` in place; no `row_weights` means ones."""
    n_features = state.weights.size
    product, row = np.empty(n_features), np.zeros(n_features)
    for i in range(labels.size):
        unpack_row(rows, i, row)
        weight = row_weights[i] if row_weights.size else 1.0
        learn_row(row, labels[i], weight, alpha, step_sizes[i], relative, forgetting, state, product)
        clear_row(rows, i, row)
