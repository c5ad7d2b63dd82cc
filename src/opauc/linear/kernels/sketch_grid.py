"""OPAUCr for a grid of (step size, penalty) pairs in one pass.

All pairs share the sketch F, the random signs and the Gram matrix F^T F. As in
`kernels.sketch_sgd`, the weights of a pair are w = a v + F p, with q = F^T w; a
step of all pairs is a product of the Gram matrix with a panel. Only v has one
number per pair and feature, and a row reads and writes v only at its entries.
When the factor a of a pair gets too small, v has to be multiplied by it. That is
done lazily, feature by feature at its next entry: `touched` and `epochs` record
which features still have to be multiplied.
"""

from typing import NamedTuple

import numpy as np

from opauc.core.kernels.compile import borrowing, inlined, kernel
from opauc.core.kernels.random_signs import write_signs
from opauc.linear.kernels.grid import BEYOND, STEPS, CandidateRace, compare, deactivate, n_rows_seen
from opauc.linear.kernels.panel_product import PANEL, block_times_panel, move_column, row_times_panel
from opauc.linear.kernels.sketch_sgd import weight_signs

# Below this size of a, v is rescaled, because it grows as 1/a. Entries from before the last two rescalings are below
# rounding and count as zero.
SMALLEST_FACTOR = 1e-100
# Rows of `epochs`. Times are those of `touched`.
SINCE = 0  # time of the last rescaling
BEFORE = 1  # time of the rescaling before it
SHRUNK = 2  # value of a at the last rescaling


class SketchGridState(NamedTuple):
    """State of the pass; class index 0 is negative, 1 positive.

    Coefficients and products are indexed by column (`race.order` gives the
    pair); tails, factors and epochs by pair. v_j of a pair is its tail if feature
    j was touched after SINCE, SHRUNK times its tail if it was touched after
    BEFORE, else zero.
    """

    table: np.ndarray  # (d, 2 * width) F: the sketch of class 0, then of class 1, each with the class sum last
    tails: np.ndarray  # (d, columns) v
    touched: np.ndarray  # (d,) 2t + 1 for the last row t, from 1, with this feature
    factors: np.ndarray  # (columns,) a
    epochs: np.ndarray  # (3, columns)
    coefficients: np.ndarray  # (panels, 2 * width, PANEL) p
    products: np.ndarray  # (panels, 2 * width, PANEL) q
    gram: np.ndarray  # (2 * width, 2 * width) F^T F
    sign_sums: np.ndarray  # (2, width) sums of signs; the last entry is the total weight of the rows
    key: np.ndarray  # (1,) uint64, of the random signs
    race: CandidateRace


class SketchGridWorkspace(NamedTuple):
    """Scratch arrays for one row, and the hyper-parameters of each column."""

    signs: np.ndarray  # (width,)
    inner: np.ndarray  # (2 * width,) F^T x
    tail_scores: np.ndarray  # (columns,) v.x per pair
    scores: np.ndarray  # (columns,)
    along: np.ndarray  # (columns,) signs.p, p of the row's class
    excess: np.ndarray  # (columns,)
    moves: np.ndarray  # (columns,) step of v along the row, per pair
    fades: np.ndarray  # (columns,) factor on v before the step, per pair
    change: np.ndarray  # (width * PANEL,) change of the coefficients of the other class
    gain: np.ndarray  # (2 * width * PANEL,) Gram matrix times `change`
    etas: np.ndarray  # (columns,) step sizes
    keeps: np.ndarray  # (columns,) 1 - step size * penalty


@inlined
def apply_missed_factors(tail, touched, epochs):
    """Multiply the tail of a feature, one number per pair, by the factors it has missed since it was touched."""
    for pair in range(tail.size):
        if touched <= epochs[SINCE, pair]:
            tail[pair] *= epochs[SHRUNK, pair] if touched > epochs[BEFORE, pair] else 0.0


@borrowing
def visit_entries(data, indices, k, reach, state, workspace):
    """Add a sparse row of class k to the table; write v.x and F^T x (F before the addition); return |x|^2."""
    width, square = workspace.signs.size, 0.0
    inner, tail_scores, epochs = workspace.inner, workspace.tail_scores[:reach], state.epochs
    newest = -1.0
    for pair in range(reach):
        newest = max(newest, epochs[SINCE, pair])
    inner[:] = 0.0
    tail_scores[:] = 0.0
    for at in range(data.size):
        x, j = np.float64(data[at]), indices[at]
        row, tail = state.table[j], state.tails[j, :reach]
        if state.touched[j] <= newest:
            apply_missed_factors(tail, state.touched[j], epochs)
        for c in range(inner.size):
            inner[c] += x * row[c]
        own = row[k * width : (k + 1) * width]
        for c in range(width):
            own[c] += x * workspace.signs[c]
        for pair in range(reach):
            tail_scores[pair] += x * tail[pair]
        square += x * x
    return square


