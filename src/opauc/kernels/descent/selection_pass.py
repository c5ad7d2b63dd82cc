"""One pass of eight fixed candidates over sparse rows, and the pairs that tell which of them ranks best.

Their number is a constant of the module, so that the compiler unrolls the loops over them.
"""

from typing import NamedTuple

import numpy as np

from opauc.kernels.compile_kernel import inlined, kernel
from opauc.kernels.descent.progressive_pairs import pairs_of_newest, place_of


class Candidate(NamedTuple):
    """How one candidate moves its weights."""

    power: float  # of the inverse sums of squares that scale the features: 0, 1/2 or 1
    step_size: float  # relative to 1 / mean of x'Dx, D the diagonal of those scales
    forgetting: float  # the weights shrink as rows^-forgetting


# Each of them is the winner of one or more of eleven text problems. Sorted by power.
CANDIDATES = (
    Candidate(0.0, 0.125, 0.0), Candidate(0.0, 0.5, 0.0),
    Candidate(0.5, 0.125, 0.0), Candidate(0.5, 0.5, 0.0), Candidate(0.5, 1.0, 0.0),
    Candidate(1.0, 0.125, 0.0), Candidate(1.0, 1.0, 0.0), Candidate(1.0, 0.5, 0.5),
)  # fmt: skip
SIZE = len(CANDIDATES)
HALVES = np.array([int(2 * candidate.power) for candidate in CANDIDATES])
STEP_SIZES = np.array([candidate.step_size for candidate in CANDIDATES])
FORGETTING = np.array([candidate.forgetting for candidate in CANDIDATES])
PLAIN = int(np.sum(HALVES == 0))  # candidates before this one scale by power 0,
ROOT = int(np.sum(HALVES <= 1))  # those before this one by power 1/2, the rest by power 1

# A feature is scaled as if a value of typical size had been met this many times more: else its first would move most.
PRIOR_ROOT, PRIOR_FULL = 3.0, 10.0
# Before any value is met nothing is typical; this keeps 0 / 0 out of explicit zeros.
NOTHING = 1e-300
# Rows after which steps begin to fall, as 1 / sqrt(1 + rows / SLOWING): the last iterate is the answer, no mean is.
SLOWING = 3000.0
# Rate of the intercept relative to the weights: it makes room for the margins and adds nothing to a ranking.
INTERCEPT = 0.03
# A row with a smaller sum of squares is scored and not learnt from: the inverse of its curvature might overflow.
FAINTEST = 1e-280

# What stands where: in `sums`, the sums of class k are in column CLASS_SUMS + k;
FEATURE_SQUARES, CLASS_SUMS = 0, 1
# in `energy`;
SQUARES, VALUES = 0, 1
# in whatever there is one of for each power, twice the power;
BY_NONE, BY_ROOT, BY_FULL = 0, 1, 2
# in `wins`, after the candidates.
ALL_PAIRS = SIZE


class SelectionState(NamedTuple):
    """What the pass reads and writes; index 0 is the negative class, 1 the positive.

    The weights of candidate h are scales[h] * weights[:, h]: forgetting is one
    product a row instead of d. Of each feature, `sums` holds the sum of squares
    and the sum of the values in each class. All sums are of weighted rows.
    """

    counts: np.ndarray  # (2,) weight of the rows
    n_rows: np.ndarray  # (2,) their number
    sums: np.ndarray  # (d, 3)
    weights: np.ndarray  # (d, SIZE)
    scales: np.ndarray  # (SIZE,)
    intercepts: np.ndarray  # (SIZE,)
    wins: np.ndarray  # (SIZE + 1,) weight of the pairs each candidate ordered rightly, then of all pairs
    recent: np.ndarray  # (2, KEPT_SCORES, SIZE) scores, row t of a class at t % KEPT_SCORES
    recent_weights: np.ndarray  # (2, KEPT_SCORES) of those rows
    curvatures: np.ndarray  # (3,) mean of x'Dx for the powers 0, 1/2 and 1
    energy: np.ndarray  # (2,) sum of squares and number of the values met, zeros left out


class Desk(NamedTuple):
    """Scratch for one row."""

    totals: np.ndarray  # (longest row,) sum of squares of each feature in the row
    by_root: np.ndarray  # (longest row,) x / sqrt(sum of squares): the row in the scale of power 1/2
    by_full: np.ndarray  # (longest row,) x / sum of squares: in the scale of power 1
    scores: np.ndarray  # (SIZE,)
    moves: np.ndarray  # (SIZE,)
    curvature: np.ndarray  # (3,) x'Dx
    stretch: np.ndarray  # (3,) rows^power: the scales are of mean squares, the sums of all


@inlined
def take_in(rows, i, k, weight, state, totals):
    """Add weight times row `i` of class k to the sums; write its features' sums of squares into `totals`."""
    sums, first = state.sums, rows.indptr[i]
    for at in range(rows.indptr[i + 1] - first):
        x, j = np.float64(rows.data[first + at]), rows.indices[first + at]
        total = sums[j, FEATURE_SQUARES] + weight * x * x
        sums[j, FEATURE_SQUARES] = total
        sums[j, CLASS_SUMS + k] += weight * x
        totals[at] = total
    state.n_rows[k] += 1.0
    state.counts[k] += weight


@inlined
def score_row(rows, i, state, scores):
    """Write into `scores` those that the candidates give to row `i`."""
    for h in range(SIZE):
        scores[h] = 0.0
    for at in range(rows.indptr[i], rows.indptr[i + 1]):
        weights = state.weights[rows.indices[at]]
        for h in range(SIZE):
            scores[h] += weights[h] * rows.data[at]
    for h in range(SIZE):
        scores[h] *= state.scales[h]


