"""The additive part of the first fit: its basis and its sums, and scores of rows that it has not seen."""

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
from opauc.additive.basis_columns import basis_columns
from opauc.additive.codes import find_coded_inputs
from opauc.additive.constraints.constraints import NO_CONSTRAINTS, Constraints
from opauc.additive.crossed.search import CrossingRule, find_crossed_codes
from opauc.additive.first_effects import choose_main_effects, drop_weak_effects
from opauc.additive.fit import PenalizedFit
from opauc.additive.initial_sample import Sample, SampleRows, by_columns, draw_search_rows
from opauc.additive.labeled_sample import LabeledSample
from opauc.additive.leaks import measure_inputs
from opauc.additive.model import AdditiveLogistic
from opauc.additive.policy import ADDITIVE_POLICY, AdditivePolicy, GroupPolicy
from opauc.additive.row_groups.effects import GroupedFit, estimate_levels
from opauc.additive.row_groups.tally import GroupTally
from opauc.additive.search import InteractionSearch
from opauc.additive.settings import AUTO, AdditiveSettings
from opauc.core.threads import work_in_order
from opauc.errors import Parameter, ParameterError
from opauc.types import Floats, Labels


class AdditivePlan(NamedTuple):
    """How an additive model is fitted to an initial sample, and whether more rows follow and trees may join it."""

    settings: AdditiveSettings
    policy: AdditivePolicy = ADDITIVE_POLICY
    constraints: Constraints = NO_CONSTRAINTS
    more_rows: bool = False
    beside_trees: bool = False


class AdditivePart(NamedTuple):
    """A basis without trees, its model before the first row, and the model of the rows that it is fitted to."""

    basis: Basis
    start: AdditiveLogistic
    model: AdditiveLogistic


def fit_additive(
    sample: LabeledSample, order: NDArray[np.int64], levels: GroupLevels | None, plan: AdditivePlan
) -> AdditivePart:
    """Return the basis that suits some rows of the initial sample, in random order, and the model of these rows.

    With `levels` the rows are ranked within groups, and the basis is searched for on groups with both classes.
    """
    settings, policy, constraints, more_rows, beside_trees = plan
    searched = order if levels is None else levels.ranked(order, sample.rows[:, -1])
    drawn = draw_search_rows(searched, sample.labels, policy.sample)
    rows, groups = _search_rows(sample, drawn.rows), None
    if levels is not None:
        groups = GroupedFit(levels, levels.places(sample.rows[drawn.rows, -1]), policy.group)
    effects = choose_main_effects(rows, settings, sample.categorical, policy.search)
    effects = drop_weak_effects(effects, [rows], settings.max_columns)
    mains = Basis.of_effects(effects)
    search = InteractionSearch(mains, effects, rows, settings, policy.search, policy.smoothing, beside_trees, groups)
    basis, fit = search.fit()
    if groups is not None:
        rows = rows._replace(offset=fit.scores - basis.products(rows.numbers, fit.weights))
    uncoded = constraints.uncoded.union(settings.numeric)
    coded = find_coded_inputs(effects, rows, fit.scores, policy.code, uncoded)
    random_effects = RandomEffects.of(effects, rows.numbers, basis.n_columns, coded, policy.search.basis)
    aucs = measure_inputs(rows, sample.categorical, policy.leak)
    basis = replace(basis, random_effects=random_effects, input_aucs=aucs)
    if settings.interactions == AUTO:
        may_cross = CrossingRule(constraints.uncoded, settings.interaction_constraints)
        crossed = find_crossed_codes(basis, rows, fit, more_rows, settings.numeric, policy.crossed, may_cross)
        basis = replace(basis, crossed=crossed)
    initial = fit._replace(weights=_correct_intercept(fit.weights, drawn))
    if groups is not None:
        basis, initial = _with_group_levels(basis, initial, sample, order, policy)
    start = AdditiveLogistic.start(basis_columns(basis, constraints), initial)
    return AdditivePart(basis, start, sample.add_to(start, basis, order))


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
    additive: AdditivePart, sample: LabeledSample, validation: NDArray[np.int64], policy: AdditivePolicy
) -> UnseenScores:
    """Return the scores of validation rows by a model that was fitted to the other rows only."""
    weights, lambdas, *_ = additive.model.solve(policy, narrow=True)
    return UnseenScores(additive.basis.products(sample.inputs(validation), weights), weights, lambdas)


