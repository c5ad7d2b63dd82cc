"""The exact minimizer of rows that fade, as fast as serves the next rows best: chosen inside the pass."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from opauc.core.mergeable import ScoreSummary
from opauc.core.parameters import NON_NEGATIVE, SWITCH, Count, Shares, parameter
from opauc.core.solver import Solver
from opauc.errors import IncompatibleMomentsError, StatisticsOverflowError
from opauc.linear.exact import Exact
from opauc.linear.kernels.moments import count_wins, decay_and_merge
from opauc.linear.moments.classes import ClassMoments
from opauc.linear.moments.exact import UNDERFLOW_FLOOR, ExactMoments
from opauc.types import ClassCounts, DenseRows, Floats, Labels, Rows

# Rows of a block weigh alike, and are compared with each other.
BLOCK = 128
# So many rows a feature cost about as much to take in as the weights of all candidates cost to work out.
ROWS_A_FEATURE = 2
# Blocks count half as much in the comparison after so many rows: what was best long ago may be so no more.
HALF_LIFE = 2.0**15
# Forgetting more than the slowest must be better by so many standard errors: a stream that does not drift keeps all.
CLEARLY = 2.0

# What stands where in `sums`, for each candidate: pairs ranked rightly, and those more than by the first candidate,
# summed and squared block by block.
WINS, GAINS, SQUARED_GAINS = range(3)


class DriftState(NamedTuple):
    """Statistics of whole blocks for each candidate and class, the rows of the block begun, and the leaderboard."""

    counts: Floats  # (candidates, 2)
    means: Floats  # (candidates, 2, d)
    scatters: Floats  # (candidates, 2, d, d)
    rows: Floats  # (BLOCK, d), of the block begun
    labels: Labels
    weight: Floats
    filled: NDArray[np.int64]  # (1,) rows of it so far
    judged: Floats  # (candidates, d) the weights that score the next rows
    unsolved: NDArray[np.int64]  # (1,) rows since they were worked out
    sums: Floats  # (candidates, 3)
    pairs: Floats  # (1,)


class DriftLeaderboard(NamedTuple):
    """Factors on the weight of earlier rows, the progressive AUC of each, and the number of the one chosen."""

    forgettings: tuple[float, ...]
    aucs: tuple[float, ...]
    chosen: int

    @property
    def forgetting_factor(self) -> float:
        """The factor chosen."""
        return self.forgettings[self.chosen]


@dataclass(frozen=True)
class DriftingExact(Solver[DriftState]):
    """Minimize the pair loss of rows that fade by a factor a row: the factor that ranked the next rows best.

    Statistics are kept for each factor of `forgettings`. Rows are taken in
    blocks of 128. A block is scored by the minimizer of each candidate, which
    is renewed every `horizon` rows (twice the features at least), and the pairs of a
    positive and a negative row within the block that it ranks rightly are counted; later
    blocks weigh more, by half in 32,768 rows. Then the products of its rows are summed, once
    for all candidates: they differ in the factor on what was there before, so
    that rows fade from block to block. A factor other than the first is
    chosen only if it is ahead of the first by two standard errors of the
    difference over blocks; of such factors, the best.

    With `standardize` the ridge acts on features of unit variance, as in `Exact`.

    How fast to forget depends on how far ahead rows are ranked: `horizon` should be the
    number of rows between two updates of the weights that serve. If it is
    less, too fast a factor is chosen, if more, too slow a one.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.linear.drift import DriftingExact
    >>> rng = np.random.default_rng(0)
    >>> labels = (rng.random(4000) < 0.5).astype(np.int8)
    >>> sign = np.where(np.arange(4000) < 2000, 1.0, -1.0)  # halfway, all is turned round
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
    forgettings: tuple[float, ...] = parameter((1.0, 0.9999, 0.999, 0.99), Shares())
    horizon: int = parameter(1000, Count())
    standardize: bool = parameter(False, SWITCH)

    @property
    def n_covariances(self) -> int:
        """How many covariance matrices the state holds: one of each class and factor."""
        return 2 * len(self.forgettings)

    def start(self, n_features: int) -> DriftState:
        """Return the state before any row."""
        n, d = len(self.forgettings), n_features
        return DriftState(
            counts=np.zeros((n, 2)),
            means=np.zeros((n, 2, d)),
            scatters=np.zeros((n, 2, d, d)),
            rows=np.zeros((BLOCK, d)),
            labels=np.zeros(BLOCK, np.int8),
            weight=np.zeros(BLOCK),
            filled=np.zeros(1, np.int64),
            judged=np.zeros((n, d)),
            unsolved=np.zeros(1, np.int64),
            sums=np.zeros((n, 3)),
            pairs=np.zeros(1),
        )

    def step(self, state: DriftState, rows: Rows, labels: Labels, weight: Floats | None = None) -> DriftState:
        """Return the state with the rows in it, block by block."""
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
                self._take_in(after)
            begin = end
        return after

    def weights(self, state: DriftState) -> Floats:
        """Return the minimizer of the rows as the candidate chosen weighs them; zero until both classes were seen."""
        return self._exact.weights(self.statistics(state))

    def counts(self, state: DriftState) -> ClassCounts:
        """Return the weight that the rows of each class still have."""
        return self.statistics(state).counts

    def statistics(self, state: DriftState) -> ClassMoments:
        """Return the class statistics of the candidate chosen, the rows of the block begun among them."""
        number, filled = self.leaderboard(state).chosen, int(state.filled[0])
        known = _moments(state, number).decay(self.forgettings[number] ** filled)
        return known.update(state.rows[:filled], state.labels[:filled], state.weight[:filled]) if filled else known

    def summary(self, state: DriftState, weights: Floats) -> ScoreSummary:
        """Return what the statistics say of the scores."""
        return self.statistics(state).summary(weights)

    def rows_worth_a_solve(self, n_features: int) -> int:
        """Return how many rows cost about as much to learn as the weights cost to work out."""
        return n_features

    def leaderboard(self, state: DriftState) -> DriftLeaderboard:
        """Return how the candidates stand; 0.5 for all before there are pairs."""
        pairs = float(state.pairs[0])
        aucs = state.sums[:, WINS] / pairs if pairs else np.full(len(self.forgettings), 0.5)
        clear = state.sums[:, GAINS] > CLEARLY * np.sqrt(state.sums[:, SQUARED_GAINS])
        clear[0] = True
        chosen = int(np.argmax(np.where(clear, state.sums[:, WINS], -1.0)))
        return DriftLeaderboard(self.forgettings, tuple(aucs.tolist()), chosen)

    def chosen_settings(self, state: DriftState) -> dict[str, float]:
        """Return the factor chosen."""
        return {"forgetting_factor": self.leaderboard(state).forgetting_factor}

    def check(self, state: DriftState) -> None:
        """Refuse a state from a file that would lead astray."""
        if not 0 <= state.filled[0] < BLOCK or not np.isin(state.labels, (0, 1)).all():
            raise IncompatibleMomentsError(f"expected labels 0 and 1 of 0 to {BLOCK - 1} rows, got {state.filled[0]}")
        if (state.counts < 0.0).any() or (state.weight < 0.0).any() or state.unsolved[0] < 0:
            raise IncompatibleMomentsError("expected counts and weights that are not negative")

    @property
    def _exact(self) -> Exact:
        return Exact(alpha=self.alpha, standardize=self.standardize)

    def _take_in(self, state: DriftState) -> None:
        """Judge the candidates by the block, learn it, and work out the weights anew if that is due."""
        _judge(state)
        count, mean, scatter = _block_moments(state)
        # They fade but never vanish.
        least = np.minimum(1.0, UNDERFLOW_FLOOR / np.maximum(state.counts, UNDERFLOW_FLOOR))
        factors = np.maximum(np.array(self.forgettings)[:, None] ** BLOCK, least)
        decay_and_merge(
            factors, count, mean, scatter, state.counts, state.means, state.scatters, np.empty(mean.shape[1])
        )
        if not np.isfinite(np.diagonal(state.scatters, axis1=2, axis2=3)).all():
            raise StatisticsOverflowError("the sums of the rows overflow float64; scale the features down")
        state.filled[0] = 0
        state.unsolved[0] += BLOCK
        due = max(self.horizon, ROWS_A_FEATURE * state.means.shape[2])
        if state.unsolved[0] >= due or not state.judged.any():
            state.judged[...] = [self._exact.weights(_moments(state, k)) for k in range(len(self.forgettings))]
            state.unsolved[0] = 0


