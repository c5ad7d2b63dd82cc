"""SOLAM with many settings from one pass over the same rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from experiments.paper.weight_table import move_along, write_dots
from opauc.baselines.solam import DUAL, LONGEST, SQUARE_NORM, STEP_SUM, SOLAMSolver, clip, saddle_gradient
from opauc.core.kernels.compile import borrowing, kernel
from opauc.core.kernels.simd import LANES
from opauc.core.row_blocks import sparse_blocks, sum_row_squares
from opauc.errors import StatisticsOverflowError
from opauc.linear.kernels.means import FACTOR, FACTOR_SUM, SMALLEST_FACTOR
from opauc.types import Floats, Labels, Rows

# Rescaling one setting touches the weights of all settings, so with more features each setting runs alone.
MAX_SHARED_FEATURES = 10_000


class SaddleGrid(NamedTuple):
    """State of each of P settings, see `SaddleState`; P is a multiple of LANES."""

    first_steps: np.ndarray  # (P,) zeros at the end are padding
    radii: np.ndarray  # (P,)
    weights: np.ndarray  # (d, P) v
    sums: np.ndarray  # (d, P) u
    centres: np.ndarray  # (P, 2)
    scalars: np.ndarray  # (P, 6)


@kernel
def saddle_grid_pass(rows, labels, counts, grid):
    """Update the class `counts` and `grid` in place with sparse rows in order."""
    moves, sum_moves = np.zeros(grid.radii.size), np.zeros(grid.radii.size)
    for i in range(labels.size):
        k = labels[i]
        begin, end = rows.indptr[i], rows.indptr[i + 1]
        data, indices = rows.data[begin:end], rows.indices[begin:end]
        square = write_dots(data, indices, grid.weights, moves)
        counts[k] += 1.0
        number = counts[0] + counts[1]
        for c in range(np.count_nonzero(grid.first_steps)):
            step = grid.first_steps[c] / np.sqrt(number)
            score = grid.scalars[c, FACTOR] * moves[c]
            move = update_saddle(
                k, score, square, step, counts[1] / number, grid.radii[c], grid.centres[c], grid.scalars[c]
            )
            moves[c] = move / grid.scalars[c, FACTOR]
            sum_moves[c] = -grid.scalars[c, FACTOR_SUM] * moves[c]
        move_along(data, indices, moves, grid.weights)
        move_along(data, indices, sum_moves, grid.sums)
        for c in range(np.count_nonzero(grid.first_steps)):
            project(c, grid)
            grid.scalars[c, FACTOR_SUM] += grid.first_steps[c] / np.sqrt(number) * grid.scalars[c, FACTOR]
            grid.scalars[c, STEP_SUM] += grid.first_steps[c] / np.sqrt(number)


@borrowing
def update_saddle(k, score, square, step, positives, radius, centres, scalars):
    """Update all but the weights of one setting; return how far these move along the row."""
    scalars[LONGEST] = max(scalars[LONGEST], np.sqrt(square))
    along, center, dual = saddle_gradient(k, score, centres[k], scalars[DUAL], positives)
    bound = radius * scalars[LONGEST]
    centres[k] = clip(centres[k] - step * center, bound)
    scalars[DUAL] = clip(scalars[DUAL] + step * dual, 2.0 * bound)
    move = -step * along
    scalars[SQUARE_NORM] = max(0.0, scalars[SQUARE_NORM] + move * (2.0 * score + move * square))
    return move


@borrowing
def project(c, grid):
    """Project the weights of setting c onto the ball of its radius."""
    scalars, radius = grid.scalars[c], grid.radii[c]
    if scalars[SQUARE_NORM] > radius * radius:
        scalars[FACTOR] *= radius / np.sqrt(scalars[SQUARE_NORM])
        scalars[SQUARE_NORM] = radius * radius
    if scalars[FACTOR] < SMALLEST_FACTOR:
        total = 0.0
        for j in range(grid.weights.shape[0]):
            grid.sums[j, c] += scalars[FACTOR_SUM] * grid.weights[j, c]
            grid.weights[j, c] *= scalars[FACTOR]
            total += grid.weights[j, c] * grid.weights[j, c]
        scalars[FACTOR], scalars[FACTOR_SUM], scalars[SQUARE_NORM] = 1.0, 0.0, total


def solam_path(solvers: Sequence[SOLAMSolver], rows: Rows, labels: Labels) -> Iterator[Floats | None]:
    """Yield the weights of each solver, None where the rows are too long for it.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.baselines.solam import SOLAMSolver
    >>> from experiments.paper.solam_path import solam_path
    >>> rows, labels = np.array([[0.0], [2.0]]), np.array([0, 1], np.int8)
    >>> solvers = [SOLAMSolver(1.0, 10.0), SOLAMSolver(1.0, 0.1)]
    >>> [weights.round(4).tolist() for weights in solam_path(solvers, rows, labels)]
    [[0.5858], [0.0414]]
    """
    longest = float(np.sqrt(sum_row_squares(rows)))
    fitting = [solver for solver in solvers if _fits(solver, longest)]
    if rows.shape[1] > MAX_SHARED_FEATURES:
        results = (solver.weights(solver.step(solver.start(rows.shape[1]), rows, labels)) for solver in fitting)
    else:
        results = iter(_fit_together(fitting, rows, labels))
    yield from (next(results) if solver in fitting else None for solver in solvers)


def _fit_together(solvers: Sequence[SOLAMSolver], rows: Rows, labels: Labels) -> Floats:
    """Return the weights of each solver, one per row."""
    width, counts = -(-len(solvers) // LANES) * LANES, np.zeros(2)
    first_steps, radii = (np.zeros(width) for _ in range(2))
    for c, solver in enumerate(solvers):
        first_steps[c], radii[c] = solver.eta0, solver.radius
    scalars = np.zeros((width, 6))
    scalars[:, FACTOR] = 1.0
    weights, sums = np.zeros((rows.shape[1], width)), np.zeros((rows.shape[1], width))
    grid = SaddleGrid(first_steps, radii, weights, sums, np.zeros((width, 2)), scalars)
    for part, block in sparse_blocks(rows):
        saddle_grid_pass(block, labels[part], counts, grid)
    steps = np.where(scalars[:, STEP_SUM] > 0.0, scalars[:, STEP_SUM], 1.0)
    means = (scalars[:, FACTOR_SUM] * grid.weights + grid.sums) / steps
    return np.ascontiguousarray(means.T[: len(solvers)])


def _fits(solver: SOLAMSolver, longest: float) -> bool:
    try:
        solver.check_overflow(longest)
    except StatisticsOverflowError:
        return False
    return True
