"""The pairwise hinge loss minimized by cutting planes, each in O(n log n): the optimizer of `SVMOR` and `SVMPerf`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from types import ModuleType
from typing import NamedTuple

import numpy as np
from scipy import sparse

from opauc.core.extras import needed
from opauc.core.kernels.compile import kernel
from opauc.core.parameters import POSITIVE, Count, Option, parameter
from opauc.errors import StatisticsOverflowError
from opauc.types import Floats, Labels, Rows

# A line search ends when it could gain at most this share of the gap.
SEARCH_SHARE = 0.01
# A plane whose share was at most MIN_SHARE for this many rounds is dropped.
MAX_IDLE_ROUNDS = 20
MIN_SHARE = 1e-8


@kernel
def write_pair_counts(reach, positive_order, negative_order, out):
    """Write into `out` the number of pairs without margin that each row is in, negated for positive rows.

    `reach` is the score of each positive row and the score plus the margin of
    each negative one: a pair lacks the margin if
    reach[positive] < reach[negative]. The orders are the row numbers of each
    class by increasing reach. The hinge loss summed over pairs is then
    reach.out, and its gradient by the scores of the rows is out.
    """
    n_negative = negative_order.size
    passed = 0
    for at in range(positive_order.size):
        row = positive_order[at]
        while passed < n_negative and reach[negative_order[passed]] <= reach[row]:
            out[negative_order[passed]] = at
            passed += 1
        out[row] = passed - n_negative
    for at in range(passed, n_negative):
        out[negative_order[at]] = positive_order.size


class HingeMinimum(NamedTuple):
    """Weights, the scores of the rows, the objective, a lower bound on the objective of any weights, and the planes."""

    weights: Floats
    scores: Floats
    objective: float
    bound: float
    n_iter: int


@dataclass(frozen=True)
class PairwiseHinge:
    """Minimize |w|^2 / 2 + C * mean over pairs of max(0, 1 - w.(x_pos - x_neg)).

    The mean loss R is convex, so its tangent planes bound it from below. Each
    round a quadratic program minimizes |w|^2 / 2 + C * (the highest plane),
    which bounds the objective from below; the objective is then minimized on
    the line from the best weights so far to that solution, and the next plane
    is the tangent at the first point where the objective no longer
    falls. By convexity that plane lies above the program's optimum by at
    least the whole gap, so every round cuts.

    It ends when objective - bound <= tol * objective, or, with `gap_of="loss"`,
    when objective - bound <= tol * C: then the highest plane is within tol of
    the loss.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.baselines.pairwise_hinge import PairwiseHinge
    >>> minimum = PairwiseHinge(C=10.0).minimize(np.array([[0.0], [4.0]]), np.array([0, 1], np.int8))
    >>> minimum.weights.round(3).tolist()
    [0.25]
    """

    C: float = parameter(1.0, POSITIVE)
    tol: float = parameter(1e-3, POSITIVE)
    max_iter: int = parameter(1000, Count())
    gap_of: str = parameter("objective", Option(("objective", "loss")))

    def minimize(self, rows: Rows, labels: Labels) -> HingeMinimum:
        """Return the minimum for float64 `rows` with labels of both classes."""
        return next(self.path(rows, labels, [self.C]))

    def path(self, rows: Rows, labels: Labels, Cs: Sequence[float]) -> Iterator[HingeMinimum]:
        """Yield the minimum for each C, starting from the planes and the weights of the one before."""
        loss, planes = _PairLoss(rows, labels), _Planes(rows.shape[1])
        point = _Point(np.zeros(rows.shape[1]), np.zeros(labels.size))
        for C in Cs:
            minimum = replace(self, C=C)._minimize_from(point, loss, planes)
            point = _Point(minimum.weights, minimum.scores)
            yield minimum

    def _minimize_from(self, here: _Point, loss: _PairLoss, planes: _Planes) -> HingeMinimum:
        counts, level = loss.at(here.scores)
        objective, bound, n_iter = 0.5 * float(here.weights @ here.weights) + self.C * level, 0.0, 1
        planes.add(*loss.plane(here, counts, level))
        while True:
            corner, reached = planes.lowest(self.C, objective)
            bound = max(bound, reached)
            # Zero weights are never accepted: they rank nothing, even where a small C makes their gap small.
            done = n_iter > 1 and self.gap(objective, bound) <= self.tol
            if done or corner is None or n_iter >= self.max_iter:
                return HingeMinimum(*here, objective, min(bound, objective), n_iter)
            line = _Line(loss, self.C, here, _Point(corner, loss.rows @ corner))
            best, end = line.search(bound)
            planes.add(*loss.plane(line.point(end.at), end.counts, end.level))
            here, objective, n_iter = line.point(best.at), best.objective, n_iter + 1

    def gap(self, objective: float, bound: float) -> float:
        """Return a bound on objective - minimum, as a share of the objective or of C (see `gap_of`)."""
        return (objective - bound) / (self.C if self.gap_of == "loss" else objective)


class _Point(NamedTuple):
    """Weights and the scores of the rows."""

    weights: Floats
    scores: Floats


class _PairLoss:
    """The mean over pairs of the hinge, as a function of the rows' scores."""

    def __init__(self, rows: Rows, labels: Labels) -> None:
        self.rows = rows
        self._columns = rows.T
        self._positive, self._negative = np.flatnonzero(labels == 1), np.flatnonzero(labels == 0)
        self.pairs = float(self._positive.size) * float(self._negative.size)
        self._margins = (labels == 0).astype(np.float64)

    def at(self, scores: Floats) -> tuple[Floats, float]:
        """Return the gradient by scores times the number of pairs, which are whole numbers, and the loss."""
        reach, counts = scores + self._margins, np.empty(scores.size)
        positive, negative = (part[np.argsort(reach[part])] for part in (self._positive, self._negative))
        write_pair_counts(reach, positive, negative, counts)
        return counts, max(0.0, float(reach @ counts) / self.pairs)

    def plane(self, point: _Point, counts: Floats, level: float) -> tuple[Floats, float]:
        """Return the gradient by weights at a point, and the tangent plane's height above zero weights."""
        gradient: Floats = self._columns @ counts
        gradient /= self.pairs
        return gradient, level - float(gradient @ point.weights)


