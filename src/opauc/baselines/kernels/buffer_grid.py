"""Online AUC maximization with many penalties at once: the reservoirs and their inner products are kept only once.

What a penalty has of its own are weights, and scores and pulls of the rows
kept.
"""

from typing import NamedTuple

import numpy as np

from opauc.baselines.kernels.pair_buffers import leap, remove_stale_files, replace_row, slot_of, write_products
from opauc.baselines.kernels.weight_table import move_along, write_dots
from opauc.core.kernels.compile import borrowing, kernel
from opauc.core.kernels.lane_sums import inner_product


class PenaltyGrid(NamedTuple):
    """What each of P penalties has of its own; P is a multiple of LANES, and zeros at the end stand for none."""

    penalties: np.ndarray  # (P,)
    weights: np.ndarray  # (d, P) v of each
    scores: np.ndarray  # (P, width) of the rows in the buffer that is in use
    pulls: np.ndarray  # (P, width) not yet paid into v


@kernel
def buffer_grid_pass(rows, labels, sequential, buffers, grid):
    """Learn sparse rows in order with every penalty, updating `buffers`, but for its weights, and `grid` in place."""
    size, width = buffers.lengths.shape[1], buffers.scores.size
    products, within = np.zeros(width), np.zeros(width, np.int64)
    unpacked = np.zeros(0 if buffers.columns.shape[1] else grid.weights.shape[0])
    own, n_penalties = np.zeros(grid.penalties.size), np.count_nonzero(grid.penalties)
    for i in range(labels.size):
        k = labels[i]
        begin, end = rows.indptr[i], rows.indptr[i + 1]
        data, indices = rows.data[begin:end], rows.indices[begin:end]
        if buffers.in_use[0] != 1 - k:
            pay_all_pulls(buffers, grid, own)
            buffers.in_use[0] = 1 - k
            write_all_scores(buffers, grid, own)
        buffers.n_rows[k] += 1.0
        buffers.counts[k] += 1.0
        slot = slot_of(buffers.key[0], k, buffers.n_rows[k], buffers.counts[k], size)
        if slot < size:
            replace_row(data, indices, k, slot, unpacked, products, buffers)
        kept = int(min(buffers.n_rows[1 - k], size))
        if kept == 0:
            continue
        write_products(data, indices, 1 - k, kept, unpacked, products, buffers)
        square = write_dots(data, indices, grid.weights, own)
        sign, gram = 2.0 * k - 1.0, buffers.grams[1 - k]
        for c in range(n_penalties):
            scores, pulls = grid.scores[c], grid.pulls[c]
            score = own[c] + inner_product(pulls, products)
            most = 0.5 * grid.penalties[c] * max(1.0, buffers.counts[1 - k] / size)
            if sequential:
                own[c] = remove_stale_files(sign, score, square, kept, most, products, gram, scores, pulls)
            else:
                own[c] = leap(sign, score, kept, most, products, gram, scores, pulls, within)
        move_along(data, indices, own, grid.weights)


@borrowing
def pay_all_pulls(buffers, grid, own):
    """Add to the weights every row of the buffer in use times its pulls, then forget these; `own` is scratch."""
    k = buffers.in_use[0]
    if k < 0:
        return
    indices, values = buffers.indices[k], buffers.values[k]
    for b in range(buffers.lengths.shape[1]):
        pulled = False
        for c in range(own.size):
            own[c] = grid.pulls[c, b]
            pulled = pulled or own[c] != 0.0
        if pulled:
            length = buffers.lengths[k, b]
            move_along(values[b, :length], indices[b, :length], own, grid.weights)
    grid.pulls[:] = 0.0


@borrowing
def write_all_scores(buffers, grid, own):
    """Write the scores of the rows kept in the buffer in use, with no pulls waiting; `own` is scratch."""
    k = buffers.in_use[0]
    indices, values = buffers.indices[k], buffers.values[k]
    grid.scores[:] = 0.0
    for b in range(int(min(buffers.n_rows[k], buffers.lengths.shape[1]))):
        length = buffers.lengths[k, b]
        write_dots(values[b, :length], indices[b, :length], grid.weights, own)
        for c in range(own.size):
            grid.scores[c, b] = own[c]
