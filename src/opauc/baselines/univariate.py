"""Class-balanced losses of single rows, O(non-zeros) per row: the shared solver of `UniExp` and `UniSqu`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from opauc.core.kernels.compile import kernel
from opauc.core.kernels.simd import prefetch
from opauc.core.mergeable import ScoreSummary
from opauc.core.parameters import POSITIVE, SWITCH, Option, parameter
from opauc.core.row_blocks import row_weights, sparse_blocks, sum_row_squares
from opauc.core.solver import Solver
from opauc.core.transaction import Rollback, touched_features
from opauc.linear.kernels.means import (
    AHEAD,
    EXCESS_RATE,
    SMALLEST_CURVATURE,
    SUMS,
    WEIGHT,
    WEIGHT_SUM,
    add_score,
    move_records,
)
from opauc.linear.means import progressive_summary
from opauc.linear.sgd import LEARNING_RATES, check_divergence, step_sizes
from opauc.types import ClassCounts, Floats, Labels, Rows

# Positions in `scalars`.
STEPS, SHARE_SUM, CURVATURE, RECENT_EXCESS = 0, 1, 2, 3
# The exponential loss grows no steeper beyond this negative margin, so that one bad row does not determine the weights.
LARGEST_EXPONENT = 10.0


class UnivariateState(NamedTuple):
    """The weights w and sums of each class; index 0 is the negative class, 1 the positive.

    u is defined such that share_sum w + u is the weighted sum of the iterates.
    """

    records: np.ndarray  # (d, 4) per feature: w, u, sums of the rows of each class
    counts: np.ndarray  # (2,) total sample weight of each class
    n_rows: np.ndarray  # (2,) number of rows of each class
    spreads: np.ndarray  # (2, 3) of the scores, see `add_score`
    scalars: np.ndarray  # (4,) steps taken, sum of shares, largest |x|^2, recent squared excess


@kernel
def univariate_pass(rows, labels, row_weights, step_sizes, relative, exponential, average, state):
    """Update `state` in place with one gradient step per sparse row, in order.

    The step of a row x with label y is w += step omega y exp(-y w.x) x, or
    step omega (y - w.x) x, with omega = rows / (2 rows of x's class); none is
    taken while a class is unseen. If `relative`, step sizes are divided by the
    largest |x|^2 so far, and no step goes beyond the Newton step of the row's
    own loss. Iterate t has weight t^2 in the mean; if `average`, spreads are
    those of the scores of the mean. The sample weight of a row, one if
    `row_weights` is empty, multiplies omega and its part in sums and spreads.
    """
    scalars, counts = state.scalars, state.counts
    for i in range(labels.size):
        k = labels[i]
        weight = row_weights[i] if row_weights.size else 1.0
        begin, end = rows.indptr[i], rows.indptr[i + 1]
        score, rest, square = add_row(rows.data, rows.indices, begin, end, k, weight, state.records)
        state.n_rows[k] += 1.0
        counts[k] += weight
        if counts[1 - k] == 0.0:
            continue
        scalars[STEPS] += 1.0
        share = scalars[STEPS] * scalars[STEPS]
        averaged = average and scalars[SHARE_SUM] > 0.0
        add_score(k, score + rest / scalars[SHARE_SUM] if averaged else score, weight * share, state.spreads)
        balance = weight * (counts[0] + counts[1]) / (2.0 * counts[k])
        move = plan_move(2.0 * k - 1.0, score, square, balance, step_sizes[i], relative, exponential, scalars)
        move_records(rows.data, rows.indices, begin, end, move, -scalars[SHARE_SUM] * move, state.records)
        scalars[SHARE_SUM] += share


@kernel
def add_row(data, indices, begin, end, k, weight, records):
    """Add weight times a sparse row to the sums of class k; return its products with both weight columns and |x|^2."""
    dot, dot_sum, square, last = 0.0, 0.0, 0.0, indices.size - 1
    for at in range(begin, end):
        prefetch(records, indices[min(at + AHEAD, last)], 0)
        x, record = np.float64(data[at]), records[indices[at]]
        dot += record[WEIGHT] * x
        dot_sum += record[WEIGHT_SUM] * x
        square += x * x
        record[SUMS + k] += weight * x
    return dot, dot_sum, square


@kernel
def plan_move(sign, score, square, balance, step_size, relative, exponential, scalars):
    """Return how far to move along the row."""
    if exponential:
        bend = np.exp(min(-sign * score, LARGEST_EXPONENT))
        slope = sign * bend
    else:
        bend = 1.0
        slope = sign - score
    excess = 1.0 - sign * score
    scalars[RECENT_EXCESS] += EXCESS_RATE * (excess * excess - scalars[RECENT_EXCESS])
    if not relative:
        return step_size * balance * slope
    scalars[CURVATURE] = max(scalars[CURVATURE], square)
    if square < SMALLEST_CURVATURE:
        return 0.0
    return min(step_size / scalars[CURVATURE] * balance, 1.0 / (bend * square)) * slope


@dataclass(frozen=True)
class UnivariateSolver(Solver[UnivariateState]):
    """Solver of `UniExp` and `UniSqu`, which differ in the loss alone.

    `UniExp` has the step sizes and the averaging. The sample weight of a row
    multiplies its step and its part in the class counts. `step` updates its
    state in place.
    """

    exponential: ClassVar[bool]  # whether the loss is exponential; otherwise it is the square loss

    eta0: float = parameter(1000.0, POSITIVE)
    learning_rate: str = parameter("curvature", Option(tuple(LEARNING_RATES)))
    average: bool = parameter(True, SWITCH)

    def start(self, n_features: int) -> UnivariateState:
        """Return the state before any row."""
        return UnivariateState(np.zeros((n_features, 4)), np.zeros(2), np.zeros(2), np.zeros((2, 3)), np.zeros(4))

    def step(self, state: UnivariateState, rows: Rows, labels: Labels, weight: Floats | None = None) -> UnivariateState:
        """Take one step per row, in order."""
        relative, sizes = step_sizes(self, state.n_rows.sum(), labels.size)
        weights, options = row_weights(weight), (relative, self.exponential, self.average)
        sum_row_squares(rows)
        # NumPy warns of overflow where kernels run as plain Python.
        with np.errstate(over="ignore", invalid="ignore"):
            for part, block in sparse_blocks(rows):
                univariate_pass(block, labels[part], weights[part], sizes[part], *options, state)
        if not relative:
            # Good margins of the exponential loss are far from one, so only those of the square loss show divergence.
            check_divergence(self, state, 0.0 if self.exponential else state.scalars[RECENT_EXCESS])
        return state

    def weights(self, state: UnivariateState) -> Floats:
        """Return the mean of the iterates, or the last iterate."""
        last: Floats = state.records[:, WEIGHT].copy()
        if not self.average:
            return last
        shares = state.scalars[SHARE_SUM]
        mean: Floats = (shares * last + state.records[:, WEIGHT_SUM]) / (shares or 1.0)
        return mean

    def counts(self, state: UnivariateState) -> ClassCounts:
        """Return the total sample weight of each class."""
        return ClassCounts(*state.counts.tolist())

    def summary(self, state: UnivariateState, weights: Floats) -> ScoreSummary:
        """Return exact counts and mean scores, and progressive estimates of the variances."""
        return progressive_summary(state.counts, state.records[:, SUMS:], state.spreads, weights)

    def rollback(self, state: UnivariateState, rows: Rows) -> Rollback:
        """Return a rollback of the parts of `state` that a step on `rows` changes."""
        records, *others = state
        return Rollback().keep(*others).keep_features([records], touched_features(rows))
