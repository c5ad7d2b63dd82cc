"""Descent against the mean of the other class: OPAUCr of rank zero with class-balanced steps, in O(entries) a row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from opauc.errors import StatisticsOverflow
from opauc.kernels.descent.means_descent import (
    FACTOR,
    FACTOR_SUM,
    RECENT_EXCESS,
    SHARE_SUM,
    SUMS,
    MeansWeights,
    combine_cards,
    means_pass,
    scale_values,
    sum_of_squares,
)
from opauc.kernels.rows.csr_rows import CsrRows
from opauc.learners.sgd import LEARNING_RATES, refuse_divergence
from opauc.statistics.chunk_rows import Labels, Rows, kernel_rows, read_only
from opauc.statistics.score_summary import ScoreSummary

Floats = NDArray[np.float64]

# The scale of every feature where none is asked for.
NO_SCALE: Floats = np.ones(1)
NO_SCALE.flags.writeable = False
# Rows whose squares add up to no more than this cannot make sums of squares overflow, however many they are.
LARGEST_SQUARES = 1e200
CACHE_LINE = 64
# Of 1, 2, 4 and 8 times the theorem's step, held as it is at a loss of zero, twice served ten text tasks best.
RELATIVE_STEP = 2.0


class CountsAndMeans(NamedTuple):
    """Row counts of the negative (0) and the positive (1) class, shape (2,), and their means, shape (2, n_features)."""

    counts: Floats
    means: Floats


class MeansState(NamedTuple):
    """The weights in terms of the class sums, for rows times `scale`."""

    parts: MeansWeights
    scale: Floats  # (n_features,), or (1,) if none is asked for
    waiting: tuple[tuple[Rows, Labels], ...] | None  # all rows so far, with the scale still open; None once it is fixed


@dataclass(frozen=True)
class ClassMeans:
    """Descend along the pair loss of each row against the mean of the other class so far.

    A row x with label y moves the weights by

        w <- (1 - step alpha) w - step omega (w.(x - c) - y)(x - c),

    c the mean of the other class and omega = rows / (2 rows of the class of x),
    from the counts so far, this row included; no step is taken until both
    classes were seen. This is OPAUCr with rank zero: the covariance of c's
    class is left out of the gradient. Little is lost, for with S the mean of
    both covariances and d the difference of the class means, the mean of
    (x - c)(x - c)^T is S + d d^T already, so that the sketch would change the
    direction of the minimiser no more than a different alpha does. This holds
    only if both classes weigh the same, as they do in the sum over all pairs:
    hence omega, without which a rare class would hardly be heard.

    A step "theorem" is twice that of `SGD`, in units of the largest alpha +
    |x - c|^2 so far, and step omega |x - c|^2 is held at one, where the row's
    loss is zero; other learning rates are taken as given. With `average`, the weights are the mean
    of the iterates with iterate t weighted by t^2: the first ones are bad, and
    a plain mean remembers them.

    With `scale_power`, rows are multiplied by (mean square of the feature +
    v / n)^-scale_power, measured on the first n = `scale_rows` rows, v the mean
    square of their nonzero values. Those rows are kept until they can be
    learnt from; weights asked for before use what is there. Weights are in the
    units of the rows given. `step` reuses the arrays of the state it is given;
    if it raises, that state is as it was.

    Rows are not centred, or they would not be sparse. Where they lie a million
    times farther from zero than from each other, too few digits are left of
    |x - c|^2; `SGD` keeps them.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.learners.class_means import ClassMeans
    >>> learner = ClassMeans(alpha=0.0, eta0=0.1, learning_rate="constant", average=False)
    >>> state = learner.step(learner.start(1), np.array([[0.0], [2.0]]), np.array([0, 1], np.int8))
    >>> learner.weights(state).tolist()
    [0.2]
    """

    alpha: float = 1e-4
    eta0: float = 1e4
    learning_rate: str = "theorem"
    average: bool = True
    scale_power: float = 0.0
    scale_rows: int = 1000

    def start(self, n_features: int) -> MeansState:
        """Return the state before any row; memory is taken as features turn up."""
        return MeansState(_no_weights(n_features), NO_SCALE, None if self.scale_power == 0.0 else ())

    def step(self, state: MeansState, rows: Rows, labels: Labels) -> MeansState:
        """Take a step on each row in order, or keep the rows while there are too few to fix the scale."""
        thin = rows if sparse.issparse(rows) else sparse.csr_array(rows)
        if state.waiting is None:
            return self._learn(state, thin, labels)
        if sum(part.size for _, part in state.waiting) + labels.size < self.scale_rows:
            return state._replace(waiting=(*state.waiting, (thin.copy(), labels.copy())))
        return self._settled(state._replace(waiting=(*state.waiting, (thin, labels))))

    def weights(self, state: MeansState) -> Floats:
        """Return the weighted mean of the iterates, or the last of them, as one number a feature."""
        parts, scale, _ = self._settled(state)
        out = np.empty(parts.cards.shape[0])
        if self.average:
            combine_cards(parts.cards, np.array([parts.scalars[FACTOR_SUM], 1.0, *parts.coefficient_sums]), out)
            out /= parts.scalars[SHARE_SUM] or 1.0
        else:
            combine_cards(parts.cards, np.array([parts.scalars[FACTOR], 0.0, *parts.coefficients]), out)
        out *= scale
        return out

    def moments(self, state: MeansState) -> CountsAndMeans:
        """Return the counts and means of the classes; the mean of no rows is zero."""
        parts, scale, _ = self._settled(state)
        sums = parts.cards[:, SUMS:].T
        return CountsAndMeans(parts.counts.copy(), sums / scale / np.maximum(parts.counts, 1.0)[:, None])

    def summary(self, state: MeansState, weights: Floats) -> ScoreSummary:
        """Return counts and mean scores of the rows seen, both exact, and estimates of the score variances.

        No covariance is kept. A variance is the mean, weighted by t^2 as the
        iterates are, of the squared deviations of the scores that rows got
        just before they were learnt from, from what was the mean score of
        their class then. It belongs to the learner's own weights, whatever
        `weights` are given.
        """
        parts, scale, _ = self._settled(state)
        products = np.einsum("j,jk->k", weights / scale, parts.cards[:, SUMS:])
        means = products / np.maximum(parts.counts, 1.0)
        variances = parts.spreads[:, 0] / np.maximum(parts.spreads[:, 1], 1.0)
        return ScoreSummary(*(tuple(part.tolist()) for part in (parts.counts, means, variances)))

    def _settled(self, state: MeansState) -> MeansState:
        """Return the state with a scale and no rows waiting, made anew if they were; `state` does not change."""
        if not state.waiting:
            return state
        rows, labels = state.waiting[0]
        if len(state.waiting) > 1:
            rows = sparse.vstack([part for part, _ in state.waiting], format="csr")
            labels = np.concatenate([part for _, part in state.waiting])
        fresh = MeansState(_no_weights(rows.shape[1]), self._scale(rows[: self.scale_rows]), None)
        return self._learn(fresh, rows, labels)

    def _learn(self, state: MeansState, rows: Rows, labels: Labels) -> MeansState:
        relative, sizes = LEARNING_RATES[self.learning_rate]
        step_sizes = sizes(self.eta0, state.parts.counts.sum() + np.arange(1.0, labels.size + 1.0))
        if relative:
            step_sizes *= RELATIVE_STEP
        # Beyond the range of float64 only plain Python, where nothing is compiled, would warn.
        with np.errstate(over="ignore", invalid="ignore"):
            arrays = self._scaled(rows, state.scale)
            # A step relative to the curvature cannot overflow; any other may, and then all has to be put back.
            parts = state.parts if relative else _copied(state.parts)
            means_pass(arrays, labels, step_sizes, relative, self.alpha, parts)
        if not relative:
            refuse_divergence(self, parts, parts.scalars[RECENT_EXCESS])
        return state._replace(parts=parts)

    def _scaled(self, rows: Rows, scale: Floats) -> CsrRows:
        """Return the rows times the scale, once it is sure that their squares can be summed."""
        data, indices, indptr = kernel_rows(rows)
        if self.scale_power == 0.0:
            squares = sum_of_squares(data)
        else:
            given, data = data, np.empty(data.size)
            squares = scale_values(given, indices, scale, data)
        if not squares <= LARGEST_SQUARES:
            raise StatisticsOverflow("the squares of the rows overflow float64; scale the features down")
        return CsrRows(read_only(data), indices, indptr)

    def _scale(self, rows: Rows) -> Floats:
        """Return the factor of each feature that these first rows tell."""
        squares = rows.data.astype(float) ** 2
        floor = squares.sum() / max(1, np.count_nonzero(squares)) / max(1, rows.shape[0])
        if floor < np.finfo(float).tiny:  # nothing but zeros
            return np.ones(rows.shape[1])
        means = np.bincount(rows.indices, squares, minlength=rows.shape[1]) / rows.shape[0]
        scale: Floats = (means + floor) ** -self.scale_power
        return scale


def _no_weights(n_features: int) -> MeansWeights:
    """Return zero weights, every card within one cache line."""
    room = np.zeros(4 * n_features + CACHE_LINE // 8)
    skip = -room.ctypes.data % CACHE_LINE // 8
    return MeansWeights(
        cards=room[skip : skip + 4 * n_features].reshape(n_features, 4),
        counts=np.zeros(2),
        coefficients=np.zeros(2),
        coefficient_sums=np.zeros(2),
        products=np.zeros(2),
        gram=np.zeros((2, 2)),
        spreads=np.zeros((2, 2)),
        scalars=np.array([1.0, 0.0, 0.0, 0.0, 0.0, 0.0]),
    )


def _copied(parts: MeansWeights) -> MeansWeights:
    """Return weights that share nothing with these."""
    copy = _no_weights(parts.cards.shape[0])
    for target, source in zip(copy, parts, strict=True):
        target[...] = source
    return copy
