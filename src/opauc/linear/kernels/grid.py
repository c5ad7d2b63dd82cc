"""Algorithm 1 of the paper for a grid of step sizes and penalties at once: the statistics are shared by all pairs.

What is a product of the covariance with the weights for one pair is a product
of two matrices for many.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from opauc.core.kernels.compile import borrowing, inlined, kernel
from opauc.core.kernels.sparse_rows import clear_row, unpack_row
from opauc.linear.kernels.panel_product import PANEL, block_times_panel, move_column, row_times_panel

# Scores kept of each class: comparing with old ones would judge weights that are no more.
KEPT_SCORES = 256
# Comparisons a row, on average: a tenth of the time of a pass over rows of 80 entries.
PAIRS = 16


@inlined
def pairs_of_newest(n_rows, k):
    """Return with how many of the latest rows of the other class the newest row, of class k, is to be compared.

    Only rows of the class rarer so far are compared; n_rows[0] and n_rows[1]
    count the rows of each class.
    """
    others = n_rows[1 - k]
    return int(min(others, KEPT_SCORES, np.ceil(PAIRS * others / n_rows[k]))) if n_rows[k] <= others else 0


@inlined
def place_of(number):
    """Return where the scores of a class's row of this number, counted from 0, are kept."""
    return number % KEPT_SCORES


# A pair whose weights miss a label by more has diverged: to be of use it would have to shrink by as much again, and
# nothing of what it had learned would be left in its digits.
BEYOND = 1e100
# What stands where in `progress`: the number of rows of class k is at place k.
STEPS, ALL_PAIRS = 2, 3


class Contest(NamedTuple):
    """The pairs by columns: column c belongs to the pair of number order[c].

    Columns of pairs that diverged come after the `active` ones and hold nothing but zeros.
    """

    order: np.ndarray  # (pairs,) int64
    active: np.ndarray  # (1,) int64
    wins: np.ndarray  # (pairs,) by column: weight of the pairs of rows ordered rightly
    recent: np.ndarray  # (2, KEPT_SCORES, columns) scores, row t of a class at t % KEPT_SCORES
    kept_weights: np.ndarray  # (2, KEPT_SCORES) of those rows
    progress: np.ndarray  # (4,) rows of each class, steps taken, weight of all pairs of rows compared


@borrowing
def withdraw(c, contest):
    """Take column c out of the active ones; return the last of those, which has to take its place."""
    contest.active[0] -= 1
    last, order, wins, recent = contest.active[0], contest.order, contest.wins, contest.recent
    order[c], order[last] = order[last], order[c]
    wins[c], wins[last] = wins[last], 0.0
    for k in range(2):
        for t in range(recent.shape[1]):
            recent[k, t, c] = recent[k, t, last]
            recent[k, t, last] = 0.0
    return last


@borrowing
def compare(k, weight, contest, scores):
    """Add to `wins` the pairs of the newest row, of class k, with the latest of the other class; keep its scores.

    Each row counts as the rows seen so far, for weights late in the stream are
    those to be judged, times its weight. Equal scores are half a win.
    """
    progress, other, active = contest.progress, 1 - k, contest.active[0]
    pairs, wins, recent = pairs_of_newest(progress, k), contest.wins[:active], contest.recent
    if pairs > 0:
        latest, sign, total = int(progress[other]) - 1, 2.0 * k - 1.0, 0.0
        for back in range(pairs):
            total += contest.kept_weights[other, place_of(latest - back)]
        due = weight * (progress[0] + progress[1])
        for back in range(pairs):
            place = place_of(latest - back)
            past, half = recent[other, place, :active], 0.5 * due / total * contest.kept_weights[other, place]
            for c in range(active):
                gap = sign * (scores[c] - past[c])
                wins[c] += (half if gap > 0.0 else 0.0) + (half if gap >= 0.0 else 0.0)
        progress[ALL_PAIRS] += due
    place = place_of(int(progress[k]) - 1)
    contest.kept_weights[k, place] = weight
    kept = recent[k, place, :active]
    for c in range(active):
        kept[c] = scores[c]


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


@kernel
def csr_pass(rows, labels, row_weights, etas, alphas, judge_mean, state):
    """Run every pair over sparse rows in order, updating `state` in place; no `row_weights` means ones."""
    desk = grid_desk(etas, alphas, state)
    for i in range(labels.size):
        unpack_row(rows, i, desk.row)
        weight = row_weights[i] if row_weights.size else 1.0
        learn_row(int(labels[i]), weight, judge_mean, state, desk)
        clear_row(rows, i, desk.row)
    drop_overflown(state, desk)
