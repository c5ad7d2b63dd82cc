"""AdaOAM: Algorithm 1 of the paper with the step sizes of AdaGrad, one for each feature."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from opauc.baselines.kernels.adaptive_descent import adaptive_csr_pass, adaptive_pass
from opauc.core.mergeable import ScoreSummary
from opauc.core.parameters import NON_NEGATIVE, POSITIVE, SWITCH, parameter
from opauc.core.row_blocks import contiguous_blocks, kernel_rows, row_weights
from opauc.core.solver import Solver
from opauc.errors import DivergedError
from opauc.linear.kernels.sgd import DescentState
from opauc.linear.moments.classes import ClassMoments
from opauc.linear.sgd import SGD, start_plain
from opauc.types import ClassCounts, Floats, Labels, Rows


class AdaptiveState(NamedTuple):
    """The state of Algorithm 1 and the sum of squared gradients of each feature, shape (n_features,)."""

    descent: DescentState
    squares: Floats


@dataclass(frozen=True)
class AdaOAM(Solver[AdaptiveState]):
    """Descend along the pair loss of each row, each feature with a step of its own.

    The gradient g is that of OPAUC, alpha w + (w.z - y) z + S w for a row x
    with label y, z = x - mean and S = covariance of the other class; then

        w_j -= eta0 g_j / (epsilon + sqrt(sum of g_j^2 so far, this one included))

    (Ding, Zhao, Hoi, Ong 2015). No step is taken until both classes were seen.
    There is no projection onto a ball. Two n_features x n_features matrices
    are kept and a row costs O(n_features^2), sparse or not. With `average`,
    the weights are the mean of the iterates. The weight of a row is a factor on
    the gradient of its loss, alpha w left out.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.baselines.solvers.ada_oam import AdaOAM
    >>> learner = AdaOAM(alpha=0.0, eta0=0.1, epsilon=0.0, average=False)
    >>> state = learner.step(learner.start(1), np.array([[0.0], [2.0]]), np.array([0, 1], np.int8))
    >>> learner.weights(state).tolist()
    [0.1]
    """

    name: ClassVar[str] = "ada_oam"

    has_statistics: ClassVar[bool] = True

    keeps_covariances: ClassVar[bool] = True

    alpha: float = parameter(1e-4, NON_NEGATIVE)
    eta0: float = parameter(0.03, POSITIVE)
    epsilon: float = parameter(1e-8, NON_NEGATIVE)
    average: bool = parameter(False, SWITCH)

    def start(self, n_features: int) -> AdaptiveState:
        """Return the state before any row: zero weights, no statistics."""
        return AdaptiveState(start_plain(n_features), np.zeros(n_features))

    def step(self, state: AdaptiveState, rows: Rows, labels: Labels, weight: Floats | None = None) -> AdaptiveState:
        """Return the state after a step on each row in order."""
        after = DescentState(*(part.copy() for part in state.descent))
        squares, weights = state.squares.copy(), row_weights(weight)
        run = adaptive_pass if isinstance(rows, np.ndarray) else adaptive_csr_pass
        settings = float(self.alpha), float(self.eta0), float(self.epsilon)
        with np.errstate(over="ignore", invalid="ignore"):
            for part, block in contiguous_blocks(rows):
                run(kernel_rows(block), labels[part], weights[part], *settings, after, squares)
        # No step is longer than eta0, so it is gradients that overflow.
        if not all(np.isfinite(part).all() for part in (after.weights, after.weight_sum, squares)):
            raise DivergedError(
                f"the squared gradients overflowed: eta0={self.eta0} is too large for these rows; "
                "lower eta0 or scale the features"
            )
        return AdaptiveState(after, squares)

    def weights(self, state: AdaptiveState) -> Floats:
        """Return the last iterate, or the mean of all."""
        return SGD(average=self.average).weights(state.descent)

    def counts(self, state: AdaptiveState) -> ClassCounts:
        """Return the weight of the rows of each class."""
        return SGD().counts(state.descent)

    def summary(self, state: AdaptiveState, weights: Floats) -> ScoreSummary:
        """Return what the statistics say of the scores."""
        return self.statistics(state).summary(weights)

    def statistics(self, state: AdaptiveState) -> ClassMoments:
        """Return the class statistics."""
        return SGD().statistics(state.descent)

    def check(self, state: AdaptiveState) -> None:
        """Refuse a state from a file that would lead the kernels astray."""
        SGD().check(state.descent)
