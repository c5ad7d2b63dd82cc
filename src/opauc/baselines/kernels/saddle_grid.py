"""The saddle point's descent and ascent with many first steps and radii at once."""

from typing import NamedTuple

import numpy as np

from opauc.baselines.kernels.saddle_descent import DUAL, LONGEST, SQUARE_NORM, STEP_SUM, clipped, saddle_gradient
from opauc.baselines.kernels.weight_table import move_along, write_dots
from opauc.core.kernels.compile import borrowing, kernel
from opauc.linear.kernels.means import FACTOR, FACTOR_SUM, SMALLEST_FACTOR


class SaddleGrid(NamedTuple):
    """What each of P settings has of its own, see `SaddleState`; P is a multiple of LANES."""

    first_steps: np.ndarray  # (P,) zeros at the end stand for no setting
    radii: np.ndarray  # (P,)
    weights: np.ndarray  # (d, P) v
    sums: np.ndarray  # (d, P) u
    centres: np.ndarray  # (P, 2)
    scalars: np.ndarray  # (P, 6)


@kernel
def saddle_grid_pass(rows, labels, counts, grid):
    """Run over sparse rows in order with every setting, updating `counts` of the classes and `grid` in place."""
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
            move = step_of(k, score, square, step, counts[1] / number, grid.radii[c], grid.centres[c], grid.scalars[c])
            moves[c] = move / grid.scalars[c, FACTOR]
            sum_moves[c] = -grid.scalars[c, FACTOR_SUM] * moves[c]
        move_along(data, indices, moves, grid.weights)
        move_along(data, indices, sum_moves, grid.sums)
        for c in range(np.count_nonzero(grid.first_steps)):
            project(c, grid)
            grid.scalars[c, FACTOR_SUM] += grid.first_steps[c] / np.sqrt(number) * grid.scalars[c, FACTOR]
            grid.scalars[c, STEP_SUM] += grid.first_steps[c] / np.sqrt(number)


@borrowing
def step_of(k, score, square, step, positives, radius, centres, scalars):
    """Move all but the weights of one setting; return how far these move along the row, and note |w|^2 after that."""
    scalars[LONGEST] = max(scalars[LONGEST], np.sqrt(square))
    along, center, dual = saddle_gradient(k, score, centres[k], scalars[DUAL], positives)
    reach = radius * scalars[LONGEST]
    centres[k] = clipped(centres[k] - step * center, reach)
    scalars[DUAL] = clipped(scalars[DUAL] + step * dual, 2.0 * reach)
    move = -step * along
    scalars[SQUARE_NORM] = max(0.0, scalars[SQUARE_NORM] + move * (2.0 * score + move * square))
    return move


@borrowing
def project(c, grid):
    """Bring the weights of setting c back onto the ball of its radius if they left it."""
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
