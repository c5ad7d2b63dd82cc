"""The first fit: from the rows of the warm-up buffer to a basis and its model."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, hstack

from opauc.additive.basis.basis import Basis
from opauc.additive.basis.bins import ValueCodes
from opauc.additive.basis.ensemble import TreeEnsemble
from opauc.additive.basis.group_levels import GroupLevels
from opauc.additive.basis.knots import balance_classes
from opauc.additive.basis.main_effects import MainEffect, main_effects
from opauc.additive.basis.pairs import coarse_codes
from opauc.additive.basis.random_effects import RandomEffects
from opauc.additive.codes import find_coded_inputs
from opauc.additive.constraints.constraints import NO_CONSTRAINTS, Constraints
from opauc.additive.constraints.fit import BasisConstraints
from opauc.additive.crossed.search import CrossingRule, find_crossed_codes
from opauc.additive.fit import PenalizedFit
from opauc.additive.groups.effects import GroupedFit, estimate_levels
from opauc.additive.groups.tally import GroupTally
from opauc.additive.initial_sample import (
    Sample,
    SampleRows,
    WarmUpBuffer,
    by_columns,
    draw_search_rows,
    draw_tree_rows,
)
from opauc.additive.kernels.rows import LEFT_OUT
from opauc.additive.leaks import measure_inputs
from opauc.additive.model import AdditiveLogistic, BasisColumns, BasisRows, check_model_arrays
from opauc.additive.objective import PAUC
from opauc.additive.partial_auc import JudgedSample, choose_objective
from opauc.additive.penalties import Penalties
from opauc.additive.policy import ADDITIVE_POLICY, AdditivePolicy, GroupPolicy, Growth, SearchPolicy, TreePolicy
from opauc.additive.row_shards import sum_shards
from opauc.additive.search import InteractionSearch
from opauc.additive.settings import AUTO, AdditiveSettings, with_init_size
from opauc.additive.trees.blend import TREES, Blend, ValidationRows, average_ensembles
from opauc.additive.trees.grow import CodedRows, GrowthLimits, code_folds, cross_fit, grow_ensemble
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


class LabeledSample(NamedTuple):
    """Labeled and weighted rows of the initial sample, and which inputs are numbers of categories.

    Rows of more numbers than inputs end with the number of their group.
    """

    rows: Floats
    labels: Labels
    weights: Floats
    categorical: NDArray[np.bool_]

    def coded(
        self, codes: ValueCodes, at: NDArray[np.int64], weights: Floats, levels: GroupLevels | None = None
    ) -> CodedRows:
        """Return some of the rows as codes, with other weights and the offsets that levels give their groups."""
        places = None if levels is None else levels.places(self.rows[at, -1])
        offset = None if levels is None or places is None else levels.offsets_at(places)
        return CodedRows(codes.of_rows(self.inputs(at)), self.labels[at], weights, offset, places)

    def inputs(self, at: NDArray[np.int64]) -> Floats:
        """Return the inputs of some of the rows."""
        return self.rows[at, : self.categorical.size]

    def judged(self, basis: Basis, order: NDArray[np.int64], policy: AdditivePolicy) -> JudgedSample:
        """Return the rows in an order that does not depend on how they came, in folds."""
        rows, labels, weights = self.rows[order], self.labels[order], self.weights[order]
        ordered = LabeledSample(rows, labels, weights, self.categorical)

        def encode(at: NDArray[np.int64]) -> Iterator[BasisRows]:
            return encode_rows(basis, rows[at], labels[at], weights[at])

        def add(start: AdditiveLogistic, at: NDArray[np.int64]) -> AdditiveLogistic:
            return ordered.add_to(start, basis, at)

        return JudgedSample(rows, labels, weights, _assign_folds(labels, policy.tree.n_folds), encode, add)

    def add_to(self, start: AdditiveLogistic, basis: Basis, at: NDArray[np.int64]) -> AdditiveLogistic:
        """Return a model of no rows with some of the rows added."""

        def add(shard: slice, _first: bool) -> AdditiveLogistic:  # all shards start without rows
            rows = at[shard]
            return start.update_initial(encode_rows(basis, self.rows[rows], self.labels[rows], self.weights[rows]))

        return sum_shards(at.size, basis.n_columns, add, AdditiveLogistic.merge_initial)


def trees_may_join(labels: Labels, weights: Floats, settings: AdditiveSettings, policy: TreePolicy) -> bool:
    """Tell whether trees are grown: they are asked for, and there are enough rows."""
    rarer = np.bincount(labels, weights, minlength=2).min()
    enough_rows = labels.size >= policy.min_rows and bool(rarer >= policy.min_rare_rows)
    return settings.trees and settings.interactions == AUTO and enough_rows


def accept_trees(basis: Basis, blend: Blend | None, policy: TreePolicy) -> tuple[Basis, Blend | None]:
    """Return the basis with the trees of a blend, and the blend, if that gains on the validation rows."""
    if blend is None:
        return basis, None
    gain = blend.gain
    joins = gain.errors >= policy.min_z and bool(blend.point[TREES] > 0.0)
    return basis.with_trees(blend.ensemble if joins else None, gain), blend if joins else None


class GrownTrees(NamedTuple):
    """Ensembles with their scores of validation rows, which they have not seen, and the rows they are grown on."""

    ensembles: list[TreeEnsemble]
    scores: list[Floats]
    rows: CodedRows
    validation: CodedRows


def grow_trees(
    sample: LabeledSample,
    validation: NDArray[np.int64],
    others: NDArray[np.int64],
    growths: Sequence[Growth],
    seed: int,
    policy: TreePolicy,
    limits: GrowthLimits,
    n_threads: int,
    levels: GroupLevels | None = None,
) -> GrownTrees:
    """Return ensembles that are grown on many of the other rows, an ensemble per growth."""
    _, labels, weights, categorical = sample
    grown = draw_tree_rows(others, labels, policy)
    at = grown.rows
    codes = ValueCodes.of(sample.inputs(at), labels[at], weights[at], categorical, policy)
    # Rows of a class of which few are drawn stand for the others.
    coded = sample.coded(codes, at, weights[at] / grown.shares[labels[at]], levels)
    held_out = sample.coded(codes, validation, weights[validation], levels)
    max_leaves = policy.max_leaves_of_all // len(growths)
    tried = [grow_ensemble(codes, coded, held_out, growth, max_leaves, seed, n_threads, limits) for growth in growths]
    ensembles = [one for one in tried if one is not None]
    return GrownTrees(ensembles, [one.products(held_out.codes, one.values) for one in ensembles], coded, held_out)


def cross_fit_trees(
    sample: LabeledSample,
    order: NDArray[np.int64],
    growths: Sequence[Growth],
    seed: int,
    policy: TreePolicy,
    limits: GrowthLimits,
    n_threads: int,
    levels: GroupLevels | None = None,
    offsets: Sequence[Floats] = (),
) -> GrownTrees:
    """Return ensembles of which each is the mean of several, grown without one fold of the rows and scoring it.

    Rows in groups have for each fold the offsets of `cross_fit_additive`.
    """
    _, labels, weights, categorical = sample
    folds = _assign_folds(labels[order], policy.n_folds)
    inputs = by_columns(sample.rows[:, : categorical.size], order)
    codes = code_folds(inputs, labels[order], weights[order], categorical, folds, policy)
    coded = sample.coded(codes, order, weights[order], levels)
    if offsets:
        coded = coded._replace(offset=np.stack(offsets)[folds, np.arange(order.size)])
    max_leaves = policy.max_leaves_of_all // (policy.n_folds * len(growths))
    tried = [
        cross_fit(codes, coded, folds, growth, max_leaves, seed, n_threads, limits, offsets or None)
        for growth in growths
    ]
    parts = [part for part in tried if part is not None]
    return GrownTrees([part.ensemble for part in parts], [part.scores for part in parts], coded, coded)


class UnseenScores(NamedTuple):
    """The scores that an additive model gives rows it has not seen, beside which trees are judged.

    With them the weights and smoothing parameters of the model of all rows, and, where rows have groups and there is a
    model for each fold, the offsets that each has for the groups of all rows.
    """

    scores: Floats
    weights: Floats
    lambdas: Floats
    offsets: Sequence[Floats] = ()


def score_held_out(
    basis: Basis,
    model: AdditiveLogistic,
    sample: LabeledSample,
    validation: NDArray[np.int64],
    policy: AdditivePolicy,
) -> UnseenScores:
    """Return the scores of validation rows by a model that has the sums of the other rows only."""
    weights, lambdas, *_ = model.solve(policy, narrow=True)
    return UnseenScores(basis.products(sample.inputs(validation), weights), weights, lambdas)


def cross_fit_additive(
    basis: Basis,
    model: AdditiveLogistic,
    sample: LabeledSample,
    order: NDArray[np.int64],
    policy: AdditivePolicy,
) -> UnseenScores:
    """Return the scores of all rows, each by weights solved for without its fold, on the basis of all rows."""
    rows, labels, weights, _ = sample
    folds = _assign_folds(labels[order], policy.tree.n_folds)
    scores, offsets = np.empty(order.size), list[Floats]()
    additive_weights, lambdas, *_ = model.solve(policy, narrow=True)
    model = replace(model, lambdas=lambdas)
    for fold in range(policy.tree.n_folds):
        at = order[folds == fold]
        without = model.subtract((), encode_rows(basis, rows[at], labels[at], weights[at]))
        fold_weights = without.solve(policy, narrow=True).weights
        scores[folds == fold] = basis.products(sample.inputs(at), fold_weights)
        if basis.group_levels is not None:
            offsets.append(_held_out_offsets(basis.group_levels, fold_weights, basis, sample, order, folds != fold))
    return UnseenScores(scores, additive_weights, lambdas, offsets)


def start_blend(unseen: UnseenScores, trees: GrownTrees, policy: TreePolicy, frozen: bool = False) -> Blend | None:
    """Return the blend of an additive model with trees, judged on rows that neither has seen; None without trees."""
    if not trees.ensembles:
        return None
    ensemble, scores = average_ensembles(trees.ensembles, trees.scores, trees.validation)
    validated = ValidationRows(trees.validation, unseen.scores, scores)
    return Blend.start(ensemble, unseen.weights, validated, trees.rows.codes, frozen, policy)


def _assign_folds(labels: Labels, n_folds: int) -> NDArray[np.int64]:
    """Return the fold of each row, so that each class is divided evenly."""
    folds = np.empty(labels.size, np.int64)
    for k in (0, 1):
        of_class = np.flatnonzero(labels == k)
        folds[of_class] = np.arange(of_class.size) % n_folds
    return folds


def encode_rows(
    basis: Basis,
    rows: Floats,
    labels: Labels,
    weight: Floats | None,
    fresh: NDArray[np.bool_] | None = None,
    blend: Blend | None = None,
) -> Iterator[BasisRows]:
    """Yield the columns of labeled rows in blocks of a few thousand rows.

    Later rows of a model with trees, which is a `blend`, come with their leaves and additive scores.
    """
    groups, rows, grouped = basis.group_levels, rows[:, : basis.n_inputs], rows[:, basis.n_inputs :]
    for part, block in basis.blocks(rows):
        weights = None if weight is None else weight[part]
        levels = basis.random_effects.rows(rows[part]) if basis.random_effects.size else None
        crossed = basis.crossed.levels(rows[part]) if basis.crossed.size else None
        new = None if fresh is None else fresh[part]
        batch = BasisRows(block, labels[part], weights, new, levels, crossed)
        if blend is not None:
            additive = basis.additive_products(block, rows[part], blend.additive)
            batch = batch._replace(leaves=basis.leaves(rows[part]), additive=additive)
        if groups is not None:
            places = groups.places(grouped[part, 0])
            own = groups.indicators(places)
            indicators = own if levels is None else csr_array(hstack([levels, own], format="csr"))
            batch = batch._replace(places=places, offset=groups.offsets_at(places), indicators=indicators)
        yield batch


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


def _held_out_offsets(
    levels: GroupLevels,
    weights: Floats,
    basis: Basis,
    sample: LabeledSample,
    order: NDArray[np.int64],
    used: NDArray[np.bool_],
) -> Floats:
    """Return the offset of the group of each row, estimated from some of the rows and these weights of the columns."""
    at, places = order[used], levels.places(sample.rows[order, -1])
    scores = basis.products(sample.inputs(at), weights)
    found = estimate_levels(places[used], levels.size, scores, sample.labels[at], sample.weights[at])
    return replace(levels, offsets=found.levels).offsets_at(places)


def choose_main_effects(
    sample: SampleRows, settings: AdditiveSettings, categorical: NDArray[np.bool_], policy: SearchPolicy
) -> tuple[MainEffect, ...]:
    """Return the main effects with as many knots as the rows and the column budget allow."""
    max_columns = settings.max_columns
    max_levels = int(policy.category_share * max_columns)
    if settings.n_knots != AUTO:
        return main_effects(sample.numbers, sample.mass, sample.weight, categorical, int(settings.n_knots), max_levels)
    n_knots = int(np.clip(sample.rarer / policy.rows_per_knot, policy.min_knots, policy.max_knots))
    n_distinct = np.array([_count_distinct(values, n_knots) for values in sample.numbers.T])
    of_curves = n_distinct[(n_distinct > 2) & ~categorical]
    budget = policy.curve_share * max_columns - (n_distinct.size - of_curves.size)
    while n_knots > 0 and (np.minimum(of_curves, n_knots) + 1).sum() > budget:
        n_knots -= 1
    return main_effects(sample.numbers, sample.mass, sample.weight, categorical, n_knots, max_levels)


def _count_distinct(values: Floats, limit: int) -> int:
    """Return the number of distinct values, at most `limit`."""
    in_every_nth = np.unique(values[:: max(1, values.size // (8 * limit))]).size  # often reaches the limit already
    return limit if in_every_nth >= limit else min(limit, np.unique(values).size)


def drop_weak_effects(
    effects: tuple[MainEffect, ...], samples: Sequence[SampleRows], max_columns: int
) -> tuple[MainEffect, ...]:
    """Return the main effects that fit into so many columns: those that separate the classes best one by one.

    Of several classes there is a sample for each, labeled by it against the rest.
    """
    sizes = np.array([effect.n_columns for effect in effects])
    if sizes.sum() < max_columns:
        return effects
    numbers, mass = samples[0].numbers, samples[0].mass
    codes = (coarse_codes(effect, numbers[:, j], mass) for j, effect in enumerate(effects))
    separations = [sum(_measure_separation(code, sample) for sample in samples) for code in codes]
    gains = np.array(separations) / np.sqrt(np.maximum(sizes, 1))
    order = np.argsort(-gains, kind="stable")
    kept = set(order[np.cumsum(sizes[order]) < max_columns].tolist())
    return tuple(effect if j in kept else MainEffect(LEFT_OUT) for j, effect in enumerate(effects))


def _measure_separation(codes: NDArray[np.int8], sample: SampleRows) -> float:
    """Return the chi-square of the classes over the codes of an input, less its degrees of freedom."""
    totals = np.bincount(codes + 1, sample.weight)
    positive = np.bincount(codes + 1, sample.weight * sample.labels, minlength=totals.size)
    share = positive.sum() / totals.sum()
    expected = np.maximum(totals * share * (1.0 - share), 1e-300)
    return float(((positive - totals * share) ** 2 / expected)[totals > 0].sum()) - np.count_nonzero(totals)


def _correct_intercept(weights: Floats, drawn: Sample) -> Floats:
    """Return the weights with the intercept of all rows: sampling by class shifts the intercept only."""
    corrected = weights.copy()
    corrected[0] -= np.log(drawn.shares[1] / drawn.shares[0])
    return corrected
