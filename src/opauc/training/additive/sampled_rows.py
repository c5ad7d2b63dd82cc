"""Rows that a card was made of, known again when they come to be learnt."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from opauc.rows import Array, Floats

Mask = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class SampledRows:
    """A number of 64 bits for each row that was drawn for a card; rows with the same values have the same one.

    What was drawn all over a file comes again when the file is learnt. It must
    not be taken for new then: the card fits it better than rows never seen.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.training.additive.sampled_rows import SampledRows
    >>> drawn = SampledRows.of(np.array([[1.0, np.nan], [2.0, 5.0]]))
    >>> drawn.fresh(np.array([[2.0, 5.0], [2.0, 6.0], [1.0, np.nan]]))
    array([False,  True, False])
    """

    keys: NDArray[np.uint64]  # rising

    @classmethod
    def of(cls, rows: Floats) -> Self:
        """Return the rows, to be known again."""
        return cls(np.unique(row_keys(rows)))

    def fresh(self, rows: Floats) -> Mask:
        """Tell which rows are none of those drawn."""
        if not self.keys.size:
            return np.ones(len(rows), np.bool_)
        keys = row_keys(rows)
        places = np.minimum(np.searchsorted(self.keys, keys), self.keys.size - 1)
        return np.asarray(self.keys[places] != keys)

    @classmethod
    def of_array(cls, keys: Array) -> Self:
        """Return the rows that gave these numbers, refused unless rows can have."""
        if keys.dtype != np.uint64 or keys.ndim != 1 or (keys[1:] <= keys[:-1]).any():
            raise ValueError("sampled: expected rising numbers of 64 bits")
        return cls(keys)


def row_keys(rows: Floats) -> NDArray[np.uint64]:
    """Return a number for each row: a sum of its values, their bits folded, times odd numbers of each column."""
    bits = np.ascontiguousarray(rows + 0.0).view(np.uint64)  # minus zero is zero
    bits = np.where(np.isnan(rows), np.uint64(1), bits)
    odd = np.random.default_rng(0).integers(2**63, size=rows.shape[1], dtype=np.uint64) * np.uint64(2) + np.uint64(1)
    folded = (bits ^ (bits >> np.uint64(32))) * odd
    folded = folded ^ (folded >> np.uint64(29))
    return np.asarray((folded * odd).sum(axis=1, dtype=np.uint64))
