"""What the learners share that keep their weights in terms of the class sums: they differ in the step."""

from __future__ import annotations

from abc import abstractmethod
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array

from opauc.kernels.descent.means_descent import (
    CURVATURE,
    DEVIATION_SHARES,
    DEVIATIONS,
    FACTOR,
    FACTOR_SUM,
    RECENT_EXCESS,
    SHARE_SUM,
    SMALLEST_FACTOR,
    SUMS,
    MeansWeights,
    combine_cards,
)
from opauc.learners.learner import Learner
from opauc.learners.learning_rates import refuse_divergence, stays_above, step_sizes
from opauc.learners.progressive_summary import mean_scores, score_summary
from opauc.learners.state_arrays import with_row_numbers
from opauc.learners.undo import Undo, touched_features
from opauc.rows import ClassCounts, Floats, Labels, NamedArrays, Rows
from opauc.statistics.score_summary import ScoreSummary
from opauc.statistics.statistic import or_one

# The scale of every feature where none is asked for.
NO_SCALE: Floats = np.ones(1)
NO_SCALE.flags.writeable = False
CACHE_LINE = 64


class MeansState(NamedTuple):
    """The weights in terms of the class sums, for rows times `scale`."""

    parts: MeansWeights
    scale: Floats  # (n_features,), or (1,) if none is asked for
    # All rows so far with labels and weights, while the scale is still open; None once it is fixed.
    waiting: tuple[tuple[csr_array, Labels, Floats | None], ...] | None


class MeansLearner(Learner[MeansState]):
    """Weights w = a v + M p, M the sums of the classes: a row costs its entries."""

    alpha: float
    eta0: float
    learning_rate: str
    average: bool

    def start(self, n_features: int) -> MeansState:
        """Return the state before any row; memory is taken as features turn up."""
        return MeansState(_no_weights(n_features), NO_SCALE, None)

    def weights(self, state: MeansState) -> Floats:
        """Return the weighted mean of the iterates, or the last of them, as one number a feature."""
        parts, scale, _ = self.settled(state)
        out = np.empty(parts.cards.shape[0])
        if self.average:
            combine_cards(parts.cards, np.array([parts.scalars[FACTOR_SUM], 1.0, *parts.coefficient_sums]), out)
            out /= parts.scalars[SHARE_SUM] or 1.0
        else:
            combine_cards(parts.cards, np.array([parts.scalars[FACTOR], 0.0, *parts.coefficients]), out)
        out *= scale
        return out

    def counts(self, state: MeansState) -> ClassCounts:
        """Return the weight of the rows of each class."""
        return ClassCounts(*state.parts.counts.tolist())

    def summary(self, state: MeansState, weights: Floats) -> ScoreSummary:
        """Return counts and mean scores of the rows seen, both exact, and estimates of the score variances.

        No covariance is kept. A variance is the mean, weighted by t^2 as the
        iterates are, of the squared deviations of the scores that rows got
        just before they were learnt from, from what was the mean score of
        their class then. It belongs to the learner's own weights, whatever
        `weights` are given.
        """
        parts, scale, _ = self.settled(state)
        means = mean_scores(parts.counts, parts.cards[:, SUMS:], weights / scale)
        variances = parts.spreads[:, DEVIATIONS] / or_one(parts.spreads[:, DEVIATION_SHARES])
        return score_summary(parts.counts, means, variances)

    def undo(self, state: MeansState, rows: Rows) -> Undo:
        """Return what puts `state` back after a step on `rows`; rows that wait are learnt in a state of their own."""
        if state.waiting is not None:
            return Undo()
        cards, *others = state.parts
        features = touched_features(rows) if self._sweeps_nothing(state.parts, rows.shape[0]) else None
        return Undo().keep(*others).keep_features([cards], features)

    def from_arrays(self, n_features: int, arrays: NamedArrays) -> MeansState:
        """Return the state that gave these arrays, perhaps when it knew fewer features, checked."""
        return super().from_arrays(n_features, with_row_numbers(arrays, "parts."))

    def settled(self, state: MeansState) -> MeansState:
        """Return the state with no rows waiting."""
        return state

    def step_sizes(self, parts: MeansWeights, n_rows: int) -> tuple[bool, Floats]:
        """Return whether step sizes are relative, and those of the next rows."""
        return step_sizes(self, parts.n_rows.sum(), n_rows)

    @abstractmethod
    def kept(self, decay: Floats) -> Floats:
        """Return the factors on w of steps with step * alpha = `decay`."""

    def refuse_divergence(self, parts: MeansWeights) -> None:
        """Raise if the weights overflowed; a step relative to the curvature cannot lead there."""
        refuse_divergence(self, parts, parts.scalars[RECENT_EXCESS])

    def _sweeps_nothing(self, parts: MeansWeights, n_rows: int) -> bool:
        """Tell whether it is sure that no step on the next rows writes to features they do not have."""
        relative, sizes = self.step_sizes(parts, n_rows)
        unit = parts.scalars[CURVATURE] if relative else 1.0  # which never falls
        if self.alpha == 0.0 or unit == 0.0:
            return self.alpha == 0.0
        return stays_above(SMALLEST_FACTOR, parts.scalars[FACTOR], self.kept(sizes * (self.alpha / unit)))


def _no_weights(n_features: int) -> MeansWeights:
    """Return zero weights, every card within one cache line."""
    room = np.zeros(4 * n_features + CACHE_LINE // 8)
    skip = -room.ctypes.data % CACHE_LINE // 8
    return MeansWeights(
        cards=room[skip : skip + 4 * n_features].reshape(n_features, 4),
        counts=np.zeros(2),
        n_rows=np.zeros(2),
        coefficients=np.zeros(2),
        coefficient_sums=np.zeros(2),
        products=np.zeros(2),
        gram=np.zeros((2, 2)),
        spreads=np.zeros((2, 2)),
        scalars=np.array([1.0, 0.0, 0.0, 0.0, 0.0, 0.0]),
    )
