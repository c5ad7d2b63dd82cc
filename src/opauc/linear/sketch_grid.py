"""OPAUCr for many step sizes and penalties in one pass, and the pair of them that ranks unseen rows best."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from opauc.core.mergeable import ScoreSummary
from opauc.core.parameters import Count, Seed, parameter
from opauc.core.row_blocks import row_weights, sparse_blocks, sum_row_squares
from opauc.core.transaction import Rollback, touched_features
from opauc.errors import IncompatibleMomentsError
from opauc.linear.grid import GridSolver, panels_for
from opauc.linear.kernels.grid import CandidateRace
from opauc.linear.kernels.panel_product import PANEL
from opauc.linear.kernels.sketch_grid import BEFORE, SINCE, SketchGridState, sketch_grid_pass
from opauc.linear.moments.sketch import ClassSketch, SignStream
from opauc.types import ClassCounts, Floats, Labels, NamedArrays, Rows


@dataclass(frozen=True)
class SketchedGridSGD(GridSolver[SketchGridState]):
    """Descend as `SketchedSGD` does with every pair of a constant step size and a penalty; take the best.

    Sketches, sign_rows and inner products do not depend on the pair and are kept
    once. What a pair has of its own is one number a feature and a few hundred
    more, so memory is that of as many linear models as there are pairs. The
    weights are last iterates. `GridSolver` tells of the choice and of pairs
    that diverge, `SketchedSGD` of sketches and of weights. `step` writes into
    the state it is given.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.linear.sketch_grid import SketchedGridSGD
    >>> rng = np.random.default_rng(0)
    >>> labels = (np.arange(400) % 2).astype(np.int8)
    >>> rows = rng.normal(size=(400, 3)) + np.outer(labels, [1.0, 0.5, 0.0])
    >>> solver = SketchedGridSGD(rank=2)
    >>> state = solver.step(solver.start(3), rows, labels)
    >>> chosen = solver.selection(state)
    >>> chosen.aucs.size, bool(chosen.aucs[chosen.winner] > 0.75)
    (299, True)
    """

    name: ClassVar[str] = "sketched_grid"

    rank: int = parameter(50, Count(0))
    random_state: int | np.random.RandomState | None = parameter(0, Seed())

    def start(self, n_features: int) -> SketchGridState:
        """Return the state before any row; the system commits the memory of features as they turn up."""
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
        """Let every pair score, compare and learn each row in order."""
        self.check_same_grid(state.race)
        sum_row_squares(rows)
        weights, before = row_weights(weight), int(state.race.active[0])
        # Beyond the range of float64 only plain Python, where nothing is compiled, would warn.
        with np.errstate(over="ignore", invalid="ignore"):
            for part, block in sparse_blocks(rows):
                sketch_grid_pass(block, labels[part], weights[part], *self.pairs(), self.rank, state)
        self.warn_where_all_diverged(before, int(state.race.active[0]))
        return state

    def race(self, state: SketchGridState) -> CandidateRace:
        """Return the part of the state that says how the pairs stand."""
        return state.race

    def columns(self, state: SketchGridState, columns: slice | NDArray[np.intp]) -> Floats:
        """Return the last iterates of some columns, one a row."""
        width = state.gram.shape[0]
        found: Floats = state.coefficients.transpose(0, 2, 1).reshape(-1, width)[columns] @ state.table.T
        for weights, pair in zip(found, state.race.order[columns], strict=True):
            since, before, shrunk = state.epochs[:, pair]
            fades = np.where(state.touched > since, 1.0, np.where(state.touched > before, shrunk, 0.0))
            weights += state.factors[pair] * fades * state.tails[:, pair]
        return found

    def counts(self, state: SketchGridState) -> ClassCounts:
        """Return the weight of the rows of each class."""
        return ClassCounts(*state.sign_sums[:, -1].tolist())

    def summary(self, state: SketchGridState, weights: Floats) -> ScoreSummary:
        """Return what the sketch says of the scores."""
        return self.statistics(state).summary(weights)

    def statistics(self, state: SketchGridState) -> ClassSketch:
        """Return the class sketches."""
        sums, stream = state.table.reshape(-1, 2, self._width()), SignStream(self.rank, int(state.key[0]))
        return ClassSketch(sums.copy(), state.sign_sums.copy(), stream, int(state.race.progress[:2].sum()))

    def rollback(self, state: SketchGridState, rows: Rows) -> Rollback:
        """Return what puts `state` back after a step on `rows`."""
        table, tails, touched, *others, race = state
        features = touched_features(rows, wide=True)
        return Rollback().keep(*others, *race).keep_features([table, tails, touched], features)

    def rows_worth_a_solve(self, n_features: int) -> int:
        """Return how many rows cost about as much to learn as the weights cost to work out."""
        return n_features // 500

    def from_arrays(self, n_features: int, arrays: NamedArrays) -> SketchGridState:
        """Return the state of so many features that gave these arrays, checked before room is made for it."""
        wanted, name = (2, self._width()), "sign_sums"
        if name not in arrays or arrays[name].shape != wanted:
            raise IncompatibleMomentsError(f"array {name}: expected shape {wanted} of rank {self.rank}")
        return super().from_arrays(n_features, arrays)

    def _width(self) -> int:
        """Return the length of a signs."""
        return SignStream(self.rank, 0).width
