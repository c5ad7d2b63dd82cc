"""OPAUCr without ever forming the weights: the cost of a row does not depend on the dimension.

With F = [Z0 m0 | Z1 m1], one row per feature, the weights are kept as
w = a v + F p, together with G = F^T F and q = F^T w. A row x of class k adds
x code^T to block k of F. Everything a step needs of w is then a few inner
products of F's rows at the entries of x, and of vectors as long as a code.
"""

from typing import NamedTuple

import numpy as np

from opauc.kernels.codes import write_gaussians, write_signs
from opauc.kernels.compile_kernel import inlined, kernel
from opauc.kernels.feature_table import WEIGHT, WEIGHT_SUM
from opauc.kernels.sketch_rows import visit_row
from opauc.kernels.symmetric_matrix import symmetric_product

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
    damp, along, square = step_size / count, 0.0, 0.0
    subtract = mean_score if centred else 0.0
    for c in range(rank):
        inner = products[c] - sums[c] * subtract
        change[c] = -damp * inner
        along += sums[c] * inner
        square += sums[c] * sums[c]
    change[rank] = damp * excess
    if centred:
        change[rank] += damp * along / count
    else:
        share = mean_share if mean_share >= 0.0 else square / (count * count)
        change[rank] += damp * mean_score * share
    return excess


@kernel
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


@kernel
def update_grams(k, code, inner, square, change, state, out):
    """Add the row's code to the Gram matrices and write G[:, o] change into `out`, o the other class."""
    other = 1 - k
    own_gram, cross = state.own_grams[k], state.cross_gram
    mine, far, out_mine = inner[k], inner[other], out[k]
    symmetric_product(state.own_grams[other], change, out[other])
    out_mine[:] = 0.0
    for c in range(code.size):
        head, code_c, pull = own_gram[c, : c + 1], code[c], mine[c] + square * code[c]
        for j in range(c + 1):
            head[j] += pull * code[j] + code_c * mine[j]
        row = cross[c]
        if k == 1:
            dot = 0.0
            for j in range(code.size):
                row[j] += code_c * far[j]
                dot += row[j] * change[j]
            out_mine[c] = dot
        else:
            far_c, change_c = far[c], change[c]
            for j in range(code.size):
                row[j] += far_c * code[j]
                out_mine[j] += change_c * row[j]


@inlined
def enter_code(k, code, dot, inner, state):
    """Count the row in, with F changed and w not; return its score."""
    score = state.scalars[0] * dot
    for b in range(2):
        for c in range(code.size):
            score += state.coefficients[b, c] * inner[b, c]
    for c in range(code.size):
        state.code_sums[k, c] += code[c]
        state.products[k, c] += score * code[c]
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
    for c in range(code.size):
        state.products[k, c] = keep * state.products[k, c] - pull * (inner[k, c] + square * code[c]) + out[k, c]
        state.products[other, c] = keep * state.products[other, c] - pull * inner[other, c] + out[other, c]
        state.coefficients[k, c] *= keep
        state.coefficients[other, c] = keep * state.coefficients[other, c] + change[c]


@kernel
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
        for c in range(state.coefficients.shape[1]):
            state.coefficient_sums[b, c] += share * state.coefficients[b, c]


@kernel
def sketch_pass(rows, labels, codes, step_sizes, relative, shares, options, table, state):
    """Run OPAUCr over sparse rows in order, updating `table` and `state` in place.

    `codes` holds one a row, or is empty: then they are drawn, as signs or, if
    options[3], as normal numbers. options = (alpha, centred, mean share,
    gaussian). A step of share s counts s times in the mean of the iterates.
    """
    width = state.code_sums.shape[1]
    code, inner, out, change = np.zeros(width), np.zeros((2, width)), np.zeros((2, width)), np.zeros(width)
    found = np.zeros((2, 64), np.int64)
    for i in range(labels.size):
        k, number = labels[i], np.int64(state.scalars[3])
        begin, end = rows.indptr[i], rows.indptr[i + 1]
        columns, values = rows.indices[begin:end], rows.data[begin:end]
        if found.shape[1] < columns.size:
            found = np.zeros((2, 2 * columns.size), np.int64)
        if codes.shape[0]:
            code[:] = codes[i]
        elif options[3]:
            write_gaussians(table.key[0], number, table.rank[0], code)
        else:
            write_signs(table.key[0], number, table.rank[0], code)
        dot, square, along, along_sum = visit_row(columns, values, k, code, number, table, state, inner, out, found)
        score = enter_code(k, code, dot, inner, state)
        keep, pull = plan_step(k, score, square, inner, step_sizes[i], relative, options, state, change)
        update_grams(k, code, inner, square, change, state, out)
        move_coefficients(k, code, inner, square, keep, pull, change, out, state)
        if abs(state.scalars[0]) < SMALLEST_SCALE:
            rescale(table, state)
        move = -(pull + keep * along) / state.scalars[0]
        move_sum = -(state.scalars[1] * move + along_sum)
        for at in range(columns.size):
            table.cards[columns[at], WEIGHT] += move * values[at]
            table.cards[columns[at], WEIGHT_SUM] += move_sum * values[at]
        if state.code_sums[1 - k, width - 1] > 0.0:
            add_to_mean(shares[i], state)
