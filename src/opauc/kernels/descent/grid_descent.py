"""Algorithm 1 of the paper for a grid of step sizes and penalties at once: the statistics are shared by all pairs.

What is a product of the covariance with the weights for one pair is a product
of two matrices for many.
"""

from typing import NamedTuple

import numpy as np

from opauc.kernels.compile_kernel import borrowing, inlined, kernel
from opauc.kernels.descent.pair_contest import BEYOND, STEPS, Contest, compare, withdraw
from opauc.kernels.sums.panel_product import PANEL, block_times_panel, move_column, row_times_panel


class GridState(NamedTuple):
    """What the pass reads and writes; index 0 is the negative class, 1 the positive.

    Column c of the weights is weights[c // PANEL, :, c % PANEL]; `contest` says
    which pair it belongs to.
    """

    counts: np.ndarray  # (2,) weight of the rows seen
    means: np.ndarray  # (2, d)
    scatters: np.ndarray  # (2, d, d)
    weights: np.ndarray  # (panels, d, PANEL)
    weight_sums: np.ndarray  # (panels, d, PANEL) sums of the iterates
    contest: Contest


class GridDesk(NamedTuple):
    """Scratch for one row, and the settings of each column."""

    gap: np.ndarray  # (d,) row less mean of the other class
    row: np.ndarray  # (d,) the row, which whoever calls lays there
    excess: np.ndarray  # (panels * PANEL,)
    scores: np.ndarray  # (panels * PANEL,)
    product: np.ndarray  # (d * PANEL,) covariance times one panel
    etas: np.ndarray  # (panels * PANEL,) step sizes
    keeps: np.ndarray  # (panels * PANEL,) 1 - step size * penalty


@inlined
def take_in(row, k, weight, state, away):
    """Add `row` to the statistics of its class k (Welford); `away` is scratch.

    Next to the products of all pairs, adding to the whole matrix is cheap: to
    let rows wait in a block, as `pair_descent` does, was slower up to d = 780.
    """
    state.contest.progress[k] += 1.0
    count = state.counts[k] + weight
    state.counts[k] = count
    mean, scatter, share = state.means[k], state.scatters[k], weight / count
    for j in range(row.size):
        away[j] = row[j] - mean[j]
        mean[j] += away[j] * share
    for i in range(row.size):
        out, factor = scatter[i], weight * (1.0 - share) * away[i]
        for j in range(row.size):
            out[j] += factor * away[j]


@inlined
def score_columns(judge_mean, label, state, desk):
    """Write onto `desk` the excess w.gap - label and the score of each active column, by its weights or their mean."""
    active, share = state.contest.active[0], 1.0 / max(1.0, state.contest.progress[STEPS])
    judged = state.weight_sums if judge_mean else state.weights
    for p in range((active + PANEL - 1) // PANEL):
        row_times_panel(desk.gap, state.weights[p].reshape(-1), desk.excess, p * PANEL)
        row_times_panel(desk.row, judged[p].reshape(-1), desk.scores, p * PANEL)
    for c in range(active):
        desk.excess[c] -= label
        if judge_mean:
            desk.scores[c] *= share


@borrowing
def drop_diverged(state, desk):
    """Take the columns that have diverged out of the active ones; the last active column moves into each gap."""
    c = state.contest.active[0] - 1
    while c >= 0:
        # False of a number that is none, too.
        if not abs(desk.excess[c]) <= BEYOND:
            last = withdraw(c, state.contest)
            move_column(state.weights, c, last)
            move_column(state.weight_sums, c, last)
            desk.excess[c], desk.scores[c] = desk.excess[last], desk.scores[last]
            desk.excess[last] = desk.scores[last] = 0.0
            desk.etas[c], desk.keeps[c] = desk.etas[last], desk.keeps[last]
        c -= 1


@borrowing
def move_panel(panel, sums, product, gap, keeps, pulls, damps):
    """Write the next iterates into the columns of `panel` and add them to `sums`."""
    for j in range(gap.size):
        row, total, spread, away = panel[j], sums[j], product[j * PANEL : (j + 1) * PANEL], gap[j]
        for c in range(PANEL):
            moved = keeps[c] * row[c] - pulls[c] * away - damps[c] * spread[c]
            row[c] = moved
            total[c] += moved


@inlined
def step_on(k, weight, state, desk):
    """Move the weights of every active column one step on the row on the desk, of class k."""
    other = 1 - k
    scatter, share = state.scatters[other], 1.0 / state.counts[other]
    pulls, damps = desk.excess, desk.scores
    for c in range(state.contest.active[0]):
        pulls[c] = weight * desk.etas[c] * desk.excess[c]
        damps[c] = weight * desk.etas[c] * share
    for p in range((state.contest.active[0] + PANEL - 1) // PANEL):
        panel, part = state.weights[p].reshape(-1), slice(p * PANEL, (p + 1) * PANEL)
        block_times_panel(scatter, 0, scatter.shape[0], panel, desk.product)
        move_panel(
            state.weights[p], state.weight_sums[p], desk.product, desk.gap, desk.keeps[part], pulls[part], damps[part]
        )
    state.contest.progress[STEPS] += 1.0


@borrowing
def learn_row(k, weight, judge_mean, state, desk):
    """Score the row on the desk, compare it, and run Algorithm 1 on it for every pair that has not diverged."""
    row, mean = desk.row, state.means[1 - k]
    take_in(row, k, weight, state, desk.gap)
    for j in range(row.size):
        desk.gap[j] = row[j] - mean[j]
    score_columns(judge_mean, 2.0 * k - 1.0, state, desk)
    drop_diverged(state, desk)
    compare(k, weight, state.contest, desk.scores)
    if state.counts[1 - k] > 0.0:
        step_on(k, weight, state, desk)


@kernel
def grid_desk(etas, alphas, state):
    """Return scratch for a pass with the step size and the penalty of each pair."""
    d, width = state.means.shape[1], state.weights.shape[0] * PANEL
    desk = GridDesk(
        np.empty(d), np.zeros(d), np.zeros(width), np.zeros(width), np.empty(d * PANEL),
        np.zeros(width), np.zeros(width),
    )  # fmt: skip
    for c in range(state.contest.order.size):
        pair = state.contest.order[c]
        desk.etas[c], desk.keeps[c] = etas[pair], 1.0 - etas[pair] * alphas[pair]
    return desk


@borrowing
def drop_overflown(state, desk):
    """Take out the columns that the last row drove beyond all numbers: the next row would, and may never come."""
    for c in range(state.contest.active[0]):
        column = state.weights[c // PANEL, :, c % PANEL]
        desk.excess[c] = 0.0
        for j in range(column.size):
            desk.excess[c] += 0.0 * column[j]
    drop_diverged(state, desk)


@kernel
def dense_pass(rows, labels, row_weights, etas, alphas, judge_mean, state):
    """Run every pair over dense rows in order, updating `state` in place; no `row_weights` means ones."""
    desk = grid_desk(etas, alphas, state)
    for i in range(rows.shape[0]):
        row, weight = rows[i], row_weights[i] if row_weights.size else 1.0
        for j in range(row.size):
            desk.row[j] = row[j]
        learn_row(int(labels[i]), weight, judge_mean, state, desk)
    drop_overflown(state, desk)
