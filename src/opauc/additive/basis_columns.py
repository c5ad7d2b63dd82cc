"""What an additive model knows of the columns of its basis."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from opauc.additive.basis.basis import Basis
from opauc.additive.basis.crossed_codes import NO_CROSSED_CODES, CrossedCodes
from opauc.additive.basis.ensemble import TreeEnsemble
from opauc.additive.basis.group_levels import GroupLevels
from opauc.additive.constraints.constraints import NO_CONSTRAINTS, Constraints
from opauc.additive.constraints.fit import BasisConstraints
from opauc.additive.penalties import Penalties
from opauc.additive.selection import candidate_columns

NO_GROUPS = np.empty(0, np.int64)


class BasisColumns(NamedTuple):
    """The columns of a basis: their penalties, and how many are main effects or come before uncertain pairs.

    `group_index` has the input of each random effect, counted among the inputs that have any. `crossed` are the
    crossed codes. `constraints` are those that weights satisfy whenever they are solved for. The last random effects
    are the `levels` of groups, where there are groups.
    """

    penalties: Penalties
    main: int
    certain: int
    group_index: NDArray[np.int64] = NO_GROUPS
    trees: TreeEnsemble | None = None
    crossed: CrossedCodes = NO_CROSSED_CODES
    constraints: BasisConstraints | None = None
    levels: GroupLevels | None = None

    @property
    def n_effects(self) -> int:
        """Number of random effects that are weights of scores: all but the levels of groups."""
        return self.group_index.size - (0 if self.levels is None else self.levels.size)

    @property
    def n_columns(self) -> int:
        """Number of columns."""
        return self.penalties.groups.n_columns

    def candidates(self) -> dict[str, NDArray[np.int64]]:
        """Return the columns of each candidate model."""
        return candidate_columns(self.penalties.groups, self.main, self.certain, self.trees is not None)


def basis_columns(basis: Basis, constraints: Constraints = NO_CONSTRAINTS, names: tuple[str, ...] = ()) -> BasisColumns:
    """Return the penalties, the column groups and the constraints that a model needs from a basis."""
    penalties, owners = Penalties(basis.groups, basis.roughness), basis.random_effects.group_index()
    main, certain = basis.main_columns(), basis.certain_columns()
    own, levels = BasisConstraints(basis, constraints, names) if constraints else None, basis.group_levels
    if levels is not None:
        owners = np.append(owners, np.full(levels.size, owners.max(initial=-1) + 1))
    return BasisColumns(penalties, main, certain, owners, basis.trees, basis.crossed, own, levels)
