"""OPAUCr for a grid of step sizes and penalties at once: sketch, codes and Gram matrix are shared by all pairs.

The weights of a pair are kept as in `sketch_descent`, w = a v + F p with
q = F^T w; a step of all pairs is a product of the Gram matrix with a panel.
Only v has a number for each pair and feature, and a row reads and writes it at
its entries alone. What a shrinks by is a factor on all of v: v is brought back
feature by feature when each is next met, which `touched` and `epochs` tell.
"""

from typing import NamedTuple

import numpy as np

from opauc.core.kernels.compile import borrowing, inlined, kernel
from opauc.core.kernels.random_signs import write_signs
from opauc.linear.kernels.grid import BEYOND, STEPS, Contest, compare, withdraw
from opauc.linear.kernels.panel_product import PANEL, block_times_panel, move_column, row_times_panel
from opauc.linear.kernels.sketch_sgd import weigh_code

# Below this size of a, v begins anew: it grows as 1/a. What is older than that by as much again has faded to nothing.
SMALLEST_FACTOR = 1e-100
# What stands where in `epochs`: when v last began anew and when before, in times of `touched`; a at the last of them.
SINCE, BEFORE, SHRUNK = 0, 1, 2


class SketchGridState(NamedTuple):
    """What the pass reads and writes; index 0 is the negative class, 1 the positive.

    Coefficients and products go by columns, of which `contest` says the pair;
    tails, factors and epochs by the number of the pair. v_j of a pair is its
    tail, times SHRUNK where feature j was not touched after SINCE, nothing
    where not after BEFORE.
    """

    table: np.ndarray  # (d, 2 * width) F: the sketches of the classes side by side, their sums last
    tails: np.ndarray  # (d, columns) v
    touched: np.ndarray  # (d,) 2t + 1 for the last row t, from 1, with an entry there
    factors: np.ndarray  # (columns,) a
    epochs: np.ndarray  # (3, columns)
    coefficients: np.ndarray  # (panels, 2 * width, PANEL) p
    products: np.ndarray  # (panels, 2 * width, PANEL) q
    gram: np.ndarray  # (2 * width, 2 * width) F^T F
    code_sums: np.ndarray  # (2, width) the last is the weight of the rows
    key: np.ndarray  # (1,) uint64, of the codes
    contest: Contest


class SketchDesk(NamedTuple):
    """Scratch for one row, and the settings of each column."""

    code: np.ndarray  # (width,)
    inner: np.ndarray  # (2 * width,) F^T x
    met: np.ndarray  # (columns,) v.x, by pair
    scores: np.ndarray  # (columns,)
    along: np.ndarray  # (columns,) code.p of the row's class
    excess: np.ndarray  # (columns,)
    moves: np.ndarray  # (columns,) how far v goes along the row, by pair
    fades: np.ndarray  # (columns,) what v is multiplied by first, by pair
    change: np.ndarray  # (width * PANEL,) of the coefficients of the other class
    gain: np.ndarray  # (2 * width * PANEL,) the Gram matrix times it
    etas: np.ndarray  # (columns,) step sizes
    keeps: np.ndarray  # (columns,) 1 - step size * penalty


@inlined
def bring_back(tail, touched, epochs):
    """Multiply the tail of a feature, one number a pair, by what the factors have shrunk since it was touched."""
    for pair in range(tail.size):
        if touched <= epochs[SINCE, pair]:
            tail[pair] *= epochs[SHRUNK, pair] if touched > epochs[BEFORE, pair] else 0.0


@borrowing
def visit_entries(data, indices, k, reach, state, desk):
    """Add a sparse row of class k to the table; write F^T x, before that, and v.x; return |x|^2."""
    width, square = desk.code.size, 0.0
    inner, met, epochs = desk.inner, desk.met[:reach], state.epochs
    newest = -1.0
    for pair in range(reach):
        newest = max(newest, epochs[SINCE, pair])
    inner[:] = 0.0
    met[:] = 0.0
    for at in range(data.size):
        x, j = np.float64(data[at]), indices[at]
        row, tail = state.table[j], state.tails[j, :reach]
        if state.touched[j] <= newest:
            bring_back(tail, state.touched[j], epochs)
        for c in range(inner.size):
            inner[c] += x * row[c]
        own = row[k * width : (k + 1) * width]
        for c in range(width):
            own[c] += x * desk.code[c]
        for pair in range(reach):
            met[pair] += x * tail[pair]
        square += x * x
    return square


