"""OPAUCr: Algorithm 1 with sketched covariance matrices; the cost per row does not depend on the dimension."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import DTypeLike
from scipy import sparse

from opauc.core.mergeable import ScoreSummary
from opauc.core.parameters import NON_NEGATIVE, POSITIVE, SWITCH, Count, Option, Seed, parameter
from opauc.core.row_blocks import csr_rows, row_weights
from opauc.core.solver import Solver
from opauc.core.transaction import Rollback, touched_features
from opauc.errors import IncompatibleMomentsError
from opauc.linear.kernels.feature_records import (
    CURVATURE,
    FACTOR,
    FACTOR_SUM,
    LINE,
    N_EARLY,
    RECENT_EXCESS,
    ROWS,
    SHARE_SUM,
    VALUES,
    WEIGHT,
    WEIGHT_SUM,
    FeatureTable,
    SketchOptions,
    SketchWeights,
    SketchWorkspace,
    product_with_table,
    table_product,
    write_sums,
)
from opauc.linear.kernels.sketch_sgd import SMALLEST_FACTOR, sketch_pass
from opauc.linear.moments.sketch import ClassSketch, SignStream, check_sketch_rank, summary_of_products
from opauc.linear.sgd import LEARNING_RATES, check_divergence, stays_above, step_sizes
from opauc.types import Array, Arrays, ClassCounts, Floats, Labels, NamedArrays, Rows

# SketchOptions.centered and mean_share of each value of `centering`.
CENTERINGS = {"centered": (True, 0.0), "printed": (False, -1.0), "mean": (False, 1.0)}
# Factor on "curvature" steps: still stable, and in one pass over many features the plain step does not get far enough.
RELATIVE_STEP = 2.0
# float64 counts rows one by one up to here.
MAX_ROWS = 2.0**53


def aligned_zeros(shape: tuple[int, int], dtype: DTypeLike = "float64") -> Array:
    """Return zeros aligned to cache lines of 64 bytes."""
    size = shape[0] * shape[1] * np.dtype(dtype).itemsize
    memory = np.zeros(size + 64, np.uint8)
    start = -memory.ctypes.data % 64
    zeros: Array = memory[start : start + size].view(dtype).reshape(shape)
    return zeros


class SketchState(NamedTuple):
    """The feature table, the weights in terms of it, and the source of random signs."""

    table: FeatureTable
    parts: SketchWeights
    stream: SignStream


@dataclass(frozen=True)
class SketchedSGD(Solver[SketchState]):
    """OPAUCr of the paper: `SGD` with the covariance of the other class replaced by a sketch of rank `rank`.

    With Z the sum over the rows x of a class of x signs^T, c its mean, s the sum
    of signs and T the number of rows, the covariance is estimated by
    C C^T / T, C = Z - c s^T. The estimate is unbiased and positive semi-definite.

    A row of weight v counts v times in mean and count, and Z gains
    sqrt(v) x signs^T, so that the sketch estimates the weighted covariance. The
    weight is also a factor on the gradient of the row's loss, not on alpha w.
    `step` writes into the state it is given.

    Parameters
    ----------
    alpha, eta0, learning_rate
        As in `SGD`; "curvature" steps are twice as long.
    average : bool, default=True
        Whether the weights are the mean of the iterates, where iterate t has
        weight t^2, or the last iterate. In high dimension the first iterates are
        bad and would dominate a plain mean.
    rank : int, default=50
        Rank of the sketch of each class covariance.
    random_state : int, RandomState or None, default=0
        Seed of the random signs.
    centering : {"centered", "printed", "mean"}, default="centered"
        Covariance estimate: "centered" as above; "printed" is the formula as
        printed in the paper, Z Z^T / T - |s|^2 / T^2 c c^T; "mean" is
        Z Z^T / T - c c^T.
    gaussian : bool, default=False
        Whether to use Gaussian numbers instead of signs.
    dtype : {"float64", "float32"}, default="float64"
        Type of the sketch in memory.
    defer_from : int, default=50000
        Number of features from which on a feature gets a line of the table only after several occurrences: of many
        features most occur rarely. The weights are the same.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.linear.sketch_sgd import SketchedSGD
    >>> solver = SketchedSGD(alpha=0.0, eta0=0.1, learning_rate="constant", average=False, rank=2)
    >>> state = solver.step(solver.start(1), np.array([[0.0], [2.0]]), np.array([0, 1], np.int8))
    >>> solver.weights(state).tolist()
    [0.2]
    """

    name: ClassVar[str] = "sketched_sgd"

    has_statistics: ClassVar[bool] = True

    alpha: float = parameter(1e-4, NON_NEGATIVE)
    eta0: float = parameter(1e4, POSITIVE)
    learning_rate: str = parameter("curvature", Option(tuple(LEARNING_RATES)))
    average: bool = parameter(True, SWITCH)
    rank: int = parameter(50, Count(0))
    random_state: int | np.random.RandomState | None = parameter(0, Seed())
    centering: str = parameter("centered", Option(tuple(CENTERINGS)))
    gaussian: bool = parameter(False, SWITCH)
    dtype: str = parameter("float64", Option(("float64", "float32")))
    defer_from: int = parameter(50_000, Count(0))

    def start(self, n_features: int) -> SketchState:
        """Return the state before any row; the system commits memory as features occur."""
        stream = SignStream.seeded(self.rank, self.random_state, self.gaussian)
        n_early = N_EARLY if n_features >= self.defer_from and not self.gaussian else 0
        width = stream.width
        table = FeatureTable(
            rows=aligned_zeros((n_features, 2 * width), self.dtype),
            records=aligned_zeros((n_features, VALUES + n_early)),
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
            sign_sums=np.zeros((2, width)),
            scalars=np.array([1.0, 0.0, 0.0, 0.0, 0.0, 0.0]),
        )
        return SketchState(table, parts, stream)

    def step(
        self,
        state: SketchState,
        rows: Rows,
        labels: Labels,
        weight: Floats | None = None,
        sign_rows: Floats | None = None,
    ) -> SketchState:
        """Take a step on each row in order; `sign_rows` replaces the random signs in tests."""
        entries = sparse.csr_array(rows) if isinstance(rows, np.ndarray) else rows
        signs = np.empty((0, state.stream.width)) if sign_rows is None else sign_rows
        if sign_rows is not None and signs.shape != (rows.shape[0], state.stream.width):
            raise ValueError(f"sign_rows must be of shape {(rows.shape[0], state.stream.width)}, got {signs.shape}")
        relative, sizes = self._step_sizes(state, rows.shape[0])
        shares = (state.parts.scalars[ROWS] + np.arange(1.0, rows.shape[0] + 1.0)) ** 2
        options = SketchOptions(float(self.alpha), relative, *CENTERINGS[self.centering], self.gaussian)
        longest = int(np.diff(entries.indptr).max(initial=0))
        workspace = SketchWorkspace.of(state.stream.width, longest, state.table.rows.dtype)
        sketch_pass(
            csr_rows(entries.data, entries.indices, entries.indptr), labels, row_weights(weight),
            signs, sizes, shares, options, state.table, state.parts, workspace,
        )  # fmt: skip
        check_divergence(self, state.parts, state.parts.scalars[RECENT_EXCESS])
        return state

    def weights(self, state: SketchState) -> Floats:
        """Return the mean of the iterates or the last iterate."""
        parts, records = state.parts, state.table.records
        out = np.empty(records.shape[0])
        if not self.average:
            table_product(state.table, parts.coefficients, out)
            out += parts.scalars[FACTOR] * records[:, WEIGHT]
            return out
        table_product(state.table, parts.coefficient_sums, out)
        out += parts.scalars[FACTOR_SUM] * records[:, WEIGHT] + records[:, WEIGHT_SUM]
        out /= parts.scalars[SHARE_SUM] or 1.0
        return out

    def counts(self, state: SketchState) -> ClassCounts:
        """Return the total weight of the rows of each class."""
        return ClassCounts(*state.parts.sign_sums[:, -1].tolist())

    def summary(self, state: SketchState, weights: Floats) -> ScoreSummary:
        """Return counts, means and estimated variances of the scores from the sketch."""
        products = np.empty_like(state.parts.sign_sums)
        product_with_table(state.table, weights, products)
        return summary_of_products(products, state.parts.sign_sums)

    def statistics(self, state: SketchState) -> ClassSketch:
        """Return the class sketches."""
        sums = np.zeros((state.table.records.shape[0], 2, state.stream.width))
        write_sums(state.table, sums)
        return ClassSketch(sums, state.parts.sign_sums.copy(), state.stream, int(state.parts.scalars[ROWS]))

    def rollback(self, state: SketchState, rows: Rows) -> Rollback:
        """Return a rollback of `state` for a step on `rows`; it clears lines of the table allocated since."""
        table, used = state.table, int(state.table.used[0])
        features = touched_features(rows, wide=True)
        lines = -1.0 - (table.records[:, LINE] if features is None else table.records[features, LINE])
        lines_in_use = lines[lines >= 0.0].astype(np.int64)

        def clear() -> None:
            table.rows[used : int(table.used[0])] = 0.0

        # Clearing reads the new `used`, so it runs before `used` is restored.
        undo = Rollback().then(clear).keep(table.used, *state.parts).keep_features([table.rows], lines_in_use)
        return undo.keep_features([table.records], features if self._touches_only(state, rows.shape[0]) else None)

    def to_arrays(self, state: SketchState) -> Arrays:
        """Return the arrays of a state by name, without unused lines of the table."""
        table = state.table._replace(rows=state.table.rows[: state.table.used[0]])
        return super().to_arrays(state._replace(table=table))

    def rows_worth_a_solve(self, n_features: int) -> int:
        """Return the number of rows whose processing costs about as much as computing the weights."""
        return n_features // 50

    def from_arrays(self, n_features: int, arrays: NamedArrays) -> SketchState:
        """Return the state from its arrays, checked before memory is allocated."""
        check_sketch_rank(self.rank, arrays, "parts.sign_sums")
        return super().from_arrays(n_features, arrays)

    def check(self, state: SketchState) -> None:
        """Raise where a state from a file has values that the kernels cannot handle."""
        table, stream, used = state.table, state.stream, int(state.table.used[0])
        lines, n_rows = table.records[:, LINE], state.parts.scalars[ROWS]
        in_use = np.sort(-1.0 - lines[lines < 0.0])
        if in_use.size != used or not np.array_equal(in_use, np.arange(in_use.size)):
            raise IncompatibleMomentsError(f"expected each of the {used} lines of the table to belong to one feature")
        if (int(table.rank[0]), int(table.key[0])) != (stream.rank, stream.key) or stream.rank != self.rank:
            raise IncompatibleMomentsError(f"expected signs of rank {self.rank}, got {stream.rank} and {table.rank[0]}")
        if not 0.0 <= n_rows < MAX_ROWS:
            raise IncompatibleMomentsError(f"expected a number of rows, got {n_rows:g}")

    def _step_sizes(self, state: SketchState, n_rows: int) -> tuple[bool, Floats]:
        relative, sizes = step_sizes(self, state.parts.scalars[ROWS], n_rows)
        return relative, sizes * RELATIVE_STEP if relative else sizes

    def _touches_only(self, state: SketchState, n_rows: int) -> bool:
        """Return whether steps on the next rows surely write only to the features of these rows."""
        relative, sizes = self._step_sizes(state, n_rows)
        unit = state.parts.scalars[CURVATURE] if relative else 1.0  # the curvature never decreases
        if self.alpha == 0.0 or unit == 0.0:
            return self.alpha == 0.0
        return stays_above(SMALLEST_FACTOR, state.parts.scalars[FACTOR], 1.0 - sizes * (self.alpha / unit))
