"""SPAUC: the square pair loss from rows less the mean of their own class, in O(entries) a row."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from opauc.kernels.descent.centred_descent import centred_pass
from opauc.kernels.descent.means_descent import RECENT_EXCESS, MeansWeights
from opauc.learners.card_statistics import checked_squares
from opauc.learners.class_means import ClassMeans, CountsAndMeans, MeansState
from opauc.learners.sgd import LEARNING_RATES, refuse_divergence
from opauc.statistics.chunk_rows import Labels, Rows
from opauc.statistics.score_summary import ScoreSummary
from opauc.statistics.thin_rows import thin_blocks

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class SPAUC:
    """Descend along an estimate of the gradient of the pair loss that needs the class means alone.

    With p the share of positive rows, c the mean of the class of x and q the
    share of the other class, d the difference of the class means, all of the
    rows so far, this one included, a row x moves the weights by

        w <- (w - step (q w.(x - c) (x - c) - p (1 - p) (1 - w.d) d)) / (1 + step alpha)

    (Lei and Ying 2021; the division is the proximal step of a ridge). The
    expectation is the gradient of the square pair loss times p (1 - p), so
    `alpha` compares with p (1 - p) times that of OPAUC.

    Step sizes "constant" and "invsqrt" are eta0 and eta0 / sqrt(t);
    "theorem" is 1 / (1 + sqrt(1 + t / eta0)) over the largest curvature so
    far: it does not depend on the units of the features and cannot diverge.
    With `average`, the weights are the mean of the iterates, iterate t
    weighted by t^2. Rows are not centred, or they would not be sparse: see
    `ClassMeans` for what that costs far from zero. `step` reuses the arrays of
    the state it is given; if it raises, that state is as it was.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.learners.spauc import SPAUC
    >>> learner = SPAUC(alpha=0.0, eta0=0.4, learning_rate="constant", average=False)
    >>> state = learner.step(learner.start(1), np.array([[0.0], [2.0]]), np.array([0, 1], np.int8))
    >>> learner.weights(state).tolist()
    [0.2]
    """

    alpha: float = 0.0
    eta0: float = 1e4
    learning_rate: str = "theorem"
    average: bool = True

    def start(self, n_features: int) -> MeansState:
        """Return the state before any row."""
        return ClassMeans().start(n_features)

    def step(self, state: MeansState, rows: Rows, labels: Labels) -> MeansState:
        """Take a step on each row in order."""
        relative, sizes = LEARNING_RATES[self.learning_rate]
        step_sizes = sizes(self.eta0, state.parts.counts.sum() + np.arange(1.0, labels.size + 1.0))
        checked_squares(rows)
        # A relative step cannot overflow; any other may, and then all has to be put back.
        parts = state.parts if relative else MeansWeights(*(part.copy() for part in state.parts))
        # Beyond the range of float64 only plain Python, where nothing is compiled, would warn.
        with np.errstate(over="ignore", invalid="ignore"):
            for part, thin in thin_blocks(rows):
                centred_pass(thin, labels[part], step_sizes[part], relative, self.alpha, parts)
        if not relative:
            refuse_divergence(self, parts, parts.scalars[RECENT_EXCESS])
        return state._replace(parts=parts)

    def weights(self, state: MeansState) -> Floats:
        """Return the weighted mean of the iterates, or the last of them."""
        return ClassMeans(average=self.average).weights(state)

    def moments(self, state: MeansState) -> CountsAndMeans:
        """Return the counts and means of the classes."""
        return ClassMeans().moments(state)

    def summary(self, state: MeansState, weights: Floats) -> ScoreSummary:
        """Return exact counts and mean scores, and progressive estimates of the variances."""
        return ClassMeans().summary(state, weights)
