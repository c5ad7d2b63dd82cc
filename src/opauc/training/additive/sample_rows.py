"""The rows that a card is fitted to."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from opauc.rows import Array, Floats, Labels

# So many rows at a time stay in the cache; columns are so many numbers further apart than they need, or all
# of them would share a few lines of the cache where the rows are a power of two.
ROWS_AT_ONCE, APART = 256, 8


class SampleRows(NamedTuple):
    """Numbers, labels and weights of the rows, and the mass by which each class has one half.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.training.additive.sample_rows import SampleRows
    >>> SampleRows(np.eye(3), np.array([0, 1, 0], np.int8), np.ones(3), np.array([0.25, 0.5, 0.25])).rarer
    1.0
    """

    numbers: Floats
    labels: Labels
    weight: Floats
    mass: Floats

    @property
    def rarer(self) -> float:
        """Weight of the rarer class."""
        return float(np.bincount(self.labels, self.weight, minlength=2).min())


def by_columns(rows: Floats, chosen: Array) -> Floats:
    """Return the chosen rows as an array whose columns lie together in memory.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.training.additive.sample_rows import by_columns
    >>> by_columns(np.arange(8.0).reshape(4, 2), np.array([0, 3])).tolist()
    [[0.0, 1.0], [6.0, 7.0]]
    """
    columns = np.empty((rows.shape[1], chosen.size + APART))[:, : chosen.size]
    for start in range(0, chosen.size, ROWS_AT_ONCE):
        part = slice(start, start + ROWS_AT_ONCE)
        columns[:, part] = rows[chosen[part]].T
    return columns.T
