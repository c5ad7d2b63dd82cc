"""SOLAM with many settings from one pass over the same rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from opauc.baselines.kernels.saddle_descent import STEP_SUM
from opauc.baselines.kernels.saddle_grid import SaddleGrid, saddle_grid_pass
from opauc.baselines.solvers.solam import SOLAM
from opauc.core.kernels.simd import LANES
from opauc.core.row_blocks import sparse_blocks, sum_row_squares
from opauc.errors import StatisticsOverflowError
from opauc.linear.kernels.means import FACTOR, FACTOR_SUM
from opauc.types import Floats, Labels, Rows

# A remove_stale_files of one setting over all features costs that of several alone: beyond so many features it is each alone.
MOST_FEATURES = 10_000


def solam_path(settings: Sequence[SOLAM], rows: Rows, labels: Labels) -> Iterator[Floats | None]:
    """Give the weights that each of the learners would learn from `rows`, None where it refuses them as too long.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.baselines.solvers.solam import SOLAM
    >>> from opauc.baselines.solvers.solam_path import solam_path
    >>> rows, labels = np.array([[0.0], [2.0]]), np.array([0, 1], np.int8)
    >>> [weights.round(4).tolist() for weights in solam_path([SOLAM(1.0, 10.0), SOLAM(1.0, 0.1)], rows, labels)]
    [[0.5858], [0.0414]]
    """
    longest = float(np.sqrt(sum_row_squares(rows)))
    fitting = [learner for learner in settings if _fits(learner, longest)]
    if rows.shape[1] > MOST_FEATURES:
        found = (learner.weights(learner.step(learner.start(rows.shape[1]), rows, labels)) for learner in fitting)
    else:
        found = (weights for weights in _together(fitting, rows, labels))
    yield from (next(found) if learner in fitting else None for learner in settings)


def _together(settings: Sequence[SOLAM], rows: Rows, labels: Labels) -> Floats:
    """Return the weights of each setting, one a row."""
    width, counts = -(-len(settings) // LANES) * LANES, np.zeros(2)
    first_steps, radii = (np.zeros(width) for _ in range(2))
    for c, learner in enumerate(settings):
        first_steps[c], radii[c] = learner.eta0, learner.radius
    scalars = np.zeros((width, 6))
    scalars[:, FACTOR] = 1.0
    weights, sums = np.zeros((rows.shape[1], width)), np.zeros((rows.shape[1], width))
    grid = SaddleGrid(first_steps, radii, weights, sums, np.zeros((width, 2)), scalars)
    for part, block in sparse_blocks(rows):
        saddle_grid_pass(block, labels[part], counts, grid)
    steps = np.where(scalars[:, STEP_SUM] > 0.0, scalars[:, STEP_SUM], 1.0)
    means = (scalars[:, FACTOR_SUM] * grid.weights + grid.sums) / steps
    return np.ascontiguousarray(means.T[: len(settings)])


def _fits(learner: SOLAM, longest: float) -> bool:
    try:
        learner.refuse_overflow(longest)
    except StatisticsOverflowError:
        return False
    return True
