"""The penalised logistic likelihood of a sample, maximised together with the strengths of its penalties."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array

from opauc.learners.additive.fellner_schall import smoothed
from opauc.learners.additive.penalties import Penalties
from opauc.rows import Floats, Labels
from opauc.statistics.linearised_sums import LinearisedSums

SMOOTHING_STEPS = 3
# Of many rows the first steps see a part only; the last ones never do.
MANY_ROWS, PART, STEPS_ON_PART = 8192, 4, 2
# A step that gains less than this share of the loss is the last.
SMALLEST_GAIN = 1e-4
SHORTEST_STEP = 0.1


class PenalisedFit(NamedTuple):
    """Weights, strengths of the penalties, and the scores of the rows."""

    weights: Floats
    strengths: Floats
    scores: Floats


def penalised_fit(
    rows: csr_array, labels: Labels, weight: Floats, penalties: Penalties, begin: PenalisedFit, most_steps: int
) -> PenalisedFit:
    """Return the fit to weighted sparse rows, from weights and strengths to begin with; new columns follow the known.

    Each outer step linearises the likelihood at the weights and solves for new
    ones and new strengths; it is halved until the penalised loss falls.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.sparse import csr_array
    >>> from opauc.column_groups import ColumnGroups, Group, GroupKind
    >>> from opauc.learners.additive.penalised_fit import beginning, penalised_fit
    >>> from opauc.learners.additive.penalties import Penalties
    >>> rows, labels = csr_array([[1.0, 0.0], [1.0, 1.0]] * 50), np.array([0, 1] * 48 + [1, 0] * 2, np.int8)
    >>> groups = ColumnGroups.of([Group(GroupKind.INTERCEPT, 0, 1), Group(GroupKind.LEVELS, 1, 1)])
    >>> penalties = Penalties(groups, (None, None))
    >>> fit = penalised_fit(rows, labels, np.ones(100), penalties, beginning(labels, np.ones(100)), 4)
    >>> bool(fit.weights[1] > 3.0)
    True
    """
    if labels.size >= MANY_ROWS:
        part = slice(None, None, PART)
        begin = _steps(rows[part], labels[part], weight[part], penalties, begin, STEPS_ON_PART)
        most_steps = max(1, most_steps - STEPS_ON_PART)
    return _steps(rows, labels, weight, penalties, begin, most_steps)


def _steps(
    rows: csr_array, labels: Labels, weight: Floats, penalties: Penalties, begin: PenalisedFit, most_steps: int
) -> PenalisedFit:
    """Return the fit after at most so many outer steps."""
    weights = np.pad(begin.weights, (0, rows.shape[1] - begin.weights.size))
    more = penalties.groups.kinds.size - begin.strengths.size
    strengths = np.pad(begin.strengths, (0, more), constant_values=1.0)
    scores = rows @ weights
    for _ in range(most_steps):
        sums = LinearisedSums.at(weights).update(rows, labels, weight, narrow=labels.size >= MANY_ROWS)
        found = smoothed(sums.gram, sums.moment, penalties, strengths, SMOOTHING_STEPS)
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
    return PenalisedFit(weights, strengths, scores)


def beginning(labels: Labels, weight: Floats) -> PenalisedFit:
    """Return the fit of the intercept alone."""
    negative, positive = np.bincount(labels, weight, minlength=2).tolist()
    log_odds = np.log((positive + 0.5) / (negative + 0.5))
    return PenalisedFit(np.array([log_odds]), np.zeros(1), np.full(labels.size, log_odds))
