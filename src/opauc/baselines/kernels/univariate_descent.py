"""Descent on a loss of single rows, weighted so that both classes count alike, at the cost of a row's entries."""

from typing import NamedTuple

import numpy as np

from opauc.core.kernels.compile import kernel
from opauc.core.kernels.simd import prefetch
from opauc.linear.kernels.means import (
    AHEAD,
    EXCESS_RATE,
    SMALLEST_CURVATURE,
    SUMS,
    WEIGHT,
    WEIGHT_SUM,
    add_score,
    move_records,
)

# What stands where in `scalars`.
STEPS, SHARE_SUM, CURVATURE, RECENT_EXCESS = 0, 1, 2, 3
# The exponential loss grows no steeper beyond this negative margin: one bad row must not decide all.
LARGEST_EXPONENT = 10.0


class UnivariateState(NamedTuple):
    """The weights and what is known of the classes; index 0 is the negative class, 1 the positive.

    On the card of a feature stand its weight w, a number u such that share_sum
    w + u is the weighted sum of the iterates, and the sums of both classes.
    """

    cards: np.ndarray  # (d, 4) w, u, sums of the rows of each class
    counts: np.ndarray  # (2,) weight of the rows of each class
    n_rows: np.ndarray  # (2,) their number
    spreads: np.ndarray  # (2, 3) of the scores, see `add_score`
    scalars: np.ndarray  # (4,) steps taken, sum of shares, largest |x|^2, recent squared excess


@kernel
def univariate_pass(rows, labels, row_weights, step_sizes, relative, exponential, average, state):
    """Descend on sparse rows in order, updating `state` in place.

    The step of a row x with label y is w += step omega y exp(-y w.x) x, or
    step omega (y - w.x) x, with omega = rows / (2 rows of x's class); none is
    taken while a class is unseen. If `relative`, step sizes are divided by the
    largest |x|^2 so far, and no step goes beyond the Newton step of the row's
    own loss. Iterate t counts t^2 times in the mean; if `average`, it is the
    scores of the mean that are noted. The weight of a row, one if there are no
    `row_weights`, is a factor on omega and on its part in sums and spreads.
    """
    scalars, counts = state.scalars, state.counts
    for i in range(labels.size):
        k = labels[i]
        weight = row_weights[i] if row_weights.size else 1.0
        begin, end = rows.indptr[i], rows.indptr[i + 1]
        score, rest, square = look_up(rows.data, rows.indices, begin, end, k, weight, state.cards)
        state.n_rows[k] += 1.0
        counts[k] += weight
        if counts[1 - k] == 0.0:
            continue
        scalars[STEPS] += 1.0
        share = scalars[STEPS] * scalars[STEPS]
        averaged = average and scalars[SHARE_SUM] > 0.0
        add_score(k, score + rest / scalars[SHARE_SUM] if averaged else score, weight * share, state.spreads)
        balance = weight * (counts[0] + counts[1]) / (2.0 * counts[k])
        move = plan_move(2.0 * k - 1.0, score, square, balance, step_sizes[i], relative, exponential, scalars)
        move_records(rows.data, rows.indices, begin, end, move, -scalars[SHARE_SUM] * move, state.cards)
        scalars[SHARE_SUM] += share


@kernel
def look_up(data, indices, begin, end, k, weight, cards):
    """Add weight times a sparse row to the sums of class k; return its products with both weight columns and |x|^2."""
    dot, dot_sum, square, last = 0.0, 0.0, 0.0, indices.size - 1
    for at in range(begin, end):
        prefetch(cards, indices[min(at + AHEAD, last)], 0)
        x, card = np.float64(data[at]), cards[indices[at]]
        dot += card[WEIGHT] * x
        dot_sum += card[WEIGHT_SUM] * x
        square += x * x
        card[SUMS + k] += weight * x
    return dot, dot_sum, square


@kernel
def plan_move(sign, score, square, balance, step_size, relative, exponential, scalars):
    """Return how far to move along the row."""
    if exponential:
        bend = np.exp(min(-sign * score, LARGEST_EXPONENT))
        slope = sign * bend
    else:
        bend = 1.0
        slope = sign - score
    excess = 1.0 - sign * score
    scalars[RECENT_EXCESS] += EXCESS_RATE * (excess * excess - scalars[RECENT_EXCESS])
    if not relative:
        return step_size * balance * slope
    scalars[CURVATURE] = max(scalars[CURVATURE], square)
    if square < SMALLEST_CURVATURE:
        return 0.0
    return min(step_size / scalars[CURVATURE] * balance, 1.0 / (bend * square)) * slope
