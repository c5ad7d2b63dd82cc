"""Missing numbers: refused, taken as zero, or as the mean of what was seen."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from opauc.rows import DenseRows, Floats


@dataclass(frozen=True, eq=False)
class RunningMeans:
    """Sum and count of the values of each feature that were not missing.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.features.missing_values import RunningMeans
    >>> means = RunningMeans.empty(2).update(np.array([[1.0, np.nan], [3.0, np.nan]]))
    >>> means.values()
    array([2., 0.])
    """

    sums: Floats
    counts: Floats

    @classmethod
    def empty(cls, n_features: int) -> RunningMeans:
        """Nothing seen yet."""
        return cls(np.zeros(n_features), np.zeros(n_features))

    def update(self, rows: DenseRows) -> RunningMeans:
        """Add the values of some rows, nan left out."""
        there = ~np.isnan(rows)
        sums = np.where(there, rows, 0).sum(axis=0, dtype=np.float64)
        return RunningMeans(self.sums + sums, self.counts + there.sum(axis=0))

    def values(self) -> Floats:
        """Return the mean of each feature, zero where no value was seen."""
        return self.sums / np.maximum(self.counts, 1.0)
