"""Gradient steps against the mean of the other class without forming the weights: a row costs its nonzero entries.

With M = [m0 m1] the sums of the rows of the classes, the weights are kept as
w = a v + M p, together with G = M^T M and q = M^T w. This is `kernels.sketch_sgd`
with rank zero and steps weighted by class. The record (v, u, m0, m1) of a
feature lies within one cache line.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from opauc.core.kernels.compile import kernel
from opauc.core.kernels.simd import prefetch

# Columns of the record of a feature.
WEIGHT = 0  # v
WEIGHT_SUM = 1  # u
SUMS = 2  # + k: sum of the feature over the rows of class k
# Columns of `MeansWeights.spreads`.
DEVIATIONS = 0  # weighted sum of squared deviations of scores from the mean score of their class
DEVIATION_SHARES = 1  # sum of those weights
# Entries of `MeansWeights.scalars`.
FACTOR = 0  # a
FACTOR_SUM = 1  # a_sum
SHARE_SUM = 2  # sum of the weights of the iterates in their mean
STEPS = 3  # steps taken
CURVATURE = 4  # largest curvature so far
RECENT_EXCESS = 5  # running mean of the squared excess
# Below this size of a, v of all features is rescaled: v grows as 1/a, and the mean of the iterates is a difference of
# terms of that size.
SMALLEST_FACTOR = 1e-4
# Weight of the newest row in the running mean of the squared excess.
EXCESS_RATE = 0.01
# Records are prefetched this many entries ahead, across the ends of rows.
AHEAD = 16
# |x - mean|^2 is computed as a difference of squares; below this share of them it is rounding error.
ROUNDING = 1e-12
# No step is taken below this curvature: all rows so far are zero or nearly so.
SMALLEST_CURVATURE = 1e-290


class MeansWeights(NamedTuple):
    """The weights w = a v + M p, and the weighted sum of all iterates, a_sum v + M p_sum + u."""

    records: np.ndarray  # (d, 4) v, u, m0, m1
    counts: np.ndarray  # (2,) total weight of the rows of each class
    n_rows: np.ndarray  # (2,) number of rows of each class
    coefficients: np.ndarray  # (2,) p
    coefficient_sums: np.ndarray  # (2,)
    products: np.ndarray  # (2,) q = M^T w
    gram: np.ndarray  # (2, 2) G = M^T M
    spreads: np.ndarray  # (2, 2) per class: see DEVIATIONS
    scalars: np.ndarray  # (6,) see FACTOR


@kernel
def means_pass(rows, labels, row_weights, step_sizes, relative, alpha, state):
    """Take a gradient step on each sparse row in order, updating `state` in place.

    The step of a row x with label y is
    w <- (1 - step alpha) w - step omega (w.gap - y) gap, with gap = x - mean of
    the other class and omega = n_rows / (2 n_rows of x's class). If `relative`,
    step sizes are divided by the largest alpha + |gap|^2 so far, and
    step omega |gap|^2 is at most one: otherwise a step on a row of a rare class,
    whose omega is large, would overshoot. Iterate t has weight t^2 in the mean.
    The weight of a row (one if `row_weights` is empty) is a factor on omega and
    on the row in the class sums.
    """
    scalars = state.scalars
    for i in range(labels.size):
        k = labels[i]
        weight = row_weights[i] if row_weights.size else 1.0
        begin, end = rows.indptr[i], rows.indptr[i + 1]
        dot, inner, far, square = enter_row(rows.data, rows.indices, begin, end, k, weight, state.records)
        score = scalars[FACTOR] * dot + state.coefficients[k] * inner + state.coefficients[1 - k] * far
        deviation = enter_sums(k, weight, score, inner, far, square, state)
        keep, pull = plan_step(k, weight, score, far, square, step_sizes[i], relative, alpha, state)
        along, along_sum = weight * state.coefficients[k], weight * state.coefficient_sums[k]
        move_coefficients(k, inner + weight * square, far, keep, pull, state)
        if abs(scalars[FACTOR]) < SMALLEST_FACTOR:
            rescale(state)
        move = -(pull + keep * along) / scalars[FACTOR]
        move_sum = -(scalars[FACTOR_SUM] * move + along_sum)
        move_records(rows.data, rows.indices, begin, end, move, move_sum, state.records)
        if state.counts[1 - k] > 0.0:
            add_to_mean(k, weight, deviation, state)


@kernel
def enter_row(data, indices, begin, end, k, weight, records):
    """Add weight times a sparse row to m_k; return v.x, its products with the old m_k and m_{1-k}, and |x|^2."""
    dot, inner, far, square = 0.0, 0.0, 0.0, 0.0
    near, other, last = SUMS + k, SUMS + 1 - k, indices.size - 1
    for at in range(begin, end):
        prefetch(records, indices[min(at + AHEAD, last)], 0)
        x, record = np.float64(data[at]), records[indices[at]]
        own = record[near]
        dot += record[WEIGHT] * x
        inner += own * x
        far += record[other] * x
        square += x * x
        record[near] = own + weight * x
    return dot, inner, far, square


@kernel
def enter_sums(k, weight, score, inner, far, square, state):
    """Add the row to the sums after M has changed and before w does; return score - mean score of its class."""
    state.n_rows[k] += 1.0
    state.counts[k] += weight
    state.products[k] += weight * score
    state.gram[k, k] += weight * (2.0 * inner + weight * square)
    state.gram[k, 1 - k] += weight * far
    state.gram[1 - k, k] = state.gram[k, 1 - k]
    return score - state.products[k] / state.counts[k]


@kernel
def plan_step(k, weight, score, far, square, step_size, relative, alpha, state):
    """Return the factor on w and the step length along the gap: (1, 0) before a row of the other class was seen."""
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
    """Return the step size over the largest alpha + |gap|^2 so far, and its upper limit 1 / |gap|^2.

    The limit is zero where the row equals the mean of the other class up to rounding.
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
    """Take the step in a, p and q; `inner` and `far` are the row's products with m_k, the row included, and m_{1-k}."""
    other = 1 - k
    change = pull / state.counts[other] if state.counts[other] > 0.0 else 0.0
    state.scalars[FACTOR] *= keep
    state.coefficients[k] *= keep
    state.coefficients[other] = keep * state.coefficients[other] + change
    state.products[k] = keep * state.products[k] - pull * inner + change * state.gram[k, other]
    state.products[other] = keep * state.products[other] - pull * far + change * state.gram[other, other]


@kernel
def move_records(data, indices, begin, end, move, move_sum, records):
    """Add the row, times `move` and `move_sum`, to v and u."""
    for at in range(begin, end):
        x, record = np.float64(data[at]), records[indices[at]]
        record[WEIGHT] += move * x
        record[WEIGHT_SUM] += move_sum * x


@kernel
def rescale(state):
    """Set a to one by multiplying v of all features by it."""
    a, a_sum, records = state.scalars[FACTOR], state.scalars[FACTOR_SUM], state.records
    for j in range(records.shape[0]):
        records[j, WEIGHT_SUM] += a_sum * records[j, WEIGHT]
        records[j, WEIGHT] *= a
    state.scalars[FACTOR] = 1.0
    state.scalars[FACTOR_SUM] = 0.0


@kernel
def add_to_mean(k, weight, deviation, state):
    """Add t^2 times iterate t to the sum of iterates, and the score's squared deviation to the spread of class k."""
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
def combine_records(records, shares, out):
    """Write into `out` the sum of the columns of the records times `shares` (4,), one number per feature."""
    own, own_sum, negative, positive = shares[WEIGHT], shares[WEIGHT_SUM], shares[SUMS], shares[SUMS + 1]
    for j in range(out.size):
        record = records[j]
        out[j] = (
            record[WEIGHT] * own + record[WEIGHT_SUM] * own_sum + record[SUMS] * negative + record[SUMS + 1] * positive
        )


@kernel
def scale_values(values, indices, scale, out):
    """Write into `out` the values times the scale of their features; return the sum of their squares."""
    total = 0.0
    for at in range(values.size):
        x = values[at] * scale[indices[at]]
        out[at] = x
        total += x * x
    return total


# Columns of the score statistics of a class, see `add_score`.
SHARES = 0  # sum of weights
MEAN = 1  # weighted mean
SCATTER = 2  # weighted sum of squared deviations


@kernel
def add_score(k, score, share, spreads):
    """Add a score of class k, of weight `share`, to the weighted mean and scatter in `spreads` (2, 3)."""
    spread = spreads[k]
    spread[SHARES] += share
    away = score - spread[MEAN]
    spread[MEAN] += away * share / spread[SHARES]
    spread[SCATTER] += share * away * (score - spread[MEAN])