class _Step(NamedTuple):
    """A position on a line: the objective, its slope along the line, and the result of `_PairLoss.at`."""

    at: float
    objective: float
    slope: float
    counts: Floats
    level: float


class _Line:
    """The objective on the line between two points, without products with the rows."""

    def __init__(self, loss: _PairLoss, C: float, start: _Point, end: _Point) -> None:
        self._loss, self._C, self._start = loss, C, start
        self._weights, self._scores = end.weights - start.weights, end.scores - start.scores
        self._squares = (
            float(start.weights @ start.weights),
            float(start.weights @ self._weights),
            float(self._weights @ self._weights),
        )

    def point(self, at: float) -> _Point:
        """Return the point at a fraction of the line."""
        return _Point(self._start.weights + at * self._weights, self._start.scores + at * self._scores)

    def search(self, bound: float) -> tuple[_Step, _Step]:
        """Return the best position, and one near the minimum where the objective does not fall, or the end of the line.

        Illinois root finding on the slope, which never decreases along the line.
        """
        ends = [self._step(0.0), self._step(1.0)]
        if ends[0].slope >= 0.0:
            return ends[0], ends[0]
        slopes, last = [end.slope for end in ends], -1
        while self._could_gain(*ends) > SEARCH_SHARE * (min(ends, key=_objective).objective - bound):
            (low, high), (left, right) = ends, slopes
            edge = 0.01 * (high.at - low.at)
            at = np.clip((low.at * right - high.at * left) / (right - left), low.at + edge, high.at - edge)
            middle = self._step(float(at))
            if not low.at < middle.at < high.at:
                break
            side = int(middle.slope >= 0.0)
            ends[side], slopes[side] = middle, middle.slope
            if side == last:
                slopes[1 - side] /= 2.0
            last = side
        return min(ends, key=_objective), ends[1]

    def _step(self, at: float) -> _Step:
        before, across, along = self._squares
        counts, level = self._loss.at(self._start.scores + at * self._scores)
        objective = 0.5 * (before + at * (2.0 * across + at * along)) + self._C * level
        slope = across + at * along + self._C * float(counts @ self._scores) / self._loss.pairs
        return _Step(at, objective, slope, counts, level)

    @staticmethod
    def _could_gain(low: _Step, high: _Step) -> float:
        """Return a bound on how far below its value at `high` the objective falls between the two."""
        return high.slope * (high.at - low.at)


