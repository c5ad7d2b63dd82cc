"""How much each feature varies among the rows seen."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from opauc.rows import Floats


class FeatureSpread(NamedTuple):
    """Standard deviation of each feature within the classes, pooled over both, and what else is to be said of it.

    A weight times the deviation of its feature is by how much the score moves
    where the feature moves as it does among the rows: that can be compared
    between features of any units.
    """

    deviations: Floats
    note: str = ""

    @classmethod
    def pooled(cls, scatter: Floats, count: float, note: str = "") -> FeatureSpread:
        """Return the spread from the sum over all rows of the squared distances to the means of their classes.

        Examples
        --------
        >>> import numpy as np
        >>> from opauc.statistics.feature_spread import FeatureSpread
        >>> FeatureSpread.pooled(np.array([8.0, 0.0]), 2.0).deviations.tolist()
        [2.0, 0.0]
        """
        return cls(np.sqrt(np.maximum(scatter, 0.0) / (count or 1.0)), note)
