"""Categories with random effects: values of an input that have a weight but no column in the Gram matrix."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from opauc.additive.basis.main_effects import MainEffect, first_rows
from opauc.additive.kernels.rows import CATEGORICAL, NUMERIC
from opauc.additive.policy import BASIS_POLICY, BasisPolicy
from opauc.core.array_schema import ArrayRule, check_arrays
from opauc.types import Arrays, Floats, NamedArrays, Rows

# Integers are exact in float64 up to here.
LARGEST_WHOLE = 2**53
SCHEMA = {
    "inputs": ArrayRule("int64", "effects", low=0, below="inputs"),
    "numbers": ArrayRule("int64", "effects", low=-LARGEST_WHOLE, high=LARGEST_WHOLE),
}


@dataclass(frozen=True, eq=False)
class RandomEffects:
    """The categories with random effects, by input and number in ascending order; each is an indicator of rows.

    They are categories that share the pooled column of their input, or the values of a numeric input that act as
    categories do.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.additive.basis.random_effects import RandomEffects
    >>> effects = RandomEffects(np.array([0, 0, 2]), np.array([4, 7, 1]))
    >>> effects.rows(np.array([[7.0, 7.0, np.nan], [5.0, 4.0, 1.0]])).toarray()
    array([[0., 1., 0.],
           [0., 0., 1.]])
    """

    inputs: NDArray[np.int64]
    numbers: NDArray[np.int64]

    @classmethod
    def of(
        cls,
        effects: Sequence[MainEffect],
        sample: Floats,
        n_columns: int,
        coded: Sequence[int] = (),
        policy: BasisPolicy = BASIS_POLICY,
    ) -> Self:
        """Return the frequent ones of the categories that main effects pool, and of the values of `coded` inputs.

        `n_columns` is the size of the basis. Coded inputs are numeric ones that act as categories do.
        """
        nothing = np.empty(0, np.int64)
        inputs, numbers, counts, first = [nothing], [nothing], [nothing], [nothing]
        for j, effect in enumerate(effects):
            if effect.kind != CATEGORICAL and j not in coded:
                continue
            values = sample[~np.isnan(sample[:, j]), j].astype(np.int64)
            has_number = (values >= 0) | (effect.kind != CATEGORICAL)
            pooled, n_rows = np.unique(values[has_number & ~np.isin(values, effect.kept)], return_counts=True)
            frequent = n_rows >= policy.min_effect_rows
            if n_rows[frequent].sum() >= policy.min_effect_share * len(sample):
                inputs.append(np.full(int(frequent.sum()), j))
                numbers.append(pooled[frequent])
                counts.append(n_rows[frequent])
                first.append(first_rows(sample[:, j], pooled[frequent]))
        max_effects = policy.max_effects_of_one if len(inputs) == 2 else policy.max_effects_of_several
        max_effects = min(max_effects, policy.max_effect_products // n_columns)
        ties = np.concatenate(inputs), np.concatenate(first)  # do not depend on the numbers of categories
        kept = np.sort(np.lexsort((*ties, -np.concatenate(counts)))[:max_effects])
        return cls(np.concatenate(inputs)[kept], np.concatenate(numbers)[kept])

    @property
    def size(self) -> int:
        """Number of categories with a random effect."""
        return self.inputs.size

    def group_index(self) -> NDArray[np.int64]:
        """Return the group of each random effect: its input, counted among the inputs that have random effects."""
        return np.unique(self.inputs, return_inverse=True)[1]

    def of_input(self, j: int) -> slice:
        """Return the range of the random effects of an input."""
        return slice(*np.searchsorted(self.inputs, [j, j + 1]).tolist())

    def numbers_of(self, j: int) -> NDArray[np.int64]:
        """Return the category numbers of an input."""
        return self.numbers[self.of_input(j)]

    def rows(self, rows: Rows) -> csr_array:
        """Return the indicators of rows as a canonical sparse matrix of shape (n_rows, size)."""
        empty = np.empty((rows.shape[0], 0), np.int32)
        columns = np.hstack([empty, *(self._columns(rows[:, [j]], j) for j in np.unique(self.inputs).tolist())])
        is_one = columns >= 0
        ends = np.append(0, np.cumsum(is_one.sum(axis=1))).astype(np.int32)
        indicators = csr_array((np.ones(int(ends[-1])), columns[is_one], ends), shape=(rows.shape[0], self.size))
        indicators.has_canonical_format = True
        return indicators

    def _columns(self, values: Rows, j: int) -> NDArray[np.int32]:
        """Return the random effect of each value of an input, -1 for other values; both have shape (n_rows, 1)."""
        numbers = np.asarray(values if isinstance(values, np.ndarray) else values.toarray(), np.float64)
        part = self.of_input(j)
        categories = self.numbers[part].astype(np.float64)
        at = np.minimum(np.searchsorted(categories, numbers), categories.size - 1)
        return np.where(categories[at] == numbers, part.start + at, -1).astype(np.int32)

    def to_arrays(self) -> Arrays:
        """Return copies of all arrays, for a file or the network."""
        return {"inputs": self.inputs.copy(), "numbers": self.numbers.copy()}

    @classmethod
    def from_arrays(cls, kinds: NDArray[np.int8], arrays: NamedArrays) -> Self:
        """Return the random effects of inputs of these kinds from `to_arrays`; raise ValueError if invalid."""
        check_arrays(SCHEMA, arrays, {"inputs": kinds.size})
        inputs, numbers = (np.array(arrays[name]) for name in SCHEMA)
        if not inputs.size or not _ascending(inputs, numbers):
            raise ValueError("random effects: expected inputs and their numbers in ascending order")
        if (kinds[inputs] < NUMERIC).any():
            raise ValueError("random effects: expected numeric or categorical inputs")
        if (numbers[kinds[inputs] == CATEGORICAL] < 0).any():
            raise ValueError("random effects: expected category numbers from zero on")
        return cls(inputs, numbers)


def _ascending(inputs: NDArray[np.int64], numbers: NDArray[np.int64]) -> bool:
    steps = np.diff(inputs)
    return bool(((steps > 0) | ((steps == 0) & (numbers[1:] > numbers[:-1]))).all())


NO_RANDOM_EFFECTS = RandomEffects(np.empty(0, np.int64), np.empty(0, np.int64))
