"""Rows that a card was made of, known again when they come to be learnt."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from opauc.features.table_column import UNSEEN
from opauc.rows import Array, Floats

Mask = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class SampledRows:
    """A number of 64 bits for each row that was drawn for a card, and no other row of the same values with it.

    What was drawn all over a file comes again when the file is learnt. It must
    not be taken for new then: the card fits it better than rows never seen.
    Values that were drawn more than once are common, and most rows that have
    them were not drawn: were they left out too, what counts as new would be
    what is rare.

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
        keys, counts = np.unique(row_keys(rows), return_counts=True)
        return cls(keys[counts == 1])

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


def as_known(rows: Floats, categorical: Mask, kept: Sequence[NDArray[np.int64] | None]) -> Floats:
    """Return rows as they come again once only some categories of each input have a number of their own.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.training.additive.sampled_rows import as_known
    >>> as_known(np.array([[3.0, 3.0], [0.0, np.nan]]), np.array([True, False]), [np.array([0]), None])
    array([[-1.,  3.],
           [ 0., nan]])
    """
    again = np.array(rows, np.float64)
    for j in np.flatnonzero(categorical).tolist():
        numbers, known = again[:, j], kept[j]
        lost = ~np.isnan(numbers) if known is None else ~(np.isnan(numbers) | np.isin(numbers, known))
        again[lost, j] = UNSEEN
    return again


def row_keys(rows: Floats) -> NDArray[np.uint64]:
    """Return a number for each row: a sum of its values, their bits folded, times odd numbers of each column."""
    bits = np.ascontiguousarray(rows + 0.0).view(np.uint64)  # minus zero is zero
    bits = np.where(np.isnan(rows), np.uint64(1), bits)
    odd = np.random.default_rng(0).integers(2**63, size=rows.shape[1], dtype=np.uint64) * np.uint64(2) + np.uint64(1)
    folded = (bits ^ (bits >> np.uint64(32))) * odd
    folded = folded ^ (folded >> np.uint64(29))
    return np.asarray((folded * odd).sum(axis=1, dtype=np.uint64))
