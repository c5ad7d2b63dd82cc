"""Factors and intercepts that make the scores of several classes comparable, from the moments of the scores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax

from opauc.linear.moments.multiclass import MulticlassMoments
from opauc.types import Floats


@dataclass(frozen=True)
class CalibrationPolicy:
    """How the factors and intercepts are computed.

    A factor for each class in place of one for all raised the mean AUC over pairs of classes on four of five tables
    (letter .9586 to .9665, mnist .9788 to .9796), and lowered it by .0004 on one, 2026-11-19.
    """

    points: int = 2000  # of all classes together; each class has at least twice as many as there are classes
    min_factor: float = 1e-3  # of scores of unit deviation: they never turn round
    ridge: float = 1e-8  # on factors and intercepts: of weights that say nothing any would do
    tolerance: float = 1e-13  # of a step, relative to factors and intercepts: results do not depend on the start
    max_steps: int = 100


CALIBRATION_POLICY = CalibrationPolicy()


class ScoreMoments(NamedTuple):
    """Rows of each class, and the mean and covariance of the scores of its rows: (k,), (k, k) and (k, k, k)."""

    counts: Floats
    means: Floats
    covariances: Floats

    @classmethod
    def of(cls, moments: MulticlassMoments, weights: Floats) -> ScoreMoments:
        """Return those of the scores that weights, one row per class, give to the rows of classes that have some."""
        groups = moments.without_rounding()
        seen = [groups[k] for k in moments.seen()]
        return cls(
            np.array([one.count for one in seen]),
            np.stack([weights @ one.mean for one in seen]),
            np.stack([weights @ one.scatter @ weights.T / one.count for one in seen]),
        )

    @classmethod
    def pooled(cls, parts: Sequence[ScoreMoments]) -> ScoreMoments:
        """Return the mean over parts, whose scores are by different weights.

        How far the means of the parts are from each other is left out: one set of weights has no such spread. With it
        the log loss on covtype was .7545, without .7464, and by the rows trained on .7488; on usps .2839, .2839 and
        .2967, 2026-11-19.
        """
        counts = np.stack([part.counts for part in parts])
        shares = counts / counts.sum(axis=0)
        means = np.einsum("pl,plk->lk", shares, np.stack([part.means for part in parts]))
        covariances = np.einsum("pl,plij->lij", shares, np.stack([part.covariances for part in parts]))
        return cls(counts.sum(axis=0), means, covariances)


class Calibration(NamedTuple):
    """A factor for the scores of each class, and an intercept: the softmax of factors * scores + intercepts."""

    factors: Floats
    intercepts: Floats


def calibrate(scores: ScoreMoments, policy: CalibrationPolicy = CALIBRATION_POLICY) -> Calibration:
    """Return the calibration of least log loss if the scores of each class are normal and classes equally frequent.

    Each class stands for its rows by points of the same mean and covariance, spread as normal scores are: the log
    loss of a softmax has no closed form for normal scores. It is convex in factors and intercepts, and Newton's steps
    find its minimum. Each class counts as if one more row had been seen, of any class: the minimum is finite where
    no points overlap.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.linear.multiclass.calibration import ScoreMoments, calibrate
    >>> means = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    >>> found = calibrate(ScoreMoments(np.full(3, 1e6), means, np.stack([np.eye(3)] * 3)))
    >>> found.factors.round(1).tolist(), np.abs(found.intercepts).round(1).tolist()
    ([1.0, 1.0, 1.0], [0.0, 0.0, 0.0])
    """
    counts, means, covariances = scores
    n_classes = counts.size
    center = means.mean(axis=0)
    deviation = np.sqrt((np.diagonal(covariances, axis1=1, axis2=2) + (means - center) ** 2).mean(axis=0))
    scale = np.where(deviation > 0.0, deviation, 1.0)
    normal = _normal_points(n_classes, max(n_classes, policy.points // (2 * n_classes)))
    points = np.concatenate(
        [
            (mean - center) / scale + normal @ _root(covariance / np.multiply.outer(scale, scale))
            for mean, covariance in zip(means, covariances, strict=True)
        ]
    )
    other = 1.0 / (counts + 1.0)
    targets = np.repeat(np.diag(1.0 - other) + other[:, None] / n_classes, len(normal), axis=0)
    fixed = np.zeros(n_classes, bool)
    found = _newton(points, targets, fixed, policy)
    while (found.factors[~fixed] < policy.min_factor).any():
        fixed |= found.factors < policy.min_factor
        found = _newton(points, targets, fixed, policy)
    factors = found.factors / scale
    intercepts = found.intercepts - factors * center
    return Calibration(factors, intercepts - intercepts.mean())


def _newton(points: Floats, targets: Floats, fixed: NDArray[np.bool_], policy: CalibrationPolicy) -> Calibration:
    """Return the minimizer of the mean over the points, with the factors that are fixed at their least value."""
    n_points, n_classes = targets.shape
    weight = 1.0 / n_points
    free = np.concatenate([~fixed, np.ones(n_classes, bool)])
    values = np.concatenate([np.where(fixed, policy.min_factor, 1.0), np.zeros(n_classes)])

    def loss_of(values: Floats) -> tuple[float, Floats]:
        logs = log_softmax(points * values[:n_classes] + values[n_classes:], axis=1)
        return float(0.5 * policy.ridge * values @ values - weight * np.sum(targets * logs)), np.exp(logs)

    loss, shares = loss_of(values)
    for _ in range(policy.max_steps):
        residual = weight * (shares - targets)
        gradient = np.concatenate([(residual * points).sum(axis=0), residual.sum(axis=0)]) + policy.ridge * values
        columns = np.hstack([points * shares, shares])
        hessian = -weight * (columns.T @ columns)
        for row, column, part in ((0, 0, points**2), (0, n_classes, points), (n_classes, n_classes, 1.0)):
            diagonal = np.arange(n_classes)
            sums = weight * (shares * part).sum(axis=0)
            hessian[row + diagonal, column + diagonal] += sums
            if row != column:
                hessian[column + diagonal, row + diagonal] += sums
        hessian.flat[:: len(hessian) + 1] += policy.ridge
        step = np.zeros(values.size)
        step[free] = np.linalg.solve(hessian[np.ix_(free, free)], gradient[free])
        rate, expected = 1.0, float(gradient @ step)
        while True:
            after, shares_after = loss_of(values - rate * step)
            if after <= loss - 1e-4 * rate * expected or rate < 1e-6:
                break
            rate /= 2.0
        values, shares = values - rate * step, shares_after
        small = np.abs(rate * step).max() <= policy.tolerance * np.abs(values).max()
        if small or after >= loss:
            break
        loss = after
    return Calibration(values[:n_classes], values[n_classes:])


@cache
def _normal_points(n_columns: int, n_pairs: int) -> Floats:
    """Return normal points and their opposites, whose mean is zero and whose covariance the identity."""
    half = np.random.RandomState(0).standard_normal((n_pairs, n_columns))
    values, vectors = np.linalg.eigh(half.T @ half / n_pairs)
    half = half @ (vectors / np.sqrt(values)) @ vectors.T
    return np.concatenate([half, -half])


def _root(covariance: Floats) -> Floats:
    """Return the symmetric root, which is continuous; directions without variance but for rounding have none."""
    values, vectors = np.linalg.eigh(covariance)
    least = covariance.shape[0] * np.finfo(float).eps * max(values[-1], 0.0)
    root: Floats = (vectors * np.sqrt(np.where(values > least, values, 0.0))) @ vectors.T
    return root
