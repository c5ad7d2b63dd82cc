"""Algorithm 1 of the paper for a grid of (step size, penalty) pairs in one pass.

All pairs share the class statistics, so the products of the covariance matrix
with the weights of all pairs are one product of two matrices.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from opauc.core.kernels.compile import borrowing, inlined, kernel
from opauc.core.kernels.sparse_rows import clear_row, unpack_row
from opauc.linear.kernels.panel_product import PANEL, block_times_panel, move_column, row_times_panel

# Scores kept per class. Older scores were given by weights that no longer exist.
KEPT_SCORES = 256
# Average number of comparisons per row: a tenth of the time of a pass over rows of 80 entries.
COMPARISONS_PER_ROW = 16


@inlined
def n_comparisons(n_rows, k):
    """Return the number of latest rows of the other class to compare the newest row, of class k, with.

    Only rows of the class that is rarer so far are compared. n_rows[0] and
    n_rows[1] are the numbers of rows of the classes.
    """
    others = n_rows[1 - k]
    return (
        int(min(others, KEPT_SCORES, np.ceil(COMPARISONS_PER_ROW * others / n_rows[k]))) if n_rows[k] <= others else 0
    )


@inlined
def ring_index(number):
    """Return the index in the ring buffer of scores for row `number` (from 0) of a class."""
    return number % KEPT_SCORES


# A pair has diverged once its score misses a label by more than this: to be useful again the weights would have to
# shrink by as much, and no correct digit would be left.
BEYOND = 1e100
# Entries of `CandidateRace.progress`.
NEGATIVES, POSITIVES = 0, 1  # rows of each class
STEPS = 2  # steps taken
ALL_PAIRS = 3  # total weight of the pairs of rows compared


class CandidateRace(NamedTuple):
    """Progressive AUC of the candidates, the (step size, penalty) pairs.

    Column c belongs to pair number order[c]. The first `active` columns have not
    diverged; all other columns are zero.
    """

    order: np.ndarray  # (pairs,) int64
    active: np.ndarray  # (1,) int64
    wins: np.ndarray  # (pairs,) per column: weight of the pairs of rows ranked correctly
    recent: np.ndarray  # (2, KEPT_SCORES, columns) latest scores; row t of a class is at t % KEPT_SCORES
    kept_weights: np.ndarray  # (2, KEPT_SCORES) weights of those rows
    progress: np.ndarray  # (4,) rows of each class, steps taken, weight of all pairs of rows compared


@inlined
def n_rows_seen(race):
    """Return the number of rows of both classes."""
    return race.progress[NEGATIVES] + race.progress[POSITIVES]


@borrowing
def deactivate(c, race):
    """Deactivate column c; return the last active column, which the caller must move to c."""
    race.active[0] -= 1
    last, order, wins, recent = race.active[0], race.order, race.wins, race.recent
    order[c], order[last] = order[last], order[c]
    wins[c], wins[last] = wins[last], 0.0
    for k in range(2):
        for t in range(recent.shape[1]):
            recent[k, t, c] = recent[k, t, last]
            recent[k, t, last] = 0.0
    return last


@borrowing
def compare(k, weight, race, scores):
    """Compare the newest row, of class k, with recent rows of the other class; add to `wins` and store its scores.

    A row counts with its weight times the number of rows so far, because weights
    late in the stream matter most. A tie counts as half a win.
    """
    progress, other, active = race.progress, 1 - k, race.active[0]
    pairs, wins, recent = n_comparisons(progress, k), race.wins[:active], race.recent
    if pairs > 0:
        latest, sign, total = int(progress[other]) - 1, 2.0 * k - 1.0, 0.0
        for back in range(pairs):
            total += race.kept_weights[other, ring_index(latest - back)]
        due = weight * n_rows_seen(race)
        for back in range(pairs):
            place = ring_index(latest - back)
            past, half = recent[other, place, :active], 0.5 * due / total * race.kept_weights[other, place]
            for c in range(active):
                gap = sign * (scores[c] - past[c])
                wins[c] += (half if gap > 0.0 else 0.0) + (half if gap >= 0.0 else 0.0)
        progress[ALL_PAIRS] += due
    place = ring_index(int(progress[k]) - 1)
    race.kept_weights[k, place] = weight
    kept = recent[k, place, :active]
    for c in range(active):
        kept[c] = scores[c]


class GridState(NamedTuple):
    """State of the pass; class index 0 is negative, 1 positive.

    Column c of the weights is weights[c // PANEL, :, c % PANEL]; `race.order[c]`
    is its pair.
    """

    counts: np.ndarray  # (2,) total weight of the rows of each class
    means: np.ndarray  # (2, d)
    scatters: np.ndarray  # (2, d, d)
    weights: np.ndarray  # (panels, d, PANEL)
    weight_sums: np.ndarray  # (panels, d, PANEL) sums of the iterates
    race: CandidateRace


class GridWorkspace(NamedTuple):
    """Scratch arrays for one row, and the hyper-parameters of each column."""

    gap: np.ndarray  # (d,) row - mean of the other class
    row: np.ndarray  # (d,) the row, written by the caller
    excess: np.ndarray  # (panels * PANEL,) score - label, relative to the mean of the other class
    scores: np.ndarray  # (panels * PANEL,)
    product: np.ndarray  # (d * PANEL,) covariance times one panel
    etas: np.ndarray  # (panels * PANEL,) step sizes
    keeps: np.ndarray  # (panels * PANEL,) 1 - step size * penalty


@inlined
def add_row(row, k, weight, state, away):
    """Add `row` to the statistics of its class k (Welford); `away` is scratch.

    The row enters the matrix at once. Collecting rows in a block first, as
    `kernels.sgd` does, was slower up to d = 780.
    """
    state.race.progress[k] += 1.0
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
def score_columns(score_mean, label, state, workspace):
    """Write the excess w.gap - label and the score of each active column, by its weights or their mean."""
    active, share = state.race.active[0], 1.0 / max(1.0, state.race.progress[STEPS])
    panels = state.weight_sums if score_mean else state.weights
    for p in range((active + PANEL - 1) // PANEL):
        row_times_panel(workspace.gap, state.weights[p].reshape(-1), workspace.excess, p * PANEL)
        row_times_panel(workspace.row, panels[p].reshape(-1), workspace.scores, p * PANEL)
    for c in range(active):
        workspace.excess[c] -= label
        if score_mean:
            workspace.scores[c] *= share


@borrowing
def drop_diverged(state, workspace):
    """Deactivate diverged columns; the last active column moves into the place of each."""
    c = state.race.active[0] - 1
    while c >= 0:
        # Also true where the excess is NaN.
        if not abs(workspace.excess[c]) <= BEYOND:
            last = deactivate(c, state.race)
            move_column(state.weights, c, last)
            move_column(state.weight_sums, c, last)
            workspace.excess[c], workspace.scores[c] = workspace.excess[last], workspace.scores[last]
            workspace.excess[last] = workspace.scores[last] = 0.0
            workspace.etas[c], workspace.keeps[c] = workspace.etas[last], workspace.keeps[last]
        c -= 1


@borrowing
def move_panel(panel, sums, product, gap, keeps, pulls, damps):
    """Write the next iterate into each column of `panel` and add it to `sums`."""
    for j in range(gap.size):
        row, total, spread, away = panel[j], sums[j], product[j * PANEL : (j + 1) * PANEL], gap[j]
        for c in range(PANEL):
            moved = keeps[c] * row[c] - pulls[c] * away - damps[c] * spread[c]
            row[c] = moved
            total[c] += moved


@inlined
def step_on(k, weight, state, workspace):
    """Take one step of every active column on the row in the workspace, of class k."""
    other = 1 - k
    scatter, share = state.scatters[other], 1.0 / state.counts[other]
    pulls, damps = workspace.excess, workspace.scores
    for c in range(state.race.active[0]):
        pulls[c] = weight * workspace.etas[c] * workspace.excess[c]
        damps[c] = weight * workspace.etas[c] * share
    for p in range((state.race.active[0] + PANEL - 1) // PANEL):
        panel, part = state.weights[p].reshape(-1), slice(p * PANEL, (p + 1) * PANEL)
        block_times_panel(scatter, 0, scatter.shape[0], panel, workspace.product)
        move_panel(
            state.weights[p],
            state.weight_sums[p],
            workspace.product,
            workspace.gap,
            workspace.keeps[part],
            pulls[part],
            damps[part],
        )
    state.race.progress[STEPS] += 1.0


@borrowing
def train_on_row(k, weight, score_mean, state, workspace):
    """Score the row in the workspace, compare it, and run Algorithm 1 on it for every active pair."""
    row, mean = workspace.row, state.means[1 - k]
    add_row(row, k, weight, state, workspace.gap)
    for j in range(row.size):
        workspace.gap[j] = row[j] - mean[j]
    score_columns(score_mean, 2.0 * k - 1.0, state, workspace)
    drop_diverged(state, workspace)
    compare(k, weight, state.race, workspace.scores)
    if state.counts[1 - k] > 0.0:
        step_on(k, weight, state, workspace)


@kernel
def make_workspace(etas, alphas, state):
    """Return the scratch arrays of a pass, given the step size and the penalty of each pair."""
    d, width = state.means.shape[1], state.weights.shape[0] * PANEL
    workspace = GridWorkspace(
        np.empty(d), np.zeros(d), np.zeros(width), np.zeros(width), np.empty(d * PANEL),
        np.zeros(width), np.zeros(width),
    )  # fmt: skip
    for c in range(state.race.order.size):
        pair = state.race.order[c]
        workspace.etas[c], workspace.keeps[c] = etas[pair], 1.0 - etas[pair] * alphas[pair]
    return workspace


@borrowing
def drop_overflowed(state, workspace):
    """Deactivate columns with infinite or NaN weights: `drop_diverged` would do so only at the next row."""
    for c in range(state.race.active[0]):
        column = state.weights[c // PANEL, :, c % PANEL]
        workspace.excess[c] = 0.0
        for j in range(column.size):
            workspace.excess[c] += 0.0 * column[j]
    drop_diverged(state, workspace)


@kernel
def dense_pass(rows, labels, row_weights, etas, alphas, score_mean, state):
    """Run every pair over dense rows in order, updating `state` in place; empty `row_weights` mean ones."""
    workspace = make_workspace(etas, alphas, state)
    for i in range(rows.shape[0]):
        row, weight = rows[i], row_weights[i] if row_weights.size else 1.0
        for j in range(row.size):
            workspace.row[j] = row[j]
        train_on_row(int(labels[i]), weight, score_mean, state, workspace)
    drop_overflowed(state, workspace)


@kernel
def csr_pass(rows, labels, row_weights, etas, alphas, score_mean, state):
    """Run every pair over sparse rows in order, updating `state` in place; empty `row_weights` mean ones."""
    workspace = make_workspace(etas, alphas, state)
    for i in range(labels.size):
        unpack_row(rows, i, workspace.row)
        weight = row_weights[i] if row_weights.size else 1.0
        train_on_row(int(labels[i]), weight, score_mean, state, workspace)
        clear_row(rows, i, workspace.row)
    drop_overflowed(state, workspace)
