"""Theorem 3: the total loss of OPAUCr against that of the best weights, by the rank of the sketch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from experiments.paper.data_set import Task
from experiments.paper.theory.ranks import DELTA, needed_rank, promised_error
from experiments.paper.theory.regret import (
    Best,
    ClassStatistics,
    Totals,
    printed_step_size,
    stream_of,
    theorem_bound,
)
from opauc.linear import effective_rank
from opauc.types import DenseRows, Floats, Labels

LARGEST_ERROR = 0.5


class Sketch:
    """Weights by Algorithm 1 with the covariances replaced by sketches of one rank, and their losses so far."""

    def __init__(self, n_features: int, rank: int, seed: int) -> None:
        self.rank, self._random = rank, np.random.default_rng([seed, rank])
        self._sums, self._code_sums = np.zeros((2, n_features, rank)), np.zeros((2, rank))
        self.weights = np.zeros(n_features)
        self.sketched_loss = self.loss = 0.0

    def update(self, label: int, row: Floats) -> None:
        """Add a row, with its own Gaussian code, to the sketch of its class."""
        code = self._random.normal(size=self.rank) / np.sqrt(self.rank)
        self._sums[label] += np.outer(row, code)
        self._code_sums[label] += code

    def step(self, gap: Floats, other: ClassStatistics, label: int, alpha: float, step_size: float) -> None:
        """Count the loss of a row, by the sketch and by the true covariance, then step down the former."""
        weights = self.weights
        product = self._sums[1 - label].T @ weights - self._code_sums[1 - label] * (other.mean @ weights)
        spread = (self._sums[1 - label] @ product - other.mean * (self._code_sums[1 - label] @ product)) / other.count
        excess = 1.0 - gap @ weights
        common = alpha * weights @ weights + excess**2
        self.sketched_loss += 0.5 * (common + product @ product / other.count)
        self.loss += 0.5 * (common + weights @ other.covariance @ weights)
        self.weights = weights - step_size * (alpha * weights - excess * gap + spread)


class LowRank(NamedTuple):
    """A sketch's distance from the loss of the best weights, and the bounds of Theorem 3 for its rank.

    A bound is None where the theorem promises nothing: the error that the rank
    gives is above one half.
    """

    rank: int
    distance: float  # |sum of the sketched losses - loss of the best weights|
    regret: float  # sum of the true losses less that of the best weights
    printed_error: float
    printed_bound: float | None
    bound: float | None


def bound_for(error: float, best: Best, alpha: float) -> float | None:
    """The bound of Theorem 3 for an error of the sketch; None above one half."""
    return None if error > LARGEST_ERROR else 2.0 * error * best.total_loss + theorem_bound(best, alpha)


def run(rows: DenseRows, labels: Labels, alpha: float, step_size: float, sketches: Sequence[Sketch]) -> None:
    """One pass of all sketches."""
    classes = [ClassStatistics(rows.shape[1]) for _ in range(2)]
    for row, label in zip(rows, labels.tolist(), strict=True):
        classes[label].update(row)
        other = classes[1 - label]
        gap = (2.0 * label - 1.0) * (row - other.mean)
        for sketch in sketches:
            sketch.update(label, row)
            if other.count:
                sketch.step(gap, other, label, alpha, step_size)


def measure(task: Task, alpha: float, ranks: Sequence[int], seeds: Sequence[int] = (0,)) -> list[LowRank]:
    """OPAUCr of several ranks with the printed step, on rows of norm at most one; the mean over seeds."""
    rows, labels = stream_of(task)
    n_rows, n_features = rows.shape
    best = Totals.of(rows, labels, (n_rows,)).best(0, alpha)
    step_size = printed_step_size(n_rows, best.total_loss / n_rows, best.norm, alpha)
    rank = max(effective_rank(np.cov(rows[labels == label].T, bias=True), alpha) for label in (0, 1))
    sketches = {size: [Sketch(n_features, size, seed) for seed in seeds] for size in ranks}
    run(rows, labels, alpha, step_size, [one for some in sketches.values() for one in some])
    found = []
    for size, some in sketches.items():
        error = promised_error(rank, n_features, n_rows, size)
        printed = float(np.sqrt(alpha)) * error
        found.append(
            LowRank(
                size,
                float(np.mean([abs(one.sketched_loss - best.total_loss) for one in some])),
                float(np.mean([one.loss for one in some])) - best.total_loss,
                printed,
                bound_for(printed, best, alpha),
                bound_for(error, best, alpha),
            )
        )
    return found


class Counterexample(NamedTuple):
    """A distribution on which a sketch of the rank that Theorem 3 asks for breaks its bound."""

    n_rows: int
    n_features: int
    alpha: float
    error: float
    needed: float  # as printed
    of_lemma: float  # without the factor alpha
    rank: int
    bound: float
    distances: list[float]

    @property
    def n_broken(self) -> int:
        """How many of the draws of the codes break the bound."""
        return sum(distance > self.bound for distance in self.distances)


def counterexample(
    n_rows: int = 100_000, n_draws: int = 10, error: float = 0.03, alpha: float = 1e-7
) -> Counterexample:
    """Two round Gaussian classes in ten dimensions, cut to the unit ball, and a sketch of rank one."""
    n_features, random = 10, np.random.default_rng(0)
    labels = (random.random(n_rows) < 0.5).astype(np.int8)
    rows = 0.2 * random.normal(size=(n_rows, n_features))
    rows[:, 0] += 0.1 * (2.0 * labels - 1.0)
    rows /= np.maximum(1.0, np.linalg.norm(rows, axis=1))[:, None]
    best = Totals.of(rows, labels, (n_rows,)).best(0, alpha)
    step_size = printed_step_size(n_rows, best.total_loss / n_rows, best.norm, alpha)
    rank = max(effective_rank(np.cov(rows[labels == label].T, bias=True), alpha) for label in (0, 1))
    of_lemma = needed_rank(rank, n_features, n_rows, error, DELTA)
    sketch_rank = max(1, int(np.ceil(alpha * of_lemma)))
    sketches = [Sketch(n_features, sketch_rank, seed) for seed in range(n_draws)]
    run(rows, labels, alpha, step_size, sketches)
    bound = bound_for(error, best, alpha)
    assert bound is not None, "the error is below one half"
    return Counterexample(
        n_rows, n_features, alpha, error, alpha * of_lemma, of_lemma, sketch_rank, bound,
        [float(abs(one.sketched_loss - best.total_loss)) for one in sketches],
    )  # fmt: skip
