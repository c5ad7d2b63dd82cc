"""One pass of eight fixed candidates over sparse rows, and the pairs that tell which of them ranks best.

Their number is a constant of the module, so that the compiler unrolls the loops over them.
"""

from typing import NamedTuple

import numpy as np

from opauc.core.kernels.compile import inlined, kernel
from opauc.core.kernels.simd import lanes_at, plus, put_lanes, times
from opauc.linear.kernels.grid import pairs_of_newest, place_of


class Candidate(NamedTuple):
    """How one candidate moves its weights."""

    power: float  # of the inverse sums of squares that scale the features: 0, 1/2 or 1
    step_size: float  # relative to 1 / mean of x'Dx, D the diagonal of those scales
    forgetting: float  # the weights shrink as rows^-forgetting
    unit_rows: bool  # whether rows are learned and scored at length one, or as they come


# Each of them is the winner of one or more of eleven text problems. Sorted by power. Where all rows have one length it
# is the same to see them as they come; the two that do were, of all choices of up to four, the best on texts of any
# length and on one-hot rows with a number of large units among them, which rows of length one would drown.
CANDIDATES = (
    Candidate(0.0, 0.125, 0.0, True), Candidate(0.0, 0.5, 0.0, True),
    Candidate(0.5, 0.125, 0.0, False), Candidate(0.5, 0.5, 0.0, True), Candidate(0.5, 1.0, 0.0, True),
    Candidate(1.0, 0.125, 0.0, False), Candidate(1.0, 1.0, 0.0, True), Candidate(1.0, 0.5, 0.5, True),
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
# A row with a smaller sum of squares is scored and not learned from: the inverse of its curvature might overflow.
FAINTEST = 1e-280

# What stands where: in `sums`, the sums of class k are in column CLASS_SUMS + k, of rows as they come in RAW_SUMS + k;
FEATURE_SQUARES, CLASS_SUMS, RAW_SUMS, SUMS = 0, 1, 3, 5
# in `energy`;
SQUARES, VALUES = 0, 1
# in whatever there is one of for each power, twice the power, and for rows as they come so many places later;
BY_NONE, BY_ROOT, BY_FULL, AS_THEY_COME = 0, 1, 2, 3
PLACES = np.array(
    [half + (0 if each.unit_rows else AS_THEY_COME) for half, each in zip(HALVES, CANDIDATES, strict=True)]
)
# in `wins`, after the candidates.
ALL_PAIRS = SIZE


class SelectionState(NamedTuple):
    """What the pass reads and writes; index 0 is the negative class, 1 the positive.

    The weights of candidate h are scales[h] * weights[:, h]: forgetting is one
    product a row instead of d. Of each feature, `sums` holds the sum of squares
    and the sum of the values in each class, of weighted rows at length one, and
    then the sum in each class of rows as they come. Where `unit` is zero,
    no row is scaled: all candidates see the raw rows.
    """

    counts: np.ndarray  # (2,) weight of the rows
    n_rows: np.ndarray  # (2,) their number
    sums: np.ndarray  # (d, SUMS)
    weights: np.ndarray  # (d, SIZE)
    scales: np.ndarray  # (SIZE,)
    intercepts: np.ndarray  # (SIZE,)
    wins: np.ndarray  # (SIZE + 1,) weight of the pairs each candidate ordered rightly, then of all pairs
    recent: np.ndarray  # (2, KEPT_SCORES, SIZE) scores, row t of a class at t % KEPT_SCORES
    recent_weights: np.ndarray  # (2, KEPT_SCORES) of those rows
    curvatures: np.ndarray  # (6,) mean of x'Dx for the powers 0, 1/2 and 1; the same of rows as they come
    energy: np.ndarray  # (2,) sum of squares and number of the values met, zeros left out
    unit: np.ndarray  # (1,) one where rows are scaled to length one, else zero


class Desk(NamedTuple):
    """Scratch for one row."""

    values: np.ndarray  # (longest row,) the row at length one
    totals: np.ndarray  # (longest row,) sum of squares of each feature in the row
    by_root: np.ndarray  # (longest row,) x / sqrt(sum of squares): the row in the scale of power 1/2
    by_full: np.ndarray  # (longest row,) x / sum of squares: in the scale of power 1
    scores: np.ndarray  # (SIZE,)
    moves: np.ndarray  # (SIZE,)
    curvature: np.ndarray  # (6,) x'Dx of the row at length one, and as it comes
    stretch: np.ndarray  # (6,) rows^power: the scales are of mean squares, the sums of all; times the length


@inlined
def square_of(values):
    """Return the sum of squares."""
    square = 0.0
    for at in range(values.size):
        square += np.float64(values[at]) * np.float64(values[at])
    return square


@inlined
def take_in(rows, i, k, weight, shrink, state, desk):
    """Add `shrink` times row `i` of class k to the sums, weighted; write it and its features' squares onto `desk`."""
    sums, first = state.sums, rows.indptr[i]
    for at in range(rows.indptr[i + 1] - first):
        raw, known = np.float64(rows.data[first + at]), sums[rows.indices[first + at]]
        x = shrink * raw
        total = known[FEATURE_SQUARES] + weight * x * x
        known[FEATURE_SQUARES] = total
        known[CLASS_SUMS + k] += weight * x
        known[RAW_SUMS + k] += weight * raw
        desk.totals[at] = total
        desk.values[at] = x
    state.n_rows[k] += 1.0
    state.counts[k] += weight


@inlined
def score_row(rows, i, length, state, desk):
    """Write onto `desk`, which has the values of row `i` divided by `length`, the scores the candidates give it."""
    scores, first = desk.scores, rows.indptr[i]
    scored = times(0.0, lanes_at(state.intercepts, 0))  # in a register: sums in memory would wait for each other
    for at in range(rows.indptr[i + 1] - first):
        scored = plus(scored, desk.values[at], lanes_at(state.weights[rows.indices[first + at]], 0))
    put_lanes(scores, 0, scored)
    for h in range(SIZE):
        scores[h] *= state.scales[h] if PLACES[h] < AS_THEY_COME else state.scales[h] * length


@inlined
def scale_row(size, plain, length, weight, state, desk):
    """Write onto `desk` its row, `size` values of squares `plain`, in each scale, and curvatures; take those in too."""
    energy, by_root, by_full = state.energy, desk.by_root, desk.by_full
    typical = energy[SQUARES] / energy[VALUES] if energy[VALUES] > 0.0 else 0.0
    prior_root, prior_full = PRIOR_ROOT * typical + NOTHING, PRIOR_FULL * typical + NOTHING
    root = full = met = 0.0
    for at in range(size):
        x, total = desk.values[at], desk.totals[at]
        by_root[at] = x / np.sqrt(total + prior_root)
        by_full[at] = x / (total + prior_full)
        root += x * by_root[at]
        full += x * by_full[at]
        met += 1.0 if x != 0.0 else 0.0
    energy[SQUARES] += weight * plain
    energy[VALUES] += weight * met
    n, stretch, curvature = state.counts[0] + state.counts[1], desk.stretch, desk.curvature
    stretch[BY_NONE], stretch[BY_ROOT], stretch[BY_FULL] = 1.0, np.sqrt(n), n
    curvature[BY_NONE], curvature[BY_ROOT], curvature[BY_FULL] = plain, root * np.sqrt(n), full * n
    for p in range(AS_THEY_COME):
        stretch[AS_THEY_COME + p] = length * stretch[p]
        curvature[AS_THEY_COME + p] = length * length * curvature[p]
    share = weight / n
    for p in range(2 * AS_THEY_COME):
        state.curvatures[p] += share * (curvature[p] - state.curvatures[p])


@inlined
def compare(scores, k, weight, state):
    """Add to `wins` the pairs of the newest row, of class k, with the latest of the other class; keep its scores.

    Only rows of the class rarer so far are compared. They stand for the pairs
    of the area under the curve scored before they were learned from; each row
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
        p = PLACES[h]
        slack = max(0.0, 1.0 - sign * (desk.scores[h] + state.intercepts[h]))
        size = pace * STEP_SIZES[h]
        move = sign * slack * size / max(state.curvatures[p], size * desk.curvature[p])
        state.intercepts[h] += INTERCEPT * move * desk.curvature[p]
        state.scales[h] *= 1.0 - FORGETTING[h] / (n + 10.0 * FORGETTING[h])
        desk.moves[h] = move * desk.stretch[p] / state.scales[h]


@inlined
def move_weights(rows, i, weights, desk):
    """Add to `weights` each candidate's move times row `i`, which is on the desk, in its scale."""
    first = rows.indptr[i]
    for at in range(rows.indptr[i + 1] - first):
        row = weights[rows.indices[first + at]]
        plain, root, full = desk.values[at], desk.by_root[at], desk.by_full[at]
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
        np.empty(longest), np.empty(longest), np.empty(longest), np.empty(longest),
        np.empty(SIZE), np.empty(SIZE), np.empty(2 * AS_THEY_COME), np.empty(2 * AS_THEY_COME),
    )  # fmt: skip
    for i in range(labels.size):
        k, weight = labels[i], row_weights[i] if row_weights.size else 1.0
        square = square_of(rows.data[rows.indptr[i] : rows.indptr[i + 1]])
        # A row too faint to be learned from is nothing at length one.
        length = 1.0 if state.unit[0] == 0.0 else np.sqrt(square) if square > FAINTEST else 0.0
        shrink = 1.0 / length if length > 0.0 else 0.0
        take_in(rows, i, k, weight, shrink, state, desk)
        score_row(rows, i, length, state, desk)
        scale_row(rows.indptr[i + 1] - rows.indptr[i], square * shrink * shrink, length, weight, state, desk)
        compare(desk.scores, k, weight, state)
        if state.counts[1 - k] > 0.0 and square > FAINTEST:
            choose_moves(k, weight, state, desk)
            move_weights(rows, i, state.weights, desk)
