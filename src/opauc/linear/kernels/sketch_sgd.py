"""OPAUCr without ever forming the weights: the cost of a row does not depend on the dimension.

With F = [Z0 m0 | Z1 m1], one row per feature, the weights are kept as
w = a v + F p, together with G = F^T F and q = F^T w. A row x of class k adds
x code^T to block k of F. Everything a step needs of w is then a few inner
products of F's rows at the entries of x, and of vectors as long as a code.
"""

from __future__ import annotations

import numpy as np
from numba import types
from numba.extending import overload

from opauc.core.kernels.compile import borrowing, inlined, kernel
from opauc.core.kernels.lane_sums import (
    add_scaled,
    add_symmetric,
    add_to_columns,
    add_to_rows,
    inner_product,
    symmetric_product,
)
from opauc.core.kernels.random_signs import write_gaussians, write_signs
from opauc.core.kernels.simd import LANES, lanes_at, minus, plus, put_lanes, times, total, widened
from opauc.linear.kernels.feature_records import (
    CURVATURE,
    FACTOR,
    FACTOR_SUM,
    NUMBERS_END,
    RECENT_EXCESS,
    ROWS,
    ROWS_AHEAD,
    SHARE_SUM,
    WEIGHT,
    WEIGHT_SUM,
    enter_early,
    fetch_row,
    look_up,
)


@borrowing
def visit_row(columns, values, k, number, table, state, work):
    """Add a sparse row to the table; return v.x, |x|^2 and what the addition changes in F p and F p_sum, per unit of x.

    Writes F^T x, before the addition, into `work.inner`.
    """
    code, inner, short, found = work.code, work.inner, work.short, work.found
    inner[:] = 0.0
    for c in range(code.size):
        short[0, c], short[1, c], short[2, c] = code[c], state.coefficients[k, c], state.coefficient_sums[k, c]
    along = inner_product(code, state.coefficients[k])
    along_sum = inner_product(code, state.coefficient_sums[k])
    count, dot, square = look_up(columns, values, table, found)
    count = enter_early(columns, values, count, k, number, table, inner, work)
    add_to_table(columns, values, k, short, count, table, state, inner, found)
    return dot, square, along, along_sum


@inlined
def add_products(values, t, end, numbers, out, found):
    """Add to `out` the sum of x times the row of entries t to `end` of those found, at most eight."""
    at, entry, width = found[0], found[1], out.size
    if t + 8 == end:
        x0, x1, x2, x3 = values[entry[t]], values[entry[t + 1]], values[entry[t + 2]], values[entry[t + 3]]
        x4, x5, x6, x7 = values[entry[t + 4]], values[entry[t + 5]], values[entry[t + 6]], values[entry[t + 7]]
        r0, r1, r2, r3 = width * at[t], width * at[t + 1], width * at[t + 2], width * at[t + 3]
        r4, r5, r6, r7 = width * at[t + 4], width * at[t + 5], width * at[t + 6], width * at[t + 7]
        for c in range(0, width, LANES):
            four = plus(times(x0, lanes_at(numbers, r0 + c)), x1, lanes_at(numbers, r1 + c))
            four = plus(plus(four, x2, lanes_at(numbers, r2 + c)), x3, lanes_at(numbers, r3 + c))
            more = plus(times(x4, lanes_at(numbers, r4 + c)), x5, lanes_at(numbers, r5 + c))
            more = plus(plus(more, x6, lanes_at(numbers, r6 + c)), x7, lanes_at(numbers, r7 + c))
            put_lanes(out, c, plus(lanes_at(out, c), 1.0, widened(plus(four, 1.0, more))))
    else:
        for s in range(t, end):
            x, row = values[entry[s]], width * at[s]
            for c in range(0, width, LANES):
                put_lanes(out, c, plus(lanes_at(out, c), x, widened(lanes_at(numbers, row + c))))


@borrowing
def add_exactly(values, k, code, count, rows, inner, found):
    """Add the products of the entries found with their rows to `inner` (2, width), and x code to the rows.

    Eight rows at a time, that they be still in the nearest cache when they are changed.
    """
    out, numbers = inner.reshape(inner.size), rows.reshape(rows.size)
    for t in range(0, count, 8):
        end = min(t + 8, count)
        add_products(values, t, end, numbers, out, found)
        for s in range(t, end):
            if s + ROWS_AHEAD < count:
                fetch_row(rows, found[0, s + ROWS_AHEAD])
            x, near = values[found[1, s]], found[0, s] * out.size + k * code.size
            for c in range(0, code.size, LANES):
                put_lanes(numbers, near + c, plus(lanes_at(numbers, near + c), x, lanes_at(code, c)))


