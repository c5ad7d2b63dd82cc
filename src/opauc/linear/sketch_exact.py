"""The exact minimizer with sketched covariance matrices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from opauc.core.parameters import NON_NEGATIVE, Count, Seed, parameter
from opauc.core.solver import MergeableSolver
from opauc.core.transaction import Rollback, touched_features
from opauc.linear.moments.sketch import ClassSketch, SignStream, check_sketch_rank
from opauc.types import Floats, Labels, NamedArrays, Rows, random_key


@dataclass(frozen=True)
class SketchedExact(MergeableSolver[ClassSketch]):
    """Minimizer of `Exact` with each class covariance replaced by its sketch of rank `rank`.

    The matrix of the normal equations is alpha I plus a matrix in the span of the
    sketch's columns and the mean difference, so the minimizer is a combination of
    those (Woodbury): O(d rank^2) once, then O(rank^3) for each alpha. The state is
    a `ClassSketch`; sketches with different random signs merge.

    Parameters
    ----------
    alpha : float, default=1e-4
        Strength of the L2 penalty.
    rank : int, default=50
        Rank of the sketch of each class covariance.
    random_state : int, RandomState or None, default=0
        Seed of the random signs.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.linear.sketch_exact import SketchedExact
    >>> solver = SketchedExact(alpha=0.5, rank=0)  # no covariance: proportional to the mean difference
    >>> state = solver.step(solver.start(1), np.array([[0.0], [2.0]]), np.array([0, 1], np.int8))
    >>> solver.weights(state).round(4).tolist()
    [0.4444]
    """

    name: ClassVar[str] = "sketched_exact"

    alpha: float = parameter(1e-4, NON_NEGATIVE)
    rank: int = parameter(50, Count(0))
    random_state: int | np.random.RandomState | None = parameter(0, Seed())

    @property
    def order_matters(self) -> bool:
        """Whether the order of rows matters: the random signs of a row depend on its number."""
        return True

    def start(self, n_features: int) -> ClassSketch:
        """Return a sketch of no rows."""
        return ClassSketch.empty(n_features, SignStream.seeded(self.rank, self.random_state))

    def shard_key(self) -> int:
        """Return the seed from which the shards of a run derive their random signs."""
        return random_key(self.random_state)

    def of_shard(self, key: int, shard: int) -> SketchedExact:
        """Return the solver for one shard, with its own random signs."""
        return replace(self, random_state=random_key(np.random.RandomState([key % 2**32, key >> 32, shard])))

    def from_arrays(self, n_features: int, arrays: NamedArrays) -> ClassSketch:
        """Return the sketch from its arrays, checked before memory is allocated."""
        check_sketch_rank(self.rank, arrays)
        return super().from_arrays(n_features, arrays)

    def step(self, state: ClassSketch, rows: Rows, labels: Labels, weight: Floats | None = None) -> ClassSketch:
        """Return the sketch of the earlier rows and these, in the arrays of `state`."""
        return state.absorb(rows, labels, weight)

    def rollback(self, state: ClassSketch, rows: Rows) -> Rollback:
        """Return a rollback of `state` for a step on `rows`: it keeps only the features of these rows."""
        return Rollback().keep(state.sign_sums).keep_features([state.sums], touched_features(rows))

    def statistics(self, state: ClassSketch) -> ClassSketch:
        """Return a copy of the sketch: steps write into the arrays of the state."""
        return state.copy()

    def merge(self, state: ClassSketch, other: ClassSketch) -> ClassSketch:
        """Return the sketch of the rows of both, in arrays not shared with `other`."""
        merged = state.merge(other)
        return merged.copy() if merged is other else merged

    def weights(self, state: ClassSketch) -> Floats:
        """Return the minimizer; zero before both classes were seen."""
        weights: Floats = self.path(state, [self.alpha])[0]
        return weights

    def rows_worth_a_solve(self, n_features: int) -> int:
        """Return the number of rows whose processing costs about as much as computing the weights."""
        return n_features * self.rank // 50

    def forget(
        self,
        state: ClassSketch,
        rows: Rows,
        labels: Labels,
        weight: Floats | None = None,
        row_numbers: ArrayLike | None = None,
    ) -> ClassSketch:
        """Return the sketch without these rows, with these row numbers (from 0)."""
        if row_numbers is None:
            raise ValueError("forget needs row_numbers where the model keeps a sketch, rank > 0")
        return state.forget(rows, labels, row_numbers, weight)

    def path(self, state: ClassSketch, alphas: Sequence[float]) -> Floats:
        """Return the minimizer for each alpha, one per row."""
        out = np.zeros((len(alphas), state.n_features))
        if not state.counts.both or not len(alphas):
            return out
        columns, difference = _columns(state)
        values, vectors = np.linalg.eigh(columns.T @ columns)
        inner = vectors.T @ (columns.T @ difference)
        for row, alpha in zip(out, alphas, strict=True):
            row[:] = _minimizer(columns, difference, values, vectors, inner, alpha)
        return out


def _columns(state: ClassSketch) -> tuple[Floats, Floats]:
    """Return B with B B^T the sum of the sketched covariances, and the difference of the means."""
    parts = []
    for k in (0, 1):
        sums, count = state.sign_sums[k], state.counts[k]
        parts.append((state.sums[:, k, :-1] - np.outer(state.means[k], sums[:-1])) / np.sqrt(count))
    return np.hstack(parts), state.mean_difference()


def _minimizer(
    columns: Floats, difference: Floats, values: Floats, vectors: Floats, inner: Floats, alpha: float
) -> Floats:
    """Solve (alpha I + B B^T + d d^T) w = d by the eigenvectors of B^T B; the w of least norm where alpha is zero.

    For B^T B v = s v, the matrix is alpha + s along B v, and alpha alone on the
    orthogonal complement, where the remaining part of d is fitted without error.
    """
    floor = values[-1] * values.size * np.finfo(float).eps if values.size else 0.0
    nonzero = values > max(floor, 0.0)
    share = inner[nonzero] / values[nonzero]
    outside = difference - columns @ (vectors[:, nonzero] @ share)
    rest = float(outside @ outside)
    if alpha == 0.0:
        if rest > 1e-12 * float(difference @ difference):
            return outside / rest
        solution = columns @ (vectors[:, nonzero] @ (share / values[nonzero]))
    else:
        solution = columns @ (vectors[:, nonzero] @ (share / (alpha + values[nonzero]))) + outside / alpha
    return solution / (1.0 + difference @ solution)
