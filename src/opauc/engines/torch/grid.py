"""A grid of step sizes and penalties stepped on a device."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from opauc.core.extras import needed
from opauc.core.row_blocks import check_sum_of_squares
from opauc.engines.torch.grid_pass import PIECE_ROWS, GridTensors, TorchGrid
from opauc.engines.torch.grid_plan import GridProgress, planned
from opauc.engines.torch.rows import as_tensor, checked_device, free_gib
from opauc.errors import EngineError, Parameter
from opauc.linear.grid import GridSGD
from opauc.linear.kernels.grid import ALL_PAIRS, BEYOND, COMPARISONS_PER_ROW, STEPS, CandidateRace, GridState
from opauc.linear.kernels.panel_product import PANEL
from opauc.types import Floats, Json, Labels, Rows

with needed("torch", "gpu"):
    import torch


@dataclass(frozen=True)
class DeviceGrid(GridSGD):
    """`GridSGD` on a torch device: each row steps all pairs at once.

    Its state is that of a `GridSGD`, and lies on this machine between
    batches. In files it is one: it does not record where it was trained.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.engines.torch.grid import DeviceGrid
    >>> solver = DeviceGrid(etas=(0.1,), alphas=(0.0,), average=False, device="cpu")
    >>> state = solver.step(solver.start(1), np.array([[0.0], [2.0]]), np.array([0, 1], np.int8))
    >>> solver.weights(state).tolist()
    [0.2]
    """

    name: ClassVar[str] = "descent_grid"

    device: str = "cuda"

    @classmethod
    def of_solver(cls, solver: GridSGD, device: str) -> DeviceGrid:
        """Return the solver that does the work of another on a device; raise where there is no such device."""
        return cls(solver.etas, solver.alphas, solver.average, checked_device(device))

    def settings(self) -> Json:
        """Return the hyper-parameters as files have them."""
        return {name: value for name, value in super().settings().items() if name != "device"}

    def step(self, state: GridState, rows: Rows, labels: Labels, weight: Floats | None = None) -> GridState:
        """Return the state after every pair has scored, compared and trained on each row in order."""
        self.check_same_grid(state.race)
        given = as_tensor(rows, self.device)
        length = float(torch.linalg.vector_norm(given, dtype=torch.float64))
        check_sum_of_squares(length * length)
        kept = state.race.order[: state.race.active[0]]
        etas, alphas = (part[kept] for part in self.pairs())
        weights, progress = np.ones(labels.size) if weight is None else np.asarray(weight, np.float64), _progress(state)
        try:
            grid = TorchGrid(_tensors(state), etas, alphas, bool(self.average), self.device)
            for begin in range(0, labels.size, PIECE_ROWS):
                piece = slice(begin, begin + PIECE_ROWS)
                plan, progress = planned(labels[piece], weights[piece], progress, COMPARISONS_PER_ROW)
                grid.train(given[piece], plan)
            after = _state(state, grid, progress)
        except torch.OutOfMemoryError as error:
            raise EngineError(Parameter("device", self.device), self._too_small(given.shape[1], kept.size)) from error
        self.warn_where_all_diverged(state.race.active[0], after.race.active[0])
        return after

    def _too_small(self, n_features: int, n_pairs: int) -> str:
        """Return how much memory is needed, and how much there is."""
        need = 8 * n_features * (2 * n_features + 3 * n_pairs + PIECE_ROWS)
        return (
            f": {n_pairs:,} pairs of {n_features:,} features need {need / 2**30:.1f} GiB of its "
            f"memory, {free_gib(self.device):.1f} GiB are free; leave features or pairs out, or work without the device"
        )


def _tensors(state: GridState) -> GridTensors:
    """Return what a device takes of a state: the columns that have not diverged, side by side."""
    active = state.race.active[0]
    weights, sums = (
        part.transpose(1, 0, 2).reshape(part.shape[1], -1)[:, :active] for part in (state.weights, state.weight_sums)
    )
    contest = state.race
    return GridTensors(
        state.means, state.scatters, weights, sums, contest.recent[..., :active], contest.wins[:active]
    )  # fmt: skip


def _progress(state: GridState) -> GridProgress:
    done = state.race.progress
    return GridProgress(done[:STEPS], state.counts, float(done[STEPS]), float(done[ALL_PAIRS]),
                        state.race.kept_weights)  # fmt: skip


def _state(before: GridState, grid: TorchGrid, progress: GridProgress) -> GridState:
    """Return the state as the kernels take it: columns that have diverged come last and hold nothing."""
    found, worst = grid.given_back()
    well = worst <= BEYOND  # False of a number that is none, too
    kept, order = np.flatnonzero(well), before.race.order
    lost = np.flatnonzero(~well)

    def columns(values: Floats, width: int) -> Floats:
        wide = np.zeros((*values.shape[:-1], width))
        wide[..., : kept.size] = values[..., kept]
        return wide

    def panels(values: Floats) -> Floats:
        flat = columns(values, before.weights.shape[0] * PANEL)
        return np.ascontiguousarray(flat.reshape(len(values), -1, PANEL).transpose(1, 0, 2))

    contest = CandidateRace(
        order=np.concatenate([order[kept], order[lost], order[worst.size :]]),
        active=np.full(1, kept.size),
        wins=columns(found.wins, order.size),
        recent=columns(found.recent, before.race.recent.shape[2]),
        kept_weights=progress.kept_weights,
        progress=np.array([*progress.n_rows, progress.steps, progress.all_pairs]),
    )
    sums = panels(found.weight_sums)
    return GridState(progress.counts, found.means, found.scatters, panels(found.weights), sums, contest)
