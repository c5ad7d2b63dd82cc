"""OPAUCr without ever forming the weights: the cost of a row does not depend on the dimension.

With F = [Z0 m0 | Z1 m1], one row per feature, the weights are kept as
w = a v + F p, together with G = F^T F and q = F^T w. A row x of class k adds
x code^T to block k of F. Everything a step needs of w is then a few inner
products of F's rows at the entries of x, and of vectors as long as a code.
"""

from typing import NamedTuple

import numpy as np

from opauc.kernels.compile_kernel import borrowing, inlined, kernel
from opauc.kernels.descent.feature_table import WEIGHT, WEIGHT_SUM
from opauc.kernels.simd.lane_sums import (
    add_scaled,
    add_symmetric,
    add_to_columns,
    add_to_rows,
    inner_product,
    symmetric_product,
)
from opauc.kernels.simd.lanes import LANES, lanes_at, plus, put_lanes, times, total
from opauc.kernels.sums.codes import write_gaussians, write_signs
from opauc.kernels.sums.sketch_rows import visit_row

# Below this size of a, v is rescaled by a sweep over all features: v grows as 1/a, and the mean of the
# iterates is a difference of terms of that size.
SMALLEST_SCALE = 1e-4
# Weight of the newest row in the running mean of squared excess.
RECENT = 0.01


class SketchWeights(NamedTuple):
    """The weights and their mean, in terms of a feature table F with blocks of `width` columns.

    With v and u on the cards of the table, w = scalars[0] * v + F p and the
    weighted sum of all iterates is scalars[1] * v + F p_sum + u.
    """

    coefficients: np.ndarray  # (2, width) p
    coefficient_sums: np.ndarray  # (2, width)
    products: np.ndarray  # (2, width) q = F^T w
    own_grams: np.ndarray  # (2, width, width) F_k^T F_k, lower triangles
    cross_gram: np.ndarray  # (width, width) F_1^T F_0
    code_sums: np.ndarray  # (2, width) sums of codes; the last entry counts the rows
    scalars: np.ndarray  # (6,) a, its sum, weight of the sum, rows seen, largest curvature, recent squared excess


class Workspace(NamedTuple):
    """Arrays to be written over with every row."""

    code: np.ndarray  # (width,)
    inner: np.ndarray  # (2, width) F^T x
    out: np.ndarray  # (2, width)
    change: np.ndarray  # (width,) of a block of p
    short: np.ndarray  # (3, width) code and blocks of p and its sum, in the dtype of the table
    found: np.ndarray  # (3, entries) places in the table, entries of the row there, and entries without a place


@inlined
def change_of_weights(k, score, step_size, centred, mean_share, state, change):
    """Write into `change` what block o = 1 - k of p gains in a step; return the excess of the score.

    `mean_share` is how much of mean mean^T the covariance lacks where it is
    not `centred`: one, or, where negative, |sum of codes|^2 / count^2.
    """
    other = 1 - k
    rank = change.size - 1
    sums, products = state.code_sums[other], state.products[other]
    count = sums[rank]
    mean_score = products[rank] / count
    excess = score - mean_score - (2.0 * k - 1.0)
    damp, subtract = step_size / count, mean_score if centred else 0.0
    along = times(0.0, lanes_at(sums, 0))
    for c in range(0, change.size, LANES):
        # zero in the last place, where centred, but for rounding
        inner = plus(lanes_at(products, c), -subtract, lanes_at(sums, c))
        put_lanes(change, c, times(-damp, inner))
        along = plus(along, inner, lanes_at(sums, c))
    change[rank] = damp * excess
    if centred:
        change[rank] += damp * total(along) / count
    else:
        share = mean_share if mean_share >= 0.0 else (inner_product(sums, sums) - count * count) / (count * count)
        change[rank] += damp * mean_score * share
    return excess


@borrowing
def curvature_bound(k, square, inner, alpha, state):
    """Return alpha + |x - mean|^2 + trace of the covariance, mean and (centred) covariance of the other class."""
    other = 1 - k
    gram, sums = state.own_grams[other], state.code_sums[other]
    rank = sums.size - 1
    count = sums[rank]
    length = gram[rank, rank] / (count * count)
    trace = 0.0
    for c in range(rank):
        trace += gram[c, c] - 2.0 * sums[c] * gram[rank, c] / count + sums[c] * sums[c] * length
    return alpha + square - 2.0 * inner[rank] / count + length + max(trace, 0.0) / count


@borrowing
def update_grams(k, code, inner, square, change, state, out):
    """Add the row's code to the Gram matrices and write G[:, o] change into `out`, o the other class."""
    other = 1 - k
    symmetric_product(state.own_grams[other], change, out[other])
    add_symmetric(state.own_grams[k], code, inner[k], square)
    if k == 1:
        add_to_rows(state.cross_gram, code, inner[0], change, out[1])
    else:
        add_to_columns(state.cross_gram, inner[1], code, change, out[0])


