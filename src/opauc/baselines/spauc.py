"""SPAUC: the square pair loss from class means alone, O(non-zeros) per row (Lei and Ying 2021).

The weights have the form of `opauc.linear.kernels.means`, w = a v + M p with M
the sums of the classes. Only the step differs: it moves p in both classes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from opauc.core.kernels.compile import kernel
from opauc.core.parameters import NON_NEGATIVE, POSITIVE, SWITCH, Option, parameter
from opauc.core.row_blocks import row_weights, sparse_blocks, sum_row_squares
from opauc.estimators.docstrings import own_docstrings
from opauc.linear.estimator import StreamClassifier
from opauc.linear.kernels.means import (
    CURVATURE,
    EXCESS_RATE,
    FACTOR,
    FACTOR_SUM,
    RECENT_EXCESS,
    SMALLEST_CURVATURE,
    SMALLEST_FACTOR,
    add_to_mean,
    enter_row,
    enter_sums,
    move_records,
    rescale,
)
from opauc.linear.means import MeansSolver, MeansState
from opauc.linear.sgd import LEARNING_RATES
from opauc.types import Floats, Labels, Rows


@kernel
def centered_pass(rows, labels, row_weights, step_sizes, relative, alpha, state):
    """Update the `MeansWeights` in `state` in place with sparse rows in order.

    With p the share of positive rows, q that of the class other than x's, c
    the mean of x's own class and d the difference of the class means, the step
    of a row x is w <- (w - step (q w.(x - c) (x - c) - p (1 - p) (1 - w.d) d)) / (1 + step alpha).
    If `relative`, step sizes are divided by the largest q |x - c|^2 + p (1 - p) |d|^2
    + alpha so far. Iterate t has weight t^2 in the mean. The sample weight of a
    row, one if `row_weights` is empty, multiplies its part in the means and its
    step, but not the division; a relative step is at most one over the curvature.
    """
    scalars = state.scalars
    changes = np.zeros(2)
    for i in range(labels.size):
        k = labels[i]
        weight = row_weights[i] if row_weights.size else 1.0
        begin, end = rows.indptr[i], rows.indptr[i + 1]
        dot, inner, far, square = enter_row(rows.data, rows.indices, begin, end, k, weight, state.records)
        score = scalars[FACTOR] * dot + state.coefficients[k] * inner + state.coefficients[1 - k] * far
        away = enter_sums(k, weight, score, inner, far, square, state)
        inner += weight * square
        along, along_sum = weight * state.coefficients[k], weight * state.coefficient_sums[k]
        keep, pull = 1.0, 0.0
        if state.counts[1 - k] > 0.0:
            step_size, factor = step_sizes[i], weight
            if relative:
                factor = min(weight, 1.0 / step_size)
                step_size = in_units_of_curvature(k, inner, square, step_size, alpha, state)
            keep = 1.0 / (1.0 + step_size * alpha)
            pull = plan_changes(k, away, keep * step_size * factor, state, changes)
            move_both(k, inner, far, keep, pull, changes, state)
        if abs(scalars[FACTOR]) < SMALLEST_FACTOR:
            rescale(state)
        move = -(pull + keep * along) / scalars[FACTOR]
        move_sum = -(scalars[FACTOR_SUM] * move + along_sum)
        move_records(rows.data, rows.indices, begin, end, move, move_sum, state.records)
        if state.counts[1 - k] > 0.0:
            add_to_mean(k, weight, away, state)


@kernel
def in_units_of_curvature(k, inner, square, step_size, alpha, state):
    """Return the step size over the largest curvature so far; `inner` is the row's product with m_k, it included."""
    own, other, gram = state.counts[k], state.counts[1 - k], state.gram
    share = own / (own + other)
    gap = square - 2.0 * inner / own + gram[k, k] / (own * own)
    apart = gram[0, 0] / state.counts[0] ** 2 + gram[1, 1] / state.counts[1] ** 2 - 2.0 * gram[0, 1] / (own * other)
    bend = alpha + (1.0 - share) * max(0.0, gap) + share * (1.0 - share) * max(0.0, apart)
    state.scalars[CURVATURE] = max(state.scalars[CURVATURE], bend)
    return step_size / state.scalars[CURVATURE] if state.scalars[CURVATURE] >= SMALLEST_CURVATURE else 0.0


@kernel
def plan_changes(k, away, step_size, state, changes):
    """Write the steps along the class sums; return the pull along the row. `away` is w.(x - c)."""
    own, other, sign = state.counts[k], state.counts[1 - k], 2.0 * k - 1.0
    share = own / (own + other)
    excess = 1.0 - sign * (state.products[k] / own - state.products[1 - k] / other)
    state.scalars[RECENT_EXCESS] += EXCESS_RATE * (excess * excess - state.scalars[RECENT_EXCESS])
    pull = step_size * (1.0 - share) * away
    apart = step_size * share * (1.0 - share) * excess * sign
    changes[k] = (pull + apart) / own
    changes[1 - k] = -apart / other
    return pull