@borrowing
def enter_code(k, square, state, desk):
    """Add the row's code to the sums and to the Gram matrix, as the table has changed."""
    code, width = desk.code, desk.code.size
    for c in range(width):
        state.code_sums[k, c] += code[c]
    own, other = slice(k * width, (k + 1) * width), slice((1 - k) * width, (2 - k) * width)
    near, far = desk.inner[own], desk.inner[other]
    for c in range(width):
        row, cross = state.gram[k * width + c], state.gram[(1 - k) * width + c, own]
        mine, theirs, one, two, three = row[own], row[other], code[c], near[c] + square * code[c], far[c]
        for e in range(width):
            mine[e] += two * code[e] + one * near[e]
            theirs[e] += one * far[e]
            cross[e] += three * code[e]


@borrowing
def score_columns(k, state, desk):
    """Write the score and the excess of each active column, and what the row changes in F p."""
    width, active, order = desk.code.size, state.contest.active[0], state.contest.order
    own, last = slice(k * width, (k + 1) * width), (2 - k) * width - 1
    count = max(state.code_sums[1 - k, width - 1], 1e-300)
    for p in range((active + PANEL - 1) // PANEL):
        row_times_panel(desk.inner, state.coefficients[p].reshape(-1), desk.scores, p * PANEL)
        row_times_panel(desk.code, state.coefficients[p, own].reshape(-1), desk.along, p * PANEL)
    for c in range(active):
        desk.scores[c] += state.factors[order[c]] * desk.met[order[c]]
        mean_score = state.products[c // PANEL, last, c % PANEL] / count
        desk.excess[c] = desk.scores[c] - mean_score - (2.0 * k - 1.0)


@borrowing
def drop_diverged(state, desk):
    """Take the columns that have diverged out of the active ones; the last active column moves into each gap."""
    c = state.contest.active[0] - 1
    while c >= 0:
        # False of a number that is none, too.
        if not abs(desk.excess[c]) <= BEYOND:
            desk.moves[state.contest.order[c]], desk.fades[state.contest.order[c]] = 0.0, 1.0
            last = withdraw(c, state.contest)
            move_column(state.coefficients, c, last)
            move_column(state.products, c, last)
            for part in (desk.excess, desk.scores, desk.along):
                part[c] = part[last]
                part[last] = 0.0
            for part in (desk.etas, desk.keeps):
                part[c] = part[last]
        c -= 1


@borrowing
def plan_change(k, weight, p, state, desk):
    """Write into `desk.change` what the coefficients of the other class gain in a step, for panel p."""
    width, other = desk.code.size, 1 - k
    sums, products = state.code_sums[other], state.products[p, other * width : (other + 1) * width]
    etas, excess, count = desk.etas[p * PANEL : (p + 1) * PANEL], desk.excess[p * PANEL :], sums[width - 1]
    mean, final = products[width - 1], desk.change[(width - 1) * PANEL :]
    final[:] = 0.0
    for r in range(width - 1):
        product, change, s = products[r], desk.change[r * PANEL : (r + 1) * PANEL], sums[r]
        for c in range(PANEL):
            centered = product[c] - s * mean[c] / count
            change[c] = -weight * etas[c] / count * centered
            final[c] += s * centered
    for c in range(PANEL):
        final[c] = weight * etas[c] / count * (excess[c] + final[c] / count)


@borrowing
def move_panel(k, weight, square, p, state, desk):
    """Take the step in the coefficients and the products of panel p."""
    width, columns = desk.code.size, slice(p * PANEL, (p + 1) * PANEL)
    coefficients, products = state.coefficients[p], state.products[p]
    scores, keeps, etas, excess = desk.scores[columns], desk.keeps[columns], desk.etas[columns], desk.excess[columns]
    for r in range(width):
        product, one = products[k * width + r], desk.code[r]
        for c in range(PANEL):
            product[c] += one * scores[c]
    plan_change(k, weight, p, state, desk)
    block_times_panel(state.gram, (1 - k) * width, width, desk.change, desk.gain)
    for r in range(2 * width):
        along = desk.inner[r]
        if r // width == k:
            along += square * desk.code[r - k * width]
        product, part, gain = products[r], coefficients[r], desk.gain[r * PANEL : (r + 1) * PANEL]
        for c in range(PANEL):
            product[c] = keeps[c] * product[c] - weight * etas[c] * excess[c] * along + gain[c]
            part[c] *= keeps[c]
    for r in range(width):
        part, change = coefficients[(1 - k) * width + r], desk.change[r * PANEL : (r + 1) * PANEL]
        for c in range(PANEL):
            part[c] += change[c]


@borrowing
def plan_moves(weight, now, state, desk):
    """Shrink the factors and write by pair how far the tails go along the row; return whether any begins anew."""
    anew = False
    for c in range(state.contest.active[0]):
        pair = state.contest.order[c]
        factor = state.factors[pair] * desk.keeps[c]
        desk.fades[pair] = 1.0
        if abs(factor) < SMALLEST_FACTOR:
            epochs, anew, desk.fades[pair] = state.epochs, True, factor
            epochs[BEFORE, pair], epochs[SINCE, pair], epochs[SHRUNK, pair] = epochs[SINCE, pair], 2.0 * now, factor
            factor = 1.0
        state.factors[pair] = factor
        desk.moves[pair] = -(weight * desk.etas[c] * desk.excess[c] + desk.keeps[c] * desk.along[c]) / factor
    return anew


@borrowing
def move_tails(data, indices, now, anew, reach, state, desk):
    """Add the row, times the move of each pair, to the tails."""
    moves, fades = desk.moves[:reach], desk.fades[:reach]
    for at in range(data.size):
        x, j = np.float64(data[at]), indices[at]
        tail = state.tails[j, :reach]
        state.touched[j] = 2.0 * now + 1.0
        if anew:
            for pair in range(reach):
                tail[pair] *= fades[pair]
        for pair in range(reach):
            tail[pair] += x * moves[pair]


@inlined
def reach_of(contest):
    """Return the number after that of the last pair in the running."""
    reach = 0
    for c in range(contest.active[0]):
        reach = max(reach, contest.order[c] + 1)
    return reach


@borrowing
def learn_row(data, indices, k, weight, state, desk):
    """Score a row, compare it, and take the step of every pair that has not diverged."""
    contest = state.contest
    contest.progress[k] += 1.0
    now, reach = contest.progress[0] + contest.progress[1], reach_of(contest)
    square = visit_entries(data, indices, k, reach, state, desk)
    enter_code(k, square, state, desk)
    score_columns(k, state, desk)
    drop_diverged(state, desk)
    compare(k, weight, contest, desk.scores)
    anew = False
    if state.code_sums[1 - k, desk.code.size - 1] > 0.0:
        for p in range((contest.active[0] + PANEL - 1) // PANEL):
            move_panel(k, weight, square, p, state, desk)
        anew = plan_moves(weight, now, state, desk)
        contest.progress[STEPS] += 1.0
    move_tails(data, indices, now, anew, reach, state, desk)


@borrowing
def drop_overflown(state, desk):
    """Take out the columns that the last row drove beyond all numbers: the next row would, and may never come."""
    for c in range(state.contest.active[0]):
        desk.excess[c] = 0.0
        for r in range(state.gram.shape[0]):
            at, place = c // PANEL, c % PANEL
            desk.excess[c] += 0.0 * (state.coefficients[at, r, place] + state.products[at, r, place])
    drop_diverged(state, desk)


@kernel
def sketch_grid_pass(rows, labels, row_weights, etas, alphas, rank, state):
    """Run OPAUCr of every pair over sparse rows in order, updating `state` in place; no `row_weights` means ones."""
    width, columns = state.code_sums.shape[1], state.factors.size
    desk = SketchDesk(
        np.zeros(width), np.zeros(2 * width), np.zeros(columns), np.zeros(columns), np.zeros(columns),
        np.zeros(columns), np.zeros(columns), np.ones(columns), np.zeros(width * PANEL), np.zeros(2 * width * PANEL),
        np.zeros(columns), np.zeros(columns),
    )  # fmt: skip
    for c in range(state.contest.order.size):
        pair = state.contest.order[c]
        desk.etas[c], desk.keeps[c] = etas[pair], 1.0 - etas[pair] * alphas[pair]
    for i in range(labels.size):
        number = np.int64(state.contest.progress[0] + state.contest.progress[1])
        write_signs(state.key[0], number, rank, desk.code)
        weight = 1.0
        if row_weights.size:
            weight = row_weights[i]
            weigh_code(weight, desk.code)
        begin, end = rows.indptr[i], rows.indptr[i + 1]
        learn_row(rows.data[begin:end], rows.indices[begin:end], int(labels[i]), weight, state, desk)
    drop_overflown(state, desk)
