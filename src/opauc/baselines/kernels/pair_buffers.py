"""Online AUC maximization against two reservoirs of rows, without touching the weights of a row's every feature.

A row of class k is compared with the rows b of the other class kept in their
buffer. As long as rows of one class come, the weights are w = v + sum of
pulls_b b, and the scores w.b are kept up to date through the inner products of
the buffered rows with each other and with the row: a move along one of them is
one sum of short vectors. When the class changes, the pulls are paid into v.
"""

from typing import NamedTuple

import numpy as np

from opauc.core.kernels.compile import borrowing, kernel
from opauc.core.kernels.lane_sums import add_scaled, inner_product
from opauc.core.kernels.random_signs import random_bits
from opauc.core.kernels.simd import LANES, lanes_at, minus, plus, put_lanes

# What stands where in `reach`.
SQUARES, BOUND = 0, 1


class PairBuffers(NamedTuple):
    """The weights and both reservoirs; index 0 is the negative class, 1 the positive.

    Vectors over a buffer have `width` places, its size rounded up to a
    multiple of LANES; what is beyond the rows kept is zero.
    """

    counts: np.ndarray  # (2,) weight of the rows of each class
    n_rows: np.ndarray  # (2,) their number
    weights: np.ndarray  # (d,) v
    sums: np.ndarray  # (d, 2) of the rows of each class, each times its weight
    indices: np.ndarray  # (2, size, longest row so far) uint32: an unsigned index is never counted from the end
    values: np.ndarray  # (2, size, longest row so far)
    lengths: np.ndarray  # (2, size) int64, entries of each row kept
    columns: np.ndarray  # (2, d, width) the rows kept once more, feature by feature; or (2, 0, width)
    grams: np.ndarray  # (2, width, width) inner products of the rows kept
    scores: np.ndarray  # (width,) of the rows in the buffer that is in use
    pulls: np.ndarray  # (width,) not yet paid into v
    in_use: np.ndarray  # (1,) int64, the class of that buffer; -1 before the first row
    key: np.ndarray  # (1,) uint64, of the random numbers
    reach: np.ndarray  # (2,) sum of squares of all values, and a bound of |w|


@kernel
def buffer_pass(rows, labels, row_weights, penalty, sequential, state):
    """Learn sparse rows in order, updating `state` in place; no `row_weights` means ones."""
    size, width = state.lengths.shape[1], state.scores.size
    products, within = np.zeros(width), np.zeros(width, np.int64)
    unpacked = np.zeros(0 if state.columns.shape[1] else state.weights.size)
    for i in range(labels.size):
        k, weight = labels[i], row_weights[i] if row_weights.size else 1.0
        begin, end = rows.indptr[i], rows.indptr[i + 1]
        data, indices = rows.data[begin:end], rows.indices[begin:end]
        if state.in_use[0] != 1 - k:
            pay_pulls(state, state.weights)
            state.pulls[:] = 0.0
            state.in_use[0] = 1 - k
            write_scores(1 - k, state)
        score, square = enter_row(data, indices, k, weight, state)
        slot = slot_of(state.key[0], k, state.n_rows[k], state.counts[k] / weight, size)
        if slot < size:
            replace_row(data, indices, k, slot, unpacked, products, state)
        kept = int(min(state.n_rows[1 - k], size))
        if kept == 0:
            continue
        write_products(data, indices, 1 - k, kept, unpacked, products, state)
        score += inner_product(state.pulls, products)
        # Each row kept stands for this much weight.
        stands = max(state.counts[1 - k] / size, state.counts[1 - k] / kept if kept < size else 0.0)
        most = 0.5 * penalty * weight * stands
        sign, gram = 2.0 * k - 1.0, state.grams[1 - k]
        if sequential:
            move = remove_stale_files(sign, score, square, kept, most, products, gram, state.scores, state.pulls)
        else:
            move = leap(sign, score, kept, most, products, gram, state.scores, state.pulls, within)
        for at in range(data.size):
            state.weights[indices[at]] += move * data[at]


@borrowing
def enter_row(data, indices, k, weight, state):
    """Count the row in and add it, times its weight, to the sums of its class; return v.x and |x|^2."""
    state.n_rows[k] += 1.0
    state.counts[k] += weight
    dot, square = 0.0, 0.0
    for at in range(data.size):
        x, j = np.float64(data[at]), indices[at]
        dot += state.weights[j] * x
        square += x * x
        state.sums[j, k] += weight * x
    return dot, square


@borrowing
def slot_of(key, k, number, places, size):
    """Return where row `number` of class k goes: the next slot, then any of `places`, of which `size` exist.

    `places` is the weight of all rows of the class over that of this one, so
    that a row is kept with a chance in proportion to its weight (Chao 1982).
    """
    if number <= size:
        return int(number) - 1
    share = np.float64(random_bits(key, int(number), k) >> np.uint64(11)) * 2.0**-53
    # A chance of places beyond 2^62 is none, and no whole number either.
    return int(share * min(max(places, np.float64(size)), 2.0**62))


