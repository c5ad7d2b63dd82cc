"""The weights of a model under constraints: which parts of its basis stay, and the minimum over those."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack
from scipy.sparse import csr_array

from opauc.additive.basis.basis import Basis
from opauc.additive.basis.ensemble import TreeEnsemble
from opauc.additive.constraints.constraints import Bound, Constraints, describe_bound
from opauc.additive.constraints.shape_rows import ShapeRows, shape_rows
from opauc.additive.constraints.solve import InfeasibleError, LinearConstraints, LinearRows, Minimum, minimize
from opauc.additive.kernels.rows import BINARY, FIRST, LINEAR, MISSING
from opauc.additive.penalties import Penalties
from opauc.additive.policy import SMOOTHING_POLICY, SmoothingPolicy
from opauc.additive.random_effects import (
    BorderedSystem,
    MixedFit,
    RandomEffectSums,
    smooth_with_random_effects,
)
from opauc.additive.smoothing import factorize, smooth
from opauc.additive.sums import LinearizedSums
from opauc.additive.terms.purify import find_main_part
from opauc.additive.trees.monotone import monotone_leaf_values
from opauc.core.kernels.symmetric_matrix import mirror_lower
from opauc.errors import InputError
from opauc.types import Floats

# Directions of constrained weights whose share in the largest is below this are none but for rounding.
RANK_TOLERANCE = 1e-10


@dataclass(frozen=True, eq=False)
class BasisConstraints:
    """Constraints on the weights of a basis.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.additive.basis.basis import Basis
    >>> from opauc.additive.constraints.fit import BasisConstraints
    >>> from opauc.additive.constraints.constraints import Constraints
    >>> basis = Basis.of(np.array([[0.0, 5.0], [1.0, 7.0]]), np.ones(2), np.zeros(2, bool), n_knots=3)
    >>> BasisConstraints(basis, Constraints(without=(0,))).free.tolist()
    [True, False, True]
    """

    basis: Basis
    constraints: Constraints
    names: tuple[str, ...] = ()  # of the inputs, for messages

    @cached_property
    def kept(self) -> NDArray[np.bool_]:
        """Which columns stay."""
        kept, allowed = np.ones(self.basis.n_columns, np.bool_), self.constraints.pairs
        for inputs, columns in self.basis.effects.items():
            is_other_pair = len(inputs) == 2 and allowed is not None and inputs not in allowed
            if is_other_pair or set(inputs) & set(self.constraints.without):
                kept[columns] = False
        return kept

    @cached_property
    def fixed(self) -> Floats:
        """The weights of the columns of fixed terms, zero elsewhere."""
        weights = np.zeros(self.basis.n_columns)
        for term in self.constraints.fixed:
            weights[self.basis.effects[term.inputs]] = term.weights
        return weights

    @cached_property
    def free(self) -> NDArray[np.bool_]:
        """Which columns stay and have no fixed weights."""
        free = self.kept.copy()
        for term in self.constraints.fixed:
            free[self.basis.effects[term.inputs]] = False
        return free

    @cached_property
    def kept_effects(self) -> NDArray[np.bool_]:
        """Which random effects stay: under equal means none, whose sums over groups are not known together."""
        stays = ~np.isin(self.basis.random_effects.inputs, list(self.constraints.uncoded))
        return stays & (not self.constraints.equal_mean)

    @cached_property
    def kept_levels(self) -> NDArray[np.bool_]:
        """Which levels of crossed codes stay: those of codes whose inputs have no constraint."""
        kept = np.ones(self.basis.crossed.size, np.bool_)
        no_codes = self.constraints.pairs is not None or bool(self.constraints.equal_mean)
        for code, part in zip(self.basis.crossed.codes, self.basis.crossed.parts(), strict=True):
            kept[part] = not (no_codes or self.constraints.uncoded.intersection(code.inputs))
        return kept

    @cached_property
    def keeps_trees(self) -> bool:
        """Whether the tree ensemble stays."""
        trees = self.basis.trees
        return trees is None or self.constraints.keep_trees_on(trees.inputs.tolist())

    def leaf_values(self, ensemble: TreeEnsemble, values: Floats, codes: NDArray[np.uint8]) -> Floats:
        """Return leaf values in the order of monotone inputs, leaves weighted by coded rows."""
        if not self.constraints.directions:
            return values
        mass = np.bincount(ensemble.leaves(codes).ravel(), minlength=values.size).astype(np.float64)
        return monotone_leaf_values(ensemble, values, 1.0 + mass, self.constraints.directions)

    @cached_property
    def _shapes(self) -> list[tuple[str, ShapeRows]]:
        """The inequalities of each shape; an input without breakpoints has none."""
        shapes = self.constraints.shapes
        rows = [(f"{one.shape} {self._name(one.input)}", shape_rows(self.basis, *one)) for one in shapes]
        return [(label, shape) for label, shape in rows if shape.base.shape[0]]

    def linear(self, lower: Floats, scale: float = 1.0) -> LinearConstraints:
        """Return the constraints on the column weights, given the lower triangle of the Gram matrix of all columns.

        `scale` multiplies the weights in the blend with the trees.
        """
        n_columns = self.basis.n_columns
        bounds, equal = LinearRows.empty(n_columns), LinearRows.empty(n_columns)
        for bound in self.constraints.bounds:
            bounds = bounds.join(self._bound_rows(bound, lower, scale))
        for j in self.constraints.equal_mean:
            rows = np.array(list(self._mean_differences(j, lower)))
            labels = (f"equal_mean {self._name(j)}",) * len(rows)
            equal = equal.join(LinearRows(csr_array(rows), np.zeros(len(rows)), labels))
        return LinearConstraints(self._shapes, bounds, equal)

    def _bound_rows(self, bound: Bound, lower: Floats, scale: float) -> LinearRows:
        """Return the rows of the main effect of an input at a value, centered and with the part of its pairs."""
        j, row = bound.input, np.full((1, self.basis.n_inputs), np.nan)
        row[0, j] = bound.value
        centered = self.basis.rows(row).toarray()[0] - lower[:, 0] / max(lower[0, 0], 1e-300)
        own, weights = self.basis.effects[(j,)], np.zeros(self.basis.n_columns)
        weights[own] = centered[own]
        for inputs, columns in self.basis.effects.items():
            if len(inputs) == 2 and j in inputs and all((k,) in self.basis.effects for k in inputs):
                of_pair = np.arange(columns.start, columns.stop)
                part = find_main_part(self.basis, lower, inputs, of_pair)
                at = part.inputs.index(j)
                weights[of_pair] += centered[part.columns[at]] @ part.maps[at]
        signs = [(1.0, bound.low), (-1.0, None if bound.high is None else -bound.high)]
        given = [(sign, end / scale) for sign, end in signs if end is not None]
        matrix = csr_array(np.array([sign * weights for sign, _ in given]))
        label = f"bounds {describe_bound(bound, self._names)}"
        return LinearRows(matrix, np.array([end for _, end in given]), (label,) * len(given))

    def _mean_differences(self, j: int, lower: Floats) -> Iterator[Floats]:
        """Yield for each group of rows the difference of its mean of each column from that of all rows."""
        linear, first, missing = self.basis.tables.columns[j, [LINEAR, FIRST, MISSING]].tolist()
        is_binary = self.basis.tables.kinds[j] == BINARY
        columns = [linear] if is_binary else list(range(first, first + int(self.basis.tables.n_levels[j])))
        columns += [missing] if missing >= 0 else []
        mean = lower[:, 0] / max(lower[0, 0], 1e-300)
        for column in columns:
            sums = np.concatenate([lower[column, :column], lower[column:, column]])
            if sums[0] > 0.0:
                yield sums / sums[0] - mean

    def _name(self, j: int) -> str:
        return self._names[j]

    @property
    def _names(self) -> tuple[str, ...]:
        return self.names or tuple(f"input {j}" for j in range(self.basis.n_inputs))


class ConstrainedFit(NamedTuple):
    """Weights and smoothing parameters of all columns, zero for those that left, and the active constraints."""

    fit: MixedFit
    active: csr_array


def fit_constrained(
    sums: LinearizedSums,
    effects: RandomEffectSums,
    group_index: NDArray[np.int64],
    penalties: Penalties,
    lambdas: Floats,
    constraints: BasisConstraints,
    scale: float = 1.0,
    policy: SmoothingPolicy = SMOOTHING_POLICY,
) -> ConstrainedFit:
    """Return the penalized minimum over columns and random effects under constraints.

    Smoothing parameters are those of the columns that stay, without the
    inequalities. Random effects, on which there are none, are eliminated exactly.
    """
    free, fixed = np.flatnonzero(constraints.free), constraints.fixed / scale
    kept_effects, groups = np.flatnonzero(constraints.kept_effects), np.unique(penalties.groups.of_columns()[free])
    own_sums = _restrict(sums, free, fixed)
    own_effects = effects.restrict(kept_effects, free, fixed)
    own_penalties, own_lambdas = penalties.restrict(groups), lambdas[groups]
    all_lambdas, effect_lambdas = lambdas.copy(), np.ones(np.unique(group_index).size)
    all_effects = np.zeros(group_index.size)
    if own_effects.size:
        kept_inputs, own_index = np.unique(group_index[kept_effects], return_inverse=True)
        mixed = smooth_with_random_effects(own_sums, own_effects, own_index, own_penalties, own_lambdas, policy)
        own_lambdas, effect_lambdas[kept_inputs] = mixed.lambdas, mixed.effect_lambdas
        system = BorderedSystem(
            own_sums, own_effects, own_penalties, own_lambdas, mixed.effect_lambdas[own_index], kept_inputs.size
        )
        gram, rhs = system.eliminate()
    else:
        gram, rhs = own_sums.gram, own_sums.rhs
        own_lambdas = smooth(gram, rhs, own_penalties, own_lambdas, policy.final_steps, policy).lambdas
    all_lambdas[groups] = own_lambdas
    linear = constraints.linear(sums.gram, scale)
    minimum = _minimize(own_penalties.add_to(gram, own_lambdas), rhs, linear, free, fixed)
    if own_effects.size:
        all_effects[kept_effects] = system.effects_given(minimum.weights[free])
    return ConstrainedFit(MixedFit(minimum.weights, all_effects, all_lambdas, effect_lambdas), minimum.active)


def candidate_under_constraints(
    sums: LinearizedSums,
    penalties: Penalties,
    lambdas: Floats,
    columns: NDArray[np.int64],
    constraints: BasisConstraints,
    scale: float = 1.0,
) -> Floats:
    """Return the weights of the model that has only these columns, under constraints."""
    free, fixed = columns[constraints.free[columns]], np.zeros(sums.n_features)
    fixed[columns] = constraints.fixed[columns] / scale
    groups = np.unique(penalties.groups.of_columns()[free])
    own, penalty = _restrict(sums, free, fixed), penalties.restrict(groups)
    linear = constraints.linear(sums.gram, scale)
    return _minimize(penalty.add_to(own.gram, lambdas[groups]), own.rhs, linear, free, fixed).weights


def nearest_weights(
    weights: Floats,
    sums: LinearizedSums,
    penalties: Penalties,
    lambdas: Floats,
    constraints: BasisConstraints,
    scale: float = 1.0,
) -> Floats:
    """Return the column weights nearest to others that satisfy constraints, by the loss of the rows and one more."""
    lower = penalties.add_to(sums.gram, lambdas)
    lower.flat[:: lower.shape[0] + 1] += 1.0
    full = lower.copy()
    mirror_lower(full)
    free, fixed = np.flatnonzero(constraints.free), constraints.fixed / scale
    rhs = full[free] @ (weights - fixed)
    linear = constraints.linear(sums.gram, scale)
    return _minimize(np.tril(full[np.ix_(free, free)]), rhs, linear, free, fixed).weights


def constrained_covariance(lower: Floats, active: csr_array, free: NDArray[np.int64], n_columns: int) -> Floats:
    """Return the covariance matrix of all column weights, given the active constraints.

    `lower` is the lower triangle of the penalized matrix of the free columns. Weights do not vary along active
    constraints, nor where they are fixed.
    """
    upper = factorize(lower)
    inverse, _ = lapack.dtrtri(upper, lower=0)
    root = np.triu(inverse)
    if active.shape[0]:
        dense = np.asfortranarray(active[:, free].toarray().T)
        normals = lapack.dtrtrs(upper, dense, lower=0, trans=1, overwrite_b=1)[0]
        left, sizes, _ = np.linalg.svd(normals, full_matrices=False)
        spans = left[:, sizes > RANK_TOLERANCE * max(float(sizes.max(initial=0.0)), 1e-300)]
        root = root - (root @ spans) @ spans.T
    covariance = np.zeros((n_columns, n_columns))
    covariance[np.ix_(free, free)] = root @ root.T
    return covariance


def _restrict(sums: LinearizedSums, free: NDArray[np.int64], fixed: Floats) -> LinearizedSums:
    """Return the sums of some columns, given the weights of the others."""
    if free.size == sums.n_features:
        return sums
    own, at = sums.restrict(free), np.flatnonzero(fixed)
    if at.size:
        full = sums.full_gram()
        own.rhs[:] -= full[np.ix_(free, at)] @ fixed[at]
    return own


def _minimize(lower: Floats, rhs: Floats, linear: LinearConstraints, free: NDArray[np.int64], fixed: Floats) -> Minimum:
    try:
        return minimize(lower, rhs, linear, free, fixed)
    except InfeasibleError as error:
        raise InputError(f"{error}: drop one of them, or give it more room") from error
