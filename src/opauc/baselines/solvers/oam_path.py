"""OAM with many penalties from one pass over the same rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from opauc.baselines.kernels.buffer_grid import PenaltyGrid, buffer_grid_pass, pay_all_pulls
from opauc.baselines.solvers.oam import OAM, UPDATES, with_room
from opauc.core.kernels.simd import LANES
from opauc.core.row_blocks import sparse_blocks, sum_row_squares
from opauc.errors import StatisticsOverflowError
from opauc.types import Floats, Labels, Rows


def oam_path(learner: OAM, Cs: Sequence[float], rows: Rows, labels: Labels) -> Iterator[Floats | None]:
    """Give the weights that `learner` would learn from `rows` with each C, None where that refuses them as too long.

    Which rows are kept does not depend on C, so reservoirs and all inner
    products of rows are shared.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.baselines.solvers.oam import OAM
    >>> from opauc.baselines.solvers.oam_path import oam_path
    >>> rows, labels = np.array([[0.0], [2.0]]), np.array([0, 1], np.int8)
    >>> [weights.tolist() for weights in oam_path(OAM(update="gradient"), (0.2, 0.4), rows, labels)]
    [[0.2], [0.4]]
    """
    squares = sum_row_squares(rows)
    fitting = [C for C in dict.fromkeys(Cs) if _fits(replace(learner, C=C), squares, labels.size)]
    buffers, grid = learner.start(rows.shape[1]), _start(learner, fitting, rows.shape[1])
    for part, block in sparse_blocks(rows):
        buffers = with_room(buffers, int(np.diff(block.indptr).max(initial=0)))
        buffer_grid_pass(block, labels[part], UPDATES[learner.update], buffers, grid)
    pay_all_pulls(buffers, grid, np.zeros(grid.penalties.size))
    found = dict(zip(fitting, np.ascontiguousarray(grid.weights.T), strict=False))
    yield from (found.get(C) for C in Cs)


def _fits(learner: OAM, squares: float, n_rows: int) -> bool:
    try:
        learner.reach(learner.start(0), squares, float(n_rows))
    except StatisticsOverflowError:
        return False
    return True


def _start(learner: OAM, Cs: Sequence[float], n_features: int) -> PenaltyGrid:
    n_penalties, width = -(-max(1, len(Cs)) // LANES) * LANES, learner.start(0).scores.size
    return PenaltyGrid(
        penalties=np.pad(np.array(Cs), (0, n_penalties - len(Cs))),
        weights=np.zeros((n_features, n_penalties)),
        scores=np.zeros((n_penalties, width)),
        pulls=np.zeros((n_penalties, width)),
    )
