"""Values of an input told apart beside its columns: levels that share the pooled one, and numbers that are codes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from opauc.additive.basis.main_effects import MainEffect
from opauc.additive.kernels.rows import CATEGORICAL, NUMERIC
from opauc.types import Arrays, Floats, NamedArrays, Rows

# A level has so many rows in the sample, and those of its input such a share of all rows: fewer change no score.
LEAST_ROWS, SMALLEST_SHARE = 2, 0.05
# The most frequent ones are told apart: so many of one input, so many of several, whose rows may share any two of
# them, and with so many products with the columns.
MOST_OF_ONE, MOST_OF_SEVERAL, MOST_PRODUCTS = 8192, 4096, 2**23
# Whole numbers of float64 are exact up to here.
LARGEST_WHOLE = 2**53


@dataclass(frozen=True, eq=False)
class RandomEffects:
    """Whole numbers by their input, in rising order: the columns of a map of rows to zeros and ones.

    They are the numbers of categories, or numbers as they came.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.additive.basis.levels import RandomEffects
    >>> levels = RandomEffects(np.array([0, 0, 2]), np.array([4, 7, 1]))
    >>> levels.rows(np.array([[7.0, 7.0, np.nan], [5.0, 4.0, 1.0]])).toarray()
    array([[0., 1., 0.],
           [0., 0., 1.]])
    """

    inputs: NDArray[np.int64]
    numbers: NDArray[np.int64]

    @classmethod
    def of(cls, effects: Sequence[MainEffect], sample: Floats, n_columns: int, coded: Sequence[int] = ()) -> Self:
        """Return the levels that main effects have pooled in a sample, and those of coded inputs; none if few.

        They are for a basis of so many columns. Coded inputs are numbers that act as categories do.
        """
        nothing = np.empty(0, np.int64)
        inputs, numbers, counts = [nothing], [nothing], [nothing]
        for j, effect in enumerate(effects):
            if effect.kind != CATEGORICAL and j not in coded:
                continue
            values = sample[~np.isnan(sample[:, j]), j].astype(np.int64)
            found, times = np.unique(values[~np.isin(values, effect.kept)], return_counts=True)
            often = times >= LEAST_ROWS
            if times[often].sum() >= SMALLEST_SHARE * len(sample):
                inputs.append(np.full(int(often.sum()), j))
                numbers.append(found[often])
                counts.append(times[often])
        room = min(MOST_OF_ONE if len(inputs) == 2 else MOST_OF_SEVERAL, MOST_PRODUCTS // n_columns)
        kept = np.sort(np.argsort(-np.concatenate(counts), kind="stable")[:room])
        return cls(np.concatenate(inputs)[kept], np.concatenate(numbers)[kept])

    @property
    def size(self) -> int:
        """How many there are."""
        return self.inputs.size

    def owners(self) -> NDArray[np.int64]:
        """Return which of the inputs that have such levels each level belongs to, counted from zero."""
        return np.unique(self.inputs, return_inverse=True)[1]

    def of_input(self, j: int) -> slice:
        """Return where those of an input stand."""
        return slice(*np.searchsorted(self.inputs, [j, j + 1]).tolist())

    def numbers_of(self, j: int) -> NDArray[np.int64]:
        """Return the numbers of an input."""
        return self.numbers[self.of_input(j)]

    def rows(self, rows: Rows) -> csr_array:
        """Return a one for every number of a row that is among the levels, canonical."""
        none = np.empty((rows.shape[0], 0), np.int32)
        places = np.hstack([none, *(self._places(rows[:, [j]], j) for j in np.unique(self.inputs).tolist())])
        there = places >= 0
        ends = np.append(0, np.cumsum(there.sum(axis=1))).astype(np.int32)
        made = csr_array((np.ones(int(ends[-1])), places[there], ends), shape=(rows.shape[0], self.size))
        made.has_canonical_format = True
        return made

    def _places(self, column: Rows, j: int) -> NDArray[np.int32]:
        """Return the place of each number of an input, -1 for others; both are columns."""
        values = np.asarray(column if isinstance(column, np.ndarray) else column.toarray(), np.float64)
        part = self.of_input(j)
        known = self.numbers[part].astype(np.float64)
        at = np.minimum(np.searchsorted(known, values), known.size - 1)
        return np.where(known[at] == values, part.start + at, -1).astype(np.int32)

    def to_arrays(self) -> Arrays:
        """Return all there is, for a file or the network."""
        return {"inputs": self.inputs.copy(), "numbers": self.numbers.copy()}

    @classmethod
    def from_arrays(cls, kinds: NDArray[np.int8], arrays: NamedArrays) -> Self:
        """Return the levels that gave these arrays, of inputs of these kinds, refused unless some can have."""
        if set(arrays) != {"inputs", "numbers"}:
            raise ValueError(f"finer levels: expected arrays inputs and numbers, got {', '.join(sorted(arrays))}")
        inputs, numbers = (np.array(arrays[name]) for name in ("inputs", "numbers"))
        whole = all(part.dtype == np.int64 and part.ndim == 1 and part.size for part in (inputs, numbers))
        if not whole or inputs.size != numbers.size or not _rising(inputs, numbers):
            raise ValueError("finer levels: expected inputs and their numbers in rising order")
        if inputs[0] < 0 or inputs[-1] >= kinds.size or (kinds[inputs] < NUMERIC).any():
            raise ValueError("finer levels: expected inputs that are numbers or categories")
        if (numbers[kinds[inputs] == CATEGORICAL] < 0).any() or (
            (numbers > LARGEST_WHOLE) | (numbers < -LARGEST_WHOLE)
        ).any():
            raise ValueError("finer levels: expected category numbers of zero and more, and no number beyond float64")
        return cls(inputs, numbers)


def _rising(inputs: NDArray[np.int64], numbers: NDArray[np.int64]) -> bool:
    steps = np.diff(inputs)
    return bool(((steps > 0) | ((steps == 0) & (np.diff(numbers) > 0))).all())


NO_FINER = RandomEffects(np.empty(0, np.int64), np.empty(0, np.int64))
