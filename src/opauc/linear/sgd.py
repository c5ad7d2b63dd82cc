"""Algorithm 1 of the paper: one gradient step per row on exact class statistics; learning rates of all SGD solvers."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import ClassVar, NamedTuple, Protocol, TypeAlias

import numpy as np

from opauc.core.kernels.symmetric_matrix import mirror_lower
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

# Warn above this recent mean of the squared excess. Zero weights have one; good weights stay far below ten.
MAX_RECENT_EXCESS = 10.0


class LearningRate(NamedTuple):
    """A schedule of step sizes for rows t = 1, 2, ..."""

    relative: bool  # whether step sizes are in units of 1/curvature
    sizes: Callable[[float, Floats], Floats]  # (eta0, t) -> step sizes


LEARNING_RATES = {
    "constant": LearningRate(False, lambda eta0, t: np.full(t.size, eta0)),
    "invsqrt": LearningRate(False, lambda eta0, t: eta0 / np.sqrt(t)),
    "curvature": LearningRate(True, lambda eta0, t: 1.0 / (1.0 + np.sqrt(1.0 + t / eta0))),
}


class HasStepSize(Protocol):
    """A solver with a learning rate."""

    @property
    def eta0(self) -> float:
        """Scale of the step sizes."""

    @property
    def learning_rate(self) -> str:
        """Name of the schedule in LEARNING_RATES."""


def step_sizes(solver: HasStepSize, rows_before: float, n_rows: int) -> tuple[bool, Floats]:
    """Return whether the step sizes are relative to 1/curvature, and those of the next `n_rows` rows.

    Examples
    --------
    >>> from opauc.linear.sgd import step_sizes
    >>> from opauc.linear.sgd import SGD
    >>> step_sizes(SGD(eta0=0.6, learning_rate="invsqrt"), 3, 2)[1].round(2).tolist()
    [0.3, 0.27]
    """
    relative, sizes = LEARNING_RATES[solver.learning_rate]
    return relative, sizes(solver.eta0, rows_before + np.arange(1.0, n_rows + 1.0))


def check_divergence(solver: HasStepSize, parts: Iterable[Floats], recent_excess: float) -> None:
    """Raise if the weights overflowed; warn if they are far worse than zero weights."""
    setting = f"eta0={solver.eta0}", f"learning_rate={solver.learning_rate!r}"
    if not all(np.isfinite(part).all() for part in parts):
        raise DivergedError(
            f"the weights overflowed: {setting[0]} is too large for these rows with {setting[1]}; "
            "lower eta0 or scale the features"
        )
    if recent_excess > MAX_RECENT_EXCESS:
        warnings.warn(
            f"{setting[0]} looks too large for these rows with {setting[1]}: "
            f"the recent mean of (1 - margin)^2 is {recent_excess:.3g}, zero weights have 1",
            DivergenceWarning,
            stacklevel=3,
        )


def stays_above(least: float, factor: float, keeps: Floats) -> bool:
    """Return whether a factor, multiplied by each of `keeps` (at most one each), surely stays above `least`.

    A solver that keeps a common factor of all weights rewrites all of them once
    the factor is small. The bound is twice `least`, to be safe from rounding.

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


# Factor on "curvature" steps with `standardize`: the first step is then one over the mean curvature. Of half to four
# times that, on fourteen tables, once and twice were best.
RELATIVE_STEP = 2.0
PASSES = {
    (True, False): dense_pass, (False, False): csr_pass, (True, True): scaled_dense_pass,
    (False, True): scaled_csr_pass,
}  # fmt: skip

SgdState: TypeAlias = DescentState | ScaledState