@kernel
def move_both(k, inner, far, keep, pull, changes, state):
    """Take the step in a, p and q; `inner` and `far` are the row's products with m_k, it included, and with m_o."""
    state.scalars[FACTOR] *= keep
    for c in range(2):
        state.coefficients[c] = keep * state.coefficients[c] + changes[c]
        moved = changes[0] * state.gram[c, 0] + changes[1] * state.gram[c, 1]
        state.products[c] = keep * state.products[c] - pull * (inner if c == k else far) + moved


@dataclass(frozen=True)
class SPAUCSolver(MeansSolver):
    """Solver of `SPAUC`: steps along an estimate of the gradient of the pair loss that needs the class means alone.

    `SPAUC` has the formula. The division by 1 + step alpha is the proximal step
    of a ridge. The expected step is the gradient of the square pair loss times
    p (1 - p), so `alpha` compares with p (1 - p) times that of OPAUC.

    Rows are not centered, because they would not stay sparse: see `ClassMeans`
    for the cost in digits far from zero. The sample weight of a row multiplies
    its part in means and shares and its step, but not the division; a step
    "curvature" is at most one over the curvature. `step` updates its state in place.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.baselines.spauc import SPAUCSolver
    >>> solver = SPAUCSolver(alpha=0.0, eta0=0.4, learning_rate="constant", average=False)
    >>> state = solver.step(solver.start(1), np.array([[0.0], [2.0]]), np.array([0, 1], np.int8))
    >>> solver.weights(state).tolist()
    [0.2]
    """

    name: ClassVar[str] = "spauc"

    alpha: float = parameter(0.0, NON_NEGATIVE)
    eta0: float = parameter(1e4, POSITIVE)
    learning_rate: str = parameter("curvature", Option(tuple(LEARNING_RATES)))
    average: bool = parameter(True, SWITCH)

    def step(self, state: MeansState, rows: Rows, labels: Labels, weight: Floats | None = None) -> MeansState:
        """Take one step per row, in order."""
        relative, sizes = self.step_sizes(state.parts, labels.size)
        weights, alpha = row_weights(weight), float(self.alpha)
        sum_row_squares(rows)
        # NumPy warns of overflow where kernels run as plain Python.
        with np.errstate(over="ignore", invalid="ignore"):
            for part, block in sparse_blocks(rows):
                centered_pass(block, labels[part], weights[part], sizes[part], relative, alpha, state.parts)
        if not relative:
            self.check_divergence(state.parts)
        return state

    def kept(self, decay: Floats) -> Floats:
        """Return the factors on w of steps with step * alpha = `decay`."""
        return 1.0 / (1.0 + decay)


@own_docstrings("opauc.baselines")
class SPAUC(StreamClassifier):
    """Linear scorer that minimizes the square pair loss from class means alone, in one pass.

    With p the share of positive rows, c the mean of the class of x, q the
    share of the other class and d the difference of the class means, all from
    the rows so far, this one included, a row x moves the weights by

        w <- (w - step (q w.(x - c) (x - c) - p (1 - p) (1 - w.d) d)) / (1 + step alpha).

    The expected step is the gradient of the square pair loss times p (1 - p).
    A row costs O(its non-zeros).

    Source: Y. Lei and Y. Ying, "Stochastic proximal AUC maximization", JMLR 2021.

    Differences from the publication: the defaults of `learning_rate` and
    `average` are for use without tuning; the ridge is the only proximal step.

    Parameters
    ----------
    alpha : float, default=0.0
        Ridge penalty, relative to p (1 - p) times the pair loss.
    eta0 : float, default=1e4
        With learning_rate="constant" or "invsqrt": the step size, or its value
        at the first row. With "curvature": number of rows after which steps begin
        to shrink.
    learning_rate : {"curvature", "constant", "invsqrt"}, default="curvature"
        "curvature" is 1 / (1 + sqrt(1 + t / eta0)) at row t, divided by the
        largest curvature so far. It does not depend on the units of the features
        and cannot diverge. "constant" is eta0, "invsqrt" eta0 / sqrt(t).
    average : bool, default=True
        Whether to use the mean of the iterates, iterate t weighted by t^2,
        instead of the last iterate.

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
    >>> from opauc.baselines import SPAUC
    >>> model = SPAUC().partial_fit([[0.0], [1.0]], ["ham", "ham"], classes=["ham", "spam"])
    >>> model.partial_fit([[2.0], [4.0]], ["spam", "spam"]).predict([[3.5]])
    array(['spam'], dtype='<U4')
    """

    _solver = SPAUCSolver

    def __init__(
        self,
        *,
        alpha: float = 0.0,
        eta0: float = 1e4,
        learning_rate: str = "curvature",
        average: bool = True,
    ) -> None:
        self.alpha = alpha
        self.eta0 = eta0
        self.learning_rate = learning_rate
        self.average = average
