"""SOLAM: the square pair loss as a saddle point, O(non-zeros) per row (Ying, Wen, Lyu 2016)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from opauc.baselines.univariate import add_row
from opauc.core.kernels.compile import kernel
from opauc.core.mergeable import ScoreSummary
from opauc.core.parameters import POSITIVE, parameter
from opauc.core.row_blocks import row_weights, sparse_blocks, sum_row_squares
from opauc.core.solver import Solver
from opauc.core.transaction import Rollback
from opauc.errors import StatisticsOverflowError
from opauc.estimators.docstrings import own_docstrings
from opauc.linear.estimator import StreamClassifier
from opauc.linear.kernels.means import (
    FACTOR,
    FACTOR_SUM,
    SMALLEST_FACTOR,
    SUMS,
    WEIGHT,
    WEIGHT_SUM,
    add_score,
    move_records,
    rescale,
)
from opauc.linear.means import progressive_summary
from opauc.types import ClassCounts, Floats, Labels, Rows

# Positions in `scalars`, after FACTOR and FACTOR_SUM.
STEP_SUM, SQUARE_NORM, LONGEST, DUAL = 2, 3, 4, 5
# Bound on the result of a step, so that its square does not overflow.
MAX_STEP_RESULT = 1e140


class SaddleState(NamedTuple):
    """The weights w = a v, their sum over all iterates a_sum v + u, and the other variables of the saddle.

    Index 0 is the negative class, 1 the positive.
    """

    records: np.ndarray  # (d, 4) per feature: v, u, sums of the rows of each class
    counts: np.ndarray  # (2,) total sample weight of each class
    n_rows: np.ndarray  # (2,) number of rows of each class
    centres: np.ndarray  # (2,) b and a, which converge to the mean score of each class
    spreads: np.ndarray  # (2, 3) of the scores, see `add_score`
    scalars: np.ndarray  # (6,) a, a_sum, sum of steps, |w|^2, largest |x|, the dual variable


@kernel
def saddle_pass(rows, labels, row_weights, first_step, radius, state):
    """Update `state` in place with sparse rows in order; step t is weight * first_step / sqrt(t).

    Sample weights are one if `row_weights` is empty.
    """
    scalars, counts, centres = state.scalars, state.counts, state.centres
    for i in range(labels.size):
        k = labels[i]
        weight = row_weights[i] if row_weights.size else 1.0
        begin, end = rows.indptr[i], rows.indptr[i + 1]
        dot, rest, square = add_row(rows.data, rows.indices, begin, end, k, weight, state.records)
        score = scalars[FACTOR] * dot
        counts[k] += weight
        state.n_rows[k] += 1.0
        number = state.n_rows[0] + state.n_rows[1]
        step = weight * first_step / np.sqrt(number)
        scalars[LONGEST] = max(scalars[LONGEST], np.sqrt(square))
        along, center, dual = saddle_gradient(k, score, centres[k], scalars[DUAL], counts[1] / (counts[0] + counts[1]))
        bound = radius * scalars[LONGEST]
        centres[k] = clip(centres[k] - step * center, bound)
        scalars[DUAL] = clip(scalars[DUAL] + step * dual, 2.0 * bound)
        if scalars[STEP_SUM] > 0.0:
            mean_score = (scalars[FACTOR_SUM] * dot + rest) / scalars[STEP_SUM]
            add_score(k, mean_score, weight * number * number, state.spreads)
        move_weights(rows, begin, end, -step * along, score, square, radius, state)
        scalars[FACTOR_SUM] += step * scalars[FACTOR]
        scalars[STEP_SUM] += step


@kernel
def saddle_gradient(k, score, center, dual, positives):
    """Return the derivatives of one row's function by its score, by the center of its class and by the dual variable.

    `positives` is the share p of positive rows. Both classes share one formula:
    with q the share of the other class and y the label it is
    q (score - center)^2 - 2 q y (1 + dual) score - p (1 - p) dual^2.
    """
    sign = 2.0 * k - 1.0
    other = 1.0 - positives if k == 1 else positives
    along = 2.0 * other * (score - center - sign * (1.0 + dual))
    return (
        along,
        -2.0 * other * (score - center),
        -2.0 * other * sign * score - 2.0 * positives * (1.0 - positives) * dual,
    )


@kernel
def clip(value, bound):
    """Return the value limited to [-bound, bound]."""
    return min(max(value, -bound), bound)


@kernel
def move_weights(rows, begin, end, move, score, square, radius, state):
    """Move the weights along a sparse row, then project them onto the ball of the given radius."""
    scalars = state.scalars
    length = max(0.0, scalars[SQUARE_NORM] + move * (2.0 * score + move * square))
    change = move / scalars[FACTOR]
    move_records(rows.data, rows.indices, begin, end, change, -scalars[FACTOR_SUM] * change, state.records)
    if length > radius * radius:
        scalars[FACTOR] *= radius / np.sqrt(length)
        length = radius * radius
    scalars[SQUARE_NORM] = length
    if scalars[FACTOR] < SMALLEST_FACTOR:
        rescale(state)
        scalars[SQUARE_NORM] = square_norm(state.records)


@kernel
def square_norm(records):
    """Return |v|^2."""
    total = 0.0
    for j in range(records.shape[0]):
        total += records[j, WEIGHT] * records[j, WEIGHT]
    return total


def check_saddle_overflow(eta0: float, radius: float, longest: float, heaviest: float) -> None:
    """Raise if steps of that size within that ball, on rows of that length and weight, might lead beyond float64."""
    # Projections bound the start of a step; this bounds its result.
    if not (1.0 + eta0 * heaviest) * (1.0 + 8.0 * radius * longest) * max(1.0, longest) <= MAX_STEP_RESULT:
        raise StatisticsOverflowError(
            f"steps of eta0={eta0:g} within radius={radius:g} on rows of length up to {longest:.3g} "
            "might overflow float64; lower them or scale the features down"
        )


@dataclass(frozen=True)
class SOLAMSolver(Solver[SaddleState]):
    """Solver of `SOLAM`: descent in the weights and two centers, ascent in one dual variable.

    `SOLAM` has the formula. The minimum over w, a, b of the maximum over alpha
    of the mean of G is that of the square pair loss times 2 p (1 - p), minus a
    constant. A projection is a factor on w, so a row costs O(its non-zeros).
    The sample weight of a row multiplies its step and its part in p. `step`
    updates its state in place.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.baselines.solam import SOLAMSolver
    >>> solver = SOLAMSolver(eta0=1.0, radius=10.0)
    >>> state = solver.step(solver.start(1), np.array([[0.0], [2.0]]), np.array([0, 1], np.int8))
    >>> solver.weights(state).round(4).tolist()
    [0.5858]
    """

    name: ClassVar[str] = "solam"

    eta0: float = parameter(1.0, POSITIVE)
    radius: float = parameter(1.0, POSITIVE)

    def start(self, n_features: int) -> SaddleState:
        """Return the state before any row."""
        return SaddleState(
            records=np.zeros((n_features, 4)),
            counts=np.zeros(2),
            n_rows=np.zeros(2),
            centres=np.zeros(2),
            spreads=np.zeros((2, 3)),
            scalars=np.array([1.0, 0.0, 0.0, 0.0, 0.0, 0.0]),
        )

    def step(self, state: SaddleState, rows: Rows, labels: Labels, weight: Floats | None = None) -> SaddleState:
        """Take one step per row, in order."""
        weights, settings = row_weights(weight), (float(self.eta0), float(self.radius))
        longest = max(state.scalars[LONGEST], np.sqrt(sum_row_squares(rows)))
        self.check_overflow(longest, weights.max(initial=1.0))
        for part, block in sparse_blocks(rows):
            saddle_pass(block, labels[part], weights[part], *settings, state)
        return state

    def check_overflow(self, longest: float, heaviest: float = 1.0) -> None:
        """Raise if rows of that length and sample weight might lead beyond float64."""
        check_saddle_overflow(self.eta0, self.radius, longest, heaviest)

    def weights(self, state: SaddleState) -> Floats:
        """Return the mean of the iterates, each weighted by its step."""
        total = state.scalars[FACTOR_SUM] * state.records[:, WEIGHT] + state.records[:, WEIGHT_SUM]
        mean: Floats = total / (state.scalars[STEP_SUM] or 1.0)
        return mean

    def counts(self, state: SaddleState) -> ClassCounts:
        """Return the total sample weight of each class."""
        return ClassCounts(*state.counts.tolist())

    def summary(self, state: SaddleState, weights: Floats) -> ScoreSummary:
        """Return exact counts and mean scores, and progressive estimates of the variances."""
        return progressive_summary(state.counts, state.records[:, SUMS:], state.spreads, weights)

    def rollback(self, state: SaddleState, rows: Rows) -> Rollback:  # noqa: ARG002
        """Return a rollback of the whole state, because a projection may rescale all features."""
        return Rollback().keep(*state)


@own_docstrings("opauc.baselines")
class SOLAM(StreamClassifier):
    """Linear scorer that minimizes the square pair loss as a saddle point, in one pass.

    With p the share of positive rows so far, a positive row x has

        G(w, a, b; alpha) = (1 - p) ((w.x - a)^2 - 2 (1 + alpha) w.x) - p (1 - p) alpha^2,

    a negative one p ((w.x - b)^2 + 2 (1 + alpha) w.x) - p (1 - p) alpha^2. Each
    row is one step down in w, a, b and up in alpha, of size eta0 / sqrt(t). A
    projection follows to |w| <= radius, |a|, |b| <= radius k and
    |alpha| <= 2 radius k, where k is the largest |x|. The weights are the mean
    of the iterates, weighted by their steps. A row costs O(its non-zeros).

    Source: Y. Ying, L. Wen and S. Lyu, "Stochastic online AUC maximization",
    NIPS 2016.

    Differences from the publication: k is the largest |x| so far, because a
    stream does not show the largest to come.

    Step and radius have the units of the features: scale the features to about
    one, and tune both.

    Parameters
    ----------
    eta0 : float, default=1.0
        Size of the first step.
    radius : float, default=1.0
        Bound on |w|.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
        The class labels, the positive class last.
    coef_ : ndarray of shape (1, n_features)
        Weights of the scorer.
    intercept_ : ndarray of shape (1,)
        Intercept of the scorer, midway between the class means of the scores.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if X had string column names.

    Examples
    --------
    >>> from opauc.baselines import SOLAM
    >>> model = SOLAM().partial_fit([[0.0], [1.0]], ["ham", "ham"], classes=["ham", "spam"])
    >>> model.partial_fit([[2.0], [4.0]], ["spam", "spam"]).predict([[3.5]])
    array(['spam'], dtype='<U4')
    """

    _solver = SOLAMSolver

    def __init__(self, *, eta0: float = 1.0, radius: float = 1.0) -> None:
        self.eta0 = eta0
        self.radius = radius
