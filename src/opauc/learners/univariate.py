"""What the learners of univariate losses share: they differ in the loss alone."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from opauc.kernels.descent.means_descent import WEIGHT, WEIGHT_SUM
from opauc.kernels.descent.univariate_descent import RECENT_EXCESS, SHARE_SUM, UnivariateState, univariate_pass
from opauc.learners.card_statistics import checked_squares
from opauc.learners.sgd import LEARNING_RATES, refuse_divergence
from opauc.statistics.chunk_rows import Labels, Rows
from opauc.statistics.thin_rows import thin_blocks

Floats = NDArray[np.float64]


def no_weights(n_features: int) -> UnivariateState:
    """Return zero weights and no rows."""
    return UnivariateState(np.zeros((n_features, 4)), np.zeros(2), np.zeros((2, 3)), np.zeros(4))


def descend(learner: Any, exponential: bool, state: UnivariateState, rows: Rows, labels: Labels) -> UnivariateState:
    """Return the state after a step on each row in order, as the settings of the learner say."""
    relative, sizes = LEARNING_RATES[learner.learning_rate]
    step_sizes = sizes(learner.eta0, state.counts.sum() + np.arange(1.0, labels.size + 1.0))
    checked_squares(rows)
    # A relative step cannot overflow; any other may, and then all has to be put back.
    after = state if relative else UnivariateState(*(part.copy() for part in state))
    # Beyond the range of float64 only plain Python, where nothing is compiled, would warn.
    with np.errstate(over="ignore", invalid="ignore"):
        for part, thin in thin_blocks(rows):
            univariate_pass(thin, labels[part], step_sizes[part], relative, exponential, learner.average, after)
    if not relative:
        # Margins of a good exponential loss are far from one, so only the square loss can be judged by them.
        refuse_divergence(learner, after, 0.0 if exponential else after.scalars[RECENT_EXCESS])
    return after


def iterate(state: UnivariateState, average: bool) -> Floats:
    """Return the last iterate, or the mean of all of them."""
    last: Floats = state.cards[:, WEIGHT].copy()
    if not average:
        return last
    shares = state.scalars[SHARE_SUM]
    mean: Floats = (shares * last + state.cards[:, WEIGHT_SUM]) / (shares or 1.0)
    return mean
