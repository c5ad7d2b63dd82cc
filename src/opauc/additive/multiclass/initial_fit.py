"""The first fit of several classes: from the rows of the warm-up buffer to one basis and the model of each class."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from opauc.additive.basis.basis import Basis
from opauc.additive.basis.pair_columns import Candidates
from opauc.additive.basis.random_effects import RandomEffects
from opauc.additive.basis_columns import basis_columns
from opauc.additive.codes import find_coded_inputs
from opauc.additive.first_effects import choose_main_effects, drop_weak_effects
from opauc.additive.fit import PenalizedFit, choose_subset, finish_fit, fit_intercept, start_fit
from opauc.additive.initial_additive import AdditivePart, AdditivePlan, UnseenScores, score_held_out
from opauc.additive.initial_sample import SampleRows, WarmUpBuffer, by_columns
from opauc.additive.initial_trees import (
    accept_trees,
    cross_fit_trees,
    grow_trees,
    start_blend,
    trees_may_join,
)
from opauc.additive.labeled_sample import LabeledSample, assign_folds, encode_rows
from opauc.additive.model import AdditiveLogistic
from opauc.additive.multiclass.policy import MULTICLASS_POLICY, MulticlassPolicy
from opauc.additive.multiclass.sums import ClassSums, SharedRows
from opauc.additive.penalties import Penalties
from opauc.additive.policy import ADDITIVE_POLICY, AdditivePolicy, SamplePolicy, SmoothingPolicy
from opauc.additive.search import InteractionSearch
from opauc.additive.settings import AdditiveSettings, fitted_whole, with_init_size
from opauc.additive.trees.grow import GrowthLimits
from opauc.core.threads import count_threads, work_in_order
from opauc.types import Floats, Labels

Value = TypeVar("Value")


class ClassBasis(NamedTuple):
    """A basis that all classes share, without trees, and the model of each class, with its own."""

    basis: Basis
    sums: ClassSums


class ClassSample(NamedTuple):
    """The rows that the basis is fitted to, labeled once for each class: 1 if they are of it.

    `typical` is the number of a class of median weight: so many curves and pairs as its rows allow are shared.
    """

    of_class: tuple[SampleRows, ...]
    typical: int

    @classmethod
    def of(cls, rows: Floats, labels: Labels, weights: Floats, drawn: DrawnRows, n_classes: int) -> ClassSample:
        """Return drawn rows of a warm-up buffer."""
        at = drawn.rows
        numbers, own, weight = by_columns(rows, at), labels[at], weights[at] * drawn.factors
        totals = np.bincount(own, weight, minlength=n_classes)
        mass = weight / (n_classes * np.where(totals > 0.0, totals, 1.0))[own]
        samples = tuple(SampleRows(numbers, (own == k).astype(np.int8), weight, mass) for k in range(n_classes))
        return cls(samples, int(np.argsort(totals, kind="stable")[n_classes // 2]))

    @property
    def numbers(self) -> Floats:
        """The inputs of all rows."""
        return self.of_class[0].numbers


class DrawnRows(NamedTuple):
    """Positions in the warm-up buffer, and the factor of the weight of each row: below one in classes drawn more often.

    With these factors the rows stand for all rows, up to a factor.
    """

    rows: NDArray[np.int64]
    factors: Floats


def draw_rows_by_class(order: NDArray[np.int64], labels: Labels, n_classes: int, size: int) -> DrawnRows:
    """Return the first rows of an order that is random, about `size`, and of each class half an even share if it can.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.additive.multiclass.initial_fit import draw_rows_by_class
    >>> labels = np.array([0] * 90 + [1] * 9 + [2], np.int8)
    >>> drawn = draw_rows_by_class(np.arange(100), labels, 3, 12)
    >>> np.bincount(labels[drawn.rows]).tolist(), drawn.factors[[0, -1]].round(2).tolist()
    ([11, 2, 1], [0.98, 0.12])
    """
    if order.size <= size:
        return DrawnRows(order, np.ones(order.size))
    own = labels[order]
    counts = np.bincount(own, minlength=n_classes)
    shares = np.maximum(np.ceil(counts * (size / order.size)), size // (2 * n_classes))
    sizes = np.minimum(counts, shares.astype(np.int64))
    kept = np.zeros(order.size, np.bool_)
    for k in range(n_classes):
        kept[np.flatnonzero(own == k)[: sizes[k]]] = True
    factors = (size / order.size) * counts / np.maximum(sizes, 1)
    return DrawnRows(order[kept], factors[own[kept]])


def fit_classes(
    buffer: WarmUpBuffer,
    settings: AdditiveSettings,
    categorical: NDArray[np.bool_],
    seed: int,
    policy: AdditivePolicy = ADDITIVE_POLICY,
    several: MulticlassPolicy = MULTICLASS_POLICY,
) -> ClassBasis:
    """Return the basis that suits a sample of the buffered rows of several classes, and the sums of all of them.

    Knots, categories and pairs are chosen for all classes together, so that a row is encoded once; smoothing
    parameters, weights and trees are those of each class against the rest.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.additive.initial_sample import WarmUpBuffer
    >>> from opauc.additive.multiclass.initial_fit import fit_classes
    >>> from opauc.additive.settings import AdditiveSettings
    >>> rows = np.random.default_rng(0).normal(size=(400, 2))
    >>> buffer = WarmUpBuffer.empty(2, 3).with_rows(rows, (rows > 0).sum(axis=1).astype(np.int8), None)
    >>> basis, sums = fit_classes(buffer, AdditiveSettings(trees=False), np.zeros(2, bool), seed=0)
    >>> {model.sums.n_features for model in sums.models} == {basis.n_columns}
    True
    """
    rows, labels, weights = buffer.all_rows(), buffer.all_labels(), buffer.all_weights()
    n_classes = buffer.n_classes
    settings = replace(settings, max_columns=several.columns_of(settings.max_columns, n_classes))
    n_pair_columns = several.columns_of(policy.search.max_pair_columns_beside_trees, n_classes)
    search = replace(policy.search, max_pair_columns_beside_trees=n_pair_columns)
    policy = replace(policy, tree=several.tree_policy(policy.tree, n_classes, *rows.shape), search=search)
    order = buffer.order_by_content(categorical)
    of_class = [LabeledSample(rows, (labels == k).astype(np.int8), weights, categorical) for k in range(n_classes)]
    may_join = [trees_may_join(own.labels, weights, settings, policy.tree) for own in of_class]
    no_more_rows = labels.size < int(with_init_size(settings, 0, policy.sample).init_size)
    few_rows = no_more_rows and several.cross_fits(labels.size, settings.effort, n_classes, rows.shape[1])
    n_validation = policy.tree.n_validation(labels.size) if any(may_join) and not few_rows else 0
    validation, others = order[:n_validation], order[n_validation:]
    sample = ClassRows(rows, labels, weights, categorical, n_classes)
    plan = AdditivePlan(settings, policy, beside_trees=any(may_join))
    part = fit_additive_classes(sample, others, plan)
    held_out = part.start.update_initial(
        share_rows(part.basis, rows[validation], labels[validation], weights[validation])
    )
    growths = policy.tree.growths(settings.effort, few_rows)
    limits = GrowthLimits((), settings.interaction_constraints)
    folds = assign_folds(labels[order], policy.tree.n_folds)
    unseen = cross_fit_classes(part, sample, order, folds, plan, may_join) if few_rows and any(may_join) else {}
    models = []
    for k, (model, own) in enumerate(zip(part.sums.models, of_class, strict=True)):
        blend, lambdas, trees = None, model.lambdas, None
        if may_join[k]:
            if few_rows:
                scored = unseen[k]
                grown = cross_fit_trees(own, order, folds, growths, seed, policy.tree, limits, count_threads())
            else:
                scored = score_held_out(AdditivePart(part.basis, part.start.models[k], model), own, validation, policy)
                grown = grow_trees(own, validation, others, growths, seed, policy.tree, limits, count_threads())
            blend = start_blend(scored, grown, policy.tree, frozen=few_rows)
            with_trees, blend = accept_trees(part.basis, blend, policy.tree)
            trees, lambdas = with_trees.trees, scored.lambdas
        model = model.merge_initial(held_out.models[k]) if n_validation else model
        columns = model.columns._replace(trees=trees)
        models.append(replace(model, columns=columns, blend=blend, lambdas=lambdas).with_candidates())
    return ClassBasis(part.basis, ClassSums(tuple(models)))


class ClassRows(NamedTuple):
    """Weighted rows of the initial sample, the number of the class of each, and which inputs are categories."""

    rows: Floats
    labels: Labels
    weights: Floats
    categorical: NDArray[np.bool_]
    n_classes: int


class ClassPart(NamedTuple):
    """A basis without trees, the models before the first row, and those of the rows that it is fitted to."""

    basis: Basis
    start: ClassSums
    sums: ClassSums


def fit_additive_classes(sample: ClassRows, order: NDArray[np.int64], plan: AdditivePlan) -> ClassPart:
    """Return the basis that suits some rows of the initial sample, in random order, and the models of these rows."""
    rows, labels, weights, categorical, n_classes = sample
    policy = plan.policy
    drawn = draw_rows_by_class(order, labels, n_classes, _search_size(order.size, policy.sample))
    searched = ClassSample.of(rows, labels, weights, drawn, n_classes)
    basis, fits = fit_shared_basis(searched, plan.settings, categorical, policy, plan.beside_trees)
    columns = basis_columns(basis)
    start = ClassSums(tuple(AdditiveLogistic.start(columns, fit) for fit in fits))
    sums = start.update_initial(share_rows(basis, rows[order], labels[order], weights[order]))
    return ClassPart(basis, start, sums)


def cross_fit_classes(
    part: ClassPart,
    sample: ClassRows,
    order: NDArray[np.int64],
    folds: NDArray[np.int64],
    plan: AdditivePlan,
    chosen: Sequence[bool],
) -> dict[int, UnseenScores]:
    """Return the scores of all rows for each chosen class, by models whose basis was fitted without the row's fold."""
    classes = np.flatnonzero(chosen).tolist()
    scores = {k: np.empty(order.size) for k in classes}
    for fold in range(plan.policy.tree.n_folds):
        held_out = order[folds == fold]
        own = fit_additive_classes(sample, order[folds != fold], plan)
        inputs = sample.rows[held_out]
        for k in classes:
            weights = own.sums.models[k].solve(plan.policy, narrow=True).weights
            scores[k][folds == fold] = own.basis.products(inputs, weights)
    unseen = {}
    for k in classes:
        weights, lambdas, *_ = part.sums.models[k].solve(plan.policy, narrow=True)
        unseen[k] = UnseenScores(scores[k], weights, lambdas)
    return unseen