class FoldScores(NamedTuple):
    """The scores of the rows of a fold, and the offsets that the other folds give the groups of all rows, if any."""

    scores: Floats
    offsets: Floats | None = None


def cross_fit_additive(
    additive: AdditivePart,
    sample: LabeledSample,
    order: NDArray[np.int64],
    folds: NDArray[np.int64],
    levels: GroupLevels | None,
    plan: AdditivePlan,
) -> UnseenScores:
    """Return the scores of all rows, each by an additive model whose basis was chosen and fitted without its fold.

    A basis that had seen the rows would score them too well: the more pairs are tested, the more of them fit by chance.
    """
    known, n_folds = additive.basis.group_levels, plan.policy.tree.n_folds

    def score_fold(fold: int) -> FoldScores:
        is_held_out = folds == fold
        others, held_out = order[~is_held_out], order[is_held_out]
        part = fit_additive(sample, others, levels, plan)
        weights = part.model.solve(plan.policy, narrow=True).weights
        scores = part.basis.products(sample.inputs(held_out), weights)
        if known is None:
            return FoldScores(scores)
        of_others = part.basis.products(sample.inputs(others), weights)
        places = known.places(sample.rows[order, -1])
        found = estimate_levels(
            places[~is_held_out], known.size, of_others, sample.labels[others], sample.weights[others]
        )  # fmt: skip
        return FoldScores(scores, replace(known, offsets=found.levels).offsets_at(places))

    scores, parts = np.empty(order.size), list[FoldScores]()
    work_in_order(score_fold, range(n_folds), parts.append)
    for fold, part in enumerate(parts):
        scores[folds == fold] = part.scores
    weights, lambdas, *_ = additive.model.solve(plan.policy, narrow=True)
    offsets = [part.offsets for part in parts if part.offsets is not None]
    return UnseenScores(scores, weights, lambdas, offsets)


def _search_rows(sample: LabeledSample, at: NDArray[np.int64]) -> SampleRows:
    """Return rows of the initial sample column by column, with the share of each in its class."""
    labels, weights = sample.labels[at], sample.weights[at]
    numbers = by_columns(sample.rows[:, : sample.categorical.size], at)
    return SampleRows(numbers, labels, weights, balance_classes(labels, weights))


def first_levels(numbers: Floats, labels: Labels, max_columns: int, policy: GroupPolicy) -> GroupLevels:
    """Return the levels of the groups of rows next to as many columns as a basis may have; raise if none are ranked."""
    levels = GroupLevels.of(numbers, max_columns, policy)
    if not GroupTally.empty(levels.size).update(levels.places(numbers), labels, None).summary.ranked:
        raise ParameterError(
            Parameter("groups"), ": expected groups with rows of both classes in the initial sample; there are none, "
            "so that nothing can be ranked within groups",
        )  # fmt: skip
    return levels


def _with_group_levels(
    basis: Basis, fit: PenalizedFit, sample: LabeledSample, order: NDArray[np.int64], policy: AdditivePolicy
) -> tuple[Basis, PenalizedFit]:
    """Return the basis with the levels of the groups of rows, and the fit with the intercept of the mean group.

    The offsets of the levels are those that suit the rows given the columns.
    """
    levels = GroupLevels.of(sample.rows[order, -1], basis.n_columns, policy.group)
    used = levels.ranked(order, sample.rows[:, -1])
    places, scores = levels.places(sample.rows[used, -1]), basis.products(sample.inputs(used), fit.weights)
    labels, weights = sample.labels[used], sample.weights[used]
    found = estimate_levels(places, levels.size, scores, labels, weights, policy.group, policy.smoothing)
    centered = np.append(fit.weights[0] + found.mean, fit.weights[1:])
    return replace(basis, group_levels=replace(levels, offsets=found.levels)), fit._replace(weights=centered)


def _correct_intercept(weights: Floats, drawn: Sample) -> Floats:
    """Return the weights with the intercept of all rows: sampling by class shifts the intercept only."""
    corrected = weights.copy()
    corrected[0] -= np.log(drawn.shares[1] / drawn.shares[0])
    return corrected
