"""SOLAM: the square pair loss as a saddle point, one gradient step a row in O(entries)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from opauc.baselines.kernels.saddle_descent import LONGEST, STEP_SUM, SaddleState, saddle_pass
from opauc.core.mergeable import ScoreSummary
from opauc.core.parameters import POSITIVE, parameter
from opauc.core.row_blocks import row_weights, sparse_blocks
from opauc.core.solver import Solver
from opauc.core.transaction import Rollback
from opauc.errors import StatisticsOverflowError
from opauc.linear.kernels.means import FACTOR_SUM, SUMS, WEIGHT, WEIGHT_SUM
from opauc.linear.progressive_summary import progressive_summary
from opauc.linear.row_squares import checked_squares
from opauc.types import ClassCounts, Floats, Labels, Rows

# What a step can lead to is held below this, so that no square of it overflows.
FARTHEST = 1e140


@dataclass(frozen=True)
class SOLAM(Solver[SaddleState]):
    """Descend in the weights and two centres, ascend in one dual variable, one row at a time.

    With p the share of positive rows so far, this one included, a positive row x has

        G(w, a, b; alpha) = (1 - p) ((w.x - a)^2 - 2 (1 + alpha) w.x) - p (1 - p) alpha^2

    and a negative one p ((w.x - b)^2 + 2 (1 + alpha) w.x) - p (1 - p) alpha^2.
    The least over w, a, b of the greatest over alpha of the mean of G is that
    of the square pair loss times 2 p (1 - p), less a constant (Ying, Wen, Lyu
    2016). Step t is eta0 / sqrt(t); after it |w| <= radius, |a|, |b| <= radius k
    and |alpha| <= 2 radius k, with k the largest |x| so far where the paper
    has that of all rows. The weights are the mean of the iterates, each
    weighted by the step that led to it.

    A projection is a factor on w, so that a row costs its entries. The weight of
    a row is a factor on its step and on its part in the shares. `step` writes
    into the state it is given.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.baselines.solvers.solam import SOLAM
    >>> learner = SOLAM(eta0=1.0, radius=10.0)
    >>> state = learner.step(learner.start(1), np.array([[0.0], [2.0]]), np.array([0, 1], np.int8))
    >>> learner.weights(state).round(4).tolist()
    [0.5858]
    """

    name: ClassVar[str] = "solam"

    eta0: float = parameter(1.0, POSITIVE)
    radius: float = parameter(1.0, POSITIVE)

    def start(self, n_features: int) -> SaddleState:
        """Return the state before any row."""
        return SaddleState(
            cards=np.zeros((n_features, 4)),
            counts=np.zeros(2),
            n_rows=np.zeros(2),
            centres=np.zeros(2),
            spreads=np.zeros((2, 3)),
            scalars=np.array([1.0, 0.0, 0.0, 0.0, 0.0, 0.0]),
        )

    def step(self, state: SaddleState, rows: Rows, labels: Labels, weight: Floats | None = None) -> SaddleState:
        """Take a step on each row in order."""
        weights, settings = row_weights(weight), (float(self.eta0), float(self.radius))
        longest = max(state.scalars[LONGEST], np.sqrt(checked_squares(rows)))
        self.refuse_overflow(longest, weights.max(initial=1.0))
        for part, block in sparse_blocks(rows):
            saddle_pass(block, labels[part], weights[part], *settings, state)
        return state

    def refuse_overflow(self, longest: float, heaviest: float = 1.0) -> None:
        """Raise if rows of that length and weight might lead beyond float64."""
        # Projections bound what a step starts from; this bounds where it can end.
        if not (1.0 + self.eta0 * heaviest) * (1.0 + 8.0 * self.radius * longest) * max(1.0, longest) <= FARTHEST:
            raise StatisticsOverflowError(
                f"steps of eta0={self.eta0:g} within radius={self.radius:g} on rows of length up to {longest:.3g} "
                "might overflow float64; lower them or scale the features down"
            )

    def weights(self, state: SaddleState) -> Floats:
        """Return the mean of the iterates, each weighted by its step."""
        total = state.scalars[FACTOR_SUM] * state.cards[:, WEIGHT] + state.cards[:, WEIGHT_SUM]
        mean: Floats = total / (state.scalars[STEP_SUM] or 1.0)
        return mean

    def counts(self, state: SaddleState) -> ClassCounts:
        """Return the weight of the rows of each class."""
        return ClassCounts(*state.counts.tolist())

    def summary(self, state: SaddleState, weights: Floats) -> ScoreSummary:
        """Return exact counts and mean scores, and progressive estimates of the variances."""
        return progressive_summary(state.counts, state.cards[:, SUMS:], state.spreads, weights)

    def rollback(self, state: SaddleState, rows: Rows) -> Rollback:  # noqa: ARG002
        """Return what puts `state` back after a step: all of it, for projections may remove_stale_files over all features."""
        return Rollback().keep(*state)
