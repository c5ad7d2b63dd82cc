"""The columns of a card as a model takes them: how they are penalised, and those of rows."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from opauc.column_groups import GroupKind
from opauc.learners.additive.ladder import rung_columns
from opauc.learners.additive.penalties import Penalties
from opauc.rows import Floats, Labels
from opauc.statistics.linearised_sums import LabelledRows

NO_LEVELS = np.empty(0, np.int64)


class CardRows(NamedTuple):
    """The columns of rows, their labels, their weights, and which of them the card was not made of: all unless said.

    `levels` are their finer levels, where the card has such.
    """

    columns: csr_array
    labels: Labels
    weight: Floats | None = None
    fresh: NDArray[np.bool_] | None = None
    levels: csr_array | None = None

    @property
    def labelled(self) -> LabelledRows:
        """All rows, as sums take them."""
        return self.columns, self.labels, self.weight

    def only_fresh(self) -> CardRows:
        """Return the rows that the card was not made of."""
        if self.fresh is None or self.fresh.all():
            return self
        weight = None if self.weight is None else self.weight[self.fresh]
        return CardRows(self.columns[self.fresh], self.labels[self.fresh], weight)


class CardColumns(NamedTuple):
    """The columns of a card: their penalties, how many are main effects, and how many come before doubtful pairs.

    `owners` has the input of each finer level, the first that has such being zero. `leaves_stay` says whether leaves
    keep the values they were grown with until there are enough rows.
    """

    penalties: Penalties
    main: int
    certain: int
    owners: NDArray[np.int64] = NO_LEVELS
    leaves_stay: bool = False

    @property
    def n_columns(self) -> int:
        """Columns in all."""
        return self.penalties.groups.n_columns

    @property
    def first_leaf(self) -> int:
        """How many columns come before the leaves of trees; all where there are none."""
        groups = self.penalties.groups
        leaves = groups.starts[groups.kinds == GroupKind.LEAVES]
        return int(leaves[0]) if leaves.size else self.n_columns

    def rungs(self) -> dict[str, NDArray[np.int64]]:
        """Return the columns of each rung of the ladder."""
        return rung_columns(self.penalties.groups, self.main, self.certain)
