"""The rows that a card is fitted to."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from opauc.rows import Floats, Labels


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