@borrowing
def add_rounded(columns, values, k, short, count, table, state, inner, found):
    """Do as `add_exactly` with float32 rows; what rounding took from F p and F p_sum goes to the cards' v and u.

    w = a v + F p has to stay what it was, else it would drift with every rounded
    sum. `short` holds the code and block k of p and p_sum as float32.
    """
    out, numbers, cards = inner.reshape(inner.size), table.rows.reshape(table.rows.size), table.cards
    code, p, p_sum = short[0], short[1], short[2]
    factor, factor_sum = state.scalars[FACTOR], state.scalars[FACTOR_SUM]
    for t in range(0, count, 8):
        end = min(t + 8, count)
        add_products(values, t, end, numbers, out, found)
        for s in range(t, end):
            if s + ROWS_AHEAD < count:
                fetch_row(table.rows, found[0, s + ROWS_AHEAD])
            x, near, j = values[found[1, s]], found[0, s] * out.size + k * code.size, columns[found[1, s]]
            lost = lost_sum = times(0.0, lanes_at(code, 0))
            for c in range(0, code.size, LANES):
                old, step = lanes_at(numbers, near + c), lanes_at(code, c)
                new = plus(old, x, step)
                put_lanes(numbers, near + c, new)
                error = plus(minus(new, old), -x, step)
                lost = plus(lost, lanes_at(p, c), error)
                lost_sum = plus(lost_sum, lanes_at(p_sum, c), error)
            move = -total(lost) / factor
            cards[j, WEIGHT] += move
            cards[j, WEIGHT_SUM] -= factor_sum * move + total(lost_sum)


def add_to_table(columns, values, k, short, count, table, state, inner, found):
    """Do as `add_exactly`, or as `add_rounded` where rows are float32."""
    if table.rows.itemsize == 8:
        add_exactly(values, k, short[0], count, table.rows, inner, found)
    else:
        add_rounded(columns, values, k, short, count, table, state, inner, found)


@overload(add_to_table, inline="always")
def _add_to_table(columns, values, k, short, count, table, state, inner, found):  # noqa: ARG001
    # Told by the type: of a branch, both sides would be compiled.
    if short.dtype == types.float64:

        def chosen(columns, values, k, short, count, table, state, inner, found):  # noqa: ARG001
            add_exactly(values, k, short[0], count, table.rows, inner, found)
    else:

        def chosen(columns, values, k, short, count, table, state, inner, found):
            add_rounded(columns, values, k, short, count, table, state, inner, found)

    return chosen


# Below this size of a, v is rescaled by a remove_stale_files over all features: v grows as 1/a, and the mean of the
# iterates is a difference of terms of that size.
SMALLEST_FACTOR = 1e-4
# Share of the newest row in the running mean of squared excess.
EXCESS_RATE = 0.01


@inlined
def change_of_weights(k, score, step_size, options, state, change):
    """Write into `change` what block o = 1 - k of p gains in a step; return the excess of the score."""
    other = 1 - k
    rank = change.size - 1
    sums, products = state.code_sums[other], state.products[other]
    count = sums[rank]
    mean_score = products[rank] / count
    excess = score - mean_score - (2.0 * k - 1.0)
    damp, subtract = step_size / count, mean_score if options.centered else 0.0
    along = times(0.0, lanes_at(sums, 0))
    for c in range(0, change.size, LANES):
        # zero in the last place, where centered, but for rounding
        inner = plus(lanes_at(products, c), -subtract, lanes_at(sums, c))
        put_lanes(change, c, times(-damp, inner))
        along = plus(along, inner, lanes_at(sums, c))
    change[rank] = damp * excess
    if options.centered:
        change[rank] += damp * total(along) / count
    else:
        share = options.mean_share
        if share < 0.0:
            share = (inner_product(sums, sums) - count * count) / (count * count)
        change[rank] += damp * mean_score * share
    return excess


@borrowing
def curvature_bound(k, square, inner, alpha, state):
    """Return alpha + |x - mean|^2 + trace of the covariance, mean and (centered) covariance of the other class."""
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
    score = state.scalars[FACTOR] * dot + inner_product(state.coefficients[0], inner[0])
    score += inner_product(state.coefficients[1], inner[1])
    add_scaled(state.code_sums[k], 1.0, code)
    add_scaled(state.products[k], score, code)
    state.scalars[ROWS] += 1.0
    return score


