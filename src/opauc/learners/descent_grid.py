"""Algorithm 1 for many step sizes and penalties in one pass, and the pair of them that ranks unseen rows best."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from opauc.errors import IncompatibleMoments
from opauc.kernels.descent.grid_descent import GridState, dense_pass
from opauc.kernels.descent.grid_descent_csr import csr_pass
from opauc.kernels.descent.pair_contest import STEPS, Contest
from opauc.kernels.sums.panel_product import PANEL
from opauc.learners.grid_learner import GridLearner, panels_for
from opauc.learners.parameters import SWITCH, parameter
from opauc.learners.row_squares import checked_squares
from opauc.learners.row_weights import row_weights
from opauc.rows import ClassCounts, Floats, Labels, Rows
from opauc.statistics import ClassMoments, ExactMoments
from opauc.statistics.chunk_rows import contiguous_blocks, kernel_rows
from opauc.statistics.score_summary import ScoreSummary


@dataclass(frozen=True)
class DescentGrid(GridLearner[GridState]):
    """Descend as `SGD` does with every pair of a constant step size and a penalty; take the pair that ranked best.

    The class statistics do not depend on the pair, so they are kept once, and
    the products of the covariance with the weights of all pairs are one
    product of matrices. `GridLearner` tells of the choice and of pairs that
    diverge. With `average`, the mean of the iterates is what is judged and
    given, else the last of them; a state has both.

    The weight of a row is a factor on the gradient of its loss, as in `SGD`, and on its pairs.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.learners.descent_grid import DescentGrid
    >>> rng = np.random.default_rng(0)
    >>> labels = (np.arange(400) % 2).astype(np.int8)
    >>> rows = rng.normal(size=(400, 3)) + np.outer(labels, [1.0, 0.5, 0.0])
    >>> learner = DescentGrid()
    >>> state = learner.step(learner.start(3), rows, labels)
    >>> chosen = learner.selection(state)
    >>> chosen.aucs.size, bool(chosen.aucs[chosen.winner] > 0.75)
    (299, True)
    """

    name: ClassVar[str] = "descent_grid"

    keeps_covariances: ClassVar[bool] = True

    average: bool = parameter(True, SWITCH)

    def start(self, n_features: int) -> GridState:
        """Return the state before any row: zero weights, no statistics."""
        d, contest = n_features, self.start_contest()
        panels = panels_for(contest.order.size)
        return GridState(
            counts=np.zeros(2),
            means=np.zeros((2, d)),
            scatters=np.zeros((2, d, d)),
            weights=np.zeros((panels, d, PANEL)),
            weight_sums=np.zeros((panels, d, PANEL)),
            contest=contest,
        )

    def step(self, state: GridState, rows: Rows, labels: Labels, weight: Floats | None = None) -> GridState:
        """Return the state after every pair has scored, compared and learnt each row in order."""
        self.refuse_other_grid(state.contest)
        checked_squares(rows)
        arrays = {name: part.copy() for name, part in state._asdict().items() if name != "contest"}
        after = state._replace(contest=Contest(*(part.copy() for part in state.contest)), **arrays)
        weights, run = row_weights(weight), dense_pass if isinstance(rows, np.ndarray) else csr_pass
        # Beyond the range of float64 only plain Python, where nothing is compiled, would warn.
        with np.errstate(over="ignore", invalid="ignore"):
            for part, block in contiguous_blocks(rows):
                run(kernel_rows(block), labels[part], weights[part], *self.pairs(), bool(self.average), after)
        self.warn_where_all_diverged(state.contest.active[0], after.contest.active[0])
        return after

    def contest(self, state: GridState) -> Contest:
        """Return the part of the state that says how the pairs stand."""
        return state.contest

    def columns(self, state: GridState, columns: slice | NDArray[np.intp]) -> Floats:
        """Return the mean of the iterates of some columns, or the last of them, one a row."""
        panels = state.weight_sums if self.average else state.weights
        found: Floats = panels.transpose(0, 2, 1).reshape(-1, state.means.shape[1])[columns]
        return found / max(1.0, state.contest.progress[STEPS]) if self.average else found

    def counts(self, state: GridState) -> ClassCounts:
        """Return the weight of the rows of each class."""
        return ClassCounts(*state.counts.tolist())

    def summary(self, state: GridState, weights: Floats) -> ScoreSummary:
        """Return what the statistics say of the scores."""
        return self.statistics(state).summary(weights)

    def statistics(self, state: GridState) -> ClassMoments:
        """Return the class statistics."""
        parts = zip(state.counts.tolist(), state.means, state.scatters, strict=True)
        return ClassMoments(*(ExactMoments(count, mean.copy(), scatter.copy()) for count, mean, scatter in parts))

    def check(self, state: GridState) -> None:
        """Refuse a state from a file that would lead the kernels astray."""
        super().check(state)
        if (state.counts < 0.0).any():
            raise IncompatibleMoments(f"expected counts of rows, got {state.counts}")
