"""Univariate losses with many constant step sizes from one pass over the same rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from opauc.baselines.kernels.univariate_descent import RECENT_EXCESS
from opauc.baselines.kernels.univariate_grid import univariate_grid_pass
from opauc.core.kernels.simd import LANES
from opauc.core.row_blocks import sparse_blocks, sum_row_squares
from opauc.types import Floats, Labels, Rows


def univariate_path(exponential: bool, etas: Sequence[float], rows: Rows, labels: Labels) -> Iterator[Floats | None]:
    """Give the last iterates of `UniExp`, else of `UniSqu`, for each constant step size, None where they overflow.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.baselines.solvers.univariate_path import univariate_path
    >>> rows, labels = np.array([[0.0], [2.0]]), np.array([0, 1], np.int8)
    >>> [weights.tolist() for weights in univariate_path(True, (0.1, 0.2), rows, labels)]
    [[0.2], [0.4]]
    """
    width = -(-len(etas) // LANES) * LANES
    sizes, counts = np.pad(np.array(etas), (0, width - len(etas))), np.zeros(2)
    weights, scalars = np.zeros((rows.shape[1], width)), np.zeros((width, RECENT_EXCESS + 1))
    sum_row_squares(rows)
    # Beyond the range of float64 only plain Python, where nothing is compiled, would warn.
    with np.errstate(over="ignore", invalid="ignore"):
        for part, block in sparse_blocks(rows):
            univariate_grid_pass(block, labels[part], sizes, exponential, counts, weights, scalars)
    for found, excess in zip(np.ascontiguousarray(weights.T), scalars[: len(etas), RECENT_EXCESS], strict=False):
        yield found if np.isfinite(excess) and np.isfinite(found).all() else None