@dataclass(frozen=True)
class SGD(Solver[SgdState]):
    """OPAUC, Algorithm 1 of the paper (Gao, Jin, Zhu and Zhou, "One-Pass AUC Optimization").

    Each row takes a gradient step on its pair loss against all earlier rows of
    the other class. For a row x with label y in {-1, 1} the gradient is

        alpha w + (w.g - y) g + S w,

    with g = x - mean and S the covariance of the other class. No step is taken
    before both classes were seen. Rows enter the covariance matrices in blocks,
    which gives the same iterates in a fraction of the time.

    The weight of a row is a factor on the gradient of its loss, not on alpha w.
    With learning rate "curvature", a step is at most one over the curvature.

    Parameters
    ----------
    alpha : float, default=1e-4
        Strength of the L2 penalty.
    eta0 : float, default=1e4
        Scale of the step sizes.
    learning_rate : {"constant", "invsqrt", "curvature"}, default="curvature"
        Step size of row t: eta0; eta0 / sqrt(t); or
        1 / (1 + sqrt(1 + t / eta0)) over the largest curvature so far.
    average : bool, default=True
        Whether the weights are the mean of the iterates or the last iterate.
    forgetting_factor : float, default=1.0
        Factor in (0, 1] on the weight of all earlier rows at each new row.
    standardize : bool, default=False
        Whether to take steps in units of each feature's standard deviation so
        far: w_j moves by step (alpha w_j + gradient_j / D_j), with D_j the mean
        of the feature's variances in both classes, plus a prior while there are
        few rows. alpha then means the same as in `Exact`, and neither units nor
        shifts of features change a ranking. "curvature" steps are twice as long
        and relative to the mean curvature, and iterate t has weight t^2 in the
        mean, because the first iterates are bad.

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
    learning_rate: str = parameter("curvature", Option(tuple(LEARNING_RATES)))
    average: bool = parameter(True, SWITCH)
    forgetting_factor: float = parameter(1.0, SHARE)
    standardize: bool = parameter(False, SWITCH)

    def start(self, n_features: int) -> SgdState:
        """Return the state before any row."""
        plain = start_plain(n_features)
        if not self.standardize:
            return plain
        return ScaledState(*plain, squares=np.zeros((2, n_features)), largest=np.zeros(n_features))

    def step(self, state: SgdState, rows: Rows, labels: Labels, weight: Floats | None = None) -> SgdState:
        """Return the state after a step on each row in order."""
        before = self._convert(state)
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
        mean: Floats = state.weight_sum / max(1.0, _iterate_weight(state))
        return mean

    def counts(self, state: SgdState) -> ClassCounts:
        """Return the total weight of the rows of each class."""
        return ClassCounts(*state.counts.tolist())

    def statistics(self, state: SgdState) -> ClassMoments:
        """Return the class statistics, pending rows included."""
        return ClassMoments(*(_class_moments(state, k) for k in (0, 1)))

    def check(self, state: SgdState) -> None:
        """Raise where a state from a file has values that the kernels cannot handle."""
        block_size = state.pending.shape[1]
        if not ((state.filled >= 0) & (state.filled < block_size)).all() or (state.counts < 0.0).any():
            raise IncompatibleMomentsError(
                f"expected counts of rows and 0 to {block_size - 1} pending ones, got {state.filled}"
            )
        if isinstance(state, ScaledState) and not ((state.squares >= 0.0).all() and (state.largest >= 0.0).all()):
            raise IncompatibleMomentsError("expected squares of features of zero and more")

    def widen(self, state: SgdState, n_features: int) -> SgdState:
        """Return the state with more features, which were zero in every row so far."""
        return super().widen(self._convert(state), n_features)

    def _convert(self, state: SgdState) -> SgdState:
        """Return the state converted to these parameters, if `standardize` was different at the start."""
        if self.standardize == isinstance(state, ScaledState):
            return state
        plain = DescentState(*state[: len(DescentState._fields)])
        moments = zip(self.statistics(state).groups, state.scales, strict=True)
        squares = np.array([np.diagonal(one.scatter) / scale for one, scale in moments])
        other = ScaledState(*plain, squares, np.zeros(state.weights.size)) if self.standardize else plain
        return other._replace(weight_sum=state.weight_sum * (_iterate_weight(other) / max(1.0, _iterate_weight(state))))


def start_plain(n_features: int) -> DescentState:
    """Return the state before any row, without `standardize`."""
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


def _iterate_weight(state: SgdState) -> float:
    """Return the total weight of the iterates in their sum; with `standardize` iterate t has weight t^2."""
    steps = float(state.progress[STEPS])
    return steps * (steps + 1.0) * (2.0 * steps + 1.0) / 6.0 if isinstance(state, ScaledState) else steps


def _class_moments(state: SgdState, k: int) -> ExactMoments:
    scatter = state.lowers[k].copy()
    mirror_lower(scatter)
    pending = state.pending[k, : state.filled[k]]
    return ExactMoments(
        float(state.counts[k]), state.means[k].copy(), state.scales[k] * (scatter + pending.T @ pending)
    )
