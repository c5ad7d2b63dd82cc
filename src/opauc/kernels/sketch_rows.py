"""Adding a sparse row to a feature table while reading its products with it."""

import numpy as np

from opauc.kernels.compile_kernel import kernel
from opauc.kernels.feature_table import find_rows


@kernel
def visit_row(columns, values, k, code, number, table, state, inner, scratch, found):
    """Add a sparse row to the table; return v.x, |x|^2 and what the addition changes in F p and F p_sum, per unit of x.

    Writes F^T x, before the addition, into `inner`.
    """
    inner[:] = 0.0
    along, along_sum = 0.0, 0.0
    for c in range(code.size):
        along += code[c] * state.coefficients[k, c]
        along_sum += code[c] * state.coefficient_sums[k, c]
    count, dot, square = find_rows(columns, values, 2 * number + k, table, inner, scratch, found)
    add_products(values, count, table.rows, inner, found)
    begin = k * code.size
    if table.rows.itemsize == 8:
        for t in range(count):
            x, near = values[found[1, t]], table.rows[found[0, t], begin : begin + code.size]
            for c in range(code.size):
                near[c] += x * code[c]
    else:
        for t in range(count):
            x, near = values[found[1, t]], table.rows[found[0, t], begin : begin + code.size]
            add_rounded(x, k, code, near, state, table.cards[columns[found[1, t]]])
    return dot, square, along, along_sum


@kernel
def add_products(values, count, rows, inner, found):
    """Add to `inner` (2, width) the sum of x times the row of each entry found, eight at a time."""
    out, at, entry = inner.reshape(inner.size), found[0], found[1]
    t = 0
    while t + 8 <= count:
        x0, x1, x2, x3 = values[entry[t]], values[entry[t + 1]], values[entry[t + 2]], values[entry[t + 3]]
        x4, x5, x6, x7 = values[entry[t + 4]], values[entry[t + 5]], values[entry[t + 6]], values[entry[t + 7]]
        r0, r1, r2, r3 = rows[at[t]], rows[at[t + 1]], rows[at[t + 2]], rows[at[t + 3]]
        r4, r5, r6, r7 = rows[at[t + 4]], rows[at[t + 5]], rows[at[t + 6]], rows[at[t + 7]]
        for c in range(out.size):
            four = (x0 * r0[c] + x1 * r1[c]) + (x2 * r2[c] + x3 * r3[c])
            out[c] += four + ((x4 * r4[c] + x5 * r5[c]) + (x6 * r6[c] + x7 * r7[c]))
        t += 8
    while t < count:
        x, row = values[entry[t]], rows[at[t]]
        for c in range(out.size):
            out[c] += x * row[c]
        t += 1


@kernel
def add_rounded(x, k, code, near, state, card):
    """Add x code to a float32 row, and what rounding took from F p and F p_sum to the card's v and u.

    w = a v + F p has to stay what it was, else it would drift with every rounded sum.
    """
    p, p_sum = state.coefficients[k], state.coefficient_sums[k]
    lost, lost_sum = 0.0, 0.0
    for c in range(code.size):
        old, step = np.float64(near[c]), x * code[c]
        near[c] = old + step
        error = (np.float64(near[c]) - old) - step
        lost += error * p[c]
        lost_sum += error * p_sum[c]
    move = -lost / state.scalars[0]
    card[0] += move
    card[1] -= state.scalars[1] * move + lost_sum
