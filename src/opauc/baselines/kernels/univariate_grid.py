"""Descent on a loss of single rows with many constant step sizes at once."""

import numpy as np

from opauc.baselines.kernels.univariate_descent import plan_move
from opauc.baselines.kernels.weight_table import move_along, write_dots
from opauc.core.kernels.compile import kernel


@kernel
def univariate_grid_pass(rows, labels, step_sizes, exponential, counts, weights, scalars):
    """Descend on sparse rows in order as `univariate_pass` does with each step size; zeros at the end stand for none.

    `weights` has a column and `scalars` a row for each; both and the `counts` of the classes are updated in place.
    """
    own, n_settings = np.zeros(step_sizes.size), np.count_nonzero(step_sizes)
    for i in range(labels.size):
        k = labels[i]
        counts[k] += 1.0
        if counts[1 - k] == 0.0:
            continue
        begin, end = rows.indptr[i], rows.indptr[i + 1]
        data, indices = rows.data[begin:end], rows.indices[begin:end]
        square = write_dots(data, indices, weights, own)
        sign, balance = 2.0 * k - 1.0, (counts[0] + counts[1]) / (2.0 * counts[k])
        for c in range(n_settings):
            own[c] = plan_move(sign, own[c], square, balance, step_sizes[c], False, exponential, scalars[c])
        move_along(data, indices, own, weights)
