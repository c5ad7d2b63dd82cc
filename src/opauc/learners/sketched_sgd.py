"""OPAUCr: Algorithm 1 with sketched covariance matrices, at a cost per row that does not depend on the dimension."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from opauc.errors import IncompatibleMoments
from opauc.kernels.descent.feature_table import (
    PATIENCE,
    PLACE,
    VALUES,
    WEIGHT,
    WEIGHT_SUM,
    FeatureTable,
    product_with_table,
    table_product,
    write_sums,
)
from opauc.kernels.descent.sketch_descent import SketchWeights, sketch_pass
from opauc.learners.sgd import LEARNING_RATES, refuse_divergence
from opauc.statistics.chunk_rows import Labels, Rows, kernel_rows
from opauc.statistics.class_sketch import ClassSketch, summary_of_products
from opauc.statistics.code_stream import CodeStream
from opauc.statistics.score_summary import ScoreSummary

Floats = NDArray[np.float64]

# (centred?, share of mean mean^T that is subtracted otherwise; -1 stands for |sum of codes|^2 / count^2)
CENTRINGS = {"centred": (True, 0.0), "printed": (False, -1.0), "mean": (False, 1.0)}
# From this many features on, most are met too rarely to be given a row of the table at once.
DEFER_FROM = 50_000
# Still stable, and in one pass over many features the theorem's own step does not get far enough.
RELATIVE_STEP = 2.0
# Whole numbers beyond this are no longer counted one by one.
MOST_ROWS = 2.0**53


def aligned_zeros(shape: Any, dtype: Any = "float64") -> NDArray[Any]:
    """Return zeros that start at a multiple of 64 bytes, as cache lines do."""
    size = shape[0] * shape[1] * np.dtype(dtype).itemsize
    room = np.zeros(size + 64, np.uint8)
    start = -room.ctypes.data % 64
    zeros: NDArray[Any] = room[start : start + size].view(dtype).reshape(shape)
    return zeros


class SketchState(NamedTuple):
    """The feature table, the weights in terms of it, and the stream of codes."""

    table: FeatureTable
    parts: SketchWeights
    stream: CodeStream

    def copy(self) -> SketchState:
        """Return a state that shares nothing with this one."""
        used = int(self.table.used[0])
        rows = aligned_zeros(self.table.rows.shape, self.table.rows.dtype)
        rows[:used] = self.table.rows[:used]
        cards = aligned_zeros(self.table.cards.shape)
        cards[:] = self.table.cards
        table = self.table._replace(rows=rows, cards=cards, used=self.table.used.copy())
        return SketchState(table, SketchWeights(*(part.copy() for part in self.parts)), self.stream)


@dataclass(frozen=True)
class SketchedSGD:
    """Descend with the covariance of the other class replaced by a sketch of rank `rank`.

    `centring` tells which sketch: "centred" is C C^T / T with C = Z - c s^T, s
    the sum of codes; "printed" and "mean" are the paper's Z Z^T / T less
    nearly nothing, and less c c^T. A step "theorem" is twice that of `SGD`.
    With `average`, the weights are the mean of the iterates, that of row t
    weighted by t^2: in high dimension the first ones are bad, and a plain
    mean remembers them. `step` reuses the arrays of the state it is given;
    if it raises, that state is as it was.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.learners.sketched_sgd import SketchedSGD
    >>> learner = SketchedSGD(alpha=0.0, eta0=0.1, learning_rate="constant", average=False, rank=2)
    >>> state = learner.step(learner.start(1), np.array([[0.0], [2.0]]), np.array([0, 1], np.int8))
    >>> learner.weights(state).tolist()
    [0.2]
    """

    alpha: float = 1e-4
    eta0: float = 1e4
    learning_rate: str = "theorem"
    average: bool = True
    rank: int = 50
    random_state: Any = 0
    centring: str = "centred"
    gaussian: bool = False
    dtype: str = "float64"

    def start(self, n_features: int) -> SketchState:
        """Return the state before any row; memory is taken as features turn up."""
        stream = CodeStream.seeded(self.rank, self.random_state, self.gaussian)
        patience = PATIENCE if n_features >= DEFER_FROM and not self.gaussian else 0
        width = stream.width
        table = FeatureTable(
            rows=aligned_zeros((n_features, 2 * width), self.dtype),
            cards=aligned_zeros((n_features, VALUES + patience)),
            used=np.zeros(1, np.int64),
            key=np.array([stream.key], np.uint64),
            rank=np.array([self.rank]),
        )
        parts = SketchWeights(
            coefficients=np.zeros((2, width)),
            coefficient_sums=np.zeros((2, width)),
            products=np.zeros((2, width)),
            own_grams=np.zeros((2, width, width)),
            cross_gram=np.zeros((width, width)),
            code_sums=np.zeros((2, width)),
            scalars=np.array([1.0, 0.0, 0.0, 0.0, 0.0, 0.0]),
        )
        return SketchState(table, parts, stream)

    def step(self, state: SketchState, rows: Rows, labels: Labels, codes: Floats | None = None) -> SketchState:
        """Take a step on each row in order; `codes` replaces the random ones in tests of the mathematics."""
        thin = rows if sparse.issparse(rows) else sparse.csr_array(rows)
        relative, sizes = LEARNING_RATES[self.learning_rate]
        numbers = state.parts.scalars[3] + np.arange(1.0, rows.shape[0] + 1.0)
        step_sizes = sizes(self.eta0, numbers) * (RELATIVE_STEP if relative else 1.0)
        # A step relative to the curvature cannot overflow; any other may, and then all has to be put back.
        kept = state if relative else state.copy()
        given = np.empty((0, state.stream.width)) if codes is None else codes
        if codes is not None and given.shape != (rows.shape[0], state.stream.width):
            raise ValueError(f"codes must be of shape {(rows.shape[0], state.stream.width)}, got {given.shape}")
        options = (self.alpha, *CENTRINGS[self.centring], self.gaussian)
        sketch_pass(kernel_rows(thin), labels, given, step_sizes, relative, numbers**2, options, kept.table, kept.parts)
        refuse_divergence(self, kept.parts, kept.parts.scalars[5])
        return kept

    def weights(self, state: SketchState) -> Floats:
        """Return the mean of the iterates, or the last of them, as one number a feature."""
        parts, cards = state.parts, state.table.cards
        out = np.empty(cards.shape[0])
        if not self.average:
            table_product(state.table, parts.coefficients, out)
            out += parts.scalars[0] * cards[:, WEIGHT]
            return out
        table_product(state.table, parts.coefficient_sums, out)
        out += parts.scalars[1] * cards[:, WEIGHT] + cards[:, WEIGHT_SUM]
        out /= parts.scalars[2] or 1.0
        return out

    def moments(self, state: SketchState) -> ClassSketch:
        """Return the class sketches."""
        sums = np.zeros((state.table.cards.shape[0], 2, state.stream.width))
        write_sums(state.table, sums)
        return ClassSketch(sums, state.parts.code_sums.copy(), state.stream, int(state.parts.scalars[3]))

    def rows_worth_a_solve(self, n_features: int) -> int:
        """Return how many rows cost about as much to learn as the weights cost to work out."""
        return n_features // 50

    def check_state(self, state: SketchState) -> None:
        """Refuse a state from a file that would lead the kernels astray."""
        table, stream, used = state.table, state.stream, int(state.table.used[0])
        places = table.cards[:, PLACE]
        if not np.array_equal(np.sort(-1.0 - places[places < 0.0]), np.arange(used)):
            raise IncompatibleMoments(f"expected each of the {used} rows of the table to belong to one feature")
        if (int(table.rank[0]), int(table.key[0])) != (stream.rank, stream.key) or stream.rank != self.rank:
            raise IncompatibleMoments(f"expected codes of rank {self.rank}, got {stream.rank} and {table.rank[0]}")
        if not 0.0 <= state.parts.scalars[3] < MOST_ROWS:
            raise IncompatibleMoments(f"expected a number of rows, got {state.parts.scalars[3]:g}")

    def summary(self, state: SketchState, weights: Floats) -> ScoreSummary:
        """Return what the sketch says of the scores."""
        products = np.empty_like(state.parts.code_sums)
        product_with_table(state.table, weights, products)
        return summary_of_products(products, state.parts.code_sums)
