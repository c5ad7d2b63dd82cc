"""Theorem 2 and its Remark: the regret of Algorithm 1 with the steps that they name, against their bounds."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
from scipy import sparse

from experiments.paper.data_set import Task
from opauc.linear import theorem_step_size
from opauc.types import DenseRows, Floats, Labels

ALPHAS = (2.0**-10, 2.0**-4)
# Of a larger set.
MOST_ROWS = 50_000
PRINTED, CORRECTED, REMARK = "printed", "corrected", "1/(λt)"


class ClassStatistics:
    """Count, mean and covariance of one class, row by row."""

    def __init__(self, n_features: int) -> None:
        self.count = 0
        self.mean = np.zeros(n_features)
        self.covariance = np.zeros((n_features, n_features))

    def update(self, row: Floats) -> None:
        """Add a row."""
        self.count += 1
        away = row - self.mean
        self.mean = self.mean + away / self.count
        self.covariance *= 1.0 - 1.0 / self.count
        self.covariance += (1.0 - 1.0 / self.count) / self.count * np.outer(away, away)


class Step(NamedTuple):
    """A row as the algorithm meets it: y(x - c), with c the mean of the other class, and that class's covariance."""

    gap: Floats
    covariance: Floats


def steps(rows: DenseRows, labels: Labels) -> Iterator[Step | None]:
    """What the algorithm meets at each row; None while the other class is unseen."""
    classes = [ClassStatistics(rows.shape[1]) for _ in range(2)]
    for row, label in zip(rows, labels.tolist(), strict=True):
        classes[label].update(row)
        other = classes[1 - label]
        yield Step((2.0 * label - 1.0) * (row - other.mean), other.covariance) if other.count else None


class Best(NamedTuple):
    """The weights of least total loss over the first rows of a pass, their norm, and that loss."""

    weights: Floats
    norm: float
    total_loss: float


class Totals(NamedTuple):
    """The total loss up to some ends of the pass: n/2 - w.linear + w'quadratic w/2 + n alpha |w|^2/2."""

    ends: tuple[int, ...]
    counts: list[int]
    linear: list[Floats]
    quadratic: list[Floats]

    @classmethod
    def of(cls, rows: DenseRows, labels: Labels, ends: Sequence[int]) -> Totals:
        """Sum over a pass, up to each of the ends."""
        n_features = rows.shape[1]
        found = cls(tuple(ends), [], [], [])
        count, linear, quadratic = 0, np.zeros(n_features), np.zeros((n_features, n_features))
        for number, step in enumerate(steps(rows, labels), start=1):
            if step is not None:
                count += 1
                linear += step.gap
                quadratic += np.outer(step.gap, step.gap)
                quadratic += step.covariance
            if number in found.ends:
                found.counts.append(count)
                found.linear.append(linear.copy())
                found.quadratic.append(quadratic.copy())
        return found

    def best(self, place: int, alpha: float) -> Best:
        """The best weights of one end."""
        count, linear = self.counts[place], self.linear[place]
        matrix = self.quadratic[place] + count * alpha * np.eye(linear.size)
        weights = np.linalg.solve(matrix, linear)
        loss = 0.5 * count - weights @ linear + 0.5 * weights @ matrix @ weights
        return Best(weights, float(np.linalg.norm(weights)), float(loss))


def printed_step_size(n_rows: int, best_loss: float, max_norm: float, alpha: float) -> float:
    """The step of Theorem 2 as the paper prints it, without the factor of two."""
    curvature = 4.0 + alpha
    return 1.0 / (curvature + float(np.sqrt(curvature**2 + curvature * n_rows * best_loss / max_norm**2)))


def theorem_bound(best: Best, alpha: float) -> float:
    """The bound of Theorem 2 on the regret."""
    curvature = 4.0 + alpha
    return 2.0 * curvature * best.norm**2 + best.norm * float(np.sqrt(2.0 * curvature * best.total_loss))


def proof_bound(step_size: float, best: Best, alpha: float) -> float:
    """What the proof of Theorem 2 gives for any constant step."""
    curvature = 4.0 + alpha
    return float(
        (best.norm**2 / (2.0 * step_size) + curvature * step_size * best.total_loss) / (1.0 - curvature * step_size)
    )


def remark_bound(n_rows: int, alpha: float) -> float:
    """G^2 (1 + ln T) / (2 alpha) for steps 1/(alpha t); G is the largest gradient where |w| <= 1/alpha, |x| <= 1."""
    largest = 1.0 + 2.0 * (1.0 + 2.0 / alpha)
    return float(largest**2 * (1.0 + np.log(n_rows)) / (2.0 * alpha))


