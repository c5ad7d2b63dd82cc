"""The penalized logistic likelihood of a sample, maximized together with the strengths of its penalties."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from opauc.additive.newton import PenalizedLoss, newton_descent
from opauc.additive.penalties import Penalties
from opauc.additive.smoothing import smoothed
from opauc.additive.sums import LinearizedSums
from opauc.errors import StatisticsOverflowError
from opauc.types import Floats, Labels

# Of many rows the first steps see a part only, and of fewer all but one in so many if asked to; the last ones see all.
MANY_ROWS, LEAST_PART, PART, STEPS_ON_PART = 6144, 4096, 4, 2
LEFT_OUT, STEPS_ON_ALL = 4, 5
# Products of so many rows may be made in float32.
ENOUGH_FOR_NARROW = 4096
# A step that gains less than this share of the loss is the last.
SMALLEST_GAIN = 1e-4
SHORTEST_STEP = 0.1


class PenalizedFit(NamedTuple):
    """Weights, strengths of the penalties, and the scores of the rows."""

    weights: Floats
    strengths: Floats
    scores: Floats


class StartedFit(NamedTuple):
    """A fit, the Gram matrix of all rows as far as the part tells it, and whether it is of a part only."""

    fit: PenalizedFit
    gram: Floats
    of_part: bool


def started_fit(
    rows: csr_array,
    labels: Labels,
    weight: Floats,
    penalties: Penalties,
    begin: PenalizedFit,
    most_steps: int,
    part: NDArray[np.int64],
) -> StartedFit:
    """Return the fit to a part of weighted sparse rows, or to all, with the scores of all of them.

    It begins with weights and strengths; new columns follow the known. Each
    step linearizes the likelihood at the weights and solves for new ones and new
    strengths; it is halved until the penalized loss falls.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.sparse import csr_array
    >>> from opauc.additive.basis.groups import ColumnGroups, Group, GroupKind
    >>> from opauc.additive.fit import beginning, finished_fit, started_fit
    >>> from opauc.additive.penalties import Penalties
    >>> rows, labels = csr_array([[1.0, 0.0], [1.0, 1.0]] * 50), np.array([0, 1] * 48 + [1, 0] * 2, np.int8)
    >>> groups = ColumnGroups.of([Group(GroupKind.INTERCEPT, 0, 1), Group(GroupKind.LEVELS, 1, 1)])
    >>> penalties, ones = Penalties(groups, (None, None)), np.ones(100)
    >>> started = started_fit(rows, labels, ones, penalties, beginning(labels, ones), 4, np.arange(60))
    >>> fit = finished_fit(rows, labels, ones, penalties, started)
    >>> bool(3.0 < fit.weights[1] < started.fit.weights[1])
    True
    """
    if part.size == labels.size:
        return StartedFit(*_steps(rows, labels, weight, penalties, begin, most_steps), False)
    steps = most_steps if labels.size < MANY_ROWS else min(most_steps, STEPS_ON_PART)
    fit, gram = _steps(rows[part], labels[part], weight[part], penalties, begin, steps)
    share = weight[part].sum() / weight.sum()
    return StartedFit(fit._replace(scores=rows @ fit.weights), gram / share, True)


def finished_fit(
    rows: csr_array, labels: Labels, weight: Floats, penalties: Penalties, started: StartedFit
) -> PenalizedFit:
    """Return the fit to all rows, of many with the strengths that the part gave; the Gram matrix of that is used up."""
    fit = started.fit
    if not started.of_part:
        return fit
    if labels.size < MANY_ROWS:
        return _steps(rows, labels, weight, penalties, fit, STEPS_ON_ALL)[0]
    loss = PenalizedLoss(rows, labels, weight, penalties.matrix(fit.strengths))
    weights = newton_descent(loss, fit.weights, started.gram)
    return PenalizedFit(weights, fit.strengths, rows @ weights)


def part_of(n_rows: int, some_left_out: bool) -> NDArray[np.int64]:
    """Return the rows that a fit begins with, evenly among all: some of many; of fewer all, unless some are left out.

    Examples
    --------
    >>> from opauc.additive.fit import part_of
    >>> [[part_of(n_rows, left_out).size for n_rows in (500, 8000, 40_000)] for left_out in (False, True)]
    [[500, 4096, 10000], [375, 4096, 10000]]
    """
    if n_rows < MANY_ROWS:
        everyone = np.arange(n_rows)
        return everyone[everyone % LEFT_OUT != LEFT_OUT - 1] if some_left_out else everyone
    wanted = max(LEAST_PART, n_rows // PART)
    return np.arange(wanted) * n_rows // wanted


def _steps(
    rows: csr_array, labels: Labels, weight: Floats, penalties: Penalties, begin: PenalizedFit, most_steps: int
) -> tuple[PenalizedFit, Floats]:
    """Return the fit after at most so many outer steps, and the Gram matrix that the last of them was made with."""
    weights = np.pad(begin.weights, (0, rows.shape[1] - begin.weights.size))
    more = penalties.groups.kinds.size - begin.strengths.size
    strengths = np.pad(begin.strengths, (0, more), constant_values=1.0)
    scores = rows @ weights
    for _ in range(most_steps):
        start = LinearizedSums.at(weights)
        sums = start.update(rows, labels, weight, narrow=labels.size >= ENOUGH_FOR_NARROW)
        try:
            found = smoothed(sums.gram, sums.moment, penalties, strengths, 1)
        except StatisticsOverflowError:  # columns so alike that six digits do not tell them apart
            sums = start.update(rows, labels, weight)
            found = smoothed(sums.gram, sums.moment, penalties, strengths, 1)
        strengths = found.strengths

        def loss(weights: Floats, scores: Floats, strengths: Floats = strengths) -> float:
            penalty = 0.5 * float(strengths @ penalties.sizes_of(weights))
            return penalty + float(weight @ np.logaddexp(0.0, np.where(labels == 1, -scores, scores)))

        before, length = loss(weights, scores), 1.0
        after, after_scores = found.weights, rows @ found.weights
        while loss(after, after_scores) > before * (1.0 + 1e-6) and length > SHORTEST_STEP:
            length /= 2.0
            after, after_scores = 0.5 * (weights + after), 0.5 * (scores + after_scores)
        gained = before - loss(after, after_scores)
        weights, scores = after, after_scores
        if abs(gained) < SMALLEST_GAIN * before:
            break
    return PenalizedFit(weights, strengths, scores), sums.gram


def beginning(labels: Labels, weight: Floats) -> PenalizedFit:
    """Return the fit of the intercept alone."""
    negative, positive = np.bincount(labels, weight, minlength=2).tolist()
    log_odds = np.log((positive + 0.5) / (negative + 0.5))
    return PenalizedFit(np.array([log_odds]), np.zeros(1), np.full(labels.size, log_odds))
