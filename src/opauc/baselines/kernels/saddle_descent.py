"""Descent and ascent towards the saddle point whose weights minimize the square pair loss, one row at a time."""

from typing import NamedTuple

import numpy as np

from opauc.baselines.kernels.univariate_descent import look_up
from opauc.core.kernels.compile import kernel
from opauc.linear.kernels.means import FACTOR, FACTOR_SUM, SMALLEST_FACTOR, WEIGHT, add_score, move_records, rescale

# What stands where in `scalars`, after FACTOR and FACTOR_SUM.
STEP_SUM, SQUARE_NORM, LONGEST, DUAL = 2, 3, 4, 5


class SaddleState(NamedTuple):
    """The weights w = a v, their sum over all iterates a_sum v + u, and the other variables of the saddle.

    Index 0 is the negative class, 1 the positive.
    """

    records: np.ndarray  # (d, 4) v, u, sums of the rows of each class
    counts: np.ndarray  # (2,) weight of the rows of each class
    n_rows: np.ndarray  # (2,) their number
    centres: np.ndarray  # (2,) b and a: what becomes the mean score of each class
    spreads: np.ndarray  # (2, 3) of the scores, see `add_score`
    scalars: np.ndarray  # (6,) a, a_sum, sum of steps, |w|^2, largest |x|, the dual variable


@kernel
def saddle_pass(rows, labels, row_weights, first_step, radius, state):
    """Run over sparse rows in order, updating `state` in place; step t is weight * first_step / sqrt(t).

    The weight of a row is one if there are no `row_weights`.
    """
    scalars, counts, centres = state.scalars, state.counts, state.centres
    for i in range(labels.size):
        k = labels[i]
        weight = row_weights[i] if row_weights.size else 1.0
        begin, end = rows.indptr[i], rows.indptr[i + 1]
        dot, rest, square = look_up(rows.data, rows.indices, begin, end, k, weight, state.records)
        score = scalars[FACTOR] * dot
        counts[k] += weight
        state.n_rows[k] += 1.0
        number = state.n_rows[0] + state.n_rows[1]
        step = weight * first_step / np.sqrt(number)
        scalars[LONGEST] = max(scalars[LONGEST], np.sqrt(square))
        along, center, dual = saddle_gradient(k, score, centres[k], scalars[DUAL], counts[1] / (counts[0] + counts[1]))
        reach = radius * scalars[LONGEST]
        centres[k] = clipped(centres[k] - step * center, reach)
        scalars[DUAL] = clipped(scalars[DUAL] + step * dual, 2.0 * reach)
        if scalars[STEP_SUM] > 0.0:
            mean_score = (scalars[FACTOR_SUM] * dot + rest) / scalars[STEP_SUM]
            add_score(k, mean_score, weight * number * number, state.spreads)
        move_within(rows, begin, end, -step * along, score, square, radius, state)
        scalars[FACTOR_SUM] += step * scalars[FACTOR]
        scalars[STEP_SUM] += step


@kernel
def saddle_gradient(k, score, center, dual, positives):
    """Return the derivatives of one row's function along the row, by the center of its class and by the dual variable.

    `positives` is the share p of positive rows. Both classes share one formula:
    with q the share of the other class and y the label it is
    q (score - center)^2 - 2 q y (1 + dual) score - p (1 - p) dual^2.
    """
    sign = 2.0 * k - 1.0
    other = 1.0 - positives if k == 1 else positives
    along = 2.0 * other * (score - center - sign * (1.0 + dual))
    return (
        along,
        -2.0 * other * (score - center),
        -2.0 * other * sign * score - 2.0 * positives * (1.0 - positives) * dual,
    )


@kernel
def clipped(value, bound):
    """Return the value held between -bound and bound."""
    return min(max(value, -bound), bound)


@kernel
def move_within(rows, begin, end, move, score, square, radius, state):
    """Move the weights along a sparse row, then back onto the ball of the given radius if they left it."""
    scalars = state.scalars
    length = max(0.0, scalars[SQUARE_NORM] + move * (2.0 * score + move * square))
    change = move / scalars[FACTOR]
    move_records(rows.data, rows.indices, begin, end, change, -scalars[FACTOR_SUM] * change, state.records)
    if length > radius * radius:
        scalars[FACTOR] *= radius / np.sqrt(length)
        length = radius * radius
    scalars[SQUARE_NORM] = length
    if scalars[FACTOR] < SMALLEST_FACTOR:
        rescale(state)
        scalars[SQUARE_NORM] = square_norm(state.records)


@kernel
def square_norm(records):
    """Return |v|^2."""
    total = 0.0
    for j in range(records.shape[0]):
        total += records[j, WEIGHT] * records[j, WEIGHT]
    return total
