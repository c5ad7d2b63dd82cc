"""Theorem 1: the square loss of pairs orders points as their share of positives does, and the hinge loss does not."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from scipy.optimize import linprog

from opauc.types import Floats

# Scores closer than this share of the unit margin are ties.
TIE = 1e-7


class Distribution(NamedTuple):
    """Points with their probabilities and, at each, the share of positives."""

    probabilities: Floats
    shares: Floats

    def pair_weights(self) -> Floats:
        """The probability of each pair whose first point is drawn as positive and whose second as negative."""
        return np.outer(self.probabilities * self.shares, self.probabilities * (1.0 - self.shares))


class Count(NamedTuple):
    """How many distributions, how many of them with a pair in the wrong order or tied."""

    n_distributions: int
    n_wrong: int


def draw(n_distributions: int, n_points: tuple[int, int], seed: int) -> Iterator[Distribution]:
    """Random distributions on between so many points, the shares of positives spread out or close to each other."""
    random = np.random.default_rng(seed)
    for _ in range(n_distributions):
        size = int(random.integers(n_points[0], n_points[1] + 1))
        width = random.choice([0.01, 0.1, 1.0])
        start = random.uniform(0.0, 1.0 - width)
        yield Distribution(random.dirichlet(np.ones(size)), start + width * random.uniform(size=size))


def minimize_square(distribution: Distribution) -> Floats:
    """Scores of least expected square loss over pairs: the solution of a graph Laplacian, with mean zero."""
    weights = distribution.pair_weights()
    both = weights + weights.T
    laplacian = np.diag(both.sum(axis=1)) - both
    scores: Floats = np.linalg.pinv(laplacian, hermitian=True) @ (weights.sum(axis=1) - weights.sum(axis=0))
    return scores


def minimize_hinge(distribution: Distribution) -> Floats:
    """Scores of least expected hinge loss over pairs, by a linear program in the scores and the loss of each pair."""
    weights = distribution.pair_weights()
    size = weights.shape[0]
    first, second = np.nonzero(~np.eye(size, dtype=bool))
    n_pairs = first.size
    # 1 - (f_i - f_j) <= loss of the pair (i, j).
    rows = np.zeros((n_pairs, size + n_pairs))
    places = np.arange(n_pairs)
    rows[places, first], rows[places, second], rows[places, size + places] = -1.0, 1.0, -1.0
    cost = np.concatenate([np.zeros(size), weights[first, second]])
    bounds = [(0.0, 0.0), *[(None, None)] * (size - 1), *[(0.0, None)] * n_pairs]
    found = linprog(cost, A_ub=rows, b_ub=-np.ones(n_pairs), bounds=bounds, method="highs")
    return np.array(found.x[:size])


def is_ordered(distribution: Distribution, scores: Floats) -> bool:
    """Whether every point with a larger share of positives has a larger score."""
    order = np.argsort(distribution.shares)
    return bool((np.diff(scores[order]) > TIE * np.diff(distribution.shares[order])).all())


def count_square(n_distributions: int = 3000, seed: int = 0) -> Count:
    """Distributions whose scores of least square loss are in a wrong order: Theorem 1 says none."""
    found = [is_ordered(one, minimize_square(one)) for one in draw(n_distributions, (3, 8), seed)]
    return Count(len(found), found.count(False))


def count_hinge(n_distributions: int = 300, seed: int = 1) -> Count:
    """Distributions on three points with a minimizer of the hinge loss that ties or misorders two of them."""
    found = [is_ordered(one, minimize_hinge(one)) for one in draw(n_distributions, (3, 3), seed)]
    return Count(len(found), found.count(False))
