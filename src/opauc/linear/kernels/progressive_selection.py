"""Train eight fixed candidates in one pass over sparse rows, and count the pairs that each ranks correctly.

The number of candidates is a module constant, so that the compiler unrolls the loops over them.
"""

from typing import NamedTuple

import numpy as np

from opauc.core.kernels.compile import inlined, kernel
from opauc.core.kernels.simd import lanes_at, plus, put_lanes, times
from opauc.linear.kernels.grid import n_comparisons, ring_index


class Candidate(NamedTuple):
    """Parameters of one candidate of progressive selection.

    Attributes
    ----------
    power : float
        The power p of the feature scales D_j = (mean of x_j^2)^-p.
    step_size : float
        The step size, relative to 1 / mean of x'Dx.
    forgetting : float
        The weights shrink as n_rows^-forgetting.
    unit_rows : bool
        Whether rows are scaled to length one before training and scoring, or stay raw.
    """

    power: float  # 0, 1/2 or 1
    step_size: float
    forgetting: float
    unit_rows: bool


# Sorted by power. Each candidate wins one or more of eleven text problems. Where all rows have the same length, raw
# and unit rows are the same. The two candidates on raw rows were, of all subsets of up to four, the best on texts of
# any length and on one-hot rows next to a number of large units, which scaling to length one would drown.
CANDIDATES = (
    Candidate(0.0, 0.125, 0.0, True), Candidate(0.0, 0.5, 0.0, True),
    Candidate(0.5, 0.125, 0.0, False), Candidate(0.5, 0.5, 0.0, True), Candidate(0.5, 1.0, 0.0, True),
    Candidate(1.0, 0.125, 0.0, False), Candidate(1.0, 1.0, 0.0, True), Candidate(1.0, 0.5, 0.5, True),
)  # fmt: skip
N_CANDIDATES = len(CANDIDATES)
TWICE_POWER = np.array([int(2 * candidate.power) for candidate in CANDIDATES])
STEP_SIZES = np.array([candidate.step_size for candidate in CANDIDATES])
FORGETTING = np.array([candidate.forgetting for candidate in CANDIDATES])
END_OF_POWER_0 = int(np.sum(TWICE_POWER == 0))  # candidates [0, here) have power 0
END_OF_POWER_HALF = int(np.sum(TWICE_POWER <= 1))  # the next up to here have power 1/2, the rest power 1

# The scale of a feature counts this many extra values of typical size: else its first value would move it most.
PRIOR_HALF, PRIOR_1 = 3.0, 10.0
# Avoids 0 / 0 for explicit zeros before any value was seen.
TINY_SQUARE = 1e-300
# Step sizes fall as 1 / sqrt(1 + n_rows / DECAY_ROWS): the last iterate is the result, there is no averaging.
DECAY_ROWS = 3000.0
# Step size of the intercept relative to the weights. It only serves the margins and does not change a ranking.
INTERCEPT_RATE = 0.03
# A row with a smaller sum of squares is scored but not trained on: the inverse of its curvature might overflow.
UNDERFLOW_FLOOR = 1e-280

# Columns of `SelectionState.sums`, one line per feature.
FEATURE_SQUARES = 0  # sum of squares of the feature in unit rows
CLASS_SUMS = 1  # + k: sum over the unit rows of class k
RAW_SUMS = 3  # + k: sum over the raw rows of class k
N_SUMS = 5

# Entries of `SelectionState.value_totals`.
SUM_OF_SQUARES = 0  # of all values of unit rows
N_VALUES = 1  # number of nonzero values, weighted

# Entries of arrays with one number per feature scale: `curvatures`, and `curvature` and `stretch` of the workspace.
POWER_0 = 0  # unit rows, unscaled features
POWER_HALF = 1  # unit rows, features scaled with power 1/2
POWER_1 = 2  # unit rows, features scaled with power 1
RAW_OFFSET = 3  # + one of the above: raw rows
N_SCALES = 6
# The entry that each candidate uses.
POWER_INDEX = np.array(
    [half + (0 if each.unit_rows else RAW_OFFSET) for half, each in zip(TWICE_POWER, CANDIDATES, strict=True)]
)

# Entry of `SelectionState.wins` after those of the candidates: weight of all pairs compared.
ALL_PAIRS = N_CANDIDATES


