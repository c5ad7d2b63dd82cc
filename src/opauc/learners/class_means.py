"""Descent against the mean of the other class: OPAUCr of rank zero with class-balanced steps, in O(entries) a row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy import sparse
from scipy.sparse import csr_array

from opauc.kernels.descent.means_descent import MeansWeights, means_pass, scale_values, sum_of_squares
from opauc.kernels.rows.csr_rows import CsrRows
from opauc.learners.learning_rates import LEARNING_RATES
from opauc.learners.means_learner import MeansLearner, MeansState
from opauc.learners.parameters import NON_NEGATIVE, POSITIVE, SWITCH, Count, Option, parameter
from opauc.learners.row_squares import refuse_large
from opauc.learners.row_weights import row_weights
from opauc.rows import ClassCounts, Floats, Labels, Rows
from opauc.statistics.chunk_rows import csr_rows, read_only

# Of 1, 2, 4 and 8 times the theorem's step, held as it is at a loss of zero, twice served ten text tasks best.
RELATIVE_STEP = 2.0


@dataclass(frozen=True)
class ClassMeans(MeansLearner):
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
    loss is zero; other learning rates are taken as given. With `average`, the
    weights are the mean of the iterates with iterate t weighted by t^2: the
    first ones are bad, and a plain mean remembers them.

    With `scale_power`, rows are multiplied by (mean square of the feature +
    v / n)^-scale_power, measured on the first n = `scale_rows` rows, v the mean
    square of their nonzero values. Those rows are kept until they can be
    learnt from; weights asked for before use what is there. Weights are in the
    units of the rows given. The weight of a row is a factor on omega and on its
    part in means and scale; `step` writes into the state it is given.

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