def _dense(rows: Rows) -> DenseRows:
    return rows if isinstance(rows, np.ndarray) else rows.toarray()


def _block_moments(state: DriftState) -> tuple[Floats, Floats, Floats]:
    """Return count, mean and scatter of each class of the block, without what gathering many rows takes to set up."""
    count, mean, scatter = np.zeros(2), np.zeros(state.means.shape[1:]), np.zeros(state.scatters.shape[1:])
    for k in (0, 1):
        mine = np.flatnonzero(state.labels == k)
        if mine.size:
            weight, rows = state.weight[mine], state.rows[mine]
            count[k] = weight.sum()
            mean[k] = weight @ rows / count[k]
            away = (rows - mean[k]) * np.sqrt(weight)[:, None]
            np.matmul(away.T, away, out=scatter[k])
    return count, mean, scatter


def _moments(state: DriftState, number: int) -> ClassMoments:
    """Return the statistics of one candidate, in arrays of their own."""
    groups = zip(state.counts[number], state.means[number], state.scatters[number], strict=True)
    return ClassMoments(*(ExactMoments(float(n), mean.copy(), scatter.copy()) for n, mean, scatter in groups))


def _judge(state: DriftState) -> None:
    """Count the pairs of the block that each candidate ranks rightly, ties half."""
    if not state.judged.any():
        return
    scores = state.rows @ state.judged.T
    wins = np.zeros(len(state.sums))
    pairs = count_wins(scores, state.labels, state.weight, wins)
    fading = 0.5 ** (BLOCK / HALF_LIFE)
    gains = wins - wins[0]
    state.sums[...] *= np.array([fading, fading, fading**2])
    state.sums[...] += np.column_stack([wins, gains, gains**2])
    state.pairs[...] = fading * state.pairs + pairs
