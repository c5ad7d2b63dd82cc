"""Rows as an additive model takes them: what a basis makes of them, with their labels."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from opauc.additive.sums import LabeledRows
from opauc.types import Floats, Labels


class BasisRows(NamedTuple):
    """Rows as a model takes them: their columns, labels and sample weights (None means one each).

    `fresh` marks the rows that the basis was not made from; None means all. `indicators` are those of the categories
    with random effects, if the basis has any, `levels` those of crossed codes. Later rows of a model with trees have
    `leaves`, one in each tree, and `additive` scores without the trees. Rows with groups have the level of each in
    `places`, -1 where it has none, and its `offset`; `indicators` end with those of the levels.
    """

    columns: csr_array
    labels: Labels
    weight: Floats | None = None
    fresh: NDArray[np.bool_] | None = None
    indicators: csr_array | None = None
    levels: NDArray[np.int64] | None = None  # (n_rows, 2 n_codes)
    leaves: NDArray[np.int32] | None = None
    additive: Floats | None = None
    places: NDArray[np.int64] | None = None
    offset: Floats | None = None

    @property
    def labeled(self) -> LabeledRows:
        """Columns, labels, sample weights and offsets of all rows."""
        return LabeledRows(self.columns, self.labels, self.weight, self.offset)

    def scores(self, weights: Floats) -> Floats:
        """Return the scores of the rows by their columns, and by the offsets of their groups."""
        by_columns: Floats = self.columns @ weights
        return by_columns if self.offset is None else by_columns + self.offset

    def in_levels(self) -> BasisRows:
        """Return the rows with weights of zero where their groups have no level."""
        if self.places is None or (self.places >= 0).all():
            return self
        return self._replace(weight=np.where(self.places >= 0, 1.0 if self.weight is None else self.weight, 0.0))

    def only_fresh(self) -> BasisRows:
        """Return the rows that the basis was not made from."""
        if self.fresh is None or self.fresh.all():
            return self
        weight = None if self.weight is None else self.weight[self.fresh]
        leaves = None if self.leaves is None else self.leaves[self.fresh]
        additive = None if self.additive is None else self.additive[self.fresh]
        offset = None if self.offset is None else self.offset[self.fresh]
        return BasisRows(
            self.columns[self.fresh], self.labels[self.fresh], weight, leaves=leaves, additive=additive, offset=offset
        )
