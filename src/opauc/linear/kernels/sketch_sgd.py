"""OPAUCr without forming the weights: the cost per row does not depend on the number of features.

F = [Z0 m0 | Z1 m1] has one line per feature: the sketch and the sum of each class.
The weights are kept as w = a v + F p, together with G = F^T F and q = F^T w. A row x
of class k adds x signs^T to block k of F. A step then needs only inner products
with the lines of F at the entries of x, and with vectors of the length of the signs.
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
    LINES_AHEAD,
    NUMBERS_END,
    RECENT_EXCESS,
    ROWS,
    SHARE_SUM,
    WEIGHT,
    WEIGHT_SUM,
    look_up,
    prefetch_line,
    store_early,
)


@borrowing
def visit_row(columns, values, k, number, table, state, workspace):
    """Add a sparse row to the table; return v.x, |x|^2 and the changes of F p and F p_sum per unit of x.

    Writes F^T x, with F before the addition, into `workspace.inner`.
    """
    signs, inner, short, entries = workspace.signs, workspace.inner, workspace.short, workspace.entries
    inner[:] = 0.0
    for c in range(signs.size):
        short[0, c], short[1, c], short[2, c] = signs[c], state.coefficients[k, c], state.coefficient_sums[k, c]
    along = inner_product(signs, state.coefficients[k])
    along_sum = inner_product(signs, state.coefficient_sums[k])
    count, dot, square = look_up(columns, values, table, entries)
    count = store_early(columns, values, count, k, number, table, inner, workspace)
    add_to_table(columns, values, k, short, count, table, state, inner, entries)
    return dot, square, along, along_sum


@inlined
def add_products(values, t, end, numbers, out, entries):
    """Add to `out` the sum of x times the line of each entry from t to `end`, at most eight."""
    at, entry, width = entries[0], entries[1], out.size
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
def add_exactly(values, k, signs, count, rows, inner, entries):
    """Add the products of the entries with their lines to `inner` (2, width), and x signs to the lines.

    Eight lines at a time: they are then still in the nearest cache when they are changed.
    """
    out, numbers = inner.reshape(inner.size), rows.reshape(rows.size)
    for t in range(0, count, 8):
        end = min(t + 8, count)
        add_products(values, t, end, numbers, out, entries)
        for s in range(t, end):
            if s + LINES_AHEAD < count:
                prefetch_line(rows, entries[0, s + LINES_AHEAD])
            x, near = values[entries[1, s]], entries[0, s] * out.size + k * signs.size
            for c in range(0, signs.size, LANES):
                put_lanes(numbers, near + c, plus(lanes_at(numbers, near + c), x, lanes_at(signs, c)))


@borrowing
def add_rounded(columns, values, k, short, count, table, state, inner, entries):
    """Do as `add_exactly` with float32 lines; add the rounding errors of F p and F p_sum to v and u of the records.

    Otherwise w = a v + F p would drift with every rounded sum. `short` holds the
    signs and block k of p and p_sum as float32.
    """
    out, numbers, records = inner.reshape(inner.size), table.rows.reshape(table.rows.size), table.records
    signs, p, p_sum = short[0], short[1], short[2]
    factor, factor_sum = state.scalars[FACTOR], state.scalars[FACTOR_SUM]
    for t in range(0, count, 8):
        end = min(t + 8, count)
        add_products(values, t, end, numbers, out, entries)
        for s in range(t, end):
            if s + LINES_AHEAD < count:
                prefetch_line(table.rows, entries[0, s + LINES_AHEAD])
            x, near, j = values[entries[1, s]], entries[0, s] * out.size + k * signs.size, columns[entries[1, s]]
            lost = lost_sum = times(0.0, lanes_at(signs, 0))
            for c in range(0, signs.size, LANES):
                old, step = lanes_at(numbers, near + c), lanes_at(signs, c)
                new = plus(old, x, step)
                put_lanes(numbers, near + c, new)
                error = plus(minus(new, old), -x, step)
                lost = plus(lost, lanes_at(p, c), error)
                lost_sum = plus(lost_sum, lanes_at(p_sum, c), error)
            move = -total(lost) / factor
            records[j, WEIGHT] += move
            records[j, WEIGHT_SUM] -= factor_sum * move + total(lost_sum)


def add_to_table(columns, values, k, short, count, table, state, inner, entries):
    """Call `add_exactly`, or `add_rounded` where the lines are float32."""
    if table.rows.itemsize == 8:
        add_exactly(values, k, short[0], count, table.rows, inner, entries)
    else:
        add_rounded(columns, values, k, short, count, table, state, inner, entries)


@overload(add_to_table, inline="always")
def _add_to_table(columns, values, k, short, count, table, state, inner, entries):  # noqa: ARG001
    # Dispatched by type: with a branch, both sides would be compiled.
    if short.dtype == types.float64:

        def chosen(columns, values, k, short, count, table, state, inner, entries):  # noqa: ARG001
            add_exactly(values, k, short[0], count, table.rows, inner, entries)
    else:

        def chosen(columns, values, k, short, count, table, state, inner, entries):
            add_rounded(columns, values, k, short, count, table, state, inner, entries)

    return chosen


# Below this size of a, v of all features is rescaled: v grows as 1/a, and the mean of the iterates is a difference of
# terms of that size.
SMALLEST_FACTOR = 1e-4
# Weight of the newest row in the running mean of the squared excess.
EXCESS_RATE = 0.01


@inlined
def change_of_weights(k, score, step_size, options, state, change):
    """Write into `change` the change of block 1 - k of p in a step; return the excess of the score."""
    other = 1 - k
    rank = change.size - 1
    sums, products = state.sign_sums[other], state.products[other]
    count = sums[rank]
    mean_score = products[rank] / count
    excess = score - mean_score - (2.0 * k - 1.0)
    damp, subtract = step_size / count, mean_score if options.centered else 0.0
    along = times(0.0, lanes_at(sums, 0))
    for c in range(0, change.size, LANES):
        # If centered, the last entry is zero up to rounding.
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
    """Return alpha + |x - mean|^2 + trace of the covariance, of the other class (centered)."""
    other = 1 - k
    gram, sums = state.own_grams[other], state.sign_sums[other]
    rank = sums.size - 1
    count = sums[rank]
    length = gram[rank, rank] / (count * count)
    trace = 0.0
    for c in range(rank):
        trace += gram[c, c] - 2.0 * sums[c] * gram[rank, c] / count + sums[c] * sums[c] * length
    return alpha + square - 2.0 * inner[rank] / count + length + max(trace, 0.0) / count


@borrowing
def update_grams(k, signs, inner, square, change, state, out):
    """Update the Gram matrices by the row and write G[:, other] change into `out`."""
    other = 1 - k
    symmetric_product(state.own_grams[other], change, out[other])
    add_symmetric(state.own_grams[k], signs, inner[k], square)
    if k == 1:
        add_to_rows(state.cross_gram, signs, inner[0], change, out[1])
    else:
        add_to_columns(state.cross_gram, inner[1], signs, change, out[0])


@inlined
def add_row_signs(k, signs, dot, inner, state):
    """Add the row to the sums after F has changed and before w does; return its score."""
    score = state.scalars[FACTOR] * dot + inner_product(state.coefficients[0], inner[0])
    score += inner_product(state.coefficients[1], inner[1])
    add_scaled(state.sign_sums[k], 1.0, signs)
    add_scaled(state.products[k], score, signs)
    state.scalars[ROWS] += 1.0
    return score


@inlined
def plan_step(k, weight, score, square, inner, step_size, options, state, change):
    """Write the change of p into `change`; return the factor on w and the step length along the row.

    Nothing changes before a row of the other class was seen. `weight` is a factor
    on the gradient of the loss, not on alpha*w; a relative step is at most
    1/curvature.
    """
    change[:] = 0.0
    if state.sign_sums[1 - k, change.size - 1] == 0.0:
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
def move_coefficients(k, signs, inner, square, keep, pull, change, out, state):
    """Take the step in a, p and q; `out` holds G[:, other] change."""
    other = 1 - k
    state.scalars[FACTOR] *= keep
    add_scaled(inner[k], square, signs)
    for b in range(2):
        moved, gained, along, coefficients = state.products[b], out[b], inner[b], state.coefficients[b]
        for c in range(0, signs.size, LANES):
            gain = plus(lanes_at(gained, c), -pull, lanes_at(along, c))
            put_lanes(moved, c, plus(gain, keep, lanes_at(moved, c)))
            put_lanes(coefficients, c, times(keep, lanes_at(coefficients, c)))
    add_scaled(state.coefficients[other], 1.0, change)


@borrowing
def rescale(table, state):
    """Set a to one by multiplying v of all features by it."""
    a, a_sum = state.scalars[FACTOR], state.scalars[FACTOR_SUM]
    for j in range(table.records.shape[0]):
        table.records[j, WEIGHT_SUM] += a_sum * table.records[j, WEIGHT]
        table.records[j, WEIGHT] *= a
    state.scalars[FACTOR] = 1.0
    state.scalars[FACTOR_SUM] = 0.0


@inlined
def add_to_mean(share, state):
    """Add the new iterate to the weighted sum of iterates."""
    state.scalars[FACTOR_SUM] += share * state.scalars[FACTOR]
    state.scalars[SHARE_SUM] += share
    for b in range(2):
        add_scaled(state.coefficient_sums[b], share, state.coefficients[b])


@borrowing
def train_on_row(row, k, weight, step_size, share, options, table, state, workspace):
    """Take the step of one row (columns up to the end of all rows, values) of class k."""
    (columns, values), signs, inner, out, change = (
        row,
        workspace.signs,
        workspace.inner,
        workspace.out,
        workspace.change,
    )
    # A record cannot store a row weight.
    number = np.int64(state.scalars[ROWS] if weight == 1.0 else NUMBERS_END)
    dot, square, along, along_sum = visit_row(columns, values, k, number, table, state, workspace)
    score = add_row_signs(k, signs, dot, inner, state)
    keep, pull = plan_step(k, weight, score, square, inner, step_size, options, state, change)
    update_grams(k, signs, inner, square, change, state, out)
    move_coefficients(k, signs, inner, square, keep, pull, change, out, state)
    if abs(state.scalars[FACTOR]) < SMALLEST_FACTOR:
        rescale(table, state)
    move = -(pull + keep * along) / state.scalars[FACTOR]
    move_sum = -(state.scalars[FACTOR_SUM] * move + along_sum)
    for at in range(values.size):
        table.records[columns[at], WEIGHT] += move * values[at]
        table.records[columns[at], WEIGHT_SUM] += move_sum * values[at]
    if state.sign_sums[1 - k, signs.size - 1] > 0.0:
        add_to_mean(share, state)


@inlined
def weight_signs(weight, signs):
    """Multiply the signs by the square root of the row's weight, and the final one by the weight.

    The last column of the sum of x signs^T is then the weighted class sum, and
    the other columns Z satisfy E[Z Z^T] = weighted sum of x x^T.
    """
    last = signs.size - 1
    for c in range(last):
        signs[c] *= np.sqrt(weight)
    signs[last] *= weight


@kernel
def sketch_pass(rows, labels, row_weights, sign_rows, step_sizes, shares, options, table, state, workspace):
    """Run OPAUCr over sparse rows in order, updating `table` and `state` in place; `workspace` is scratch.

    `sign_rows` has the signs of each row, or is empty: then they are generated.
    The iterate of a step of share s has weight s in the mean of the iterates.
    Empty `row_weights` mean ones.
    """
    signs = workspace.signs
    for i in range(labels.size):
        number, begin, end = np.int64(state.scalars[ROWS]), rows.indptr[i], rows.indptr[i + 1]
        if sign_rows.shape[0]:
            # Entry by entry: assigning a whole array makes numba compile its error message for unequal lengths.
            for c in range(signs.size):
                signs[c] = sign_rows[i, c]
        elif options.gaussian:
            write_gaussians(table.key[0], number, table.rank[0], signs)
        else:
            write_signs(table.key[0], number, table.rank[0], signs)
        weight = 1.0
        if row_weights.size:
            weight = row_weights[i]
            weight_signs(weight, signs)
        row = rows.indices[begin:], rows.data[begin:end]
        train_on_row(row, labels[i], weight, step_sizes[i], shares[i], options, table, state, workspace)
