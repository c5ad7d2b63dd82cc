"""How like a row is to landmarks among the rows of the sample: all inputs acting together, on bases of before."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from opauc.additive.basis.groups import GroupKind
from opauc.additive.kernels.landmarks import write_positions
from opauc.additive.kernels.rows import BasisTables
from opauc.types import Arrays, Floats, NamedArrays

# Added to the likeness of each landmark to itself, so that landmarks which lie together do no harm.
JITTER = 1e-3
# So many rows at a time stay in the cache.
ROWS_AT_ONCE = 256
# Positions of which fewer are not zero are multiplied one by one.
SPARSE_SHARE = 0.1
PARTS = ("scales", "middles", "level_places", "places", "width")


@dataclass(frozen=True, eq=False)
class Landmarks:
    """Landmarks z and the columns k(x, z) of a row x, k = exp(-|u(x) - u(z)|^2 / 2 width^2).

    The position u of a value is the place between the knots of its input,
    counted from zero to one, times the scale of the input; a category lies at
    its level's place, a missing value at the middle of its input.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.additive.basis.basis import Basis
    >>> from opauc.additive.basis.landmarks import Landmarks
    >>> basis = Basis.of(np.array([[0.0], [1.0], [4.0]]), np.ones(3), np.zeros(1, bool), n_knots=3)
    >>> marks = Landmarks(np.ones(1), np.full(1, 0.5), np.empty(0), np.array([[0.0], [1.0]]), width=0.5)
    >>> marks.columns(basis.tables, np.array([[0.0], [4.0]])).round(2).tolist()
    [[1.0, 0.14], [0.14, 1.0]]
    """

    scales: Floats  # (n_inputs,): zero where an input plays no part
    middles: Floats  # (n_inputs,)
    level_places: Floats  # of all levels of all categorical inputs
    places: Floats  # (n_landmarks, n_inputs): their positions
    width: float
    kind: ClassVar = GroupKind.LANDMARKS
    prefix: ClassVar = "landmarks."  # of the names of its arrays

    @property
    def size(self) -> int:
        """Columns."""
        return len(self.places)

    @property
    def n_entries(self) -> int:
        """Entries of a row."""
        return self.size

    @cached_property
    def roughness(self) -> Floats:
        """The matrix of the penalty: the likeness of the landmarks among each other, as a kernel machine has it."""
        matrix: Floats = self._likeness(self.places)
        return 0.5 * (matrix + matrix.T) + JITTER * np.eye(self.size)

    def positions(self, tables: BasisTables, rows: Floats) -> Floats:
        """Return where rows lie."""
        out = np.empty(rows.shape)
        starts = (np.cumsum(tables.n_levels) - tables.n_levels).astype(np.int64)
        write_positions(np.ascontiguousarray(rows), tables, self.level_places, starts, self.middles, self.scales, out)
        return out

    def columns(self, tables: BasisTables, rows: Floats) -> Floats:
        """Return the columns of rows of numbers."""
        return self._likeness(self.positions(tables, rows))

    def entries(self, tables: BasisTables, rows: Floats) -> tuple[NDArray[np.int32], Floats]:
        """Return the columns that rows have entries in, and these."""
        return np.tile(np.arange(self.size, dtype=np.int32), (len(rows), 1)), self.columns(tables, rows)

    def products(self, tables: BasisTables, rows: Floats, weights: Floats) -> Floats:
        """Return the product of the weights with the columns of each row."""
        return np.asarray(self.columns(tables, rows) @ weights)

    def names(self) -> list[str]:
        """Return a name for each column."""
        return [f"landmark {number}" for number in range(self.size)]

    def to_arrays(self) -> Arrays:
        """Return all there is, for a file or the network."""
        return {name: np.atleast_1d(np.array(getattr(self, name))) for name in PARTS}

    @classmethod
    def from_arrays(cls, tables: BasisTables, arrays: NamedArrays) -> Self:
        """Return the landmarks of a basis that gave these arrays, refused unless some can have."""
        n_inputs, n_levels = tables.kinds.size, int(tables.n_levels.sum())
        if set(arrays) != set(PARTS):
            raise ValueError(f"landmarks: expected arrays {', '.join(PARTS)}, got {', '.join(sorted(arrays))}")
        found = {name: np.ascontiguousarray(arrays[name]) for name in PARTS}
        shapes = {"scales": (n_inputs,), "middles": (n_inputs,), "level_places": (n_levels,), "width": (1,)}
        n_landmarks = len(found["places"])
        for name, array in found.items():
            shape = shapes.get(name, (n_landmarks, n_inputs))
            if array.shape != shape or array.dtype != np.float64 or not np.isfinite(array).all():
                raise ValueError(f"landmarks: {name}: expected finite float64 numbers of shape {shape}")
        width = float(found.pop("width")[0])
        if not (width > 0.0 and n_landmarks > 0):
            raise ValueError("landmarks: expected one or more, and a width above zero")
        return cls(**found, width=width)

    @cached_property
    def _factor(self) -> Floats:
        """The landmarks as one factor of a product, the other being positions: z, 1, -|z|^2 / 2 width^2."""
        theirs = -0.5 / self.width**2 * np.einsum("ij,ij->i", self.places, self.places)
        return np.column_stack([self.places, np.ones_like(theirs), theirs]).T.copy()

    def _likeness(self, positions: Floats) -> Floats:
        """Return how like positions are to the landmarks, one where they are the same."""
        narrow = 1.0 / self.width**2
        out = np.empty((len(positions), self.size))
        for start in range(0, len(positions), ROWS_AT_ONCE):
            own, part = positions[start : start + ROWS_AT_ONCE], out[start : start + ROWS_AT_ONCE]
            half = -0.5 * narrow * np.einsum("ij,ij->i", own, own)
            # One product gives u.z - |u|^2 / 2 - |z|^2 / 2, all over the width's square.
            sides = np.column_stack([narrow * own, half, np.ones_like(half)])
            if np.count_nonzero(sides) < SPARSE_SHARE * sides.size:
                part[...] = csr_array(sides) @ self._factor
            else:
                np.matmul(sides, self._factor, out=part)
            np.minimum(part, 0.0, out=part)
            np.exp(part, out=part)
        return out