class Learner(NamedTuple):
    """Algorithm 1 with its own penalty and steps, up to an end of the pass, its weights within a ball."""

    alpha: float
    steps: str
    end: int
    step_size: Callable[[int], float]
    radius: float = np.inf


class Regret(NamedTuple):
    """What a learner lost beyond the best weights, against the bound of the theorem for it."""

    alpha: float
    steps: str
    end: int
    step_size: float
    total_loss: float
    regret: float
    bound: float
    proof: float
    best_norm: float
    best_loss: float


def constant(step_size: float) -> Callable[[int], float]:
    """The same step at every row."""
    return lambda number: step_size  # noqa: ARG005


def falling(alpha: float) -> Callable[[int], float]:
    """The Remark's steps."""
    return lambda number: 1.0 / (alpha * number)


def ends_of(n_rows: int, n_ends: int) -> tuple[int, ...]:
    """Where along a pass regrets are taken: halves of halves of it."""
    return tuple(sorted({n_rows // 2**k for k in range(n_ends)}))


def measure(task: Task, alphas: Sequence[float] = ALPHAS, n_ends: int = 6, most_rows: int = MOST_ROWS) -> list[Regret]:
    """Regrets of all steps and penalties at ends of the pass, each end with the step that the theorem has for it."""
    rows, labels = stream_of(task, most_rows)
    ends = ends_of(labels.size, n_ends)
    totals = Totals.of(rows, labels, ends)
    learners, bests = [], []
    for alpha in alphas:
        for place, end in enumerate(ends):
            best = totals.best(place, alpha)
            known = (end, best.total_loss / end, best.norm, alpha)
            learners += [
                Learner(alpha, PRINTED, end, constant(printed_step_size(*known))),
                Learner(alpha, CORRECTED, end, constant(theorem_step_size(*known))),
                Learner(alpha, REMARK, end, falling(alpha), 1.0 / alpha),
            ]
            bests += [best] * 3
    losses = total_losses(rows, labels, learners)
    return [_regret(learner, best, loss) for learner, best, loss in zip(learners, bests, losses.tolist(), strict=True)]


def _regret(learner: Learner, best: Best, loss: float) -> Regret:
    alpha, end = learner.alpha, learner.end
    if learner.steps == REMARK:
        bound = proof = remark_bound(end, alpha)
    else:
        bound, proof = theorem_bound(best, alpha), proof_bound(learner.step_size(1), best, alpha)
    return Regret(
        alpha, learner.steps, end, learner.step_size(1), loss, loss - best.total_loss, bound, proof, best.norm,
        best.total_loss / end,
    )  # fmt: skip


def stream_of(task: Task, most_rows: int | None = None, seed: int = 0) -> tuple[DenseRows, Labels]:
    """The rows of a set, or so many of them, in a random order, divided by the largest norm as the theorems suppose."""
    order = np.random.default_rng(seed).permutation(task.labels.size)[:most_rows]
    part = task.rows[order]
    rows = part.toarray() if sparse.issparse(part) else np.asarray(part)
    return rows / np.sqrt((rows**2).sum(axis=1).max()), task.labels[order]


def total_losses(rows: DenseRows, labels: Labels, learners: Sequence[Learner]) -> Floats:
    """The sum of the losses of each learner, each row's before the step on it, all in one pass."""
    alphas, ends, radii = (np.array([getattr(one, name) for one in learners]) for name in ("alpha", "end", "radius"))
    weights, totals, taken = np.zeros((rows.shape[1], len(learners))), np.zeros(len(learners)), 0
    for number, step in enumerate(steps(rows, labels), start=1):
        if step is None:
            continue
        taken += 1
        excess = 1.0 - step.gap @ weights
        spread = step.covariance @ weights
        losses = alphas * np.einsum("ij,ij->j", weights, weights) + excess**2 + np.einsum("ij,ij->j", weights, spread)
        active = number <= ends
        totals[active] += 0.5 * losses[active]
        sizes = np.where(active, [one.step_size(taken) for one in learners], 0.0)
        weights -= sizes * (alphas * weights - np.outer(step.gap, excess) + spread)
        if np.isfinite(radii).any():
            weights *= np.minimum(1.0, radii / np.maximum(np.linalg.norm(weights, axis=0), 1e-300))
    return totals
