"""Descent on rows less the mean of their own class, without ever forming the weights: the cost of a row is its entries.

The weights are kept as in `means_descent`, w = a v + M p with M the sums of
the classes; only the step is another, for it moves p in both places.
"""

import numpy as np

from opauc.core.kernels.compile import kernel
from opauc.linear.kernels.means import (
    CURVATURE,
    EXCESS_RATE,
    FACTOR,
    FACTOR_SUM,
    RECENT_EXCESS,
    SMALLEST_CURVATURE,
    SMALLEST_FACTOR,
    add_to_mean,
    enter_row,
    enter_sums,
    move_records,
    rescale,
)


@kernel
def centered_pass(rows, labels, row_weights, step_sizes, relative, alpha, state):
    """Descend on sparse rows in order, updating the `MeansWeights` in `state` in place.

    With p the share of positive rows, q that of the class other than x's, c
    the mean of x's own class and d the difference of the class means, the step
    of a row x is w <- (w - step (q w.(x - c) (x - c) - p (1 - p) (1 - w.d) d)) / (1 + step alpha).
    If `relative`, step sizes are divided by the largest q |x - c|^2 + p (1 - p) |d|^2
    + alpha so far. Iterate t counts t^2 times in the mean. The weight of a row,
    one if there are no `row_weights`, is a factor on its part in the means and
    on its step, the division apart; a relative step is held at one over the
    curvature.
    """
    scalars = state.scalars
    changes = np.zeros(2)
    for i in range(labels.size):
        k = labels[i]
        weight = row_weights[i] if row_weights.size else 1.0
        begin, end = rows.indptr[i], rows.indptr[i + 1]
        dot, inner, far, square = enter_row(rows.data, rows.indices, begin, end, k, weight, state.records)
        score = scalars[FACTOR] * dot + state.coefficients[k] * inner + state.coefficients[1 - k] * far
        away = enter_sums(k, weight, score, inner, far, square, state)
        inner += weight * square
        along, along_sum = weight * state.coefficients[k], weight * state.coefficient_sums[k]
        keep, pull = 1.0, 0.0
        if state.counts[1 - k] > 0.0:
            step_size, factor = step_sizes[i], weight
            if relative:
                factor = min(weight, 1.0 / step_size)
                step_size = in_units_of_curvature(k, inner, square, step_size, alpha, state)
            keep = 1.0 / (1.0 + step_size * alpha)
            pull = plan_changes(k, away, keep * step_size * factor, state, changes)
            move_both(k, inner, far, keep, pull, changes, state)
        if abs(scalars[FACTOR]) < SMALLEST_FACTOR:
            rescale(state)
        move = -(pull + keep * along) / scalars[FACTOR]
        move_sum = -(scalars[FACTOR_SUM] * move + along_sum)
        move_records(rows.data, rows.indices, begin, end, move, move_sum, state.records)
        if state.counts[1 - k] > 0.0:
            add_to_mean(k, weight, away, state)


@kernel
def in_units_of_curvature(k, inner, square, step_size, alpha, state):
    """Return the step size over the largest curvature so far; `inner` is the row's product with m_k, it included."""
    own, other, gram = state.counts[k], state.counts[1 - k], state.gram
    share = own / (own + other)
    gap = square - 2.0 * inner / own + gram[k, k] / (own * own)
    apart = gram[0, 0] / state.counts[0] ** 2 + gram[1, 1] / state.counts[1] ** 2 - 2.0 * gram[0, 1] / (own * other)
    bend = alpha + (1.0 - share) * max(0.0, gap) + share * (1.0 - share) * max(0.0, apart)
    state.scalars[CURVATURE] = max(state.scalars[CURVATURE], bend)
    return step_size / state.scalars[CURVATURE] if state.scalars[CURVATURE] >= SMALLEST_CURVATURE else 0.0


@kernel
def plan_changes(k, away, step_size, state, changes):
    """Write the steps along the class sums; return the pull along the row. `away` is w.(x - c)."""
    own, other, sign = state.counts[k], state.counts[1 - k], 2.0 * k - 1.0
    share = own / (own + other)
    excess = 1.0 - sign * (state.products[k] / own - state.products[1 - k] / other)
    state.scalars[RECENT_EXCESS] += EXCESS_RATE * (excess * excess - state.scalars[RECENT_EXCESS])
    pull = step_size * (1.0 - share) * away
    apart = step_size * share * (1.0 - share) * excess * sign
    changes[k] = (pull + apart) / own
    changes[1 - k] = -apart / other
    return pull


@kernel
def move_both(k, inner, far, keep, pull, changes, state):
    """Take the step in a, p and q; `inner` and `far` are the row's products with m_k, it included, and with m_o."""
    state.scalars[FACTOR] *= keep
    for c in range(2):
        state.coefficients[c] = keep * state.coefficients[c] + changes[c]
        moved = changes[0] * state.gram[c, 0] + changes[1] * state.gram[c, 1]
        state.products[c] = keep * state.products[c] - pull * (inner if c == k else far) + moved
