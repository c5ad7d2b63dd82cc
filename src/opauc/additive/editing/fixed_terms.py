"""Weights of a model some of whose terms are fixed: the others are the optimum given these, from the sums alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from opauc.additive.basis.basis import Basis
from opauc.additive.basis_model import BasisModel
from opauc.additive.editing.ledger import CODES, CROSSED, MAIN, PAIR, TREES, TermKey
from opauc.additive.model import AdditiveLogistic, FinalWeights
from opauc.additive.policy import AdditivePolicy
from opauc.additive.random_effects import RandomEffectSums
from opauc.additive.selection import SAMPLE
from opauc.additive.sums import LinearizedSums
from opauc.additive.terms.grids import MainWeights, columns_of, interpolate_knots, main_grid, rows_along
from opauc.additive.terms.purify import find_main_part
from opauc.additive.terms.tree_terms import TreeTerms
from opauc.types import Floats

NOTHING = np.empty(0, np.int64)


@dataclass(frozen=True, eq=False)
class FixedTerms:
    """The terms of a model that are fixed, and the weights of the model.

    A main effect is fixed as users see it: with what pairs and trees do by its input alone. If w are the weights of
    its columns, v those of the pairs of the input, and M v the main part of these pairs (`purify`), then w + M v is
    fixed at t. With w = t - M v in the quadratic that the sums are, the free weights minimize another quadratic, whose
    sums follow from those of all columns: without pairs its right-hand side is b_free - A_free,fixed t. Trees have
    no cross products with columns: the weights of columns take off at the end what trees do by the input alone, at
    the knots. Fixed terms have no penalty.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.additive.editing.ledger import TermKey
    >>> from opauc.additive.editing.fixed_terms import FixedTerms
    >>> from opauc.additive.policy import ADDITIVE_POLICY
    >>> from opauc.additive.settings import AdditiveSettings
    >>> from opauc.additive.state import AdditiveFit
    >>> rows = np.random.default_rng(0).normal(size=(400, 2)) > 0.0
    >>> start = AdditiveFit.start(AdditiveSettings(interactions=0), np.zeros(2, bool), 0)
    >>> fit = start.update(rows * 1.0, rows[:, 0].astype(np.int8))
    >>> fixed = FixedTerms(fit.current, {TermKey("main", (0,)): np.array([0.0, 0.5])}, ADDITIVE_POLICY)
    >>> float(fixed.final.weights[1])
    0.5
    """

    fitted: BasisModel
    values: Mapping[TermKey, Floats]
    policy: AdditivePolicy

    @property
    def basis(self) -> Basis:
        """The basis of the model."""
        return self.fitted.basis

    @cached_property
    def final(self) -> FinalWeights:
        """The weights of the model."""
        return self._expand(self._reduced_final)

    def covariance(self) -> Floats:
        """Return the covariance matrix of the column weights, with both triangles."""
        reduced = self._reduced.covariance(self._reduced_final)
        lift = np.zeros((self.basis.n_columns, self._free.size))
        lift[self._free] = np.eye(self._free.size)
        lift[self._fixed] = -self._moved
        full: Floats = lift @ reduced @ lift.T
        return full

    def random_effect_variances(self) -> Floats:
        """Return the variance of each random effect, given all other weights."""
        variances = np.zeros(self.basis.random_effects.size)
        variances[self._free_effects] = self._reduced.random_effect_variances(self._reduced_final)
        return variances

    @cached_property
    def mains(self) -> dict[int, MainWeights]:
        """The fixed main effects by their inputs."""
        return {
            key.inputs[0]: MainWeights.of_values(self.basis, key.inputs[0], values)
            for key, values in self.values.items()
            if key.kind == MAIN
        }

    @cached_property
    def tree_parts(self) -> dict[int, MainWeights]:
        """What the trees do by the inputs alone whose main effects are fixed."""
        return {} if self._trees is None else {j: self._part_of(self._cut, j) for j in self.mains}

    def _part_of(self, trees: TreeTerms, j: int) -> MainWeights:
        """Return what trees do by an input alone, interpolated between the knots of its curve."""
        codes = trees.ensemble.codes.of_rows(rows_along(self.basis, j, main_grid(self.basis, j)))
        values = trees.main_shares(codes, self.basis.n_inputs)[:, j]
        part = MainWeights.of_values(self.basis, j, interpolate_knots(self.basis, j, values))
        return part._replace(effects=np.zeros_like(part.effects))

    @cached_property
    def _trees(self) -> TreeTerms | None:
        """The trees without edits; None where there are none."""
        leaves = self._reduced_final.weights[self._n_reduced :]
        return self._with_leaves(leaves) if leaves.any() else None

    @cached_property
    def _cut(self) -> TreeTerms:
        """The trees without the splits on inputs whose share is removed, and what is below them."""
        assert self._trees is not None, "asked for where there are trees"
        removed = [key.inputs[0] for key in self.values if key.kind == TREES]
        return self._with_leaves(cut_trees(self._trees, removed)) if removed else self._trees

    def _with_leaves(self, leaves: Floats) -> TreeTerms:
        blend = self.fitted.model.blend
        assert blend is not None, "asked for where there are trees"
        has_main_effect = np.array([(j,) in self.basis.effects for j in range(self.basis.n_inputs)])
        return TreeTerms.of(blend.ensemble, leaves, blend.kept, has_main_effect)

    @cached_property
    def _fixed(self) -> NDArray[np.int64]:
        """The columns of fixed terms, in ascending order."""
        parts = [columns_of(self.basis, key.inputs) for key in self.values if key.kind in (MAIN, PAIR)]
        return np.sort(np.concatenate([NOTHING, *parts]))

    @cached_property
    def _free(self) -> NDArray[np.int64]:
        return np.setdiff1d(np.arange(self.basis.n_columns), self._fixed)

    @cached_property
    def _targets(self) -> Floats:
        """The weights of fixed columns among all: zero for free ones, and for pairs, which can only be removed."""
        targets = np.zeros(self.basis.n_columns)
        for j, main in self.mains.items():
            targets[self.basis.effects[(j,)]] = main.columns
        return targets

    @cached_property
    def _set_effects(self) -> dict[int, Floats]:
        """The random effects that are fixed, by inputs: those of categories, or of single values of a number."""
        effects = {j: main.effects for j, main in self.mains.items() if main.effects.size}
        return effects | {key.inputs[0]: values for key, values in self.values.items() if key.kind == CODES}

    @cached_property
    def _free_effects(self) -> NDArray[np.int64]:
        is_free = np.ones(self.basis.random_effects.size, np.bool_)
        for j in self._set_effects:
            is_free[self.basis.random_effects.of_input(j)] = False
        return np.flatnonzero(is_free)

    @cached_property
    def _target_effects(self) -> Floats:
        """The random effects that are fixed among all, zero for the others."""
        effects = np.zeros(self.basis.random_effects.size)
        for j, values in self._set_effects.items():
            effects[self.basis.random_effects.of_input(j)] = values
        return effects

    @cached_property
    def _moved(self) -> Floats:
        """What pairs do by inputs with fixed curves alone: a map of free weights to fixed ones, (n_fixed, n_free)."""
        moved = np.zeros((self._fixed.size, self.basis.n_columns))
        for inputs in self.basis.effects:
            is_pair = len(inputs) == 2 and all((j,) in self.basis.effects for j in inputs)
            if not is_pair or TermKey(PAIR, inputs) in self.values or not set(inputs) & set(self.mains):
                continue
            columns = columns_of(self.basis, inputs)
            part = find_main_part(self.basis, self.fitted.model.sums.gram, inputs, columns)
            for j, at, matrix in zip(*part, strict=True):
                if j in self.mains:  # the first of `at` is the intercept, which is free
                    moved[np.ix_(np.searchsorted(self._fixed, at[1:]), columns)] += matrix[1:]
        return moved[:, self._free]

    @cached_property
    def _reduced(self) -> AdditiveLogistic:
        """The model of the free columns."""
        model, free, fixed, moved = self.fitted.model, self._free, self._fixed, self._moved
        sums, effects, kept = model.sums, model.random_effects, self._free_effects
        gram, targets, set_effects = sums.full_gram(), self._targets, self._target_effects
        cross = gram[np.ix_(free, fixed)] @ moved
        inner = moved.T @ gram[np.ix_(fixed, fixed)] @ moved
        rest = sums.rhs - gram @ targets - effects.products.T @ set_effects
        reduced_sums = LinearizedSums(
            sums.expansion_point[free],
            np.tril(gram[np.ix_(free, free)] - cross - cross.T + inner),
            rest[free] - moved.T @ rest[fixed],
            sums.class_counts,
        )
        products = effects.products[kept]
        effect_rhs = effects.rhs - effects.products @ targets - effects.shared @ set_effects
        reduced_effects = RandomEffectSums(
            products[:, free] - products[:, fixed] @ moved, effects.curvature[kept], effect_rhs[kept],
            effects.squares[kept], effects.counts[kept], csr_array(effects.shared[kept][:, kept]),
        )  # fmt: skip
        columns, n_additive = model.columns, self.basis.n_additive
        groups = columns.group_index[kept]
        n_before = self.basis.n_columns
        of_all = np.concatenate(
            [free, n_before + kept, np.arange(n_before + self.basis.random_effects.size, n_additive)]
        )
        reduced_columns = columns._replace(
            penalties=columns.penalties.restrict(self._free_groups),
            main=int(np.count_nonzero(free < columns.main)),
            certain=int(np.count_nonzero(free < columns.certain)),
            group_index=np.unique(groups, return_inverse=True)[1].astype(np.int64) if groups.size else NOTHING,
        )
        blend = None if model.blend is None else replace(model.blend, additive=model.blend.additive[of_all])
        return replace(
            model, columns=reduced_columns, lambdas=model.lambdas[self._free_groups], sums=reduced_sums,
            random_effects=reduced_effects, blend=blend,
        )  # fmt: skip

    @cached_property
    def _free_groups(self) -> NDArray[np.int64]:
        """Groups of free columns: a term has whole groups."""
        return np.unique(self.basis.groups.of_columns()[self._free])

    @cached_property
    def _reduced_final(self) -> FinalWeights:
        return self._reduced.solve(self.policy)

    @property
    def _n_reduced(self) -> int:
        """Weights of the reduced model before those of the leaves."""
        return self._free.size + self._free_effects.size + self.basis.crossed.size

    def _expand(self, reduced: FinalWeights) -> FinalWeights:
        """Return the weights of all columns, random effects, crossed codes and leaves."""
        model, basis, free, fixed = self.fitted.model, self.basis, self._free, self._fixed
        ends = np.cumsum([free.size, self._free_effects.size, basis.crossed.size])
        of_columns, of_effects, of_levels, of_leaves = np.split(reduced.weights, ends)
        columns, effects = self._targets.copy(), self._target_effects.copy()
        levels, leaves = of_levels.copy(), of_leaves
        columns[free], effects[self._free_effects], no_effects = of_columns, of_effects, np.zeros(effects.size)
        columns[fixed] -= self._moved @ of_columns
        for code, its_levels in zip(basis.crossed.codes, basis.crossed.parts(), strict=True):
            if TermKey(CROSSED, code.inputs) in self.values:
                levels[its_levels] = 0.0
        if self._trees is not None:
            # The blend weighs the additive part by `scale`; a fixed term counts as it is, with the same mean.
            columns[0] -= (1.0 - reduced.scale) * self._mean(self._targets, self._target_effects)
            leaves = self._cut.values[self._cut.ensemble.splits.columns.size :]
            for j, part in self.tree_parts.items():  # a fixed curve has that already
                own = basis.effects[(j,)]
                columns[own] -= part.columns
                columns[0] += self._mean(part.columns, no_effects, own)
            if self._cut is not self._trees:  # curves keep what the splits did that are cut off
                for j in self._trees.ensemble.inputs.tolist():
                    if (j,) in basis.effects and j not in self.mains:
                        own = basis.effects[(j,)]
                        lost = self._part_of(self._trees, j).columns - self._part_of(self._cut, j).columns
                        columns[own] += lost
                        columns[0] -= self._mean(lost, no_effects, own)
        if reduced.selection.model == SAMPLE:  # no solution: the intercept keeps the mean score
            change = columns - model.initial_weights()[: basis.n_columns]
            columns[0] -= self._mean(change[fixed], no_effects, fixed)
        lambdas, effect_lambdas = model.lambdas.copy(), np.ones(np.unique(model.columns.group_index).size)
        lambdas[self._free_groups] = reduced.lambdas
        effect_lambdas[np.unique(model.columns.group_index[self._free_effects])] = reduced.effect_lambdas
        weights = np.concatenate([columns, effects, levels, leaves])
        return FinalWeights(weights, lambdas, reduced.selection, effect_lambdas, reduced.scale)

    def _mean(self, weights: Floats, effects: Floats, of: NDArray[np.int64] | slice = slice(None)) -> float:
        """Return the mean over the rows of what columns with these weights and random effects add to the scores."""
        model = self.fitted.model
        total = max(float(model.sums.gram[0, 0]), 1e-300)
        return float(model.sums.gram[of, 0] @ weights + model.random_effects.curvature @ effects) / total


def cut_trees(trees: TreeTerms, inputs: list[int]) -> Floats:
    """Return the leaf weights with which splits on some inputs make no difference.

    All leaves below such a split have the value of its node, which is their mean: subtrees on its two sides differ, so
    that anything below would depend on the input too. All nodes above keep their values.
    """
    splits, n_splits = trees.ensemble.splits, trees.ensemble.splits.columns.size
    is_cut = np.isin(trees.ensemble.codes.sources[splits.columns], inputs)
    values, is_below, nodes = trees.values.copy(), np.zeros(trees.values.size, np.bool_), splits.roots
    while nodes.size:
        children = splits.children[nodes]
        nodes_below = np.where(children >= 0, children, n_splits + ~children)
        stops = is_cut[nodes] | is_below[nodes]
        is_below[nodes_below] = stops[:, None]
        values[nodes_below] = np.where(stops[:, None], values[nodes, None], values[nodes_below])
        nodes = children[children >= 0]
    return values[n_splits:]
