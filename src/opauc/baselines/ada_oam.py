"""AdaOAM: the gradient of OPAUC with the step sizes of AdaGrad (Ding, Zhao, Hoi, Ong 2015)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from opauc.core.kernels.compile import inlined, kernel
from opauc.core.kernels.sparse_rows import clear_row, unpack_row
from opauc.core.kernels.symmetric_matrix import add_low_rank_product, symmetric_product
from opauc.core.parameters import NON_NEGATIVE, POSITIVE, SWITCH, parameter
from opauc.core.row_blocks import contiguous_blocks, kernel_rows, row_weights
from opauc.core.solver import Solver
from opauc.errors import DivergedError
from opauc.estimators.docstrings import own_docstrings
from opauc.linear.estimator import StreamClassifier
from opauc.linear.kernels.sgd import (
    EXCESS_RATE,
    RECENT_EXCESS,
    ROWS,
    STEPS,
    DescentState,
    fold_when_full,
    update_moments,
)
from opauc.linear.moments.classes import ClassMoments
from opauc.linear.sgd import SGD, start_plain
from opauc.types import ClassCounts, Floats, Labels, Rows


class AdaptiveState(NamedTuple):
    """The state of Algorithm 1 and the sum of squared gradients of each feature, shape (n_features,)."""

    descent: DescentState
    squares: Floats


@inlined
def adaptive_step(row, k, weight, alpha, eta0, epsilon, state, squares, product):
    """Update the statistics with one row of class k, then take a step unless the other class is unseen.

    With gap = row - mean of the other class and excess = weights.gap - label,
    the gradient is alpha*w + weight * (excess*gap + covariance_other @ w), and
    feature j moves by -eta0 gradient_j / (epsilon + sqrt(squares_j)), where
    squares_j is the sum of its squared gradients, this one included. `product` is scratch.
    """
    progress, other = state.progress, 1 - k
    progress[ROWS] += 1.0
    update_moments(row, k, weight, 1.0, state)
    if state.counts[other] > 0.0:
        mean, weights = state.means[other], state.weights
        excess = 1.0 - 2.0 * k
        for j in range(row.size):
            excess += weights[j] * (row[j] - mean[j])
        symmetric_product(state.lowers[other], weights, product)
        add_low_rank_product(state.pending[other, : state.filled[other]], weights, product)
        share = weight * state.scales[other] / state.counts[other]
        progress[RECENT_EXCESS] += EXCESS_RATE * (excess * excess - progress[RECENT_EXCESS])
        progress[STEPS] += 1.0
        excess *= weight
        for j in range(row.size):
            slope = alpha * weights[j] + excess * (row[j] - mean[j]) + share * product[j]
            squares[j] += slope * slope
            size = epsilon + np.sqrt(squares[j])
            if size > 0.0:
                weights[j] -= eta0 * slope / size
            state.weight_sum[j] += weights[j]
    fold_when_full(state)


@kernel
def adaptive_pass(rows, labels, row_weights, alpha, eta0, epsilon, state, squares):
    """Update `state` and `squares` in place with dense rows in order; no `row_weights` means ones."""
    product = np.empty(rows.shape[1])
    for i in range(rows.shape[0]):
        weight = row_weights[i] if row_weights.size else 1.0
        adaptive_step(rows[i], labels[i], weight, alpha, eta0, epsilon, state, squares, product)


@kernel
def adaptive_csr_pass(rows, labels, row_weights, alpha, eta0, epsilon, state, squares):
    """Update `state` and `squares` in place with sparse rows in order, each written out in turn."""
    n_features = state.weights.size
    product, row = np.empty(n_features), np.zeros(n_features)
    for i in range(labels.size):
        unpack_row(rows, i, row)
        weight = row_weights[i] if row_weights.size else 1.0
        adaptive_step(row, labels[i], weight, alpha, eta0, epsilon, state, squares, product)
        clear_row(rows, i, row)


@dataclass(frozen=True)
class AdaOAMSolver(Solver[AdaptiveState]):
    """Solver of `AdaOAM`: gradient steps on the pair loss of each row, with one step size per feature.

    `AdaOAM` has the formula. The sample weight of a row multiplies the
    gradient of its loss, but not alpha w.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.baselines.ada_oam import AdaOAMSolver
    >>> solver = AdaOAMSolver(alpha=0.0, eta0=0.1, epsilon=0.0, average=False)
    >>> state = solver.step(solver.start(1), np.array([[0.0], [2.0]]), np.array([0, 1], np.int8))
    >>> solver.weights(state).tolist()
    [0.1]
    """

    name: ClassVar[str] = "ada_oam"

    has_statistics: ClassVar[bool] = True

    keeps_covariances: ClassVar[bool] = True

    alpha: float = parameter(1e-4, NON_NEGATIVE)
    eta0: float = parameter(0.03, POSITIVE)
    epsilon: float = parameter(1e-8, NON_NEGATIVE)
    average: bool = parameter(False, SWITCH)

    def start(self, n_features: int) -> AdaptiveState:
        """Return the state before any row: zero weights, empty statistics."""
        return AdaptiveState(start_plain(n_features), np.zeros(n_features))

    def step(self, state: AdaptiveState, rows: Rows, labels: Labels, weight: Floats | None = None) -> AdaptiveState:
        """Return the state after one step per row, in order."""
        after = DescentState(*(part.copy() for part in state.descent))
        squares, weights = state.squares.copy(), row_weights(weight)
        run = adaptive_pass if isinstance(rows, np.ndarray) else adaptive_csr_pass
        settings = float(self.alpha), float(self.eta0), float(self.epsilon)
        with np.errstate(over="ignore", invalid="ignore"):
            for part, block in contiguous_blocks(rows):
                run(kernel_rows(block), labels[part], weights[part], *settings, after, squares)
        # No step is longer than eta0, so only gradients can overflow.
        if not all(np.isfinite(part).all() for part in (after.weights, after.weight_sum, squares)):
            raise DivergedError(
                f"the squared gradients overflowed: eta0={self.eta0} is too large for these rows; "
                "lower eta0 or scale the features"
            )
        return AdaptiveState(after, squares)

    def weights(self, state: AdaptiveState) -> Floats:
        """Return the last iterate, or the mean of all iterates."""
        return SGD(average=self.average).weights(state.descent)

    def counts(self, state: AdaptiveState) -> ClassCounts:
        """Return the total sample weight of each class."""
        return SGD().counts(state.descent)

    def statistics(self, state: AdaptiveState) -> ClassMoments:
        """Return the class statistics."""
        return SGD().statistics(state.descent)

    def check(self, state: AdaptiveState) -> None:
        """Raise if a state read from a file is not valid input for the kernels."""
        SGD().check(state.descent)


@own_docstrings("opauc.baselines")
class AdaOAM(StreamClassifier):
    """Linear scorer that minimizes the square pair loss in one pass, with one step size per feature.

    The gradient g of a row x with label y is that of OPAUC,
    alpha w + (w.z - y) z + S w, with z = x - mean and S = covariance of the
    other class. Feature j moves by

        w_j -= eta0 g_j / (epsilon + sqrt(sum of g_j^2 so far, this one included)).

    No step is taken until both classes have been seen. The state has two full
    covariance matrices and a row costs O(n_features^2), sparse or not.

    Source: Y. Ding, P. Zhao, S. Hoi and Y.-S. Ong, "An adaptive gradient method
    for online AUC maximization", AAAI 2015.

    Differences from the publication: the covariance is that of the rows (the
    recursion in the paper on OPAUC lacks a term); weights are not projected
    onto a ball; `average` is an addition.

    Parameters
    ----------
    alpha : float, default=1e-4
        Ridge penalty.
    eta0 : float, default=0.03
        Step size, in units of the weights.
    epsilon : float, default=1e-8
        Added to the root of the summed squares.
    average : bool, default=False
        Whether to use the mean of the iterates instead of the last iterate.

    Attributes
    ----------
    moments_ : ClassMoments
        Count, mean and scatter of each class.
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
    >>> from opauc.baselines import AdaOAM
    >>> model = AdaOAM().partial_fit([[0.0], [1.0]], ["ham", "ham"], classes=["ham", "spam"])
    >>> model.partial_fit([[2.0], [4.0]], ["spam", "spam"]).predict([[3.5]])
    array(['spam'], dtype='<U4')
    """

    _solver = AdaOAMSolver

    def __init__(
        self, *, alpha: float = 1e-4, eta0: float = 0.03, epsilon: float = 1e-8, average: bool = False
    ) -> None:
        self.alpha = alpha
        self.eta0 = eta0
        self.epsilon = epsilon
        self.average = average