def _objective(step: _Step) -> float:
    return step.objective


class _Planes:
    """Tangent planes of the loss and the zero plane; their maximum bounds the loss from below."""

    def __init__(self, n_features: int) -> None:
        self._solver = _import_solver()
        self._gradients: list[Floats] = [np.zeros(n_features)]
        self._heights = np.zeros(1)
        self._gram = np.zeros((1, 1))
        self._idle = np.zeros(1, np.int64)

    def add(self, gradient: Floats, height: float) -> None:
        """Add a plane and drop those that have been idle for long."""
        kept = np.flatnonzero(self._idle < MAX_IDLE_ROUNDS)
        self._gradients = [self._gradients[k] for k in kept] + [gradient]
        with np.errstate(over="ignore", invalid="ignore"):
            products = np.array([other @ gradient for other in self._gradients])
        if not np.isfinite(products).all():
            raise StatisticsOverflowError("the squares of the rows overflow float64; scale the features down")
        gram = np.empty((products.size, products.size))
        gram[:-1, :-1] = self._gram[np.ix_(kept, kept)]
        gram[-1] = gram[:, -1] = products
        self._gram = gram
        self._heights = np.append(self._heights[kept], height)
        self._idle = np.append(self._idle[kept], 0)

    def lowest(self, C: float, unit: float) -> tuple[Floats | None, float]:
        """Return the minimizer of |w|^2 / 2 + C * (highest plane), None if the solver fails, and a lower bound.

        The dual maximizes C heights.s - C^2/2 |s.gradients|^2 over shares s >= 0
        of the planes that sum to one, in units of `unit`. Any such s gives a
        valid bound, however inexact the solution of the dual.
        """
        shares = self._shares(C / unit * self._heights, C / unit * C * self._gram)
        if shares is None:
            return None, 0.0
        self._idle = np.where(shares > MIN_SHARE, 0, self._idle + 1)
        self._idle[0] = 0
        weights = np.zeros(self._gradients[0].size)
        for share, gradient in zip(shares, self._gradients, strict=True):
            if share > 0.0:
                weights -= (C * share) * gradient
        return weights, C * float(self._heights @ shares) - 0.5 * float(weights @ weights)

    def _shares(self, gains: Floats, products: Floats) -> Floats | None:
        """Return shares >= 0 that sum to one and maximize gains.s - s.products.s / 2; None where the solver fails."""
        size, solver = gains.size, self._solver
        settings = solver.DefaultSettings()
        settings.verbose, settings.max_threads = False, 1
        settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-12
        limits = sparse.csc_array(np.vstack([np.ones((1, size)), -np.eye(size)]))
        cones = [solver.ZeroConeT(1), solver.NonnegativeConeT(size)]
        quadratic = sparse.csc_array(np.triu(products))
        solution = solver.DefaultSolver(quadratic, -gains, limits, np.eye(1, size + 1)[0], cones, settings).solve()
        shares = np.maximum(solution.x, 0.0)
        return shares / shares.sum() if np.isfinite(shares).all() and shares.any() else None


def _import_solver() -> ModuleType:
    """Import the quadratic solver, an optional dependency."""
    with needed("clarabel", "baselines"):
        return import_module("clarabel")
