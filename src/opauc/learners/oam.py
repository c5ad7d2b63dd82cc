"""OAM: online AUC maximisation of the hinge pair loss against two reservoirs of rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from opauc.errors import IncompatibleMoments, StatisticsOverflow
from opauc.kernels.descent.pair_buffers import PairBuffers, buffer_pass, pay_pulls
from opauc.kernels.simd.lanes import LANES
from opauc.learners.card_statistics import checked_squares, counts_and_means, mean_scores
from opauc.learners.class_means import CountsAndMeans
from opauc.statistics.chunk_rows import Labels, Rows
from opauc.statistics.code_stream import CodeStream
from opauc.statistics.score_summary import ScoreSummary
from opauc.statistics.thin_rows import thin_blocks

Floats = NDArray[np.float64]

# The buffered rows are kept feature by feature as well while that takes no more memory than this:
# products of a sparse row with all of them are then a few sums of short vectors.
COLUMN_BYTES = 2**24
# Scores are held below this, so that no sum of them overflows.
FARTHEST = 1e280
UPDATES = {"sequential": True, "gradient": False}


class OAMState(NamedTuple):
    """The weights and the two buffers."""

    buffers: PairBuffers

    @property
    def n_features(self) -> int:
        """Number of features."""
        return int(self.buffers.weights.size)

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Copies of all arrays but the columns, which say the same as the rows kept."""
        return {name: part.copy() for name, part in self.buffers._asdict().items() if name != "columns"}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> OAMState:
        """State from what `to_arrays` gave, refused if it would lead the kernels astray."""
        kept = {name: np.array(part) for name, part in arrays.items()}
        _refuse_foreign(kept)
        columns = _no_columns(kept["weights"].size, kept["scores"].size)
        if columns.shape[1]:
            for k, slot in np.argwhere(kept["lengths"] > 0):
                length = kept["lengths"][k, slot]
                columns[k, kept["indices"][k, slot, :length], slot] = kept["values"][k, slot, :length]
        return cls(PairBuffers(columns=columns, **kept))


