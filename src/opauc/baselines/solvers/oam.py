"""OAM: online AUC maximization of the hinge pair loss against two reservoirs of rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from opauc.baselines.kernels.pair_buffers import BOUND, SQUARES, PairBuffers, buffer_pass, pay_pulls
from opauc.core.kernels.simd import LANES
from opauc.core.mergeable import ScoreSummary
from opauc.core.parameters import POSITIVE, Count, Option, Seed, parameter
from opauc.core.row_blocks import row_weights, sparse_blocks
from opauc.core.solver import Solver
from opauc.core.state_arrays import refuse_not_finite, refuse_other_names
from opauc.core.transaction import Rollback, touched_features
from opauc.errors import IncompatibleMomentsError, StatisticsOverflowError
from opauc.linear.moments.sketch import CodeStream
from opauc.linear.progressive_summary import mean_scores, score_summary
from opauc.linear.row_squares import checked_squares
from opauc.types import Arrays, ClassCounts, Floats, Labels, NamedArrays, Rows

# The buffered rows are kept feature by feature as well while that takes no more memory than this:
# products of a sparse row with all of them are then a few sums of short vectors.
COLUMN_BYTES = 2**24
# Scores are held below this, so that no sum of them overflows.
FARTHEST = 1e280
# Whole numbers beyond this are no longer counted one by one.
MOST_ROWS = 2.0**53
UPDATES = {"sequential": True, "gradient": False}


@dataclass(frozen=True)
class OAM(Solver[PairBuffers]):
    """Step along the hinge losses of the pairs that each row makes with a sample of the other class.

    The sample is a reservoir of `buffer_size` rows of each class: the n-th row
    of a class enters with probability buffer_size / n, in place of a random
    one, and is then compared with the buffer of the other class (Zhao, Hoi,
    Jin, Yang 2011). With z = y (x - b) for a row b kept there and
    c = C / 2 max(1, rows of the other class / buffer_size), update

    - "sequential": for each b in turn w += min(c, max(0, 1 - w.z) / |z|^2) z,
    - "gradient": w += c times the sum of the z with w.z <= 1, all at once.

    Random numbers are functions of the seed and of a row's number in its
    class. Rows are not centered: where they lie a million times farther from
    zero than from each other, too few digits are left of |z|^2.

    A row of weight v, of the total V in its class so far, enters with
    probability min(1, buffer_size v / V) (Chao 1982); c is v C / 2 times the
    total of the other class over the rows kept of it. `step` writes into the
    state it is given.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.baselines.solvers.oam import OAM
    >>> learner = OAM(update="gradient", C=0.2)
    >>> state = learner.step(learner.start(1), np.array([[0.0], [2.0]]), np.array([0, 1], np.int8))
    >>> learner.weights(state).tolist()
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
        key = CodeStream.seeded(0, self.random_state).key
        return PairBuffers(
            counts=np.zeros(2),
            n_rows=np.zeros(2),
            weights=np.zeros(n_features),
            sums=np.zeros((n_features, 2)),
            indices=np.zeros((2, size, 0), np.uint32),
            values=np.zeros((2, size, 0)),
            lengths=np.zeros((2, size), np.int64),
            columns=_no_columns(n_features, width),
            grams=np.zeros((2, width, width)),
            scores=np.zeros(width),
            pulls=np.zeros(width),
            in_use=np.array([-1]),
            key=np.array([key], np.uint64),
            reach=np.zeros(2),
        )

    def step(self, state: PairBuffers, rows: Rows, labels: Labels, weight: Floats | None = None) -> PairBuffers:
        """Compare each row in order with the buffer of the other class, its own class's buffer updated first."""
        if state.lengths.shape[1] != self.buffer_size:
            raise ValueError(f"buffer_size was {state.lengths.shape[1]} at the start, now it is {self.buffer_size}")
        weights, sequential = row_weights(weight), UPDATES[self.update]
        reach = self.reach(state, checked_squares(rows), float(labels.size if weight is None else weight.sum()))
        for part, block in sparse_blocks(rows):
            state = with_room(state, int(np.diff(block.indptr).max(initial=0)))
            buffer_pass(block, labels[part], weights[part], float(self.C), sequential, state)
        state.reach[:] = reach
        return state

    def weights(self, state: PairBuffers) -> Floats:
        """Return the last iterate."""
        weights: Floats = state.weights.copy()
        pay_pulls(state, weights)
        return weights

    def counts(self, state: PairBuffers) -> ClassCounts:
        """Return the weight of the rows of each class."""
        return ClassCounts(*state.counts.tolist())

    def summary(self, state: PairBuffers, weights: Floats) -> ScoreSummary:
        """Return exact counts and mean scores of the rows seen, and the score variances of the rows kept."""
        means = mean_scores(state.counts, state.sums, weights)
        variances = [np.var(_scores(state, k, weights)) if state.n_rows[k] > 0.0 else 0.0 for k in (0, 1)]
        return score_summary(state.counts, means, np.array(variances))

    def rollback(self, state: PairBuffers, rows: Rows) -> Rollback:
        """Return what puts `state` back after a step on `rows`: all weights, as rows kept before are paid into them."""
        others = (part for name, part in state._asdict().items() if name != "sums")
        return Rollback().keep(*others).keep_features([state.sums], touched_features(rows))

    def to_arrays(self, state: PairBuffers) -> Arrays:
        """Return all arrays but the columns, which say the same as the rows kept."""
        return {name: part for name, part in state._asdict().items() if name != "columns"}

    def from_arrays(self, n_features: int, arrays: NamedArrays) -> PairBuffers:
        """Return the state of so many features that gave these arrays, refused if it would lead the kernels astray."""
        of_one = self.to_arrays(OAM(buffer_size=1).start(1))
        refuse_other_names(of_one, arrays)
        for name, part in of_one.items():
            if arrays[name].dtype != part.dtype or arrays[name].ndim != part.ndim:
                raise IncompatibleMomentsError(
                    f"array {name}: expected {part.dtype} in {part.ndim} dimensions, "
                    f"got {arrays[name].dtype} in {arrays[name].ndim}"
                )
        _refuse_foreign(arrays, n_features, self.buffer_size)
        return _with_columns({name: np.array(part) for name, part in arrays.items()})

    def widen(self, state: PairBuffers, n_features: int) -> PairBuffers:
        """Return the state with room for more features, which were zero in every row so far."""
        more = n_features - state.weights.size
        wider = {"weights": np.pad(state.weights, (0, more)), "sums": np.pad(state.sums, ((0, more), (0, 0)))}
        return _with_columns({name: np.array(part) for name, part in self.to_arrays(state).items()} | wider)

    def reach(self, state: PairBuffers, more_squares: float, weight: float) -> tuple[float, float]:
        """Return the sum of squares of all values and a bound of |w| after more rows, if products can be formed."""
        squares = float(state.reach[SQUARES]) + more_squares
        total = float(state.counts.sum()) + weight
        # A row moves w by at most weight C / 2 max(buffer_size, total) |z|, and |z| is at most twice the longest row.
        far = float(state.reach[BOUND]) + weight * self.C * max(self.buffer_size, total) * np.sqrt(squares)
        if not far * max(1.0, np.sqrt(squares)) <= FARTHEST:
            raise StatisticsOverflowError(
                f"scores might overflow float64: C={self.C:g} is too large for rows of length up to "
                f"{np.sqrt(squares):.3g}; lower C or scale the features down"
            )
        return squares, float(far)