def share_rows(
    basis: Basis, rows: Floats, labels: Labels, weight: Floats | None, fresh: NDArray[np.bool_] | None = None
) -> Iterator[SharedRows]:
    """Yield the columns of rows, labeled by the numbers of their classes, in blocks of a few thousand rows."""
    start = 0
    for encoded in encode_rows(basis, rows, labels, weight, fresh):
        yield SharedRows(encoded, rows[start : (start := start + encoded.labels.size)])


def fit_shared_basis(
    sample: ClassSample,
    settings: AdditiveSettings,
    categorical: NDArray[np.bool_],
    policy: AdditivePolicy = ADDITIVE_POLICY,
    beside_trees: bool = False,
) -> tuple[Basis, list[PenalizedFit]]:
    """Return the basis of all classes, with the pairs that gain most over all of them, and the fit of each class."""
    typical, smoothing = sample.of_class[sample.typical], policy.smoothing
    effects = choose_main_effects(typical, settings, categorical, policy.search)
    effects = drop_weak_effects(effects, sample.of_class, settings.max_columns)
    mains = Basis.of_effects(effects)
    searches = [
        InteractionSearch(mains, effects, own, settings, policy.search, smoothing, beside_trees)
        for own in sample.of_class
    ]
    intercepts = [fit_intercept(own.labels, own.weight) for own in sample.of_class]
    additive = fit_each(mains, sample, intercepts, policy.search.additive_steps, smoothing)
    of_classes = map_classes(lambda k: searches[k].find_candidates(additive[k]), len(searches))
    max_pairs = settings.interactions if isinstance(settings.interactions, int) else None
    basis = searches[sample.typical].add_pairs(join_candidates(of_classes, max_pairs))
    fits = fit_each(basis, sample, additive, policy.search.final_steps, smoothing)
    coded = set[int]().union(
        *map_classes(
            lambda k: find_coded_inputs(effects, sample.of_class[k], fits[k].scores, policy.code, settings.numeric),
            len(fits),
        )
    )
    limit = policy.search.basis.max_effect_products // len(fits)
    basis_policy = replace(policy.search.basis, max_effect_products=limit)
    effects_of = RandomEffects.of(effects, sample.numbers, basis.n_columns, sorted(coded), basis_policy)
    return replace(basis, random_effects=effects_of), fits


