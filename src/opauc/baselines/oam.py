"""OAM: the hinge pair loss against two reservoirs of rows (Zhao, Hoi, Jin, Yang 2011)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from opauc.baselines.kernels.oam import BOUND, SQUARES, PairBuffers, add_pulls, buffer_pass
from opauc.core.array_schema import ArrayRule, copy_arrays
from opauc.core.kernels.simd import LANES
from opauc.core.mergeable import ScoreSummary
from opauc.core.parameters import POSITIVE, Count, Option, Seed, parameter
from opauc.core.row_blocks import row_weights, sparse_blocks, sum_row_squares
from opauc.core.solver import Solver
from opauc.core.transaction import Rollback, touched_features
from opauc.errors import StatisticsOverflowError
from opauc.estimators.docstrings import own_docstrings
from opauc.linear.estimator import StreamClassifier
from opauc.linear.means import mean_scores, score_summary
from opauc.linear.moments.sketch import SignStream
from opauc.types import Arrays, ClassCounts, Floats, Labels, NamedArrays, RandomState, Rows

# The buffered rows are also stored by feature if that takes at most this many bytes: the products of a
# sparse row with all of them are then a few sums of short vectors.
MAX_COLUMN_BYTES = 2**24
# Bound on scores, so that no sum of them overflows.
MAX_SCORE = 1e280
# Beyond this, a float64 no longer counts rows one by one.
MAX_ROWS = 2.0**53
UPDATES = {"sequential": True, "gradient": False}
SCHEMA = {
    "counts": ArrayRule("float64", "2", low=0),
    "n_rows": ArrayRule("float64", "2", low=0, high=MAX_ROWS),
    "weights": ArrayRule("float64", "features"),
    "sums": ArrayRule("float64", "features 2"),
    "indices": ArrayRule("uint32", "2 slots entries", below="features"),
    "values": ArrayRule("float64", "2 slots entries"),
    "lengths": ArrayRule("int64", "2 slots", low=0, below="entries+1"),
    "grams": ArrayRule("float64", "2 width width"),
    "scores": ArrayRule("float64", "width"),
    "pulls": ArrayRule("float64", "width"),
    "in_use": ArrayRule("int64", "1", low=-1, high=1),
    "key": ArrayRule("uint64", "1"),
    "reach": ArrayRule("float64", "2"),
}


@dataclass(frozen=True)
class OAMSolver(Solver[PairBuffers]):
    """Solver of `OAM`: steps along the hinge losses of pairs with the buffered rows of the other class.

    `OAM` has the formulas. Random numbers are functions of the seed and of a
    row's number in its class. Rows are not centered: where they lie a million
    times farther from zero than from each other, |z|^2 loses its digits.

    A row of sample weight v, with V the total of its class so far, enters the
    buffer with probability min(1, buffer_size v / V) (Chao 1982); c is v C / 2
    times the total of the other class over its number of buffered rows. `step`
    updates its state in place.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.baselines.oam import OAMSolver
    >>> solver = OAMSolver(update="gradient", C=0.2)
    >>> state = solver.step(solver.start(1), np.array([[0.0], [2.0]]), np.array([0, 1], np.int8))
    >>> solver.weights(state).tolist()
    [0.2]
    """

    name: ClassVar[str] = "oam"

    update: str = parameter("sequential", Option(tuple(UPDATES)))
    buffer_size: int = parameter(100, Count())
    C: float = parameter(1e-5, POSITIVE)
    random_state: int | np.random.RandomState | None = parameter(0, Seed())

    def start(self, n_features: int) -> PairBuffers:
        """Return the state before any row: zero weights, empty buffers."""
        size, width = self.buffer_size, -(-self.buffer_size // LANES) * LANES
        key = SignStream.seeded(0, self.random_state).key
        return PairBuffers(
            counts=np.zeros(2),
            n_rows=np.zeros(2),
            weights=np.zeros(n_features),
            sums=np.zeros((n_features, 2)),
            indices=np.zeros((2, size, 0), np.uint32),
            values=np.zeros((2, size, 0)),
            lengths=np.zeros((2, size), np.int64),
            columns=_empty_columns(n_features, width),
            grams=np.zeros((2, width, width)),
            scores=np.zeros(width),
            pulls=np.zeros(width),
            in_use=np.array([-1]),
            key=np.array([key], np.uint64),
            reach=np.zeros(2),
        )

    def step(self, state: PairBuffers, rows: Rows, labels: Labels, weight: Floats | None = None) -> PairBuffers:
        """Update the buffer of each row's class, then compare the row with the buffer of the other class, in order."""
        if state.lengths.shape[1] != self.buffer_size:
            raise ValueError(f"buffer_size was {state.lengths.shape[1]} at the start, now it is {self.buffer_size}")
        if not state.columns.shape[1]:
            state = _with_columns(self.to_arrays(state))
        weights, sequential = row_weights(weight), UPDATES[self.update]
        reach = self.bound_weights(state, sum_row_squares(rows), float(labels.size if weight is None else weight.sum()))
        for part, block in sparse_blocks(rows):
            state = widen_rows(state, int(np.diff(block.indptr).max(initial=0)))
            buffer_pass(block, labels[part], weights[part], float(self.C), sequential, state)
        state.reach[:] = reach
        return state

    def weights(self, state: PairBuffers) -> Floats:
        """Return the last iterate."""
        weights: Floats = state.weights.copy()
        add_pulls(state, weights)
        return weights

    def counts(self, state: PairBuffers) -> ClassCounts:
        """Return the total sample weight of each class."""
        return ClassCounts(*state.counts.tolist())

    def summary(self, state: PairBuffers, weights: Floats) -> ScoreSummary:
        """Return exact counts and mean scores of all rows, and the score variances of the buffered rows."""
        means = mean_scores(state.counts, state.sums, weights)
        variances = [np.var(_scores(state, k, weights)) if state.n_rows[k] > 0.0 else 0.0 for k in (0, 1)]
        return score_summary(state.counts, means, np.array(variances))

    def rollback(self, state: PairBuffers, rows: Rows) -> Rollback:
        """Return a rollback of the parts of `state` that a step changes: all weights, as pulls may be added to any."""
        others = (part for name, part in state._asdict().items() if name != "sums")
        return Rollback().keep(*others).keep_features([state.sums], touched_features(rows))

    def to_arrays(self, state: PairBuffers) -> Arrays:
        """Return all arrays except the columns, which repeat the buffered rows."""
        return {name: part for name, part in state._asdict().items() if name != "columns"}

    def from_arrays(self, n_features: int, arrays: NamedArrays) -> PairBuffers:
        """Return the state with these arrays; raise if they are not valid input for the kernels."""
        width = -(-self.buffer_size // LANES) * LANES
        sizes = {"features": n_features, "slots": self.buffer_size, "width": width}
        copies = copy_arrays(SCHEMA, arrays, sizes)
        return PairBuffers(columns=np.empty((2, 0, width)), **copies)  # the next step fills them: they are large

    def widen(self, state: PairBuffers, n_features: int) -> PairBuffers:
        """Return the state with more features, which were zero in every row so far."""
        more = n_features - state.weights.size
        wider = {"weights": np.pad(state.weights, (0, more)), "sums": np.pad(state.sums, ((0, more), (0, 0)))}
        return _with_columns({name: np.array(part) for name, part in self.to_arrays(state).items()} | wider)

    def bound_weights(self, state: PairBuffers, more_squares: float, weight: float) -> tuple[float, float]:
        """Return the sum of squares and a bound on |w| after more rows; raise if scores might overflow."""
        squares = float(state.reach[SQUARES]) + more_squares
        total = float(state.counts.sum()) + weight
        # A row moves w by at most weight C / 2 max(buffer_size, total) |z|, and |z| is at most twice the longest row.
        bound = float(state.reach[BOUND]) + weight * self.C * max(self.buffer_size, total) * np.sqrt(squares)
        if not bound * max(1.0, np.sqrt(squares)) <= MAX_SCORE:
            raise StatisticsOverflowError(
                f"scores might overflow float64: C={self.C:g} is too large for rows of length up to "
                f"{np.sqrt(squares):.3g}; lower C or scale the features down"
            )
        return squares, float(bound)


def _with_columns(arrays: Arrays) -> PairBuffers:
    """Return the state with these arrays and, where memory allows, the buffered rows by feature."""
    columns = _empty_columns(arrays["weights"].size, arrays["scores"].size)
    if columns.shape[1]:
        for k, slot in np.argwhere(arrays["lengths"] > 0):
            length = arrays["lengths"][k, slot]
            columns[k, arrays["indices"][k, slot, :length], slot] = arrays["values"][k, slot, :length]
    return PairBuffers(columns=columns, **arrays)


def _empty_columns(n_features: int, width: int) -> Floats:
    """Return zeros for the buffered rows by feature, or an empty array where those would take too much memory."""
    fits = 2 * n_features * width * 8 <= MAX_COLUMN_BYTES
    return np.zeros((2, n_features if fits else 0, width))


def widen_rows(buffers: PairBuffers, length: int) -> PairBuffers:
    """Return the buffers, widened if necessary to rows of `length` non-zeros."""
    more = length - buffers.indices.shape[2]
    if more <= 0:
        return buffers
    wider = [np.pad(part, ((0, 0), (0, 0), (0, more))) for part in (buffers.indices, buffers.values)]
    return buffers._replace(indices=wider[0], values=wider[1])


def _scores(buffers: PairBuffers, k: int, weights: Floats) -> Floats:
    """Return the scores of the buffered rows of class k."""
    n_buffered = int(min(buffers.n_rows[k], buffers.lengths.shape[1]))
    within = np.arange(buffers.indices.shape[2]) < buffers.lengths[k, :n_buffered, None]
    products = np.where(within, buffers.values[k, :n_buffered] * weights[buffers.indices[k, :n_buffered]], 0.0)
    scores: Floats = products.sum(axis=1)
    return scores


@own_docstrings("opauc.baselines")
class OAM(StreamClassifier):
    """Linear scorer from the hinge losses of pairs with a random sample of the other class, in one pass.

    A buffer holds a random sample of `buffer_size` rows of each class
    (reservoir sampling): the n-th row of a class enters with probability
    buffer_size / n and replaces a random row. A row x with label y is then
    compared with the buffer of the other class. With z = y (x - b) for a
    buffered row b and c = C / 2 max(1, rows of the other class / buffer_size),
    the update is

    - "sequential" (OAM_seq): for each b in turn w += min(c, max(0, 1 - w.z) / |z|^2) z,
    - "gradient" (OAM_gra): w += c times the sum of the z with w.z <= 1, all at once.

    A row costs O(buffer_size^2 + its non-zeros * buffer_size) at most.

    Source: P. Zhao, S. Hoi, R. Jin and T. Yang, "Online AUC maximization",
    ICML 2011.

    Differences from the publication: only the order in which sums are rounded.
    The steps grow with the number of rows, so one pass over many rows needs a
    smaller C than the grid 2^-12 ... 2^10 of the study of one-pass AUC
    optimization has. On a9a the best of that grid, 2^-12, gives a held-out AUC
    of .853 (sequential; published .842) and .858 (gradient; published .857);
    C=1e-6 gives .888.

    Parameters
    ----------
    update : {"sequential", "gradient"}, default="sequential"
        How the weights move. On average over the data sets of that study the
        two hardly differ.
    buffer_size : int, default=100
        Number of buffered rows of each class; it cannot change between calls to `partial_fit`.
    C : float, default=1e-5
        Bound on the step of a pair before it is scaled up.
    random_state : int, RandomState instance or None, default=None
        Seed of the reservoir sampling.

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
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.metrics import roc_auc_score
    >>> from sklearn.preprocessing import minmax_scale
    >>> from opauc.baselines import OAM
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> X = minmax_scale(X, (-1, 1))
    >>> model = OAM(random_state=0)
    >>> for start in range(0, 400, 100):
    ...     model = model.partial_fit(X[start:start + 100], y[start:start + 100])
    >>> bool(roc_auc_score(y[400:], model.decision_function(X[400:])) > 0.98)
    True
    """

    _solver = OAMSolver

    def __init__(
        self,
        *,
        update: str = "sequential",
        buffer_size: int = 100,
        C: float = 1e-5,
        random_state: RandomState = None,
    ) -> None:
        self.update = update
        self.buffer_size = buffer_size
        self.C = C
        self.random_state = random_state
