"""Algorithm 1 of the paper: one gradient step a row, on exact class statistics."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from opauc.errors import IncompatibleMoments
from opauc.kernels.descent.pair_descent import RECENT_EXCESS, ROWS, STEPS, DescentState, dense_pass
from opauc.kernels.descent.pair_descent_csr import csr_pass
from opauc.kernels.sums.symmetric_matrix import mirror_lower
from opauc.learners.learner import Learner
from opauc.learners.learning_rates import LEARNING_RATES as LEARNING_RATES
from opauc.learners.learning_rates import refuse_divergence, step_sizes
from opauc.learners.parameters import NON_NEGATIVE, POSITIVE, SHARE, SWITCH, Option, parameter
from opauc.learners.row_weights import row_weights
from opauc.rows import ClassCounts, Floats, Labels, Rows
from opauc.statistics import ClassMoments, ExactMoments
from opauc.statistics.chunk_rows import contiguous_blocks, kernel_rows
from opauc.statistics.score_summary import ScoreSummary


@dataclass(frozen=True)
class SGD(Learner[DescentState]):
    """Descend along the pair loss of each row against all rows of the other class so far.

    For a row x with label y the gradient is alpha w + (w.g - y) g + S w, with
    g = x - mean and S = covariance of the other class; no step is taken until
    both classes were seen. Recent rows wait in a block before they enter the
    covariance matrices, which gives the same iterates in a fraction of the time.

    The weight of a row is a factor on the gradient of its loss, alpha w left
    out; a step "theorem" is held at one over the curvature.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.learners.sgd import SGD
    >>> learner = SGD(alpha=0.0, eta0=0.1, learning_rate="constant", average=False)
    >>> state = learner.step(learner.start(1), np.array([[0.0], [2.0]]), np.array([0, 1], np.int8))
    >>> learner.weights(state).tolist()
    [0.2]
    """

    has_statistics: ClassVar[bool] = True

    keeps_covariances: ClassVar[bool] = True

    alpha: float = parameter(1e-4, NON_NEGATIVE)
    eta0: float = parameter(1e4, POSITIVE)
    learning_rate: str = parameter("theorem", Option(tuple(LEARNING_RATES)))
    average: bool = parameter(True, SWITCH)
    forgetting: float = parameter(1.0, SHARE)

    def start(self, n_features: int) -> DescentState:
        """Return the state before any row: zero weights, no statistics."""
        d = n_features
        # Measured: 8 pending rows up to about 1000 features, where the matrices leave the cache.
        pending = 8 if d < 1000 else 32
        return DescentState(
            counts=np.zeros(2),
            means=np.zeros((2, d)),
            lowers=np.zeros((2, d, d)),
            pending=np.zeros((2, pending, d)),
            filled=np.zeros(2, np.int64),
            scales=np.ones(2),
            traces=np.zeros(2),
            weights=np.zeros(d),
            weight_sum=np.zeros(d),
            progress=np.zeros(4),
        )

    def step(self, state: DescentState, rows: Rows, labels: Labels, weight: Floats | None = None) -> DescentState:
        """Return the state after a step on each row in order."""
        after = DescentState(*(part.copy() for part in state))
        relative, sizes = step_sizes(self, state.progress[ROWS], rows.shape[0])
        weights, run = row_weights(weight), dense_pass if isinstance(rows, np.ndarray) else csr_pass
        for part, block in contiguous_blocks(rows):
            run(
                kernel_rows(block), labels[part], weights[part], sizes[part], relative,
                float(self.alpha), float(self.forgetting), after,
            )  # fmt: skip
        refuse_divergence(self, (after.weights, after.weight_sum), after.progress[RECENT_EXCESS])
        return after

    def weights(self, state: DescentState) -> Floats:
        """Return the mean of the iterates, or the last of them."""
        if not self.average:
            return state.weights.copy()
        mean: Floats = state.weight_sum / max(1.0, state.progress[STEPS])
        return mean

    def counts(self, state: DescentState) -> ClassCounts:
        """Return the weight of the rows of each class."""
        return ClassCounts(*state.counts.tolist())

    def summary(self, state: DescentState, weights: Floats) -> ScoreSummary:
        """Return what the statistics say of the scores."""
        return self.statistics(state).summary(weights)

    def statistics(self, state: DescentState) -> ClassMoments:
        """Return the class statistics with the pending rows in them."""
        return ClassMoments(*(_class_moments(state, k) for k in (0, 1)))

    def check(self, state: DescentState) -> None:
        """Refuse a state from a file that would lead the kernels astray."""
        room = state.pending.shape[1]
        if not ((state.filled >= 0) & (state.filled < room)).all() or (state.counts < 0.0).any():
            raise IncompatibleMoments(f"expected counts of rows and 0 to {room - 1} pending ones, got {state.filled}")


def _class_moments(state: DescentState, k: int) -> ExactMoments:
    scatter = state.lowers[k].copy()
    mirror_lower(scatter)
    waiting = state.pending[k, : state.filled[k]]
    return ExactMoments(
        float(state.counts[k]), state.means[k].copy(), state.scales[k] * (scatter + waiting.T @ waiting)
    )
