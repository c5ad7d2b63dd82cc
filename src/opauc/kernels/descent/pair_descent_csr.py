"""The sparse twin of `pair_descent`.

A row is spread out and learnt as a dense one. The product of a d x d matrix
with the weights dominates either way: keeping raw sums, which a sparse row
touches in few places, would save a third of the time at d = 300 and lose the
digits of every feature whose mean is large against its deviation.
"""

import numpy as np

from opauc.kernels.compile_kernel import kernel
from opauc.kernels.descent.pair_descent import learn_row
from opauc.kernels.rows.csr_rows import clear_row, spread_row


@kernel
def csr_pass(rows, labels, step_sizes, relative, alpha, forgetting, state):
    """Run Algorithm 1 over sparse rows in order, updating `state` in place."""
    n_features = state.weights.size
    spread, row = np.empty(n_features), np.zeros(n_features)
    for i in range(labels.size):
        spread_row(rows, i, row)
        learn_row(row, labels[i], alpha, step_sizes[i], relative, forgetting, state, spread)
        clear_row(rows, i, row)
