"""SGD for a grid of step sizes and penalties in one pass, with selection by progressive AUC."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar, NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from opauc.core.parameters import SWITCH, Numbers, parameter
from opauc.core.row_blocks import contiguous_blocks, kernel_rows, row_weights, sum_row_squares
from opauc.core.solver import Solver
from opauc.errors import DivergenceWarning, IncompatibleMomentsError
from opauc.linear.kernels.grid import ALL_PAIRS, KEPT_SCORES, STEPS, CandidateRace, GridState, csr_pass, dense_pass
from opauc.linear.kernels.panel_product import PANEL
from opauc.linear.moments.classes import ClassMoments
from opauc.linear.moments.exact import ExactMoments
from opauc.types import ClassCounts, Floats, Labels, Rows

# The grid of the paper, for features in [-1, 1].
PAPER_ETAS = tuple((2.0 ** np.arange(-12, 11)).tolist())
PAPER_ALPHAS = tuple((2.0 ** np.arange(-10, 3)).tolist())
# float64 counts rows one by one up to here.
MAX_ROWS = 2.0**53


class HasRace(Protocol):
    """A state with the progressive AUC counts of its pairs."""

    @property
    def race(self) -> CandidateRace:
        """The counts."""
        ...


State = TypeVar("State", bound=HasRace)


class Candidates(NamedTuple):
    """Step size, penalty and weights of every pair; the weights of diverged pairs are zero."""

    etas: Floats
    alphas: Floats
    weights: Floats
    diverged: NDArray[np.bool_]


class GridSelection(NamedTuple):
    """Step size, penalty and progressive AUC of every pair, and the index of the winner.

    Each row is scored before training on it (progressive validation) and compared
    with recent rows of the other class; later rows weigh more. The AUC of a
    diverged pair is zero. Before both classes were seen, all other pairs have 0.5.
    Ties go to the first pair.
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
    """Base of solvers that train every pair of a constant step size and a penalty, and select by progressive AUC.

    The iterates of a pair do not depend on the other pairs. Every row is scored
    by every pair before training on it and compared with recent rows of the other
    class, in fixed memory. A pair whose score misses a label by more than 1e100
    has diverged: it is ranked last and costs nothing from then on. If all pairs
    diverge, the weights are zero and a `DivergenceWarning` is issued.

    Parameters
    ----------
    etas : tuple of float or None, default=None
        Step sizes; None for those of the paper, 2^-12 to 2^10.
    alphas : tuple of float or None, default=None
        Penalties; None for those of the paper, 2^-10 to 2^2.
    """

    has_statistics: ClassVar[bool] = True

    is_slow: ClassVar[bool] = True

    etas: tuple[float, ...] | None = parameter(None, Numbers(0.0, closed="neither"))
    alphas: tuple[float, ...] | None = parameter(None, Numbers(0.0))

    @abstractmethod
    def columns(self, state: State, columns: slice | NDArray[np.intp]) -> Floats:
        """Return the weights of the given columns, one per row."""

    def weights(self, state: State) -> Floats:
        """Return the weights of the winner; zero before both classes were seen."""
        column = int(np.flatnonzero(state.race.order == self.selection(state).winner)[0])
        if column >= state.race.active[0]:
            return np.zeros(self.columns(state, slice(0, 0)).shape[1])
        weights: Floats = self.columns(state, slice(column, column + 1))[0].copy()
        return weights

    def candidates(self, state: State) -> Candidates:
        """Return the weights of every pair."""
        (etas, alphas), race = self.pairs(), state.race
        active = race.order[: race.active[0]]
        iterates = self.columns(state, slice(0, active.size))
        weights, diverged = np.zeros((etas.size, iterates.shape[1])), np.ones(etas.size, bool)
        weights[active], diverged[active] = iterates, False
        return Candidates(etas, alphas, weights, diverged)

    def selection(self, state: State) -> GridSelection:
        """Return the progressive AUC of every pair and the winner."""
        (etas, alphas), race = self.pairs(), state.race
        aucs, active, total = np.zeros(etas.size), race.order[: race.active[0]], race.progress[ALL_PAIRS]
        aucs[active] = race.wins[: active.size] / total if total > 0.0 else 0.5
        return GridSelection(etas, alphas, aucs, int(np.argmax(aucs)))

    def chosen_settings(self, state: State) -> dict[str, float]:
        """Return step size and penalty of the winner."""
        selection = self.selection(state)
        return {"eta0": selection.eta, "alpha": selection.alpha}

    def pairs(self) -> tuple[Floats, Floats]:
        """Return step size and penalty of each pair: first all penalties with the first step size."""
        etas = PAPER_ETAS if self.etas is None else self.etas
        alphas = PAPER_ALPHAS if self.alphas is None else self.alphas
        return np.repeat(etas, len(alphas)), np.tile(alphas, len(etas))

    def start_race(self) -> CandidateRace:
        """Return the progressive AUC counts before any row."""
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
        """Raise unless the state has as many pairs as this solver."""
        before, now = race.order.size, self.pairs()[0].size
        if before != now:
            raise ValueError(f"etas and alphas made {before} pairs at the start, now they make {now}")

    def warn_where_all_diverged(self, before: int, now: int) -> None:
        """Warn if the last active pair has just diverged."""
        if now == 0 < before:
            warnings.warn(
                f"every pair has diverged: all etas, from {self.pairs()[0].min():.3g} on, are too large for these "
                "rows; the weights are zero from here on. Lower etas or scale the features",
                DivergenceWarning,
                stacklevel=3,
            )

    def check(self, state: State) -> None:
        """Raise where a state from a file has values that the kernels cannot handle."""
        order, active, *_, progress = state.race
        if not ((progress >= 0.0) & (progress < MAX_ROWS))[:ALL_PAIRS].all():
            raise IncompatibleMomentsError(f"expected numbers of rows and steps, got {progress[:ALL_PAIRS]}")
        if not np.array_equal(np.sort(order), np.arange(order.size)) or not 0 <= active[0] <= order.size:
            raise IncompatibleMomentsError(f"expected each of {order.size} pairs once, and how many have not diverged")


