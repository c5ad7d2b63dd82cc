"""Algorithm 1 of the paper: one gradient step a row, on exact class statistics."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from opauc.errors import DivergedError, DivergenceWarning, IncompatibleMoments
from opauc.kernels.descent.pair_descent import DescentState, dense_pass
from opauc.kernels.descent.pair_descent_csr import csr_pass
from opauc.kernels.sums.symmetric_matrix import mirror_lower
from opauc.statistics import ClassMoments, ExactMoments
from opauc.statistics.chunk_rows import Labels, Rows, contiguous_blocks, kernel_rows
from opauc.statistics.score_summary import ScoreSummary

Floats = NDArray[np.float64]

# Zero weights have a squared excess of one; ten times that is no noise of good weights.
UNSTABLE = 10.0

# Step sizes of rows number t = 1, 2, ... and whether they are in units of 1/curvature.
LEARNING_RATES: dict[str, tuple[bool, Callable[[float, Floats], Floats]]] = {
    "constant": (False, lambda eta0, t: np.full(t.size, eta0)),
    "invsqrt": (False, lambda eta0, t: eta0 / np.sqrt(t)),
    "theorem": (True, lambda eta0, t: 1.0 / (1.0 + np.sqrt(1.0 + t / eta0))),
}


@dataclass(frozen=True)
class SGD:
    """Descend along the pair loss of each row against all rows of the other class so far.

    For a row x with label y the gradient is alpha w + (w.g - y) g + S w, with
    g = x - mean and S = covariance of the other class; no step is taken until
    both classes were seen. Recent rows wait in a block before they enter the
    covariance matrices, which gives the same iterates in a fraction of the time.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.learners.sgd import SGD
    >>> learner = SGD(alpha=0.0, eta0=0.1, learning_rate="constant", average=False)
    >>> state = learner.step(learner.start(1), np.array([[0.0], [2.0]]), np.array([0, 1], np.int8))
    >>> learner.weights(state).tolist()
    [0.2]
    """

    alpha: float = 1e-4
    eta0: float = 1e4
    learning_rate: str = "theorem"
    average: bool = True
    forgetting: float = 1.0

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

    def step(self, state: DescentState, rows: Rows, labels: Labels) -> DescentState:
        """Return the state after a step on each row in order."""
        after = DescentState(*(part.copy() for part in state))
        relative, sizes = LEARNING_RATES[self.learning_rate]
        step_sizes = sizes(self.eta0, state.progress[0] + np.arange(1.0, rows.shape[0] + 1.0))
        run = dense_pass if isinstance(rows, np.ndarray) else csr_pass
        for part, block in contiguous_blocks(rows):
            run(
                kernel_rows(block), labels[part], step_sizes[part], relative,
                self.alpha, self.forgetting, after,
            )  # fmt: skip
        refuse_divergence(self, (after.weights, after.weight_sum), after.progress[3])
        return after

    def summary(self, state: DescentState, weights: Floats) -> ScoreSummary:
        """Return what the statistics say of the scores."""
        return self.moments(state).summary(weights)

    def weights(self, state: DescentState) -> Floats:
        """Return the mean of the iterates, or the last of them."""
        if not self.average:
            return state.weights.copy()
        mean: Floats = state.weight_sum / max(1.0, state.progress[1])
        return mean

    def moments(self, state: DescentState) -> ClassMoments:
        """Return the class statistics with the pending rows in them."""
        return ClassMoments(*(_class_moments(state, k) for k in (0, 1)))

    def check_state(self, state: DescentState) -> None:
        """Refuse a state from a file that would lead the kernels astray."""
        room = state.pending.shape[1]
        if not ((state.filled >= 0) & (state.filled < room)).all() or (state.counts < 0.0).any():
            raise IncompatibleMoments(f"expected counts of rows and 0 to {room - 1} pending ones, got {state.filled}")


def refuse_divergence(learner: Any, parts: Iterable[Floats], recent_excess: float) -> None:
    """Raise if the weights overflowed, warn if they do far worse than none; both name the step size."""
    setting = f"eta0={learner.eta0}", f"learning_rate={learner.learning_rate!r}"
    if not all(np.isfinite(part).all() for part in parts):
        raise DivergedError(
            f"the weights overflowed: {setting[0]} is too large for these rows with {setting[1]}; "
            "lower eta0 or scale the features"
        )
    if recent_excess > UNSTABLE:
        warnings.warn(
            f"{setting[0]} looks too large for these rows with {setting[1]}: "
            f"the recent mean of (1 - margin)^2 is {recent_excess:.3g}, zero weights have 1",
            DivergenceWarning,
            stacklevel=3,
        )


def _class_moments(state: DescentState, k: int) -> ExactMoments:
    scatter = state.lowers[k].copy()
    mirror_lower(scatter)
    waiting = state.pending[k, : state.filled[k]]
    return ExactMoments(
        float(state.counts[k]), state.means[k].copy(), state.scales[k] * (scatter + waiting.T @ waiting)
    )
