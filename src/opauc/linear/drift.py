"""The exact minimizer with a forgetting factor chosen by progressive AUC within the pass."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from opauc.core.parameters import NON_NEGATIVE, SWITCH, Count, Shares, parameter
from opauc.core.solver import Solver
from opauc.errors import IncompatibleMomentsError, StatisticsOverflowError
from opauc.linear.exact import Exact
from opauc.linear.kernels.moments import count_wins, decay_and_merge
from opauc.linear.moments.classes import ClassMoments
from opauc.linear.moments.exact import UNDERFLOW_FLOOR, ExactMoments
from opauc.types import ClassCounts, DenseRows, Floats, Labels, Rows

# Rows per block. Rows of a block have the same weight and are compared with each other.
BLOCK = 128
# Processing this many rows per feature costs about as much as solving for the weights of all candidates.
ROWS_PER_FEATURE = 2
# The weight of a block in the comparison halves after this many rows: the best factor may change.
HALF_LIFE = 2.0**15
# A candidate must beat the first by this many standard errors: a stream without drift then keeps all rows.
MIN_STANDARD_ERRORS = 2.0

# Columns of `DriftState.sums`, sums over blocks for each candidate.
WINS = 0  # pairs ranked correctly
GAINS = 1  # wins - wins of the first candidate
SQUARED_GAINS = 2  # squares of the gains


class DriftState(NamedTuple):
    """Statistics of complete blocks for each candidate and class, the rows of the current block, and the comparison."""

    counts: Floats  # (candidates, 2)
    means: Floats  # (candidates, 2, d)
    scatters: Floats  # (candidates, 2, d, d)
    rows: Floats  # (BLOCK, d), of the current block
    labels: Labels
    weight: Floats
    filled: NDArray[np.int64]  # (1,) rows in the current block
    scoring_weights: Floats  # (candidates, d) weights that score the next rows
    rows_since_solve: NDArray[np.int64]  # (1,) rows since those weights were computed
    sums: Floats  # (candidates, 3) see WINS
    pairs: Floats  # (1,) total weight of the pairs compared


class DriftLeaderboard(NamedTuple):
    """The candidate forgetting factors with the progressive AUC of each.

    Attributes
    ----------
    forgetting_factors : tuple of float
        Candidate factors on the weight of earlier rows.
    aucs : tuple of float
        Progressive AUC of each candidate; 0.5 before there are pairs.
    chosen : int
        Index of the chosen candidate.
    """

    forgetting_factors: tuple[float, ...]
    aucs: tuple[float, ...]
    chosen: int

    @property
    def forgetting_factor(self) -> float:
        """The chosen factor."""
        return self.forgetting_factors[self.chosen]


@dataclass(frozen=True)
class DriftingExact(Solver[DriftState]):
    """Minimizer of `Exact` with the forgetting factor chosen by progressive AUC.

    Statistics are kept for each candidate factor. Rows are processed in blocks of
    128. First, the current minimizer of each candidate scores the block, and the
    pairs of a positive and a negative row within the block that it ranks
    correctly are counted; the weight of a block halves every 32,768 rows. Then
    the sums of the block are computed once and merged into the statistics of each
    candidate, which decay from block to block. A candidate other than the first
    is chosen only if it beats the first by two standard errors of the difference
    over blocks; of those, the best.

    Parameters
    ----------
    alpha : float, default=1e-4
        Strength of the L2 penalty.
    forgetting_factors : tuple of float, default=(1.0, 0.9999, 0.999, 0.99)
        Candidate factors in (0, 1] on the weight of earlier rows at each new row.
    horizon : int, default=1000
        Rows between two computations of the weights that score blocks (at least
        twice the number of features). It should be the number of rows between
        two updates of the weights in use: with less, too small a factor is
        chosen, with more, too large a factor.
    standardize : bool, default=False
        Whether the penalty acts on features of unit variance, as in `Exact`.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.linear.drift import DriftingExact
    >>> rng = np.random.default_rng(0)
    >>> labels = (rng.random(4000) < 0.5).astype(np.int8)
    >>> sign = np.where(np.arange(4000) < 2000, 1.0, -1.0)  # the sign of the effect changes halfway
    >>> rows = rng.normal(size=(4000, 1)) + (sign * labels)[:, None]
    >>> solver = DriftingExact(horizon=100)
    >>> state = solver.step(solver.start(1), rows, labels)
    >>> solver.leaderboard(state).forgetting_factor, bool(solver.weights(state) < 0.0)
    (0.99, True)
    """

    name: ClassVar[str] = "drifting"

    has_statistics: ClassVar[bool] = True
    keeps_covariances: ClassVar[bool] = True

    alpha: float = parameter(1e-4, NON_NEGATIVE)
    forgetting_factors: tuple[float, ...] = parameter((1.0, 0.9999, 0.999, 0.99), Shares())
    horizon: int = parameter(1000, Count())
    standardize: bool = parameter(False, SWITCH)

    @property
    def n_covariances(self) -> int:
        """Number of covariance matrices in the state: one per class and candidate."""
        return 2 * len(self.forgetting_factors)

    def start(self, n_features: int) -> DriftState:
        """Return the state before any row."""
        n, d = len(self.forgetting_factors), n_features
        return DriftState(
            counts=np.zeros((n, 2)),
            means=np.zeros((n, 2, d)),
            scatters=np.zeros((n, 2, d, d)),
            rows=np.zeros((BLOCK, d)),
            labels=np.zeros(BLOCK, np.int8),
            weight=np.zeros(BLOCK),
            filled=np.zeros(1, np.int64),
            scoring_weights=np.zeros((n, d)),
            rows_since_solve=np.zeros(1, np.int64),
            sums=np.zeros((n, 3)),
            pairs=np.zeros(1),
        )

    def step(self, state: DriftState, rows: Rows, labels: Labels, weight: Floats | None = None) -> DriftState:
        """Return the state after the rows, processed block by block."""
        after = DriftState._make(part.copy() for part in state)
        weights, begin = np.ones(labels.size) if weight is None else weight, 0
        while begin < labels.size:
            filled = int(after.filled[0])
            end = min(labels.size, begin + BLOCK - filled)
            place, part = slice(filled, filled + end - begin), slice(begin, end)
            after.rows[place] = _dense(rows[part])
            after.labels[place], after.weight[place] = labels[part], weights[part]
            after.filled[0] = place.stop
            if place.stop == BLOCK:
                self._process_block(after)
            begin = end
        return after

    def weights(self, state: DriftState) -> Floats:
        """Return the minimizer of the chosen candidate; zero before both classes were seen."""
        return self._exact.weights(self.statistics(state))

    def counts(self, state: DriftState) -> ClassCounts:
        """Return the total weight of the rows of each class, after decay."""
        return self.statistics(state).counts

    def statistics(self, state: DriftState) -> ClassMoments:
        """Return the class statistics of the chosen candidate, the rows of the current block included."""
        number, filled = self.leaderboard(state).chosen, int(state.filled[0])
        moments = _moments(state, number).decay(self.forgetting_factors[number] ** filled)
        return moments.update(state.rows[:filled], state.labels[:filled], state.weight[:filled]) if filled else moments

    def rows_worth_a_solve(self, n_features: int) -> int:
        """Return the number of rows whose processing costs about as much as computing the weights."""
        return n_features

    def leaderboard(self, state: DriftState) -> DriftLeaderboard:
        """Return the progressive AUC of each candidate and the chosen one."""
        pairs = float(state.pairs[0])
        aucs = state.sums[:, WINS] / pairs if pairs else np.full(len(self.forgetting_factors), 0.5)
        significant = state.sums[:, GAINS] > MIN_STANDARD_ERRORS * np.sqrt(state.sums[:, SQUARED_GAINS])
        significant[0] = True
        chosen = int(np.argmax(np.where(significant, state.sums[:, WINS], -1.0)))
        return DriftLeaderboard(self.forgetting_factors, tuple(aucs.tolist()), chosen)

    def chosen_settings(self, state: DriftState) -> dict[str, float]:
        """Return the chosen forgetting factor."""
        return {"forgetting_factor": self.leaderboard(state).forgetting_factor}

    def check(self, state: DriftState) -> None:
        """Raise where a state from a file has impossible values."""
        if not 0 <= state.filled[0] < BLOCK or not np.isin(state.labels, (0, 1)).all():
            raise IncompatibleMomentsError(f"expected labels 0 and 1 of 0 to {BLOCK - 1} rows, got {state.filled[0]}")
        if (state.counts < 0.0).any() or (state.weight < 0.0).any() or state.rows_since_solve[0] < 0:
            raise IncompatibleMomentsError("expected counts and weights that are not negative")

    @property
    def _exact(self) -> Exact:
        return Exact(alpha=self.alpha, standardize=self.standardize)

    def _process_block(self, state: DriftState) -> None:
        """Score the full block with every candidate, add it to the statistics, and update the weights if due."""
        _compare(state)
        count, mean, scatter = _block_moments(state)
        # Weights decay but do not underflow.
        least = np.minimum(1.0, UNDERFLOW_FLOOR / np.maximum(state.counts, UNDERFLOW_FLOOR))
        factors = np.maximum(np.array(self.forgetting_factors)[:, None] ** BLOCK, least)
        decay_and_merge(
            factors, count, mean, scatter, state.counts, state.means, state.scatters, np.empty(mean.shape[1])
        )
        if not np.isfinite(np.diagonal(state.scatters, axis1=2, axis2=3)).all():
            raise StatisticsOverflowError("the sums of the rows overflow float64; scale the features down")
        state.filled[0] = 0
        state.rows_since_solve[0] += BLOCK
        due = max(self.horizon, ROWS_PER_FEATURE * state.means.shape[2])
        if state.rows_since_solve[0] >= due or not state.scoring_weights.any():
            state.scoring_weights[...] = [
                self._exact.weights(_moments(state, k)) for k in range(len(self.forgetting_factors))
            ]
            state.rows_since_solve[0] = 0


def _dense(rows: Rows) -> DenseRows:
    return rows if isinstance(rows, np.ndarray) else rows.toarray()


def _block_moments(state: DriftState) -> tuple[Floats, Floats, Floats]:
    """Return count, mean and scatter of each class of the block, without the setup cost of `accumulate`."""
    count, mean, scatter = np.zeros(2), np.zeros(state.means.shape[1:]), np.zeros(state.scatters.shape[1:])
    for k in (0, 1):
        members = np.flatnonzero(state.labels == k)
        if members.size:
            weight, rows = state.weight[members], state.rows[members]
            count[k] = weight.sum()
            mean[k] = weight @ rows / count[k]
            away = (rows - mean[k]) * np.sqrt(weight)[:, None]
            with np.errstate(over="ignore", invalid="ignore"):  # the statistics refuse what overflows
                np.matmul(away.T, away, out=scatter[k])
    return count, mean, scatter


def _moments(state: DriftState, number: int) -> ClassMoments:
    """Return a copy of the statistics of one candidate."""
    groups = zip(state.counts[number], state.means[number], state.scatters[number], strict=True)
    return ClassMoments(*(ExactMoments(float(n), mean.copy(), scatter.copy()) for n, mean, scatter in groups))


def _compare(state: DriftState) -> None:
    """Count the pairs of the block that each candidate ranks correctly, ties half."""
    if not state.scoring_weights.any():
        return
    scores = state.rows @ state.scoring_weights.T
    wins = np.zeros(len(state.sums))
    pairs = count_wins(scores, state.labels, state.weight, wins)
    decay = 0.5 ** (BLOCK / HALF_LIFE)
    gains = wins - wins[0]
    state.sums[...] *= np.array([decay, decay, decay**2])
    state.sums[...] += np.column_stack([wins, gains, gains**2])
    state.pairs[...] = decay * state.pairs + pairs