def panels_for(n_pairs: int) -> int:
    """Return the number of panels with a column for each pair.

    Examples
    --------
    >>> from opauc.linear.grid import panels_for
    >>> panels_for(25)
    2
    """
    return -(-n_pairs // PANEL)


@dataclass(frozen=True)
class GridSGD(GridSolver[GridState]):
    """`SGD` (Algorithm 1) for a grid of (step size, penalty) pairs, selected by progressive AUC.

    All pairs share the class statistics, and the products of the covariance with
    the weights of all pairs are one product of matrices. See `GridSolver` for
    selection and divergence. The weight of a row is a factor on the gradient of
    its loss, as in `SGD`, and on its comparisons.

    Parameters
    ----------
    etas, alphas : tuple of float or None, default=None
        As in `GridSolver`.
    average : bool, default=True
        Whether the mean of the iterates or the last iterate is scored and
        returned. The state has both.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.linear.grid import GridSGD
    >>> rng = np.random.default_rng(0)
    >>> labels = (np.arange(400) % 2).astype(np.int8)
    >>> rows = rng.normal(size=(400, 3)) + np.outer(labels, [1.0, 0.5, 0.0])
    >>> solver = GridSGD()
    >>> state = solver.step(solver.start(3), rows, labels)
    >>> selection = solver.selection(state)
    >>> selection.aucs.size, bool(selection.aucs[selection.winner] > 0.75)
    (299, True)
    """

    name: ClassVar[str] = "descent_grid"

    keeps_covariances: ClassVar[bool] = True

    average: bool = parameter(True, SWITCH)

    def start(self, n_features: int) -> GridState:
        """Return the state before any row."""
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
        """Return the state after scoring each row in order with every pair, comparing, and a step of every pair."""
        self.check_same_grid(state.race)
        sum_row_squares(rows)
        arrays = {name: part.copy() for name, part in state._asdict().items() if name != "race"}
        after = state._replace(race=CandidateRace(*(part.copy() for part in state.race)), **arrays)
        weights, run = row_weights(weight), dense_pass if isinstance(rows, np.ndarray) else csr_pass
        # Overflow is handled below. Compiled kernels do not warn about it; with the JIT disabled numpy would.
        with np.errstate(over="ignore", invalid="ignore"):
            for part, block in contiguous_blocks(rows):
                run(kernel_rows(block), labels[part], weights[part], *self.pairs(), bool(self.average), after)
        self.warn_where_all_diverged(state.race.active[0], after.race.active[0])
        return after

    def columns(self, state: GridState, columns: slice | NDArray[np.intp]) -> Floats:
        """Return the mean of the iterates, or the last iterate, of the given columns, one per row."""
        panels = state.weight_sums if self.average else state.weights
        iterates: Floats = panels.transpose(0, 2, 1).reshape(-1, state.means.shape[1])[columns]
        return iterates / max(1.0, state.race.progress[STEPS]) if self.average else iterates

    def counts(self, state: GridState) -> ClassCounts:
        """Return the total weight of the rows of each class."""
        return ClassCounts(*state.counts.tolist())

    def statistics(self, state: GridState) -> ClassMoments:
        """Return the class statistics."""
        parts = zip(state.counts.tolist(), state.means, state.scatters, strict=True)
        return ClassMoments(*(ExactMoments(count, mean.copy(), scatter.copy()) for count, mean, scatter in parts))

    def check(self, state: GridState) -> None:
        """Raise where a state from a file has values that the kernels cannot handle."""
        super().check(state)
        if (state.counts < 0.0).any():
            raise IncompatibleMomentsError(f"expected counts of rows, got {state.counts}")
