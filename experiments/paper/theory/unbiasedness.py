"""Section 3: the loss of a row against the rows of the other class before it is unbiased for the loss of all pairs."""

from __future__ import annotations

from itertools import permutations
from typing import NamedTuple

import numpy as np

from experiments.paper.data_set import Task
from opauc.linear.exact import Exact
from opauc.types import Floats, Labels


class Unbiasedness(NamedTuple):
    """The loss of all pairs, and the mean over random orders of the mean loss of a row, with its standard error."""

    whole: float
    mean: float
    error: float
    n_zero: float  # mean number of rows of an order whose loss is zero because no row of the other class is before them

    @property
    def errors_apart(self) -> float:
        """The distance of the mean from the whole in standard errors."""
        return (self.mean - self.whole) / self.error


def whole_loss(scores: Floats, labels: Labels) -> float:
    """Half the mean over all pairs of (1 - difference of the scores)^2; the penalty adds the same to every loss."""
    positive, negative = scores[labels == 1], scores[labels == 0]
    gap = 1.0 - (positive.mean() - negative.mean())
    return float(0.5 * (gap**2 + positive.var() + negative.var()))


def row_losses(scores: Floats, labels: Labels) -> Floats:
    """The loss of each row against the rows of the other class before it; NaN where there are none."""
    losses = np.full(labels.size, np.nan)
    for label in (0, 1):
        others = np.cumsum(labels != label)
        first, second = (np.cumsum(np.where(labels != label, scores**power, 0.0)) for power in (1, 2))
        own = np.flatnonzero((labels == label) & (others > 0))
        sign = 2.0 * label - 1.0
        rest = 1.0 - sign * scores[own]
        # The mean over the others of (rest + sign * score)^2.
        losses[own] = 0.5 * (rest**2 + 2.0 * sign * rest * first[own] / others[own] + second[own] / others[own])
    return losses


def bias_of_all_orders(scores: Floats, labels: Labels) -> dict[tuple[int, int], float]:
    """For each place and class of a row, its mean loss over all orders less the loss of all pairs."""
    found: dict[tuple[int, int], list[float]] = {}
    for order in permutations(range(labels.size)):
        part = list(order)
        for place, loss in enumerate(row_losses(scores[part], labels[part]).tolist()):
            if not np.isnan(loss):
                found.setdefault((place, int(labels[part[place]])), []).append(loss)
    whole = whole_loss(scores, labels)
    return {key: float(np.mean(losses)) - whole for key, losses in found.items()}


def measure(task: Task, alpha: float, n_orders: int, seed: int = 0) -> Unbiasedness:
    """Random orders of a set, scored by the closed form."""
    solver, random = Exact(alpha), np.random.default_rng(seed)
    scores = task.rows @ solver.weights(solver.step(solver.start(task.rows.shape[1]), *task))
    means, n_zero = [], []
    for _ in range(n_orders):
        order = random.permutation(task.labels.size)
        losses = row_losses(scores[order], task.labels[order])
        means.append(float(np.nanmean(losses)))
        n_zero.append(int(np.isnan(losses).sum()))
    error = float(np.std(means, ddof=1) / np.sqrt(n_orders))
    return Unbiasedness(whole_loss(scores, task.labels), float(np.mean(means)), error, float(np.mean(n_zero)))
