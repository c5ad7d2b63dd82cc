"""A penalized logistic model of the columns of a basis, made of sums that merge."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack
from scipy.sparse import csr_array

from opauc.additive.basis.crossed_codes import NO_CROSSED_CODES, CrossedCodes
from opauc.additive.basis.groups import ColumnGroups, GroupKind
from opauc.additive.crossed_sums import CROSSED_SCHEMA, CrossedSums
from opauc.additive.drift import BIN_COUNTS_SCHEMA, BinCounts
from opauc.additive.fit import PenalizedFit
from opauc.additive.penalties import Penalties
from opauc.additive.policy import SMOOTHING_POLICY, SmoothingPolicy
from opauc.additive.random_effects import (
    EFFECTS_SCHEMA,
    BorderedSystem,
    MixedFit,
    RandomEffectAccumulator,
    RandomEffectSums,
    smooth_with_random_effects,
)
from opauc.additive.selection import (
    CANDIDATES_SCHEMA,
    FULL,
    MODELS,
    MODELS_WITHOUT_TREES,
    SAMPLE,
    CandidateModels,
    ModelSelection,
    candidate_columns,
    candidate_weights,
)
from opauc.additive.smoothing import factorize, smooth, solve
from opauc.additive.sums import SUMS_SCHEMA, LabeledRows, LinearizedSums, linearize
from opauc.core.array_schema import ArrayRule, add_prefix, check_arrays, with_prefix
from opauc.types import Arrays, ClassCounts, Floats, Labels, NamedArrays

NO_GROUPS = np.empty(0, np.int64)
# The arrays of a model begin with these names.
SUMS, RANDOM_EFFECTS, CANDIDATES, BIN_COUNTS = "sums.", "random_effects.", "candidates.", "bin_counts."
CROSSED = "crossed."
SCHEMA_WITHOUT_EFFECTS = {
    "lambdas": ArrayRule("float64", "groups", low=0),
    "first_counts": ArrayRule("float64", "2", low=0),
    **add_prefix(SUMS, SUMS_SCHEMA),
    **add_prefix(CANDIDATES, CANDIDATES_SCHEMA),
    **add_prefix(BIN_COUNTS, BIN_COUNTS_SCHEMA),
}
SCHEMA = SCHEMA_WITHOUT_EFFECTS | add_prefix(RANDOM_EFFECTS, EFFECTS_SCHEMA)


class BasisRows(NamedTuple):
    """Rows as a model takes them: their columns, labels and sample weights (None means one each).

    `fresh` marks the rows that the basis was not made from; None means all. `indicators` are those of the categories
    with random effects, if the basis has any, `levels` those of crossed codes.
    """

    columns: csr_array
    labels: Labels
    weight: Floats | None = None
    fresh: NDArray[np.bool_] | None = None
    indicators: csr_array | None = None
    levels: NDArray[np.int64] | None = None  # (n_rows, 2 n_codes)

    @property
    def labeled(self) -> LabeledRows:
        """Columns, labels and sample weights of all rows."""
        return self.columns, self.labels, self.weight

    def only_fresh(self) -> BasisRows:
        """Return the rows that the basis was not made from."""
        if self.fresh is None or self.fresh.all():
            return self
        weight = None if self.weight is None else self.weight[self.fresh]
        return BasisRows(self.columns[self.fresh], self.labels[self.fresh], weight)


class BasisColumns(NamedTuple):
    """The columns of a basis: their penalties, and how many are main effects or come before uncertain pairs.

    `group_index` has the input of each random effect, counted among the inputs that have any. `frozen_leaves` says
    whether leaves keep the values they were grown with until there are enough rows. `crossed` are the crossed codes.
    """

    penalties: Penalties
    main: int
    certain: int
    group_index: NDArray[np.int64] = NO_GROUPS
    frozen_leaves: bool = False
    crossed: CrossedCodes = NO_CROSSED_CODES

    @property
    def n_columns(self) -> int:
        """Number of columns."""
        return self.penalties.groups.n_columns

    @property
    def first_leaf(self) -> int:
        """Number of columns before the leaf indicators; all columns if there are none."""
        groups = self.penalties.groups
        leaves = groups.starts[groups.kinds == GroupKind.LEAVES]
        return int(leaves[0]) if leaves.size else self.n_columns

    def candidates(self) -> dict[str, NDArray[np.int64]]:
        """Return the columns of each candidate model."""
        return candidate_columns(self.penalties.groups, self.main, self.certain)


class FinalWeights(NamedTuple):
    """Weights of columns, random effects and crossed codes in turn, smoothing parameters, and the selection."""

    weights: Floats
    lambdas: Floats
    selection: ModelSelection
    effect_lambdas: Floats  # one per input with random effects


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
    >>> from opauc.additive.model import AdditiveLogistic, BasisColumns, BasisRows
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
        )

    def update_initial(self, batches: Iterable[BasisRows]) -> Self:
        """Return the model with the rows of the warm-up buffer added."""
        bin_counts, effects = self.bin_counts, RandomEffectAccumulator(self.random_effects, self.sums.expansion_point)
        crossed = self.crossed.copy()

        def labeled() -> Iterator[LabeledRows]:
            nonlocal bin_counts
            for batch in batches:
                bin_counts = bin_counts.update_initial(batch.columns, batch.weight)
                self._add_levels(crossed, batch)
                if batch.indicators is not None:
                    effects.add(batch.labeled, batch.indicators)
                yield batch.labeled

        sums = self.sums.update_all(labeled())
        counts = sums.class_counts
        return replace(
            self,
            sums=sums,
            random_effects=effects.finish(),
            first_counts=counts,
            bin_counts=bin_counts,
            crossed=crossed,
        )

    def _add_levels(self, crossed: CrossedSums, batch: BasisRows) -> None:
        """Add a batch to the sums of crossed codes, linearized at the expansion point."""
        if batch.levels is not None:
            curvature, residuals = linearize(batch.columns @ self.sums.expansion_point, batch.labels)
            weight = 1.0 if batch.weight is None else batch.weight
            crossed.add_in_place(batch.levels, weight * residuals, weight * curvature)

    def with_candidates(self) -> Self:
        """Return the model with the candidates that the rows of the warm-up buffer give."""
        penalties, columns, point = self.columns.penalties, self.columns.candidates(), self.sums.expansion_point
        del columns[FULL]
        first_leaf = self.columns.first_leaf
        weights = [
            # Trees were grown from a fit without them: that fit is the candidate without trees.
            np.where(np.arange(point.size) < first_leaf, point, 0.0)
            if kept.size == first_leaf < point.size
            else candidate_weights(self.sums, penalties, self.lambdas, kept)
            for kept in columns.values()
        ]
        return replace(self, candidates=CandidateModels.of(np.stack([*weights, point])))

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
        )

    def update(self, batches: Iterable[BasisRows]) -> Self:
        """Return the model with later rows added; the candidates score fresh rows first."""
        candidates, bin_counts, crossed = self.candidates, self.bin_counts, self.crossed.copy()
        effects = RandomEffectAccumulator(self.random_effects, self.sums.expansion_point)

        def labeled() -> Iterator[LabeledRows]:
            nonlocal candidates, bin_counts
            for batch in batches:
                candidates = candidates.update(*batch.only_fresh().labeled)
                bin_counts = bin_counts.update(batch.columns, batch.weight)
                self._add_levels(crossed, batch)
                if batch.indicators is not None:
                    effects.add(batch.labeled, batch.indicators)
                yield batch.labeled

        sums = self.sums.update_all(labeled())
        return replace(
            self,
            sums=sums,
            random_effects=effects.finish(),
            candidates=candidates,
            bin_counts=bin_counts,
            crossed=crossed,
        )

    def merge(self, other: AdditiveLogistic) -> Self:
        """Return the model of the rows of both, which must have the same basis."""
        return replace(
            self,
            sums=self.sums.merge(other.sums),
            random_effects=self.random_effects.merge(other.random_effects),
            candidates=self.candidates.merge(other.candidates),
            bin_counts=self.bin_counts.merge(other.bin_counts),
            crossed=self.crossed.merge(other.crossed),
        )

    def subtract(self, later: Iterable[BasisRows], initial: Iterable[BasisRows] = ()) -> Self:
        """Return the model without rows that were added later, and without rows of the warm-up buffer.

        No candidate has scored the rows of the buffer, and the bin counts of the basis stay.
        """
        empty = self.empty_copy()
        other = empty.update(later).merge(replace(empty.update_initial(initial), bin_counts=empty.bin_counts))
        return replace(
            self,
            sums=self.sums.subtract(other.sums),
            random_effects=self.random_effects.subtract(other.random_effects),
            candidates=self.candidates.subtract(other.candidates),
            bin_counts=self.bin_counts.subtract(other.bin_counts),
            crossed=self.crossed.subtract(other.crossed),
        )

    def solve(self, policy: SmoothingPolicy = SMOOTHING_POLICY) -> FinalWeights:
        """Return the weights of the selected model: one Newton step from the expansion point, smoothed for all rows."""
        selection, no_effects = self.candidates.select(), np.zeros(self.columns.group_index.size)
        initial_lambdas = np.ones(np.unique(self.columns.group_index).size)
        if not self.counts.both:
            zeros = np.zeros(self.sums.n_features + no_effects.size + self.crossed.size)
            return FinalWeights(zeros, self.lambdas, selection, initial_lambdas)
        prior_shift = self._prior_shift()
        if abs(prior_shift) > policy.max_prior_shift:
            # One step from the expansion point would mislead: use the fit to the initial sample, its intercept moved.
            weights = np.concatenate([self.sums.expansion_point, no_effects, np.zeros(self.crossed.size)])
            weights[0] += prior_shift
            return FinalWeights(weights, self.lambdas, selection._replace(model=SAMPLE), initial_lambdas)
        fit = self._fit_with_frozen_leaves(policy) if self._leaves_are_frozen(policy) else self._fit(policy)
        weights, effects = fit.weights, fit.effects
        if selection.model != FULL and self.columns.first_leaf < self.columns.n_columns:
            # Sums expanded at a model with trees say little about models without them: use the scored candidate.
            weights = self.candidates.weights[list(self.columns.candidates()).index(selection.model)]
            effects = no_effects
        elif selection.model != FULL:
            rest = replace(self.sums, rhs=self.sums.rhs - self.random_effects.products.T @ effects)
            kept = self.columns.candidates()[selection.model]
            weights = candidate_weights(rest, self.columns.penalties, fit.lambdas, kept)
        all_weights = np.concatenate([weights, effects, self.crossed.effects(self.columns.crossed)])
        return FinalWeights(all_weights, fit.lambdas, selection, fit.effect_lambdas)

    def _leaves_are_frozen(self, policy: SmoothingPolicy) -> bool:
        """Tell whether leaves keep the values they were grown with: new ones would overfit the rows they grew on."""
        enough = policy.leaf_refit_factor * self.first_counts.sum()
        return self.columns.frozen_leaves and bool(self.sums.class_counts.sum() < enough)

    def _fit_with_frozen_leaves(self, policy: SmoothingPolicy) -> MixedFit:
        """Return the fit of the full model with the leaf weights of the expansion point.

        Smoothing parameters are kept too: to rows that leaves explain almost entirely, curves would seem irrelevant.
        """
        groups, first_leaf = self.columns.penalties.groups, self.columns.first_leaf
        leaf_values = self.sums.expansion_point[first_leaf:]
        of_leaves = np.append(leaf_values @ self.sums.gram[first_leaf:, :first_leaf], np.zeros(leaf_values.size))
        sums = replace(self.sums, rhs=self.sums.rhs - of_leaves).restrict(np.arange(first_leaf))
        random_effects = replace(
            self.random_effects,
            products=self.random_effects.products[:, :first_leaf],
            rhs=self.random_effects.rhs - self.random_effects.products[:, first_leaf:] @ leaf_values,
        )
        penalties = self.columns.penalties.restrict(np.flatnonzero(groups.kinds != GroupKind.LEAVES))
        columns = self.columns._replace(penalties=penalties)
        rest = replace(self, columns=columns, lambdas=self.lambdas[:-1], sums=sums, random_effects=random_effects)
        fit = rest._fit(policy, max_steps=0)
        lambdas = np.append(fit.lambdas, self.lambdas[-1])
        return fit._replace(weights=np.concatenate([fit.weights, leaf_values]), lambdas=lambdas)

    def _fit(self, policy: SmoothingPolicy, max_steps: int | None = None) -> MixedFit:
        """Return the fit of the full model, with smoothing parameters after so many steps."""
        penalties, gram, rhs = self.columns.penalties, self.sums.gram, self.sums.rhs
        if self.random_effects.size:
            return smooth_with_random_effects(
                self.sums, self.random_effects, self.columns.group_index, penalties, self.lambdas, policy
            )
        steps = policy.final_steps if max_steps is None else max_steps
        lambdas = smooth(gram, rhs, penalties, self.lambdas, steps, policy).lambdas
        return MixedFit(solve(gram, rhs, penalties, lambdas), np.empty(0), lambdas, np.empty(0))

    def _prior_shift(self) -> float:
        """Return the change of the log-odds of the classes since the initial sample."""
        now, then = self.sums.class_counts, self.first_counts
        return float(np.log(now[1] / now[0]) - np.log(then[1] / then[0])) if then.all() else 0.0

    def covariance(self, final: FinalWeights) -> Floats:
        """Return the covariance matrix of the column weights, (gram + penalties)^-1, with both triangles."""
        gram = self._system(final).eliminated[0] if self.random_effects.size else self.sums.gram
        upper = factorize(self.columns.penalties.add_to(gram, final.lambdas))
        inverse, _ = lapack.dpotri(upper, lower=0, overwrite_c=1)
        full: Floats = np.triu(inverse) + np.triu(inverse, 1).T
        return full

    def random_effect_variances(self, final: FinalWeights) -> Floats:
        """Return the variance of each random effect, given all other weights."""
        variances: Floats = 1.0 / (self.random_effects.curvature + final.effect_lambdas[self.columns.group_index])
        return variances

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
        arrays |= add_prefix(CANDIDATES, self.candidates.to_arrays())
        return arrays | add_prefix(BIN_COUNTS, self.bin_counts.to_arrays())

    @classmethod
    def from_arrays(cls, columns: BasisColumns, arrays: NamedArrays) -> Self:
        """Return the model of a basis from `to_arrays`; raise ValueError if the arrays do not fit the basis."""
        effects, crossed = with_prefix(RANDOM_EFFECTS, arrays), with_prefix(CROSSED, arrays)
        check_model_arrays(arrays, columns.penalties.groups, columns.group_index.size, columns.crossed.size)
        return cls(
            columns,
            arrays["lambdas"],
            arrays["first_counts"],
            LinearizedSums.from_arrays(with_prefix(SUMS, arrays)),
            RandomEffectSums.from_arrays(effects) if effects else RandomEffectSums.empty(0, columns.n_columns),
            CandidateModels.from_arrays(with_prefix(CANDIDATES, arrays)),
            BinCounts.from_arrays(with_prefix(BIN_COUNTS, arrays)),
            CrossedSums.from_arrays(crossed) if crossed else CrossedSums.empty(0),
        )


def check_model_arrays(arrays: NamedArrays, groups: ColumnGroups, n_effects: int, n_levels: int = 0) -> None:
    """Raise ValueError unless the arrays of a model fit the columns of a basis; nothing is allocated for them."""
    n_models = len(MODELS if GroupKind.LEAVES in groups.kinds else MODELS_WITHOUT_TREES)
    sizes = {"groups": groups.kinds.size, "columns": groups.n_columns, "models": n_models, "effects": n_effects}
    schema = SCHEMA if n_effects else SCHEMA_WITHOUT_EFFECTS
    check_arrays(schema | add_prefix(CROSSED, CROSSED_SCHEMA) if n_levels else schema, arrays, sizes)
    if n_levels and int(arrays[f"{CROSSED}n_levels"]) != n_levels:
        raise ValueError(f"crossed codes: expected sums of {n_levels} levels")
