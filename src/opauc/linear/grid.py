"""What solvers share that advance many pairs of a step size and a penalty together and choose among them."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from opauc.core.mergeable import ScoreSummary
from opauc.core.parameters import SWITCH, Numbers, parameter
from opauc.core.row_blocks import contiguous_blocks, kernel_rows, row_weights, sum_row_squares
from opauc.core.solver import Solver
from opauc.errors import DivergenceWarning, IncompatibleMomentsError
from opauc.linear.kernels.grid import ALL_PAIRS, KEPT_SCORES, STEPS, CandidateRace, GridState, csr_pass, dense_pass
from opauc.linear.kernels.panel_product import PANEL
from opauc.linear.moments.classes import ClassMoments
from opauc.linear.moments.exact import ExactMoments
from opauc.types import ClassCounts, Floats, Labels, Rows

State = TypeVar("State")
# The grid of the paper.
PAPER_ETAS = tuple((2.0 ** np.arange(-12, 11)).tolist())
PAPER_ALPHAS = tuple((2.0 ** np.arange(-10, 3)).tolist())
# Whole numbers beyond this are no longer counted one by one.
MOST_ROWS = 2.0**53


class Candidates(NamedTuple):
    """The weights of every pair: `weights` has a row for each, zero for those that diverged.

    `etas` and `alphas` say the step size and the penalty of each row.
    """

    etas: Floats
    alphas: Floats
    weights: Floats
    diverged: NDArray[np.bool_]


class GridSelection(NamedTuple):
    """The step size, the penalty and the progressive AUC of every pair, and the number of the winner.

    Each row was scored before it was learned from and compared with recent rows
    of the other class; later rows weigh more. The AUC is zero for pairs that
    diverged, and 0.5 for all others until both classes are seen; the first of
    equals wins.
    """

    etas: Floats
    alphas: Floats
    aucs: Floats
    winner: int

    @property
    def eta(self) -> float:
        """The step size of the winner."""
        return float(self.etas[self.winner])

    @property
    def alpha(self) -> float:
        """The penalty of the winner."""
        return float(self.alphas[self.winner])


@dataclass(frozen=True)
class GridSolver(Solver[State]):
    """Descend with every pair of a constant step size and a penalty; take the pair that ranked best.

    Each pair moves as it would alone. The pair taken is that of the best
    progressive AUC: every row is scored before it is learned and compared with
    recent rows of the other class, in fixed memory. Pairs whose weights miss a
    label by more than 1e100 have diverged: they count as the worst and cost
    nothing from there on. Where all have, the weights are zero, and a warning
    says so. `etas` and `alphas` are by default those of the paper, 2^-12 to
    2^10 and 2^-10 to 2^2, for features between -1 and 1.
    """

    has_statistics: ClassVar[bool] = True

    is_slow: ClassVar[bool] = True

    etas: tuple[float, ...] | None = parameter(None, Numbers(0.0, closed="neither"))
    alphas: tuple[float, ...] | None = parameter(None, Numbers(0.0))

    @abstractmethod
    def race(self, state: State) -> CandidateRace:
        """Return the part of the state that says how the pairs stand."""

    @abstractmethod
    def columns(self, state: State, columns: slice | NDArray[np.intp]) -> Floats:
        """Return the weights of some columns, one a row."""

    def weights(self, state: State) -> Floats:
        """Return the weights of the pair that ranked best; zero until both classes were seen."""
        column = int(np.flatnonzero(self.race(state).order == self.selection(state).winner)[0])
        if column >= self.race(state).active[0]:
            return np.zeros(self.columns(state, slice(0, 0)).shape[1])
        weights: Floats = self.columns(state, slice(column, column + 1))[0].copy()
        return weights

    def candidates(self, state: State) -> Candidates:
        """Return the weights of every pair, to be judged on rows held out."""
        (etas, alphas), race = self.pairs(), self.race(state)
        kept = race.order[: race.active[0]]
        found = self.columns(state, slice(0, kept.size))
        weights, diverged = np.zeros((etas.size, found.shape[1])), np.ones(etas.size, bool)
        weights[kept], diverged[kept] = found, False
        return Candidates(etas, alphas, weights, diverged)

    def each_candidate(self, state: State) -> Iterator[Floats | None]:
        """Give the weights of one pair after the other, None for those that diverged, a few at a time in memory."""
        race = self.race(state)
        places = np.empty(race.order.size, np.intp)
        places[race.order] = np.arange(places.size)
        for start in range(0, places.size, PANEL):
            some = places[start : start + PANEL]
            kept = some < race.active[0]
            found = iter(self.columns(state, some[kept]))
            yield from (next(found) if is_kept else None for is_kept in kept.tolist())

    def selection(self, state: State) -> GridSelection:
        """Return the progressive AUC of every pair, and the winner."""
        (etas, alphas), race = self.pairs(), self.race(state)
        aucs, kept, total = np.zeros(etas.size), race.order[: race.active[0]], race.progress[ALL_PAIRS]
        aucs[kept] = race.wins[: kept.size] / total if total > 0.0 else 0.5
        return GridSelection(etas, alphas, aucs, int(np.argmax(aucs)))

    def chosen_settings(self, state: State) -> dict[str, float]:
        """Return the settings that were chosen inside the pass, by name."""
        found = self.selection(state)
        return {"eta0": found.eta, "alpha": found.alpha}

    def pairs(self) -> tuple[Floats, Floats]:
        """Return the step size and the penalty of each pair: all penalties with the first step size come first."""
        etas = PAPER_ETAS if self.etas is None else self.etas
        alphas = PAPER_ALPHAS if self.alphas is None else self.alphas
        return np.repeat(etas, len(alphas)), np.tile(alphas, len(etas))

    def start_race(self) -> CandidateRace:
        """Return how the pairs stand before any row."""
        n_pairs = self.pairs()[0].size
        return CandidateRace(
            order=np.arange(n_pairs),
            active=np.full(1, n_pairs),
            wins=np.zeros(n_pairs),
            recent=np.zeros((2, KEPT_SCORES, panels_for(n_pairs) * PANEL)),
            kept_weights=np.ones((2, KEPT_SCORES)),
            progress=np.zeros(4),
        )

    def check_same_grid(self, race: CandidateRace) -> None:
        """Raise unless the race is of as many pairs."""
        before, now = race.order.size, self.pairs()[0].size
        if before != now:
            raise ValueError(f"etas and alphas made {before} pairs at the start, now they make {now}")

    def warn_where_all_diverged(self, before: int, now: int) -> None:
        """Warn if the last of the active pairs has just left."""
        if now == 0 < before:
            warnings.warn(
                f"every pair has diverged: all etas, from {self.pairs()[0].min():.3g} on, are too large for these "
                "rows; the weights are zero from here on. Lower etas or scale the features",
                DivergenceWarning,
                stacklevel=3,
            )

    def check(self, state: State) -> None:
        """Refuse a state from a file that would lead the kernels astray."""
        order, active, *_, progress = self.race(state)
        if not ((progress >= 0.0) & (progress < MOST_ROWS))[:ALL_PAIRS].all():
            raise IncompatibleMomentsError(f"expected numbers of rows and steps, got {progress[:ALL_PAIRS]}")
        if not np.array_equal(np.sort(order), np.arange(order.size)) or not 0 <= active[0] <= order.size:
            raise IncompatibleMomentsError(f"expected each of {order.size} pairs once, and how many have not diverged")


def panels_for(n_pairs: int) -> int:
    """Return how many panels have a column for each pair.

    Examples
    --------
    >>> from opauc.linear.grid import panels_for
    >>> panels_for(25)
    2
    """
    return -(-n_pairs // PANEL)


@dataclass(frozen=True)
class GridSGD(GridSolver[GridState]):
    """Descend as `SGD` does with every pair of a constant step size and a penalty; take the pair that ranked best.

    The class statistics do not depend on the pair, so they are kept once, and
    the products of the covariance with the weights of all pairs are one
    product of matrices. `GridSolver` tells of the choice and of pairs that
    diverge. With `average`, the mean of the iterates is what is judged and
    given, else the last of them; a state has both.

    The weight of a row is a factor on the gradient of its loss, as in `SGD`, and on its pairs.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.linear.grid import GridSGD
    >>> rng = np.random.default_rng(0)
    >>> labels = (np.arange(400) % 2).astype(np.int8)
    >>> rows = rng.normal(size=(400, 3)) + np.outer(labels, [1.0, 0.5, 0.0])
    >>> solver = GridSGD()
    >>> state = solver.step(solver.start(3), rows, labels)
    >>> chosen = solver.selection(state)
    >>> chosen.aucs.size, bool(chosen.aucs[chosen.winner] > 0.75)
    (299, True)
    """

    name: ClassVar[str] = "descent_grid"

    keeps_covariances: ClassVar[bool] = True

    average: bool = parameter(True, SWITCH)

    def start(self, n_features: int) -> GridState:
        """Return the state before any row: zero weights, no statistics."""
        d, race = n_features, self.start_race()
        panels = panels_for(race.order.size)
        return GridState(
            counts=np.zeros(2),
            means=np.zeros((2, d)),
            scatters=np.zeros((2, d, d)),
            weights=np.zeros((panels, d, PANEL)),
            weight_sums=np.zeros((panels, d, PANEL)),
            race=race,
        )

    def step(self, state: GridState, rows: Rows, labels: Labels, weight: Floats | None = None) -> GridState:
        """Return the state after every pair has scored, compared and learned each row in order."""
        self.check_same_grid(state.race)
        sum_row_squares(rows)
        arrays = {name: part.copy() for name, part in state._asdict().items() if name != "race"}
        after = state._replace(race=CandidateRace(*(part.copy() for part in state.race)), **arrays)
        weights, run = row_weights(weight), dense_pass if isinstance(rows, np.ndarray) else csr_pass
        # Beyond the range of float64 only plain Python, where nothing is compiled, would warn.
        with np.errstate(over="ignore", invalid="ignore"):
            for part, block in contiguous_blocks(rows):
                run(kernel_rows(block), labels[part], weights[part], *self.pairs(), bool(self.average), after)
        self.warn_where_all_diverged(state.race.active[0], after.race.active[0])
        return after

    def race(self, state: GridState) -> CandidateRace:
        """Return the part of the state that says how the pairs stand."""
        return state.race

    def columns(self, state: GridState, columns: slice | NDArray[np.intp]) -> Floats:
        """Return the mean of the iterates of some columns, or the last of them, one a row."""
        panels = state.weight_sums if self.average else state.weights
        found: Floats = panels.transpose(0, 2, 1).reshape(-1, state.means.shape[1])[columns]
        return found / max(1.0, state.race.progress[STEPS]) if self.average else found

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
            raise IncompatibleMomentsError(f"expected counts of rows, got {state.counts}")
