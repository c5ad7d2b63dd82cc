"""Sums as the numbers that are not zero and where they are: small in files, and added without building the rest."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from opauc.core.array_schema import ArrayRule, check_arrays
from opauc.errors import IncompatibleMomentsError
from opauc.types import Arrays, Floats, NamedArrays

# Positions of a number take 32 bits, marks of zero and not zero one bit per number of the array.
POSITION_BITS = 32
VALUES, POSITIONS, MARKS = "values", "positions", "marks"
SCHEMA = {
    VALUES: ArrayRule("float64", "filled"),
    POSITIONS: ArrayRule("uint32", "filled", rising=True, below="size", optional=True),
    MARKS: ArrayRule("uint8", "bytes", optional=True),
}


class PackedArray(NamedTuple):
    """The numbers of a flat array that are not zero, and their positions; None where none is zero.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.core.packed_sums import PackedArray
    >>> packed, total = PackedArray.of(np.array([0.0, 3.0, 0.0, 5.0])), np.ones(4)
    >>> packed.add_to(total, factor=2.0)
    >>> packed.values.tolist(), total.tolist()
    ([3.0, 5.0], [1.0, 7.0, 1.0, 11.0])
    """

    size: int
    positions: NDArray[np.int64] | None
    values: Floats

    @classmethod
    def of(cls, numbers: ArrayLike) -> PackedArray:
        """Pack the numbers of an array of any shape, in the order of its rows."""
        flat = np.asarray(numbers, np.float64).reshape(-1)
        filled = np.flatnonzero(flat)
        return cls(flat.size, None, flat.copy()) if filled.size == flat.size else cls(flat.size, filled, flat[filled])

    def add_to(self, total: Floats, factor: float = 1.0) -> None:
        """Add the numbers, times a factor, to a flat array in place."""
        values = self.values if factor == 1.0 else factor * self.values
        if self.positions is None:
            total += values
        else:
            total[self.positions] += values

    def dense(self) -> Floats:
        """Return all numbers as a flat array."""
        total = np.zeros(self.size)
        self.add_to(total)
        return total

    def to_arrays(self) -> Arrays:
        """Return the numbers, and positions or marks, whichever are smaller."""
        if self.positions is None:
            return {VALUES: self.values}
        if POSITION_BITS * self.positions.size < self.size:
            return {VALUES: self.values, POSITIONS: self.positions.astype(np.uint32)}
        marks = np.zeros(self.size, np.bool_)
        marks[self.positions] = True
        return {VALUES: self.values, MARKS: np.packbits(marks)}

    @classmethod
    def from_arrays(cls, size: int, arrays: NamedArrays) -> PackedArray:
        """Return what `to_arrays` gave for an array of this size; raise IncompatibleMomentsError for anything else."""
        check_arrays(SCHEMA, arrays, {"size": size, "bytes": -(-size // 8)})
        values = arrays[VALUES]
        if POSITIONS in arrays and MARKS not in arrays:
            return cls(size, arrays[POSITIONS].astype(np.int64), values)
        positions = np.flatnonzero(np.unpackbits(arrays[MARKS], count=size)) if MARKS in arrays else None
        if POSITIONS in arrays or (size if positions is None else positions.size) != values.size:
            raise IncompatibleMomentsError(f"expected {size} numbers, or some of them and where they are")
        return cls(size, positions, values)


def hash_arrays(arrays: NamedArrays) -> str:
    """Return a hash of names, types, shapes and content of arrays.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.core.packed_sums import hash_arrays
    >>> hash_arrays({"a": np.zeros(2)}) == hash_arrays({"a": np.zeros(3)})
    False
    """
    hasher = hashlib.sha256()
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        hasher.update(f"{name} {array.dtype} {array.shape}\n".encode())
        hasher.update(array.reshape(-1).view(np.uint8).data)
    return hasher.hexdigest()


class SegmentSums(NamedTuple):
    """What the rows of a segment add to a fit of so many features, by name; the basis is not among it."""

    n_features: int
    arrays: Mapping[str, PackedArray]