class SelectionState(NamedTuple):
    """State of the pass; class index 0 is negative, 1 positive.

    The weights of candidate h are scales[h] * weights[:, h], so that forgetting
    costs one product per row instead of one per feature. Where `unit` is zero,
    all candidates train on raw rows.
    """

    counts: np.ndarray  # (2,) total weight of the rows of each class
    n_rows: np.ndarray  # (2,) number of rows of each class
    sums: np.ndarray  # (d, N_SUMS)
    weights: np.ndarray  # (d, N_CANDIDATES)
    scales: np.ndarray  # (N_CANDIDATES,)
    intercepts: np.ndarray  # (N_CANDIDATES,)
    wins: np.ndarray  # (N_CANDIDATES + 1,) weight of the pairs each candidate ranked correctly, then of all pairs
    recent: np.ndarray  # (2, KEPT_SCORES, N_CANDIDATES) latest scores; row t of a class is at t % KEPT_SCORES
    recent_weights: np.ndarray  # (2, KEPT_SCORES) weights of those rows
    curvatures: np.ndarray  # (N_SCALES,) running mean of x'Dx
    value_totals: np.ndarray  # (2,) sum of squares and number of nonzero values
    unit: np.ndarray  # (1,) one where rows are scaled to length one, else zero


class RowWorkspace(NamedTuple):
    """Scratch for one row."""

    values: np.ndarray  # (longest row,) the unit row
    totals: np.ndarray  # (longest row,) sum of squares so far of each feature of the row
    by_root: np.ndarray  # (longest row,) x / sqrt(sum of squares): scaled with power 1/2
    by_full: np.ndarray  # (longest row,) x / sum of squares: scaled with power 1
    scores: np.ndarray  # (N_CANDIDATES,)
    moves: np.ndarray  # (N_CANDIDATES,)
    curvature: np.ndarray  # (N_SCALES,) x'Dx of the row
    stretch: np.ndarray  # (N_SCALES,) n_rows^power, turns sums of squares into means; times the length for raw rows


@inlined
def sum_squares(values):
    """Return the sum of squares."""
    square = 0.0
    for at in range(values.size):
        square += np.float64(values[at]) * np.float64(values[at])
    return square


@inlined
def add_row(rows, i, k, weight, shrink, state, workspace):
    """Add `shrink` times row `i` of class k to the sums; write its values and feature squares into `workspace`."""
    sums, first = state.sums, rows.indptr[i]
    for at in range(rows.indptr[i + 1] - first):
        raw, feature_sums = np.float64(rows.data[first + at]), sums[rows.indices[first + at]]
        x = shrink * raw
        total = feature_sums[FEATURE_SQUARES] + weight * x * x
        feature_sums[FEATURE_SQUARES] = total
        feature_sums[CLASS_SUMS + k] += weight * x
        feature_sums[RAW_SUMS + k] += weight * raw
        workspace.totals[at] = total
        workspace.values[at] = x
    state.n_rows[k] += 1.0
    state.counts[k] += weight


@inlined
def score_row(rows, i, length, state, workspace):
    """Write the score of row `i` by each candidate into `workspace`, which holds the row divided by `length`."""
    scores, first = workspace.scores, rows.indptr[i]
    scored = times(0.0, lanes_at(state.intercepts, 0))  # in a register: sums in memory would be serialized
    for at in range(rows.indptr[i + 1] - first):
        scored = plus(scored, workspace.values[at], lanes_at(state.weights[rows.indices[first + at]], 0))
    put_lanes(scores, 0, scored)
    for h in range(N_CANDIDATES):
        scores[h] *= state.scales[h] if POWER_INDEX[h] < RAW_OFFSET else state.scales[h] * length


@inlined
def scale_row(size, plain, length, weight, state, workspace):
    """Write the row in each feature scale and its curvatures into `workspace`, and update their running means.

    The row has `size` values, whose squares sum to `plain`.
    """
    value_totals, by_root, by_full = state.value_totals, workspace.by_root, workspace.by_full
    typical = value_totals[SUM_OF_SQUARES] / value_totals[N_VALUES] if value_totals[N_VALUES] > 0.0 else 0.0
    prior_root, prior_full = PRIOR_HALF * typical + TINY_SQUARE, PRIOR_1 * typical + TINY_SQUARE
    root = full = n_nonzero = 0.0
    for at in range(size):
        x, total = workspace.values[at], workspace.totals[at]
        by_root[at] = x / np.sqrt(total + prior_root)
        by_full[at] = x / (total + prior_full)
        root += x * by_root[at]
        full += x * by_full[at]
        n_nonzero += 1.0 if x != 0.0 else 0.0
    value_totals[SUM_OF_SQUARES] += weight * plain
    value_totals[N_VALUES] += weight * n_nonzero
    n, stretch, curvature = state.counts[0] + state.counts[1], workspace.stretch, workspace.curvature
    stretch[POWER_0], stretch[POWER_HALF], stretch[POWER_1] = 1.0, np.sqrt(n), n
    curvature[POWER_0], curvature[POWER_HALF], curvature[POWER_1] = plain, root * np.sqrt(n), full * n
    for p in range(RAW_OFFSET):
        stretch[RAW_OFFSET + p] = length * stretch[p]
        curvature[RAW_OFFSET + p] = length * length * curvature[p]
    share = weight / n
    for p in range(N_SCALES):
        state.curvatures[p] += share * (curvature[p] - state.curvatures[p])


