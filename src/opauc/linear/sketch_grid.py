"""OPAUCr for a grid of step sizes and penalties in one pass, with selection by progressive AUC."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from opauc.core.parameters import Count, Seed, parameter
from opauc.core.row_blocks import row_weights, sparse_blocks, sum_row_squares
from opauc.core.transaction import Rollback, touched_features
from opauc.linear.grid import GridSolver, panels_for
from opauc.linear.kernels.grid import n_rows_seen
from opauc.linear.kernels.panel_product import PANEL
from opauc.linear.kernels.sketch_grid import BEFORE, SINCE, SketchGridState, sketch_grid_pass
from opauc.linear.moments.sketch import ClassSketch, SignStream, check_sketch_rank
from opauc.types import ClassCounts, Floats, Labels, NamedArrays, Rows


@dataclass(frozen=True)
class SketchedGridSGD(GridSolver[SketchGridState]):
    """`SketchedSGD` (OPAUCr) for a grid of (step size, penalty) pairs, selected by progressive AUC.

    Sketch, random signs and inner products are shared by all pairs. Memory is
    that of one linear model per pair. The weights are last iterates. See
    `GridSolver` for selection and divergence. `step` writes into the state it is
    given.

    Parameters
    ----------
    etas, alphas : tuple of float or None, default=None
        As in `GridSolver`.
    rank : int, default=50
        Rank of the sketch of each class covariance.
    random_state : int, RandomState or None, default=0
        Seed of the random signs.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.linear.sketch_grid import SketchedGridSGD
    >>> rng = np.random.default_rng(0)
    >>> labels = (np.arange(400) % 2).astype(np.int8)
    >>> rows = rng.normal(size=(400, 3)) + np.outer(labels, [1.0, 0.5, 0.0])
    >>> solver = SketchedGridSGD(rank=2)
    >>> state = solver.step(solver.start(3), rows, labels)
    >>> selection = solver.selection(state)
    >>> selection.aucs.size, bool(selection.aucs[selection.winner] > 0.75)
    (299, True)
    """

    name: ClassVar[str] = "sketched_grid"

    rank: int = parameter(50, Count(0))
    random_state: int | np.random.RandomState | None = parameter(0, Seed())

    def start(self, n_features: int) -> SketchGridState:
        """Return the state before any row; the system commits memory as features occur."""
        stream, race = SignStream.seeded(self.rank, self.random_state), self.start_race()
        panels, width = panels_for(race.order.size), stream.width
        epochs = np.zeros((3, panels * PANEL))
        epochs[[SINCE, BEFORE]] = -1.0
        return SketchGridState(
            table=np.zeros((n_features, 2 * width)),
            tails=np.zeros((n_features, panels * PANEL)),
            touched=np.zeros(n_features),
            factors=np.ones(panels * PANEL),
            epochs=epochs,
            coefficients=np.zeros((panels, 2 * width, PANEL)),
            products=np.zeros((panels, 2 * width, PANEL)),
            gram=np.zeros((2 * width, 2 * width)),
            sign_sums=np.zeros((2, width)),
            key=np.array([stream.key], np.uint64),
            race=race,
        )

    def step(self, state: SketchGridState, rows: Rows, labels: Labels, weight: Floats | None = None) -> SketchGridState:
        """Score each row in order with every pair, compare, and take a step of every pair."""
        self.check_same_grid(state.race)
        sum_row_squares(rows)
        weights, before = row_weights(weight), int(state.race.active[0])
        # Overflow is handled below. Compiled kernels do not warn about it; with the JIT disabled numpy would.
        with np.errstate(over="ignore", invalid="ignore"):
            for part, block in sparse_blocks(rows):
                sketch_grid_pass(block, labels[part], weights[part], *self.pairs(), self.rank, state)
        self.warn_where_all_diverged(before, int(state.race.active[0]))
        return state

    def columns(self, state: SketchGridState, columns: slice | NDArray[np.intp]) -> Floats:
        """Return the last iterate of the given columns, one per row."""
        width = state.gram.shape[0]
        iterates: Floats = state.coefficients.transpose(0, 2, 1).reshape(-1, width)[columns] @ state.table.T
        for weights, pair in zip(iterates, state.race.order[columns], strict=True):
            since, before, shrunk = state.epochs[:, pair]
            fades = np.where(state.touched > since, 1.0, np.where(state.touched > before, shrunk, 0.0))
            weights += state.factors[pair] * fades * state.tails[:, pair]
        return iterates

    def counts(self, state: SketchGridState) -> ClassCounts:
        """Return the total weight of the rows of each class."""
        return ClassCounts(*state.sign_sums[:, -1].tolist())

    def statistics(self, state: SketchGridState) -> ClassSketch:
        """Return the class sketches."""
        sums, stream = state.table.reshape(-1, 2, self._width()), SignStream(self.rank, int(state.key[0]))
        return ClassSketch(sums.copy(), state.sign_sums.copy(), stream, int(n_rows_seen(state.race)))

    def rollback(self, state: SketchGridState, rows: Rows) -> Rollback:
        """Return a rollback of `state` for a step on `rows`."""
        table, tails, touched, *others, race = state
        features = touched_features(rows, wide=True)
        return Rollback().keep(*others, *race).keep_features([table, tails, touched], features)

    def rows_worth_a_solve(self, n_features: int) -> int:
        """Return the number of rows whose processing costs about as much as computing the weights."""
        return n_features // 500

    def from_arrays(self, n_features: int, arrays: NamedArrays) -> SketchGridState:
        """Return the state from its arrays, checked before memory is allocated."""
        check_sketch_rank(self.rank, arrays)
        return super().from_arrays(n_features, arrays)

    def _width(self) -> int:
        """Return the length of a vector of signs."""
        return SignStream(self.rank, 0).width
