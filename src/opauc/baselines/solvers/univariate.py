"""What the learners of univariate losses share: they differ in the loss alone."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass

import numpy as np

from opauc.baselines.kernels.univariate_descent import RECENT_EXCESS, SHARE_SUM, UnivariateState, univariate_pass
from opauc.core.mergeable import ScoreSummary
from opauc.core.parameters import POSITIVE, SWITCH, Option, parameter
from opauc.core.row_blocks import row_weights, sparse_blocks
from opauc.core.solver import Solver
from opauc.core.transaction import Rollback, touched_features
from opauc.linear.kernels.means import SUMS, WEIGHT, WEIGHT_SUM
from opauc.linear.learning_rates import LEARNING_RATES, refuse_divergence, step_sizes
from opauc.linear.progressive_summary import progressive_summary
from opauc.linear.row_squares import checked_squares
from opauc.types import ClassCounts, Floats, Labels, Rows


@dataclass(frozen=True)
class UnivariateSolver(Solver[UnivariateState]):
    """Descend on a loss of each row, weighted so that both classes count alike.

    Step sizes "constant" and "invsqrt" are eta0 and eta0 / sqrt(t), as
    printed. "theorem" is 1 / (1 + sqrt(1 + t / eta0)) over the largest |x|^2
    so far, and no step goes beyond the Newton step of the row's own loss: it
    does not depend on the units of the features and cannot diverge. With
    `average`, the weights are the mean of the iterates, iterate t weighted by
    t^2. The weight of a row is one more factor on its step and on its part in
    the counts. `step` writes into the state it is given.
    """

    eta0: float = parameter(1000.0, POSITIVE)
    learning_rate: str = parameter("theorem", Option(tuple(LEARNING_RATES)))
    average: bool = parameter(True, SWITCH)

    @property
    @abstractmethod
    def exponential(self) -> bool:
        """Whether the loss is exponential; else it is the square loss."""

    def start(self, n_features: int) -> UnivariateState:
        """Return the state before any row."""
        return UnivariateState(np.zeros((n_features, 4)), np.zeros(2), np.zeros(2), np.zeros((2, 3)), np.zeros(4))

    def step(self, state: UnivariateState, rows: Rows, labels: Labels, weight: Floats | None = None) -> UnivariateState:
        """Take a step on each row in order."""
        relative, sizes = step_sizes(self, state.n_rows.sum(), labels.size)
        weights, options = row_weights(weight), (relative, self.exponential, self.average)
        checked_squares(rows)
        # Beyond the range of float64 only plain Python, where nothing is compiled, would warn.
        with np.errstate(over="ignore", invalid="ignore"):
            for part, block in sparse_blocks(rows):
                univariate_pass(block, labels[part], weights[part], sizes[part], *options, state)
        if not relative:
            # Margins of a good exponential loss are far from one, so only the square loss can be judged by them.
            refuse_divergence(self, state, 0.0 if self.exponential else state.scalars[RECENT_EXCESS])
        return state

    def weights(self, state: UnivariateState) -> Floats:
        """Return the mean of the iterates, or the last of them."""
        last: Floats = state.cards[:, WEIGHT].copy()
        if not self.average:
            return last
        shares = state.scalars[SHARE_SUM]
        mean: Floats = (shares * last + state.cards[:, WEIGHT_SUM]) / (shares or 1.0)
        return mean

    def counts(self, state: UnivariateState) -> ClassCounts:
        """Return the weight of the rows of each class."""
        return ClassCounts(*state.counts.tolist())

    def summary(self, state: UnivariateState, weights: Floats) -> ScoreSummary:
        """Return exact counts and mean scores, and progressive estimates of the variances."""
        return progressive_summary(state.counts, state.cards[:, SUMS:], state.spreads, weights)

    def rollback(self, state: UnivariateState, rows: Rows) -> Rollback:
        """Return what puts `state` back after a step on `rows`."""
        cards, *others = state
        return Rollback().keep(*others).keep_features([cards], touched_features(rows))