@borrowing
def replace_row(data, indices, k, slot, unpacked, products, state):
    """Put the row into a slot of the buffer of class k, which is not in use."""
    columns = state.columns[k]
    if columns.shape[0]:
        for at in range(state.lengths[k, slot]):
            columns[state.indices[k, slot, at], slot] = 0.0
    state.lengths[k, slot] = data.size
    for at in range(data.size):
        state.indices[k, slot, at] = indices[at]
        state.values[k, slot, at] = data[at]
        if columns.shape[0]:
            columns[indices[at], slot] = data[at]
    kept = int(min(state.n_rows[k], state.lengths.shape[1]))
    write_products(data, indices, k, kept, unpacked, products, state)
    for b in range(kept):
        state.grams[k, slot, b] = products[b]
        state.grams[k, b, slot] = products[b]


@borrowing
def write_products(data, indices, k, kept, unpacked, products, state):
    """Write into `products` the inner products of a row with the rows kept of class k; `unpacked` is zero scratch."""
    products[:] = 0.0
    if state.columns.shape[1]:
        columns, whole = state.columns[k], data.size - data.size % 4
        for at in range(0, whole, 4):
            j0, j1, j2, j3 = indices[at], indices[at + 1], indices[at + 2], indices[at + 3]
            add_four(
                products, np.float64(data[at]), columns[j0], np.float64(data[at + 1]), columns[j1],
                np.float64(data[at + 2]), columns[j2], np.float64(data[at + 3]), columns[j3],
            )  # fmt: skip
        for at in range(whole, data.size):
            add_scaled(products, np.float64(data[at]), columns[indices[at]])
        return
    for at in range(data.size):
        unpacked[indices[at]] = data[at]
    for b in range(kept):
        products[b] = dot_with(k, b, unpacked, state)
    for at in range(data.size):
        unpacked[indices[at]] = 0.0


@borrowing
def dot_with(k, b, vector, state):
    """Return the inner product of row b kept of class k with a vector of all features."""
    indices, values = state.indices[k], state.values[k]
    dot = 0.0
    for at in range(state.lengths[k, b]):
        dot += values[b, at] * vector[indices[b, at]]
    return dot


@borrowing
def write_scores(k, state):
    """Write the scores of the rows kept of class k, with no pulls waiting."""
    state.scores[:] = 0.0
    for b in range(int(min(state.n_rows[k], state.lengths.shape[1]))):
        state.scores[b] = dot_with(k, b, state.weights, state)


@borrowing
def pay_pulls(state, weights):
    """Add to `weights` every row of the buffer in use times its pull."""
    k = state.in_use[0]
    if k < 0:
        return
    indices, values = state.indices[k], state.values[k]
    for b in range(state.lengths.shape[1]):
        pull = state.pulls[b]
        if pull != 0.0:
            for at in range(state.lengths[k, b]):
                weights[indices[b, at]] += pull * values[b, at]


@borrowing
def remove_stale_files(sign, score, square, kept, most, products, gram, scores, pulls):
    """Take one step for each pair in turn, none beyond its margin; return the sum of steps along the row."""
    moved = 0.0
    for b in range(kept):
        loss = 1.0 - sign * (score - scores[b])
        if loss > 0.0:
            # Of a row equal to a buffered one this is zero, if not less by rounding, and the step moves nothing.
            gap = square + gram[b, b] - 2.0 * products[b]
            # A branch, not a minimum: the next pair waits for this step, and a guess is faster than a division.
            step = sign * (most if loss > most * gap else loss / gap)
            score += step * (square - products[b])
            add_difference(scores, step, products, gram[b])
            pulls[b] -= step
            moved += step
    return moved


@borrowing
def add_difference(out, factor, one, other):
    """Add factor times (one - other) to `out`."""
    for c in range(0, out.size, LANES):
        put_lanes(out, c, plus(lanes_at(out, c), factor, minus(lanes_at(one, c), lanes_at(other, c))))


@borrowing
def leap(sign, score, kept, most, products, gram, scores, pulls, within):
    """Take one step for all pairs within the margin at once; return the sum of steps along the row.

    `within` is scratch for the numbers of those pairs.
    """
    step, count = sign * most, 0
    for b in range(kept):
        within[count] = b
        count += sign * (score - scores[b]) <= 1.0
    add_scaled(scores, step * count, products)
    for c in range(0, count - 3, 4):
        row0, row1, row2, row3 = gram[within[c]], gram[within[c + 1]], gram[within[c + 2]], gram[within[c + 3]]
        add_four(scores, -step, row0, -step, row1, -step, row2, -step, row3)
    for c in range(count - count % 4, count):
        add_scaled(scores, -step, gram[within[c]])
    for c in range(count):
        pulls[within[c]] -= step
    return step * count


@borrowing
def add_four(out, factor0, row0, factor1, row1, factor2, row2, factor3, row3):
    """Add four vectors, each times its factor, to `out`."""
    for c in range(0, out.size, LANES):
        sums = plus(plus(lanes_at(out, c), factor0, lanes_at(row0, c)), factor1, lanes_at(row1, c))
        put_lanes(out, c, plus(plus(sums, factor2, lanes_at(row2, c)), factor3, lanes_at(row3, c)))
