"""Descent against the mean of the other class without ever forming the weights: the cost of a row is its entries.

With M = [m0 m1] the sums of the rows of the classes, the weights are kept as
w = a v + M p, together with G = M^T M and q = M^T w. This is `sketch_descent`
with codes of length one, (1), and steps weighted by class. What a feature
owns, (v, u, m0, m1), lies together: looking it up is one cache line.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from opauc.core.kernels.compile import kernel
from opauc.core.kernels.simd import prefetch

# What stands where on the card of a feature; the sums of class k are in column SUMS + k.
WEIGHT, WEIGHT_SUM, SUMS = 0, 1, 2
# What stands where in the spread of a class's scores.
DEVIATIONS, DEVIATION_SHARES = 0, 1
# What stands where in `scalars`.
FACTOR, FACTOR_SUM, SHARE_SUM, STEPS, CURVATURE, RECENT_EXCESS = 0, 1, 2, 3, 4, 5
# Below this size of a, v is rescaled by a remove_stale_files over all features: v grows as 1/a, and the mean of the
# iterates is a difference of terms of that size.
SMALLEST_FACTOR = 1e-4
# Share of the newest row in the running mean of squared excess.
EXCESS_RATE = 0.01
# Cards looked up this many entries before they are needed, over the ends of rows.
AHEAD = 16
# |x - mean|^2 is a difference of squares; below this share of them it is their rounding error.
ROUNDING = 1e-12
# A curvature below this, of rows of zeros or nearly, has no use as a unit.
SMALLEST_CURVATURE = 1e-290


class MeansWeights(NamedTuple):
    """The weights and their weighted sum over all iterates: w = a v + M p and a_sum v + M p_sum + u."""

    cards: np.ndarray  # (d, 4) v, u, m0, m1
    counts: np.ndarray  # (2,) weight of the rows of each class
    n_rows: np.ndarray  # (2,) their number
    coefficients: np.ndarray  # (2,) p
    coefficient_sums: np.ndarray  # (2,)
    products: np.ndarray  # (2,) q = M^T w
    gram: np.ndarray  # (2, 2) G = M^T M
    spreads: np.ndarray  # (2, 2) per class: weighted sum of squared deviations of scores, sum of the shares
    scalars: np.ndarray  # (6,) a, a_sum, sum of shares, steps taken, largest curvature, recent squared excess


@kernel
def means_pass(rows, labels, row_weights, step_sizes, relative, alpha, state):
    """Descend on sparse rows in order, updating `state` in place.

    The step of a row x with label y is
    w <- (1 - step alpha) w - step omega (w.gap - y) gap, with gap = x - mean of
    the other class and omega = rows / (2 rows of x's class). If `relative`,
    step sizes are divided by the largest alpha + |gap|^2 so far, and
    step omega |gap|^2 is held at one: beyond it a rare class, whose omega is
    large, would be overshot. Iterate t counts t^2 times in the mean. The
    weight of a row, one if there are no `row_weights`, is a factor on omega and
    on its part in the means.
    """
    scalars = state.scalars
    for i in range(labels.size):
        k = labels[i]
        weight = row_weights[i] if row_weights.size else 1.0
        begin, end = rows.indptr[i], rows.indptr[i + 1]
        dot, inner, far, square = enter_row(rows.data, rows.indices, begin, end, k, weight, state.cards)
        score = scalars[FACTOR] * dot + state.coefficients[k] * inner + state.coefficients[1 - k] * far
        deviation = enter_sums(k, weight, score, inner, far, square, state)
        keep, pull = plan_step(k, weight, score, far, square, step_sizes[i], relative, alpha, state)
        along, along_sum = weight * state.coefficients[k], weight * state.coefficient_sums[k]
        move_coefficients(k, inner + weight * square, far, keep, pull, state)
        if abs(scalars[FACTOR]) < SMALLEST_FACTOR:
            rescale(state)
        move = -(pull + keep * along) / scalars[FACTOR]
        move_sum = -(scalars[FACTOR_SUM] * move + along_sum)
        move_cards(rows.data, rows.indices, begin, end, move, move_sum, state.cards)
        if state.counts[1 - k] > 0.0:
            add_to_mean(k, weight, deviation, state)


@kernel
def enter_row(data, indices, begin, end, k, weight, cards):
    """Add weight times a sparse row to m_k; return v.x, the row's products with m_k and m_o before, and |x|^2."""
    dot, inner, far, square = 0.0, 0.0, 0.0, 0.0
    near, other, last = SUMS + k, SUMS + 1 - k, indices.size - 1
    for at in range(begin, end):
        prefetch(cards, indices[min(at + AHEAD, last)], 0)
        x, card = np.float64(data[at]), cards[indices[at]]
        own = card[near]
        dot += card[WEIGHT] * x
        inner += own * x
        far += card[other] * x
        square += x * x
        card[near] = own + weight * x
    return dot, inner, far, square


@kernel
def enter_sums(k, weight, score, inner, far, square, state):
    """Count the row in, with M changed and w not; return how far its score lies from the mean of its class."""
    state.n_rows[k] += 1.0
    state.counts[k] += weight
    state.products[k] += weight * score
    state.gram[k, k] += weight * (2.0 * inner + weight * square)
    state.gram[k, 1 - k] += weight * far
    state.gram[1 - k, k] = state.gram[k, 1 - k]
    return score - state.products[k] / state.counts[k]


@kernel
def plan_step(k, weight, score, far, square, step_size, relative, alpha, state):
    """Return the factor on w and the pull along the gap; nothing moves while the other class is unseen."""
    own, count = state.counts[k], state.counts[1 - k]
    if count == 0.0:
        return 1.0, 0.0
    limit = np.inf
    if relative:
        step_size, limit = in_units_of_curvature(k, far, square, step_size, alpha, state)
    excess = score - state.products[1 - k] / count - (2.0 * k - 1.0)
    state.scalars[RECENT_EXCESS] += EXCESS_RATE * (excess * excess - state.scalars[RECENT_EXCESS])
    return 1.0 - step_size * alpha, min(weight * step_size * (own + count) / (2.0 * own), limit) * excess


@kernel
def in_units_of_curvature(k, far, square, step_size, alpha, state):
    """Return the step size over the largest alpha + |gap|^2 so far, and 1 / |gap|^2, the most it may be weighted to.

    A row that rounding does not tell from the mean of the other class has no
    gap to step along: its limit is zero.
    """
    count = state.counts[1 - k]
    length = state.gram[1 - k, 1 - k] / (count * count)
    gap = square - 2.0 * far / count + length
    if gap <= ROUNDING * (square + length):
        gap = 0.0
    curvature = max(state.scalars[CURVATURE], alpha + gap)
    state.scalars[CURVATURE] = curvature
    if curvature < SMALLEST_CURVATURE:
        return 0.0, 0.0
    return step_size / curvature, 1.0 / gap if gap > 0.0 else 0.0


@kernel
def move_coefficients(k, inner, far, keep, pull, state):
    """Take the step in a, p and q; `inner` and `far` are the row's products with m_k, it included, and with m_o."""
    other = 1 - k
    change = pull / state.counts[other] if state.counts[other] > 0.0 else 0.0
    state.scalars[FACTOR] *= keep
    state.coefficients[k] *= keep
    state.coefficients[other] = keep * state.coefficients[other] + change
    state.products[k] = keep * state.products[k] - pull * inner + change * state.gram[k, other]
    state.products[other] = keep * state.products[other] - pull * far + change * state.gram[other, other]


@kernel
def move_cards(data, indices, begin, end, move, move_sum, cards):
    """Add the row, times `move` and `move_sum`, to v and u."""
    for at in range(begin, end):
        x, card = np.float64(data[at]), cards[indices[at]]
        card[WEIGHT] += move * x
        card[WEIGHT_SUM] += move_sum * x


@kernel
def rescale(state):
    """Bring a back to one by a remove_stale_files over all features."""
    a, a_sum, cards = state.scalars[FACTOR], state.scalars[FACTOR_SUM], state.cards
    for j in range(cards.shape[0]):
        cards[j, WEIGHT_SUM] += a_sum * cards[j, WEIGHT]
        cards[j, WEIGHT] *= a
    state.scalars[FACTOR] = 1.0
    state.scalars[FACTOR_SUM] = 0.0


@kernel
def add_to_mean(k, weight, deviation, state):
    """Add iterate t to the sum of all, t^2 times, and the deviation of the score before it to the spread of class k."""
    scalars = state.scalars
    scalars[STEPS] += 1.0
    share = scalars[STEPS] * scalars[STEPS]
    scalars[FACTOR_SUM] += share * scalars[FACTOR]
    scalars[SHARE_SUM] += share
    for c in range(2):
        state.coefficient_sums[c] += share * state.coefficients[c]
    spread = state.spreads[k]
    spread[DEVIATIONS] += weight * share * deviation * deviation
    spread[DEVIATION_SHARES] += weight * share


@kernel
def combine_cards(cards, shares, out):
    """Write into `out` the sum of the columns of the cards times `shares` (4,), one number a feature."""
    own, own_sum, negative, positive = shares[WEIGHT], shares[WEIGHT_SUM], shares[SUMS], shares[SUMS + 1]
    for j in range(out.size):
        card = cards[j]
        out[j] = card[WEIGHT] * own + card[WEIGHT_SUM] * own_sum + card[SUMS] * negative + card[SUMS + 1] * positive


@kernel
def sum_of_squares(values):
    """Return the sum of the squares in float64."""
    total = 0.0
    for at in range(values.size):
        x = np.float64(values[at])
        total += x * x
    return total


@kernel
def scale_values(values, indices, scale, out):
    """Write into `out` the values times the scale of their features; return the sum of their squares."""
    total = 0.0
    for at in range(values.size):
        x = values[at] * scale[indices[at]]
        out[at] = x
        total += x * x
    return total


# What stands where in the line of a class.
SHARES, MEAN, SCATTER = 0, 1, 2


@kernel
def note_score(k, score, share, spreads):
    """Add a score of class k, of weight `share`, to the weighted mean and scatter in `spreads` (2, 3)."""
    spread = spreads[k]
    spread[SHARES] += share
    away = score - spread[MEAN]
    spread[MEAN] += away * share / spread[SHARES]
    spread[SCATTER] += share * away * (score - spread[MEAN])
