"""Weights of many settings in one table with a row per feature: each entry of a data row is read once for all of them.

A table has a column per setting; their number is a multiple of LANES.
"""

import numpy as np

from opauc.core.kernels.compile import borrowing
from opauc.core.kernels.lane_sums import add_scaled


@borrowing
def write_dots(data, indices, weights, out):
    """Write into `out` the product of a sparse row with the weights of each setting; return |x|^2."""
    square = 0.0
    out[:] = 0.0
    for at in range(data.size):
        x = np.float64(data[at])
        add_scaled(out, x, weights[indices[at]])
        square += x * x
    return square


@borrowing
def move_along(data, indices, moves, weights):
    """Add a sparse row, times the move of each setting, to its weights."""
    for at in range(data.size):
        add_scaled(weights[indices[at]], np.float64(data[at]), moves)