@borrowing
def add_row_signs(k, square, state, workspace):
    """Add the row's signs to the sums and update the Gram matrix to the new table."""
    signs, width = workspace.signs, workspace.signs.size
    for c in range(width):
        state.sign_sums[k, c] += signs[c]
    own, other = slice(k * width, (k + 1) * width), slice((1 - k) * width, (2 - k) * width)
    near, far = workspace.inner[own], workspace.inner[other]
    for c in range(width):
        row, cross = state.gram[k * width + c], state.gram[(1 - k) * width + c, own]
        mine, theirs, one, two, three = row[own], row[other], signs[c], near[c] + square * signs[c], far[c]
        for e in range(width):
            mine[e] += two * signs[e] + one * near[e]
            theirs[e] += one * far[e]
            cross[e] += three * signs[e]


@borrowing
def score_columns(k, state, workspace):
    """Write the score and the excess of each active column, and the change of F p caused by the new row."""
    width, active, order = workspace.signs.size, state.race.active[0], state.race.order
    own, last = slice(k * width, (k + 1) * width), (2 - k) * width - 1
    count = max(state.sign_sums[1 - k, width - 1], 1e-300)
    for p in range((active + PANEL - 1) // PANEL):
        row_times_panel(workspace.inner, state.coefficients[p].reshape(-1), workspace.scores, p * PANEL)
        row_times_panel(workspace.signs, state.coefficients[p, own].reshape(-1), workspace.along, p * PANEL)
    for c in range(active):
        workspace.scores[c] += state.factors[order[c]] * workspace.tail_scores[order[c]]
        mean_score = state.products[c // PANEL, last, c % PANEL] / count
        workspace.excess[c] = workspace.scores[c] - mean_score - (2.0 * k - 1.0)


@borrowing
def drop_diverged(state, workspace):
    """Deactivate diverged columns; the last active column moves into the place of each."""
    c = state.race.active[0] - 1
    while c >= 0:
        # Also true where the excess is NaN.
        if not abs(workspace.excess[c]) <= BEYOND:
            workspace.moves[state.race.order[c]], workspace.fades[state.race.order[c]] = 0.0, 1.0
            last = deactivate(c, state.race)
            move_column(state.coefficients, c, last)
            move_column(state.products, c, last)
            for part in (workspace.excess, workspace.scores, workspace.along):
                part[c] = part[last]
                part[last] = 0.0
            for part in (workspace.etas, workspace.keeps):
                part[c] = part[last]
        c -= 1


@borrowing
def plan_change(k, weight, p, state, workspace):
    """Write into `workspace.change` the change of the other class's coefficients in a step, for panel p."""
    width, other = workspace.signs.size, 1 - k
    sums, products = state.sign_sums[other], state.products[p, other * width : (other + 1) * width]
    etas, excess, count = workspace.etas[p * PANEL : (p + 1) * PANEL], workspace.excess[p * PANEL :], sums[width - 1]
    mean, final = products[width - 1], workspace.change[(width - 1) * PANEL :]
    final[:] = 0.0
    for r in range(width - 1):
        product, change, s = products[r], workspace.change[r * PANEL : (r + 1) * PANEL], sums[r]
        for c in range(PANEL):
            centered = product[c] - s * mean[c] / count
            change[c] = -weight * etas[c] / count * centered
            final[c] += s * centered
    for c in range(PANEL):
        final[c] = weight * etas[c] / count * (excess[c] + final[c] / count)


@borrowing
def move_panel(k, weight, square, p, state, workspace):
    """Take the step in the coefficients and the products of panel p."""
    width, columns = workspace.signs.size, slice(p * PANEL, (p + 1) * PANEL)
    coefficients, products = state.coefficients[p], state.products[p]
    scores, keeps, etas, excess = (
        workspace.scores[columns],
        workspace.keeps[columns],
        workspace.etas[columns],
        workspace.excess[columns],
    )
    for r in range(width):
        product, one = products[k * width + r], workspace.signs[r]
        for c in range(PANEL):
            product[c] += one * scores[c]
    plan_change(k, weight, p, state, workspace)
    block_times_panel(state.gram, (1 - k) * width, width, workspace.change, workspace.gain)
    for r in range(2 * width):
        along = workspace.inner[r]
        if r // width == k:
            along += square * workspace.signs[r - k * width]
        product, part, gain = products[r], coefficients[r], workspace.gain[r * PANEL : (r + 1) * PANEL]
        for c in range(PANEL):
            product[c] = keeps[c] * product[c] - weight * etas[c] * excess[c] * along + gain[c]
            part[c] *= keeps[c]
    for r in range(width):
        part, change = coefficients[(1 - k) * width + r], workspace.change[r * PANEL : (r + 1) * PANEL]
        for c in range(PANEL):
            part[c] += change[c]


@borrowing
def plan_moves(weight, now, state, workspace):
    """Update the factors and write the step of the tails along the row; return whether any pair was rescaled."""
    rescaled = False
    for c in range(state.race.active[0]):
        pair = state.race.order[c]
        factor = state.factors[pair] * workspace.keeps[c]
        workspace.fades[pair] = 1.0
        if abs(factor) < SMALLEST_FACTOR:
            epochs, rescaled, workspace.fades[pair] = state.epochs, True, factor
            epochs[BEFORE, pair], epochs[SINCE, pair], epochs[SHRUNK, pair] = epochs[SINCE, pair], 2.0 * now, factor
            factor = 1.0
        state.factors[pair] = factor
        workspace.moves[pair] = (
            -(weight * workspace.etas[c] * workspace.excess[c] + workspace.keeps[c] * workspace.along[c]) / factor
        )
    return rescaled


@borrowing
def move_tails(data, indices, now, rescaled, reach, state, workspace):
    """Add the row times the step of each pair to the tails."""
    moves, fades = workspace.moves[:reach], workspace.fades[:reach]
    for at in range(data.size):
        x, j = np.float64(data[at]), indices[at]
        tail = state.tails[j, :reach]
        state.touched[j] = 2.0 * now + 1.0
        if rescaled:
            for pair in range(reach):
                tail[pair] *= fades[pair]
        for pair in range(reach):
            tail[pair] += x * moves[pair]


@inlined
def active_reach(race):
    """Return one more than the largest number of an active pair."""
    reach = 0
    for c in range(race.active[0]):
        reach = max(reach, race.order[c] + 1)
    return reach


@borrowing
def train_on_row(data, indices, k, weight, state, workspace):
    """Score a row, compare it, and take a step of every active pair."""
    race = state.race
    race.progress[k] += 1.0
    now, reach = n_rows_seen(race), active_reach(race)
    square = visit_entries(data, indices, k, reach, state, workspace)
    add_row_signs(k, square, state, workspace)
    score_columns(k, state, workspace)
    drop_diverged(state, workspace)
    compare(k, weight, race, workspace.scores)
    rescaled = False
    if state.sign_sums[1 - k, workspace.signs.size - 1] > 0.0:
        for p in range((race.active[0] + PANEL - 1) // PANEL):
            move_panel(k, weight, square, p, state, workspace)
        rescaled = plan_moves(weight, now, state, workspace)
        race.progress[STEPS] += 1.0
    move_tails(data, indices, now, rescaled, reach, state, workspace)


@borrowing
def drop_overflowed(state, workspace):
    """Deactivate columns with infinite or NaN weights: `drop_diverged` would do so only at the next row."""
    for c in range(state.race.active[0]):
        workspace.excess[c] = 0.0
        for r in range(state.gram.shape[0]):
            at, place = c // PANEL, c % PANEL
            workspace.excess[c] += 0.0 * (state.coefficients[at, r, place] + state.products[at, r, place])
    drop_diverged(state, workspace)


@kernel
def sketch_grid_pass(rows, labels, row_weights, etas, alphas, rank, state):
    """Run OPAUCr of every pair over sparse rows in order, updating `state` in place; empty `row_weights` mean ones."""
    width, columns = state.sign_sums.shape[1], state.factors.size
    workspace = SketchGridWorkspace(
        np.zeros(width), np.zeros(2 * width), np.zeros(columns), np.zeros(columns), np.zeros(columns),
        np.zeros(columns), np.zeros(columns), np.ones(columns), np.zeros(width * PANEL), np.zeros(2 * width * PANEL),
        np.zeros(columns), np.zeros(columns),
    )  # fmt: skip
    for c in range(state.race.order.size):
        pair = state.race.order[c]
        workspace.etas[c], workspace.keeps[c] = etas[pair], 1.0 - etas[pair] * alphas[pair]
    for i in range(labels.size):
        write_signs(state.key[0], np.int64(n_rows_seen(state.race)), rank, workspace.signs)
        weight = 1.0
        if row_weights.size:
            weight = row_weights[i]
            weight_signs(weight, workspace.signs)
        begin, end = rows.indptr[i], rows.indptr[i + 1]
        train_on_row(rows.data[begin:end], rows.indices[begin:end], int(labels[i]), weight, state, workspace)
    drop_overflowed(state, workspace)
