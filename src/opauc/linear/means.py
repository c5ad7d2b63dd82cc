"""What the learners share that keep their weights in terms of the class sums: they differ in the step."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
from scipy import sparse
from scipy.sparse import csr_array

from opauc.core.kernels.sparse_rows import CsrRows
from opauc.core.mergeable import ScoreSummary, or_one
from opauc.core.parameters import NON_NEGATIVE, POSITIVE, SWITCH, Count, Option, parameter
from opauc.core.row_blocks import csr_rows, read_only, row_weights
from opauc.core.solver import Solver
from opauc.core.transaction import Rollback, touched_features
from opauc.linear.kernels.means import (
    CURVATURE,
    DEVIATION_SHARES,
    DEVIATIONS,
    FACTOR,
    FACTOR_SUM,
    RECENT_EXCESS,
    SHARE_SUM,
    SMALLEST_FACTOR,
    SUMS,
    MeansWeights,
    combine_cards,
    means_pass,
    scale_values,
    sum_of_squares,
)
from opauc.linear.learning_rates import LEARNING_RATES, refuse_divergence, stays_above, step_sizes
from opauc.linear.progressive_summary import mean_scores, score_summary
from opauc.linear.row_squares import refuse_large
from opauc.types import ClassCounts, Floats, Labels, Rows

# The scale of every feature where none is asked for.
NO_SCALE: Floats = np.ones(1)
NO_SCALE.flags.writeable = False
CACHE_LINE = 64


class MeansState(NamedTuple):
    """The weights in terms of the class sums, for rows times `scale`."""

    parts: MeansWeights
    scale: Floats  # (n_features,), or (1,) if none is asked for
    # All rows so far with labels and weights, while the scale is still open; None once it is fixed.
    waiting: tuple[tuple[csr_array, Labels, Floats | None], ...] | None


class MeansSolver(Solver[MeansState]):
    """Weights w = a v + M p, M the sums of the classes: a row costs its entries."""

    alpha: float
    eta0: float
    learning_rate: str
    average: bool

    def start(self, n_features: int) -> MeansState:
        """Return the state before any row; memory is taken as features turn up."""
        return MeansState(_no_weights(n_features), NO_SCALE, None)

    def weights(self, state: MeansState) -> Floats:
        """Return the weighted mean of the iterates, or the last of them, as one number a feature."""
        parts, scale, _ = self.settled(state)
        out = np.empty(parts.cards.shape[0])
        if self.average:
            combine_cards(parts.cards, np.array([parts.scalars[FACTOR_SUM], 1.0, *parts.coefficient_sums]), out)
            out /= parts.scalars[SHARE_SUM] or 1.0
        else:
            combine_cards(parts.cards, np.array([parts.scalars[FACTOR], 0.0, *parts.coefficients]), out)
        out *= scale
        return out

    def counts(self, state: MeansState) -> ClassCounts:
        """Return the weight of the rows of each class."""
        return ClassCounts(*state.parts.counts.tolist())

    def summary(self, state: MeansState, weights: Floats) -> ScoreSummary:
        """Return counts and mean scores of the rows seen, both exact, and estimates of the score variances.

        No covariance is kept. A variance is the mean, weighted by t^2 as the
        iterates are, of the squared deviations of the scores that rows got
        just before they were learned from, from what was the mean score of
        their class then. It belongs to the learner's own weights, whatever
        `weights` are given.
        """
        parts, scale, _ = self.settled(state)
        means = mean_scores(parts.counts, parts.cards[:, SUMS:], weights / scale)
        variances = parts.spreads[:, DEVIATIONS] / or_one(parts.spreads[:, DEVIATION_SHARES])
        return score_summary(parts.counts, means, variances)

    def rollback(self, state: MeansState, rows: Rows) -> Rollback:
        """Return what puts `state` back after a step on `rows`; rows that wait are learned in a state of their own."""
        if state.waiting is not None:
            return Rollback()
        cards, *others = state.parts
        features = touched_features(rows) if self._sweeps_nothing(state.parts, rows.shape[0]) else None
        return Rollback().keep(*others).keep_features([cards], features)

    def settled(self, state: MeansState) -> MeansState:
        """Return the state with no rows waiting."""
        return state

    def step_sizes(self, parts: MeansWeights, n_rows: int) -> tuple[bool, Floats]:
        """Return whether step sizes are relative, and those of the next rows."""
        return step_sizes(self, parts.n_rows.sum(), n_rows)

    @abstractmethod
    def kept(self, decay: Floats) -> Floats:
        """Return the factors on w of steps with step * alpha = `decay`."""

    def refuse_divergence(self, parts: MeansWeights) -> None:
        """Raise if the weights overflowed; a step relative to the curvature cannot lead there."""
        refuse_divergence(self, parts, parts.scalars[RECENT_EXCESS])

    def _sweeps_nothing(self, parts: MeansWeights, n_rows: int) -> bool:
        """Tell whether it is sure that no step on the next rows writes to features they do not have."""
        relative, sizes = self.step_sizes(parts, n_rows)
        unit = parts.scalars[CURVATURE] if relative else 1.0  # which never falls
        if self.alpha == 0.0 or unit == 0.0:
            return self.alpha == 0.0
        return stays_above(SMALLEST_FACTOR, parts.scalars[FACTOR], self.kept(sizes * (self.alpha / unit)))


def _no_weights(n_features: int) -> MeansWeights:
    """Return zero weights, every card within one cache line."""
    room = np.zeros(4 * n_features + CACHE_LINE // 8)
    skip = -room.ctypes.data % CACHE_LINE // 8
    return MeansWeights(
        cards=room[skip : skip + 4 * n_features].reshape(n_features, 4),
        counts=np.zeros(2),
        n_rows=np.zeros(2),
        coefficients=np.zeros(2),
        coefficient_sums=np.zeros(2),
        products=np.zeros(2),
        gram=np.zeros((2, 2)),
        spreads=np.zeros((2, 2)),
        scalars=np.array([1.0, 0.0, 0.0, 0.0, 0.0, 0.0]),
    )


# Of 1, 2, 4 and 8 times the theorem's step, held as it is at a loss of zero, twice served ten text tasks best.
RELATIVE_STEP = 2.0


@dataclass(frozen=True)
class ClassMeans(MeansSolver):
    """Descend along the pair loss of each row against the mean of the other class so far.

    A row x with label y moves the weights by

        w <- (1 - step alpha) w - step omega (w.(x - c) - y)(x - c),

    c the mean of the other class and omega = rows / (2 rows of the class of x),
    from the counts so far, this row included; no step is taken until both
    classes were seen. This is OPAUCr with rank zero: the covariance of c's
    class is left out of the gradient. Little is lost, for with S the mean of
    both covariances and d the difference of the class means, the mean of
    (x - c)(x - c)^T is S + d d^T already, so that the sketch would change the
    direction of the minimizer no more than a different alpha does. This holds
    only if both classes weigh the same, as they do in the sum over all pairs:
    hence omega, without which a rare class would hardly be heard.

    A step "theorem" is twice that of `SGD`, in units of the largest alpha +
    |x - c|^2 so far, and step omega |x - c|^2 is held at one, where the row's
    loss is zero; other learning rates are taken as given. With `average`, the
    weights are the mean of the iterates with iterate t weighted by t^2: the
    first ones are bad, and a plain mean remembers them.

    With `scale_power`, rows are multiplied by (mean square of the feature +
    v / n)^-scale_power, measured on the first n = `scale_rows` rows, v the mean
    square of their nonzero values. Those rows are kept until they can be
    learned from; weights asked for before use what is there. Weights are in the
    units of the rows given. The weight of a row is a factor on omega and on its
    part in means and scale; `step` writes into the state it is given.

    Rows are not centered, or they would not be sparse. Where they lie a million
    times farther from zero than from each other, too few digits are left of
    |x - c|^2; `SGD` keeps them.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.linear.means import ClassMeans
    >>> learner = ClassMeans(alpha=0.0, eta0=0.1, learning_rate="constant", average=False)
    >>> state = learner.step(learner.start(1), np.array([[0.0], [2.0]]), np.array([0, 1], np.int8))
    >>> learner.weights(state).tolist()
    [0.2]
    """

    name: ClassVar[str] = "class_means"

    alpha: float = parameter(1e-4, NON_NEGATIVE)
    eta0: float = parameter(1e4, POSITIVE)
    learning_rate: str = parameter("theorem", Option(tuple(LEARNING_RATES)))
    average: bool = parameter(True, SWITCH)
    scale_power: float = parameter(0.0, NON_NEGATIVE)
    scale_rows: int = parameter(1000, Count())

    def start(self, n_features: int) -> MeansState:
        """Return the state before any row; memory is taken as features turn up."""
        return super().start(n_features)._replace(waiting=None if self.scale_power == 0.0 else ())

    def step(self, state: MeansState, rows: Rows, labels: Labels, weight: Floats | None = None) -> MeansState:
        """Take a step on each row in order, or keep the rows while there are too few to fix the scale."""
        entries = sparse.csr_array(rows) if isinstance(rows, np.ndarray) else rows
        if state.waiting is None:
            return self._learn(state, entries, labels, weight)
        if sum(part.size for _, part, _ in state.waiting) + labels.size < self.scale_rows:
            copies = entries.copy(), labels.copy(), None if weight is None else weight.copy()
            return state._replace(waiting=(*state.waiting, copies))
        return self.settled(state._replace(waiting=(*state.waiting, (entries, labels, weight))))

    def counts(self, state: MeansState) -> ClassCounts:
        """Return the weight of the rows of each class."""
        if not state.waiting:
            return super().counts(state)
        _, labels, weight = _joined(state.waiting)
        return ClassCounts(*np.bincount(labels, weight, minlength=2).tolist())

    def settled(self, state: MeansState) -> MeansState:
        """Return the state with a scale and no rows waiting, made anew if they were; `state` does not change."""
        if not state.waiting:
            return state
        rows, labels, weight = _joined(state.waiting)
        fresh = super().start(rows.shape[1])
        first = slice(self.scale_rows)
        scale = self._scale(rows[first], np.ones(labels.size)[first] if weight is None else weight[first])
        return self._learn(fresh._replace(scale=scale), rows, labels, weight)

    def step_sizes(self, parts: MeansWeights, n_rows: int) -> tuple[bool, Floats]:
        """Return whether step sizes are relative, and those of the next rows."""
        relative, sizes = super().step_sizes(parts, n_rows)
        return relative, sizes * RELATIVE_STEP if relative else sizes

    def kept(self, decay: Floats) -> Floats:
        """Return the factors on w of steps with step * alpha = `decay`."""
        return 1.0 - decay

    def _learn(self, state: MeansState, rows: csr_array, labels: Labels, weight: Floats | None) -> MeansState:
        relative, sizes = self.step_sizes(state.parts, labels.size)
        # Beyond the range of float64 only plain Python, where nothing is compiled, would warn.
        with np.errstate(over="ignore", invalid="ignore"):
            entries = self._scaled(rows, state.scale)
            means_pass(entries, labels, row_weights(weight), sizes, relative, float(self.alpha), state.parts)
        if not relative:
            self.refuse_divergence(state.parts)
        return state

    def _scaled(self, rows: csr_array, scale: Floats) -> CsrRows:
        """Return the rows times the scale, once it is sure that their squares can be summed."""
        data, indices, indptr = csr_rows(rows.data, rows.indices, rows.indptr)
        if self.scale_power == 0.0:
            squares = sum_of_squares(data)
        else:
            given, data = data, np.empty(data.size)
            squares = scale_values(given, indices, scale, data)
        refuse_large(squares)
        return CsrRows(read_only(data), indices, indptr)

    def _scale(self, rows: csr_array, weight: Floats) -> Floats:
        """Return the factor of each feature that these first rows tell."""
        squares, shares = rows.data.astype(float) ** 2, np.repeat(weight, np.diff(rows.indptr))
        met = shares[squares != 0.0].sum()
        squares *= shares
        floor = squares.sum() / (met or 1.0) / max(1, rows.shape[0])
        if floor < np.finfo(float).tiny:  # nothing but zeros
            return np.ones(rows.shape[1])
        means = np.bincount(rows.indices, squares, minlength=rows.shape[1]) / weight.sum()
        scale: Floats = (means + floor) ** -self.scale_power
        return scale


def _joined(
    waiting: tuple[tuple[csr_array, Labels, Floats | None], ...],
) -> tuple[csr_array, Labels, Floats | None]:
    """Return all rows that wait as one chunk."""
    if len(waiting) == 1:
        return waiting[0]
    rows = sparse.vstack([part for part, _, _ in waiting], format="csr")
    labels = np.concatenate([part for _, part, _ in waiting])
    if all(weight is None for _, _, weight in waiting):
        return rows, labels, None
    return rows, labels, np.concatenate([np.ones(part.size) if w is None else w for _, part, w in waiting])
