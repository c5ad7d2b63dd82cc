"""Which pairs of a step size and a penalty are still in the running, and how well each has ranked rows so far."""

from typing import NamedTuple

import numpy as np

from opauc.kernels.compile_kernel import borrowing
from opauc.kernels.descent.progressive_pairs import pairs_of_newest, place_of

# A pair whose weights miss a label by more has diverged: to be of use it would have to shrink by as much again, and
# nothing of what it had learnt would be left in its digits.
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
