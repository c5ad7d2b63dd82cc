"""The penalized logistic likelihood of the initial sample, maximized together with its smoothing parameters."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from opauc.additive.newton import PenalizedLoss, minimize_loss
from opauc.additive.penalties import Penalties
from opauc.additive.policy import SMOOTHING_POLICY, SmoothingPolicy
from opauc.additive.smoothing import smooth
from opauc.additive.sums import LinearizedSums
from opauc.errors import StatisticsOverflowError
from opauc.types import Floats, Labels


class PenalizedFit(NamedTuple):
    """Weights, smoothing parameters, and the scores of the rows."""

    weights: Floats
    lambdas: Floats
    scores: Floats


class PartialFit(NamedTuple):
    """A fit, an estimate of the Gram matrix of all rows, and whether a subset of the rows was used."""

    fit: PenalizedFit
    gram: Floats
    of_subset: bool


def start_fit(
    rows: csr_array,
    labels: Labels,
    weight: Floats,
    penalties: Penalties,
    initial: PenalizedFit,
    max_steps: int,
    subset: NDArray[np.int64],
    policy: SmoothingPolicy = SMOOTHING_POLICY,
) -> PartialFit:
    """Return the fit to a subset of weighted sparse rows, or to all, with the scores of all rows.

    It starts from the weights and smoothing parameters of `initial`, whose columns
    come first. Each step linearizes the likelihood at the weights, solves for new
    weights and smoothing parameters, and is halved until the penalized loss falls.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.sparse import csr_array
    >>> from opauc.additive.basis.groups import ColumnGroups, Group, GroupKind
    >>> from opauc.additive.fit import finish_fit, fit_intercept, start_fit
    >>> from opauc.additive.penalties import Penalties
    >>> rows, labels = csr_array([[1.0, 0.0], [1.0, 1.0]] * 50), np.array([0, 1] * 48 + [1, 0] * 2, np.int8)
    >>> groups = ColumnGroups.of([Group(GroupKind.INTERCEPT, 0, 1), Group(GroupKind.CATEGORICAL, 1, 1)])
    >>> penalties, ones = Penalties(groups, (None, None)), np.ones(100)
    >>> started = start_fit(rows, labels, ones, penalties, fit_intercept(labels, ones), 4, np.arange(60))
    >>> fit = finish_fit(rows, labels, ones, penalties, started)
    >>> bool(3.0 < fit.weights[1] < started.fit.weights[1])
    True
    """
    if subset.size == labels.size:
        return PartialFit(*_iterate(rows, labels, weight, penalties, initial, max_steps, policy), False)
    steps = max_steps if labels.size < policy.many_rows else min(max_steps, policy.subset_steps)
    fit, gram = _iterate(rows[subset], labels[subset], weight[subset], penalties, initial, steps, policy)
    share = weight[subset].sum() / weight.sum()
    return PartialFit(fit._replace(scores=rows @ fit.weights), gram / share, True)


def finish_fit(
    rows: csr_array,
    labels: Labels,
    weight: Floats,
    penalties: Penalties,
    started: PartialFit,
    policy: SmoothingPolicy = SMOOTHING_POLICY,
) -> PenalizedFit:
    """Return the fit to all rows, with the smoothing parameters of the subset if rows are many.

    `started.gram` is overwritten.
    """
    fit = started.fit
    if not started.of_subset:
        return fit
    if labels.size < policy.many_rows:
        return _iterate(rows, labels, weight, penalties, fit, policy.all_rows_steps, policy)[0]
    loss = PenalizedLoss(rows, labels, weight, penalties.matrix(fit.lambdas))
    weights = minimize_loss(loss, fit.weights, started.gram, policy)
    return PenalizedFit(weights, fit.lambdas, rows @ weights)


def choose_subset(n_rows: int, policy: SmoothingPolicy = SMOOTHING_POLICY) -> NDArray[np.int64]:
    """Return the rows that a fit starts with: all, or an evenly spaced subset of many rows.

    Examples
    --------
    >>> from opauc.additive.fit import choose_subset
    >>> [choose_subset(n_rows).size for n_rows in (500, 8000, 40_000)]
    [500, 4096, 10000]
    """
    if n_rows < policy.many_rows:
        return np.arange(n_rows)
    size = max(policy.min_subset, n_rows // policy.subset_divisor)
    return np.arange(size) * n_rows // size


def _iterate(
    rows: csr_array,
    labels: Labels,
    weight: Floats,
    penalties: Penalties,
    initial: PenalizedFit,
    max_steps: int,
    policy: SmoothingPolicy,
) -> tuple[PenalizedFit, Floats]:
    """Return the fit after at most so many steps, and the Gram matrix of the last one."""
    weights = np.pad(initial.weights, (0, rows.shape[1] - initial.weights.size))
    n_new_groups = penalties.groups.kinds.size - initial.lambdas.size
    lambdas = np.pad(initial.lambdas, (0, n_new_groups), constant_values=1.0)
    scores = rows @ weights
    for _ in range(max_steps):
        empty = LinearizedSums.at(weights)
        sums = empty.update(rows, labels, weight, narrow=labels.size >= policy.float32_rows)
        try:
            solution = smooth(sums.gram, sums.rhs, penalties, lambdas, 1, policy)
        except StatisticsOverflowError:  # columns so similar that six digits do not separate them
            sums = empty.update(rows, labels, weight)
            solution = smooth(sums.gram, sums.rhs, penalties, lambdas, 1, policy)
        lambdas = solution.lambdas

        def loss(weights: Floats, scores: Floats, lambdas: Floats = lambdas) -> float:
            penalty = 0.5 * float(lambdas @ penalties.quadratic_forms(weights))
            return penalty + float(weight @ np.logaddexp(0.0, np.where(labels == 1, -scores, scores)))

        before, length = loss(weights, scores), 1.0
        after, after_scores = solution.weights, rows @ solution.weights
        while loss(after, after_scores) > before * (1.0 + 1e-6) and length > policy.min_step:
            length /= 2.0
            after, after_scores = 0.5 * (weights + after), 0.5 * (scores + after_scores)
        gain = before - loss(after, after_scores)
        weights, scores = after, after_scores
        if abs(gain) < policy.min_gain * before:
            break
    return PenalizedFit(weights, lambdas, scores), sums.gram


def fit_intercept(labels: Labels, weight: Floats) -> PenalizedFit:
    """Return the fit of the intercept alone."""
    negative, positive = np.bincount(labels, weight, minlength=2).tolist()
    log_odds = np.log((positive + 0.5) / (negative + 0.5))
    return PenalizedFit(np.array([log_odds]), np.zeros(1), np.full(labels.size, log_odds))