def fit_each(
    basis: Basis, sample: ClassSample, initial: Sequence[PenalizedFit], n_steps: int, policy: SmoothingPolicy
) -> list[PenalizedFit]:
    """Return the fit of each class to all rows of the sample, which are encoded once; one without rows stays."""
    rows, penalties = basis.rows(sample.numbers), Penalties(basis.groups, basis.roughness)
    subset = choose_subset(rows.shape[0], policy)

    def fit(k: int) -> PenalizedFit:
        own = sample.of_class[k]
        if not own.labels.any():
            return _padded(initial[k], basis, rows)
        started = start_fit(rows, own.labels, own.weight, penalties, initial[k], n_steps, subset, policy)
        return finish_fit(rows, own.labels, own.weight, penalties, started, policy)

    return map_classes(fit, len(initial))


def join_candidates(of_classes: Sequence[Candidates], max_pairs: int | None = None) -> Candidates:
    """Return the pairs that are candidates for any class: their gains add up, and what is certain for one is certain.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.additive.basis.pair_columns import Candidates
    >>> from opauc.additive.multiclass.initial_fit import join_candidates
    >>> one = Candidates(np.array([[0, 1], [1, 2]]), np.array([True, False]), np.array([5.0, 3.0]), np.array([6, 6, 6]))
    >>> other = Candidates(np.array([[1, 2]]), np.array([False]), np.array([4.0]), np.array([6, 20, 6]))
    >>> joined = join_candidates([one, other])
    >>> joined.pairs.tolist(), joined.certain.tolist(), joined.gains.tolist(), joined.levels.tolist()
    ([[1, 2], [0, 1]], [False, True], [7.0, 5.0], [6, 20, 6])
    """
    pairs = np.concatenate([found.pairs for found in of_classes])
    distinct, at = np.unique(pairs, axis=0, return_inverse=True)
    gains = np.zeros(len(distinct))
    np.add.at(gains, at, np.concatenate([found.gains for found in of_classes]))
    certain = np.zeros(len(distinct), np.bool_)
    np.logical_or.at(certain, at, np.concatenate([found.certain for found in of_classes]))
    best = np.argsort(-gains, kind="stable")[:max_pairs]
    levels = np.max([found.levels for found in of_classes], axis=0)
    return Candidates(distinct[best], certain[best], gains[best], levels)


def map_classes(work: Callable[[int], Value], n_classes: int) -> list[Value]:
    """Return the results of the work on each class, in the threads of `use_threads`."""
    results: list[Value] = []
    work_in_order(work, range(n_classes), results.append)
    return results


def _search_size(n_rows: int, policy: SamplePolicy) -> int:
    """Return how many rows curves and pairs are fitted to, as of two classes."""
    if n_rows <= fitted_whole(policy.min_search_rows, policy):
        return n_rows
    return min(max(n_rows // policy.rows_per_search_row, policy.min_search_rows), policy.max_search_rows)


def _padded(fit: PenalizedFit, basis: Basis, rows: csr_array) -> PenalizedFit:
    """Return a fit of the first columns of a basis as one of all."""
    weights = np.pad(fit.weights, (0, basis.n_columns - fit.weights.size))
    lambdas = np.pad(fit.lambdas, (0, basis.groups.kinds.size - fit.lambdas.size), constant_values=1.0)
    return PenalizedFit(weights, lambdas, rows @ weights)