@inlined
def scale_row(values, weight, state, desk):
    """Write onto `desk` the row `values` in each scale and its curvatures; take these and its energy into `state`."""
    energy, by_root, by_full = state.energy, desk.by_root, desk.by_full
    typical = energy[SQUARES] / energy[VALUES] if energy[VALUES] > 0.0 else 0.0
    prior_root, prior_full = PRIOR_ROOT * typical + NOTHING, PRIOR_FULL * typical + NOTHING
    plain = root = full = met = 0.0
    for at in range(values.size):
        x, total = np.float64(values[at]), desk.totals[at]
        by_root[at] = x / np.sqrt(total + prior_root)
        by_full[at] = x / (total + prior_full)
        plain += x * x
        root += x * by_root[at]
        full += x * by_full[at]
        met += 1.0 if x != 0.0 else 0.0
    energy[SQUARES] += weight * plain
    energy[VALUES] += weight * met
    n, stretch, curvature = state.counts[0] + state.counts[1], desk.stretch, desk.curvature
    stretch[BY_NONE], stretch[BY_ROOT], stretch[BY_FULL] = 1.0, np.sqrt(n), n
    curvature[BY_NONE], curvature[BY_ROOT], curvature[BY_FULL] = plain, root * np.sqrt(n), full * n
    for p in range(3):
        state.curvatures[p] += weight * (curvature[p] - state.curvatures[p]) / n


@inlined
def compare(scores, k, weight, state):
    """Add to `wins` the pairs of the newest row, of class k, with the latest of the other class; keep its scores.

    Only rows of the class rarer so far are compared. They stand for the pairs
    of the area under the curve scored before they were learnt from; each row
    counts as the rows seen so far, for weights late in the stream are those
    to be judged, times its weight. Equal scores are half a win.
    """
    n_rows, wins, other = state.n_rows, state.wins, 1 - k
    pairs = pairs_of_newest(n_rows, k)
    if pairs > 0:
        latest, sign, total = int(n_rows[other]) - 1, 2.0 * k - 1.0, 0.0
        for back in range(pairs):
            total += state.recent_weights[other, place_of(latest - back)]
        share = weight * (n_rows[0] + n_rows[1]) / total
        for back in range(pairs):
            place = place_of(latest - back)
            past, win = state.recent[other, place], share * state.recent_weights[other, place]
            for h in range(SIZE):
                gap = sign * (scores[h] - past[h])
                wins[h] += win if gap > 0.0 else (0.5 * win if gap == 0.0 else 0.0)
        wins[ALL_PAIRS] += weight * (n_rows[0] + n_rows[1])
    place = place_of(int(n_rows[k]) - 1)
    kept, state.recent_weights[k, place] = state.recent[k, place], weight
    for h in range(SIZE):
        kept[h] = scores[h]


@inlined
def choose_moves(k, weight, state, desk):
    """Write into `desk.moves` how far each candidate goes along its scaled row of class k; move the intercepts.

    The loss is max(0, 1 - margin)^2 / 2 times n / (2 rows of the class), so
    that both classes weigh the same, times the weight of the row; no step goes
    beyond the margin.
    """
    n, sign = state.n_rows[0] + state.n_rows[1], 2.0 * k - 1.0
    balance = weight * (state.counts[0] + state.counts[1]) / (2.0 * state.counts[k])
    pace = balance / np.sqrt(1.0 + n / SLOWING)
    for h in range(SIZE):
        p = HALVES[h]
        slack = max(0.0, 1.0 - sign * (desk.scores[h] + state.intercepts[h]))
        size = pace * STEP_SIZES[h]
        move = sign * slack * size / max(state.curvatures[p], size * desk.curvature[p])
        state.intercepts[h] += INTERCEPT * move * desk.curvature[p]
        state.scales[h] *= 1.0 - FORGETTING[h] / (n + 10.0 * FORGETTING[h])
        desk.moves[h] = move * desk.stretch[p] / state.scales[h]


@inlined
def move_weights(rows, i, weights, desk):
    """Add to `weights` each candidate's move times row `i` in its scale."""
    first = rows.indptr[i]
    for at in range(rows.indptr[i + 1] - first):
        row = weights[rows.indices[first + at]]
        plain, root, full = np.float64(rows.data[first + at]), desk.by_root[at], desk.by_full[at]
        for h in range(SIZE):
            row[h] += desk.moves[h] * (plain if h < PLAIN else root if h < ROOT else full)


@kernel
def selection_pass(rows, labels, row_weights, state):
    """Let every candidate score each row, be compared on it and then learn it, updating `state` in place.

    The weight of a row is one if there are no `row_weights`.
    """
    longest = 0
    for i in range(labels.size):
        longest = max(longest, rows.indptr[i + 1] - rows.indptr[i])
    desk = Desk(
        np.empty(longest), np.empty(longest), np.empty(longest),
        np.empty(SIZE), np.empty(SIZE), np.empty(3), np.empty(3),
    )  # fmt: skip
    for i in range(labels.size):
        k, weight = labels[i], row_weights[i] if row_weights.size else 1.0
        take_in(rows, i, k, weight, state, desk.totals)
        score_row(rows, i, state, desk.scores)
        scale_row(rows.data[rows.indptr[i] : rows.indptr[i + 1]], weight, state, desk)
        compare(desk.scores, k, weight, state)
        if state.counts[1 - k] > 0.0 and desk.curvature[BY_NONE] > FAINTEST:
            choose_moves(k, weight, state, desk)
            move_weights(rows, i, state.weights, desk)
