"""A basis and the model of its columns."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from opauc.additive.basis.basis import Basis
from opauc.additive.basis_columns import basis_columns
from opauc.additive.constraints.constraints import Constraints
from opauc.additive.model import AdditiveLogistic, check_model_arrays


class BasisModel(NamedTuple):
    """A basis and the model of its columns."""

    basis: Basis
    model: AdditiveLogistic

    @classmethod
    def of_parts(cls, basis: Basis, arrays: dict[str, NDArray[np.float64]], constraints: Constraints) -> BasisModel:
        """Return a basis and the model that gave these arrays, under constraints."""
        n_levels = None if basis.group_levels is None else basis.group_levels.size
        n_effects = basis.random_effects.size + (n_levels or 0)
        check_model_arrays(
            arrays, basis.groups, n_effects, basis.trees, basis.crossed.size, n_levels
        )  # before memory is taken for penalties
        return cls(basis, AdditiveLogistic.from_arrays(basis_columns(basis, constraints), arrays))

    def with_constraints(self, constraints: Constraints, names: tuple[str, ...] = ()) -> BasisModel:
        """Return the same sums with weights under other constraints; messages name inputs."""
        return self._replace(model=replace(self.model, columns=basis_columns(self.basis, constraints, names)))
