"""The tables of a model in seven arrays, from which one row is scored in microseconds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from opauc.additive.basis.score_tables import ScoreTables
from opauc.additive.kernels.one_row import OCTETS_BEFORE, write_row_score
from opauc.types import Array, Floats

# The type of the pool that arrays of each type go to: arrays of the same width share one.
POOLS = {"float64": "float64", "int64": "int64", "uint64": "int64", "int32": "int32", "uint8": "uint8", "int8": "uint8"}


@dataclass(frozen=True, eq=False)
class PackedTables:
    """All arrays of `ScoreTables`, those of a type one after the other: immutable, and shared by any number of threads.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.additive.basis.basis import Basis
    >>> from opauc.additive.basis.packed_tables import PackedTables
    >>> from opauc.additive.basis.score_tables import ScoreTables
    >>> basis = Basis.of(np.array([[0.0], [1.0], [4.0]]), np.ones(3), np.zeros(1, bool), n_knots=3)
    >>> PackedTables.of(ScoreTables.of(basis, np.array([1.0, 0.0, 0.0, 0.0, 2.0]))).score(np.array([[4.0]]))
    3.0
    """

    floats: Floats
    longs: NDArray[np.int64]
    ints: NDArray[np.int32]
    octets: NDArray[np.uint8]
    places: NDArray[np.int64]  # (n_arrays, 2): where each array begins and ends in its pool

    @classmethod
    def of(cls, tables: ScoreTables) -> PackedTables:
        """Return the arrays of tables and weights, in the order of their fields."""
        pools: dict[str, list[Array]] = {name: [] for name in POOLS.values()}
        sizes, places = dict.fromkeys(pools, 0), []
        for array in (*_arrays(tables.parts), *_arrays(tables.weights)):
            pool = POOLS[array.dtype.name]
            pools[pool].append(np.ascontiguousarray(array).reshape(-1).view(pool))
            places.append((sizes[pool], sizes[pool] + array.size))
            sizes[pool] += array.size
        floats, longs, ints, octets = (np.concatenate(parts) for parts in pools.values())
        return cls(floats, longs, ints, octets, np.array(places, np.int64))

    def score(self, rows: Floats) -> float:
        """Return the score of one row, of shape (1, n_inputs): to the bit that of `ScoreTables.scores`."""
        lines, out = rows.shape[1] + 1, np.empty(1)
        work = np.empty(2 * lines + 1), np.empty(lines + 1, np.int32), np.empty(OCTETS_BEFORE + self._n_coded, np.uint8)
        write_row_score(rows, self.floats, self.longs, self.ints, self.octets, self.places, *work, out)
        return out.item()

    @property
    def _n_coded(self) -> int:
        """Number of inputs that trees split on; their sources are array 32."""
        first, end = self.places[32].tolist()
        return int(end - first)


def _arrays(fields: Any) -> Iterator[Array]:
    """Yield the arrays of nested named tuples, in the order of the fields."""
    for field in fields:
        if isinstance(field, tuple):
            yield from _arrays(field)
        else:
            yield field
