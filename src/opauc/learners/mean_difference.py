"""The difference of the class means: what every other learner has to improve on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from opauc.errors import StatisticsOverflow
from opauc.statistics.chunk_rows import Labels, Rows
from opauc.statistics.score_summary import ScoreSummary

Floats = NDArray[np.float64]


class FeatureMoments(NamedTuple):
    """Rows of the negative (0) and the positive (1) class: count, mean, and scatter of each feature by itself."""

    counts: Floats
    means: Floats
    scatters: Floats


@dataclass(frozen=True)
class MeanDifference:
    """Take the difference of the class means for weights; two numbers a feature and class are kept.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.learners.mean_difference import MeanDifference
    >>> learner = MeanDifference()
    >>> state = learner.step(learner.start(1), np.array([[0.0], [2.0]]), np.array([0, 1], np.int8))
    >>> learner.weights(state).tolist()
    [2.0]
    """

    def start(self, n_features: int) -> FeatureMoments:
        """Return the state before any row."""
        return FeatureMoments(np.zeros(2), np.zeros((2, n_features)), np.zeros((2, n_features)))

    def step(self, state: FeatureMoments, rows: Rows, labels: Labels) -> FeatureMoments:
        """Return the state with the chunk in it."""
        counts, means, scatters = (part.copy() for part in state)
        for k in np.unique(labels):
            part = rows[np.flatnonzero(labels == k)]
            count, total = part.shape[0], counts[k] + part.shape[0]
            with np.errstate(over="ignore", invalid="ignore"):
                mean, scatter = _moments(part)
                away = mean - means[k]
                means[k] += count / total * away
                scatters[k] += scatter + counts[k] * count / total * away**2
            counts[k] = total
        if not (np.isfinite(means).all() and np.isfinite(scatters).all()):
            raise StatisticsOverflow("the sums of the rows overflow float64; scale the features down")
        return FeatureMoments(counts, means, scatters)

    def weights(self, state: FeatureMoments) -> Floats:
        """Return the difference of the class means; zero until both classes were seen."""
        difference: Floats = state.means[1] - state.means[0]
        return difference if state.counts.all() else np.zeros(difference.size)

    def summary(self, state: FeatureMoments, weights: Floats) -> ScoreSummary:
        """Return counts and mean scores, exact, and the score variances that uncorrelated features would give."""
        variances = state.scatters @ weights**2 / np.maximum(state.counts, 1.0)
        return ScoreSummary(*(tuple(part.tolist()) for part in (state.counts, state.means @ weights, variances)))

    def moments(self, state: FeatureMoments) -> FeatureMoments:
        """Return the statistics, which are the state."""
        return state


def _moments(rows: Rows) -> tuple[Floats, Floats]:
    """Return mean and scatter of each feature of at least one row."""
    if sparse.issparse(rows):
        values = rows.data.astype(np.float64)
        sums, squares = (np.bincount(rows.indices, part, minlength=rows.shape[1]) for part in (values, values**2))
        mean = sums / rows.shape[0]
        return mean, np.maximum(squares - sums * mean, 0.0)
    mean = rows.mean(axis=0, dtype=np.float64)
    return mean, ((rows - mean) ** 2).sum(axis=0)
