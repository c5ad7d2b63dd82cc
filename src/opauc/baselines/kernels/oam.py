"""OAM against two reservoirs of rows, at a cost that does not depend on the number of features.

A row of class k is compared with the rows b of the other class in their
buffer. While rows of one class follow each other, the weights are
w = v + sum of pulls_b b. The scores w.b are updated from the inner products of
the buffered rows with each other and with the row, so a move along one of them
is one sum of short vectors. When the class changes, the pulls are added to v.
"""

from typing import NamedTuple

import numpy as np

from opauc.core.kernels.compile import borrowing, kernel
from opauc.core.kernels.lane_sums import add_scaled, inner_product
from opauc.core.kernels.random_signs import random_bits
from opauc.core.kernels.simd import LANES, lanes_at, minus, plus, put_lanes

# Positions in `reach`.
SQUARES, BOUND = 0, 1


class PairBuffers(NamedTuple):
    """The weights and both reservoirs; index 0 is the negative class, 1 the positive.

    Vectors over a buffer have length `width`, its size rounded up to a multiple
    of LANES; entries beyond the buffered rows are zero.
    """

    counts: np.ndarray  # (2,) total sample weight of each class
    n_rows: np.ndarray  # (2,) number of rows of each class
    weights: np.ndarray  # (d,) v
    sums: np.ndarray  # (d, 2) sums of the rows of each class, each times its sample weight
    indices: np.ndarray  # (2, size, longest row so far) uint32: an unsigned index is never counted from the end
    values: np.ndarray  # (2, size, longest row so far)
    lengths: np.ndarray  # (2, size) int64, non-zeros of each buffered row
    columns: np.ndarray  # (2, d, width) the buffered rows by feature; or (2, 0, width) where those would not fit
    grams: np.ndarray  # (2, width, width) inner products of the buffered rows
    scores: np.ndarray  # (width,) scores of the rows in the buffer in use
    pulls: np.ndarray  # (width,) coefficients of those rows, not yet added to v
    in_use: np.ndarray  # (1,) int64, class of the buffer in use; -1 before the first row
    key: np.ndarray  # (1,) uint64, key of the random numbers
    reach: np.ndarray  # (2,) sum of squares of all values, and a bound on |w|


@kernel
def buffer_pass(rows, labels, row_weights, penalty, sequential, state):
    """Update `state` in place with sparse rows in order; no `row_weights` means ones."""
    size, width = state.lengths.shape[1], state.scores.size
    products, within = np.zeros(width), np.zeros(width, np.int64)
    unpacked = np.zeros(0 if state.columns.shape[1] else state.weights.size)
    for i in range(labels.size):
        k, weight = labels[i], row_weights[i] if row_weights.size else 1.0
        begin, end = rows.indptr[i], rows.indptr[i + 1]
        data, indices = rows.data[begin:end], rows.indices[begin:end]
        if state.in_use[0] != 1 - k:
            add_pulls(state, state.weights)
            state.pulls[:] = 0.0
            state.in_use[0] = 1 - k
            write_scores(1 - k, state)
        score, square = enter_row(data, indices, k, weight, state)
        slot = slot_of(state.key[0], k, state.n_rows[k], state.counts[k] / weight, size)
        if slot < size:
            replace_row(data, indices, k, slot, unpacked, products, state)
        n_buffered = int(min(state.n_rows[1 - k], size))
        if n_buffered == 0:
            continue
        write_products(data, indices, 1 - k, n_buffered, unpacked, products, state)
        score += inner_product(state.pulls, products)
        # The sample weight that each buffered row represents.
        represented = max(state.counts[1 - k] / size, state.counts[1 - k] / n_buffered if n_buffered < size else 0.0)
        max_step = 0.5 * penalty * weight * represented
        sign, gram = 2.0 * k - 1.0, state.grams[1 - k]
        if sequential:
            move = sequential_steps(
                sign, score, square, n_buffered, max_step, products, gram, state.scores, state.pulls
            )
        else:
            move = gradient_step(sign, score, n_buffered, max_step, products, gram, state.scores, state.pulls, within)
        for at in range(data.size):
            state.weights[indices[at]] += move * data[at]


@borrowing
def enter_row(data, indices, k, weight, state):
    """Add the row to the counts and, times its sample weight, to the sums of its class; return v.x and |x|^2."""
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
def slot_of(key, k, number, n_slots, size):
    """Return the slot of row `number` of class k: the next free one, then a random one of `n_slots`.

    Only `size` of them exist: a row with a greater slot is not buffered.
    `n_slots` is the sample weight of all rows of the class over that of this
    one, so that a row is kept with probability proportional to its sample
    weight (Chao 1982).
    """
    if number <= size:
        return int(number) - 1
    share = np.float64(random_bits(key, int(number), k) >> np.uint64(11)) * 2.0**-53
    # Beyond 2^62 slots the probability is negligible, and the product may not fit an int64.
    return int(share * min(max(n_slots, np.float64(size)), 2.0**62))


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
    n_buffered = int(min(state.n_rows[k], state.lengths.shape[1]))
    write_products(data, indices, k, n_buffered, unpacked, products, state)
    for b in range(n_buffered):
        state.grams[k, slot, b] = products[b]
        state.grams[k, b, slot] = products[b]


@borrowing
def write_products(data, indices, k, n_buffered, unpacked, products, state):
    """Write into `products` the inner products of a row with the buffered rows of class k; `unpacked` is zero."""
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
    for b in range(n_buffered):
        products[b] = dot_with(k, b, unpacked, state)
    for at in range(data.size):
        unpacked[indices[at]] = 0.0


@borrowing
def dot_with(k, b, vector, state):
    """Return the inner product of the buffered row b of class k with a vector of all features."""
    indices, values = state.indices[k], state.values[k]
    dot = 0.0
    for at in range(state.lengths[k, b]):
        dot += values[b, at] * vector[indices[b, at]]
    return dot


@borrowing
def write_scores(k, state):
    """Write the scores of the buffered rows of class k; all pulls must be zero."""
    state.scores[:] = 0.0
    for b in range(int(min(state.n_rows[k], state.lengths.shape[1]))):
        state.scores[b] = dot_with(k, b, state.weights, state)


@borrowing
def add_pulls(state, weights):
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
def sequential_steps(sign, score, square, n_buffered, max_step, products, gram, scores, pulls):
    """Take one step for each pair in turn, none beyond its margin; return the sum of steps along the row."""
    moved = 0.0
    for b in range(n_buffered):
        loss = 1.0 - sign * (score - scores[b])
        if loss > 0.0:
            # Zero, or less by rounding, for a row equal to the buffered one; the step then moves nothing.
            gap = square + gram[b, b] - 2.0 * products[b]
            # A branch, not a minimum: the next pair depends on this step, and branch prediction beats a division.
            step = sign * (max_step if loss > max_step * gap else loss / gap)
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
def gradient_step(sign, score, n_buffered, max_step, products, gram, scores, pulls, within):
    """Take one step for all pairs within the margin at once; return the sum of steps along the row.

    `within` is scratch for the indices of those pairs.
    """
    step, count = sign * max_step, 0
    for b in range(n_buffered):
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