@inlined
def plan_step(k, weight, score, square, inner, step_size, options, state, change):
    """Write the change of p into `change`; return the factor on w and the pull along the row.

    Nothing changes while the other class is unseen. `weight` is a factor on the
    gradient of the loss, not on alpha*w; a relative step is held at 1/curvature.
    """
    change[:] = 0.0
    if state.code_sums[1 - k, change.size - 1] == 0.0:
        return 1.0, 0.0
    scalars = state.scalars
    if options.relative:
        bound = curvature_bound(k, square, inner[1 - k], options.alpha, state)
        scalars[CURVATURE] = max(scalars[CURVATURE], bound)
        weight = min(weight, 1.0 / step_size)
        step_size /= scalars[CURVATURE]
    loss_step = weight * step_size
    excess = change_of_weights(k, score, loss_step, options, state, change)
    scalars[RECENT_EXCESS] += EXCESS_RATE * (excess * excess - scalars[RECENT_EXCESS])
    return 1.0 - step_size * options.alpha, loss_step * excess


@inlined
def move_coefficients(k, code, inner, square, keep, pull, change, out, state):
    """Take the step in a, p and q; `out` holds G[:, other] change."""
    other = 1 - k
    state.scalars[FACTOR] *= keep
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
    """Bring a back to one by a remove_stale_files over all features."""
    a, a_sum = state.scalars[FACTOR], state.scalars[FACTOR_SUM]
    for j in range(table.cards.shape[0]):
        table.cards[j, WEIGHT_SUM] += a_sum * table.cards[j, WEIGHT]
        table.cards[j, WEIGHT] *= a
    state.scalars[FACTOR] = 1.0
    state.scalars[FACTOR_SUM] = 0.0


@inlined
def add_to_mean(share, state):
    """Add the new iterate to the weighted sum of all."""
    state.scalars[FACTOR_SUM] += share * state.scalars[FACTOR]
    state.scalars[SHARE_SUM] += share
    for b in range(2):
        add_scaled(state.coefficient_sums[b], share, state.coefficients[b])


@borrowing
def learn_row(row, k, weight, step_size, share, options, table, state, work):
    """Take the step of one row (columns up to the end of all rows, values) of class k."""
    (columns, values), code, inner, out, change = row, work.code, work.inner, work.out, work.change
    # A card has no room to keep a weight.
    number = np.int64(state.scalars[ROWS] if weight == 1.0 else NUMBERS_END)
    dot, square, along, along_sum = visit_row(columns, values, k, number, table, state, work)
    score = enter_code(k, code, dot, inner, state)
    keep, pull = plan_step(k, weight, score, square, inner, step_size, options, state, change)
    update_grams(k, code, inner, square, change, state, out)
    move_coefficients(k, code, inner, square, keep, pull, change, out, state)
    if abs(state.scalars[FACTOR]) < SMALLEST_FACTOR:
        rescale(table, state)
    move = -(pull + keep * along) / state.scalars[FACTOR]
    move_sum = -(state.scalars[FACTOR_SUM] * move + along_sum)
    for at in range(values.size):
        table.cards[columns[at], WEIGHT] += move * values[at]
        table.cards[columns[at], WEIGHT_SUM] += move_sum * values[at]
    if state.code_sums[1 - k, code.size - 1] > 0.0:
        add_to_mean(share, state)


@inlined
def weigh_code(weight, code):
    """Multiply a code by the root of a row's weight, but its last entry, the one, by the weight.

    Sums of x code^T then have the class sum in their last column as before, and
    the product of the others with themselves is in the mean the weighted sum of x x^T.
    """
    last = code.size - 1
    for c in range(last):
        code[c] *= np.sqrt(weight)
    code[last] *= weight


@kernel
def sketch_pass(rows, labels, row_weights, codes, step_sizes, shares, options, table, state, work):
    """Run OPAUCr over sparse rows in order, updating `table` and `state` in place; `work` is scratch.

    `codes` holds one a row, or is empty: then they are drawn. A step of share s
    counts s times in the mean of the iterates. No `row_weights` means ones.
    """
    code = work.code
    for i in range(labels.size):
        number, begin, end = np.int64(state.scalars[ROWS]), rows.indptr[i], rows.indptr[i + 1]
        if codes.shape[0]:
            # One by one: to assign a whole array, numba compiles what would word the error of unequal lengths.
            for c in range(code.size):
                code[c] = codes[i, c]
        elif options.gaussian:
            write_gaussians(table.key[0], number, table.rank[0], code)
        else:
            write_signs(table.key[0], number, table.rank[0], code)
        weight = 1.0
        if row_weights.size:
            weight = row_weights[i]
            weigh_code(weight, code)
        row = rows.indices[begin:], rows.data[begin:end]
        learn_row(row, labels[i], weight, step_sizes[i], shares[i], options, table, state, work)
