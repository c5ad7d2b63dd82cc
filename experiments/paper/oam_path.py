"""OAM with many penalties from one pass: the reservoirs and their inner products are shared.

Each penalty has its own weights, and its own scores and pulls of the buffered rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from experiments.paper.weight_table import move_along, write_dots
from opauc.baselines.kernels.oam import gradient_step, replace_row, sequential_steps, slot_of, write_products
from opauc.baselines.oam import UPDATES, OAMSolver, widen_rows
from opauc.core.kernels.compile import borrowing, kernel
from opauc.core.kernels.lane_sums import inner_product
from opauc.core.kernels.simd import LANES
from opauc.core.row_blocks import sparse_blocks, sum_row_squares
from opauc.errors import StatisticsOverflowError
from opauc.types import Floats, Labels, Rows


class PenaltyGrid(NamedTuple):
    """State of each of P penalties; P is a multiple of LANES, and zeros at the end are padding."""

    penalties: np.ndarray  # (P,)
    weights: np.ndarray  # (d, P) v of each penalty
    scores: np.ndarray  # (P, width) scores of the rows in the buffer in use
    pulls: np.ndarray  # (P, width) coefficients of those rows, not yet added to v


@kernel
def buffer_grid_pass(rows, labels, sequential, buffers, grid):
    """Update `buffers`, except its weights, and `grid` in place with sparse rows in order."""
    size, width = buffers.lengths.shape[1], buffers.scores.size
    products, within = np.zeros(width), np.zeros(width, np.int64)
    unpacked = np.zeros(0 if buffers.columns.shape[1] else grid.weights.shape[0])
    scratch, n_penalties = np.zeros(grid.penalties.size), np.count_nonzero(grid.penalties)
    for i in range(labels.size):
        k = labels[i]
        begin, end = rows.indptr[i], rows.indptr[i + 1]
        data, indices = rows.data[begin:end], rows.indices[begin:end]
        if buffers.in_use[0] != 1 - k:
            add_all_pulls(buffers, grid, scratch)
            buffers.in_use[0] = 1 - k
            write_all_scores(buffers, grid, scratch)
        buffers.n_rows[k] += 1.0
        buffers.counts[k] += 1.0
        slot = slot_of(buffers.key[0], k, buffers.n_rows[k], buffers.counts[k], size)
        if slot < size:
            replace_row(data, indices, k, slot, unpacked, products, buffers)
        n_buffered = int(min(buffers.n_rows[1 - k], size))
        if n_buffered == 0:
            continue
        write_products(data, indices, 1 - k, n_buffered, unpacked, products, buffers)
        square = write_dots(data, indices, grid.weights, scratch)
        sign, gram = 2.0 * k - 1.0, buffers.grams[1 - k]
        for c in range(n_penalties):
            scores, pulls = grid.scores[c], grid.pulls[c]
            score = scratch[c] + inner_product(pulls, products)
            max_step = 0.5 * grid.penalties[c] * max(1.0, buffers.counts[1 - k] / size)
            if sequential:
                scratch[c] = sequential_steps(sign, score, square, n_buffered, max_step, products, gram, scores, pulls)
            else:
                scratch[c] = gradient_step(sign, score, n_buffered, max_step, products, gram, scores, pulls, within)
        move_along(data, indices, scratch, grid.weights)


@borrowing
def add_all_pulls(buffers, grid, scratch):
    """Add the rows of the buffer in use times their pulls to the weights, then clear the pulls."""
    k = buffers.in_use[0]
    if k < 0:
        return
    indices, values = buffers.indices[k], buffers.values[k]
    for b in range(buffers.lengths.shape[1]):
        pulled = False
        for c in range(scratch.size):
            scratch[c] = grid.pulls[c, b]
            pulled = pulled or scratch[c] != 0.0
        if pulled:
            length = buffers.lengths[k, b]
            move_along(values[b, :length], indices[b, :length], scratch, grid.weights)
    grid.pulls[:] = 0.0


@borrowing
def write_all_scores(buffers, grid, scratch):
    """Write the scores of the rows in the buffer in use; all pulls must be zero."""
    k = buffers.in_use[0]
    indices, values = buffers.indices[k], buffers.values[k]
    grid.scores[:] = 0.0
    for b in range(int(min(buffers.n_rows[k], buffers.lengths.shape[1]))):
        length = buffers.lengths[k, b]
        write_dots(values[b, :length], indices[b, :length], grid.weights, scratch)
        for c in range(scratch.size):
            grid.scores[c, b] = scratch[c]


def oam_path(solver: OAMSolver, Cs: Sequence[float], rows: Rows, labels: Labels) -> Iterator[Floats | None]:
    """Yield the weights of `solver` with each C, None where the rows are too long for that C.

    The buffered rows do not depend on C, so the penalties share the reservoirs
    and all inner products of rows.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.baselines.oam import OAMSolver
    >>> from experiments.paper.oam_path import oam_path
    >>> rows, labels = np.array([[0.0], [2.0]]), np.array([0, 1], np.int8)
    >>> [weights.tolist() for weights in oam_path(OAMSolver(update="gradient"), (0.2, 0.4), rows, labels)]
    [[0.2], [0.4]]
    """
    squares = sum_row_squares(rows)
    fitting = [C for C in dict.fromkeys(Cs) if _fits(replace(solver, C=C), squares, labels.size)]
    buffers, grid = solver.start(rows.shape[1]), _start(solver, fitting, rows.shape[1])
    for part, block in sparse_blocks(rows):
        buffers = widen_rows(buffers, int(np.diff(block.indptr).max(initial=0)))
        buffer_grid_pass(block, labels[part], UPDATES[solver.update], buffers, grid)
    add_all_pulls(buffers, grid, np.zeros(grid.penalties.size))
    weights_of = dict(zip(fitting, np.ascontiguousarray(grid.weights.T), strict=False))
    yield from (weights_of.get(C) for C in Cs)


def _fits(solver: OAMSolver, squares: float, n_rows: int) -> bool:
    try:
        solver.bound_weights(solver.start(0), squares, float(n_rows))
    except StatisticsOverflowError:
        return False
    return True


def _start(solver: OAMSolver, Cs: Sequence[float], n_features: int) -> PenaltyGrid:
    n_penalties, width = -(-max(1, len(Cs)) // LANES) * LANES, solver.start(0).scores.size
    return PenaltyGrid(
        penalties=np.pad(np.array(Cs), (0, n_penalties - len(Cs))),
        weights=np.zeros((n_features, n_penalties)),
        scores=np.zeros((n_penalties, width)),
        pulls=np.zeros((n_penalties, width)),
    )
