"""Algorithm 1 of the paper: one gradient step a row, on exact class statistics."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, TypeAlias

import numpy as np

from opauc.core.kernels.symmetric_matrix import mirror_lower
from opauc.core.mergeable import ScoreSummary
from opauc.core.parameters import NON_NEGATIVE, POSITIVE, SHARE, SWITCH, Option, parameter
from opauc.core.row_blocks import contiguous_blocks, kernel_rows, row_weights
from opauc.core.solver import Solver
from opauc.errors import IncompatibleMomentsError, StatisticsOverflowError
from opauc.linear.kernels.scaled_sgd import ScaledState, scaled_csr_pass, scaled_dense_pass
from opauc.linear.kernels.sgd import RECENT_EXCESS, ROWS, STEPS, DescentState, csr_pass, dense_pass
from opauc.linear.learning_rates import LEARNING_RATES, refuse_divergence, step_sizes
from opauc.linear.moments.classes import ClassMoments
from opauc.linear.moments.exact import ExactMoments
from opauc.types import ClassCounts, Floats, Labels, Rows

# With `standardize`, a step "theorem" of one over the mean curvature at first. Of half to four times that, measured on
# fourteen tables, once and twice served best.
RELATIVE_STEP = 2.0
PASSES = {
    (True, False): dense_pass, (False, False): csr_pass, (True, True): scaled_dense_pass,
    (False, True): scaled_csr_pass,
}  # fmt: skip

SgdState: TypeAlias = DescentState | ScaledState


@dataclass(frozen=True)
class SGD(Solver[SgdState]):
    """Descend along the pair loss of each row against all rows of the other class so far.

    For a row x with label y the gradient is alpha w + (w.g - y) g + S w, with
    g = x - mean and S = covariance of the other class; no step is taken until
    both classes were seen. Recent rows wait in a block before they enter the
    covariance matrices, which gives the same iterates in a fraction of the time.

    The weight of a row is a factor on the gradient of its loss, alpha w left
    out; a step "theorem" is held at one over the curvature.

    With `standardize` the same is done in units of each feature's own spread,
    measured on the stream: w_j moves by step (alpha w_j + gradient_j / D_j),
    D_j the mean of its variances in both classes so far, and more while few
    rows were seen. So alpha means what it means to `Exact`, neither units nor
    shifts of features change a ranking, and a weight shrinks when its feature
    turns out larger than it seemed. A step "theorem" is twice as long and in
    units of the mean curvature rather than of the largest, and the mean of the
    iterates has the t-th of them t^2 times: the first ones are bad.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.linear.sgd import SGD
    >>> learner = SGD(alpha=0.0, eta0=0.1, learning_rate="constant", average=False)
    >>> state = learner.step(learner.start(1), np.array([[0.0], [2.0]]), np.array([0, 1], np.int8))
    >>> learner.weights(state).tolist()
    [0.2]
    """

    name: ClassVar[str] = "sgd"

    has_statistics: ClassVar[bool] = True

    keeps_covariances: ClassVar[bool] = True

    alpha: float = parameter(1e-4, NON_NEGATIVE)
    eta0: float = parameter(1e4, POSITIVE)
    learning_rate: str = parameter("theorem", Option(tuple(LEARNING_RATES)))
    average: bool = parameter(True, SWITCH)
    forgetting_factor: float = parameter(1.0, SHARE)
    standardize: bool = parameter(False, SWITCH)

    def start(self, n_features: int) -> SgdState:
        """Return the state before any row: zero weights, no statistics."""
        plain = plain_start(n_features)
        if not self.standardize:
            return plain
        return ScaledState(*plain, squares=np.zeros((2, n_features)), largest=np.zeros(n_features))

    def step(self, state: SgdState, rows: Rows, labels: Labels, weight: Floats | None = None) -> SgdState:
        """Return the state after a step on each row in order."""
        before = self._fitting(state)
        after = type(before)(*(part.copy() for part in before))
        relative, sizes = step_sizes(self, state.progress[ROWS], rows.shape[0])
        if relative and self.standardize:
            sizes *= RELATIVE_STEP
        weights, run = row_weights(weight), PASSES[isinstance(rows, np.ndarray), self.standardize]
        for part, block in contiguous_blocks(rows):
            run(
                kernel_rows(block), labels[part], weights[part], sizes[part], relative,
                float(self.alpha), float(self.forgetting_factor), after,
            )  # fmt: skip
        if isinstance(after, ScaledState) and not (
            np.isfinite(after.squares).all() and np.isfinite(after.largest).all()
        ):
            raise StatisticsOverflowError("the squares of the features overflow float64; scale the features down")
        refuse_divergence(self, (after.weights, after.weight_sum), after.progress[RECENT_EXCESS])
        return after

    def weights(self, state: SgdState) -> Floats:
        """Return the mean of the iterates, or the last of them."""
        if not self.average:
            return state.weights.copy()
        mean: Floats = state.weight_sum / max(1.0, _parts(state))
        return mean

    def counts(self, state: SgdState) -> ClassCounts:
        """Return the weight of the rows of each class."""
        return ClassCounts(*state.counts.tolist())

    def summary(self, state: SgdState, weights: Floats) -> ScoreSummary:
        """Return what the statistics say of the scores."""
        return self.statistics(state).summary(weights)

    def statistics(self, state: SgdState) -> ClassMoments:
        """Return the class statistics with the pending rows in them."""
        return ClassMoments(*(_class_moments(state, k) for k in (0, 1)))

    def check(self, state: SgdState) -> None:
        """Refuse a state from a file that would lead the kernels astray."""
        room = state.pending.shape[1]
        if not ((state.filled >= 0) & (state.filled < room)).all() or (state.counts < 0.0).any():
            raise IncompatibleMomentsError(
                f"expected counts of rows and 0 to {room - 1} pending ones, got {state.filled}"
            )
        if isinstance(state, ScaledState) and not ((state.squares >= 0.0).all() and (state.largest >= 0.0).all()):
            raise IncompatibleMomentsError("expected squares of features of zero and more")

    def widen(self, state: SgdState, n_features: int) -> SgdState:
        """Return the state with room for more features, which were zero in every row so far."""
        return super().widen(self._fitting(state), n_features)

    def _fitting(self, state: SgdState) -> SgdState:
        """Return the state as these settings take it, if it was begun under others."""
        if self.standardize == isinstance(state, ScaledState):
            return state
        plain = DescentState(*state[: len(DescentState._fields)])
        moments = zip(self.statistics(state).groups, state.scales, strict=True)
        squares = np.array([np.diagonal(one.scatter) / scale for one, scale in moments])
        other = ScaledState(*plain, squares, np.zeros(state.weights.size)) if self.standardize else plain
        return other._replace(weight_sum=state.weight_sum * (_parts(other) / max(1.0, _parts(state))))


def plain_start(n_features: int) -> DescentState:
    """Return the state of the plain pass before any row."""
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


def _parts(state: SgdState) -> float:
    """Return how many iterates are in their sum, in which those of a scaled pass are t^2 times."""
    steps = float(state.progress[STEPS])
    return steps * (steps + 1.0) * (2.0 * steps + 1.0) / 6.0 if isinstance(state, ScaledState) else steps


def _class_moments(state: SgdState, k: int) -> ExactMoments:
    scatter = state.lowers[k].copy()
    mirror_lower(scatter)
    waiting = state.pending[k, : state.filled[k]]
    return ExactMoments(
        float(state.counts[k]), state.means[k].copy(), state.scales[k] * (scatter + waiting.T @ waiting)
    )