@dataclass(frozen=True)
class OAM:
    """Step along the hinge losses of the pairs that each row makes with a sample of the other class.

    The sample is a reservoir of `buffer_size` rows of each class: the n-th row
    of a class enters with probability buffer_size / n, in place of a random
    one, and is then compared with the buffer of the other class (Zhao, Hoi,
    Jin, Yang 2011). With z = y (x - b) for a row b kept there and
    c = C / 2 max(1, rows of the other class / buffer_size), update

    - "sequential": for each b in turn w += min(c, max(0, 1 - w.z) / |z|^2) z,
    - "gradient": w += c times the sum of the z with w.z <= 1, all at once.

    Random numbers are functions of the seed and of a row's number in its
    class. Rows are not centred: where they lie a million times farther from
    zero than from each other, too few digits are left of |z|^2. `step` reuses
    the arrays of the state it is given; if it raises, that state is as it was.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.learners.oam import OAM
    >>> learner = OAM(update="gradient", C=0.2)
    >>> state = learner.step(learner.start(1), np.array([[0.0], [2.0]]), np.array([0, 1], np.int8))
    >>> learner.weights(state).tolist()
    [0.2]
    """

    update: str = "sequential"
    buffer_size: int = 100
    C: float = 1e-5
    random_state: Any = 0

    def start(self, n_features: int) -> OAMState:
        """Return the state before any row: zero weights, empty buffers."""
        size, width = self.buffer_size, -(-self.buffer_size // LANES) * LANES
        key = CodeStream.seeded(0, self.random_state).key
        buffers = PairBuffers(
            counts=np.zeros(2),
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
        return OAMState(buffers)

    def step(self, state: OAMState, rows: Rows, labels: Labels) -> OAMState:
        """Compare each row in order with the buffer of the other class, its own class's buffer updated first."""
        buffers = state.buffers
        if buffers.lengths.shape[1] != self.buffer_size:
            raise ValueError(f"buffer_size was {buffers.lengths.shape[1]} at the start, now it is {self.buffer_size}")
        squares, far = self._reach(buffers, rows, labels.size)
        for part, thin in thin_blocks(rows):
            buffers = _with_room(buffers, int(np.diff(thin.indptr).max(initial=0)))
            buffer_pass(thin, labels[part], self.C, UPDATES[self.update], buffers)
        buffers.reach[:] = squares, far
        return OAMState(buffers)

    def weights(self, state: OAMState) -> Floats:
        """Return the last iterate."""
        weights: Floats = state.buffers.weights.copy()
        pay_pulls(state.buffers, weights)
        return weights

    def moments(self, state: OAMState) -> CountsAndMeans:
        """Return the counts and means of the classes."""
        return counts_and_means(state.buffers.counts, state.buffers.sums)

    def summary(self, state: OAMState, weights: Floats) -> ScoreSummary:
        """Return exact counts and mean scores of the rows seen, and the score variances of the rows kept."""
        counts, means = state.buffers.counts, mean_scores(state.buffers.counts, state.buffers.sums, weights)
        variances = [np.var(_scores(state.buffers, k, weights)) if counts[k] > 0.0 else 0.0 for k in (0, 1)]
        return ScoreSummary(*((float(part[0]), float(part[1])) for part in (counts, means, variances)))

    def _reach(self, buffers: PairBuffers, rows: Rows, n_rows: int) -> tuple[float, float]:
        """Return the sum of squares of all values and a bound of |w| after `rows`, if their products can be formed."""
        squares = float(buffers.reach[0]) + checked_squares(rows)
        total = float(buffers.counts.sum()) + n_rows
        # Each row moves w by at most C / 2 max(buffer_size, total) |z|, and |z| is at most twice the longest row.
        far = float(buffers.reach[1]) + n_rows * self.C * max(self.buffer_size, total) * np.sqrt(squares)
        if not far * max(1.0, np.sqrt(squares)) <= FARTHEST:
            raise StatisticsOverflow(
                f"scores might overflow float64: C={self.C:g} is too large for rows of length up to "
                f"{np.sqrt(squares):.3g}; lower C or scale the features down"
            )
        return squares, float(far)


def _refuse_foreign(kept: Mapping[str, NDArray[Any]]) -> None:
    """Raise unless the arrays of a state fit each other and every index is that of a feature."""
    n_features, size, longest = kept["weights"].size, kept["lengths"].shape[-1], kept["indices"].shape[-1]
    width = -(-size // LANES) * LANES
    shapes = {
        "counts": (2,), "weights": (n_features,), "sums": (n_features, 2), "indices": (2, size, longest),
        "values": (2, size, longest), "lengths": (2, size), "grams": (2, width, width), "scores": (width,),
        "pulls": (width,), "in_use": (1,), "key": (1,), "reach": (2,),
    }  # fmt: skip
    for name, shape in shapes.items():
        if kept[name].shape != shape:
            raise IncompatibleMoments(f"array {name}: expected shape {shape}, got {kept[name].shape}")
    indices, lengths = kept["indices"], kept["lengths"]
    if indices.size and indices.max() >= n_features:
        raise IncompatibleMoments(f"array indices: expected 0 to {n_features - 1}, got {indices.max()}")
    if not (lengths.min() >= 0 and lengths.max() <= longest):
        raise IncompatibleMoments(f"array lengths: expected 0 to {longest}, got {lengths.min()} to {lengths.max()}")
    if not (kept["counts"] >= 0.0).all() or kept["in_use"][0] not in (-1, 0, 1):
        raise IncompatibleMoments(
            f"expected counts of rows and a class in use, got {kept['counts'].tolist()} and {kept['in_use'].tolist()}"
        )


def _no_columns(n_features: int, width: int) -> Floats:
    """Return room for the buffered rows feature by feature, if that is not too much."""
    fits = 2 * n_features * width * 8 <= COLUMN_BYTES
    return np.zeros((2, n_features if fits else 0, width))


def _with_room(buffers: PairBuffers, length: int) -> PairBuffers:
    """Return the buffers with room for rows of `length` entries."""
    more = length - buffers.indices.shape[2]
    if more <= 0:
        return buffers
    wider = [np.pad(part, ((0, 0), (0, 0), (0, more))) for part in (buffers.indices, buffers.values)]
    return buffers._replace(indices=wider[0], values=wider[1])


def _scores(buffers: PairBuffers, k: int, weights: Floats) -> Floats:
    """Return the scores that the weights give to the rows kept of class k."""
    kept = int(min(buffers.counts[k], buffers.lengths.shape[1]))
    within = np.arange(buffers.indices.shape[2]) < buffers.lengths[k, :kept, None]
    products = np.where(within, buffers.values[k, :kept] * weights[buffers.indices[k, :kept]], 0.0)
    scores: Floats = products.sum(axis=1)
    return scores