@inlined
def enter_code(k, code, dot, inner, state):
    """Count the row in, with F changed and w not; return its score."""
    score = state.scalars[0] * dot + inner_product(state.coefficients[0], inner[0])
    score += inner_product(state.coefficients[1], inner[1])
    add_scaled(state.code_sums[k], 1.0, code)
    add_scaled(state.products[k], score, code)
    state.scalars[3] += 1.0
    return score


@inlined
def plan_step(k, score, square, inner, step_size, relative, options, state, change):
    """Write the change of p into `change`; return the factor on w and the pull along the row.

    Nothing changes while the other class is unseen.
    """
    change[:] = 0.0
    if state.code_sums[1 - k, change.size - 1] == 0.0:
        return 1.0, 0.0
    if relative:
        bound = curvature_bound(k, square, inner[1 - k], options[0], state)
        state.scalars[4] = max(state.scalars[4], bound)
        step_size /= state.scalars[4]
    excess = change_of_weights(k, score, step_size, options[1], options[2], state, change)
    state.scalars[5] += RECENT * (excess * excess - state.scalars[5])
    return 1.0 - step_size * options[0], step_size * excess


@inlined
def move_coefficients(k, code, inner, square, keep, pull, change, out, state):
    """Take the step in a, p and q; `out` holds G[:, other] change."""
    other = 1 - k
    state.scalars[0] *= keep
    add_scaled(inner[k], square, code)
    for b in range(2):
        moved, gained, along, coefficients = state.products[b], out[b], inner[b], state.coefficients[b]
        for c in range(0, code.size, LANES):
            gain = plus(lanes_at(gained, c), -pull, lanes_at(along, c))
            put_lanes(moved, c, plus(gain, keep, lanes_at(moved, c)))
            put_lanes(coefficients, c, times(keep, lanes_at(coefficients, c)))
    add_scaled(state.coefficients[other], 1.0, change)


@borrowing
def rescale(table, state):
    """Bring a back to one by a sweep over all features."""
    a, a_sum = state.scalars[0], state.scalars[1]
    for j in range(table.cards.shape[0]):
        table.cards[j, WEIGHT_SUM] += a_sum * table.cards[j, WEIGHT]
        table.cards[j, WEIGHT] *= a
    state.scalars[0] = 1.0
    state.scalars[1] = 0.0


@inlined
def add_to_mean(share, state):
    """Add the new iterate to the weighted sum of all."""
    state.scalars[1] += share * state.scalars[0]
    state.scalars[2] += share
    for b in range(2):
        add_scaled(state.coefficient_sums[b], share, state.coefficients[b])


@borrowing
def learn_row(row, k, step_size, relative, share, options, table, state, work):
    """Take the step of one row (columns up to the end of all rows, values) of class k."""
    (columns, values), code, inner, out, change = row, work.code, work.inner, work.out, work.change
    number = np.int64(state.scalars[3])
    dot, square, along, along_sum = visit_row(columns, values, k, number, table, state, work)
    score = enter_code(k, code, dot, inner, state)
    keep, pull = plan_step(k, score, square, inner, step_size, relative, options, state, change)
    update_grams(k, code, inner, square, change, state, out)
    move_coefficients(k, code, inner, square, keep, pull, change, out, state)
    if abs(state.scalars[0]) < SMALLEST_SCALE:
        rescale(table, state)
    move = -(pull + keep * along) / state.scalars[0]
    move_sum = -(state.scalars[1] * move + along_sum)
    for at in range(values.size):
        table.cards[columns[at], WEIGHT] += move * values[at]
        table.cards[columns[at], WEIGHT_SUM] += move_sum * values[at]
    if state.code_sums[1 - k, code.size - 1] > 0.0:
        add_to_mean(share, state)


@kernel
def sketch_pass(rows, labels, codes, step_sizes, relative, shares, options, table, state):
    """Run OPAUCr over sparse rows in order, updating `table` and `state` in place.

    `codes` holds one a row, or is empty: then they are drawn, as signs or, if
    options[3], as normal numbers. options = (alpha, centred, mean share,
    gaussian). A step of share s counts s times in the mean of the iterates.
    """
    width, longest = state.code_sums.shape[1], 0
    for i in range(labels.size):
        longest = max(longest, rows.indptr[i + 1] - rows.indptr[i])
    code, inner, out, change = np.zeros(width), np.zeros((2, width)), np.zeros((2, width)), np.zeros(width)
    short, found = np.zeros((3, width), table.rows.dtype), np.zeros((3, longest), np.int64)
    work = Workspace(code, inner, out, change, short, found)
    for i in range(labels.size):
        number, begin, end = np.int64(state.scalars[3]), rows.indptr[i], rows.indptr[i + 1]
        if codes.shape[0]:
            code[:] = codes[i]
        elif options[3]:
            write_gaussians(table.key[0], number, table.rank[0], code)
        else:
            write_signs(table.key[0], number, table.rank[0], code)
        row = rows.indices[begin:], rows.data[begin:end]
        learn_row(row, labels[i], step_sizes[i], relative, shares[i], options, table, state, work)
