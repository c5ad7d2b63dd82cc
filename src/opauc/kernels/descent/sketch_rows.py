"""Adding a sparse row to a feature table while reading its products with it."""

from numba import types
from numba.extending import overload

from opauc.kernels.compile_kernel import borrowing, inlined
from opauc.kernels.descent.feature_table import ROWS_AHEAD, WEIGHT, WEIGHT_SUM, enter_early, fetch_row, look_up
from opauc.kernels.descent.sketch_weights import FACTOR, FACTOR_SUM
from opauc.kernels.simd.lane_sums import inner_product
from opauc.kernels.simd.lanes import LANES, lanes_at, minus, plus, put_lanes, times, total, widened


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
