"""The first fit: from the rows of the warm-up buffer to a basis and its model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from opauc.additive.basis.basis import Basis
from opauc.additive.basis.group_levels import GroupLevels
from opauc.additive.basis.knots import balance_classes
from opauc.additive.basis.random_effects import RandomEffects
from opauc.additive.codes import find_coded_inputs
from opauc.additive.constraints.constraints import NO_CONSTRAINTS, Constraints
from opauc.additive.constraints.fit import BasisConstraints
from opauc.additive.crossed.search import CrossingRule, find_crossed_codes
from opauc.additive.first_effects import choose_main_effects, drop_weak_effects
from opauc.additive.fit import PenalizedFit
from opauc.additive.initial_sample import Sample, SampleRows, WarmUpBuffer, by_columns, draw_search_rows
from opauc.additive.initial_trees import (
    GrownTrees,
    accept_trees,
    cross_fit_additive,
    cross_fit_trees,
    grow_trees,
    score_held_out,
    start_blend,
    trees_may_join,
)
from opauc.additive.labeled_sample import LabeledSample
from opauc.additive.leaks import measure_inputs
from opauc.additive.model import AdditiveLogistic, BasisColumns, check_model_arrays
from opauc.additive.objective import PAUC
from opauc.additive.partial_auc import choose_objective
from opauc.additive.penalties import Penalties
from opauc.additive.policy import ADDITIVE_POLICY, AdditivePolicy, GroupPolicy
from opauc.additive.row_groups.effects import GroupedFit, estimate_levels
from opauc.additive.row_groups.tally import GroupTally
from opauc.additive.search import InteractionSearch
from opauc.additive.settings import AUTO, AdditiveSettings, with_init_size
from opauc.additive.trees.grow import GrowthLimits
from opauc.core.threads import count_threads, work_beside
from opauc.errors import Parameter, ParameterError
from opauc.types import Floats, Labels


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


def basis_columns(basis: Basis, constraints: Constraints = NO_CONSTRAINTS, names: tuple[str, ...] = ()) -> BasisColumns:
    """Return the penalties, the column groups and the constraints that a model needs from a basis."""
    penalties, owners = Penalties(basis.groups, basis.roughness), basis.random_effects.group_index()
    main, certain = basis.main_columns(), basis.certain_columns()
    own, levels = BasisConstraints(basis, constraints, names) if constraints else None, basis.group_levels
    if levels is not None:
        owners = np.append(owners, np.full(levels.size, owners.max(initial=-1) + 1))
    return BasisColumns(penalties, main, certain, owners, basis.trees, basis.crossed, own, levels)


def fit_basis(
    buffer: WarmUpBuffer,
    settings: AdditiveSettings,
    categorical: NDArray[np.bool_],
    seed: int,
    policy: AdditivePolicy = ADDITIVE_POLICY,
    constraints: Constraints = NO_CONSTRAINTS,
) -> BasisModel:
    """Return the basis that suits a sample of the buffered rows, and the sums of all of them.

    Weights are solved for under constraints, and trees grow under the monotone ones and those of the settings. Rows of
    more numbers than inputs end with the number of their group: they are ranked within groups.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.additive.settings import AdditiveSettings
    >>> from opauc.additive.initial_fit import fit_basis
    >>> from opauc.additive.initial_sample import WarmUpBuffer
    >>> rows = np.random.default_rng(0).normal(size=(400, 2))
    >>> buffer = WarmUpBuffer.empty(2).with_rows(rows, (rows[:, 0] ** 2 > 1).astype(np.int8), None)
    >>> basis, model = fit_basis(buffer, AdditiveSettings(), np.zeros(2, bool), seed=0)
    >>> basis.n_columns == model.sums.n_features, model.counts == buffer.counts
    (True, True)
    """
    all_rows, labels, weights = buffer.all_rows(), buffer.all_labels(), buffer.all_weights()
    rows, has_groups = all_rows[:, : categorical.size], buffer.n_features > categorical.size
    order = buffer.order_by_content(categorical)
    levels = first_levels(all_rows[:, -1], labels, settings.max_columns, policy.group) if has_groups else None

    def ranked(at: NDArray[np.int64]) -> NDArray[np.int64]:
        return at if levels is None else levels.ranked(at, all_rows[:, -1])

    used = ranked(order)
    may_join = trees_may_join(labels[used], weights[used], settings, policy.tree)
    no_more_rows = labels.size < int(with_init_size(settings, 0, policy.sample).init_size)
    few_rows = no_more_rows and policy.tree.cross_fits(labels.size, settings.effort)
    n_validation = policy.tree.n_validation(labels.size) if may_join and not few_rows else 0
    held_out, others = order[:n_validation], order[n_validation:]
    used_held_out, used_others = ranked(held_out), ranked(others)
    parts = LabeledSample(all_rows, labels, weights, categorical)
    growths = policy.tree.growths(settings.effort, few_rows)
    limits = GrowthLimits(tuple(constraints.directions), settings.interaction_constraints)
    n_threads = max(1, count_threads() - 1)  # one more searches for the basis meanwhile

    def grow(levels: GroupLevels | None = None, offsets: Sequence[Floats] = ()) -> GrownTrees:
        if few_rows:
            return cross_fit_trees(parts, used, growths, seed, policy.tree, limits, n_threads, levels, offsets)
        return grow_trees(parts, used_held_out, used_others, growths, seed, policy.tree, limits, n_threads, levels)

    # Trees of rows in groups grow beside the levels of these, which the search has to find first.
    grows_meanwhile = may_join and not has_groups
    with work_beside(lambda: grow() if grows_meanwhile else None) as wait_for_trees:
        drawn = draw_search_rows(used_others, labels, policy.sample)
        at = drawn.rows
        groups = None if levels is None else GroupedFit(levels, levels.places(all_rows[at, -1]), policy.group)
        mass = balance_classes(labels[at], weights[at])
        sample = SampleRows(by_columns(rows, at), labels[at], weights[at], mass)
        effects = choose_main_effects(sample, settings, categorical, policy.search)
        effects = drop_weak_effects(effects, [sample], settings.max_columns)
        mains = Basis.of_effects(effects)
        search = InteractionSearch(mains, effects, sample, settings, policy.search, policy.smoothing, may_join, groups)
        basis, fit = search.fit()
        if groups is not None:
            sample = sample._replace(offset=fit.scores - basis.products(sample.numbers, fit.weights))
        uncoded = constraints.uncoded.union(settings.numeric)
        coded = find_coded_inputs(effects, sample, fit.scores, policy.code, uncoded)
        random_effects = RandomEffects.of(effects, sample.numbers, basis.n_columns, coded)
        aucs = measure_inputs(sample, categorical, policy.leak)
        basis = replace(basis, random_effects=random_effects, input_aucs=aucs)
        if settings.interactions == AUTO:
            may_cross = CrossingRule(constraints.uncoded, settings.interaction_constraints)
            more_rows, numeric = not no_more_rows, settings.numeric
            crossed = find_crossed_codes(basis, sample, fit, more_rows, numeric, policy.crossed, may_cross)
            basis = replace(basis, crossed=crossed)
        initial = fit._replace(weights=_correct_intercept(fit.weights, drawn))
        if has_groups:
            found = all_rows[others], labels[others], weights[others]
            basis, initial = with_group_levels(basis, initial, *found, policy)
        start = AdditiveLogistic.start(basis_columns(basis, constraints), initial)
        additive = basis
        model = parts.add_to(start, basis, others)
        trees = wait_for_trees()
    if may_join:
        judge, judged = (cross_fit_additive, used) if few_rows else (score_held_out, used_held_out)
        unseen = judge(basis, model, parts, judged, policy)
        trees = trees or grow(basis.group_levels, unseen.offsets)
        basis, blend = accept_trees(basis, start_blend(unseen, trees, policy.tree, frozen=few_rows), policy.tree)
        model = model.merge_initial(parts.add_to(start, basis, held_out)) if n_validation else model
        model = replace(model, columns=basis_columns(basis, constraints), blend=blend, lambdas=unseen.lambdas)
    if settings.objective == PAUC:
        model = choose_objective(additive, model, parts.judged(additive, used, policy), settings.max_fpr, policy)
    return BasisModel(basis, model.with_candidates())


def first_levels(numbers: Floats, labels: Labels, max_columns: int, policy: GroupPolicy) -> GroupLevels:
    """Return the levels of the groups of rows next to as many columns as a basis may have; raise if none are ranked."""
    levels = GroupLevels.of(numbers, max_columns, policy)
    if not GroupTally.empty(levels.size).update(levels.places(numbers), labels, None).summary.ranked:
        raise ParameterError(
            Parameter("groups"), ": expected groups with rows of both classes in the initial sample; there are none, "
            "so that nothing can be ranked within groups",
        )  # fmt: skip
    return levels


def with_group_levels(
    basis: Basis, fit: PenalizedFit, rows: Floats, labels: Labels, weight: Floats, policy: AdditivePolicy
) -> tuple[Basis, PenalizedFit]:
    """Return the basis with the levels of the groups of rows, and the fit with the intercept of the mean group.

    The offsets of the levels are those that suit the rows given the columns.
    """
    levels = GroupLevels.of(rows[:, basis.n_inputs], basis.n_columns, policy.group)
    used = levels.ranked(np.arange(labels.size), rows[:, basis.n_inputs])
    rows, labels, weight = rows[used], labels[used], weight[used]
    scores = basis.products(rows[:, : basis.n_inputs], fit.weights)
    found = estimate_levels(
        levels.places(rows[:, basis.n_inputs]), levels.size, scores, labels, weight, policy.group, policy.smoothing
    )  # fmt: skip
    weights = np.append(fit.weights[0] + found.mean, fit.weights[1:])
    return replace(basis, group_levels=replace(levels, offsets=found.levels)), fit._replace(weights=weights)


def _correct_intercept(weights: Floats, drawn: Sample) -> Floats:
    """Return the weights with the intercept of all rows: sampling by class shifts the intercept only."""
    corrected = weights.copy()
    corrected[0] -= np.log(drawn.shares[1] / drawn.shares[0])
    return corrected
