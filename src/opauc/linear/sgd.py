"""Algorithm 1 of the paper: one gradient step a row, on exact class statistics."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import ClassVar, NamedTuple, Protocol, TypeAlias

import numpy as np

from opauc.core.kernels.symmetric_matrix import mirror_lower
from opauc.core.mergeable import ScoreSummary
from opauc.core.parameters import NON_NEGATIVE, POSITIVE, SHARE, SWITCH, Option, parameter
from opauc.core.row_blocks import contiguous_blocks, kernel_rows, row_weights
from opauc.core.solver import Solver
from opauc.errors import DivergedError, DivergenceWarning, IncompatibleMomentsError, StatisticsOverflowError
from opauc.linear.kernels.sgd import (
    RECENT_EXCESS,
    ROWS,
    STEPS,
    DescentState,
    ScaledState,
    csr_pass,
    dense_pass,
    scaled_csr_pass,
    scaled_dense_pass,
)
from opauc.linear.moments.classes import ClassMoments
from opauc.linear.moments.exact import ExactMoments
from opauc.types import ClassCounts, Floats, Labels, Rows

# Zero weights have a squared excess of one; ten times that is no noise of good weights.
UNSTABLE = 10.0


class LearningRate(NamedTuple):
    """Step sizes of rows number t = 1, 2, ... and whether they are in units of 1/curvature."""

    relative: bool
    sizes: Callable[[float, Floats], Floats]


LEARNING_RATES = {
    "constant": LearningRate(False, lambda eta0, t: np.full(t.size, eta0)),
    "invsqrt": LearningRate(False, lambda eta0, t: eta0 / np.sqrt(t)),
    "theorem": LearningRate(True, lambda eta0, t: 1.0 / (1.0 + np.sqrt(1.0 + t / eta0))),
}


class Descends(Protocol):
    """A solver with a step size."""

    @property
    def eta0(self) -> float:
        """The step size, or what it is made of."""

    @property
    def learning_rate(self) -> str:
        """How steps change with the number of rows."""


def step_sizes(solver: Descends, rows_before: float, n_rows: int) -> tuple[bool, Floats]:
    """Return whether the solver's step sizes are relative, and those of the next rows.

    Examples
    --------
    >>> from opauc.linear.sgd import step_sizes
    >>> from opauc.linear.sgd import SGD
    >>> step_sizes(SGD(eta0=0.6, learning_rate="invsqrt"), 3, 2)[1].round(2).tolist()
    [0.3, 0.27]
    """
    relative, sizes = LEARNING_RATES[solver.learning_rate]
    return relative, sizes(solver.eta0, rows_before + np.arange(1.0, n_rows + 1.0))


def check_divergence(solver: Descends, parts: Iterable[Floats], recent_excess: float) -> None:
    """Raise if the weights overflowed, warn if they do far worse than none; both name the step size."""
    setting = f"eta0={solver.eta0}", f"learning_rate={solver.learning_rate!r}"
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


def stays_above(least: float, factor: float, keeps: Floats) -> bool:
    """Tell whether a factor multiplied by each of `keeps`, none above one, surely stays above `least`.

    What holds the weights of all features in one factor writes to all of them
    once it is small. Twice `least` is asked for, which no rounding can hide.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.linear.sgd import stays_above
    >>> stays_above(0.1, 1.0, np.full(10, 0.9)), stays_above(0.1, 1.0, np.full(30, 0.9))
    (True, False)
    """
    if not (keeps > 0.0).all():
        return False
    return bool(abs(factor) * np.exp(np.log(keeps).sum()) > 2.0 * least)


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
    >>> solver = SGD(alpha=0.0, eta0=0.1, learning_rate="constant", average=False)
    >>> state = solver.step(solver.start(1), np.array([[0.0], [2.0]]), np.array([0, 1], np.int8))
    >>> solver.weights(state).tolist()
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
        check_divergence(self, (after.weights, after.weight_sum), after.progress[RECENT_EXCESS])
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
