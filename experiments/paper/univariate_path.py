"""Univariate losses with many constant step sizes from one pass over the same rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from experiments.paper.weight_table import move_along, write_dots
from opauc.baselines.univariate import RECENT_EXCESS, plan_move
from opauc.core.kernels.compile import kernel
from opauc.core.kernels.simd import LANES
from opauc.core.row_blocks import sparse_blocks, sum_row_squares
from opauc.types import Floats, Labels, Rows


@kernel
def univariate_grid_pass(rows, labels, step_sizes, exponential, balanced, counts, weights, scalars):
    """Update `counts`, `weights` and `scalars` in place with one step per sparse row and step size, in order.

    `weights` has a column and `scalars` a row for each step size; zeros at the end of `step_sizes` are padding.
    If `balanced`, both classes weigh the same, otherwise all rows do.
    """
    moves, n_settings = np.zeros(step_sizes.size), np.count_nonzero(step_sizes)
    for i in range(labels.size):
        k = labels[i]
        counts[k] += 1.0
        if counts[1 - k] == 0.0:
            continue
        begin, end = rows.indptr[i], rows.indptr[i + 1]
        data, indices = rows.data[begin:end], rows.indices[begin:end]
        square = write_dots(data, indices, weights, moves)
        sign, balance = 2.0 * k - 1.0, (counts[0] + counts[1]) / (2.0 * counts[k]) if balanced else 1.0
        for c in range(n_settings):
            moves[c] = plan_move(sign, moves[c], square, balance, step_sizes[c], False, exponential, scalars[c])
        move_along(data, indices, moves, weights)


def univariate_path(
    exponential: bool, etas: Sequence[float], rows: Rows, labels: Labels, balanced: bool = True
) -> Iterator[Floats | None]:
    """Yield the last iterate of `UniExp`, or of `UniSqu`, for each constant step size, None where it overflows.

    `balanced` gives both classes the same weight, as these methods do; otherwise all rows weigh the same.

    Examples
    --------
    >>> import numpy as np
    >>> from experiments.paper.univariate_path import univariate_path
    >>> rows, labels = np.array([[0.0], [2.0]]), np.array([0, 1], np.int8)
    >>> [weights.tolist() for weights in univariate_path(True, (0.1, 0.2), rows, labels)]
    [[0.2], [0.4]]
    """
    width = -(-len(etas) // LANES) * LANES
    sizes, counts = np.pad(np.array(etas), (0, width - len(etas))), np.zeros(2)
    weights, scalars = np.zeros((rows.shape[1], width)), np.zeros((width, RECENT_EXCESS + 1))
    sum_row_squares(rows)
    # NumPy warns of overflow where kernels run as plain Python.
    with np.errstate(over="ignore", invalid="ignore"):
        for part, block in sparse_blocks(rows):
            univariate_grid_pass(block, labels[part], sizes, exponential, balanced, counts, weights, scalars)
    for iterate, excess in zip(np.ascontiguousarray(weights.T), scalars[: len(etas), RECENT_EXCESS], strict=False):
        yield iterate if np.isfinite(excess) and np.isfinite(iterate).all() else None
