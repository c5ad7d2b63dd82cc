"""Online Uni-Exp: the exponential loss of single rows, both classes weighing the same."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from opauc.kernels.descent.means_descent import SUMS
from opauc.kernels.descent.univariate_descent import UnivariateState
from opauc.learners.card_statistics import counts_and_means, progressive_summary
from opauc.learners.class_means import CountsAndMeans
from opauc.learners.univariate import descend, iterate, no_weights
from opauc.statistics.chunk_rows import Labels, Rows
from opauc.statistics.score_summary import ScoreSummary

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class UniExp:
    """Descend on the exponential loss of each row, weighted so that both classes count alike.

    A row x with label y moves the weights by

        w += step omega y exp(-y w.x) x,    omega = rows / (2 rows of the class of x),

    from the counts so far, this row included; no step is taken until both
    classes were seen (Kotlowski, Dembczynski, Huellermeier 2011, online as in
    the study of OPAUC). The exponent is held at ten: where a row is that far
    on the wrong side the printed step is beyond all bounds.

    Step sizes "constant" and "invsqrt" are eta0 and eta0 / sqrt(t), as
    printed. "theorem" is 1 / (1 + sqrt(1 + t / eta0)) over the largest |x|^2
    so far, and no step goes beyond the Newton step of the row's own loss: it
    does not depend on the units of the features and cannot diverge. With
    `average`, the weights are the mean of the iterates, iterate t weighted by
    t^2. `step` reuses the arrays of the state it is given; if it raises, that
    state is as it was.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.learners.uni_exp import UniExp
    >>> learner = UniExp(eta0=0.1, learning_rate="constant", average=False)
    >>> state = learner.step(learner.start(1), np.array([[0.0], [2.0]]), np.array([0, 1], np.int8))
    >>> learner.weights(state).tolist()
    [0.2]
    """

    eta0: float = 1000.0
    learning_rate: str = "theorem"
    average: bool = True

    def start(self, n_features: int) -> UnivariateState:
        """Return the state before any row."""
        return no_weights(n_features)

    def step(self, state: UnivariateState, rows: Rows, labels: Labels) -> UnivariateState:
        """Return the state after a step on each row in order."""
        return descend(self, True, state, rows, labels)

    def weights(self, state: UnivariateState) -> Floats:
        """Return the mean of the iterates, or the last of them."""
        return iterate(state, self.average)

    def moments(self, state: UnivariateState) -> CountsAndMeans:
        """Return the counts and means of the classes."""
        return counts_and_means(state.counts, state.cards[:, SUMS:])

    def summary(self, state: UnivariateState, weights: Floats) -> ScoreSummary:
        """Return exact counts and mean scores, and progressive estimates of the variances."""
        return progressive_summary(state.counts, state.cards[:, SUMS:], state.spreads, weights)