@inlined
def compare(scores, k, weight, state):
    """Compare the newest row, of class k, with recent rows of the other class; add to `wins` and store its scores.

    Scores are from before training on a row (progressive validation). Only rows
    of the class that is rarer so far are compared. A row counts with its weight
    times the number of rows so far, because weights late in the stream matter
    most. A tie counts as half a win.
    """
    n_rows, wins, other = state.n_rows, state.wins, 1 - k
    pairs = n_comparisons(n_rows, k)
    if pairs > 0:
        latest, sign, total = int(n_rows[other]) - 1, 2.0 * k - 1.0, 0.0
        for back in range(pairs):
            total += state.recent_weights[other, ring_index(latest - back)]
        share = weight * (n_rows[0] + n_rows[1]) / total
        for back in range(pairs):
            place = ring_index(latest - back)
            past, win = state.recent[other, place], share * state.recent_weights[other, place]
            for h in range(N_CANDIDATES):
                gap = sign * (scores[h] - past[h])
                wins[h] += win if gap > 0.0 else (0.5 * win if gap == 0.0 else 0.0)
        wins[ALL_PAIRS] += weight * (n_rows[0] + n_rows[1])
    place = ring_index(int(n_rows[k]) - 1)
    kept, state.recent_weights[k, place] = state.recent[k, place], weight
    for h in range(N_CANDIDATES):
        kept[h] = scores[h]


@inlined
def choose_moves(k, weight, state, workspace):
    """Write into `workspace.moves` the step of each candidate along its scaled row of class k; update the intercepts.

    The loss is max(0, 1 - margin)^2 / 2, times the weight of the row, times
    n / (2 n_k), so that both classes weigh the same. No step goes beyond the
    margin.
    """
    n, sign = state.n_rows[0] + state.n_rows[1], 2.0 * k - 1.0
    balance = weight * (state.counts[0] + state.counts[1]) / (2.0 * state.counts[k])
    pace = balance / np.sqrt(1.0 + n / DECAY_ROWS)
    for h in range(N_CANDIDATES):
        p = POWER_INDEX[h]
        slack = max(0.0, 1.0 - sign * (workspace.scores[h] + state.intercepts[h]))
        size = pace * STEP_SIZES[h]
        move = sign * slack * size / max(state.curvatures[p], size * workspace.curvature[p])
        state.intercepts[h] += INTERCEPT_RATE * move * workspace.curvature[p]
        state.scales[h] *= 1.0 - FORGETTING[h] / (n + 10.0 * FORGETTING[h])
        workspace.moves[h] = move * workspace.stretch[p] / state.scales[h]


@inlined
def move_weights(rows, i, weights, workspace):
    """Add to `weights` the step of each candidate times row `i` in the candidate's feature scale."""
    first = rows.indptr[i]
    for at in range(rows.indptr[i + 1] - first):
        row = weights[rows.indices[first + at]]
        plain, root, full = workspace.values[at], workspace.by_root[at], workspace.by_full[at]
        for h in range(N_CANDIDATES):
            row[h] += workspace.moves[h] * (plain if h < END_OF_POWER_0 else root if h < END_OF_POWER_HALF else full)


@kernel
def selection_pass(rows, labels, row_weights, state):
    """Score each row with every candidate, compare, then train on it, updating `state` in place.

    Empty `row_weights` mean weight one for all rows.
    """
    longest = 0
    for i in range(labels.size):
        longest = max(longest, rows.indptr[i + 1] - rows.indptr[i])
    workspace = RowWorkspace(
        np.empty(longest), np.empty(longest), np.empty(longest), np.empty(longest),
        np.empty(N_CANDIDATES), np.empty(N_CANDIDATES), np.empty(N_SCALES), np.empty(N_SCALES),
    )  # fmt: skip
    for i in range(labels.size):
        k, weight = labels[i], row_weights[i] if row_weights.size else 1.0
        square = sum_squares(rows.data[rows.indptr[i] : rows.indptr[i + 1]])
        # A row below the floor has no direction: it counts as zero.
        length = 1.0 if state.unit[0] == 0.0 else np.sqrt(square) if square > UNDERFLOW_FLOOR else 0.0
        shrink = 1.0 / length if length > 0.0 else 0.0
        add_row(rows, i, k, weight, shrink, state, workspace)
        score_row(rows, i, length, state, workspace)
        scale_row(rows.indptr[i + 1] - rows.indptr[i], square * shrink * shrink, length, weight, state, workspace)
        compare(workspace.scores, k, weight, state)
        if state.counts[1 - k] > 0.0 and square > UNDERFLOW_FLOOR:
            choose_moves(k, weight, state, workspace)
            move_weights(rows, i, state.weights, workspace)