def _refuse_foreign(kept: NamedArrays, n_features: int, size: int) -> None:
    """Raise unless the arrays are those of buffers of that size, and every index is that of a feature."""
    longest = kept["indices"].shape[-1]
    width = -(-size // LANES) * LANES
    shapes = {
        "counts": (2,), "n_rows": (2,), "weights": (n_features,), "sums": (n_features, 2),
        "indices": (2, size, longest), "values": (2, size, longest), "lengths": (2, size),
        "grams": (2, width, width), "scores": (width,), "pulls": (width,), "in_use": (1,), "key": (1,), "reach": (2,),
    }  # fmt: skip
    for name, shape in shapes.items():
        if kept[name].shape != shape:
            raise IncompatibleMomentsError(f"array {name}: expected shape {shape}, got {kept[name].shape}")
    refuse_not_finite(kept)
    indices, lengths, n_rows = kept["indices"], kept["lengths"], kept["n_rows"]
    if indices.size and indices.max() >= n_features:
        raise IncompatibleMomentsError(f"array indices: expected 0 to {n_features - 1}, got {indices.max()}")
    if not (lengths.min() >= 0 and lengths.max() <= longest):
        raise IncompatibleMomentsError(
            f"array lengths: expected 0 to {longest}, got {lengths.min()} to {lengths.max()}"
        )
    numbers = (n_rows >= 0.0).all() and (n_rows <= MOST_ROWS).all()
    if not (numbers and (kept["counts"] >= 0.0).all()) or kept["in_use"][0] not in (-1, 0, 1):
        raise IncompatibleMomentsError(
            f"expected counts of rows and a class in use, got {kept['counts'].tolist()} and {kept['in_use'].tolist()}"
        )


def _with_columns(kept: Arrays) -> PairBuffers:
    """Return the state of these arrays, with the rows kept once more feature by feature if that is not too much."""
    columns = _no_columns(kept["weights"].size, kept["scores"].size)
    if columns.shape[1]:
        for k, slot in np.argwhere(kept["lengths"] > 0):
            length = kept["lengths"][k, slot]
            columns[k, kept["indices"][k, slot, :length], slot] = kept["values"][k, slot, :length]
    return PairBuffers(columns=columns, **kept)


def _no_columns(n_features: int, width: int) -> Floats:
    """Return room for the buffered rows feature by feature, if that is not too much."""
    fits = 2 * n_features * width * 8 <= COLUMN_BYTES
    return np.zeros((2, n_features if fits else 0, width))


def with_room(buffers: PairBuffers, length: int) -> PairBuffers:
    """Return the buffers with room for rows of `length` entries."""
    more = length - buffers.indices.shape[2]
    if more <= 0:
        return buffers
    wider = [np.pad(part, ((0, 0), (0, 0), (0, more))) for part in (buffers.indices, buffers.values)]
    return buffers._replace(indices=wider[0], values=wider[1])


def _scores(buffers: PairBuffers, k: int, weights: Floats) -> Floats:
    """Return the scores that the weights give to the rows kept of class k."""
    kept = int(min(buffers.n_rows[k], buffers.lengths.shape[1]))
    within = np.arange(buffers.indices.shape[2]) < buffers.lengths[k, :kept, None]
    products = np.where(within, buffers.values[k, :kept] * weights[buffers.indices[k, :kept]], 0.0)
    scores: Floats = products.sum(axis=1)
    return scores
