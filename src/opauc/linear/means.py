"""Solvers that keep their weights in terms of the class sums; summaries of progressive scores."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
from scipy import sparse
from scipy.sparse import csr_array

from opauc.core.kernels.sparse_rows import CsrRows, sum_of_squares
from opauc.core.mergeable import ScoreSummary, or_one
from opauc.core.parameters import NON_NEGATIVE, POSITIVE, SWITCH, Count, Option, parameter
from opauc.core.row_blocks import check_sum_of_squares, csr_rows, read_only, row_weights
from opauc.core.solver import Solver
from opauc.core.transaction import Rollback, touched_features
from opauc.linear.kernels.means import (
    CURVATURE,
    DEVIATION_SHARES,
    DEVIATIONS,
    FACTOR,
    FACTOR_SUM,
    RECENT_EXCESS,
    SCATTER,
    SHARE_SUM,
    SHARES,
    SMALLEST_FACTOR,
    SUMS,
    MeansWeights,
    combine_records,
    means_pass,
    scale_values,
)
from opauc.linear.sgd import LEARNING_RATES, check_divergence, stays_above, step_sizes
from opauc.types import ClassCounts, Floats, Labels, Rows


def mean_scores(counts: Floats, sums: Floats, weights: Floats) -> Floats:
    """Return the mean score of each class from the class sums, shape (n_features, 2); zero for a class without rows."""
    means: Floats = np.einsum("j,jk->k", weights, sums) / or_one(counts)
    return means


def progressive_summary(counts: Floats, sums: Floats, spreads: Floats, weights: Floats) -> ScoreSummary:
    """Return exact counts and mean scores, and estimates of the score variances.

    The variances are of progressive scores, given to rows just before training on
    them, where score t has weight t^2. They are those of the solver's own weights,
    whatever `weights` are given.
    """
    variances = spreads[:, SCATTER] / or_one(spreads[:, SHARES])
    return score_summary(counts, mean_scores(counts, sums, weights), variances)


def score_summary(counts: Floats, means: Floats, variances: Floats) -> ScoreSummary:
    """Return the summary from arrays of one number per class."""
    return ScoreSummary(*((float(part[0]), float(part[1])) for part in (counts, means, variances)))


# Feature scale of solvers without scaling.
NO_SCALE: Floats = np.ones(1)
NO_SCALE.flags.writeable = False
CACHE_LINE = 64


class MeansState(NamedTuple):
    """The weights in terms of the class sums, for rows multiplied by `scale`."""

    parts: MeansWeights
    scale: Floats  # (n_features,), or (1,) without scaling
    # Warm-up buffer: all rows so far with labels and weights, until the scale is fixed; then None.
    buffer: tuple[tuple[csr_array, Labels, Floats | None], ...] | None


class MeansSolver(Solver[MeansState]):
    """Base of solvers with weights w = a v + M p, M the class sums: a row costs its nonzero entries."""

    alpha: float
    eta0: float
    learning_rate: str
    average: bool

    def start(self, n_features: int) -> MeansState:
        """Return the state before any row; the system commits memory as features occur."""
        return MeansState(_zero_weights(n_features), NO_SCALE, None)

    def weights(self, state: MeansState) -> Floats:
        """Return the weighted mean of the iterates or the last iterate."""
        parts, scale, _ = self.flush(state)
        out = np.empty(parts.records.shape[0])
        if self.average:
            combine_records(parts.records, np.array([parts.scalars[FACTOR_SUM], 1.0, *parts.coefficient_sums]), out)
            out /= parts.scalars[SHARE_SUM] or 1.0
        else:
            combine_records(parts.records, np.array([parts.scalars[FACTOR], 0.0, *parts.coefficients]), out)
        out *= scale
        return out

    def counts(self, state: MeansState) -> ClassCounts:
        """Return the total weight of the rows of each class."""
        return ClassCounts(*state.parts.counts.tolist())

    def summary(self, state: MeansState, weights: Floats) -> ScoreSummary:
        """Return exact counts and mean scores, and estimates of the score variances.

        No covariance is kept. A variance is the mean of squared deviations of
        progressive scores, given to rows just before training on them, from the
        mean score of their class at that time. Score t has weight t^2. The
        variances are those of the solver's own weights, whatever `weights` are
        given.
        """
        parts, scale, _ = self.flush(state)
        means = mean_scores(parts.counts, parts.records[:, SUMS:], weights / scale)
        variances = parts.spreads[:, DEVIATIONS] / or_one(parts.spreads[:, DEVIATION_SHARES])
        return score_summary(parts.counts, means, variances)

    def rollback(self, state: MeansState, rows: Rows) -> Rollback:
        """Return a rollback of `state` for a step on `rows`; with buffered rows `step` does not write into `state`."""
        if state.buffer is not None:
            return Rollback()
        records, *others = state.parts
        features = touched_features(rows) if self._touches_only(state.parts, rows.shape[0]) else None
        return Rollback().keep(*others).keep_features([records], features)

    def flush(self, state: MeansState) -> MeansState:
        """Return the state with no rows in the buffer."""
        return state

    def step_sizes(self, parts: MeansWeights, n_rows: int) -> tuple[bool, Floats]:
        """Return whether step sizes are relative to 1/curvature, and those of the next rows."""
        return step_sizes(self, parts.n_rows.sum(), n_rows)

    @abstractmethod
    def kept(self, decay: Floats) -> Floats:
        """Return the factors on w of steps with step * alpha = `decay`."""

    def check_divergence(self, parts: MeansWeights) -> None:
        """Raise if the weights overflowed; relative steps cannot cause that."""
        check_divergence(self, parts, parts.scalars[RECENT_EXCESS])

    def _touches_only(self, parts: MeansWeights, n_rows: int) -> bool:
        """Return whether steps on the next rows surely write only to the features of these rows."""
        relative, sizes = self.step_sizes(parts, n_rows)
        unit = parts.scalars[CURVATURE] if relative else 1.0  # the curvature never decreases
        if self.alpha == 0.0 or unit == 0.0:
            return self.alpha == 0.0
        return stays_above(SMALLEST_FACTOR, parts.scalars[FACTOR], self.kept(sizes * (self.alpha / unit)))


def _zero_weights(n_features: int) -> MeansWeights:
    """Return zero weights; every feature record lies within one cache line."""
    memory = np.zeros(4 * n_features + CACHE_LINE // 8)
    skip = -memory.ctypes.data % CACHE_LINE // 8
    return MeansWeights(
        records=memory[skip : skip + 4 * n_features].reshape(n_features, 4),
        counts=np.zeros(2),
        n_rows=np.zeros(2),
        coefficients=np.zeros(2),
        coefficient_sums=np.zeros(2),
        products=np.zeros(2),
        gram=np.zeros((2, 2)),
        spreads=np.zeros((2, 2)),
        scalars=np.array([1.0, 0.0, 0.0, 0.0, 0.0, 0.0]),
    )


# Factor on "curvature" steps: of 1, 2, 4 and 8, two was best on ten text tasks.
RELATIVE_STEP = 2.0


@dataclass(frozen=True)
class ClassMeans(MeansSolver):
    """OPAUCr of rank zero: gradient steps on each row against the mean of the other class so far.

    The step of a row x with label y in {-1, 1} is

        w <- (1 - step alpha) w - step omega (w.(x - c) - y)(x - c),

    with c the mean of the other class and omega = n / (2 n_k), n rows so far of
    which n_k are of the class of x, this row included. No step is taken before
    both classes were seen. The covariance of the other class is left out of the
    gradient. Little is lost: with S the mean of both covariances and d the
    difference of the class means, the mean of (x - c)(x - c)^T is already
    S + d d^T, so the covariance would change the direction of the minimizer no
    more than another alpha does. This holds only if both classes have the same
    total weight, which omega ensures.

    The weight of a row is a factor on omega and on the row in means and scale.
    `step` writes into the state it is given. Rows are not centered, because they
    would not stay sparse. Where rows are a million times farther from zero than
    from each other, |x - c|^2 loses its digits; use `SGD` there.

    Parameters
    ----------
    alpha, eta0, learning_rate
        As in `SGD`. "curvature" steps are twice as long, relative to the largest
        alpha + |x - c|^2 so far, and step omega |x - c|^2 is at most one, where
        the loss of the row is zero.
    average : bool, default=True
        Whether the weights are the mean of the iterates, where iterate t has
        weight t^2, or the last iterate.
    scale_power : float, default=0.0
        Features are multiplied by (mean square + v / n)^-scale_power, where v is
        the mean square of all nonzero values, both measured on the first
        n = `scale_rows` rows. The weights are in the units of the rows.
    scale_rows : int, default=1000
        Number of rows that fix the scale. They are buffered until then; weights
        before that use the rows so far.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.linear.means import ClassMeans
    >>> solver = ClassMeans(alpha=0.0, eta0=0.1, learning_rate="constant", average=False)
    >>> state = solver.step(solver.start(1), np.array([[0.0], [2.0]]), np.array([0, 1], np.int8))
    >>> solver.weights(state).tolist()
    [0.2]
    """

    name: ClassVar[str] = "class_means"

    alpha: float = parameter(1e-4, NON_NEGATIVE)
    eta0: float = parameter(1e4, POSITIVE)
    learning_rate: str = parameter("curvature", Option(tuple(LEARNING_RATES)))
    average: bool = parameter(True, SWITCH)
    scale_power: float = parameter(0.0, NON_NEGATIVE)
    scale_rows: int = parameter(1000, Count())

    def start(self, n_features: int) -> MeansState:
        """Return the state before any row; the system commits memory as features occur."""
        return super().start(n_features)._replace(buffer=None if self.scale_power == 0.0 else ())

    def step(self, state: MeansState, rows: Rows, labels: Labels, weight: Floats | None = None) -> MeansState:
        """Take a step on each row in order, or buffer the rows while there are too few to fix the scale."""
        entries = sparse.csr_array(rows) if isinstance(rows, np.ndarray) else rows
        if state.buffer is None:
            return self._train(state, entries, labels, weight)
        if sum(part.size for _, part, _ in state.buffer) + labels.size < self.scale_rows:
            copies = entries.copy(), labels.copy(), None if weight is None else weight.copy()
            return state._replace(buffer=(*state.buffer, copies))
        return self.flush(state._replace(buffer=(*state.buffer, (entries, labels, weight))))

    def counts(self, state: MeansState) -> ClassCounts:
        """Return the total weight of the rows of each class."""
        if not state.buffer:
            return super().counts(state)
        _, labels, weight = _join(state.buffer)
        return ClassCounts(*np.bincount(labels, weight, minlength=2).tolist())

    def flush(self, state: MeansState) -> MeansState:
        """Return the state with a fixed scale and an empty buffer; `state` itself does not change."""
        if not state.buffer:
            return state
        rows, labels, weight = _join(state.buffer)
        fresh = super().start(rows.shape[1])
        first = slice(self.scale_rows)
        scale = self._compute_scale(rows[first], np.ones(labels.size)[first] if weight is None else weight[first])
        return self._train(fresh._replace(scale=scale), rows, labels, weight)

    def step_sizes(self, parts: MeansWeights, n_rows: int) -> tuple[bool, Floats]:
        """Return whether step sizes are relative to 1/curvature, and those of the next rows."""
        relative, sizes = super().step_sizes(parts, n_rows)
        return relative, sizes * RELATIVE_STEP if relative else sizes

    def kept(self, decay: Floats) -> Floats:
        """Return the factors on w of steps with step * alpha = `decay`."""
        return 1.0 - decay

    def _train(self, state: MeansState, rows: csr_array, labels: Labels, weight: Floats | None) -> MeansState:
        relative, sizes = self.step_sizes(state.parts, labels.size)
        # Overflow is handled below. Compiled kernels do not warn about it; with the JIT disabled numpy would.
        with np.errstate(over="ignore", invalid="ignore"):
            entries = self._apply_scale(rows, state.scale)
            means_pass(entries, labels, row_weights(weight), sizes, relative, float(self.alpha), state.parts)
        if not relative:
            self.check_divergence(state.parts)
        return state

    def _apply_scale(self, rows: csr_array, scale: Floats) -> CsrRows:
        """Return the rows times the scale; raise where the sum of their squares is too large."""
        data, indices, indptr = csr_rows(rows.data, rows.indices, rows.indptr)
        if self.scale_power == 0.0:
            squares = sum_of_squares(data)
        else:
            unscaled, data = data, np.empty(data.size)
            squares = scale_values(unscaled, indices, scale, data)
        check_sum_of_squares(squares)
        return CsrRows(read_only(data), indices, indptr)

    def _compute_scale(self, rows: csr_array, weight: Floats) -> Floats:
        """Return the scale of each feature from the first rows."""
        squares, shares = rows.data.astype(float) ** 2, np.repeat(weight, np.diff(rows.indptr))
        nonzero_weight = shares[squares != 0.0].sum()
        squares *= shares
        floor = squares.sum() / (nonzero_weight or 1.0) / max(1, rows.shape[0])
        if floor < np.finfo(float).tiny:  # all values are zero
            return np.ones(rows.shape[1])
        means = np.bincount(rows.indices, squares, minlength=rows.shape[1]) / weight.sum()
        scale: Floats = (means + floor) ** -self.scale_power
        return scale


def _join(
    buffer: tuple[tuple[csr_array, Labels, Floats | None], ...],
) -> tuple[csr_array, Labels, Floats | None]:
    """Return all rows of the buffer as one batch."""
    if len(buffer) == 1:
        return buffer[0]
    rows = sparse.vstack([part for part, _, _ in buffer], format="csr")
    labels = np.concatenate([part for _, part, _ in buffer])
    if all(weight is None for _, _, weight in buffer):
        return rows, labels, None
    return rows, labels, np.concatenate([np.ones(part.size) if w is None else w for _, part, w in buffer])
