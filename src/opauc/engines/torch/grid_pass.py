"""SGD for many pairs of a step size and a penalty on a device; needs nothing but torch and numpy."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from opauc.core.extras import needed
from opauc.engines.torch.grid_plan import GridPlan, Numbers

with needed("torch", "gpu"):
    import torch
    from torch import Tensor

# Columns are filled up to a multiple of this: products are fastest so.
ALIGNED = 8
# Rows brought to the device at a time.
PIECE_ROWS = 1024
# What stands in the table of rows after the features.
SHARE, FACTOR, WEIGHT, DAMP, MEAN_OF, N_SCALARS = 0, 1, 2, 3, 4, 5


class GridTensors(NamedTuple):
    """What a pass reads and writes, on the host: a column of the weights is a pair."""

    means: Numbers  # (2, d)
    scatters: Numbers  # (2, d, d)
    weights: Numbers  # (d, pairs)
    weight_sums: Numbers  # (d, pairs)
    recent: Numbers  # (2, kept, pairs)
    wins: Numbers  # (pairs,)


class TorchGrid:
    """The weights of all pairs on a device, moved row by row.

    A row is some twenty small operations. On CUDA they are recorded once for
    each kind of row and replayed as a graph, lest starting them takes most of
    the time. Columns that leave the range of numbers do no harm to others:
    none of the operations mixes columns.

    Parameters
    ----------
    given : GridTensors
        Where the pass begins.
    etas, alphas : ndarray of shape (pairs,)
        Step size and penalty of each column.
    judge_mean : bool
        Whether rows are scored by the mean of the iterates rather than the last.
    device : str
        The device.

    Examples
    --------
    >>> import numpy as np
    >>> import torch
    >>> from opauc.engines.torch.grid_plan import GridProgress, planned
    >>> from opauc.engines.torch.grid_pass import GridTensors, TorchGrid
    >>> blank = GridTensors(*(np.zeros(n) for n in ((2, 1), (2, 1, 1), (1, 1), (1, 1), (2, 4, 1), 1)))
    >>> start = GridProgress(np.zeros(2), np.zeros(2), 0.0, 0.0, np.ones((2, 4)))
    >>> plan, _ = planned(np.array([0, 1], np.int8), np.ones(2), start, 16)
    >>> grid = TorchGrid(blank, np.array([0.1]), np.array([0.0]), False, "cpu")
    >>> grid.train(torch.tensor([[0.0], [2.0]]), plan)
    >>> grid.given_back()[0].weights
    array([[0.2]])
    """

    n_features: int
    n_pairs: int
    device: torch.device
    means: Tensor
    scatters: Tensor
    weights: Tensor
    weight_sums: Tensor
    recent: Tensor
    wins: Tensor
    etas: Tensor
    keeps: Tensor
    pull: Tensor
    worst: Tensor
    judged: Tensor

    def __init__(self, given: GridTensors, etas: Numbers, alphas: Numbers, judge_mean: bool, device: str) -> None:
        self.device = torch.device(device)
        self.n_features, self.n_pairs = given.weights.shape
        self.kept: int = given.recent.shape[1]
        d, deep, wide = self.n_features, _filled_up(self.n_features + 1), _filled_up(self.n_pairs)

        def there(array: Numbers, *shape: int) -> Tensor:
            padded = np.zeros(shape)
            padded[tuple(slice(size) for size in array.shape)] = array
            return torch.from_numpy(padded).to(self.device)

        self.means = there(given.means, 2, d)
        # Beside each scatter stands a column for the gap of a row: one product does for both.
        self.scatters = there(given.scatters, 2, d, deep)
        self.weights, self.weight_sums = there(given.weights, d, wide), there(given.weight_sums, d, wide)
        self.recent, self.wins = there(given.recent, 2, self.kept, wide), there(given.wins, wide)
        self.etas, self.keeps = there(etas, wide), there(1.0 - etas * alphas, wide)
        self.pull = there(np.zeros((0, 0)), deep, wide)
        self.worst = there(np.zeros(0), wide)
        self.judged = self.weight_sums if judge_mean else self.weights
        self.judge_mean = judge_mean
        self._table = there(np.zeros((0, 0)), PIECE_ROWS, d + N_SCALARS + self.kept)
        self._places = torch.zeros(PIECE_ROWS, dtype=torch.int64, device=self.device)
        self._at = torch.zeros(1, dtype=torch.int64, device=self.device)
        self._graphs: dict[tuple[int, bool, bool], torch.cuda.CUDAGraph | None] = {}

    def train(self, rows: Tensor, plan: GridPlan) -> None:
        """Score, compare and train on rows in order."""
        numbers = np.column_stack([*plan[2:7], plan.halves])
        compares = (plan.halves > 0.0).sum(axis=1) > 0
        kinds = list(zip(plan.labels.tolist(), compares.tolist(), plan.moves.tolist(), strict=True))
        for begin in range(0, len(kinds), PIECE_ROWS):
            piece = slice(begin, begin + PIECE_ROWS)
            size = len(kinds[piece])
            self._table[:size, : self.n_features] = rows[piece].to(self.device)
            self._table[:size, self.n_features :] = torch.from_numpy(numbers[piece]).to(self.device)
            self._places[:size] = torch.from_numpy(plan.places[piece]).to(self.device)
            self._at.zero_()
            for kind in kinds[piece]:
                self._run(kind)

    def given_back(self) -> tuple[GridTensors, Numbers]:
        """Return where the pass stands, and by how much each column ever missed a label: nan where beyond all numbers.

        A column that the last row drove beyond all numbers counts as such.
        """
        d, n = self.n_features, self.n_pairs
        ends = (0.0 * self.weights).sum(0)
        worst = (self.worst + ends)[:n].cpu().numpy()
        parts = (self.means, self.scatters[..., :d], self.weights[:, :n], self.weight_sums[:, :n],
                 self.recent[..., :n], self.wins[:n])  # fmt: skip
        return GridTensors(*(np.ascontiguousarray(part.cpu().numpy()) for part in parts)), worst

    def _run(self, kind: tuple[int, bool, bool]) -> None:
        """Train on the next row of the table: the first of its kind directly, later ones as a recorded graph."""
        if self.device.type != "cuda" or kind not in self._graphs:
            self._graphs[kind] = None
            self._row(*kind)
            return
        graph = self._graphs[kind]
        if graph is None:
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                self._row(*kind)
            self._graphs[kind] = graph
        graph.replay()

    def _row(self, k: int, compares: bool, moves: bool) -> None:
        """Train on the row of class k at the next place of the table."""
        other, d, table = 1 - k, self.n_features, self._table.index_select(0, self._at)[0]
        row, scalars, halves = table[:d], table[d : d + N_SCALARS], table[d + N_SCALARS :]
        mean, scatter = self.means[k], self.scatters[k, :, :d]
        away = row - mean
        mean.addcmul_(away, scalars[SHARE])
        scatter.addr_(away * scalars[FACTOR], away)
        gap = row - self.means[other]
        excess = gap @ self.weights - (2.0 * k - 1.0)
        scores = row @ self.judged
        if self.judge_mean:
            scores *= scalars[MEAN_OF]
        torch.maximum(self.worst, excess.abs(), out=self.worst)
        if compares:
            orders = (scores - self.recent[other]).sign_()
            self.wins += halves @ orders if k else -(halves @ orders)
            self.wins += halves.sum()
        self.recent[k].index_copy_(0, self._places.index_select(0, self._at), scores[None])
        if moves:
            self.scatters[other, :, d] = gap
            torch.mul(self.weights, self.etas * scalars[DAMP], out=self.pull[:d])
            torch.mul(excess, self.etas * scalars[WEIGHT], out=self.pull[d])
            self.weights *= self.keeps
            self.weights.addmm_(self.scatters[other], self.pull, alpha=-1.0)
            self.weight_sums += self.weights
        self._at += 1


def _filled_up(size: int) -> int:
    return -(-size // ALIGNED) * ALIGNED
