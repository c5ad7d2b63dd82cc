"""Theorem 3's effective numerical rank of every set, and the rank of a sketch that it asks for."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import LinearOperator, cg

from experiments.paper.data_set import Task
from opauc.linear import effective_rank
from opauc.linear.moments.exact import ExactMoments
from opauc.types import Floats, Rows

# Theorem 3 allows an error of at most one half, the least demanding; probability of failure.
ERROR, DELTA = 0.5, 0.05
# From so many features on the covariance is not formed.
MANY_FEATURES = 2000
# Where along the pass ranks are taken, as shares of the rows: the theorem takes the largest of all.
SHARES = (1 / 16, 1 / 4, 1.0)
N_PROBES = 8


class SetRank(NamedTuple):
    """A set with rows of norm at most one: its size, and its rank by penalty."""

    name: str
    n_rows: int
    n_features: int
    rank: dict[float, float]

    def needed(self, alpha: float, with_alpha: bool) -> float:
        """The rank of the sketch that Theorem 3 asks for, as printed with the penalty as a factor, or without."""
        found = needed_rank(self.rank[alpha], self.n_features, self.n_rows)
        return alpha * found if with_alpha else found


def needed_rank(rank: float, n_features: int, n_rows: int, error: float = ERROR, delta: float = DELTA) -> float:
    """32 r / error^2 * log(2 d T / delta)."""
    return float(32.0 * rank / error**2 * np.log(2.0 * n_features * n_rows / delta))


def promised_error(rank: float, n_features: int, n_rows: int, sketch_rank: float, delta: float = DELTA) -> float:
    """The error for which a sketch has the rank that is needed."""
    return float(np.sqrt(needed_rank(rank, n_features, n_rows, 1.0, delta) / sketch_rank))


def measure(name: str, task: Task, alphas: tuple[float, ...], seed: int = 0) -> SetRank:
    """The largest rank of both classes at some places of the pass in the order of the file."""
    n_rows, n_features = task.rows.shape
    longest = largest_norm(task.rows)
    order = np.random.default_rng(seed).permutation(n_rows)
    ranks = dict.fromkeys(alphas, 0.0)
    for share in SHARES:
        part = order[: max(2, int(share * n_rows))]
        for label in (0, 1):
            own = part[task.labels[part] == label]
            if own.size < 2:
                continue
            found = ranks_of(task.rows[own], longest, alphas)
            ranks = {alpha: max(ranks[alpha], found[alpha]) for alpha in alphas}
    return SetRank(name, n_rows, n_features, ranks)


def ranks_of(rows: Rows, longest: float, alphas: tuple[float, ...]) -> dict[float, float]:
    """Effective numerical rank of the covariance of rows divided by a length, for each penalty."""
    if rows.shape[1] < MANY_FEATURES:
        covariance = ExactMoments.of(rows).covariance() / longest**2
        return {alpha: effective_rank(covariance, alpha) for alpha in alphas}
    return {alpha: estimate_rank(rows / longest, alpha) for alpha in alphas}


def estimate_rank(rows: Rows, alpha: float, n_probes: int = N_PROBES, seed: int = 0) -> float:
    """The trace of K (alpha + K)^-1 for K the centered Gram matrix over n, by random signs and conjugate gradients.

    Its standard error is at most sqrt(2 rank / n_probes).
    """
    n_rows = rows.shape[0]
    mean = np.asarray(rows.mean(axis=0)).ravel()

    def gram(vector: Floats) -> Floats:
        vector = vector.ravel()
        back = rows.T @ vector - mean * vector.sum()
        product: Floats = (rows @ back - mean @ back) / n_rows
        return product

    operator = LinearOperator((n_rows, n_rows), matvec=lambda vector: gram(vector) + alpha * vector.ravel())
    random, found = np.random.default_rng(seed), []
    for _ in range(n_probes):
        signs = random.choice([-1.0, 1.0], n_rows)
        solution, failed = cg(operator, signs, rtol=1e-4, maxiter=1000)
        if failed:
            raise ArithmeticError(f"conjugate gradients did not end after {failed} iterations")
        found.append(signs @ gram(solution))
    return float(np.mean(found))


def largest_norm(rows: Rows) -> float:
    """The largest Euclidean norm of a row."""
    squares = rows.multiply(rows).sum(axis=1) if sparse.issparse(rows) else np.einsum("ij,ij->i", rows, rows)
    return float(np.sqrt(np.max(squares)))
