"""A penalized logistic model of the columns of a basis, made of sums that merge."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack
from scipy.sparse import csr_array

from opauc.additive.basis.ensemble import TreeEnsemble
from opauc.additive.basis.groups import ColumnGroups
from opauc.additive.basis_columns import BasisColumns
from opauc.additive.basis_rows import BasisRows
from opauc.additive.constraints.fit import (
    candidate_under_constraints,
    constrained_covariance,
    fit_constrained,
    nearest_weights,
)
from opauc.additive.crossed.sums import CROSSED_SCHEMA, CrossedSums
from opauc.additive.drift import BIN_COUNTS_SCHEMA, BinCounts
from opauc.additive.fit import PenalizedFit
from opauc.additive.objective import OBJECTIVE_SCHEMA, Objective
from opauc.additive.policy import ADDITIVE_POLICY, GROUP_POLICY, AdditivePolicy, SmoothingPolicy
from opauc.additive.random_effects import (
    EFFECTS_SCHEMA,
    BorderedSystem,
    MixedFit,
    RandomEffectAccumulator,
    RandomEffectSums,
    smooth_with_random_effects,
)
from opauc.additive.row_groups.effects import shrink_levels, without_levels
from opauc.additive.row_groups.tally import TALLY_SCHEMA, GroupTally
from opauc.additive.selection import (
    CANDIDATES_SCHEMA,
    FULL,
    MODELS,
    MODELS_WITHOUT_TREES,
    PAIRS,
    SAMPLE,
    CandidateModels,
    ModelSelection,
    candidate_lambdas,
    candidate_weights,
)
from opauc.additive.smoothing import factorize, smooth, solve
from opauc.additive.sums import SUMS_SCHEMA, LabeledRows, LinearizedSums
from opauc.additive.trees.blend import ADDITIVE, BLEND_SCHEMA, INTERCEPT, TREES, Blend
from opauc.core.array_schema import ArrayRule, add_prefix, check_arrays, with_prefix
from opauc.core.logistic import linearize
from opauc.core.model import never_added
from opauc.errors import IncompatibleMomentsError
from opauc.types import Arrays, ClassCounts, Floats, NamedArrays

# Share of a count by which rounding may move it.
MAX_LOST = 1e-9
# The arrays of a model begin with these names.
SUMS, RANDOM_EFFECTS, CANDIDATES, BIN_COUNTS = "sums.", "random_effects.", "candidates.", "bin_counts."
BLEND, CROSSED, OBJECTIVE, TALLY = "blend.", "crossed.", "objective.", "tally."
SCHEMA = {
    "lambdas": ArrayRule("float64", "groups", low=0),
    "first_counts": ArrayRule("float64", "2", low=0),
    **add_prefix(SUMS, SUMS_SCHEMA),
    **add_prefix(CANDIDATES, CANDIDATES_SCHEMA),
    **add_prefix(BIN_COUNTS, BIN_COUNTS_SCHEMA),
}
OF_EFFECTS, OF_BLEND = add_prefix(RANDOM_EFFECTS, EFFECTS_SCHEMA), add_prefix(BLEND, BLEND_SCHEMA)
OF_CROSSED = add_prefix(CROSSED, CROSSED_SCHEMA)
OF_OBJECTIVE, OF_TALLY = add_prefix(OBJECTIVE, OBJECTIVE_SCHEMA), add_prefix(TALLY, TALLY_SCHEMA)


class FinalWeights(NamedTuple):
    """Weights of columns, random effects, crossed codes and leaves in turn, smoothing parameters, and the selection.

    `scale` is the weight of the additive part in the blend with the trees, by which all but those of the leaves are
    multiplied. `active` are the constraints that hold with equality, as rows of column weights.
    """

    weights: Floats
    lambdas: Floats
    selection: ModelSelection
    effect_lambdas: Floats  # one per input with random effects
    scale: float = 1.0
    active: csr_array | None = None


@dataclass(frozen=True, eq=False)
class AdditiveLogistic:
    """Sums over rows of the columns of a basis: rows may come in any order, models merge, and rows can be subtracted.

    Unlike the linear models, this is no `Solver`: its weights belong to the columns of a basis, and it does not know
    the variances of the scores.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.sparse import csr_array
    >>> from opauc.additive.basis.groups import ColumnGroups, Group, GroupKind
    >>> from opauc.additive.fit import PenalizedFit
    >>> from opauc.additive.penalties import Penalties
    >>> from opauc.additive.basis_columns import BasisColumns
    >>> from opauc.additive.basis_rows import BasisRows
    >>> from opauc.additive.model import AdditiveLogistic
    >>> rows, labels = csr_array([[1.0, 0.0], [1.0, 1.0]] * 50), np.array([0, 1] * 48 + [1, 0] * 2, np.int8)
    >>> groups = ColumnGroups.of([Group(GroupKind.INTERCEPT, 0, 1), Group(GroupKind.BINARY, 1, 1)])
    >>> fit = PenalizedFit(np.zeros(2), np.array([0.0, 1.0]), np.zeros(100))
    >>> columns = BasisColumns(Penalties(groups, (None, None)), 2, 2)
    >>> model = AdditiveLogistic.start(columns, fit).update_initial([BasisRows(rows, labels)]).with_candidates()
    >>> model.update([BasisRows(rows, labels)]).counts
    ClassCounts(negative=100.0, positive=100.0)
    """

    columns: BasisColumns
    lambdas: Floats  # smoothing parameters of the fit to the initial sample
    first_counts: Floats  # (2,): rows of each class in the warm-up buffer
    sums: LinearizedSums
    random_effects: RandomEffectSums
    candidates: CandidateModels
    bin_counts: BinCounts
    crossed: CrossedSums
    blend: Blend | None = None  # with the trees of the basis, if it has any
    objective: Objective | None = None  # for the partial AUC, which may weigh rows by their score at that point
    tally: GroupTally | None = None  # of the groups within which rows are ranked, if there are any

    @classmethod
    def start(cls, columns: BasisColumns, fit: PenalizedFit) -> Self:
        """Return the model of no rows, whose expansion point is the fit to the initial sample."""
        return cls(
            columns,
            fit.lambdas,
            np.zeros(2),
            LinearizedSums.at(fit.weights),
            RandomEffectSums.empty(columns.group_index.size, columns.n_columns),
            CandidateModels.of(np.tile(fit.weights, (len(columns.candidates()), 1))),
            BinCounts.empty(columns.n_columns),
            CrossedSums.empty(columns.crossed.size),
            tally=None if columns.levels is None else GroupTally.empty(columns.levels.size),
        )

    def update_initial(self, batches: Iterable[BasisRows]) -> Self:
        """Return the model with the rows of the warm-up buffer added."""
        bin_counts, effects = self.bin_counts, RandomEffectAccumulator(self.random_effects, self.sums.expansion_point)
        crossed, counts, tally = self.crossed.copy(), self.sums.class_counts.copy(), self.tally

        def labeled() -> Iterator[LabeledRows]:
            nonlocal bin_counts, counts, tally
            for batch in batches:
                tally = _count_groups(tally, batch)
                bin_counts = bin_counts.update_initial(batch.columns, batch.weight)
                weighted = self._weigh(batch.in_levels())
                self._add_levels(crossed, weighted)
                if batch.indicators is not None:
                    effects.add(weighted.labeled, batch.indicators, batch.weight)
                counts += np.bincount(batch.labels, batch.weight, minlength=2)
                yield weighted.labeled

        sums = replace(self.sums.update_all(labeled()), class_counts=counts)
        return replace(
            self,
            sums=sums,
            random_effects=effects.finish(),
            first_counts=counts,
            bin_counts=bin_counts,
            crossed=crossed,
            tally=tally,
        )

    def _weigh(self, batch: BasisRows) -> BasisRows:
        """Return the batch with the weights that its rows have in the loss."""
        if self.objective is None or not self.objective.is_weighted:
            return batch
        scores = batch.scores(self.sums.expansion_point)
        return batch._replace(weight=self.objective.weights(scores, batch.labels, batch.weight))

    def _add_levels(self, crossed: CrossedSums, batch: BasisRows) -> None:
        """Add a batch to the sums of crossed codes, linearized at the expansion point."""
        if batch.levels is not None:
            curvature, residuals = linearize(batch.scores(self.sums.expansion_point), batch.labels)
            weight = 1.0 if batch.weight is None else batch.weight
            crossed.add_in_place(batch.levels, weight * residuals, weight * curvature)

    def merge_initial(self, other: AdditiveLogistic) -> Self:
        """Return the model with other rows of the same warm-up buffer added."""
        return replace(
            self,
            sums=self.sums.merge(other.sums),
            random_effects=self.random_effects.merge(other.random_effects),
            first_counts=self.first_counts + other.first_counts,
            bin_counts=self.bin_counts.merge_initial(other.bin_counts),
            crossed=self.crossed.merge(other.crossed),
            tally=_merge_tallies(self.tally, other.tally),
        )

    def with_candidates(self) -> Self:
        """Return the model with the candidates that the rows of the warm-up buffer give."""
        columns = self.columns.candidates()
        sums = self._sums_within()
        of_all = self._candidate(sums, self.lambdas, columns[FULL])
        weights = [
            of_all if kept.size == of_all.size else self._candidate(sums, self.lambdas, kept)
            for kept in columns.values()
        ]
        return replace(self, candidates=CandidateModels.of(np.stack(weights)))

    @property
    def counts(self) -> ClassCounts:
        """Rows of each class, each counted with its weight."""
        return self.sums.counts

    def empty_copy(self) -> Self:
        """Return the model of no rows with the same basis and expansion point."""
        return replace(
            self,
            sums=self.sums.empty_copy(),
            random_effects=self.random_effects.empty_copy(),
            candidates=self.candidates.empty_copy(),
            bin_counts=self.bin_counts.empty_copy(),
            crossed=self.crossed.empty_copy(),
            blend=None if self.blend is None else self.blend.empty_copy(),
            tally=None if self.tally is None else self.tally.empty_copy(),
        )

    def update(self, batches: Iterable[BasisRows]) -> Self:
        """Return the model with later rows added; the candidates score fresh rows first."""
        candidates, bin_counts, blend = self.candidates, self.bin_counts, self.blend
        crossed, counts, tally = self.crossed.copy(), self.sums.class_counts.copy(), self.tally
        effects = RandomEffectAccumulator(self.random_effects, self.sums.expansion_point)

        def labeled() -> Iterator[LabeledRows]:
            nonlocal candidates, bin_counts, blend, counts, tally
            for batch in batches:
                tally = _count_groups(tally, batch)
                used, blended = batch.in_levels(), None
                if blend is not None:
                    fresh = used.only_fresh()
                    assert fresh.leaves is not None, "later rows of a model with trees have leaves"
                    assert fresh.additive is not None, "and additive scores"
                    blended = blend.scores(fresh.additive, fresh.leaves)
                    weight = self._weigh(fresh).weight
                    blend = blend.update(fresh.additive, fresh.leaves, fresh.labels, weight, fresh.offset)
                candidates = candidates.update(used.columns, used.labels, used.weight, used.fresh, blended, used.offset)
                bin_counts = bin_counts.update(batch.columns, batch.weight)
                weighted = self._weigh(used)
                self._add_levels(crossed, weighted)
                if batch.indicators is not None:
                    effects.add(weighted.labeled, batch.indicators, batch.weight)
                counts += np.bincount(batch.labels, batch.weight, minlength=2)
                yield weighted.labeled

        sums = replace(self.sums.update_all(labeled()), class_counts=counts)
        return replace(
            self,
            sums=sums,
            random_effects=effects.finish(),
            candidates=candidates,
            bin_counts=bin_counts,
            crossed=crossed,
            blend=blend,
            tally=tally,
        )

    def merge(self, other: AdditiveLogistic) -> Self:
        """Return the model of the rows of both, which must have the same basis."""
        self._check_same_objective(other)
        return replace(
            self,
            sums=self.sums.merge(other.sums),
            random_effects=self.random_effects.merge(other.random_effects),
            candidates=self.candidates.merge(other.candidates),
            bin_counts=self.bin_counts.merge(other.bin_counts),
            crossed=self.crossed.merge(other.crossed),
            blend=None if self.blend is None or other.blend is None else self.blend.merge(other.blend),
            tally=_merge_tallies(self.tally, other.tally),
        )

    def subtract(self, later: Iterable[BasisRows], initial: Iterable[BasisRows] = ()) -> Self:
        """Return the model without rows that were added later, and without rows of the warm-up buffer.

        No candidate has scored the rows of the buffer, and the bin counts of the basis stay.
        """
        empty = self.empty_copy()
        return self.without(
            empty.update(later).merge(replace(empty.update_initial(initial), bin_counts=empty.bin_counts))
        )

    def without(self, other: AdditiveLogistic) -> Self:
        """Return the model of the rows that are not in `other`, which must have the same basis."""
        self._check_same_objective(other)
        return replace(
            self,
            sums=self.sums.subtract(other.sums),
            random_effects=self.random_effects.subtract(other.random_effects),
            candidates=self.candidates.subtract(other.candidates),
            bin_counts=self.bin_counts.subtract(other.bin_counts),
            crossed=self.crossed.subtract(other.crossed),
            blend=None if self.blend is None or other.blend is None else self.blend.subtract(other.blend),
            tally=None if self.tally is None or other.tally is None else self.tally.subtract(other.tally),
        )

    def _check_same_objective(self, other: AdditiveLogistic) -> None:
        """Raise unless rows weigh the same in both."""
        if self.objective is not other.objective and (
            self.objective is None or not self.objective.is_same(other.objective)
        ):
            raise IncompatibleMomentsError(
                "models of different objectives do not merge; begin one with an empty copy of the other"
            )

    def check_part(self, other: AdditiveLogistic) -> None:
        """Raise unless the rows of `other` can be among these: no count or curvature may fall below zero."""
        parts = {
            "counts of scores": (self.candidates.counts, other.candidates.counts),
            "counts of categories": (self.random_effects.counts, other.random_effects.counts),
            "sums of combinations": (self.crossed.curvature, other.crossed.curvature),
        }
        if self.blend is not None and other.blend is not None:
            parts["sums of leaves"] = self.blend.sums.curvatures, other.blend.sums.curvatures
        if self.tally is not None and other.tally is not None:
            parts["counts of groups"] = self.tally.counts, other.tally.counts
        for name, (mine, theirs) in parts.items():
            if mine.shape != theirs.shape or (theirs > mine + MAX_LOST * (1.0 + np.abs(mine))).any():
                raise never_added(f"{name} would fall below zero")
        if not self.sums.can_have(other.sums):
            raise never_added("columns would vary by less than nothing")

    def solve(self, policy: AdditivePolicy = ADDITIVE_POLICY, narrow: bool = False) -> FinalWeights:
        """Return the weights of the selected model: one Newton step from the expansion point, smoothed for all rows.

        `narrow` allows float32 factors, which are faster; shards merged in another order then agree to six digits.
        """
        constraints = self.columns.constraints
        has_trees = self.blend is not None and (constraints is None or constraints.keeps_trees)
        selection = self.candidates.select(with_trees=has_trees)
        no_effects, initial_lambdas = np.zeros(self.columns.n_effects), self._initial_effect_lambdas()
        if not self.counts.both:
            zeros = np.zeros(self.sums.n_features + no_effects.size + self.crossed.size + self._no_leaves().size)
            return FinalWeights(zeros, self.lambdas, selection, initial_lambdas)
        prior_shift = self._prior_shift()
        if abs(prior_shift) > policy.smoothing.max_prior_shift:
            # One step from the expansion point would mislead: use the fit to the initial sample, its intercept moved.
            weights = self.initial_weights()
            weights[0] += prior_shift
            return FinalWeights(weights, self.lambdas, selection._replace(model=SAMPLE), initial_lambdas)
        smoothing = policy.smoothing if narrow and constraints is None else policy.smoothing.in_float64()
        is_blend = selection.model == FULL and self.blend is not None
        scale = float(self.blend.weights[ADDITIVE]) if is_blend and self.blend is not None else 1.0
        fit, active = self._fit(smoothing, scale or 1.0, narrow)
        crossed = self.crossed.effects(self.columns.crossed)
        weights, effects = self._at_mean_group(fit.weights, fit.effects), fit.effects[: self.columns.n_effects]
        if constraints is not None:
            crossed = np.where(constraints.kept_levels, crossed, 0.0)
        if is_blend and self.blend is not None:
            leaves = self._in_order(self.blend.leaf_weights(policy.tree))
            all_weights = _blend_weights(self.blend.weights, np.concatenate([weights, effects, crossed]), leaves)
            return FinalWeights(all_weights, fit.lambdas, selection, fit.effect_lambdas, scale, active)
        if selection.model not in (FULL, PAIRS):
            rest = replace(self.sums, rhs=self.sums.rhs - self.random_effects.products.T @ fit.effects)
            weights = self._candidate(rest, fit.lambdas, self.columns.candidates()[selection.model])
            weights = self._at_mean_group(weights, fit.effects)
        all_weights = np.concatenate([weights, effects, crossed, self._no_leaves()])
        return FinalWeights(all_weights, fit.lambdas, selection, fit.effect_lambdas, active=active)

    def _sums_within(self) -> LinearizedSums:
        """Return the sums of the columns; where there are groups, of what the columns do within these."""
        if self.columns.levels is None:
            return self.sums
        levels = np.arange(self.columns.n_effects, self.random_effects.size)
        every_column = np.arange(self.columns.n_columns)
        own = self.random_effects.restrict(levels, every_column, np.zeros(every_column.size))
        return without_levels(self.sums, own, GROUP_POLICY.level_penalty)

    def _at_mean_group(self, weights: Floats, effects: Floats) -> Floats:
        """Return the column weights with the intercept of the mean group, given the random effects of categories."""
        if self.columns.levels is None:
            return weights
        n_effects, of_effects = self.columns.n_effects, self.random_effects
        moved = np.append(0.0, weights[1:])
        own = np.where(np.arange(effects.size) < n_effects, effects, 0.0)
        curvature = of_effects.curvature[n_effects:]
        targets = (of_effects.rhs - of_effects.products @ moved - of_effects.shared @ own)[n_effects:]
        noise = float(of_effects.squares[n_effects:].sum()) / max(float(curvature.sum()), 1e-300)
        mean = shrink_levels(curvature, targets, noise).mean
        return np.append(mean, weights[1:])

    def _candidate(self, sums: LinearizedSums, lambdas: Floats, columns: NDArray[np.int64]) -> Floats:
        """Return the weights of a candidate model, which has only these columns."""
        penalties, constraints = self.columns.penalties, self.columns.constraints
        if constraints is None:
            return candidate_weights(sums, penalties, lambdas, columns)
        limited = candidate_lambdas(penalties, lambdas, columns)
        return candidate_under_constraints(sums, penalties, limited, columns, constraints)

    def _in_order(self, leaves: Floats) -> Floats:
        """Return leaf weights that satisfy the constraints."""
        constraints, blend = self.columns.constraints, self.blend
        if constraints is None or blend is None:
            return leaves
        return constraints.leaf_values(blend.ensemble, leaves, blend.kept)

    def initial_weights(self) -> Floats:
        """Return the weights of the fit to the initial sample; without trees, effects of categories are zero in it."""
        constraints, n_columns = self.columns.constraints, self.columns.n_columns
        if self.blend is None or not (constraints is None or constraints.keeps_trees):
            weights = self._nearest(self.sums.expansion_point)
            n_others = self.columns.n_effects + self.crossed.size + self._no_leaves().size
            return np.concatenate([weights, np.zeros(n_others)])
        additive = self.blend.additive.copy()
        additive[:n_columns] = self._nearest(additive[:n_columns], float(self.blend.point[ADDITIVE]) or 1.0)
        if constraints is not None:
            additive[n_columns:] *= np.concatenate([constraints.kept_effects, constraints.kept_levels])
        return _blend_weights(self.blend.point, additive, self._in_order(self.blend.ensemble.values))

    def _nearest(self, weights: Floats, scale: float = 1.0) -> Floats:
        """Return the column weights nearest to others that satisfy the constraints."""
        constraints = self.columns.constraints
        if constraints is None:
            return weights
        return nearest_weights(weights, self.sums, self.columns.penalties, self.lambdas, constraints, scale)

    def _initial_effect_lambdas(self) -> Floats:
        lambdas = np.ones(np.unique(self.columns.group_index).size)
        if self._level_penalty is not None:
            lambdas[-1] = self._level_penalty
        return lambdas

    @property
    def _level_penalty(self) -> float | None:
        has_levels = self.columns.levels is not None and self.columns.levels.size
        return GROUP_POLICY.level_penalty if has_levels else None

    def _no_leaves(self) -> Floats:
        """Return leaf weights of zero."""
        return np.zeros(0 if self.columns.trees is None else self.columns.trees.n_leaves)

    def _fit(self, policy: SmoothingPolicy, scale: float, narrow: bool) -> tuple[MixedFit, csr_array | None]:
        """Return the fit of columns and random effects, and active constraints; `narrow` spares the last step."""
        penalties, gram, rhs = self.columns.penalties, self.sums.gram, self.sums.rhs
        effects, group_index, constraints = self.random_effects, self.columns.group_index, self.columns.constraints
        if constraints is not None:
            return fit_constrained(self.sums, effects, group_index, penalties, self.lambdas, constraints, scale, policy)
        if effects.size:
            fit = smooth_with_random_effects(
                self.sums, effects, group_index, penalties, self.lambdas, policy, narrow, self._level_penalty
            )
            return fit, None
        weights, lambdas = smooth(gram, rhs, penalties, self.lambdas, policy.final_steps, policy)
        weights = weights if narrow else solve(gram, rhs, penalties, lambdas)
        return MixedFit(weights, np.empty(0), lambdas, np.empty(0)), None

    def _prior_shift(self) -> float:
        """Return the change of the log-odds of the classes since the initial sample."""
        now, then = self.sums.class_counts, self.first_counts
        return float(np.log(now[1] / now[0]) - np.log(then[1] / then[0])) if then.all() else 0.0

    def covariance(self, final: FinalWeights) -> Floats:
        """Return the covariance matrix of the column weights, (gram + penalties)^-1, with both triangles."""
        gram = self._system(final).eliminated[0] if self.random_effects.size else self.sums.gram
        if self.columns.constraints is not None and final.active is not None:
            free = np.flatnonzero(self.columns.constraints.free)
            lower = self.columns.penalties.add_to(gram, final.lambdas)[np.ix_(free, free)]
            return final.scale**2 * constrained_covariance(lower, final.active, free, self.columns.n_columns)
        upper = factorize(self.columns.penalties.add_to(gram, final.lambdas))
        inverse, _ = lapack.dpotri(upper, lower=0, overwrite_c=1)
        full: Floats = np.triu(inverse) + np.triu(inverse, 1).T
        return final.scale**2 * full

    def random_effect_variances(self, final: FinalWeights) -> Floats:
        """Return the variance of each random effect, given all other weights."""
        variances: Floats = 1.0 / (self.random_effects.curvature + final.effect_lambdas[self.columns.group_index])
        if self.columns.constraints is not None:
            variances = np.where(self.columns.constraints.kept_effects, variances, 0.0)
        return final.scale**2 * variances[: self.columns.n_effects]

    def _system(self, final: FinalWeights) -> BorderedSystem:
        effect_lambdas = final.effect_lambdas[self.columns.group_index]
        penalties, n_inputs = self.columns.penalties, final.effect_lambdas.size
        return BorderedSystem(self.sums, self.random_effects, penalties, final.lambdas, effect_lambdas, n_inputs)

    def to_arrays(self) -> Arrays:
        """Return all arrays but those of the basis, under flat names."""
        arrays: Arrays = {"lambdas": self.lambdas.copy(), "first_counts": self.first_counts.copy()}
        arrays |= add_prefix(SUMS, self.sums.to_arrays())
        if self.random_effects.size:
            arrays |= add_prefix(RANDOM_EFFECTS, self.random_effects.to_arrays())
        if self.crossed.size:
            arrays |= add_prefix(CROSSED, self.crossed.to_arrays())
        if self.blend is not None:
            arrays |= add_prefix(BLEND, self.blend.to_arrays())
        if self.objective is not None:
            arrays |= add_prefix(OBJECTIVE, self.objective.to_arrays())
        if self.tally is not None:
            arrays |= add_prefix(TALLY, self.tally.to_arrays())
        arrays |= add_prefix(CANDIDATES, self.candidates.to_arrays())
        return arrays | add_prefix(BIN_COUNTS, self.bin_counts.to_arrays())

    @classmethod
    def from_arrays(cls, columns: BasisColumns, arrays: NamedArrays) -> Self:
        """Return the model of a basis from `to_arrays`; raise ValueError if the arrays do not fit the basis."""
        effects, crossed = with_prefix(RANDOM_EFFECTS, arrays), with_prefix(CROSSED, arrays)
        trees, n_effects = columns.trees, columns.group_index.size
        n_levels = None if columns.levels is None else columns.levels.size
        check_model_arrays(arrays, columns.penalties.groups, n_effects, trees, columns.crossed.size, n_levels)
        n_additive = columns.n_columns + columns.n_effects + columns.crossed.size
        return cls(
            columns,
            arrays["lambdas"],
            arrays["first_counts"],
            LinearizedSums.from_arrays(with_prefix(SUMS, arrays)),
            RandomEffectSums.from_arrays(effects) if effects else RandomEffectSums.empty(0, columns.n_columns),
            CandidateModels.from_arrays(with_prefix(CANDIDATES, arrays)),
            BinCounts.from_arrays(with_prefix(BIN_COUNTS, arrays)),
            CrossedSums.from_arrays(crossed) if crossed else CrossedSums.empty(0),
            None if trees is None else Blend.from_arrays(trees, n_additive, with_prefix(BLEND, arrays)),
            Objective.from_arrays(objective) if (objective := with_prefix(OBJECTIVE, arrays)) else None,
            None if columns.levels is None else GroupTally.from_arrays(with_prefix(TALLY, arrays)),
        )


def _count_groups(tally: GroupTally | None, batch: BasisRows) -> GroupTally | None:
    if tally is None or batch.places is None:
        return tally
    return tally.update(batch.places, batch.labels, batch.weight)


def _merge_tallies(one: GroupTally | None, other: GroupTally | None) -> GroupTally | None:
    return None if one is None or other is None else one.merge(other)


def _blend_weights(blend: Floats, additive: Floats, leaves: Floats) -> Floats:
    """Return the weights of a blend: those of the additive part, the first of which is the intercept, and of leaves."""
    weights = np.concatenate([blend[ADDITIVE] * additive, blend[TREES] * leaves])
    weights[0] += blend[INTERCEPT]
    return weights


def check_model_arrays(
    arrays: NamedArrays,
    groups: ColumnGroups,
    n_effects: int,
    trees: TreeEnsemble | None = None,
    n_levels: int = 0,
    n_groups: int | None = None,
) -> None:
    """Raise ValueError unless the arrays of a model fit the columns of a basis; nothing is allocated for them.

    The last `n_groups` of the random effects are the levels of groups; None where rows have no groups.
    """
    n_models = len(MODELS_WITHOUT_TREES if trees is None else MODELS)
    sizes = {"groups": groups.kinds.size, "columns": groups.n_columns, "models": n_models, "effects": n_effects}
    schema = SCHEMA | (OF_EFFECTS if n_effects else {}) | (OF_CROSSED if n_levels else {})
    if n_groups is not None:
        schema |= OF_TALLY
        sizes["places"] = n_groups + 1
    if any(name.startswith(OBJECTIVE) for name in arrays):
        schema |= OF_OBJECTIVE
    if trees is not None:
        n_additive = groups.n_columns + n_effects - (n_groups or 0) + n_levels
        sizes |= {"leaves": trees.n_leaves, "coded": trees.codes.n_coded, "additive": n_additive}
        schema |= OF_BLEND
    check_arrays(schema, arrays, sizes)
    if n_levels and int(arrays[f"{CROSSED}n_levels"]) != n_levels:
        raise ValueError(f"crossed codes: expected sums of {n_levels} levels")
